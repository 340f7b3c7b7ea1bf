/// \file describe.cpp
/// The parts that descriptions of all fields share.

#include "web/describe.hpp"

#include <fabricost/plan/specs/stacks.hpp>

#include <algorithm>
#include <array>
#include <cmath>

namespace fabricost::web {

namespace {
/// By Amount.
constexpr std::array<std::string_view, 11> amount_names{
    "number",           "count",        "length", "large_count",       "seconds",  "share",
    "bytes_per_second", "one_way_rate", "size",   "size_or_unbounded", "gibibytes"};
}

std::string spelled(std::string_view name, std::string_view value, Amount amount) {
  return detail::as_member(name, value.empty() ? std::string{} : faces::as_typed(value, amount));
}

Json described(std::string_view name, std::string_view option, std::string words, std::string_view kind, Amount amount, const Range& range,
               bool needed) {
  std::replace(words.begin(), words.end(), '\n', ' ');  // help keeps its line breaks
  Json out{{"name", name_of(name, option)}, {"words", words}, {"kind", kind}};
  if (!option.empty()) out["option"] = option;
  if (amount != Amount::number) out["amount"] = amount_names[static_cast<std::size_t>(amount)];
  if (std::isfinite(range.min)) out["min"] = range.min;
  if (std::isfinite(range.max)) out["max"] = range.max;
  if (range.above) out["above"] = true;
  if (needed) out["needed"] = true;
  return out;
}

Json stack_choices() { return stack_names(); }

}  // namespace fabricost::web
