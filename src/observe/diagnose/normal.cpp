/// \file normal.cpp
/// The commonest question about a run of nccl-tests: is this number normal?

#include "diagnose/context.hpp"

#include <fabricost/collective.hpp>
#include <fabricost/text/quantity.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace fabricost::observe::diagnosis {

namespace {

constexpr double least_bytes = 64 << 20;  ///< of the public runs' figures

/// The public runs of this test on machines like this one; nullptr: none are known.
const PublicRuns* public_runs_like(const Context& c, const DiagnosedSize& at) {
  const int nodes = std::max(1, at.nodes);
  for (const PublicRuns& one : c.rules->public_runs) {
    if (!c.system->gpu.name.starts_with(one.gpu) || one.operation != name(at.collective)) continue;
    if (one.nodes != nodes || one.gpus * nodes != at.ranks) continue;
    if (one.network > 0 && std::round(std::log2(nics_rate(*c.system) / one.network)) != 0) continue;
    return &one;
  }
  return nullptr;
}

}  // namespace

std::string normal_in_words(const Context& c) {
  if (!c.judged.compared || !c.system || c.judged.at->streamed) return {};
  const DiagnosedSize& at = *c.judged.at;
  const Bandwidth least = at.bus_bandwidth * at.measured / at.high, most = at.bus_bandwidth * at.measured / at.low;
  std::string out = fmt::format("{} at {}: {}, expected {} to {}", gigabytes(at.bus_bandwidth), size_text(at.bytes),
                                at.bus_bandwidth < least ? "low" : at.bus_bandwidth > most ? "high" : "normal", gigabytes(least), gigabytes(most));
  const PublicRuns* runs = at.bytes.value() >= least_bytes ? public_runs_like(c, at) : nullptr;
  if (runs == nullptr) return out;
  const auto slower = std::lower_bound(runs->bus.begin(), runs->bus.end(), at.bus_bandwidth.value()) - runs->bus.begin();
  return out + fmt::format("; {} of {} public runs on such machines are slower ({} to {})", slower, runs->bus.size(),
                           gigabytes(runs->bus.front()), gigabytes(runs->bus.back()));
}

}  // namespace fabricost::observe::diagnosis
