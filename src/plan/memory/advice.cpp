#include "text/joined.hpp"

#include <fabricost/plan/memory/advice.hpp>

namespace fabricost::plan::memory_detail {

std::string gib(double bytes) {
  std::array<char, 512> text{};  // std::to_chars prints a decimal point in every locale
  const auto end = std::to_chars(text.data(), text.data() + text.size(), bytes / gibibyte, std::chars_format::fixed, 1).ptr;
  return {text.data(), end};
}

std::string changes(const Layout& from, const Layout& to, int layers) {
  std::vector<std::string> words;
  const auto number = [&](const char* what, int before, int after) {
    if (before != after) words.push_back(std::string(what) + " " + std::to_string(after) + " instead of " + std::to_string(before));
  };
  if (to.zero != from.zero)
    words.push_back(to.zero == 1   ? "the distributed optimizer (zero 1)"
                    : to.zero == 2 ? "optimizer and gradients sharded (zero 2)"
                                   : "optimizer, gradients and weights sharded (zero 3)");
  if (to.sequence_parallel != from.sequence_parallel) words.emplace_back("sequence parallel");
  if (to.recompute != from.recompute || to.recompute_layers != from.recompute_layers)
    words.push_back(
        std::string(recompute_names[static_cast<std::size_t>(to.recompute)]) + " recompute" +
        (to.recompute_layers > 0 ? " of " + std::to_string(to.recompute_layers) + " of " + std::to_string(layers) + " layers" : ""));
  number("microbatch", from.microbatch, to.microbatch);
  number("ep", from.ep, to.ep);
  number("pp", from.pp, to.pp);
  number("vp", from.vp, to.vp);
  number("tp", from.tp, to.tp);
  number("cp", from.cp, to.cp);
  if (to.offload_optimizer != from.offload_optimizer)
    words.emplace_back(to.offload_optimizer > 0 ? "the optimizer's states in host memory (<optimizer_offload_fraction=1>)"
                                                : "the optimizer's states on the GPU");
  if (to.offload_layers != from.offload_layers)
    words.push_back(to.offload_layers > 0
                        ? "activations in host memory (<cpu_offloading_num_layers=" + std::to_string(to.offload_layers) + ">)"
                        : "activations on the GPU");
  return core::joined_with_and(words);
}

}  // namespace fabricost::plan::memory_detail

