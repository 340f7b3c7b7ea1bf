/// Names, units and values of an exploration in words.

#include "answers/explore/point_text.hpp"

#include <fabricost/text/quantity.hpp>

#include <fmt/format.h>

#include <cmath>

namespace fabricost::plan::explore {

std::string axis_value_text(const ExploreValue& value) {
  const double* const number = std::get_if<double>(&value);
  if (number == nullptr) return std::get<std::string>(value);
  return *number == std::floor(*number) ? fmt::format("{:.0f}", *number) : fmt::format("{:.4g}", *number);
}

Heading heading_of(const ExploreObjective& objective) {
  if (objective.name == "dollars_per_million_tokens") return {"$/M tokens"};
  if (objective.name == "joules_per_million_tokens") return {"J/token", 1e6};
  if (objective.name == "watts") return {"MW", 1e6};
  if (objective.name == "tpot_seconds" || objective.name == "ttft_seconds") return {objective.name.substr(0, 4) + ", ms", 1e-3};
  if (objective.name == "step_seconds") return {"step, s"};
  if (objective.name == "tokens_per_second_per_user") return {"tokens/s/user"};
  if (objective.name == "tokens_per_second_per_gpu") return {"tokens/s/GPU"};
  if (objective.name == "tokens_per_second") return {"tokens/s"};
  if (objective.name == "requests_per_second") return {"up to req/s"};
  return {objective.unit.empty() ? objective.name : objective.name + ", " + objective.unit};
}

const ExplorePoint* point_of(const ExploreAnswer& a, std::optional<int> number) {
  return number ? &a.points[static_cast<std::size_t>(*number - a.points.front().number)] : nullptr;
}

std::string number_text(const std::optional<double>& value, double worth) {
  return value ? fmt::format("{:.4g}", *value / worth) : "?";
}

std::string measured_text(const ExploreObjective& objective, const std::optional<double>& value) {
  const auto [text, worth] = heading_of(objective);
  const std::size_t comma = text.find(", ");
  const std::string number = number_text(value, worth);
  return comma == std::string::npos ? number + " " + text : fmt::format("{} {} {}", text.substr(0, comma), number, text.substr(comma + 2));
}

std::string place_text(const ExploreAnswer& a, const ExplorePoint& point) {
  std::string out;
  for (std::size_t i = 0; i < point.at.size(); ++i) {
    const std::string& unit = a.axes[i].unit;
    const double* const number = std::get_if<double>(&point.at[i].second);
    const std::string value = number != nullptr && unit == "byte/s" ? rate_text(Bandwidth::from_value(*number))
                              : number != nullptr && unit == "byte" ? size_text(Bytes::from_value(*number))
                                                                    : axis_value_text(point.at[i].second) + (unit.empty() ? "" : " " + unit);
    out += fmt::format("{}{} {}", i > 0 ? ", " : "", point.at[i].first, value);
  }
  return out;
}

}  // namespace fabricost::plan::explore
