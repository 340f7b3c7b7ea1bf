#pragma once
/// \file plan_text.hpp
/// A plan as JSON with the field names of the contract, and as tables.

#include "runner.hpp"

#include <fabricost/plan/training.hpp>

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace fabricost::cli {

/// What one change of the machine gives.
struct Sensitivity {
  std::string change;  ///< "nvlink bandwidth + 10 %"
  double seconds = 0;  ///< of the fastest layout then
  double gain = 0;     ///< seconds before over after, less 1
};

struct PlanAnswer {
  TrainingQuestion question;
  System system;
  TrainingPlan plan;
  double seconds = 0;  ///< of the search
  std::vector<Sensitivity> sensitivity;
  std::vector<PricedLayout> pareto;
};

/// The search again on a machine with 10 % more of each tier's bandwidth, of memory and arithmetic, and with a domain twice as large.
[[nodiscard]] std::vector<Sensitivity> sensitivity_of(const TrainingQuestion& question, const System& system, double seconds);

/// Layouts that no other beats in both time and memory, fastest first.
[[nodiscard]] std::vector<PricedLayout> pareto_of(TrainingQuestion question, const System& system);

/// Why no layout fits, and what would.
[[nodiscard]] std::string nothing_fits(const TrainingQuestion& question, const System& system, const PricedLayout& nearest);

[[nodiscard]] nlohmann::ordered_json to_json(const PlanAnswer& answer);
[[nodiscard]] std::string text_of(const PlanAnswer& answer, const Terminal& terminal);

}  // namespace fabricost::cli
