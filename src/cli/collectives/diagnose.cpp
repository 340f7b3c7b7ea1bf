/// \file diagnose.cpp
/// fabricost diagnose: the answer as text.

#include "cli/face.hpp"
#include "cli/subcommands.hpp"
#include "text/text_table.hpp"

#include <fabricost/answers/diagnose.hpp>
#include <fabricost/explain/assumed.hpp>
#include <fabricost/text/quantity.hpp>

#include <fmt/format.h>

namespace fabricost::cli {
namespace {

/// Measured and predicted time of every size, at most 40 rows.
[[nodiscard]] std::string table_of(const DiagnosisAnswer& a) {
  constexpr std::size_t max = 40;
  TextTable table{{{"operation"}, {"size", right}, {"measured", right}, {"predicted", right}, {"ratio", right}, {"busbw", right}, {""}}};
  const std::size_t step = (a.sizes.size() + max - 1) / max;
  for (std::size_t i = 0; i < a.sizes.size(); ++i) {
    if ((a.sizes.size() - 1 - i) % step != 0) continue;
    const DiagnosedSize& s = a.sizes[i];
    table.row({s.operation, size_text(Bytes::from_value(s.bytes)), time_text(Time::from_value(s.measured_seconds)),
               time_text(Time::from_value(s.predicted_seconds)), fmt::format("{:.2f}", s.ratio),
               rate_text(Bandwidth::from_value(s.bus_bytes_per_second)), s.measured_seconds > s.high_seconds ? "above the interval" : ""});
  }
  return table.text(2);
}

[[nodiscard]] std::string diagnosis_text(const DiagnosisAnswer& a, const Terminal& terminal) {
  std::string verdict = wrapped("", a.verdict);
  verdict.pop_back();
  std::string out = terminal.strong(verdict) + "\n";
  for (const FindingAnswer& f : a.causes) {
    out += fmt::format("\n{} ({:.0f} %){}\n", terminal.strong(f.cause), 100 * f.confidence, f.what.empty() ? "" : ": " + f.what);
    out += wrapped("  seen  ", f.evidence);
    out += wrapped("  try   ", f.remedy);
  }
  if (!a.differences.empty()) {
    out += terminal.strong("\nOtherwise than in the run that went well") + "\n";
    for (const DifferenceAnswer& one : a.differences)
      out += wrapped("  ", one.there.empty() && one.here.empty() ? one.what
                           : one.there.empty()                   ? fmt::format("{}: {}", one.what, one.here)
                                                                 : fmt::format("{}: {}, there {}", one.what,
                                                                               one.here.empty() ? "not stated" : one.here, one.there));
  }
  if (!a.sizes.empty()) {
    const DiagnosedSize& first = a.sizes.front();
    out += terminal.strong(fmt::format("\nAgainst {}{}, {} ranks on {} ({})", a.system, a.system_guessed ? " (guessed from the log)" : "",
                                       first.ranks, counted(first.nodes, "node"), a.basis));
    out += "\n" + table_of(a);
  }
  if (!a.notes.empty()) {
    out += terminal.strong("\nWhat the log did not say, or could not be used") + "\n";
    for (const std::string& note : a.notes) out += wrapped("  ", note);
  }
  return out;
}

struct DiagnoseTyped : DiagnoseRequest {
  bool check = false;

  static constexpr auto fields() {
    return std::tuple_cat(DiagnoseRequest::fields(),
                          std::tuple{asks(&DiagnoseTyped::check, "", "--check", "", "Exit status 1 if the run failed or is slow")});
  }
};

}  // namespace

void add_diagnose(CLI::App& app, Runner& runner) {
  add_command<DiagnoseTyped>(app, runner, "diagnose", "Did this run fail, or is it slower than its machine should be? Why?",
                             "Example: fabricost diagnose all_reduce.log --system dgx-h100 --expected \"900 GB/s\"\n"
                             "         kubectl logs worker-0 | fabricost diagnose -",
                             [](const GivenOptions& o, const Terminal& terminal) {
                               bool sick = false;
                               std::string out = output_of<DiagnoseTyped>(
                                   o.typed, o.json, terminal, diagnosis_text, [&](const DiagnosisAnswer& a, const DiagnoseTyped& typed) {
                                     sick = typed.check && (a.state == "failed" || a.state == "slow");
                                   });
                               if (sick) throw CheckFailed{std::move(out)};
                               return out;
                             });
}

}  // namespace fabricost::cli
