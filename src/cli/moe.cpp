/// \file moe.cpp
/// From words to a MoeQuestion, and from its prediction to the fields every prediction prints.

#include "moe.hpp"

#include "text/text_table.hpp"
#include "comparison_json.hpp"
#include "names.hpp"
#include "report.hpp"

#include <fabricost/evaluation/workload.hpp>
#include <fabricost/explain/assumed.hpp>
#include <fabricost/explain/moe.hpp>
#include <fabricost/kernels/moe_kernels.hpp>
#include <fabricost/specs/load.hpp>
#include <fabricost/text/quantity.hpp>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <array>
#include <charconv>

namespace fabricost::cli {
namespace {

constexpr std::array<std::string_view, 3> operations{"moe_prepare", "moe_dispatch", "moe_combine"};

[[nodiscard]] int needed(const std::string& text, std::string_view option) {
  if (text.empty()) throw RequestError(fmt::format("how many? Add {} N", option));
  return count_of(text, option);
}

/// "balanced", "uniform", or "zipf:1.2".
[[nodiscard]] Routing routing_of(const std::string& text) {
  constexpr std::array<std::string_view, 3> names{"balanced", "uniform", "zipf:EXPONENT"};
  if (text.empty() || text == "uniform") return {.kind = RoutingKind::uniform};
  if (text == "balanced") return {.kind = RoutingKind::balanced};
  if (text.starts_with("zipf:")) {
    Routing out{.kind = RoutingKind::zipf};
    const char* end = text.data() + text.size();
    const auto [stopped, fault] = std::from_chars(text.data() + 5, end, out.exponent);
    if (fault == std::errc{} && stopped == end && out.exponent >= 0 && out.exponent <= 10) return out;
    throw RequestError(fmt::format("--distribution: \"{}\" has no exponent from 0 to 10", text));
  }
  throw_unknown(text, "a distribution", listed(names), "--distribution");
}

[[nodiscard]] std::optional<Precision> precision_of(const std::string& text) {
  if (text.empty()) return std::nullopt;
  const std::string t = detail::folded(text);
  if (t == "half" || t == "fp16" || t == "bfloat16" || t == "bf16") return Precision::bf16;
  if (t == "fp8") return Precision::fp8;
  if (t == "nvfp4" || t == "fp4") return Precision::fp4;
  constexpr std::array<std::string_view, 4> names{"bfloat16", "half", "fp8", "nvfp4"};
  throw_unknown(text, "a type that tokens travel in", listed(names), "--dtype");
}

[[nodiscard]] const char* type_name(Precision p) { return p == Precision::fp8 ? "fp8" : p == Precision::fp4 ? "nvfp4" : "bfloat16"; }

[[nodiscard]] MoeQuestion question_of(const Question& q, const MoeOptions& o) {
  for (const auto& [text, option] : {std::pair{&q.algorithm, "--algorithm"},
                                     {&q.protocol, "--protocol"},
                                     {&q.choice, "--choice"},
                                     {&q.path, "--path"},
                                     {&q.library, "--library"},
                                     {&q.launch, "--launch"},
                                     {&q.lost_rails, "--lost-rails"},
                                     {&q.size, "--size"}})
    if (!text->empty())
      throw RequestError(fmt::format("{} does not go with expert exchange; it takes --implementation and --tokens", option));
  MoeQuestion out;
  for (std::size_t i = 0; i < operations.size(); ++i)
    if (detail::folded(operations[i]) == detail::folded(q.operation)) out.phase = static_cast<MoePhase>(i);
  if (!o.implementation.empty()) {
    const auto kernel = parse_moe_kernel(o.implementation);
    if (!kernel) throw_unknown(o.implementation, "an implementation", listed(moe_kernel_names), "--implementation");
    out.kernel = *kernel;
  }
  out.tokens = needed(o.tokens, "--tokens");
  out.hidden = needed(o.hidden, "--hidden");
  out.gate.experts = needed(o.experts, "--experts");
  out.gate.top_k = needed(o.top_k, "--top-k");
  out.gate.groups = count_of(o.groups, "--groups");
  out.gate.group_limit = count_of(o.group_limit, "--group-limit");
  out.sms = count_of(o.sms, "--sms");
  out.routing = routing_of(o.distribution);
  out.precision = precision_of(q.dtype);
  return out;
}

[[nodiscard]] nlohmann::ordered_json to_json(const System& system, const MoePrediction& p) {
  nlohmann::ordered_json out;
  out["operation"] = operations[static_cast<std::size_t>(p.question.phase)];
  out["system"] = system.name;
  out["nodes"] = p.nodes;
  out["ranks"] = p.placement.ranks;
  out["dtype"] = type_name(p.precision);
  out["bytes"] = p.bytes;
  out["time_us"] = 1e6 * p.seconds;
  out["algbw_GBps"] = p.algorithm_bandwidth() / 1e9;
  out["busbw_GBps"] = p.bus_bandwidth() / 1e9;
  out["algorithm"] = name(p.question.kernel);
  out["protocol"] = "simple";
  out["bottleneck"] = p.bottleneck().tier.view();
  out["basis"] = name(p.basis);
  out["extrapolated"] = names_of(p.extrapolated);
  out["assumed"] = assumed(system, p.nodes);
  out["interval_us"] = {1e6 * p.low, 1e6 * p.high};
  out["tokens_per_rank"] = p.question.tokens;
  out["copies"] = p.copies;
  out["inside_bytes"] = p.inside_bytes;
  out["across_bytes"] = p.across_bytes;
  out["terms"] = nlohmann::ordered_json::array();
  for (const Term& t : p.terms)
    out["terms"].push_back({{"name", t.name.view()}, {"tier", t.tier.view()}, {"time_us", 1e6 * t.time.value()}});
  return out;
}

[[nodiscard]] std::string text_of(const System& system, const MoePrediction& p, const Terminal& terminal) {
  const MoeQuestion& q = p.question;
  std::string out =
      terminal.strong(fmt::format("{} of {:.0f} tokens x {} ({}), top {} of {} experts, {} ranks on {} node{}, {}, {}",
                                  operations[static_cast<std::size_t>(q.phase)], q.tokens, q.hidden, type_name(p.precision), q.gate.top_k,
                                  q.gate.experts, p.placement.ranks, p.nodes, p.nodes == 1 ? "" : "s", name(q.kernel), system.name)) +
      "\n";
  out +=
      fmt::format("  {:.1f} us   {:.1f} to {:.1f} us nine times in ten, {}\n", 1e6 * p.seconds, 1e6 * p.low, 1e6 * p.high, name(p.basis));
  if (p.bytes > 0)
    out += fmt::format("  {:.2f} copies of a token, {:.2f} MB; {:.2f} MB sent{}: {:.1f} GB/s counted, {:.1f} GB/s sent\n", p.copies,
                       p.bytes / 1e6, (p.inside_bytes + p.across_bytes) / 1e6,
                       p.across_bytes > 0 ? fmt::format(" ({:.2f} MB the domain)", p.across_bytes / 1e6) : "",
                       p.algorithm_bandwidth() / 1e9, p.bus_bandwidth() / 1e9);
  TextTable terms{{{"term"}, {"tier"}, {"us", right}, {"share", right}}};
  for (const Term& t : p.terms)
    terms.row({std::string{t.name.view()}, std::string{t.tier.view()}, fmt::format("{:.2f}", 1e6 * t.time.value()),
               fmt::format("{:.0f} %", 100 * t.time.value() / p.seconds)});
  out += terms.text(2);
  for (const std::string& what : names_of(p.extrapolated)) out += fmt::format("  Outside what was measured: {}.\n", what);
  return out;
}

}  // namespace

void add_moe_options(CLI::App& sub, MoeOptions& o) {
  const auto option = [&](const char* flag, std::string& into, const char* text, const char* shown) {
    sub.add_option(flag, into, text)->option_text(shown)->group("Of moe_dispatch and moe_combine");
  };
  option("--tokens", o.tokens, "Tokens of every rank", "T");
  option("--hidden", o.hidden, "Numbers of a token", "H");
  option("--experts", o.experts, "Experts over all ranks", "E");
  option("--top-k", o.top_k, "Experts a token goes to", "K");
  option("--implementation", o.implementation,
         "deepep-normal (= deepep, default) deepep-low-latency\ntrtllm-NVLinkOneSided (= trtllm)\ntrtllm-NVLinkTwoSided nccl", "KERNEL");
  option("--distribution", o.distribution, "uniform (default), balanced or zipf:EXPONENT", "D");
  option("--sms", o.sms, "SMs of deepep-normal; default 20", "N");
  option("--groups", o.groups, "Groups of experts, of which a token", "G");
  option("--group-limit", o.group_limit, "may use so many", "M");
}

void add_prediction_question(CLI::App& sub, Question& q, MoeOptions& moe, bool& fused_norm) {
  add_question(sub, q);
  sub.get_option("OP")->description(
      "all_reduce all_gather reduce_scatter broadcast reduce\n"
      "all_to_all send_recv moe_dispatch moe_combine\n"
      "(case, - and _ do not matter)");
  add_size(sub, q);
  add_library(sub, q);
  sub.add_flag("--fused-norm", fused_norm,
               "all_reduce: what follows, adding the residual and\n"
               "normalising, in a kernel of its own and fused into it");
  add_lost_rails(sub, q);
  add_moe_options(sub, moe);
}

void check_prediction_question(const Question& q, const MoeOptions& moe, bool fused_norm) {
  if (!is_moe(q.operation)) refuse_moe_options(moe, q.operation);
  if (!fused_norm) return;
  if (is_moe(q.operation)) throw RequestError("--fused-norm is for all_reduce");
  if (q.launch == "eager" || q.library.ends_with(",python"))
    throw RequestError("--fused-norm is known inside a CUDA graph; leave --launch eager out");
}

bool is_moe(const std::string& operation) {
  for (const std::string_view one : operations)
    if (detail::folded(operation) == detail::folded(one)) return true;
  return false;
}

void refuse_moe_options(const MoeOptions& o, const std::string& operation) {
  for (const auto& [text, option] : {std::pair{&o.tokens, "--tokens"},
                                     {&o.hidden, "--hidden"},
                                     {&o.experts, "--experts"},
                                     {&o.top_k, "--top-k"},
                                     {&o.implementation, "--implementation"},
                                     {&o.distribution, "--distribution"},
                                     {&o.sms, "--sms"},
                                     {&o.groups, "--groups"},
                                     {&o.group_limit, "--group-limit"}})
    if (!text->empty()) throw RequestError(fmt::format("{} is for moe_dispatch and moe_combine; leave it out of {}", option, operation));
}

namespace {

struct MoeAnswer {
  System system;
  MoePrediction prediction;
};
[[nodiscard]] MoeAnswer moe_answer(const Question& question, const MoeOptions& options) {
  MoeQuestion q = question_of(question, options);
  const int nodes = count_of(question.nodes, "--nodes");
  q.ranks = count_of(question.ranks, "--ranks");
  if (question.system.empty()) throw RequestError("which machine? Add --system NAME; fabricost systems lists the names");
  System system = load_system(question.system, question.overrides, question.calibration);
  if (nodes > 0) {
    if (q.ranks == 0) q.ranks = nodes * system.gpus_per_node;
    if (q.ranks > nodes * system.gpus_per_node)
      throw RequestError(fmt::format("{} ranks do not fit on {} of {} GPUs; give a larger --nodes or fewer --ranks", q.ranks,
                                     counted(nodes, "node"), system.gpus_per_node));
  }
  MoePrediction p = predict(system, q);
  return {std::move(system), std::move(p)};
}

}  // namespace

std::string answer_moe(const Question& question, const MoeOptions& options, bool json, const Terminal& terminal) {
  const auto [system, p] = moe_answer(question, options);
  return json ? printed(to_json(system, p)) : text_of(system, p, terminal);
}

std::string explain_moe(const Question& question, const MoeOptions& options, bool json, const Terminal& terminal) {
  const auto [system, p] = moe_answer(question, options);
  return json ? printed(to_json(system, p)) : terminal.strong_headings(explain(system, p));
}

bool are_moe_tables(const std::vector<std::string>& files) {
  std::size_t tables = 0;
  for (const std::string& file : files) tables += workload_table(file) == WorkloadTable::moe_kernels ? 1 : 0;
  if (tables > 0 && tables != files.size())
    throw RequestError("tables of MoE dispatch and combine are compared apart from other measurements: give them in two calls");
  return tables > 0;
}

nlohmann::ordered_json to_json(const MoeKernelReport& report) {
  nlohmann::ordered_json out = to_json(report.total);
  out["skipped"] = to_json(report.skipped);
  out["by_operation"] = to_json(report.by_operation);
  out["by_system"] = to_json(report.by_system);
  out["by_size"] = to_json(report.by_size);
  out["by_library"] = to_json(report.by_library);
  out["by_group"] = to_json(report.by_group);
  return out;
}

nlohmann::ordered_json to_json(const KernelCalibration& fit) {
  nlohmann::ordered_json out;
  out["points"] = fit.points;
  out["constants"] = fit.constants;
  out["determined"] = fit.determined;
  out["converged"] = fit.converged;
  out["median_ape"] = {{"before", fit.median_before}, {"after", fit.median_ape}};
  out["mape"] = {{"before", fit.mean_before}, {"after", fit.mape}};
  out["sets"] = nlohmann::ordered_json::array();
  for (const CalibratedSet& set : fit.sets) out["sets"].push_back(to_json(set));
  out["skipped"] = to_json(fit.skipped);
  return out;
}

std::string text_of(const KernelCalibration& fit, const Terminal& terminal) {
  std::string out = fmt::format(
      "{} constants fitted to {} times of kernels, {} of them narrowed; median error {:.2f} -> {:.2f} %, mean {:.2f} -> {:.2f} %\n",
      fit.constants, fit.points, fit.determined, fit.median_before, fit.median_ape, fit.mean_before, fit.mape);
  for (const CalibratedSet& set : fit.sets) {
    out += "\n" + terminal.strong(fmt::format("{}: {} times, {}", set.name, set.points, fmt::join(set.systems, ", "))) + "\n";
    TextTable rows{{{"constant"}, {"fitted", right}, {"+- %", right}, {"before", right}, {""}}};
    const auto value = [](const FittedConstant& c, double v) {
      return fmt::format("{:.4g}{}", c.measure == Measure::time ? 1e6 * v : v, c.measure == Measure::time ? " us" : "");
    };
    for (const FittedConstant& c : set.fitted)
      rows.row({std::string{c.key}, value(c, c.value), fmt::format("{:.2g}", 100 * c.deviation), value(c, c.prior),
                c.determined ? c.shared ? "all generations" : "" : "not determined"});
    out += rows.text(2);
    TextTable classes{{{"kernel"}, {"points", right}, {"median %", right}, {"mean %", right}, {"nine in ten within", right}}};
    for (const ClassResidual& c : set.classes)
      classes.row({std::string{c.key}, std::to_string(c.points), fmt::format("{:.2f}", c.median_ape), fmt::format("{:.2f}", c.mape),
                   fmt::format("x{:.3f}", std::exp(c.width))});
    out += classes.text(2);
  }
  if (!fit.skipped.empty()) {
    out += "\nnot fitted\n";
    for (const Skipped& s : fit.skipped) out += fmt::format("  {:6}  {}\n", s.rows, s.reason);
  }
  return out;
}

}  // namespace fabricost::cli
