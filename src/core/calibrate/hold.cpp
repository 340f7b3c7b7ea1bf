/// Reads which constants are not to be fitted.

#include "calibrate/preparation.hpp"
#include "specs/near_or_all.hpp"
#include "text/csv.hpp"

#include <fabricost/error.hpp>
#include <fabricost/hardware/parameters.hpp>
#include <fabricost/specs/load.hpp>

#include <fmt/format.h>

namespace fabricost::core::calibrating {
namespace {

/// The sets that points of collectives determine.
constexpr std::array sets{ConstantSet::scale_up, ConstantSet::pcie, ConstantSet::transport};

[[nodiscard]] std::vector<Held> constants_named(const std::string& term, std::string_view name, std::optional<double> value) {
  std::vector<Held> out;
  std::vector<std::string> known;
  for (const ConstantSet set : sets)
    for (const Parameter& p : parameters_of(set)) {
      const std::string whole = fmt::format("{}:{}", fabricost::core::name(set), p.key);
      known.push_back(name.find(':') == std::string_view::npos ? std::string{p.key} : whole);
      if (known.back() != name) continue;
      const Bounds bounds = bounds_of(p.kind);
      if (value && !(*value >= bounds.min && *value <= bounds.max))
        throw RequestError(fmt::format("\"{}\": {} is between {} and {}", term, whole, bounds.min, bounds.max));
      out.push_back({&p, value});
    }
  if (!out.empty()) return out;
  const std::vector<std::string> near = near_names(name, known);
  throw RequestError(fmt::format("\"{}\": {}{}", term, near.empty() ? "" : "no such constant; ",
                                 did_you_mean(near, "no constant of that name is fitted to points")));
}

}  // namespace

std::vector<Held> held_constants(const std::vector<std::string>& terms) {
  std::vector<Held> out;
  for (const std::string& term : terms) {
    const std::size_t at = term.find('=');
    std::optional<double> value;
    if (at != std::string::npos && !(value = parse_number(std::string_view{term}.substr(at + 1))))
      throw RequestError(fmt::format("\"{}\": what follows = is no number; write seconds or bytes without a unit, as ll.hop=1e-6", term));
    for (const Held& one : constants_named(term, std::string_view{term}.substr(0, at), value)) out.push_back(one);
  }
  return out;
}

}  // namespace fabricost::core::calibrating
