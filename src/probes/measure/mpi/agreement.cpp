/// \file agreement.cpp
/// Compares failures and cases over all processes.

#include "measure/mpi/agreement.hpp"

#include <fmt/format.h>

#include <array>

namespace fabricost::probes::measure::mpi {

namespace {

/// FNV-1a hash of a case, in 52 bits, which a double represents exactly.
double fingerprint(const Case& what) {
  std::uint64_t hash = 14695981039346656037ULL;
  const auto mix = [&](std::uint64_t value) { hash = (hash ^ value) * 1099511628211ULL; };
  mix(static_cast<std::uint64_t>(what.kind));
  mix(what.bytes);
  mix(static_cast<std::uint64_t>(what.operation));
  mix(static_cast<std::uint64_t>(what.dtype));
  mix(what.in_place ? 1 : 0);
  mix(what.both_ways ? 1 : 0);
  mix(what.algorithm ? static_cast<std::uint64_t>(*what.algorithm) + 1 : 0);
  for (const auto& [from, to] : what.pairs) {
    mix(static_cast<std::uint64_t>(from));
    mix(static_cast<std::uint64_t>(to));
  }
  return static_cast<double>(hash >> 12);
}

}  // namespace

void fail_alike(World& world, const Failure& mine) {
  // the most severe failure, of the first process that has it
  std::array<double, 1> gravest{static_cast<double>(mine.kind)};
  world.max(gravest);
  if (gravest[0] <= 0) return;
  std::array<double, 1> who{static_cast<double>(mine.kind) >= gravest[0] ? -static_cast<double>(world.rank()) : -1e9};
  world.max(who);
  const std::string text = world.share(mine.text, static_cast<int>(-who[0]));
  switch (static_cast<Failure::Kind>(gravest[0])) {
    case Failure::Kind::none: return;
    case Failure::Kind::unsupported: throw Unsupported(text);
    case Failure::Kind::out_of_memory: throw OutOfMemory(text);
    case Failure::Kind::wrong_result: throw WrongResult(text);
    case Failure::Kind::fault: throw DeviceFault(text);
  }
}

void agree_on(World& world, const Case& what) {
  const double mine = fingerprint(what);
  std::array<double, 2> ends{mine, -mine};
  world.max(ends);
  if (ends[0] != -ends[1])
    throw DeviceFault("the processes are not about to measure the same: are they one build, started with the same words?");
}

}  // namespace fabricost::probes::measure::mpi
