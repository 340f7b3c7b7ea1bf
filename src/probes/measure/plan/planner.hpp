#pragma once
/// \file planner.hpp
/// Shared by the parts of a plan: the machine, the options, and adding steps. Private to this folder.

#include "measure/plan/plan.hpp"

#include <set>

namespace fabricost::probes::measure {

inline constexpr std::uint64_t KiB = 1024, MiB = 1024 * KiB, GiB = 1024 * MiB;

/// Stages of a plan.
enum Stage : int { essential, curves, choices, the_others };

class Planner {
 public:
  Planner(const Machine& machine, int processes, const PlanOptions& options);
  Plan made();

 private:
  void memory();
  void launches();
  void host();
  void peers();
  void collectives();
  void collective_choices();
  void overlap();
  void mpi();

  /// The rows of one group that `--only` selects; all rows without it.
  [[nodiscard]] std::vector<ProbeType> probes(ProbeGroup group) const;
  [[nodiscard]] bool wanted(ProbeKind kind) const;
  [[nodiscard]] bool wanted(Collective operation) const;
  void points(const Case& what, std::vector<std::uint64_t> sizes, Stage stage);
  /// Adds a step over the sizes in the probe's row of the table.
  void curve(const Case& what, Stage stage = curves, double coarser = 1);
  void curve(const Case& what, std::uint64_t min, std::uint64_t max, Stage stage, double coarser = 1);
  /// Lists points that cannot be measured on this machine, where the request includes that group.
  void skip(ProbeGroup group, std::string what, std::string reason);
  /// The largest power of two up to `max` whose buffers fit on every GPU.
  [[nodiscard]] std::uint64_t room(std::uint64_t max) const;
  [[nodiscard]] std::uint64_t unit_of(const Case& what) const;
  [[nodiscard]] bool access(int from, int to) const;
  [[nodiscard]] const Unit& unit(int gpu) const { return machine_.units[static_cast<std::size_t>(gpu)]; }
  [[nodiscard]] int ranks(const Case& what) const;

  const Machine& machine_;
  int processes_;
  bool quick_;
  std::vector<int> gpus_;
  std::set<ProbeKind> kinds_;
  std::set<Collective> operations_;   ///< empty: all
  std::vector<std::uint64_t> sizes_;  ///< empty: the plan's own
  Plan plan_;
};

}  // namespace fabricost::probes::measure
