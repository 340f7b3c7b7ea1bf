/// Names of operations, types and kernels in traces.

#include "readings/logs/line_fields.hpp"
#include "readings/traces/traced.hpp"
#include "text/ascii.hpp"

#include <fabricost/collective.hpp>

#include <algorithm>
#include <string>

namespace fabricost::observe {

namespace {

struct Named {
  std::string_view words;
  Moves moves;
};

/// Beginnings, longer ones first.
constexpr std::array<Named, 12> operations{{{"allreduce", Moves::all_reduce},
                                            {"allgather", Moves::all_gather},
                                            {"reducescatter", Moves::reduce_scatter},
                                            {"broadcast", Moves::broadcast},
                                            {"alltoall", Moves::all_to_all},
                                            {"barrier", Moves::barrier},
                                            {"gather", Moves::gather},
                                            {"scatter", Moves::scatter},
                                            {"sendrecv", Moves::send_recv},
                                            {"reduce", Moves::reduce},
                                            {"send", Moves::send_recv},
                                            {"recv", Moves::send_recv}}};

/// Parts of a kernel's name that only a kernel of communication has.
constexpr std::array<Named, 24> parts{{{"reduce_scatter_cross_device", Moves::reduce_scatter},
                                       {"cross_device_reduce", Moves::all_reduce},
                                       {"shotAllreduce", Moves::all_reduce},
                                       {"userbuffers_fp16_sum", Moves::all_reduce},
                                       {"multimem_reduce_scatter", Moves::reduce_scatter},
                                       {"moeA2APrepare", Moves::moe_layout},
                                       {"moeA2ADispatch", Moves::moe_dispatch},
                                       {"moeA2ACombine", Moves::moe_combine},
                                       {"EpDispatch", Moves::moe_dispatch},
                                       {"allreduce_fusion_kernel", Moves::all_reduce},
                                       {"oneShotAllReduce", Moves::all_reduce},
                                       {"twoShotAllReduce", Moves::all_reduce},
                                       {"one_shot_all_reduce", Moves::all_reduce},
                                       {"two_shot_all_reduce", Moves::all_reduce},
                                       {"multimem_all_reduce", Moves::all_reduce},
                                       {"multimem_one_shot", Moves::all_reduce},
                                       {"quickreduce", Moves::all_reduce},
                                       {"allreduce_prototype", Moves::all_reduce},
                                       {"lamport", Moves::all_reduce},
                                       {"moeAllToAll", Moves::all_to_all},
                                       {"multimem_all_gather", Moves::all_gather},
                                       {"mscclKernel", Moves::unknown},
                                       {"EpCombine", Moves::moe_combine},
                                       {"rccl_main_kernel", Moves::unknown}}};

/// Kernels of DeepEP: functions of the namespaces internode, internode_ll and intranode; layout and notify wait for the other ranks.
constexpr std::array<Named, 4> exchanges{{{"notify", Moves::moe_layout},
                                          {"get_dispatch_layout", Moves::moe_layout},
                                          {"dispatch", Moves::moe_dispatch},
                                          {"combine", Moves::moe_combine}}};

struct NamedType {
  TracedType type;
  std::string_view words;  ///< its spellings
};
constexpr std::array<NamedType, 17> types{{
    {{"float32", 4}, "float float32"},
    {{"bfloat16", 2}, "bfloat16 c10::bfloat16"},
    {{"float16", 2}, "half c10::half float16"},
    {{"float64", 8}, "double float64"},
    {{"int64", 8}, "long longint int64"},
    {{"uint64", 8}, "uint64"},
    {{"int32", 4}, "int int32"},
    {{"uint32", 4}, "uint32"},
    {{"int16", 2}, "short shortint"},
    {{"uint16", 2}, "uint16"},
    {{"uint8", 1}, "byte unsignedchar uint8"},
    {{"int8", 1}, "char signedchar int8"},
    {{"bool", 1}, "bool"},
    {{"float8_e4m3", 1}, "float8e4m3fn float8e4m3 float8e4m3fnuz"},
    {{"float8_e5m2", 1}, "float8e5m2 float8e5m2fnuz"},
    {{"complex64", 8}, "complexfloat"},
    {{"complex128", 16}, "complexdouble"}}};

[[nodiscard]] Moves begins_with(std::string_view text) {
  for (const Named& one : operations)
    if (text.starts_with(one.words)) return one.moves;
  return Moves::unknown;
}

}  // namespace

void unite(std::vector<Span>& spans) {
  std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) { return a.from < b.from; });
  std::size_t kept = 0;
  for (const Span& one : spans) {
    if (kept > 0 && one.from <= spans[kept - 1].to)
      spans[kept - 1].to = std::max(spans[kept - 1].to, one.to);
    else
      spans[kept++] = one;
  }
  spans.resize(kept);
}

