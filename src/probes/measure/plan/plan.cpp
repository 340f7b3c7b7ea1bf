/// Plans the probes of GPUs and their host (memory, launches, host copies, peers), and collectives, alone and beside arithmetic, on the
/// GPUs of the nodes that take part.

#include "measure/plan/plan.hpp"

#include "specs/near_or_all.hpp"
#include "text/joined.hpp"

#include <fabricost/calibrate/probes.hpp>
#include <fabricost/error.hpp>
#include <fabricost/specs/load.hpp>
#include <fabricost/text/quantity.hpp>
#include <fabricost/units.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <set>

namespace fabricost::probes::measure {

constexpr std::uint64_t KiB = 1024, MiB = 1024 * KiB, GiB = 1024 * MiB;

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
  template <class Change>
  void collective(Collective operation, Stage stage, double coarser, const Change& change);
  void collective_choices();
  void overlap();

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

namespace {

/// Assumed for a GPU that does not report them: enough for every curve on any GPU of the last ten years.
constexpr std::uint64_t memory_unsaid = 8 * GiB, l2_unsaid = 64 * MiB;

[[noreturn]] void unknown_word(const std::string& text) {
  std::vector<std::string> names(probe_groups.begin(), probe_groups.end());
  for (const ProbeType& one : probe_table) names.emplace_back(one.word);
  for (const std::string_view one : collective_names) names.emplace_back(one);
  throw Refusal(fmt::format("<only> {}: is nothing that is measured; {}", text,
                            near_or(text, names, fmt::format("one of: {}, a probe's word, or a collective", joined(probe_groups, " ")))));
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
  if (gpus_.empty())
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

int Planner::ranks(const Case& what) const { return static_cast<int>(what.gpus.size()) * processes_; }

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
  if (gpus_.empty()) {
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

namespace {

constexpr std::array all_operations{Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter, Collective::all_to_all,
                                    Collective::send_recv,  Collective::broadcast,  Collective::reduce};

/// NCCL supports in-switch reduction from Hopper on, over NVLink, with more than two GPUs (nccl,
/// src/transport/nvls.cc).
bool may_reduce_in_switch(const Machine& machine, const std::vector<int>& gpus) {
  return machine.runtime == "CUDA" && gpus.size() > 2 && std::all_of(gpus.begin(), gpus.end(), [&](int gpu) {
           const Unit& unit = machine.units[static_cast<std::size_t>(gpu)];
           return unit.compute >= 90 && unit.nvlinks > 0;
         });
}

std::string why_no_library(const Machine& machine) {
  for (const std::string& remark : machine.remarks)
    if (remark.find("NCCL") != std::string::npos || remark.find("RCCL") != std::string::npos || remark.find("nccl") != std::string::npos)
      return remark;
  return "no NCCL or RCCL was found";
}

}  // namespace

void Planner::collectives() {
  if (!wanted(ProbeKind::collective)) return;
  const Case all{.kind = ProbeKind::collective, .gpus = gpus_};
  if (ranks(all) < 2) return skip(ProbeGroup::collectives, "collectives", "one GPU: nothing moves");
  if (machine_.library.empty()) return skip(ProbeGroup::collectives, "collectives", why_no_library(machine_));
  if (std::any_of(gpus_.begin(), gpus_.end(), [&](int gpu) { return unit(gpu).mig_instance; }) && gpus_.size() > 1)
    return skip(ProbeGroup::collectives, "collectives", "NCCL takes one MIG instance of a process, not several");
  const std::uint64_t max = room(quick_ ? 512 * MiB : 2 * GiB);
  for (const Probe& probe : quick_probes) {
    if (!wanted(probe.op) || (probe.pair && (gpus_.size() < 2 || processes_ > 1))) continue;
    Case what = all;
    what.operation = probe.op;
    if (probe.pair) what.gpus = {gpus_[0], gpus_[1]};
    points(what, {std::min(static_cast<std::uint64_t>(probe.bytes), max)}, essential);
  }
  for (const Collective operation : all_operations) collective(operation, curves, 1, [](Case&) {});
  if (quick_) return;
  if (gpus_.size() > 2 && processes_ == 1)
    for (const Collective operation : all_operations)
      collective(operation, choices, 1, [&](Case& what) { what.gpus = {gpus_[0], gpus_[1]}; });
  collective_choices();
}

/// Adds the curve of a collective of all GPUs, which `change` may make another.
template <class Change>
void Planner::collective(Collective operation, Stage stage, double coarser, const Change& change) {
  if (!wanted(operation)) return;
  Case what{.kind = ProbeKind::collective, .gpus = gpus_, .operation = operation};
  change(what);
  curve(what, stage, coarser);
}

void Planner::collective_choices() {
  const bool in_switch = may_reduce_in_switch(machine_, gpus_);
  const auto forced = [&](Collective operation, Algorithm algorithm, Protocol protocol) {
    collective(operation, choices, 2, [&](Case& what) {
      what.algorithm = algorithm;
      what.protocol = protocol;
    });
  };
  for (const Protocol protocol : {Protocol::ll, Protocol::ll128, Protocol::simple})
    for (const Algorithm algorithm : {Algorithm::ring, Algorithm::tree}) forced(Collective::all_reduce, algorithm, protocol);
  if (in_switch) {
    forced(Collective::all_reduce, Algorithm::nvls, Protocol::simple);
    collective(Collective::all_reduce, choices, 2, [](Case& what) { what.nvls = false; });
  }
  for (const Protocol protocol : {Protocol::ll, Protocol::ll128, Protocol::simple})
    for (const Collective operation : {Collective::all_gather, Collective::reduce_scatter}) forced(operation, Algorithm::ring, protocol);
  if (in_switch)
    for (const Collective operation : {Collective::all_gather, Collective::reduce_scatter})
      forced(operation, Algorithm::nvls, Protocol::simple);
  for (const Collective operation : {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter})
    for (const Registration how : {Registration::own, Registration::symmetric})
      collective(operation, choices, 4, [&](Case& what) { what.registered = how; });
  for (std::size_t few = 4; few < gpus_.size(); few *= 2)
    collective(Collective::all_reduce, choices, 2, [&](Case& what) { what.gpus.resize(few); });
  for (const DataType type : {DataType::single, DataType::bfloat16, DataType::int8})
    collective(Collective::all_reduce, choices, 4, [&](Case& what) { what.dtype = type; });
  collective(Collective::all_reduce, choices, 4, [](Case& what) { what.in_place = true; });
}

void Planner::overlap() {
  const Case all{.kind = ProbeKind::compute, .gpus = gpus_};
  if (ranks(all) < 2) return skip(ProbeGroup::overlap, "arithmetic beside a collective", "one GPU: nothing moves");
  if (machine_.library.empty()) return skip(ProbeGroup::overlap, "arithmetic beside a collective", why_no_library(machine_));
  const std::uint64_t large = room(256 * MiB);
  const std::vector<std::uint64_t> sizes = quick_ ? std::vector{large} : std::vector{std::min(large, 16 * MiB), large};
  for (const Collective operation : {Collective::all_reduce, Collective::all_gather}) {
    if (quick_ && operation != Collective::all_reduce) continue;
    for (const ProbeType& probe : probes(ProbeGroup::overlap)) {
      Case what = all;
      what.kind = probe.kind;
      what.operation = operation;
      points(what, sizes, choices);
    }
  }
}

namespace {

std::string pairs_text(const Case& what) {
  if (what.pairs.size() == 1) return fmt::format("GPU {}>{}", what.pairs[0].first, what.pairs[0].second);
  std::string all;
  for (const auto& [from, to] : what.pairs) all += fmt::format("{}{}>{}", all.empty() ? "" : ",", from, to);
  return fmt::format("{} pairs at once ({})", what.pairs.size(), all);
}

std::string collective_text(const Case& what) {
  std::string out{name(what.operation)};
  if (what.gpus.size() == 2)
    out += fmt::format(" on GPUs {} and {}", what.gpus[0], what.gpus[1]);
  else if (!what.gpus.empty())
    out += fmt::format(" on {} GPU{}", what.gpus.size(), what.gpus.size() == 1 ? "" : "s");
  out += fmt::format(", {}", name(what.dtype));
  if (what.algorithm) out += fmt::format(", {}", name(*what.algorithm));
  if (what.protocol) out += fmt::format("{}{}", what.algorithm ? " " : ", ", name(*what.protocol));
  if (what.nvls) out += *what.nvls ? ", nvls on" : ", nvls off";
  if (what.in_place) out += ", in place";
  if (what.registered != Registration::none) out += what.registered == Registration::own ? ", registered" : ", registered symmetric";
  return out;
}

}  // namespace

std::string title_of(const Case& what) {
  std::string out{word(what.kind)};
  switch (type_of(what.kind).group) {
    case ProbeGroup::collectives: return collective_text(what);
    case ProbeGroup::overlap: return fmt::format("{} beside {}", out, collective_text(what));
    case ProbeGroup::peer: out += ", " + pairs_text(what) + (what.both_ways ? ", both ways" : ""); break;
    case ProbeGroup::host:
      out += what.gpus.empty() ? fmt::format(", GPU {}", what.gpu) : fmt::format(", GPUs {} at once", joined(what.gpus, " "));
      out += fmt::format(", {}{}", what.pinned ? "pinned" : "pageable", what.both_ways ? ", both ways" : "");
      break;
    default: out += fmt::format(", GPU {}", what.gpu); break;
  }
  return out + (what.cold ? ", cold L2" : "");
}

std::string title_with_size(const Case& what) {
  if (what.bytes == 0) return title_of(what);
  return fmt::format("{}, {}", title_of(what), size_text(units::B(static_cast<double>(what.bytes))));
}

}  // namespace fabricost::probes::measure
