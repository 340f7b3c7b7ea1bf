/// \file moe.cpp
/// moe_dispatch and moe_combine as text; what validate and calibrate print of measured ones.

#include "moe.hpp"

#include "comparison_json.hpp"
#include "face.hpp"
#include "names.hpp"
#include "report.hpp"
#include "text/text_table.hpp"

#include <fabricost/answers/moe.hpp>
#include <fabricost/evaluation/workload.hpp>
#include <fabricost/explain/moe.hpp>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <array>

namespace fabricost {

static void to_json(nlohmann::ordered_json& out, const Term& t) {
  out = {{"name", t.name.view()}, {"tier", t.tier.view()}, {"time_us", 1e6 * t.time.value()}};
}

}  // namespace fabricost

namespace fabricost::cli {
namespace {

/// The request, with what predict and explain ask of every operation.
[[nodiscard]] MoeRequest request_of(const Question& q, const MoeOptions& o) {
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
  auto out = cli::request_of<MoeRequest>(o.typed);
  for (std::size_t i = 0; i < moe_operation_names.size(); ++i)
    if (fabricost::detail::folded(moe_operation_names[i]) == fabricost::detail::folded(q.operation)) out.phase = static_cast<MoePhase>(i);
  out.nodes = count_of(q.nodes, "--nodes"), out.ranks = count_of(q.ranks, "--ranks");
  if (!q.dtype.empty()) from_text(q.dtype, "--dtype", Amount::number, {}, out.dtype.emplace());
  if (q.system.empty()) throw RequestError("which machine? Add --system NAME; fabricost systems lists the names");
  out.system.name = q.system, out.overrides = q.overrides, out.calibration = q.calibration;
  return out;
}

[[nodiscard]] MoeAnswer answer_of(const Question& q, const MoeOptions& o) {
  return spelled_out<MoeRequest>([&] { return answer(request_of(q, o)); });
}

[[nodiscard]] std::string json_text(const MoeAnswer& a) {
  nlohmann::ordered_json out = json_of(a);
  out["terms"] = a.terms;
  return printed(out);
}

[[nodiscard]] std::string text_of(const MoeAnswer& a, const Terminal& terminal) {
  const MoePrediction& p = a.made;
  const MoeQuestion& q = p.question;
  std::string out = terminal.strong(fmt::format("{} of {:.0f} tokens x {} ({}), top {} of {} experts, {} ranks on {} node{}, {}, {}",
                                                a.operation, q.tokens, q.hidden, a.dtype, q.gate.top_k, q.gate.experts, p.placement.ranks,
                                                p.nodes, p.nodes == 1 ? "" : "s", a.implementation, a.system)) +
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
  for (const std::string& what : a.extrapolated) out += fmt::format("  Outside what was measured: {}.\n", what);
  return out;
}

}  // namespace

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
  add_options<MoeRequest>(sub, moe.typed, "Of moe_dispatch and moe_combine");
}

void check_prediction_question(const Question& q, const MoeOptions& moe, bool fused_norm) {
  if (!is_moe(q.operation)) refuse_moe_options(moe, q.operation);
  if (!fused_norm) return;
  if (is_moe(q.operation)) throw RequestError("--fused-norm is for all_reduce");
  if (q.launch == "eager" || q.library.ends_with(",python"))
    throw RequestError("--fused-norm is known inside a CUDA graph; leave --launch eager out");
}

bool is_moe(const std::string& operation) {
  for (const std::string_view one : moe_operation_names)
    if (fabricost::detail::folded(operation) == fabricost::detail::folded(one)) return true;
  return false;
}

void refuse_moe_options(const MoeOptions& o, const std::string& operation) {
  for_each_field<MoeRequest>([&](const auto& field) {
    if (o.typed.given(field.option))
      throw RequestError(fmt::format("{} is for moe_dispatch and moe_combine; leave it out of {}", long_name(field.option), operation));
  });
}

std::string answer_moe(const Question& question, const MoeOptions& options, bool json, const Terminal& terminal) {
  const MoeAnswer found = answer_of(question, options);
  return json ? json_text(found) : text_of(found, terminal);
}

std::string explain_moe(const Question& question, const MoeOptions& options, bool json, const Terminal& terminal) {
  const MoeAnswer found = answer_of(question, options);
  return json ? json_text(found) : terminal.strong_headings(explain(*found.machine, found.made));
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
