/// \file named.cpp
/// Loads named values.

#include "text/csv.hpp"

#include <fabricost/fields/named.hpp>

#include <fmt/format.h>

namespace fabricost::core {

System Machine::load(const std::vector<std::string>& more_overrides, KernelSets kernels, std::string_view other_calibration) const {
  if (value != nullptr) return *value;
  std::vector<std::string> all = overrides;
  all.insert(all.end(), more_overrides.begin(), more_overrides.end());
  return load_system(name, all, other_calibration.empty() ? calibration : other_calibration, kernels);
}

std::shared_ptr<const System> Machine::get(const std::vector<std::string>& more_overrides, KernelSets kernels,
                                           std::string_view other_calibration) const {
  return value != nullptr ? value : std::make_shared<const System>(load(more_overrides, kernels, other_calibration));
}

void need_machine(const Machine& machine) {
  if (!machine) throw Refusal("which machine? Add <system=NAME>; fabricost machine lists the names", true);
}

std::optional<Routing> routing_named(std::string_view text, std::string_view named) {
  constexpr std::string_view zipf = "zipf:";
  for (const RoutingKind kind : {RoutingKind::balanced, RoutingKind::uniform, RoutingKind::zipf})
    if (text == name(kind)) return Routing{.kind = kind};
  if (!text.starts_with(zipf)) return std::nullopt;
  const auto exponent = parse_number(text.substr(zipf.size()));
  if (!exponent || !(*exponent >= 0 && *exponent <= steepest_zipf))
    throw RequestError(fmt::format("{}: \"{}\" has no exponent from 0 to {}; write zipf: and one, as in zipf:1.2", named,
                                   text.substr(0, 40), steepest_zipf));
  return Routing{.kind = RoutingKind::zipf, .exponent = *exponent};
}

}  // namespace fabricost::core
