#pragma once
/// The smallest change of a layout that makes it fit, on as many GPUs.
///
/// All combinations of changes are tried and the cheapest that fits is reported. The cost of a change is its
/// rank in the order below, which follows its known effect on time; it does not predict a time. A distributed
/// optimizer and sequence parallel move the same bytes (Rajbhandari 2020, Korthikanti 2022); selective
/// recompute repeats a few percent of the FLOPs; a smaller microbatch and more expert ranks make matrix
/// products smaller; sharded gradients are reduced once per step without a pipeline and once per microbatch
/// with one; full recompute repeats a third; more stages lengthen the bubble; more tensor or context ranks
/// add messages to every layer; sharded weights are gathered twice per microbatch. Where the host has room, activations may wait
/// there behind the work of other layers, and the optimizer's states be updated there, once a step.

#include <fabricost/plan/memory/min_change.hpp>
#include <fabricost/plan/memory/memory.hpp>
#include <fabricost/plan/model/layout_check.hpp>

#include <charconv>
#include <functional>
#include <string>

namespace fabricost::plan {

/// The proposed change.
struct MemoryAdvice {
  bool found = false;    ///< some layout fits
  Layout layout;         ///< the proposed one; if none fits, the one that needs the least memory
  MemoryUse use;         ///< of its worst stage
  std::string sentence;  ///< the proposal in words
};

namespace memory_detail {

/// Costs of changes, by rank; a doubling or halving counts once each.
struct ChangeCost {
  static constexpr int optimizer = 1, sequence_parallel = 1, selective = 2, microbatch = 3, gradients = 4, experts = 4, full = 6,
                       stages = 7;
  static constexpr int offloaded_activations = 8, piped_gradients = 9, offloaded_optimizer = 9, tensor = 10, context = 11, weights = 12;
};

std::string gib(double bytes);

/// The changes in words, from one layout to another; empty when there is none.
[[nodiscard]] std::string changes(const Layout& from, const Layout& to, int layers);

}  // namespace memory_detail

/// The cheapest change of `layout`, on the same number of GPUs, whose worst stage fits `capacity` bytes with
/// the fraction `margin` (0 to 1) free. It prices some thousands of layouts in a few milliseconds: too slow
/// for the inner loop of a search.
/// \param max_tp ranks of the scale-up domain; tensor parallelism beyond it is not proposed \param host bytes of a GPU's share of the
/// host's memory; 0: nothing is proposed to wait there \param runs whether the machine can run a layout; none: all
[[nodiscard]] MemoryAdvice smallest_change_that_fits(const Model& model, const Layout& layout, const MemoryStack& stack,
                                                     double capacity, double margin = 0, int max_tp = 8, double host = 0,
                                                     const std::function<bool(const Layout&)>& runs = {});

}  // namespace fabricost::plan
