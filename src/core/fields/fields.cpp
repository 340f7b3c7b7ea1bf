/// Messages about invalid and out-of-range values.

#include "specs/near_or_all.hpp"
#include "text/joined.hpp"

#include <fabricost/fields/fields.hpp>
#include <fabricost/specs/load.hpp>

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace fabricost::core {

std::string name_in_cpp(std::string_view name) {
  constexpr std::array<std::array<std::string_view, 2>, 4> ends{
      {{"_bytes_per_second", "_bandwidth"}, {"_seconds", ""}, {"_bytes", ""}, {"_dollars", ""}}};
  for (const auto& [end, instead] : ends)
    if (name.ends_with(end)) return std::string{name.substr(0, name.size() - end.size())}.append(instead);
  return std::string{name};
}

std::string unknown_text(std::string_view given, std::string_view what, std::span<const std::string> names) {
  const std::vector<std::string> near = near_names(given, names);
  constexpr std::size_t read_at_once = 45;
  if (near.empty() && names.size() > read_at_once) return fmt::format("\"{}\" is not {}; there are {}", given, what, names.size());
  return fmt::format("\"{}\" is not {}; {}", given, what, did_you_mean(near, fmt::format("one of: {}", joined(names))));
}

std::string unknown_text(std::string_view given, std::string_view what, std::span<const std::string_view> names) {
  return unknown_text(given, what, std::vector<std::string>(names.begin(), names.end()));
}

void refuse_range(std::string_view name, double value, const Range& range) {
  if (std::isnan(value)) throw Refusal(fmt::format("<{}>: nan is not a number", name));
  if (range.max >= 1e15)
    throw Refusal(fmt::format("<{}>: {} is not a number {} {}", name, value, range.above ? "above" : "of", range.min) +
                  (range.above ? "" : " or more"));
  if (range.above && value == range.min) throw Refusal(fmt::format("<{}>: {:g} is not above {:g}", name, value, range.min));
  throw Refusal(fmt::format("<{}>: {} is not from {} to {}", name, value, range.min, range.max));
}

}  // namespace fabricost::core
