/// \file plan.cpp
/// Plans the probes of GPUs and their host: memory, launches, host copies, peers. Collectives are in
/// collectives.cpp.

#include "measure/plan/planner.hpp"

#include "specs/near_or_all.hpp"

#include <fabricost/error.hpp>
#include <fabricost/specs/load.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace fabricost::probes::measure {

namespace {

/// Assumed for a GPU that does not report them: enough for every curve on any GPU of the last ten years.
constexpr std::uint64_t memory_unsaid = 8 * GiB, l2_unsaid = 64 * MiB;

[[noreturn]] void unknown_word(const std::string& text) {
  std::vector<std::string> names(probe_groups.begin(), probe_groups.end());
  for (const ProbeType& one : probe_table) names.emplace_back(one.word);
  for (const std::string_view one : collective_names) names.emplace_back(one);
  throw Refusal(fmt::format("<only> {}: is nothing that is measured; {}", text,
                            near_or(text, names, fmt::format("one of: {}, a probe's word, or a collective", fmt::join(probe_groups, " ")))));
}

}  // namespace

Planner::Planner(const Machine& machine, int processes, const PlanOptions& options)
    : machine_(machine), processes_(processes), quick_(options.quick), sizes_(options.sizes) {
  const auto units = static_cast<int>(machine.units.size());
  for (const int gpu : options.gpus) {
    if (gpu < 0 || gpu >= units) throw Refusal(fmt::format("<gpus> {}: there are GPUs 0 to {}", gpu, units - 1));
    if (std::find(gpus_.begin(), gpus_.end(), gpu) != gpus_.end()) throw Refusal(fmt::format("<gpus> {}: named twice", gpu));
    gpus_.push_back(gpu);
  }
  if (gpus_.empty() && machine.runtime != "MPI")
    for (int gpu = 0; gpu < units; ++gpu) gpus_.push_back(gpu);
  for (const std::string& text : options.only) {
    const std::string folded = core::folded(text);
    bool known = false;
    for (const ProbeType& probe : probe_table) {
      if (folded != core::folded(probe.word) && folded != name(probe.group)) continue;
      kinds_.insert(probe.kind);
      known = true;
    }
    if (const auto operation = parse_collective(text)) {
      kinds_.insert(ProbeKind::collective);
      operations_.insert(*operation);
      known = true;
    }
    if (!known) unknown_word(text);
  }
  plan_.bends = quick_ ? BendRules{.threshold = 0.1, .finest = 2} : BendRules{};
}

std::vector<ProbeType> Planner::probes(ProbeGroup group) const {
  std::vector<ProbeType> out;
  for (const ProbeType& probe : probe_table)
    if (probe.group == group && wanted(probe.kind)) out.push_back(probe);
  return out;
}

bool Planner::wanted(ProbeKind kind) const { return kinds_.empty() || kinds_.count(kind) > 0; }
bool Planner::wanted(Collective operation) const { return operations_.empty() || operations_.count(operation) > 0; }

int Planner::ranks(const Case& what) const {
  if (machine_.runtime == "MPI") return what.pairs.empty() ? processes_ : 2;
  return static_cast<int>(what.gpus.size()) * processes_;
}

std::uint64_t Planner::unit_of(const Case& what) const {
  if (type_of(what.kind).sizes == ProbeSizes::calls)
    return 16 * static_cast<std::uint64_t>(std::max(1, ranks(what)));  // 16-byte vectors on every rank, as nccl-tests rounds
  return 256;
}

void Planner::skip(ProbeGroup group, std::string what, std::string reason) {
  if (!probes(group).empty()) plan_.not_measured.push_back({std::move(what), std::nullopt, std::move(reason)});
}

void Planner::points(const Case& what, std::vector<std::uint64_t> sizes, Stage stage) {
  if (!wanted(what.kind)) return;
  const std::uint64_t unit = unit_of(what);
  if (!sizes_.empty() && sizes != std::vector<std::uint64_t>{0}) sizes = sizes_;
  for (std::uint64_t& size : sizes) size = size == 0 ? 0 : fitting(size, unit);
  plan_.steps.push_back({.what = what, .sizes = std::move(sizes), .unit = unit, .weight = 0.5, .stage = stage});
}

