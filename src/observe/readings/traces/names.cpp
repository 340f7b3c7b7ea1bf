/// \file names.cpp
/// Names of operations, kernels and element types in traces: torch/csrc/distributed/c10d (ParamCommsUtils.hpp, the profiling titles of
/// ProcessGroupNCCL.cpp), NCCL's and RCCL's kernels (src/device/generate.py), DeepEP (csrc/kernels), the all-reduces of vLLM, SGLang, AITER,
/// TensorRT-LLM, FlashInfer and PyTorch's symmetric memory, and the exchanges of experts of TensorRT-LLM and MORI.

#include "readings/traces/traced.hpp"
#include "text/ascii.hpp"

#include <algorithm>

namespace fabricost::observe {

namespace {

/// Small letters without blanks, dashes and underscores.
[[nodiscard]] std::string bare(std::string_view text) {
  std::string out;
  for (const char c : text)
    if (c != '_' && c != '-' && c != ' ') out += lower(c);
  return out;
}
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
  std::string_view words;
  TracedType type;
};
constexpr std::array<NamedType, 33> types{{{"float", {"float32", 4}},
                                           {"float32", {"float32", 4}},
                                           {"bfloat16", {"bfloat16", 2}},
                                           {"c10::bfloat16", {"bfloat16", 2}},
                                           {"half", {"float16", 2}},
                                           {"c10::half", {"float16", 2}},
                                           {"float16", {"float16", 2}},
                                           {"double", {"float64", 8}},
                                           {"float64", {"float64", 8}},
                                           {"long", {"int64", 8}},
                                           {"longint", {"int64", 8}},
                                           {"int64", {"int64", 8}},
                                           {"uint64", {"uint64", 8}},
                                           {"int", {"int32", 4}},
                                           {"int32", {"int32", 4}},
                                           {"uint32", {"uint32", 4}},
                                           {"short", {"int16", 2}},
                                           {"shortint", {"int16", 2}},
                                           {"uint16", {"uint16", 2}},
                                           {"byte", {"uint8", 1}},
                                           {"unsignedchar", {"uint8", 1}},
                                           {"uint8", {"uint8", 1}},
                                           {"char", {"int8", 1}},
                                           {"signedchar", {"int8", 1}},
                                           {"int8", {"int8", 1}},
                                           {"bool", {"bool", 1}},
                                           {"float8e4m3fn", {"float8_e4m3", 1}},
                                           {"float8e4m3", {"float8_e4m3", 1}},
                                           {"float8e4m3fnuz", {"float8_e4m3", 1}},
                                           {"float8e5m2", {"float8_e5m2", 1}},
                                           {"float8e5m2fnuz", {"float8_e5m2", 1}},
                                           {"complexfloat", {"complex64", 8}},
                                           {"complexdouble", {"complex128", 16}}}};

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
  return begins_with(bare(words.substr(0, 60)));
}

std::optional<Moves> moves_of_kernel(std::string_view kernel) {
  // before the arguments, whose types name anything
  const std::string_view head = kernel.substr(0, std::min(kernel.find('('), kernel.size()));
  const auto nccl = head.find("nccl");
  if (nccl != std::string_view::npos && head.find("ernel", nccl) != std::string_view::npos) {
    const auto name = head.find('_', nccl);  // ncclKernel_, ncclDevKernel_, ncclSymkDevKernel_
    return name == std::string_view::npos ? Moves::unknown : begins_with(bare(head.substr(name + 1, 40)));
  }
  for (const std::string_view room : {"internode::", "internode_ll::", "intranode::", "::ep::", " ep::", "deep_ep::"}) {
    const auto at = head.find(room);
    if (at == std::string_view::npos) continue;
    for (const Named& one : exchanges)
      if (head.find(one.words, at) != std::string_view::npos) return one.moves;
  }
  for (const Named& one : parts)
    if (head.find(one.words) != std::string_view::npos) return one.moves;
  return std::nullopt;
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
  const std::string text = bare(words.substr(0, 40));
  const auto at = std::find_if(types.begin(), types.end(), [&](const NamedType& one) { return one.words == text; });
  return at == types.end() ? TracedType{} : at->type;
}

}  // namespace fabricost::observe
