/// Fits kernels by GPU generation and summarises the residuals.

#include "evaluation/kernel_sets.hpp"

#include "text/quantile.hpp"

#include <fabricost/parameters/related.hpp>
#include <fabricost/shipped_numbers.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace fabricost::plan {

namespace {

struct Ape {
  double median = 0, mean = 0;
};
Ape ape_of(std::vector<double> logs) {
  double sum = 0;
  for (double& l : logs) sum += l = 100 * std::fabs(std::expm1(l));
  std::sort(logs.begin(), logs.end());
  return {quantile(logs, 0.5), logs.empty() ? 0 : sum / static_cast<double>(logs.size())};
}

ClassResidual residual_of(std::string_view key, const std::vector<double>& logs) {
  std::vector<double> sizes;
  for (const double r : logs) sizes.push_back(std::fabs(r));
  std::sort(sizes.begin(), sizes.end());
  const Ape its = ape_of(logs);
  return {key, static_cast<int>(sizes.size()), its.median, its.mean,
          std::max(policy::fits::min_width, quantile(sizes, policy::fits::quantile))};
}

}  // namespace

std::size_t KernelSamples::generation(const System& system) {
  const Generation g = system.gpu.generation;
  const auto at = std::find(generations_.begin(), generations_.end(), g);
  const auto index = static_cast<std::size_t>(at - generations_.begin());
  if (at == generations_.end()) {
    generations_.push_back(g);
    prior_.emplace_back().scale_up = system.constants.scale_up;
    stretch_prior(set_, prior_.back());
  }
  return index;
}

Calibration KernelSamples::fitted(std::span<const std::string_view> classes) const {
  std::vector<double> before;
  for (const KernelSample& s : samples_) before.push_back(std::log(s.seconds(prior_[s.generation]) / s.measured));
  const FittedKernels fit = fit_kernels(set_, prior_, samples_);
  Calibration out;
  out.points = static_cast<int>(samples_.size());
  out.constants = static_cast<int>(fit.unknowns.size());
  for (const KernelUnknown& x : fit.unknowns) out.determined += x.determined ? 1 : 0;
  out.steps = fit.steps;
  out.converged = fit.converged;
  const Ape first = ape_of(before), last = ape_of(fit.residuals);
  out.median_before = first.median;
  out.mean_before = first.mean;
  out.median_after = last.median;
  out.mean_after = last.mean;
  for (std::size_t g = 0; g < generations_.size(); ++g) {
    CalibratedSet set;
    set.set = set_;
    set.generation = generations_[g];
    set.name = fmt::format("{}-{}", name(set_), name(set.generation));
    set.constants = fit.generations[g];
    set.fewest_ranks = 1 << 30;
    std::set<std::string> systems;
    std::vector<double> all;
    std::vector<std::vector<double>> by_class(classes.size());
    for (std::size_t i = 0; i < samples_.size(); ++i) {
      if (samples_[i].generation != g) continue;
      systems.insert(of_[i].system);
      add_measured(set.fitted_on, of_[i].system, of_[i].domain, of_[i].place, of_[i].rate);
      all.push_back(fit.residuals[i]);
      by_class[of_[i].interval].push_back(fit.residuals[i]);
      set.fewest_ranks = std::min(set.fewest_ranks, of_[i].ranks);
      set.most_ranks = std::max(set.most_ranks, of_[i].ranks);
      const Bytes size = units::B(of_[i].bytes);
      if (size > Bytes{}) set.smallest = set.largest > Bytes{} ? std::min(set.smallest, size) : size;
      set.largest = std::max(set.largest, size);
      if (!of_[i].launch.empty()) set.launches.insert(of_[i].launch);
      if (!of_[i].library.empty()) set.libraries.emplace(of_[i].library);
    }
    set.systems.assign(systems.begin(), systems.end());
    set.points = static_cast<int>(all.size());
    const Ape whole = ape_of(all);
    set.median_ape = whole.median;
    set.mape = whole.mean;
    for (std::size_t k = 0; k < classes.size(); ++k) {
      if (by_class[k].empty()) continue;
      set.classes.push_back(residual_of(classes[k], by_class[k]));
      for (const NamedWidth& width : interval_widths)
        if (width.key == classes[k]) set.constants.interval.*(width.of) = set.classes.back().width;
    }
    for (const KernelUnknown& x : fit.unknowns) {
      if (x.of >= 0 && static_cast<std::size_t>(x.of) != g) continue;
      set.fitted.push_back({.key = x.parameter->key,
                            .measure = x.parameter->measure(),
                            .value = x.parameter->value(set.constants),
                            .prior = x.parameter->value(prior_[g]),
                            .deviation = x.deviation,
                            .prior_deviation = x.parameter->spread,
                            .determined = x.determined,
                            .shared = x.of < 0});
    }
    out.sets.push_back(std::move(set));
  }
  return out;
}

}  // namespace fabricost::plan