void Planner::curve(const Case& what, std::uint64_t min, std::uint64_t max, Stage stage, double coarser) {
  if (!wanted(what.kind)) return;
  if (!sizes_.empty()) return points(what, sizes_, stage);
  const std::uint64_t unit = unit_of(what);
  plan_.steps.push_back({.what = what,
                         .sizes = coarse_sizes(min, std::max(min, max), (quick_ ? 16 : 8) * coarser, unit),
                         .refine = true,
                         .unit = unit,
                         .weight = coarser > 1 ? 0.5 : 1,
                         .stage = stage});
}

void Planner::curve(const Case& what, Stage stage, double coarser) {
  const std::uint64_t memory = room(4 * GiB), l2 = gpus_.empty() || unit(gpus_.front()).l2 == 0 ? l2_unsaid : unit(gpus_.front()).l2;
  switch (type_of(what.kind).sizes) {
    case ProbeSizes::memory: return curve(what, std::min(memory, 256 * KiB), memory, stage, coarser);
    case ProbeSizes::caches: return curve(what, 16 * KiB, std::min(memory, std::bit_ceil(16 * l2)), stage, coarser);
    case ProbeSizes::transfers: return curve(what, 4 * KiB, room(quick_ ? 256 * MiB : GiB), stage, coarser);
    case ProbeSizes::calls: return curve(what, 512, room(quick_ ? 512 * MiB : 2 * GiB), stage, coarser);
    case ProbeSizes::none: return points(what, {0}, stage);
  }
}

std::uint64_t Planner::room(std::uint64_t max) const {
  for (const int gpu : gpus_) {
    const std::uint64_t free = unit(gpu).free_memory > 0 ? unit(gpu).free_memory : unit(gpu).memory > 0 ? unit(gpu).memory : memory_unsaid;
    max = std::min(max, free / 4);
  }
  return std::bit_floor(std::max(max, MiB));
}

bool Planner::access(int from, int to) const {
  const auto f = static_cast<std::size_t>(from), t = static_cast<std::size_t>(to);
  return f < machine_.peer_access.size() && t < machine_.peer_access[f].size() && machine_.peer_access[f][t];
}

void Planner::memory() {
  using enum ProbeKind;
  const int gpu = gpus_.front();
  const std::uint64_t l2 = unit(gpu).l2 > 0 ? unit(gpu).l2 : l2_unsaid, large = room(4 * GiB);
  for (const ProbeType& probe : probes(ProbeGroup::memory)) {
    if (probe.sizes == ProbeSizes::memory) points({.kind = probe.kind, .gpu = gpu}, {large}, essential);
    if (probe.quick || !quick_) curve({.kind = probe.kind, .gpu = gpu});
  }
  if (quick_)
    points({.kind = memory_copy, .gpu = gpu}, {std::bit_floor(std::max(l2 / 4, KiB))}, curves);
  else
    curve({.kind = memory_copy, .gpu = gpu, .cold = true}, curves, 2);
  for (std::size_t i = 1; i < gpus_.size(); ++i) points({.kind = memory_copy, .gpu = gpus_[i]}, {large}, the_others);
}

void Planner::launches() {
  for (const ProbeType& probe : probes(ProbeGroup::launch))
    points({.kind = probe.kind, .gpu = gpus_.front(), .graph = false}, {0}, essential);
}

