/// Reads published kernels and collectives: the rows of ops.csv as single calls on machines.

#include "evaluation/cells.hpp"
#include "specs/data_directory.hpp"
#include "specs/near_or_all.hpp"
#include "specs/parts/gpu_index.hpp"
#include "specs/store.hpp"

#include <fabricost/hardware/slice.hpp>
#include <fabricost/plan/evaluation/ops.hpp>
#include <fabricost/plan/specs/stacks.hpp>
#include <fabricost/predict/predict.hpp>
#include <fabricost/specs/data_directory.hpp>
#include <fabricost/specs/load.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <regex>
#include <set>
#include <tuple>

namespace fabricost::plan {

namespace {

/// The machine for a row's group and words; the first match is used.
struct NamedPlace {
  std::string_view gpu, wires;  ///< of data/gpus, a word of the interconnect
  int ranks_per_node;           ///< maximum
  bool one_node;
  std::string_view system;
  std::array<std::string_view, 4> overrides;
  bool stated;  ///< false: the file does not determine the machine
};
// vidur's cloud: one A100 reaches 7.9 GB/s through its NIC, one H100 35 GB/s, which among public clouds only
// AWS's EFA provides; pairs of cards use all twelve links over one bridge (data/gpus/a100-pcie-80.yaml)
constexpr std::array places{
    NamedPlace{"a100-sxm-80", "fully connected", 4, true, "hgx-a100-4", {"gpu=a100-sxm-80"}, true},
    NamedPlace{"a100-sxm-80", "4 GPUs", 4, true, "hgx-a100-4", {"gpu=a100-sxm-80"}, true},
    NamedPlace{"a100-sxm-80",
               "pairs",
               2,
               true,
               "hgx-a100-4",
               {"gpu=a100-pcie-80", "gpus=2", "tiers.nvlink.endpoints=2", "tiers.pcie.endpoints=2"},
               true},
    NamedPlace{
        "h100-sxm", "pairs", 2, true, "hgx-a100-4", {"gpu=h100-nvl", "gpus=2", "tiers.nvlink.endpoints=2", "tiers.pcie.endpoints=2"}, true},
    NamedPlace{"a100-sxm-80", "pairs", 4, true, "pcie4-8gpu", {}, false},
    NamedPlace{"h100-sxm", "pairs", 4, true, "pcie5-8gpu", {}, false},
    NamedPlace{"a100-sxm-80", "NVSwitch", 8, true, "dgx-a100", {}, true},
    NamedPlace{"h100-sxm", "NVSwitch", 8, true, "dgx-h100", {}, true},
    NamedPlace{"a100-sxm-80", "NVSwitch", 8, false, "aws-p4de", {}, false},
    NamedPlace{"h100-sxm", "NVSwitch", 8, false, "aws-p5", {}, false},
    NamedPlace{"a100-sxm-80", "", 1, true, "dgx-a100", {}, true},
    NamedPlace{"h100-sxm", "", 1, true, "dgx-h100", {}, true},
    NamedPlace{"h200-sxm", "", 1, true, "dgx-h200", {}, true},
    NamedPlace{"tpu-v7", "", 1, true, "tpu-v7-cube", {}, true},
    NamedPlace{"trainium-3", "", 1, true, "trn3-ultraserver", {}, true},
};

/// What tables call GPUs, and the GPUs of the usual machines; each name is looked up once.
class NamedGpus {
 public:
  /// The GPU of data/gpus; empty: none. Published tables write A100 for the SXM's.
  [[nodiscard]] const std::string& called(const std::string& written) {
    const auto [at, fresh] = called_.try_emplace(written);
    if (!fresh) return at->second;
    static const std::regex short_name("a100(-\\d{1,4}gb?)?|tpu7x");
    const std::string name = folded(written);
    const bool is_short = name.size() < 16 && std::regex_match(name, short_name);
    return at->second = !is_short ? GpuIdentities::shipped()->gpu_called(written) : name == "tpu7x" ? "tpu-v7" : "a100-sxm-80";
  }
  [[nodiscard]] const std::string& of(const std::string& system) {
    const auto [at, fresh] = of_.try_emplace(system);
    if (fresh) at->second = load_system(system).gpu.name;
    return at->second;
  }

