/// \file comparison_json.cpp
/// Errors, reasons and fitted constants as JSON.

#include "comparison_json.hpp"

#include <nlohmann/json.hpp>

#include <string>

namespace fabricost::cli {

nlohmann::ordered_json to_json(const ErrorSummary& e) {
  nlohmann::ordered_json out;
  const auto number = [&](double value) { return e.points > 0 ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr); };
  out["points"] = e.points;
  out["median_ape"] = number(e.median_ape);
  out["mape"] = number(e.mape);
  out["p90_abs_log2"] = number(e.p90_abs_log2);
  out["within_10pct"] = number(e.within_10pct);
  out["within_25pct"] = number(e.within_25pct);
  out["interval_coverage"] = number(e.interval_coverage);
  return out;
}

nlohmann::ordered_json to_json(const std::vector<ErrorGroup>& groups) {
  nlohmann::ordered_json out = nlohmann::ordered_json::object();
  for (const ErrorGroup& group : groups) out[group.name] = to_json(group.errors);
  return out;
}

nlohmann::ordered_json to_json(const std::vector<Skipped>& skipped) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const Skipped& s : skipped) out.push_back({{"reason", s.reason}, {"rows", s.rows}});
  return out;
}

nlohmann::ordered_json to_json(const CalibratedSet& set) {
  nlohmann::ordered_json out;
  out["name"] = set.name;
  out["kind"] = name(set.set);
  out["systems"] = set.systems;
  out["points"] = set.points;
  out["median_ape"] = set.median_ape;
  out["mape"] = set.mape;
  out["constants"] = nlohmann::ordered_json::array();
  for (const FittedConstant& c : set.fitted)
    out["constants"].push_back(
        {{"name", c.key}, {"value", c.value}, {"prior", c.prior}, {"relative_standard_error", c.deviation}, {"determined", c.determined}});
  out["residuals"] = nlohmann::ordered_json::object();
  for (const ClassResidual& c : set.classes)
    out["residuals"][std::string{c.key}] = {{"points", c.points}, {"median_ape", c.median_ape}, {"mape", c.mape}, {"interval", c.width}};
  return out;
}

}  // namespace fabricost::cli
