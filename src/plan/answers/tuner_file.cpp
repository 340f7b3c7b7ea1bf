/// The findings of `tune`, for NCCL's example tuner plugin (NVIDIA/nccl, plugins/tuner/example, once ext-tuner/example: README.md and
/// plugin.c of 2.27 to 2.30).
///
/// The plugin compares sizes with NCCL's nBytes, both ends included. all_gather counts what a rank sends and
/// reduce_scatter what it receives, and NCCL multiplies both by the ranks (ncclFuncMaxSendRecvCount), which is
/// the size nccl-tests prints. Channels are written as 0: NCCL keeps its own count when a tuner returns 0
/// (src/enqueue.cc: nMaxChannels == 0). The -1 of the plugin's README leaves the plugin's initial value of 1 in place, which
/// means ONE channel; so does a call that no line matches. AMD fixed its copy of the plugin (ROCm/rccl pull
/// request 1985); the file says what to change.

#include "text/amounts.hpp"

#include <fabricost/algorithms/registry.hpp>
#include <fabricost/plan/answers/tune.hpp>

#include <fmt/format.h>

namespace fabricost::plan {
namespace {

/// "allreduce" of all_reduce.
[[nodiscard]] std::string plugin_name(std::string operation) {
  std::erase(operation, '_');
  return operation;
}

/// Spelling in NCCL_ALGO; case does not matter there, underscores do.
[[nodiscard]] std::string environment_name(const std::string& algorithm) { return folded(nccl_name(*parse_algorithm(algorithm))); }

/// A name in a comment: no line break, and short enough for the plugin's buffer of 256 characters.
[[nodiscard]] std::string one_line(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, 60)) out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  return out;
}

}  // namespace

std::string plugin_config(const TuneAnswer& found) {
  std::string out;
  out += fmt::format("# {}, {}: where NCCL's own choice of algorithm and protocol loses, by fabricost tune\n", one_line(found.system),
                     found.dtype);
  out +=
      "# Format: colltype,minbytes,maxbytes,algorithm,protocol,channels,nNodes,nRanks,numPipeOps,regBuff (-1: any)\n"
      "# For NCCL's example tuner plugin (NVIDIA/nccl, plugins/tuner/example), 2.27 or later: NCCL_TUNER_CONFIG_FILE=this file.\n"
      "# Build the plugin with \"*nChannels = 0;\" for its \"*nChannels = 1;\": as it comes it gives every call that no line\n"
      "# matches one channel. Channels are 0 here, with which NCCL keeps its own count; -1 would leave the plugin's one.\n"
      "# Without the plugin (NCCL 2.24 or later) the variables below force the same, but for every size of that operation.\n";
  int written = 0;
  for (const SlowChoice& r : found.ranges) {
    if (!r.sure) continue;
    ++written;
    const std::string operation = plugin_name(r.operation);
    const double from = r.smallest.value(), to = r.largest.value();
    out += fmt::format("#\n# {}, {} ranks on {} node{}, {} to {}: {} {} instead of {} {} saves {:.1f} us of {:.1f} ({:.0f} %) at {}\n",
                       r.operation, r.ranks, r.nodes, r.nodes == 1 ? "" : "s", rough_size(from), rough_size(to), r.better_algorithm,
                       r.better_protocol, r.algorithm, r.protocol, r.lost.value() * 1e6, r.time.value() * 1e6, 100 * r.lost_share,
                       rough_size(r.bytes.value()));
    out += fmt::format("# NCCL_ALGO={0}:{1} NCCL_PROTO={0}:{2}\n", operation, environment_name(r.better_algorithm), r.better_protocol);
    out += fmt::format("{},{:.0f},{:.0f},{},{},0,{},{},-1,-1\n", operation, from, to, r.better_algorithm, r.better_protocol, r.nodes, r.ranks);
  }
  if (written == 0) out += "#\n# No loss is sure: no line.\n";
  return out;
}

}  // namespace fabricost::plan