void Planner::host() {
  const std::uint64_t large = room(256 * MiB);
  const int gpu = gpus_.front();
  for (const ProbeType& probe : probes(ProbeGroup::host)) {
    const bool both = probe.kind == ProbeKind::host_both_ways, engine = probe.mover == copy_engine;
    if (probe.sizes == ProbeSizes::none) {
      points({.kind = probe.kind, .gpu = gpu}, {0}, curves);
      continue;
    }
    points({.kind = probe.kind, .gpu = gpu}, {large}, engine ? essential : curves);
    if (engine || !quick_) curve({.kind = probe.kind, .gpu = gpu}, both || !engine ? choices : curves);
    if (probe.kind == ProbeKind::host_read) points({.kind = probe.kind, .gpu = gpu, .both_ways = true}, {large}, choices);
    if (gpus_.size() > 1 && engine) points({.kind = probe.kind, .gpus = gpus_}, {large}, choices);
    if (both || !engine) continue;
    const Case pageable{.kind = probe.kind, .gpu = gpu, .pinned = false};
    if (quick_)
      points(pageable, {64 * KiB, large}, curves);
    else
      curve(pageable, curves, 2);
    for (std::size_t i = 1; i < gpus_.size(); ++i) points({.kind = probe.kind, .gpu = gpus_[i]}, {large}, the_others);
  }
}

void Planner::peers() {
  using enum ProbeKind;
  const bool slice = std::any_of(gpus_.begin(), gpus_.end(), [&](int gpu) { return unit(gpu).mig_instance; });
  if (gpus_.size() < 2) return skip(ProbeGroup::peer, "copies, loads and stores between GPUs", "one GPU: they take two");
  if (slice) return skip(ProbeGroup::peer, "copies, loads and stores between GPUs", "a MIG instance has no peers");
  const std::uint64_t large = room(256 * MiB);
  const int first = gpus_[0], second = gpus_[1];
  const std::vector<std::pair<int, int>> pair{{first, second}};
  for (const ProbeType& probe : probes(ProbeGroup::peer)) {
    const bool copies = probe.mover == copy_engine;  // kernels need peer access
    if (!copies && !access(first, second)) continue;
    if (copies) points({.kind = probe.kind, .pairs = pair}, {large}, essential);
    if (probe.quick || !quick_ || probe.sizes == ProbeSizes::none)
      curve({.kind = probe.kind, .pairs = pair});
    else
      points({.kind = probe.kind, .pairs = pair}, {large}, curves);
    if (probe.sizes != ProbeSizes::none)
      points({.kind = probe.kind, .pairs = pair, .both_ways = true}, {large}, copies ? essential : choices);
  }
  if (!access(first, second))
    skip(ProbeGroup::peer, "loads, stores and atomics between GPUs",
         fmt::format("no peer access between GPU {} and GPU {}: they reach each other through host memory alone", first, second));
  if (gpus_.size() > 2) {
    std::vector<std::pair<int, int>> round;
    for (std::size_t i = 0; i < gpus_.size(); ++i) round.emplace_back(gpus_[i], gpus_[(i + 1) % gpus_.size()]);
    points({.kind = peer_copy, .pairs = round}, {large}, choices);
    points({.kind = peer_copy, .pairs = round, .both_ways = true}, {large}, choices);
    if (access(round[0].first, round[0].second)) points({.kind = peer_write, .pairs = round}, {large}, choices);
    std::vector<std::pair<int, int>> from_first, to_first;
    for (std::size_t i = 1; i < gpus_.size(); ++i) from_first.emplace_back(first, gpus_[i]), to_first.emplace_back(gpus_[i], first);
    points({.kind = peer_copy, .pairs = from_first}, {large}, choices);
    points({.kind = peer_copy, .pairs = to_first}, {large}, choices);
  }
  for (const int from : gpus_)
    for (const int to : gpus_)
      if (from != to && !(from == first && to == second)) points({.kind = peer_copy, .pairs = {{from, to}}}, {large}, the_others);
}

Plan Planner::made() {
  if (machine_.runtime == "MPI") {
    mpi();
  } else if (gpus_.empty()) {
    plan_.not_measured.push_back({"everything", std::nullopt, "the device names no GPU"});
  } else {
    memory();
    launches();
    host();
    peers();
    collectives();
    overlap();
  }
  std::stable_sort(plan_.steps.begin(), plan_.steps.end(), [](const Step& a, const Step& b) { return a.stage < b.stage; });
  return std::move(plan_);
}

Plan plan(const Machine& machine, int processes, const PlanOptions& options) { return Planner(machine, processes, options).made(); }

}  // namespace fabricost::probes::measure
