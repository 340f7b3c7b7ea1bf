#pragma once
/// The sections of docs/kernels-accuracy.md, each a text of Markdown, and how their tables write errors.

#include <fabricost/plan/evaluation/calibrate_custom.hpp>
#include <fabricost/parameters/related.hpp>
#include <fabricost/validation/validate.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace kernels {

/// "12.3 / 45.6": median and mean in percent; "-" without points.
inline std::string pair(const fabricost::core::ErrorSummary& e) {
  return e.points > 0 ? fmt::format("{:.1f} / {:.1f}", e.median_ape, e.mape) : "-";
}

/// "90 %": the share of points inside their interval; "-" without points.
inline std::string inside(const fabricost::core::ErrorSummary& e) {
  return e.points > 0 ? fmt::format("{:.0f} %", 100 * e.interval_coverage) : "-";
}

/// Medians and means of several systems, averaged: every system counts once.
struct Average {
  double median = 0, mean = 0;
  int systems = 0;
  void add(const fabricost::core::ErrorSummary& e) {
    if (e.points == 0) return;
    median += e.median_ape;
    mean += e.mape;
    ++systems;
  }
  [[nodiscard]] std::string text() const { return systems > 0 ? fmt::format("{:.1f} / {:.1f}", median / systems, mean / systems) : "-"; }
};

/// Constants for a machine whose generation was fitted in none of `fits`, or not for all kernels: its own fit, then relatives.
inline void use_fits(fabricost::core::ConstantSet set, fabricost::core::System& system,
                     std::span<const fabricost::core::Calibration> fits) {
  using namespace fabricost::core;
  std::vector<Constants> related;
  std::vector<const CalibratedSet*> of;
  const CalibratedSet* own = nullptr;
  for (const Calibration& fit : fits)
    for (const CalibratedSet& one : fit.sets) {
      if (one.generation == system.gpu.generation) own = &one;
      of.push_back(&one);
      related.push_back(one.constants);
    }
  const auto measured = [](const CalibratedSet& s, const Parameter& p) {
    return std::any_of(s.fitted.begin(), s.fitted.end(), [&](const FittedConstant& f) { return f.key == p.key; });
  };
  take_from_related(set, system.constants, related, [&](std::size_t r, const Parameter& p) { return of[r] != own && measured(*of[r], p); });
  if (own == nullptr) return;
  for (const Parameter& p : parameters_of(set))
    if (measured(*own, p)) p.of(system.constants) = p.value(own->constants);
}

[[nodiscard]] std::string all_reduces(const std::filesystem::path& measurements);
[[nodiscard]] std::string expert_kernels(const std::filesystem::path& measurements);
/// Predictions for machines without any measured kernel.
[[nodiscard]] std::string unmeasured();

}  // namespace kernels
