/// \file inference_rows.cpp
/// Reads and predicts published inference results.

#include "evaluation/cells.hpp"
#include "evaluation/published_machine.hpp"

#include <fabricost/plan/evaluation/inference.hpp>
#include <fabricost/parameters/interval.hpp>
#include <fabricost/plan/model/flops.hpp>
#include <fabricost/plan/serving/arrivals/loaded.hpp>
#include <fabricost/plan/serving/offload.hpp>
#include <fabricost/specs/load.hpp>
#include <fabricost/plan/specs/load_model.hpp>
#include <fabricost/plan/specs/serving.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

namespace fabricost::plan {

namespace {

struct NamedQuantity {
  std::string_view metric;
  InferenceQuantity quantity;
};
constexpr std::array quantities{
    NamedQuantity{"ttft_ms", InferenceQuantity::ttft},
    NamedQuantity{"tpot_ms", InferenceQuantity::tpot},
    NamedQuantity{"output_tokens_per_s_total", InferenceQuantity::tokens_per_s},
    NamedQuantity{"output_tokens_per_s_per_gpu", InferenceQuantity::tokens_per_s_per_gpu},
    NamedQuantity{"first_token_latency", InferenceQuantity::first_token},
    NamedQuantity{"decode_tokens_per_s_per_node", InferenceQuantity::decode_rate},
    NamedQuantity{"decode_tokens_per_s_per_gpu", InferenceQuantity::decode_rate},
    NamedQuantity{"prefill_tokens_per_s_per_node", InferenceQuantity::prefill_rate},
    NamedQuantity{"prefill_tokens_per_s_per_gpu", InferenceQuantity::prefill_rate},
    NamedQuantity{"kv_transfer_ms", InferenceQuantity::kv_transfer},
    NamedQuantity{"kv_cache_kB_per_token", InferenceQuantity::kv_per_token},
    NamedQuantity{"training_gflop_per_token", InferenceQuantity::training_flops},
    NamedQuantity{"ep_comm_time_per_layer_half", InferenceQuantity::expert_phase},
    NamedQuantity{"tpot_lower_bound", InferenceQuantity::expert_bound},
    NamedQuantity{"generation_tokens_per_s", InferenceQuantity::offload},
};
InferenceQuantity quantity_of(std::string_view metric) {
  for (const NamedQuantity& q : quantities)
    if (q.metric == metric) return q.quantity;
  return InferenceQuantity::none;
}
double unit_of(std::string_view unit) {
  const std::string_view first = unit.substr(0, unit.find(' '));  // of "ms median"
  return first == "ms" ? 1e-3 : first == "us" ? 1e-6 : has(unit, "kB") ? 1e3 : has(unit, "GFLOP") ? 1e9 : 1;
}

/// The format of the weights: that of the experts if it differs, since they are most of the model.
WeightFormat format_of(Cells& cells) {
  const std::string& gemm = cells.text("precision_gemm");
  const std::string& moe = cells.text("precision_moe");
  const std::string& format = moe.empty() ? gemm : moe;
  if (has(format, "int4")) return WeightFormat::int4;
  if (has(format, "fp4")) return WeightFormat::fp4;
  if (has(format, "fp8")) return WeightFormat::fp8;
  return WeightFormat::bf16;
}

/// Tensor, attention and expert ranks of an engine. Some rows count ranks twice: 8 GPUs with experts over all
/// of them appear as 64, moe_tp 8 and moe_ep 8 (their ids say tp8_ep8, and nodes have 8 GPUs), or as tp 4,
/// attn_dp 4 and moe_ep 16. One of the two factors is dropped there.
EngineLayout engine_of(Cells& cells, const std::string& prefix) {
  const auto count = [&](const char* column) { return cells.count(prefix + column, 1); };
  EngineLayout l;
  l.tp = std::max(1, count("tp"));
  l.pp = std::max(1, count("pp"));
  l.attention_dp = std::max(1, count("attn_dp"));
  l.ep = std::max(1, count("moe_ep"));
  const long long moe_tp = std::max(1, count("moe_tp"));
  if (prefix.empty() && !cells.text("attn_dp").empty()) {
    if (moe_tp == l.ep && l.ep > 1 && l.ranks() == moe_tp * l.ep) {
      if (l.attention_dp > 1)
        l.attention_dp = l.ep;
      else
        l.tp = l.ep;
    } else if (l.tp == l.attention_dp && l.tp > 1 && l.ep == l.ranks()) {
      l.attention_dp = 1;
      l.ep = l.tp;
    }
  }
  l.ep = std::min(l.ep, l.ranks());
  return l;
}

/// The known settings of the run's server.
ServerSettings settings_of(const InferenceRow& r, Cells& cells, const ServingTable& table) {
  ServerSettings out;
  const auto known = table.settings.find(r.stack);
  if (r.apart || known == table.settings.end()) return out;
  const double isl = cells.count("isl"), osl = cells.count("osl"), c = r.load.concurrency;
  const std::string &backend = cells.text("backend"), &notes = cells.text("notes");
  const bool replicas = r.engine.attention_dp > 1;
  for (const PublishedSettings& p : known->second) {
    const bool fits = (p.system.empty() || p.system == r.system) && r.model->name.starts_with(p.model) &&
                      backend.starts_with(p.version) && has(notes, p.run) && p.weights.value_or(r.format.weights) == r.format.weights &&
                      p.replicas.value_or(replicas) == replicas &&
                      (p.tp_most == 0 || r.engine.tp <= p.tp_most) && (p.isl == 0 || p.isl == isl) && (p.osl == 0 || p.osl == osl) &&
                      c >= p.from && (p.until == 0 || c < p.until);
    if (!fits) continue;
    out.take(p.settings);
    if (p.chunk_is_prompt) out.chunk = isl;
  }
  return out;
}

void silicon(InferenceRow& out, Cells& cells) {
  out.apart = cells.text("mode") == "disagg";
  const int concurrency = cells.count("concurrency");
  if (!out.apart) {
    const int batch = cells.count("batch");
    out.engine = engine_of(cells, "");
    out.load.concurrency = batch > 0 ? static_cast<double>(batch) * std::max(1, cells.count("attn_dp", 1)) : concurrency;
    if (cells.count("gpus", 1) < 1) out.row.skipped = "the row counts no GPUs";
  } else {
    out.engine = engine_of(cells, "decode_");
    out.prefill = engine_of(cells, "prefill_");
    out.workers = {cells.count("prefill_workers"), cells.count("decode_workers")};
    out.load.concurrency = concurrency;
    if (out.workers.prefill < 1 || out.workers.decode < 1) out.row.skipped = "how many workers prefill and decode is not stated";
  }
  if (out.row.skipped.empty() && (out.load.concurrency < 1 || out.load.isl < 1 || out.load.osl < 1))
    out.row.skipped = "concurrency or lengths not stated";
}

/// Reads the columns of other quantities, or sets a reason if they are missing.
void other(InferenceRow& out, Cells& cells) {
  using Q = InferenceQuantity;
  out.engine.tp = std::max(1, cells.count("tp", 1));
  out.engine.pp = std::max(1, cells.count("pp", 1));
  if (out.quantity == Q::decode_rate || out.quantity == Q::prefill_rate) {
    const int ep = cells.count("moe_ep");
    out.engine.ep = std::max(1, ep);
    out.engine.attention_dp = std::max(1, ep / out.engine.tp);
    out.per_gpus = has(out.row.metric, "node") ? 8 : 1;
    out.format = {WeightFormat::fp8, 2};
    if (cells.text("backend").empty() && out.row.group.starts_with("deepseek")) out.stack = "large-ep";
    if (ep < 1 || out.batch < 1 || out.load.isl < 1) out.row.skipped = "expert ranks, tokens or context not stated";
    return;
  }
  if (out.quantity == Q::kv_transfer || out.quantity == Q::kv_per_token) out.format.kv_width = 2;
  if (out.quantity == Q::tokens_per_s || out.quantity == Q::tokens_per_s_per_gpu || out.quantity == Q::offload) {
    const bool lengths = out.load.isl >= 1 && out.load.osl >= 1;
    if (!lengths)
      out.row.skipped = "lengths not stated";
    else if (out.batch < 1 && out.quantity == Q::offload)
      out.row.skipped = "batch not stated";
  }
  if (out.quantity == Q::offload && cells.text("backend") != "FlexGen")
    out.row.skipped = "loads layers one after another without hiding it, or over other machines";
  if (out.quantity == Q::offload && has(cells.text("notes"), "disk") && has(cells.text("model"), "175B"))
    out.row.skipped = "weights on disk";
}

constexpr std::string_view no_quantity = "a share, a gain or a figure of something else than serving";
std::string why_no_quantity(const std::string& group, const std::string& metric) {
  if (group.starts_with("deepep")) return "kernels of dispatch and combine: a table of expert kernels has them";
  if (group.starts_with("nixl") || group.starts_with("kv_reuse")) return "storage of caches is not modelled";
  if (group.starts_with("mooncake_transfer")) return "a transfer engine alone, on one large block";
  if (metric == "latency_64B") return "latency of one message: predict send_recv";
  return std::string{no_quantity};
}

}  // namespace

std::vector<InferenceRow> read_inference_rows(const std::filesystem::path& file, const ServingTable& table) {
  CsvTable csv(file);
  std::map<std::string, std::shared_ptr<const Model>> models;
  std::vector<InferenceRow> out;
  while (csv.next()) {
    Cells cells(csv);
    InferenceRow r;
    r.row = cells.row("metric");
    r.system = published_machine(cells.text("gpu"), "", 0).system;
    r.format.weights = format_of(cells);
    r.format.kv_width = r.format.weights == WeightFormat::bf16 ? 2 : 1;
    const ServingStack& stack = table.published(cells.text("backend"));
    r.stack = stack.name;
    r.batch = cells.count("batch");
    const std::string metric = cells.text("metric"), second = cells.text("metric2");
    const bool served = quantity_of(metric) == InferenceQuantity::ttft || quantity_of(metric) == InferenceQuantity::tpot;
    r.load.isl = (served ? stack.length : 1) * cells.count("isl");
    r.load.osl = (served ? stack.length : 1) * cells.count("osl");
    r.quantity = quantity_of(metric);
    std::shared_ptr<const Model>& model = models[r.row.model];
    if (!model && !r.row.model.empty()) {
      const std::string known = model_named(r.row.model);
      if (!known.empty()) model = std::make_shared<const Model>(load_model(known));
    }
    r.model = model;
    if (r.quantity == InferenceQuantity::none)
      r.row.skipped = why_no_quantity(r.row.group, metric);
    else if (!r.model)
      r.row.skipped = fmt::format("no model known as \"{}\"", r.row.model);
    else if (r.system.empty())
      r.row.skipped = fmt::format("no machine known with a GPU \"{}\"", cells.text("gpu"));
    else if (served) {
      silicon(r, cells);
      r.settings = settings_of(r, cells, table);
      if (r.settings.length) r.load.isl = *r.settings.length * cells.count("isl"), r.load.osl = *r.settings.length * cells.count("osl");
      r.format.kv_width = r.settings.kv.value_or(r.format.kv_width);
    } else
      other(r, cells);
    r.unit = unit_of(cells.text("unit"));
    const auto value = cells.figure("value");
    if (!value && r.row.skipped.empty()) r.row.skipped = "the figure is a range or a word";
    r.row.measured = value.value_or(0);
    const auto other_value = cells.figure("value2");
    const bool both = served && quantity_of(second) != InferenceQuantity::none;
    if (both) r.row.group += ":" + metric;
    out.push_back(r);
    if (!both) continue;
    r.row.group = cells.text("group") + ":" + second;
    r.row.metric = second;
    r.quantity = quantity_of(second);
    r.unit = unit_of(cells.text("unit2"));
    r.row.measured = other_value.value_or(0);
    if (!other_value && r.row.skipped.empty()) r.row.skipped = "the figure is a range or a word";
    out.push_back(std::move(r));
  }
  csv.finish();
  return out;
}

InferenceJob::InferenceJob(const InferenceRow& row, ServingMachine& machine)
    : row_(&row), engine_(*row.model, row.engine, row.format, machine) {
  if (row.apart) prefill_ = std::make_unique<Engine>(*row.model, row.prefill, row.format, machine);
  const System& system = machine.system();
  const int ranks = row.apart ? std::min(row.engine.cache_gpus(), row.prefill.cache_gpus()) : row.engine.cache_gpus();
  if (row.apart || row.quantity == InferenceQuantity::kv_transfer) {
    const int all = row.apart ? row.workers.prefill * row.prefill.gpus() + row.workers.decode * row.engine.gpus() : 2 * row.engine.gpus();
    link_ = kv_link(system, ranks, all <= system.domain);
  }
}

namespace {

/// The stack with all of the memory, as operators set it if weights leave almost nothing of the usual share,
/// or not even one sequence.
[[nodiscard]] ServingStack roomy(ServingStack stack, const Engine& engine, double context) {
  constexpr double next_to_nothing = 0.03;  // of the share; assumed: nobody serves with less
  const double left = engine.room(stack.memory_share), all = stack.memory_share * engine.machine().memory();
  if (left < next_to_nothing * all || room_for(engine, stack, context) < 1) stack.memory_share = stack.cache_share = 1;
  return stack;
}

}  // namespace

double InferenceJob::operator()(const ServingStack& given) const {
  const InferenceRow& r = *row_;
  ServingStack stack = roomy(r.settings.on(given), engine_, r.load.isl + r.load.osl);
  if (stack.drafts > 0) stack.draft(stack.drafts, draft_cost(*r.model));
  if (prefill_) stack = roomy(stack, *prefill_, r.load.isl);
  using Q = InferenceQuantity;
  const auto served = [&] {
    return r.apart ? disaggregated(*prefill_, engine_, r.workers, stack, r.load, link_) : aggregated(engine_, stack, r.load);
  };
  const auto batch_rate = [&] {  // tokens of answers per second of a whole engine
    const double osl = r.load.osl;
    if (r.batch >= 1) return r.batch * osl / static_batch_seconds(engine_, stack, r.batch, r.load.isl, osl);
    // as many requests as the cache holds, each replaced when answered
    const double room = std::max(1.0, std::floor(room_for(engine_, stack, r.load.isl + osl / 2)));
    return aggregated(engine_, stack, {r.load.isl, osl, std::min(room, 2048.0)}).rate * osl;
  };
  switch (r.quantity) {
    case Q::ttft: return served().ttft / r.unit;
    case Q::tpot: return served().tpot / r.unit;
    case Q::tokens_per_s: return batch_rate();
    case Q::tokens_per_s_per_gpu: return batch_rate() / r.engine.gpus();
    case Q::first_token: return prefill_prompt(engine_, stack, r.load.isl).alone / r.unit;
    case Q::decode_rate: {
      const double all = r.batch * r.engine.ranks();
      return all / decode_step(engine_, stack, all, r.load.isl).per_token * r.per_gpus / r.engine.gpus();
    }
    case Q::prefill_rate: {
      // a rank's `batch` tokens are prompts of isl tokens processed together
      const double prompts = std::max(1.0, r.batch / r.load.isl);
      const double seconds = stack.stretch * stack.prefill * pass_seconds(engine_.prefill(r.load.isl, prompts), stack);
      return prompts * r.load.isl * r.engine.attention_dp / seconds * r.per_gpus / r.engine.gpus();
    }
    case Q::kv_transfer: return link_.seconds(kv_bytes(*r.model, r.load.isl, r.format.kv_width)) / r.unit;
    case Q::kv_per_token: return kv_bytes_per_token(*r.model, r.format.kv_width) / r.unit;
    case Q::training_flops: return training_flops_per_token(*r.model, r.load.isl, FlopConvention::matmul, Scores::causal) / r.unit;
    case Q::expert_phase:
    case Q::expert_bound: {
      // fp8 out and 16 bit back for `batch` tokens, to the top-k and the shared expert, over one NIC per GPU
      const System& system = engine_.machine().system();
      const double rate = system.tier(TierRole::nic)->bandwidth.value.value();
      const double phase = (1.0 + 2.0) * r.batch * (r.model->top_k + r.model->shared_experts) * r.model->hidden / rate;
      return (r.quantity == Q::expert_phase ? phase : 2 * r.model->layers * phase) / r.unit;
    }
    case Q::offload: {
      const Offload at = min_offload(engine_, r.batch, r.load.isl + r.load.osl, given.memory_share);
      const double rate = host_rate(engine_.machine().system());
      return r.batch * r.load.osl / offloaded_batch_seconds(engine_, stack, r.batch, r.load.isl, r.load.osl, at, rate);
    }
    case Q::none: break;
  }
  return 0;
}

void predict_inference_rows(std::vector<InferenceRow>& rows, const ServingTable& table) {
  struct Known {
    System system;
    ServingStack stack;
    std::unique_ptr<ServingMachine> machine;
  };
  std::map<std::pair<std::string, std::string>, Known> all;  // by system and stack
  for (InferenceRow& r : rows) {
    if (!r.row.skipped.empty()) continue;
    try {
      Known& known = all[{r.system, r.stack}];
      if (!known.machine) {
        known.system = load_system(r.system);
        const Generation g = known.system.gpu.generation;
        known.stack = table.stack(r.stack, g);
        known.machine = std::make_unique<ServingMachine>(known.system, table.constants(g), known.stack.kernels);
      }
      r.row.predicted = InferenceJob(r, *known.machine)(known.stack);
      const double spread = r.quantity == InferenceQuantity::ttft ? known.stack.spread_ttft : known.stack.spread_tpot;
      std::tie(r.row.low, r.row.high) = interval_around(r.row.predicted, spread);
      if (!(r.row.predicted > 0 && std::isfinite(r.row.predicted))) r.row.skipped = "no positive figure came out";
    } catch (const RequestError& error) {
      r.row.skipped = error.what();
    }
  }
}

}  // namespace fabricost::plan
