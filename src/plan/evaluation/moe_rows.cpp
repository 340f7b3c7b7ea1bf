/// \file moe_rows.cpp
/// Converts the rows of a moe.csv to requests, and predicts them.

#include "evaluation/cells.hpp"

#include <fabricost/plan/evaluation/workload.hpp>
#include <fabricost/experts/moe_kernels.hpp>
#include <fabricost/predict/predict.hpp>
#include <fabricost/specs/load.hpp>

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <optional>

namespace fabricost::plan {

namespace {


constexpr std::array<std::string_view, 15> moe_columns{
    "id",     "group",         "topic",        "experts",  "top_k", "hidden", "tokens_per_rank", "gpu", "gpus",
    "method", "gpus_per_node", "interconnect", "quantity", "value", "unit"};

struct RowQuestion {
  std::string topic, gpu, interconnect, method, quantity, unit, notes;
  int experts = 0, top_k = 0, hidden = 0, gpus = 0, gpus_per_node = 0;
  double tokens = 0;
};

/// The shipped machine of a row.
struct MoeMachine {
  std::string_view gpu, interconnect, system;
};
constexpr std::array<MoeMachine, 5> moe_machines{{{"H800", "", "deepseek-v3-h800"},
                                                  {"H100", "EFA", "aws-p5"},
                                                  {"B200", "EFA", "aws-p6-b200"},
                                                  {"B300", "EFA", "aws-p6-b300"},
                                                  {"H200", "CX7", "nebius-h200"}}};
std::string_view system_of(const RowQuestion& q) {
  for (const MoeMachine& m : moe_machines)
    if (q.gpu == m.gpu && has(q.interconnect, m.interconnect)) return m.system;
  return {};
}

class MoePredictor {
 public:
  explicit MoePredictor(std::string_view calibration) : calibration_(calibration) {}

  /// The prediction in the row's unit, or a reason in `why`.
  double operator()(const RowQuestion& q, std::string& why) {
    if (q.topic == "dedup") return distinct_nodes(q, why);
    if (has(q.quantity, "max expert load over mean")) {
      if (q.experts < 1 || q.top_k < 1 || !(q.tokens >= 1)) return skip(why, "experts, top_k or tokens not given");
      return load_imbalance({q.experts, q.top_k}, {RoutingKind::uniform}, q.experts, q.tokens);
    }
    if (has(q.quantity, "experts per node")) return experts_for_one_copy(q, why);
    if (has(q.quantity, "NCCL all-to-all busbw")) return all_to_all_bus(q, why);
    const bool kernel = (has(q.quantity, "dispatch") || has(q.quantity, "combine"));
    if (kernel && (has(q.method, "low-latency") || has(q.topic, "low latency") || has(q.topic, "low-latency"))) return low_latency(q, why);
    if (kernel && q.unit == "GB/s") return kernel_bandwidth(q, why);
    if (has(q.unit, "fraction") || q.unit == "x") return skip(why, "a share or a speed-up without the shape it belongs to");
    return skip(why, "nothing that is modelled");
  }

 private:
  static double skip(std::string& why, std::string_view reason) {
    why = reason;
    return 0;
  }

  const System* machine(const RowQuestion& q, std::string& why) {
    const std::string_view name = system_of(q);
    if (name.empty()) {
      why = fmt::format("no machine is described for {} {}", q.gpu.empty() ? "a row without GPU" : q.gpu, q.interconnect);
      return nullptr;
    }
    const auto at = systems_.find(name);
    if (at != systems_.end()) return &at->second;
    return &systems_.emplace(std::string{name}, load_system(name, {}, calibration_)).first->second;
  }

  static double distinct_nodes(const RowQuestion& q, std::string& why) {
    int k = 0, experts = 0, nodes = 0;
    const std::size_t at = q.quantity.find("top-");
    if (at == std::string::npos ||
        std::sscanf(q.quantity.c_str() + at, "top-%d of %d on %d nodes", &k, &experts, &nodes) != 3)  // NOLINT(cert-err34-c)
      return skip(why, "says not which experts on which nodes");
    return touched_sets({experts, k}, nodes);
  }

  double experts_for_one_copy(const RowQuestion& q, std::string& why) {
    const System* s = machine(q, why);
    if (s == nullptr) return 0;
    const Tier* nic = s->tier(TierRole::nic);
    const double size = 1e9;  // large, so that it shows the rate
    const double inside = bus_factor(Collective::all_to_all, s->domain) * size / compile(*s, AllToAll{.ranks = s->domain}).seconds(size);
    return inside / (nic->aggregate().value() * s->nodes_per_domain() / s->domain);
  }

