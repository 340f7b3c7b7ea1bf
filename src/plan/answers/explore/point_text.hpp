#pragma once
/// Points of an exploration as people read them. Private.

#include <fabricost/plan/answers/design/explore.hpp>

#include <optional>
#include <string>

namespace fabricost::plan::explore {

[[nodiscard]] std::string axis_value_text(const ExploreValue& value);

/// "step, s", "$/M tokens", "J/token", "MW": as people compare them.
struct Heading {
  std::string text;
  double worth = 1;
};
[[nodiscard]] Heading heading_of(const ExploreObjective& objective);
/// None without a number.
[[nodiscard]] const ExplorePoint* point_of(const ExploreAnswer& answer, std::optional<int> number);
/// "?" for what is not known.
[[nodiscard]] std::string number_text(const std::optional<double>& value, double worth);
/// "step 4.21 s", "778.8 tokens/s/GPU"
[[nodiscard]] std::string measured_text(const ExploreObjective& objective, const std::optional<double>& value);
/// The axes' values of one point: "domain 16 GPUs, nic.bandwidth 50 GB/s".
[[nodiscard]] std::string place_text(const ExploreAnswer& answer, const ExplorePoint& point);

}  // namespace fabricost::plan::explore
