/// \file cases.cpp
/// The rows of the table of probes as cases.

#include "cases.hpp"

#include "measure/gpu/probes/collective_layout.hpp"

#include <algorithm>

namespace stand_in {
namespace {

using namespace fabricost::core;
using namespace fabricost::probes::measure;

constexpr std::uint64_t ring_bytes = 4096, pointer_bytes = 8, word_bytes = 4;

struct Made {
  std::vector<NamedCase> all{};
  void add(const std::string& more, const Case& what, std::vector<Result> results) {
    all.push_back({std::string{word(what.kind)} + more, what, std::move(results)});
  }
};

// The kernel or copy whose output a probe checks.
const char* work_of(ProbeKind kind) {
  switch (kind) {
    case ProbeKind::memory_read:
    case ProbeKind::host_read:
    case ProbeKind::peer_read: return "fill_kernel";  // what was read is checked by its sum, so its input is turned
    case ProbeKind::memory_write:
    case ProbeKind::host_write:
    case ProbeKind::peer_write: return "write_kernel";
    case ProbeKind::memory_copy: return "copy_kernel";
    case ProbeKind::memory_scale: return "scale_kernel";
    default: return "copy";
  }
}

void host(Made& made, Case what, std::uint64_t bytes) {
  if (what.kind == ProbeKind::host_load) {
    what.bytes = ring_bytes;
    return made.add("", what, {{"chase_kernel", 1, 1, pointer_bytes}});
  }
  std::vector<Result> results{{work_of(what.kind), 1, 0, bytes}};
  if (what.kind == ProbeKind::host_read || what.kind == ProbeKind::host_write) {
    made.add("", what, results);
    if (what.kind == ProbeKind::host_write) return;
    results.push_back({"write_kernel", 1, 0, bytes});
    what.both_ways = true;
    return made.add(", both ways", what, results);
  }
  if (what.kind == ProbeKind::host_both_ways) results.push_back({"copy", 2, 0, bytes});
  for (const bool pinned : {true, false}) {
    what.pinned = pinned;
    made.add(pinned ? ", pinned" : ", pageable", what, results);
  }
}

void one_gpu(Made& made, std::uint64_t bytes) {
  for (const ProbeType& probe : probe_table) {
    Case what{.kind = probe.kind, .bytes = bytes};
    if (probe.kind == ProbeKind::pointer_chase) {
      what.bytes = ring_bytes;
      made.add("", what, {{"chase_kernel", 1, 1, pointer_bytes}});
    } else if (probe.group == ProbeGroup::memory) {
      const std::vector<Result> results{{work_of(probe.kind), 1, 0, probe.kind == ProbeKind::memory_scale ? bytes / 4 * 4 : bytes}};
      made.add("", what, results);
      if (probe.kind != ProbeKind::memory_copy) continue;
      what.graph = false;
      made.add(", launched one by one", what, results);
      what.cold = true;
      made.add(", cold", what, results);
    } else if (probe.group == ProbeGroup::launch) {
      what.bytes = 0;
      what.graph = false;
      made.add("", what, {});
    } else if (probe.group == ProbeGroup::host) {
      host(made, what, bytes);
    }
  }
}

// Pinned host memory of all GPUs at once.
void host_of_all(Made& made, int devices, std::uint64_t bytes) {
  for (const ProbeKind kind : {ProbeKind::host_both_ways, ProbeKind::host_read}) {
    Case what{.kind = kind, .bytes = bytes};
    std::vector<Result> results;
    for (int gpu = 0; gpu < devices; ++gpu) what.gpus.push_back(gpu);
    const long all = kind == ProbeKind::host_read ? devices : 2 * devices;
    for (long nth = 1; nth <= all; ++nth) results.push_back({work_of(kind), nth, 0, bytes});
    made.add(", all GPUs at once", what, results);
  }
}

void peers(Made& made, int devices, std::uint64_t bytes) {
  std::vector<std::pair<int, int>> round;
  for (int gpu = 0; gpu < devices; ++gpu) round.emplace_back(gpu, (gpu + 1) % devices);
  for (const ProbeType& probe : probe_table) {
    if (probe.group != ProbeGroup::peer) continue;
    Case what{.kind = probe.kind, .bytes = bytes, .pairs = {{0, 1}}};
    if (probe.kind == ProbeKind::peer_load) what.bytes = ring_bytes;
    if (probe.kind == ProbeKind::peer_load) {
      made.add("", what, {{"chase_kernel", 1, 1, pointer_bytes}});
    } else if (probe.kind == ProbeKind::peer_store) {
      made.add("", what, {{"store_kernel", 1, 0, word_bytes}});
    } else if (probe.kind == ProbeKind::peer_atomic) {
      made.add("", what, {{"add_kernel", 1, 0, word_bytes}, {"add_kernel", 1, 1, word_bytes}});
    } else {
      std::vector<Result> results{{work_of(probe.kind), 1, 0, bytes}};
      made.add("", what, results);
      results.push_back({work_of(probe.kind), 2, 0, bytes});
      what.both_ways = true;
      made.add(", both ways", what, results);
      what.both_ways = false;
      what.pairs = round;
      made.add(", all GPUs in a round", what, results);
    }
  }
}

NamedCase collective(int devices, std::uint64_t bytes, Collective operation, DataType dtype) {
  Case what{.kind = ProbeKind::collective, .operation = operation, .dtype = dtype};
  what.bytes = std::max<std::uint64_t>(bytes, format_of(dtype).bytes * static_cast<unsigned>(devices));
  for (int gpu = 0; gpu < devices; ++gpu) what.gpus.push_back(gpu);
  const auto layout = gpu::layout_of(operation, what.bytes, dtype, devices);
  const int results = operation == Collective::reduce ? 1 : devices;
  std::vector<Result> all;
  for (long nth = 1; nth <= results; ++nth) {
    if (operation == Collective::all_to_all)
      for (int peer = 0; peer < devices; ++peer) all.push_back({"collective", nth, peer, layout.piece * format_of(dtype).bytes});
    else
      all.push_back({"collective", nth, 0, layout.received * format_of(dtype).bytes});
  }
  return {std::string{name(operation)}, what, all};
}

constexpr int operations = 7, types = 6;

void collectives(Made& made, int devices, std::uint64_t bytes) {
  for (int operation = 0; operation < operations; ++operation)
    made.all.push_back(collective(devices, bytes, static_cast<Collective>(operation), DataType::half));
  NamedCase forced = collective(devices, bytes, Collective::all_reduce, DataType::half);
  Case& what = forced.what;
  what.algorithm = Algorithm::tree;
  what.protocol = Protocol::ll;
  made.all.push_back({forced.name + ", tree and ll", what, forced.results});
  what.algorithm.reset();
  what.protocol.reset();
  what.nvls = false;
  made.all.push_back({forced.name + ", without NVLS", what, forced.results});
  what.nvls.reset();
  for (const auto& [how, word] : {std::pair{Registration::own, "registered"}, std::pair{Registration::symmetric, "registered symmetric"}}) {
    what.registered = how;
    made.all.push_back({forced.name + ", " + word, what, forced.results});
  }
  what.registered = Registration::none;
  for (const ProbeKind kind : {ProbeKind::compute, ProbeKind::compute_overlap}) {
    what.kind = kind;
    made.add("", what, {{"arithmetic_kernel", 1, 0, 256 * word_bytes}});
  }
}

}  // namespace

std::vector<NamedCase> cases_of(int devices, std::uint64_t bytes) {
  Made made;
  one_gpu(made, bytes);
  if (devices > 1) {
    host_of_all(made, devices, bytes);
    peers(made, devices, bytes);
    collectives(made, devices, bytes);
  }
  return made.all;
}

std::vector<NamedCase> collectives_of(int devices, std::uint64_t bytes) {
  std::vector<NamedCase> all;
  for (int operation = 0; operation < operations; ++operation)
    for (int type = 0; type < types; ++type)
      for (const bool in_place : {false, true}) {
        NamedCase made = collective(devices, bytes, static_cast<Collective>(operation), static_cast<DataType>(type));
        if (in_place && is_exchange(made.what.operation)) continue;
        made.what.in_place = in_place;
        made.what.registered = in_place ? Registration::symmetric : Registration::none;
        made.name += " of " + std::string{name(made.what.dtype)} + (in_place ? " in place, registered symmetric" : "");
        all.push_back(std::move(made));
      }
  return all;
}

}  // namespace stand_in
