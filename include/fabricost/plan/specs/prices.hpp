#pragma once
/// Prices of machines and power: data/prices, or the user's own file.

#include <fabricost/compiled_part.hpp>
#include <fabricost/plan/economics/cost.hpp>

#include <string_view>

namespace fabricost::plan {

/// Prices of data/prices by name, or a YAML file, which may `extends: default`.
/// Units: rent `USD/h`; electricity `USD/kWh`; site `USD/kW/month` (of 730.5 h); lifetime `years` (of 8,766 h).
/// \throws SpecError with file, line, column, value and remedy; RequestError for a name that does not exist
[[nodiscard]] Prices load_prices(std::string_view name_or_path = "default");

}  // namespace fabricost::plan
