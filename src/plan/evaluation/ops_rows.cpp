/// \file ops_rows.cpp
/// Reads published kernels and collectives: the rows of ops.csv as single calls on machines.

#include "evaluation/cells.hpp"
#include "specs/data_directory.hpp"
#include "specs/parts/identities.hpp"

#include <fabricost/plan/evaluation/ops.hpp>
#include <fabricost/predict/predict.hpp>
#include <fabricost/specs/data_directory.hpp>
#include <fabricost/specs/load.hpp>
#include <fabricost/plan/specs/stacks.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <regex>
#include <tuple>

namespace fabricost::plan {

namespace {


/// The machine for a row's group and words; the first match is used.
struct NamedPlace {
  std::string_view gpu, wires;  ///< prefix of the GPU's name, a word of the interconnect
  int ranks_per_node;           ///< maximum
  bool one_node;
  std::string_view system;
  std::array<std::string_view, 4> overrides;
  bool stated;  ///< false: the file does not determine the machine
};
// vidur's cloud: one A100 reaches 7.9 GB/s through its NIC, one H100 35 GB/s, which among public clouds only
// AWS's EFA provides; pairs of cards use all twelve links over one bridge (data/gpus/a100-pcie-80.yaml)
constexpr std::array places{
    NamedPlace{"a100", "fully connected", 4, true, "hgx-a100-4", {"gpu=a100-sxm-80"}, true},
    NamedPlace{"a100", "4 GPUs", 4, true, "hgx-a100-4", {"gpu=a100-sxm-80"}, true},
    NamedPlace{
        "a100", "pairs", 2, true, "hgx-a100-4", {"gpu=a100-pcie-80", "gpus=2", "tiers.nvlink.endpoints=2", "tiers.pcie.endpoints=2"}, true},
    NamedPlace{
        "h100", "pairs", 2, true, "hgx-a100-4", {"gpu=h100-nvl", "gpus=2", "tiers.nvlink.endpoints=2", "tiers.pcie.endpoints=2"}, true},
    NamedPlace{"a100", "pairs", 4, true, "pcie4-8gpu", {}, false},
    NamedPlace{"h100", "pairs", 4, true, "pcie5-8gpu", {}, false},
    NamedPlace{"a100", "NVSwitch", 8, true, "dgx-a100", {}, true},
    NamedPlace{"h100", "NVSwitch", 8, true, "dgx-h100", {}, true},
    NamedPlace{"a100", "NVSwitch", 8, false, "aws-p4de", {}, false},
    NamedPlace{"h100", "NVSwitch", 8, false, "aws-p5", {}, false},
    NamedPlace{"a100", "", 1, true, "dgx-a100", {}, true},
    NamedPlace{"h100", "", 1, true, "dgx-h100", {}, true},
    NamedPlace{"h200", "", 1, true, "dgx-h200", {}, true},
};

/// Of a GPU that data/gpus knows: its usual server where that joins the ranks through switches; for one GPU's kernel any machine with it.
bool usual_machine(OpsRow& op, const std::string& wires) {
  const std::string gpu = GpuIdentities::shipped()->gpu_named(op.gpu);
  if (gpu.empty()) return false;
  static const MachineIdentities known = machine_identities(data_directory());
  const auto usual = known.systems.find(gpu);
  if (op.kind == OpKind::collective) {
    const bool joined = usual != known.systems.end() && op.place.domains == 1 && has(wires, "NVSwitch");
    if (!joined || op.place.ranks() > load_system(usual->second).domain) return false;
    op.system = usual->second;
  } else if (usual != known.systems.end()) {
    op.system = usual->second;
  } else {
    op.system = "dgx-h100";
    op.overrides.push_back("gpu=" + gpu);
  }
  op.row.fully_specified = true;
  return true;
}

void machine_of(OpsRow& op, const std::string& wires) {
  const std::string gpu = folded(op.gpu);
  for (const NamedPlace& p : places) {
    const bool alone = p.wires.empty() && op.kind != OpKind::collective;
    const bool joined =
        !p.wires.empty() && has(wires, p.wires) && op.place.local <= p.ranks_per_node && p.one_node == (op.place.domains == 1);
    if (!gpu.starts_with(p.gpu) || !(alone || joined)) continue;
    op.system = p.system;
    for (const std::string_view o : p.overrides)
      if (!o.empty()) op.overrides.emplace_back(o);
    op.row.fully_specified = p.stated;
    return;
  }
  if (usual_machine(op, wires)) return;
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

/// Causal attention of whole sequences, "batch 1, sequence 8192, head 128"; false for another kernel, or a shape that is not stated.
bool attention_kernel(OpsRow& op, const std::string& name, Cells& cells) {
  if (name != "attention forward" && name != "attention backward") return false;
  const std::string& notes = cells.text("notes");
  const double batch = after(notes, "batch (\\d{1,6})"), sequence = after(notes, "sequence (\\d{1,7})"), head = after(notes, "head (\\d{1,4})");
  op.kind = name == "attention backward" ? OpKind::attention_backward : OpKind::attention;
  op.rows = batch * cells.count("heads") * sequence;
  op.columns = sequence;
  op.inner = 2 * head;  // queries' and values' width
  return op.rows > 0 && op.inner > 0;
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
  std::smatch found;
  static const std::regex sizes("^matmul M=(\\d{1,8}) K=(\\d{1,8}) N=(\\d{1,8}) (fp16|bf16|fp8)$");
  if (std::regex_match(name, found, sizes)) {
    product(op, *parse_number(found[1].str()), *parse_number(found[3].str()), *parse_number(found[2].str()));
    if (found[4] == "fp8") op.precision = Precision::fp8;
  } else if (!attention_kernel(op, name, cells) && !layer_kernel(op, name, cells)) {
    op.row.skipped = fmt::format("\"{}\" is no kernel known here, or its shape is not stated", name.substr(0, 40));
  }
}

}  // namespace

std::vector<OpsRow> read_ops_rows(const std::filesystem::path& file) {
  CsvTable table(file);
  std::vector<OpsRow> out;
  while (table.next()) {
    Cells cells(table);
    OpsRow op;
    op.row = cells.row("op");
    op.row.fully_specified = false;  // until its machine is identified
    op.gpu = cells.text("gpu");
    op.row.measured = 1e-6 * cells.number("time_us");
    call_of(op, cells.text("op"), cells);
    machine_of(op, cells.text("interconnect"));
    if (op.row.skipped.empty() && !(op.row.measured > 0)) op.row.skipped = "no figure";
    out.push_back(std::move(op));
  }
  table.finish();
  return out;
}

double kernel_seconds(const OpsRow& op, const Processor& gpu, double slower) {
  if (op.kind == OpKind::product) {
    Processor clocked = gpu;
    for (double* peak : {&clocked.peak16, &clocked.peak8, &clocked.peak4}) *peak /= slower;
    return product_seconds(clocked, op.precision, op.rows, op.columns, op.inner, op.count);
  }
  if (op.kind == OpKind::attention || op.kind == OpKind::attention_backward) {
    const double forward = attention_seconds(gpu, Stack{}, op.rows * op.columns, op.inner, op.precision);
    return slower * (op.kind == OpKind::attention ? forward : attention_backward(gpu, AttentionKernel::cudnn) * forward);
  }
  return row_kernel_seconds(gpu, op.columns, op.bytes);
}

void predict_ops_rows(std::vector<OpsRow>& rows) {
  TrainingMachines machines;
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
      op.row.predicted = kernel_seconds(op, machine.gpu, publisher.scale);
      std::tie(op.row.low, op.row.high) = interval_of(op.row.predicted, publisher, system, op.precision);
    } catch (const RequestError& error) {
      op.row.skipped = error.what();
    }
  }
}

}  // namespace fabricost::plan
