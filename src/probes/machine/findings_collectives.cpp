/// \file findings_collectives.cpp
/// Compares collectives with the stock system's prediction, whose interval decides which ones deviate.

#include "machine/findings.hpp"
#include "machine/probes.hpp"
#include "validation/machines.hpp"

#include <fabricost/observe/diagnose/diagnose.hpp>
#include <fabricost/predict/predict.hpp>
#include <fabricost/shipped_numbers.hpp>
#include <fabricost/text/quantity.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace fabricost::probes {

namespace {

namespace limit = policy::findings;

constexpr double large = 16 * mebibyte;  // below, latencies dominate, which do not indicate a faulty link

std::string bus(const Prediction& p, double seconds) { return rate_text(p.bus_bandwidth() * (p.seconds / seconds)); }

/// Measured and predicted time of one free choice of the library.
struct Compared {
  const Point* point = nullptr;
  Prediction stock;
};

std::vector<Compared> compared(const Findings& f) {
  std::vector<Compared> out;
  for (const Point& point : f.collectives) {
    if (point.algorithm || point.protocol || point.ranks() < 2) continue;
    try {
      out.push_back({&point, predict(f.stock, operation_of_point(point, f.stock))});
    } catch (const RequestError&) {
      continue;  // more ranks than the stock system joins, or nothing that runs there: no prediction
    }
  }
  return out;
}

/// Large all-reduces that take as long as a ring although the switches could reduce.
std::optional<MachineFinding> no_reduction_in_switch(const Findings& f, const std::vector<Compared>& all) {
  int could = 0, as_ring = 0;
  std::string example;
  for (const Compared& one : all) {
    if (one.point->collective != Collective::all_reduce || one.stock.ran.algorithm != Algorithm::nvls || one.point->bytes < large) continue;
    ++could;
    const double seconds = one.point->seconds;
    const Prediction ring = predict(f.stock, operation_of_point(*one.point, f.stock), Choice{.algorithm = Algorithm::ring});
    if (seconds < limit::ring_slower * one.stock.high || seconds < ring.low / limit::ring_below || seconds > ring.high * limit::ring_above)
      continue;
    ++as_ring;
    example = fmt::format("all_reduce of {} on {} GPUs reaches {} bus bandwidth, as a ring does ({}); reduction in the switch gives {}",
                          size_text(Bytes::from_value(one.point->bytes)), one.point->ranks(), bus(one.stock, seconds),
                          rate_text(ring.bus_bandwidth()), rate_text(one.stock.bus_bandwidth()));
  }
  if (could < 2 || 2 * as_ring < could) return std::nullopt;
  return MachineFinding{std::string{name(Cause::nvls_off)}, limit::ring_weight, example,
                        "NCCL_DEBUG=INFO must say that NVLS multicast is available; fabric manager, driver, NCCL_NVLS_ENABLE, NCCL_ALGO"};
}

/// Most large collectives are above the interval: a problem that no single probe shows.
std::optional<MachineFinding> slow(const std::vector<Compared>& all) {
  std::vector<double> ratios;
  int above = 0;
  const Compared* worst = nullptr;
  for (const Compared& one : all) {
    if (one.point->bytes < large) continue;
    ratios.push_back(one.point->seconds / one.stock.seconds);
    if (one.point->seconds > one.stock.high) ++above;
    if (worst == nullptr || one.point->seconds / one.stock.seconds > worst->point->seconds / worst->stock.seconds) worst = &one;
  }
  if (ratios.size() < 4 || 2 * above < static_cast<int>(ratios.size())) return std::nullopt;
  return MachineFinding{
      "collectives_slow", 0.5,
      fmt::format("{} of {} large collectives take longer than the stock system's interval allows, {:.2f} times as long in the "
                  "median; the worst: {} of {} on {} GPUs at {} bus bandwidth where {} is due",
                  above, ratios.size(), median_of(ratios), name(worst->point->collective),
                  size_text(Bytes::from_value(worst->point->bytes)), worst->point->ranks(), bus(worst->stock, worst->point->seconds),
                  rate_text(worst->stock.bus_bandwidth())),
      "fabricost diagnose LOG with what nccl-tests and NCCL_DEBUG=INFO print"};
}

}  // namespace

std::vector<MachineFinding> findings_in_collectives(const Findings& machine) {
  const std::vector<Compared> all = compared(machine);
  std::vector<MachineFinding> out;
  if (auto found = no_reduction_in_switch(machine, all)) out.push_back(std::move(*found));
  if (auto found = slow(all); found && out.empty()) out.push_back(std::move(*found));
  return out;
}

}  // namespace fabricost::probes