void SpanUnion::add(const Span& span) {
  if (!spans_.empty() && span.from >= spans_.back().from && span.from <= spans_.back().to) {
    spans_.back().to = std::max(spans_.back().to, span.to);
    return;
  }
  spans_.push_back(span);
  constexpr std::size_t many = std::size_t{1} << 20U;
  if (spans_.size() >= many && spans_.size() >= 2 * united_) {  // now and then again
    unite(spans_);
    united_ = spans_.size();
  }
}

std::vector<Span> SpanUnion::take() {
  unite(spans_);
  return std::move(spans_);
}

Moves moves_named(std::string_view words) {
  if (const auto colon = words.find(':'); colon != std::string_view::npos) words.remove_prefix(colon + 1);  // nccl:
  return begins_with(folded(words.substr(0, 60)));
}

std::optional<Moves> moves_of_kernel(std::string_view kernel) {
  // before the arguments, whose types name anything
  const std::string_view head = kernel.substr(0, std::min(kernel.find('('), kernel.size()));
  const auto nccl = head.find("nccl");
  if (nccl != std::string_view::npos && head.find("ernel", nccl) != std::string_view::npos) {
    const auto name = head.find('_', nccl);  // ncclKernel_, ncclDevKernel_, ncclSymkDevKernel_
    return name == std::string_view::npos ? Moves::unknown : begins_with(folded(head.substr(name + 1, 40)));
  }
  for (const std::string_view part : {"internode::", "internode_ll::", "intranode::", "::ep::", " ep::", "deep_ep::"}) {
    const auto at = head.find(part);
    if (at == std::string_view::npos) continue;
    for (const Named& one : exchanges)
      if (head.find(one.words, at) != std::string_view::npos) return one.moves;
  }
  for (const Named& one : parts)
    if (head.find(one.words) != std::string_view::npos) return one.moves;
  return std::nullopt;
}

bool add_pass(std::string_view annotation, EnginePasses& passes) {
  const auto number = [](std::string_view text, std::string_view mark) -> std::int64_t {
    constexpr long long most = 1'000'000'000'000;
    const auto at = text.find(mark);
    return at == std::string_view::npos ? 0 : std::clamp(number_at(text.substr(at + mark.size()), 0LL), 0LL, most);
  };
  std::int64_t prompts = 0, tokens = 0, requests = 0, context = 0;
  if (const auto decode = annotation.find("_generation_"); annotation.starts_with("execute_") && decode != std::string_view::npos) {
    // execute_context_2(6144)_generation_3(3), execute_6147_context_2(sq6144sk7144...)_generation_3(sq3sk6144...)
    const std::string_view prompt = annotation.substr(0, decode), rest = annotation.substr(decode);
    prompts = number(prompt, "context_");
    tokens = std::max(number(prompt, "("), number(prompt, "(sq"));
    requests = number(rest, "_generation_");
    context = number(rest, "sk");
  } else if (annotation.starts_with("step[")) {  // step[EXTEND bs=2 toks=14721 c_sq=14721], step[DECODE bs=64 g_sk=131072], step[MIXED bs=5 c=2 g=3 c_sq=6144]
    const std::int64_t batch = number(annotation, " bs=");
    const bool decodes = has(annotation, "DECODE"), mixed = has(annotation, "MIXED");
    prompts = decodes ? 0 : mixed && has(annotation, " c=") ? number(annotation, " c=") : batch;
    tokens = std::max(number(annotation, " toks="), number(annotation, " c_sq="));
    requests = decodes ? batch : number(annotation, " g=");
    context = number(annotation, " g_sk=");
  } else if (annotation.starts_with("prefill[")) {  // prefill[bs=2 tok=14721 ctx=[7803, 6918]]
    prompts = number(annotation, "[bs=");
    tokens = number(annotation, " tok=");
  } else if (annotation.starts_with("decode[")) {  // decode[bs=117/128 tok=117 d=117 sqsq=117 sqsk=239616 sk=239616]
    requests = number(annotation, "[bs=");
    context = number(annotation, " sk=");
  } else {
    return false;
  }
  if (prompts > 0) {
    ++passes.with_prompts;
    passes.prompt_tokens += tokens;
  } else {
    ++passes.decoding;
    passes.requests += requests;
    if (context > 0) {
      passes.context += context;
      passes.attending += requests;
    }
  }
  return true;
}