 private:
  std::map<std::string, std::string> called_, of_;
};

/// Its usual server where that joins the ranks through switches; for one GPU's kernel any machine with it.
bool usual_machine(OpsRow& op, const std::string& gpu, const std::string& wires, NamedGpus& gpus) {
  static const MachineIdentities known = machine_identities(data_directory());
  const auto usual = known.systems.find(gpu);
  if (op.kind == OpKind::collective) {
    const bool joined = usual != known.systems.end() && op.place.domains == 1 && has(wires, "NVSwitch");
    if (!joined || op.place.ranks() > load_system(usual->second).domain) return false;
  }
  op.system = usual != known.systems.end() ? usual->second : "dgx-h100";
  if (gpus.of(op.system) != gpu) op.overrides.push_back("gpu=" + gpu);
  op.row.fully_specified = true;
  return true;
}

/// One's own GPU, in any machine, or one's own machine with it. \throws as load_gpu, load_system
void own_machine(OpsRow& op, const std::string& file) {
  const core::SpecNode tree = core::parse_spec(file), *base = tree.find("extends");
  const bool is_gpu = tree.find("vendor") != nullptr || (base != nullptr && !core::SpecStore{}.find("gpus", base->text).empty());
  op.system = is_gpu ? "dgx-h100" : file;
  if (is_gpu) op.overrides.push_back("gpu=" + file);
  op.row.fully_specified = true;
}

void machine_of(OpsRow& op, const Cells& cells, NamedGpus& gpus) {
  const std::string& wires = cells.text("interconnect");
  const std::string own = core::is_path(op.gpu) ? core::beside(op.file, op.gpu).string() : std::string{};
  if (!own.empty() && core::is_there(own)) return own_machine(op, own);
  const std::string gpu = own.empty() ? gpus.called(op.gpu) : std::string{};
  for (const NamedPlace& p : places) {
    const bool alone = p.wires.empty() && op.kind != OpKind::collective;
    const bool joined =
        !p.wires.empty() && has(wires, p.wires) && op.place.local <= p.ranks_per_node && p.one_node == (op.place.domains == 1);
    if (gpu != p.gpu || !(alone || joined)) continue;
    op.system = p.system;
    for (const std::string_view o : p.overrides)
      if (!o.empty()) op.overrides.emplace_back(o);
    op.row.fully_specified = p.stated;
    return;
  }
  if (!gpu.empty() && usual_machine(op, gpu, wires, gpus)) return;
  if (gpu.empty())
    op.unknown = cells.issue("gpu", own.empty() ? "no GPU of data/gpus" : "where no file is",
                             core::did_you_mean(GpuIdentities::shipped()->near(op.gpu), "write a name of data/gpus.") +
                                 " Your own GPU or machine goes by the path of its file, relative to this one");
  if (op.row.skipped.empty())
    op.row.skipped = has(wires, "pairs") ? "network between nodes not stated: falls to 2 GB/s above 2 MiB"
                                         : fmt::format("no machine known with a GPU \"{}\" and \"{}\"", op.gpu, wires);
}

void product(OpsRow& op, double rows, double columns, double inner, double count = 1) {
  op.kind = OpKind::product;
  op.rows = rows;
  op.columns = columns;
  op.inner = inner;
  op.count = count;
}

/// \param moves values read and written per element of rows x width
void stream(OpsRow& op, double rows, double width, double moves) {
  op.kind = OpKind::stream;
  op.rows = rows;
  op.columns = width;
  op.bytes = 2 * moves * rows * width;
}

/// What "2 of 8 cores" or "one of two cores" are of a chip; 1 where a text does not say.
double part_of_chip(const std::string& text) {
  static const std::regex cores("(one|\\d{1,3}) of (two|\\d{1,3}) \\w*[cC]ores");
  std::smatch found;
  if (!std::regex_search(text, found, cores)) return 1;
  const auto number = [](const std::string& word) { return word == "one" ? 1 : word == "two" ? 2 : *parse_number(word); };
  const double all = number(found[2]);
  return all > 0 ? std::min(1.0, number(found[1]) / all) : 1;
}

/// The number after a word of a text; 0 if there is none.
double after(const std::string& text, const char* pattern) {
  std::smatch found;
  return std::regex_search(text, found, std::regex(pattern)) ? *parse_number(found[1].str()) : 0;
}

/// A kernel of a layer that is divided over ranks; the bytes of memory-bound kernels are the minimum of reads
/// and writes in 16 bit. False for an unknown kernel.
bool layer_kernel(OpsRow& op, std::string name, Cells& cells) {
  const double h = cells.count("hidden"), f = cells.count("ffn"), a = cells.count("heads"), t = std::max(1, cells.count("tp", 1));
  const double g = cells.count("kv_heads", cells.count("heads")), T = cells.count("tokens");
  if (!(h > 0 && f > 0 && a > 0 && T > 0)) return false;
  const double d = h / a;
  // kernels that reduce a row before scaling it (norms, softmax) read it twice, since rows exceed a block's
  // registers
  // vidur's profiler (github.com/microsoft/vidur, vidur/profiling/mlp/mlp_impl.py): gated, RMS norm
  if (name == "attn_pre_proj") return product(op, T, (a + 2 * g) * d / t, h), true;
  if (name == "attn_post_proj") return product(op, T, h, a * d / t), true;
  if (name == "mlp_up_proj") return product(op, T, 2 * f / t, h), true;
  if (name == "mlp_down_proj") return product(op, T, h, f / t), true;
  if (name == "mlp_act") return stream(op, T, f / t, 3), true;
  if (name == "input_layernorm") return stream(op, T, h, 3), true;
  // LLMCompass: a layer before fused attention; `prefill` attends to its own sequence, `decode` is one token
  // after a context
  const bool decode = name.starts_with("decode ");
  if (!decode && !name.starts_with("prefill ")) return false;
  name = name.substr(name.find(' ') + 1);
  const std::string& notes = cells.text("notes");
  const double batch = after(notes, "batch (\\d{1,6})"), own = after(notes, "sequence (\\d{1,7})");
  const double seen = decode ? after(notes, "context (\\d{1,7})") + after(notes, "\\+ (\\d{1,7}) generated") : own;
  const double queries = batch > 0 ? T / batch : 0, heads = batch * a / t;
  if (name == "Q_K_V") return product(op, T, (a + 2 * g) * d / t, h), true;
  if (name == "Wo_proj") return product(op, T, h, a * d / t), true;
  if (name == "W1_proj") return product(op, T, f / t, h), true;
  if (name == "W2_proj") return product(op, T, h, f / t), true;
  if (name == "GeLU") return stream(op, T, f / t, 2), true;
  if (name.starts_with("LayerNorm")) return stream(op, T, h, 3), true;
  if (!(seen > 0 && heads > 0)) return false;
  if (name == "Q_mul_K") return product(op, heads * queries, seen, d, heads), true;
  if (name == "A_mul_V") return product(op, heads * queries, d, seen, heads), true;
  if (name == "Softmax") return stream(op, heads * queries, seen, 3), true;
  return false;
}

/// The precision in a kernel's name; false for another word.
bool precision_of(OpsRow& op, const std::string& word) {
  if (word == "bf16" || word == "bfloat16" || word == "fp16") return true;
  op.precision = word == "fp4" || word == "nvfp4" ? Precision::fp4 : Precision::fp8;
  op.blocks = word == "fp8_block";
  return op.blocks || op.precision == Precision::fp4 || word == "fp8";
}

/// Causal attention of whole sequences, "batch 1, sequence 8192, head 128", or of one token of each to its context, "batch 1, context
/// 8192"; heads are of the whole model. False for another kernel, or a shape that is not stated.
bool attention_kernel(OpsRow& op, const std::string& name, Cells& cells) {
  static const std::regex forms(
      "^(?:attention (forward|backward)|attention_(prefill|decode)|context_attention_(\\w+)_kv_(\\w+)|"
      "generation_attention_kv_(\\w+))$");
  std::smatch found;
  if (!std::regex_match(name, found, forms)) return false;
  if (found[3] != found[4]) {
    op.row.skipped = "attention in one precision to a cache in another: a kernel of its own";
    return true;
  }
  if (const std::string word = found[3].str() + found[5].str(); !word.empty() && !precision_of(op, word)) return false;
  const bool decode = found[2] == "decode" || found[5].matched;
  const std::string& notes = cells.text("notes");
  const double head = after(notes, "head (?:size )?(\\d{1,4})"), ranks = std::max(1, cells.count("tp", 1));
  const double context = after(notes, "(?:context|length) (\\d{1,7})"), heads = cells.count("heads") / ranks;
  const double keys = std::max(1.0, cells.count("kv_heads", cells.count("heads")) / ranks);
  double batch = after(notes, "batch (\\d{1,6})"), sequence = after(notes, "sequence (\\d{1,7})");
  if (found[2] == "prefill") {
    batch = 1;
    sequence = cells.count("tokens");
  }
  op.kind = decode ? OpKind::decode : found[1] == "backward" ? OpKind::attention_backward : OpKind::attention;
  op.columns = decode ? context : sequence;
  op.rows = batch * heads * (decode ? 1 : sequence);
  op.inner = 2 * head;  // queries' and values' width
  op.bytes = bytes_of(op.precision) * batch * op.columns * keys * op.inner + 2 * op.rows * op.inner;
  return op.rows > 0 && op.inner > 0 && op.columns > 0;
}

/// Experts of one rank, gated, with their sorting and adding up: "128 experts over 8 ranks, top 8, balanced", of all tokens.
bool experts_kernel(OpsRow& op, const std::string& name, Cells& cells) {
  if (!name.starts_with("moe_") || !precision_of(op, name.substr(4))) return false;
  const std::string& notes = cells.text("notes");
  const double all = after(notes, "(\\d{1,5}) experts"), top = after(notes, "top (\\d{1,3})"),
               ranks = std::max(1.0, after(notes, "over (\\d{1,4}) ranks"));
  const double tokens = cells.count("tokens"), hidden = cells.count("hidden");
  op.kind = OpKind::experts;
  op.rows = std::max(1.0, tokens * top / ranks);
  op.columns = cells.count("ffn");
  op.inner = hidden;
  op.count = std::min(all / ranks, op.rows);
  op.entering = tokens * hidden;
  if (!has(notes, "balanced")) op.row.skipped = "experts under a load that is not balanced: rows of this rank are not stated";
  if (has(notes, "min_latency")) op.row.skipped = "experts by a kernel for few tokens alone";
  return all > 0 && top > 0 && op.entering > 0 && op.columns > 0;
}

/// Bytes read and written: by the optimizer, or by nothing else.
bool memory_kernel(OpsRow& op, const std::string& name, Cells& cells) {
  op.kind = name == "optimizer" ? OpKind::optimizer : OpKind::memory;
  op.bytes = cells.number("bytes");
  if (name == "hbm_copy") op.bytes *= 2;
  return op.bytes > 0 && (name == "optimizer" || name == "hbm_copy" || name == "hbm_read" || name == "hbm_write");
}

/// "matmul M=8192 K=4096 N=28672 bf16", or "gemm_bf16" of tokens x hidden by hidden x ffn, or of the shape that was "executed MxNxK".
bool product_kernel(OpsRow& op, const std::string& name, Cells& cells) {
  std::smatch found;
  static const std::regex sizes("^matmul M=(\\d{1,8}) K=(\\d{1,8}) N=(\\d{1,8}) (\\w+)$"),
      padded("executed (\\d{1,8})x(\\d{1,8})x(\\d{1,8})");
  if (std::regex_match(name, found, sizes)) {
    product(op, *parse_number(found[1].str()), *parse_number(found[3].str()), *parse_number(found[2].str()));
    return precision_of(op, found[4]);
  }
  if (!name.starts_with("gemm_") || !precision_of(op, name.substr(5))) return false;
  product(op, cells.count("tokens"), cells.count("ffn"), cells.count("hidden"));
  const std::string& notes = cells.text("notes");
  if (std::regex_search(notes, found, padded))
    product(op, *parse_number(found[1].str()), *parse_number(found[2].str()), *parse_number(found[3].str()));
  return op.rows > 0 && op.columns > 0 && op.inner > 0;
}

/// Parses the timed call.
void call_of(OpsRow& op, const std::string& name, Cells& cells) {
  const int ranks = cells.count("ranks", 1), per_node = cells.count("ranks_per_node", ranks);
  const bool all_reduce = name == "all_reduce" || has(name, "AllReduce"), send = name == "send_recv";
  if (all_reduce || send) {
    op.kind = OpKind::collective;
    op.collective = send ? Collective::send_recv : Collective::all_reduce;
    op.bytes = cells.number("bytes");
    if (ranks < 2 || per_node < 1 || ranks % per_node != 0)
      op.row.skipped = fmt::format("{} ranks, {} a node", ranks, per_node);
    else
      op.place = {per_node, ranks / per_node};
    if (!(op.bytes > 0)) op.row.skipped = "bytes not stated";
    return;
  }
  for (const auto kernel : {product_kernel, attention_kernel, experts_kernel, memory_kernel})
    if (kernel(op, name, cells)) return;
  if (!layer_kernel(op, name, cells)) {
    op.row.skipped = fmt::format("\"{}\" is no kernel known here, or its shape is not stated", name.substr(0, 40));
  }
}

}  // namespace

std::unique_ptr<TrainingMachine> load_training_machine(const std::string& system, const std::vector<std::string>& overrides, int gpus) {
  auto out = std::make_unique<TrainingMachine>();
  out->system = load_system(system, overrides);
  if (gpus > 0) out->system = slice_for(std::move(out->system), gpus);
  out->gpu = Processor::of(out->system);
  out->costs = std::make_unique<GroupCosts>(out->system);
  return out;
}

std::vector<OpsRow> read_ops_rows(const std::filesystem::path& file) {
  CsvTable table(file);
  NamedGpus gpus;
  std::vector<OpsRow> out;
  while (table.next()) {
    Cells cells(table);
    OpsRow op;
    op.row = cells.row("op");
    op.row.fully_specified = false;  // until its machine is identified
    op.gpu = cells.text("gpu");
    op.file = table.name();
    if (const std::size_t core = op.gpu.find(" ("); core != std::string::npos) {  // "TPU7x (one of two cores of a chip)"
      op.part = part_of_chip(op.gpu.substr(core));
      op.gpu.resize(core);
    }
    op.row.measured = 1e-6 * cells.number("time_us");
    call_of(op, cells.text("op"), cells);
    machine_of(op, cells, gpus);
    if (op.row.skipped.empty() && !(op.row.measured > 0)) op.row.skipped = "no figure";
    out.push_back(std::move(op));
  }
  table.finish();
  return out;
}

std::optional<KernelKind> kernel_kind(const OpsRow& op) {
  switch (op.kind) {
    case OpKind::product: return op.count > 1 ? std::nullopt : std::optional{KernelKind::gemm};
    case OpKind::experts: return KernelKind::experts;
    case OpKind::attention: return KernelKind::attention;
    case OpKind::attention_backward: return KernelKind::attention_backward;
    case OpKind::decode: return KernelKind::decode;
    case OpKind::optimizer: return KernelKind::optimizer;
    case OpKind::memory: return KernelKind::memory;
    case OpKind::stream:
    case OpKind::collective: break;
  }
  return std::nullopt;
}

double kernel_bytes(const OpsRow& op) {
  const double each = bytes_of(op.precision);
  if (op.kind == OpKind::product) return each * (op.rows + op.count * op.columns) * op.inner + 2 * op.rows * op.columns;
  if (op.kind == OpKind::experts) return each * 3 * op.count * op.columns * op.inner;
  return op.bytes;
}

double kernel_seconds(const OpsRow& op, const Processor& gpu, double slower) {
  Processor clocked = gpu;
  for (double* peak : {&clocked.peak16, &clocked.peak8, &clocked.peak4}) *peak *= op.part / slower;
  clocked.memory_rate *= op.part;
  clocked.units *= op.part;
  if (op.blocks) clocked.use_block_scales();
  const std::optional<KernelKind> kind = kernel_kind(op);
  const KernelRate own = kind ? clocked.own.of(*kind, op.precision) : KernelRate{};
  const double memory_rate = (own.known() ? own.memory : clocked.constants.memory) * clocked.memory_rate, moved = op.bytes / memory_rate;
  const double start = own.known() ? own.start : clocked.constants.gemm_start;
  switch (op.kind) {
    case OpKind::product: return product_seconds(clocked, op.precision, op.rows, op.columns, op.inner, op.count);
    case OpKind::experts: {
      const double routed = 3 * 2 * op.entering / memory_rate;
      const double count = std::max(2.0, op.count);  // one expert with rows runs in the kernel of many
      return product_seconds(clocked, op.precision, op.rows, 2 * op.columns, op.inner, count) +
             product_seconds(clocked, op.precision, op.rows, op.inner, op.columns, count) + routed;
    }
    case OpKind::attention:
    case OpKind::attention_backward: {
      const Stack stack{.fp8_attention = op.precision == Precision::fp8};
      const double forward = attention_seconds(clocked, stack, {op.rows, op.columns, {op.inner / 2, op.inner / 2}, true, op.bytes}, op.precision);
      if (op.kind == OpKind::attention) return forward;
      if (!own.known()) return attention_backward(clocked, AttentionKernel::cudnn) * forward;
      const double flops = backward_products * op.rows * op.columns * op.inner;
      return start + flops / (own.share * clocked.peak(op.precision)) + 2 * moved;
    }
    case OpKind::decode: return start + p_norm(moved, own.depth * op.columns, 2);
    case OpKind::optimizer:
    case OpKind::memory: return own.known() ? start + moved : moved;
    case OpKind::stream:
    case OpKind::collective: break;
  }
  return row_kernel_seconds(clocked, op.columns, op.bytes);
}

void skip_impossible(std::vector<OpsRow>& rows, TrainingMachines& machines) {
  const auto key = [](const OpsRow& op) { return std::tuple{op.row.group, op.gpu, op.kind, kernel_precision(op)}; };
  std::set<decltype(key(rows.front()))> wrong;
  const auto product = [](const OpsRow& op) { return op.row.skipped.empty() && op.kind == OpKind::product; };
  for (OpsRow& op : rows) {
    if (!product(op)) continue;
    try {
      const double peak = op.part * machines.on(op.system, op.overrides, 0).gpu.peak(op.precision);
      if (2 * op.rows * op.columns * op.inner > peak * op.row.measured) wrong.insert(key(op));
    } catch (const RequestError& error) {
      op.row.skipped = error.what();
    }
  }
  for (OpsRow& op : rows)
    if (product(op) && wrong.contains(key(op)))
      op.row.skipped = "products of this group are faster than the peak of the precision that it states";
}

void predict_ops_rows(std::vector<OpsRow>& rows, const Stack* stack) {
  TrainingMachines machines;
  skip_impossible(rows, machines);
  std::map<std::string, Stack> publishers;
  for (OpsRow& op : rows) {
    if (!op.row.skipped.empty()) continue;
    try {
      const TrainingMachine& machine = machines.on(op.system, op.overrides, 0);
      const System& system = machine.system;
      if (op.kind == OpKind::collective) {
        const int ranks = op.place.ranks(), nodes = op.place.domains;
        const Prediction p =
            predict(system, Operation{.collective = op.collective, .bytes = Bytes::from_value(op.bytes), .ranks = ranks, .nodes = nodes});
        op.row.predicted = p.seconds;
        op.row.low = p.low;
        op.row.high = p.high;
        continue;
      }
      const auto [at, fresh] = publishers.try_emplace(op.row.group);
      Stack& publisher = at->second;
      if (fresh) publisher = published_kernels(op.row.group);
      Processor gpu = machine.gpu;
      const OwnKernel* own = nullptr;
      if (stack != nullptr)
        for (const OwnKernel& one : stack->kernels)
          if (one.gpu == gpu.name && one.kind == kernel_kind(op) && one.precision == kernel_precision(op)) own = &one;
      if (own != nullptr) gpu.own.of(own->kind, own->precision) = own->rate;
      op.row.predicted = kernel_seconds(op, gpu, own != nullptr ? 1 : publisher.scale);
      std::tie(op.row.low, op.row.high) =
          own != nullptr ? interval_around(op.row.predicted, own->spread) : interval_of(op.row.predicted, publisher, system, op.precision);
    } catch (const RequestError& error) {
      op.row.skipped = error.what();
    }
  }
}

}  // namespace fabricost::plan
