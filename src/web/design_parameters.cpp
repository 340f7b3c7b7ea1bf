/// Design parameters and pictures of a machine.

#include "web/design_parameters.hpp"

#include "answers/need/usual.hpp"

#include <fabricost/pictures/picture.hpp>

#include <algorithm>
#include <cmath>
#include <optional>

namespace fabricost::web {

std::vector<ParameterAnswer> answer(const ParametersRequest& request) {
  need_machine(request.system);
  const System system = request.system.load({}, KernelSets::none());
  std::vector<ParameterAnswer> out;
  const std::vector<varied::Option> no_options;
  for (const std::string_view name : design_parameter_names) {
    varied::Varied unknown = varied::named(std::string{name}, {.serving = true, .options = no_options}, "parameter");
    const std::optional<double> now = varied::standing(system, *unknown.parameter);
    if (!now || !(*now > 0)) continue;
    ParameterAnswer one{.name = std::string{name}, .unit = std::string{unknown.unit}, .value = *now / unknown.worth, .stops = {}};
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
