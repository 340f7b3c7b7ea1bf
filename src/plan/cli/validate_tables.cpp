/// fabricost validate, for tables of published results as well as for points.

#include "cli/validate_text.hpp"
#include "cli/question_command.hpp"
#include "cli/subcommands.hpp"
#include "text/csv.hpp"

#include <fabricost/plan/evaluation/validate.hpp>

namespace fabricost::cli {
namespace {

void text_of(Page& page, const WorkloadReport& report) {
  page.title("{}, fully specified", counted(report.total.points, "published figure"));
  if (report.total.points > 0) {
    ErrorTable errors{report.total};
    errors.groups("by group", report.by_group);
    page.table(errors.rows());
    add_histogram(page, report.rows, [](const WorkloadRow& row) { return row.skipped.empty() && row.fully_specified; });
  }
  add_reasons(page, "Not counted", report.skipped);
}

[[nodiscard]] std::string csv_of(const WorkloadReport& report) {
  std::string out = "id,group,model,metric,measured,predicted,low,high,error_percent,fully_specified,skipped\n";
  for (const WorkloadRow& r : report.rows) {
    const bool priced = r.skipped.empty();
    out += fmt::format("{},{},{},{},{},", csv_quoted(r.id), csv_quoted(r.group), csv_quoted(r.model), csv_quoted(r.metric),
                       r.measured);
    out += priced ? fmt::format("{},{},{},{},", r.predicted, r.low, r.high, 100 * (r.predicted / r.measured - 1)) : ",,,,";
    out += fmt::format("{},{}\n", r.fully_specified ? "yes" : "no", csv_quoted(r.skipped));
  }
  return out;
}

}  // namespace

void add_validate_tables(CLI::App& app, Runner& runner) {
  add_question<ValidateFilesRequest>(
      app, runner, "validate", "Measured times beside predicted ones", validate_footer,
      [](Page& page, const auto& found) { std::visit([&](const auto& one) { text_of(page, one.report); }, found); },
      Writes{"--out,-o", "Write every point with its prediction as CSV",
             [](const auto& found) { return std::visit([](const auto& one) { return csv_of(one.report); }, found); }});
}

}  // namespace fabricost::cli
