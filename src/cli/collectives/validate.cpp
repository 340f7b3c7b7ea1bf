/// \file validate.cpp
/// fabricost validate: measured times beside predicted ones, and how far apart they are.

#include "cli/collectives/validation_text.hpp"
#include "cli/face.hpp"
#include "cli/subcommands.hpp"
#include "text/write_file.hpp"

#include <fabricost/evaluation/validate.hpp>

namespace fabricost::cli {
namespace {

struct ValidateTyped : ValidateFilesRequest {
  std::string out;

  static constexpr auto fields() {
    using enum Amount;
    return tables(ValidateRequest::fields(),
                  Table{asks(&ValidateTyped::out, "", "--out,-o", "FILE", "Write every point with its prediction as CSV")});
  }
};

[[nodiscard]] std::string text_of(const ValidationReport& report, const Terminal& t) { return validation_text(report, t); }
[[nodiscard]] std::string text_of(const WorkloadReport& report, const Terminal& t) { return workload_text(report, t); }
[[nodiscard]] std::string text_of(const MoeKernelReport& report, const Terminal& t) { return moe_kernel_text(report, t); }
[[nodiscard]] std::string csv_of(const ValidationReport& report) { return per_point_csv(report); }
template <class Report>
[[nodiscard]] std::string csv_of(const Report& report) {
  return per_row_csv(report);
}

}  // namespace

void add_validate(CLI::App& app, Runner& runner) {
  add_face<ValidateTyped>(
      app, runner, "validate", "Measured times beside predicted ones", "Example: fabricost validate all_reduce.log --system dgx-h100",
      [](const auto& found, const Terminal& t) { return std::visit([&](const auto& one) { return text_of(one.report, t); }, found); },
      [](const auto& found, const ValidateTyped& typed) {
        if (!typed.out.empty()) std::visit([&](const auto& one) { io::write_file(typed.out, csv_of(one.report), "--out"); }, found);
      });
}

}  // namespace fabricost::cli
