/// \file fitted_training.cpp
/// The result of a fit to training steps, used in place of the shipped values and written as a file.

#include "evaluation/rows.hpp"

#include <fabricost/plan/evaluation/calibrate_training.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace fabricost::plan {

namespace {

/// The results of a fit, to replace the shipped values.
KernelKnowledge knowledge_of(const TrainingFit& fit) {
  const auto stack = [&fit](Stack& s) {
    s.scale = 1;
    s.spread = Stack{}.spread;
    s.seen = {};
    take_fitted(s, fit.stacks);
  };
  const auto constants = [&fit](Generation generation, ComputeConstants& c) {
    c = compute_prior;
    for (const CalibratedSet& set : fit.generations)
      if (set.generation == generation) c = set.constants.compute;
  };
  return {stack, constants};
}

}  // namespace

void predict_training_rows(std::vector<TrainingRow>& rows, const TrainingFit& fit) { predict_training_rows(rows, knowledge_of(fit)); }

std::string stacks_yaml(const TrainingFit& fit, std::string_view date, std::string_view origin) {
  std::string out = fmt::format(
      "name: stacks\ntitle: What published runs say of each software stack as a whole\nsource: \"{}\"\nconfidence: measured\ndate: {}\n",
      origin, date);
  out +=
      "notes: scale multiplies the times of kernels and launches; spread is the standard deviation, in log, of what is left; generations are those it was fitted "
      "on, experts is set where some of its rows are of models with experts\nstacks:\n";
  std::vector<const FittedStack*> sorted;
  for (const FittedStack& s : fit.stacks) sorted.push_back(&s);
  std::sort(sorted.begin(), sorted.end(), [](const FittedStack* a, const FittedStack* b) { return a->name < b->name; });
  for (const FittedStack* s : sorted) {
    std::vector<std::string_view> seen;
    for (const StepsSeen::On& on : s->seen.on) seen.push_back(name(on.generation));
    out += fmt::format("  {}: {{{}scale: {:.4g}, spread: {:.3g}, rows: {}, generations: [{}]{}{}}}\n", s->name,
                       s->factor == s->name ? "" : fmt::format("factor_of: {}, ", s->factor), s->scale, s->spread, s->rows,
                       fmt::join(seen, ", "), s->seen.experts ? ", experts: true" : "", s->seen.fp4 ? ", fp4: true" : "");
  }
  return out;
}

}  // namespace fabricost::plan
