/// \file report.cpp
/// JSON numbers are the shortest text that reads back as the same double, in any locale.

#include "report.hpp"

#include <fabricost/kernels/fused_norm.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace fabricost::cli {
namespace {

/// A result that is no number is a fault of ours, never printed.
[[nodiscard]] double finite(double value) {
  if (!std::isfinite(value)) throw std::logic_error("a result is not a number");
  return value;
}
[[nodiscard]] nlohmann::ordered_json whole_or_real(double value) {
  return value == std::floor(value) && std::fabs(value) < 9e15 ? nlohmann::ordered_json(static_cast<long long>(value))
                                                               : nlohmann::ordered_json(value);
}

}  // namespace

nlohmann::ordered_json to_json(const System& system, const Prediction& p) {
  nlohmann::ordered_json out;
  out["operation"] = name(p.operation.collective);
  out["system"] = system.name;
  out["nodes"] = p.nodes;
  out["ranks"] = p.ranks;
  out["dtype"] = name(p.operation.dtype);
  out["bytes"] = whole_or_real(p.operation.bytes.value());
  out["time_us"] = finite(p.seconds * 1e6);
  out["algbw_GBps"] = finite(p.algorithm_bandwidth().value() / 1e9);
  out["busbw_GBps"] = finite(p.bus_bandwidth().value() / 1e9);
  out["algorithm"] = p.algorithm.view();
  out["protocol"] = p.protocol.view();
  out["bottleneck"] = p.bottleneck().tier.view();
  out["basis"] = name(p.basis);
  out["extrapolated"] = names_of(p.extrapolated);
  out["assumed"] = assumed(system, p);
  out["interval_us"] = {finite(p.low * 1e6), finite(p.high * 1e6)};
  out["terms"] = nlohmann::ordered_json::array();
  for (const Term& term : p.terms)
    out["terms"].push_back({{"name", term.name.view()}, {"tier", term.tier.view()}, {"time_us", finite(term.time.value() * 1e6)}});
  return out;
}

nlohmann::ordered_json to_json(const FusedNorm& norm) {
  return {{"apart_us", 1e6 * norm.apart}, {"fused_us", 1e6 * norm.fused}, {"saved_us", 1e6 * norm.saved()}};
}

std::string assumed_kernels_text(const System& system) {
  return fmt::format(
      "Assumed: nobody measured what kernels reach on {} ({}). The shares of the peak that NVIDIA's reach are taken, which "
      "widens the range.",
      system.gpu.name, name(system.gpu.generation));
}

std::string csv_row(const Prediction& p) {
  return fmt::format("{:.0f},{},{},{},{},{},{},{},{},{}", p.operation.bytes.value(), p.seconds * 1e6, p.algorithm_bandwidth().value() / 1e9,
                     p.bus_bandwidth().value() / 1e9, p.algorithm.view(), p.protocol.view(), p.bottleneck().tier.view(), name(p.basis),
                     p.low * 1e6, p.high * 1e6);
}

std::string printed(const nlohmann::ordered_json& json) {
  // names of files and words of logs may hold bytes that are no text
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace fabricost::cli
