/// \file rules_run.cpp
/// How the program was built, started and timed. Each rule says on which line it rests.

#include "diagnose/context.hpp"

#include <fmt/format.h>

#include <array>
#include <map>
#include <set>

namespace fabricost::diagnosis {

namespace {

using io::LogLine;
using io::Seen;
using io::Sign;

/// Two ranks 0: every host ran a test of its own.
std::optional<Clue> two_runs_in_one(const Context& c) {
  std::map<int, std::set<std::string>> hosts;
  const io::RankLine* second = nullptr;
  for (const io::RankLine& one : c.info.rank_lines)
    if (hosts[one.rank].insert(one.host).second && hosts[one.rank].size() == 2 && one.rank == 0 && second == nullptr) second = &one;
  if (second == nullptr) return std::nullopt;
  return Clue{{Cause::other, 0.9,
               cited(second->line) + ": a second rank 0 on another host: each host ran its own test and the network was never used",
               "build nccl-tests with MPI=1 and start it with the mpirun it was built for"},
              Weight::proof};
}

std::optional<Clue> host_side(const Context& c) {
  if (const Seen& seen = c.info.seen(Sign::numa_balancing); seen.times > 0)
    return Clue{{Cause::other, 0.75, cited(seen), "echo 0 > /proc/sys/kernel/numa_balancing"}, Weight::proof};
  if (const Seen& seen = c.info.seen(Sign::core_binding); seen.times > 0)
    return Clue{{Cause::other, 0.6, cited(seen) + ": a process bound to one core shares it with NCCL's own threads",
                 "mpirun --bind-to numa (or none)"},
                Weight::hint};
  if (const Seen& seen = c.info.seen(Sign::throttled); seen.times > 0)
    return Clue{{Cause::other, 0.5, cited(seen), "nvidia-smi -q -d PERFORMANCE: clocks, power and temperature under load"}, Weight::hint};
  if (const Seen& seen = c.info.seen(Sign::relaxed_ordering); seen.times > 0)
    return Clue{{Cause::other, 0.45, cited(seen), "NCCL_IB_PCI_RELAXED_ORDERING=1 (UCX_IB_PCI_RELAXED_ORDERING=y)"}, Weight::hint};
  return std::nullopt;
}
std::optional<Clue> late_ranks(const Context& c) {
  const Seen& seen = c.info.seen(Sign::straggler_word);
  if (seen.times == 0) return std::nullopt;
  return Clue{{Cause::stragglers, 0.5, cited(seen), "time each node alone and in pairs; clocks, temperature, other jobs"}, Weight::hint};
}
std::optional<Clue> odd_build(const Context& c) {
  const Seen& seen = c.info.seen(Sign::fault_build);
  if (seen.times == 0) return std::nullopt;
  return Clue{{Cause::bug_in_version, 0.6, cited(seen), "build without it, or use a release build"}, Weight::proof};
}
std::optional<Clue> launches(const Context& c) {
  const Seen& seen = c.info.seen(Sign::launch_blocking);
  if (seen.times == 0) return std::nullopt;
  return Clue{{Cause::cpu_launch_bound, 0.6, cited(seen),
               "capture the calls in a CUDA graph; time with events over many calls, not with a wait after each"},
              Weight::hint};
}

constexpr std::array all_run_rules{Rule{two_runs_in_one}, Rule{host_side}, Rule{late_ranks}, Rule{odd_build}, Rule{launches}};

}  // namespace

/// A clock in another unit, sizes cut or scaled, a table edited by hand, a timer that was never read.
std::optional<Finding> impossible_times(const Context& c) {
  const Impossible& found = c.impossible;
  if (found.believed()) return std::nullopt;
  const std::string remedy =
      "look at the unit of the time column and at the sizes, and whether the calls were waited for; then run it again";
  if (found.without > 0)
    return Finding{Cause::other, 0.99,
                   fmt::format("none of the table's {} rows holds a time above 0: no message takes none", found.without), remedy};
  return Finding{Cause::other, 0.99,
                 fmt::format("{} of {} times are shorter than they can be: {}", found.times, found.of, found.example), remedy};
}

std::span<const Rule> run_rules() { return all_run_rules; }

}  // namespace fabricost::diagnosis
