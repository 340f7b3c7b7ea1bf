#pragma once
/// \file plan_text.hpp
/// A plan as JSON with the field names of the contract, and as tables.

#include "runner.hpp"

#include <fabricost/training/sensitivity.hpp>

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace fabricost::cli {

struct PlanAnswer {
  TrainingQuestion question;
  System system;
  TrainingPlan plan;
  double seconds = 0;  ///< of the search
  std::vector<StepSensitivity> sensitivity;
  std::vector<PricedLayout> pareto;
};

[[nodiscard]] nlohmann::ordered_json to_json(const PlanAnswer& answer);
[[nodiscard]] std::string text_of(const PlanAnswer& answer, const Terminal& terminal);

}  // namespace fabricost::cli
