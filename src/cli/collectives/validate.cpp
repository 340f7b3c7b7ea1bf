/// \file validate.cpp
/// fabricost validate: measured times beside predicted ones, and how far apart they are.

#include "cli/collectives/validation_text.hpp"
#include "cli/face.hpp"
#include "cli/subcommands.hpp"

#include <fabricost/evaluation/validate.hpp>

namespace fabricost::cli {

void add_validate(CLI::App& app, Runner& runner) {
  add_face<ValidateFilesRequest>(
      app, runner, "validate", "Measured times beside predicted ones", "Example: fabricost validate all_reduce.log --system dgx-h100",
      [](Page& page, const auto& found) { std::visit([&](const auto& one) { text_of(page, one.report); }, found); },
      Writes{"--out,-o", "Write every point with its prediction as CSV",
             [](const auto& found) { return std::visit([](const auto& one) { return csv_of(one.report); }, found); }});
}

}  // namespace fabricost::cli
