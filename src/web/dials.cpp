/// Dials and pictures of a machine.

#include "web/dials.hpp"

#include "answers/need/usual.hpp"

#include <fabricost/pictures/picture.hpp>

#include <algorithm>
#include <cmath>
#include <optional>

namespace fabricost::web {

std::vector<DialAnswer> answer(const DialsRequest& request) {
  need_machine(request.system);
  const System system = request.system.load({}, KernelSets::none());
  std::vector<DialAnswer> out;
  const std::vector<varied::Option> no_options;
  for (const std::string_view name : dial_names) {
    varied::Varied unknown = varied::named(std::string{name}, {.serving = true, .options = no_options}, "dial");
    const std::optional<double> now = varied::standing(system, *unknown.dial);
    if (!now || !(*now > 0)) continue;
    DialAnswer one{.name = std::string{name}, .unit = std::string{unknown.unit}, .value = *now / unknown.worth, .stops = {}};
    constexpr int octaves = 3;  // either way: a slider of 25 places
    const double least = one.value * std::exp2(-octaves), most = one.value * std::exp2(octaves);
    std::vector<double> values = need::usual_values(unknown, system, std::nullopt, false);
    std::sort(values.begin(), values.end());
    for (const double value : values)
      if (value >= least && value <= most) one.stops.push_back({value, varied::override_of(unknown, value)});
    if (one.stops.size() > 1) out.push_back(std::move(one));
  }
  return out;
}

PictureAnswer answer(const PictureRequest& request) {
  need_machine(request.system);
  return {picture(request.system.load(request.overrides))};
}

}  // namespace fabricost::web