namespace fabricost::plan {

MemoryAdvice smallest_change_that_fits(const Model& model, const Layout& layout, const MemoryStack& stack, double capacity, double margin,
                                       int max_tp, double host, const std::function<bool(const Layout&)>& runs) {
  using Cost = memory_detail::ChangeCost;
  MemoryAdvice advice{false, layout, worst_stage(model, layout, stack), {}};
  const double before = advice.use.total();
  const double beside = host > 0 ? host : std::numeric_limits<double>::infinity();
  const bool back = advice.use.host > beside;  // what was to wait there has no room
  if (fits(advice.use, capacity, margin, beside)) {
    advice.found = true;
    advice.sentence = "fits as it is: " + memory_detail::gib(before) + " of " + memory_detail::gib(capacity * (1 - margin)) + " GiB";
    return advice;
  }
  int cheapest = 1 << 20;
  const auto consider = [&](const Layout& l, int cost) {
    if (cost > cheapest || !is_possible(model, l)) return;
    const MemoryUse use = worst_stage(model, l, stack);
    if (use.host > beside) return;
    const bool fitting = fits(use, capacity, margin);
    const bool moved = l.offload_layers != layout.offload_layers || l.offload_optimizer != layout.offload_optimizer;
    if (!fitting && moved) return;  // host memory is named where it helps
    // of equal costs, or while none fits, the one that needs the least memory
    const bool better =
        advice.found ? fitting && (cost < cheapest || use.total() < advice.use.total()) : fitting || use.total() < advice.use.total();
    if (!better || (fitting && runs && !runs(l))) return;
    advice.layout = l;
    advice.use = use;
    if (fitting) {
      advice.found = true;
      cheapest = cost;
    }
  };
  const auto states = [&](Layout l, int cost) {
    for (int zero = layout.zero; zero <= 3; ++zero) {
      l.zero = zero;
      const int sharding = (zero >= 1 && layout.zero < 1 ? Cost::optimizer : 0) +
                           (zero >= 2 && layout.zero < 2 ? (l.pp > 1 ? Cost::piped_gradients : Cost::gradients) : 0) +
                           (zero >= 3 && layout.zero < 3 ? Cost::weights : 0);
      consider(l, cost + sharding);
    }
  };
  const auto activations = [&](Layout l, int cost) {
    for (int again = static_cast<int>(layout.recompute); again <= 2; ++again) {
      l.recompute = static_cast<Recompute>(again);
      if (l.offload_layers > layout.offload_layers && l.recompute != Recompute::none) break;  // no program does both
      l.recompute_layers = l.recompute == layout.recompute ? layout.recompute_layers : 0;
      if (l.recompute != layout.recompute || l.pp != layout.pp) l.recompute_by_stage.clear();
      const int repeated = l.recompute == layout.recompute ? 0 : l.recompute == Recompute::full ? Cost::full : Cost::selective;
      int halved = 0;
      for (l.microbatch = layout.microbatch; l.microbatch >= 1; l.microbatch /= 2, ++halved)
        states(l, cost + repeated + halved * Cost::microbatch);
    }
  };
  // the ranks of doublings are taken from the data replicas
  const auto doublings = [&](bool states_away, bool activations_away, int away) {
    int pp_doubled = 0;
    for (int pp = layout.pp; pp <= model.layers && layout.dp % (pp / layout.pp) == 0; pp *= 2, ++pp_doubled) {
      int tp_doubled = 0;
      for (int tp = layout.tp; tp <= std::max(max_tp, layout.tp); tp *= 2, ++tp_doubled) {
        int cp_doubled = 0;
        for (int cp = layout.cp; cp <= 16 * layout.cp; cp *= 2, ++cp_doubled) {
          const int taken = (pp / layout.pp) * (tp / layout.tp) * (cp / layout.cp);
          if (layout.dp % taken != 0) break;
          int ep_doubled = 0;
          for (int ep = layout.ep; ep <= std::max(1, model.experts); ep *= 2, ++ep_doubled) {
            Layout l = layout;
            if (back) {
              l.offload_optimizer = 0;
              l.offload_layers = 0;
            }
            if (states_away) l.offload_optimizer = 1;
            l.pp = pp;
            l.tp = tp;
            l.cp = cp;
            l.ep = ep;
            l.dp = layout.dp / taken;
            if (l.pp > 1 && layout.pp == 1 && l.schedule == PipelineSchedule::none) l.schedule = PipelineSchedule::one_f_one_b;
            while (l.vp > 1 && (has_idle_chunk(model, l) || l.microbatches() % l.pp != 0)) l.vp /= 2;
            if (activations_away && l.pp > 1) continue;  // activations of stages stay on the GPU
            if (activations_away) l.offload_layers = std::max(layout.offload_layers, model.layers - 1);
            const int cost =
                away + pp_doubled * Cost::stages + tp_doubled * Cost::tensor + cp_doubled * Cost::context + ep_doubled * Cost::experts;
            activations(l, cost);
            if (l.tp > 1 && !l.sequence_parallel) {
              l.sequence_parallel = true;
              activations(l, cost + Cost::sequence_parallel);
            }
          }
        }
      }
    }
  };
  doublings(false, false, 0);
  if (host > 0) {
    doublings(false, true, Cost::offloaded_activations);
    doublings(true, false, Cost::offloaded_optimizer);
    doublings(true, true, Cost::offloaded_activations + Cost::offloaded_optimizer);
  }
  if (advice.found && advice.layout.recompute == Recompute::full && layout.recompute != Recompute::full) {
    const double room = capacity * (1 - margin);
    const auto lacks = [&](const Layout& l) { return lacking(worst_stage(model, l, stack), room, beside); };
    Layout without = advice.layout;
    without.recompute = Recompute::none;
    if (const double none = lacks(without); none > 0)
      advice.layout = with_min_recomputed(advice.layout, model.layers, none, lacking(advice.use, room, beside), lacks);
    advice.use = worst_stage(model, advice.layout, stack);
  }
  const std::string what = memory_detail::changes(layout, advice.layout, model.layers);
  const std::string room = " of " + memory_detail::gib(capacity * (1 - margin)) + " GiB", needs = memory_detail::gib(advice.use.total()) + room;
  const std::string instead = what.empty() ? "" : " instead of " + memory_detail::gib(before);  // a change has a previous value
  if (advice.found)
    advice.sentence = "fits with " + what + ": " + needs + instead;
  else
    advice.sentence = "no other layout on " + std::to_string(layout.gpus()) + (layout.gpus() == 1 ? " GPU fits" : " GPUs fits") +
                      (what.empty() ? ", as this one needs least" : "; the least, with " + what + ", is " + needs + instead) +
                      ": take more GPUs, memory alone needs about " +
                      std::to_string(static_cast<long long>(std::ceil(layout.gpus() * advice.use.total() / (capacity * (1 - margin))))) +
                      (what.empty() ? room : "") + ", and need finds the number that layouts divide";
  return advice;
}

}  // namespace fabricost::plan
