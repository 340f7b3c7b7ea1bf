/// \file dials.cpp
/// Dials and pictures of a machine.

#include "web/dials.hpp"

#include "answers/need/unknown.hpp"

#include <fabricost/pictures/picture.hpp>

#include <cmath>
#include <optional>

namespace fabricost::web {

namespace {

/// Where a dial stands; nothing: the machine has no such part.
[[nodiscard]] std::optional<double> standing(const System& system, Dial dial) {
  try {
    return value_of(system, dial);
  } catch (const RequestError&) {
    return std::nullopt;
  }
}

}  // namespace

std::vector<DialAnswer> answer(const DialsRequest& request) {
  need_machine(request.system);
  const System system = request.system.load({}, KernelSets::none());
  std::vector<DialAnswer> out;
  for (const std::string_view name : dial_names) {
    const need::Unknown& unknown = need::unknown_named(std::string{name}, true);
    const std::optional<double> now = standing(system, *unknown.dial);
    if (!now || !(*now > 0)) continue;
    DialAnswer one{.name = std::string{name}, .unit = std::string{unknown.unit}, .value = *now / unknown.worth, .stops = {}};
    constexpr int octaves = 3;  // either way: a slider of 25 places
    const double least = one.value * std::exp2(-octaves), most = one.value * std::exp2(octaves);
    const int each = *unknown.dial == Dial::domain ? system.gpus_per_node : 1;
    for (const double value : need::range_of(unknown, system, most, each))
      if (value >= least && value <= most) one.stops.push_back({value, need::override_of(*unknown.dial, value * unknown.worth)});
    if (one.stops.size() > 1) out.push_back(std::move(one));
  }
  return out;
}

PictureAnswer answer(const PictureRequest& request) {
  need_machine(request.system);
  return {picture(request.system.load(request.overrides))};
}

}  // namespace fabricost::web
