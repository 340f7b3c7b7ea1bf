#pragma once
/// The layout that trains a model fastest on a machine. Request: question.hpp; search: src/plan/training/search.hpp.

#include <fabricost/hardware/design_parameters.hpp>
#include <fabricost/plan/training/question.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace fabricost::plan {

/// The fastest layouts that fit, the plainest of those near the fastest first (plain.hpp). They use all GPUs and the batch given, unless
/// fewer GPUs are faster (or, where it is allowed, another batch trains more tokens a second): then more GPUs never make a step longer. For
/// a single named layout, its fastest variant even if it does not fit
/// (TrainingPlan::fits). Deterministic. \throws RequestError when no layout is possible, with the reason and
/// the nearest possible one; for a stack's factor that makes the step shorter than its products take at the
/// peak
[[nodiscard]] TrainingPlan plan_training(const System& system, const TrainingQuestion& asked);

/// The same, with the machine as the job sees it: of a pod the slice that holds all of its chips or, where that is no slower, another:
/// that which fewer of them fill, or one of a power of two chips, as jobs mostly have. Which are tried does not depend on what is found, so
/// that a request with fewer layouts finds none faster.
[[nodiscard]] std::pair<System, TrainingPlan> plan_on_slices(const System& system, const TrainingQuestion& asked);

/// Gives the stack of the question the factor with which the layout that it names, all of which it then names, takes so long. The factor is
/// of kernels and launches; exchanges keep their time. \throws Refusal where no layout is named, or no factor explains the step
double explain_measured(const System& system, TrainingQuestion& question, double seconds);

/// The plan that pays for the fewest GPU-seconds: the fastest or, while one leaves GPUs idle, the fastest of those that leave fewer; the
/// fastest where that saves no more than `within`.
/// \param idle (layout) GPUs beyond the job's \param seconds (layout) of a sequence \param paid (idle) GPUs \param search (WantedLayouts) the
/// fastest plan within them \throws nothing for a RequestError of search: there is none
template <class Plan, class Idle, class Seconds, class Paid, class Search>
[[nodiscard]] Plan cheapest_plan(Plan fastest, double within, Idle&& idle, Seconds&& seconds, Paid&& paid, Search&& search) {
  const auto cost = [&](const Plan& one) { return seconds(one.layouts.front()) * paid(idle(one.layouts.front())); };
  const auto found_within = [&](const WantedLayouts& wanted) -> std::optional<Plan> {
    try {
      Plan found = search(wanted);
      return found.fits && !found.layouts.empty() ? std::optional{std::move(found)} : std::nullopt;
    } catch (const RequestError&) {
      return std::nullopt;  // no layout is among those wanted
    }
  };
  Plan best = fastest;
  for (int most = idle(fastest.layouts.front()) - 1; most >= 0 && paid(0) < paid(most + 1);) {
    const std::optional<Plan> found = found_within({.most_idle = most, .most_seconds = cost(best) / paid(0)});
    if (!found) break;
    if (cost(*found) < cost(best)) best = *found;
    most = std::min(most, idle(found->layouts.front())) - 1;
  }
  return cost(fastest) <= cost(best) * (1 + within) ? fastest : best;
}

// The layout that practitioners would take.

/// The layout by the rule that practitioners state (Narayanan et al., arXiv 2104.04473, takeaways 1 and 2, for dense models: tensor ranks
/// up to the GPUs of a node until the model fits, then the fewest stages; Megatron-Core's guide to mixtures of experts: experts spread over
/// the NVLink domain and no tensor ranks), with one sequence a microbatch and a distributed optimizer; nothing where none fits.
[[nodiscard]] std::optional<PricedLayout> usual_layout(const System& system, const TrainingQuestion& question);

// Further results of a training plan: the gain from 10 % more of each part of the machine, and the layouts
// that trade time for memory.

/// The effect of one change of the machine.
struct StepSensitivity {
  std::string change;  ///< "nvlink bandwidth + 10 %"
  double seconds = 0;  ///< of the then fastest layout
  double gain = 0;     ///< the fastest step before over that after, less 1
};

/// Visits the machine with 10 % more of each tier's bandwidth, of memory and arithmetic, and with a domain twice as large, each with the
/// words for it. Changes that the machine cannot take are left out, as are visits that throw a RequestError.
template <class Visit>
void for_each_change(const System& system, Visit&& visit) {
  const auto try_change = [&](const std::string& change, auto&& apply) {
    System other = system;
    try {
      apply(other);
      visit(change, static_cast<const System&>(other));
    } catch (const RequestError&) {
      return;  // the change makes the request invalid for the machine
    }
  };
  for (std::size_t i = 0; i < system.tiers.size(); ++i) {
    const Tier& tier = system.tiers[i];
    // a network tier acts only through its oversubscription: uplink over downlink rate
    if (tier.role == TierRole::memory || (tier.role == TierRole::network && tier.oversubscription <= 1)) continue;
    try_change(std::string{tier.name.view()} + " bandwidth + 10 %", [i](System& s) {
      Tier& changed = s.tiers[i];
      changed.bandwidth.value *= 1.1;
      if (changed.role == TierRole::network) changed.oversubscription = std::max(1.0, changed.oversubscription / 1.1);
    });
  }
  for (const auto& [words, parameter] :
       {std::pair{"hbm bandwidth", DesignParameter::hbm_bandwidth}, std::pair{"hbm size", DesignParameter::hbm_size},
        std::pair{"arithmetic", DesignParameter::arithmetic}})
    try_change(std::string{words} + " + 10 %",
               [parameter = parameter](System& s) { s = with_parameter(s, parameter, 1.1 * value_of(s, parameter)); });
  try_change("domain x 2", [](System& s) { s = with_parameter(s, DesignParameter::domain, 2.0 * s.domain); });
}

/// The search repeated on each of these machines, the most helpful first: the fastest layout against the fastest, however plain, of the
/// batch given. Changes after which no layout fits are omitted. \throws as plan_training
[[nodiscard]] std::vector<StepSensitivity> sensitivity_of(const System& system, const TrainingQuestion& question);

/// Layouts that no other beats in both time and memory, fastest first, on as many GPUs and with the batch of the fastest one; prices all
/// that fit. \throws as plan_training
[[nodiscard]] std::vector<PricedLayout> pareto_of(const System& system, TrainingQuestion question);

}  // namespace fabricost::plan