  double all_to_all_bus(const RowQuestion& q, std::string& why) {
    const System* s = machine(q, why);
    if (s == nullptr) return 0;
    if (q.gpus < 2) return skip(why, "number of GPUs not given");
    return in(predict(*s, AllToAll{.bytes = units::MiB(64), .ranks = q.gpus}).bus_bandwidth(), units::GB_per_s).value();
  }

  /// DeepEP's low-latency kernels, in microseconds or as the bytes of all copies over the time.
  double low_latency(const RowQuestion& q, std::string& why) {
    if (q.experts < 1 || q.top_k < 1 || q.hidden < 1 || q.gpus < 2 || !(q.tokens > 0))
      return skip(why, "low-latency: experts, top_k, hidden, GPUs or tokens not given");
    const bool dispatch = has(q.quantity, "dispatch");
    if (dispatch == has(q.quantity, "combine") || (q.unit != "us" && q.unit != "GB/s"))
      return skip(why, "low-latency: dispatch and combine in one figure");
    if (has(q.interconnect, "EFA")) return skip(why, "low-latency: GPUs cannot start EFA's transfers themselves, as these kernels do");
    const System* s = machine(q, why);
    if (s == nullptr) return 0;
    const MoePrediction p = predict(*s, MoeQuestion{.phase = dispatch ? MoePhase::dispatch : MoePhase::combine,
                                                    .kernel = MoeKernel::deepep_low_latency,
                                                    .gate = {q.experts, q.top_k},
                                                    .hidden = q.hidden,
                                                    .tokens = q.tokens,
                                                    .ranks = q.gpus});
    return q.unit == "us" ? 1e6 * p.seconds : p.algorithm_bandwidth() / 1e9;
  }

  /// Kernels that send a token once to each of its nodes, with at most 4 nodes per token as in DeepEP's own
  /// benchmark (tests/test_internode.py of deepseek-ai/DeepEP: as many groups as nodes, at most 4 of them);
  /// fp8 out and bf16 back unless the row says bf16.
  double kernel_bandwidth(const RowQuestion& q, std::string& why) {
    if (q.experts < 1 || q.top_k < 1 || q.hidden < 1 || q.gpus < 2 || !(q.tokens > 0))
      return skip(why, "experts, top_k, hidden, GPUs or tokens not given");
    const System* s = machine(q, why);
    if (s == nullptr) return 0;
    const int nodes = std::max(1, q.gpus / s->domain);
    const Gate gate{q.experts, q.top_k, nodes, std::min(4, nodes)};
    const bool narrow = has(q.quantity, "dispatch") && !has(q.notes, "bf16");
    const ExpertPlacement at = place_experts(q.gpus, s->domain);
    const ExpertExchange x{.gate = gate,
                           .routing = {},
                           .placement = at,
                           .copies = Copies::per_domain,
                           .bytes_per_token = token_bytes(q.hidden, narrow ? Precision::fp8 : Precision::bf16)};
    const ExpertTraffic t = expert_traffic(gate, at, x.copies, q.tokens, x.bytes_per_token);
    return (at.domains() > 1 ? t.counted_across : t.counted_inside) / ExpertCurve(*s, x).seconds(q.tokens) / 1e9;
  }

  std::string calibration_;
  std::map<std::string, System, std::less<>> systems_;
};

}  // namespace

std::vector<WorkloadRow> predict_moe_rows(const std::filesystem::path& file, std::string_view calibration) {
  CsvTable table{file};
  require_columns(table, moe_columns, "a table of experts");
  MoePredictor predict_row{calibration};
  std::vector<WorkloadRow> out;
  std::vector<RowQuestion> questions;
  while (table.next()) {
    Cells cells(table);
    questions.push_back({.topic = cells.text("topic"),
                         .gpu = cells.text("gpu"),
                         .interconnect = cells.text("interconnect"),
                         .method = cells.text("method"),
                         .quantity = cells.text("quantity"),
                         .unit = cells.text("unit"),
                         .notes = cells.text("notes"),
                         .experts = cells.count("experts", 0, 1e6),
                         .top_k = cells.count("top_k", 0, 1e6),
                         .hidden = cells.count("hidden", 0, 1e6),
                         .gpus = cells.count("gpus", 0, 1e6),
                         .gpus_per_node = cells.count("gpus_per_node", 0, 1e6),
                         .tokens = cells.number("tokens_per_rank", 1e12)});
    out.push_back(cells.row("quantity"));
    out.back().model = cells.text("method");
    cells.read_value(out.back());
  }
  table.finish();  // reports all faults of the file before the first prediction
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (!out[i].skipped.empty()) continue;
    try {
      out[i].predicted = predict_row(questions[i], out[i].skipped);
    } catch (const RequestError& impossible) {
      out[i].skipped = impossible.what();
    }
  }
  return out;
}

}  // namespace fabricost::plan
