/// \file collectives.cpp
/// Plans collectives, alone and beside arithmetic, on the GPUs of a node or on the processes of an MPI run.

#include "measure/plan/planner.hpp"

#include <fabricost/calibrate/probes.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace fabricost::probes::measure {

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
  for (const Collective operation : all_operations) {
    if (!wanted(operation)) continue;
    Case what = all;
    what.operation = operation;
    curve(what);
  }
  if (gpus_.size() > 2 && processes_ == 1)
    for (const Collective operation : all_operations) {
      if (!wanted(operation)) continue;
      Case what = all;
      what.operation = operation;
      what.gpus = {gpus_[0], gpus_[1]};
      if (!quick_) curve(what, choices);
    }
  if (!quick_) collective_choices();
}

void Planner::collective_choices() {
  const Case all{.kind = ProbeKind::collective, .gpus = gpus_};
  const bool in_switch = may_reduce_in_switch(machine_, gpus_);
  const auto forced = [&](Collective operation, Algorithm algorithm, Protocol protocol) {
    if (!wanted(operation)) return;
    Case what = all;
    what.operation = operation;
    what.algorithm = algorithm;
    what.protocol = protocol;
    curve(what, choices, 2);
  };
  for (const Protocol protocol : {Protocol::ll, Protocol::ll128, Protocol::simple})
    for (const Algorithm algorithm : {Algorithm::ring, Algorithm::tree}) forced(Collective::all_reduce, algorithm, protocol);
  if (in_switch) {
    forced(Collective::all_reduce, Algorithm::nvls, Protocol::simple);
    if (wanted(Collective::all_reduce)) {
      Case off = all;
      off.nvls = false;
      curve(off, choices, 2);
    }
  }
  for (const Protocol protocol : {Protocol::ll, Protocol::ll128, Protocol::simple})
    for (const Collective operation : {Collective::all_gather, Collective::reduce_scatter}) forced(operation, Algorithm::ring, protocol);
  if (in_switch)
    for (const Collective operation : {Collective::all_gather, Collective::reduce_scatter})
      forced(operation, Algorithm::nvls, Protocol::simple);
  for (const Collective operation : {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter})
    for (const Registration how : {Registration::own, Registration::symmetric}) {
      if (!wanted(operation)) continue;
      Case what = all;
      what.operation = operation;
      what.registered = how;
      curve(what, choices, 4);
    }
  if (!wanted(Collective::all_reduce)) return;
  for (std::size_t few = 4; few < gpus_.size(); few *= 2) {
    Case what = all;
    what.gpus.resize(few);
    curve(what, choices, 2);
  }
  for (const DataType type : {DataType::single, DataType::bfloat16, DataType::int8}) {
    Case what = all;
    what.dtype = type;
    curve(what, choices, 4);
  }
  Case in_place = all;
  in_place.in_place = true;
  curve(in_place, choices, 4);
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

/// MPI has no half type; float is the usual type of its benchmarks.
void Planner::mpi() {
  const Case all{.kind = ProbeKind::collective, .dtype = DataType::single, .graph = false};
  if (processes_ < 2)
    return skip(ProbeGroup::collectives, "collectives", "one process: start several, mpirun -n 4 fabricost measure --mpi");
  const std::uint64_t min = 64, max = quick_ ? 16 * MiB : 128 * MiB;
  const auto of = [&](Collective operation) {
    Case what = all;
    what.operation = operation;
    for (const auto& [forced, algorithm] : machine_.forced)
      if (forced == operation) what.algorithm = algorithm;
    return what;
  };
  if (wanted(Collective::send_recv)) {
    int partner = 1;  // the first on another host, if there is one, to measure the network
    for (std::size_t rank = machine_.units.size(); rank-- > 1;)
      if (machine_.units[rank].host != machine_.units[0].host) partner = static_cast<int>(rank);
    Case pair = of(Collective::send_recv);
    pair.pairs = {{0, partner}};
    curve(pair, min, max, essential);
    pair.both_ways = true;
    points(pair, {2 * KiB, max}, curves);
  }
  for (const Collective operation : {Collective::all_reduce, Collective::all_gather})
    if (wanted(operation)) points(of(operation), {2 * KiB, 4 * MiB}, essential);
  for (const Collective operation : all_operations)
    if (wanted(operation)) curve(of(operation), min, max, curves);
}

}  // namespace fabricost::probes::measure
