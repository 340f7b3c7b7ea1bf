#pragma once
/// Which (algorithm, protocol) runs at which size: NCCL's choice, the fastest, or forced. Uses candidates and
/// prices only, no physics.

#include <fabricost/choice/candidates.hpp>
#include <fabricost/choice/choice.hpp>
#include <fabricost/choice/nccl.hpp>
#include <fabricost/choice/plugin.hpp>
#include <fabricost/price/price.hpp>

#include <array>
#include <limits>
#include <optional>

namespace fabricost::core {

/// The parts of a request that the choice depends on.
struct ChoiceInput {
  Collective op = Collective::all_reduce;
  bool byte_wide = false;
};

/// The prices of a few candidates, compared for `fastest`.
class PriceTable {
 public:
  static constexpr int capacity = Candidates::capacity + ReducePieces::capacity;

  PriceTable(const Candidates& candidates, ChoiceInput in, const Fabric& f, const Constants& c) {
    for (const Candidate candidate : candidates)
      add(candidate, price(schedule_of(candidate.algorithm, in.op, f), f, c, candidate.protocol, in.byte_wide));
  }
  /// \param until the first size at which it cannot run
  void add(Candidate candidate, const Line& line, double until = std::numeric_limits<double>::infinity()) {
    const auto at = static_cast<std::size_t>(count_++);
    candidates_[at] = candidate;
    lines_[at] = line;
    until_[at] = until;
  }
  /// The cheapest at a size; among equals (a ring and a one-level hierarchy, say) the first.
  [[nodiscard]] int pick(double bytes) const;
  [[nodiscard]] int count() const { return count_; }
  [[nodiscard]] Candidate candidate(int i) const { return candidates_[static_cast<std::size_t>(i)]; }
  [[nodiscard]] const Line& line(int i) const { return lines_[static_cast<std::size_t>(i)]; }
  [[nodiscard]] double until(int i) const { return until_[static_cast<std::size_t>(i)]; }

 private:
  int count_ = 0;
  std::array<Candidate, capacity> candidates_{};
  std::array<Line, capacity> lines_{};
  std::array<double, capacity> until_{};
};

/// Every pair that can run here and that the choice's algorithm and protocol allow, whatever its rule.
[[nodiscard]] Candidates allowed_candidates(const Choice& choice, ChoiceInput in, const Fabric& f);

/// The tuner's rows that a choice allows; empty if the choice must be made by price.
[[nodiscard]] TunerTable allowed_rows(const Choice& choice, ChoiceInput in, const Fabric& f);

/// A tuner plugin's decisions for this collective, among the pairs that the choice allows.
[[nodiscard]] PluginRegions plugin_regions_of(const Choice& choice, ChoiceInput in, const Fabric& f);

/// The plugin's choice at one size, else the tuner's among the allowed rows; nothing if it must be made by price.
[[nodiscard]] std::optional<Candidate> picked_at(double bytes, const Choice& choice, ChoiceInput in, const Fabric& f);

}  // namespace fabricost::core

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/choice/pick-inl.hpp>
#endif
