/// \file diagnose.cpp
/// fabricost diagnose: is this run what its machine should give, and if not, why?

#include "text/text_table.hpp"
#include "question.hpp"
#include "report.hpp"
#include "runner.hpp"
#include "subcommands.hpp"

#include <fabricost/diagnose/diagnose.hpp>
#include <fabricost/text/quantity.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <memory>

namespace fabricost::cli {
namespace {

/// As typed; empty where nothing was.
struct DiagnoseOptions {
  std::string log, system, nodes, ranks, expected;
  bool json = false;
};

[[nodiscard]] nlohmann::ordered_json to_json(const Diagnosis& d) {
  nlohmann::ordered_json out;
  out["healthy"] = d.healthy;
  out["causes"] = nlohmann::ordered_json::array();
  for (const Finding& f : d.causes)
    out["causes"].push_back({{"cause", name(f.cause)}, {"confidence", f.confidence}, {"evidence", f.evidence}, {"remedy", f.remedy}});
  out["verdict"] = d.verdict;
  out["system"] = d.system.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(d.system);
  out["system_guessed"] = d.system_guessed;
  out["sizes"] = nlohmann::ordered_json::array();
  for (const ComparedSize& s : d.sizes)
    out["sizes"].push_back({{"operation", name(s.operation.collective)},
                            {"bytes", s.operation.bytes.value()},
                            {"ranks", s.ranks},
                            {"nodes", s.operation.nodes},
                            {"measured_us", s.measured * 1e6},
                            {"predicted_us", s.predicted * 1e6},
                            {"interval_us", {s.low * 1e6, s.high * 1e6}},
                            {"busbw_GBps", s.bus / 1e9},
                            {"ratio", s.measured / s.predicted}});
  out["notes"] = d.notes;
  return out;
}

/// Measured and predicted time of every size, at most 40 rows.
[[nodiscard]] std::string table_of(const Diagnosis& d) {
  constexpr std::size_t most = 40;
  TextTable table{{{"operation"}, {"size", right}, {"measured", right}, {"predicted", right}, {"ratio", right}, {"busbw", right}, {""}}};
  const std::size_t step = (d.sizes.size() + most - 1) / most;
  for (std::size_t i = 0; i < d.sizes.size(); ++i) {
    if ((d.sizes.size() - 1 - i) % step != 0) continue;
    const ComparedSize& s = d.sizes[i];
    table.row({std::string{name(s.operation.collective)}, size_text(s.operation.bytes), time_text(Time::from_value(s.measured)),
               time_text(Time::from_value(s.predicted)), fmt::format("{:.2f}", s.measured / s.predicted),
               rate_text(Bandwidth::from_value(s.bus)), s.measured > s.high ? "above the interval" : ""});
  }
  return table.text(2);
}

[[nodiscard]] std::string to_text(const Diagnosis& d, const Terminal& terminal) {
  std::string verdict = wrapped("", d.verdict);
  verdict.pop_back();
  std::string out = terminal.strong(verdict) + "\n";
  for (const Finding& f : d.causes) {
    out += fmt::format("\n{} ({:.0f} %)\n", terminal.strong(name(f.cause)), 100 * f.confidence);
    out += wrapped("  seen  ", f.evidence);
    out += wrapped("  try   ", f.remedy);
  }
  if (!d.sizes.empty()) {
    const ComparedSize& first = d.sizes.front();
    out += terminal.strong(fmt::format("\nAgainst {}{}, {} ranks on {} node{} ({})", d.system,
                                       d.system_guessed ? " (guessed from the log)" : "", first.ranks, first.operation.nodes,
                                       first.operation.nodes == 1 ? "" : "s", name(d.basis)));
    out += "\n" + table_of(d);
  }
  if (!d.notes.empty()) {
    out += terminal.strong("\nWhat the log did not say, or could not be used") + "\n";
    for (const std::string& note : d.notes) out += wrapped("  ", note);
  }
  return out;
}

}  // namespace

void add_diagnose(CLI::App& app, Runner& runner) {
  const auto options = std::make_shared<DiagnoseOptions>();
  CLI::App& sub = *app.add_subcommand("diagnose", "Is this run what its machine should give? If not, why?");
  sub.add_option("LOG", options->log, "A log of nccl-tests, or of any run with NCCL_DEBUG=INFO")->option_text(" ");
  sub.add_option("--system,-s", options->system, "The machine; default: what the log tells")->option_text("NAME");
  sub.add_option("--nodes,-n", options->nodes, "Its nodes, where the log does not say")->option_text("N");
  sub.add_option("--ranks,-r", options->ranks, "All ranks, where the log does not say")->option_text("R");
  sub.add_option("--expected,-e", options->expected, "The bandwidth that was expected, with its unit")->option_text("RATE");
  sub.add_flag("--json", options->json, "Print JSON");
  sub.footer("Example: fabricost diagnose all_reduce.log --system dgx-h100 --expected \"900 GB/s\"");
  runner.add(sub, [options](const Terminal& terminal) {
    if (options->log.empty()) throw RequestError("which log? Name a file that nccl-tests or NCCL wrote");
    const DiagnosisRequest request{.system = options->system,
                                   .nodes = count_of(options->nodes, "--nodes"),
                                   .ranks = count_of(options->ranks, "--ranks"),
                                   .expected = options->expected};
    const Diagnosis found = diagnose(options->log, request);
    return options->json ? printed(to_json(found)) : to_text(found, terminal);
  });
}

}  // namespace fabricost::cli