double bytes_of_call(Moves moves, const Elements& elements, unsigned width, int ranks) {
  const std::int64_t in = elements.in, out = elements.out;
  std::int64_t count = in;
  if (moves == Moves::all_gather || moves == Moves::gather) count = out > 0 ? out : ranks > 0 && in >= 0 ? in * ranks : -1;
  if (moves == Moves::reduce_scatter && in < 0) count = ranks > 0 && out >= 0 ? out * ranks : -1;
  if (moves == Moves::broadcast || moves == Moves::send_recv || moves == Moves::reduce || moves == Moves::scatter ||
      moves == Moves::all_to_all)
    count = std::max(in, out);
  if (moves == Moves::barrier) return 0;
  constexpr double most = 1e17;
  const double bytes = static_cast<double>(count) * width;
  return count < 0 || width == 0 || bytes > most ? -1 : bytes;
}

TracedType type_named(std::string_view words) {
  if (words.starts_with("nccl")) words.remove_prefix(4);  // ncclBfloat16
  const std::string text = folded(words.substr(0, 40));
  const auto at = std::find_if(types.begin(), types.end(), [&](const NamedType& one) { return has_word(one.words, text); });
  return at == types.end() ? TracedType{} : at->type;
}

namespace {

struct NamedWork {
  Work work;
  std::string_view words;  ///< parts of its kernels' names
};

/// Small letters, in the order in which they are looked for. Operations fused with a product do not count; kernels around attention move
/// data.
constexpr std::array<NamedWork, 5> works{
    {{Work::memory, "splitkreduce preprocess postprocess dot_do_o convertdq convert_dq ::utils:: fbgemm_gpu gemv"},
     {Work::attention_old, "pytorch_flash flash_fwd_kernel flash_bwd_dq fmha_cutlass _attn_fwd _attn_bwd"},
     {Work::attention, "flash fmha attn attention sdpa"},
     {Work::product,
      "gemm nvjet cijk_ xmma matmul _mm_ triton_mm triton_tem convolve conv_fwd conv_bwd grouped_conv conv2d winograd "
      "dgrad wgrad fprop"},
     {Work::memory,
      "memset transpose quantize cast elementwise reduce norm softmax triton_poi triton_red triton_per multi_tensor "
      "adam dropout embedding embs cross_entropy copy swiglu silu gelu rope rotary index indices gather scatter "
      "permute sort topk scan pool concat fill bias subtensor nll_loss at::native"}}};

/// Products of numbers of one byte name them.
constexpr std::array<std::string_view, 5> narrow{"fp8", "e4m3", "e5m2", "f8f8", "_f8"};

}  // namespace

Work work_of_kernel(std::string_view kernel) {
  constexpr std::size_t enough = 600;  // CUTLASS spells whole programs in its templates
  std::string text(kernel.substr(0, enough));
  std::transform(text.begin(), text.end(), text.begin(), [](char c) { return lower(c); });
  const std::string_view own = std::string_view(text).substr(0, text.find('('));
  const std::string_view head = own.empty() ? std::string_view(text) : own;
  const auto has = [&](std::string_view words) { return head.find(words) != std::string_view::npos; };
  for (const NamedWork& one : works)
    for (std::string_view left = one.words; !left.empty();) {
      const std::string_view word = left.substr(0, left.find(' '));
      left.remove_prefix(std::min(word.size() + 1, left.size()));
      if (!has(word)) continue;
      if (one.work != Work::product) return one.work;
      return std::any_of(narrow.begin(), narrow.end(), has) ? Work::product_8 : Work::product;
    }
  return Work::unknown;
}

Work work_of_copy(std::string_view name) {
  return name.find("DtoD") != std::string_view::npos || name.find("emset") != std::string_view::npos ? Work::memory : Work::host_copy;
}

}  // namespace fabricost::observe
