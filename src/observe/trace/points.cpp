/// Makes one measured time of each collective of a job (operation, group, size, element type): the median wire time of the quarter of its
/// calls that waited least. Calls of which not all ranks are traced contain waiting, and are left out.

#include "trace/points.hpp"

#include "readings/point_readers.hpp"
#include "readings/traces/readers.hpp"
#include "text/line_reader.hpp"
#include "text/quantile.hpp"
#include "trace/timeline.hpp"

#include <fabricost/error.hpp>

#include <algorithm>
#include <tuple>

namespace fabricost::observe::timeline {

namespace {

using Key = std::tuple<std::uint32_t, Moves, double, std::string_view>;

/// Why a call is no point; nullptr: it is one.
[[nodiscard]] const char* why_no_point(const Job& job, const Call& call) {
  if (!collective_of(call.moves) || !(call.bytes > 0)) return "collectives of a trace without an operation that is priced, or a size";
  if (call.timing == Timing::none) return "collectives of a trace without a time";
  if (!call.whole) return "collectives of which not all ranks are traced: their times contain waiting";
  if (!ends_together(call.moves)) return "calls whose ranks do not end together: when all had come, does not tell how long they took";
  if (job.groups[call.group].said.size < 2 || call.wire() <= 0) return "collectives of one rank, or of no time";
  return nullptr;
}

/// Nodes of a group, and its GPUs on each; zero GPUs: not the same on all.
[[nodiscard]] std::pair<int, int> shape_of(const Group& group, int gpus_per_node) {
  const int size = group.said.size;
  if (group.said.nodes > 0) return {group.said.nodes, size % group.said.nodes == 0 ? size / group.said.nodes : 0};
  if (group.said.ranks.empty()) {
    if (size <= gpus_per_node) return {1, size};
    return {size / gpus_per_node, size % gpus_per_node == 0 ? gpus_per_node : 0};
  }
  std::map<int, int> on_node;
  for (const int rank : group.said.ranks) ++on_node[rank / gpus_per_node];
  const int each = on_node.begin()->second;
  const bool even = std::all_of(on_node.begin(), on_node.end(), [&](const auto& one) { return one.second == each; });
  return {static_cast<int>(on_node.size()), even ? each : 0};
}

[[nodiscard]] double seconds_of_least_waiting(std::vector<const Call*>& calls) {
  std::stable_sort(calls.begin(), calls.end(), [](const Call* a, const Call* b) { return a->skew() < b->skew(); });
  calls.resize((calls.size() + 3) / 4);
  std::vector<std::int64_t> wires;
  for (const Call* one : calls) wires.push_back(one->wire());
  constexpr double ns = 1e9;
  return static_cast<double>(upper_median(wires)) / ns;
}

}  // namespace

Points points_of(const std::vector<std::filesystem::path>& files, const PointDefaults& otherwise) {
  if (otherwise.system.empty())
    throw fault_of_file(files.front().string(), "a trace does not say which machine it is of",
                        "add <system=NAME> (`fabricost machine` lists them)");
  const int gpus_per_node = NodeSizes().of(otherwise.system);
  Points out;
  if (gpus_per_node == 0) return out.skip("traces of a machine that is not known"), out;
  Traces traces = read_traces(files);
  const std::string library = traces.ranks.empty() ? "" : traces.ranks.front().library;
  const Job job = build(std::move(traces.ranks), gpus_per_node);
  std::map<Key, std::vector<const Call*>> alike;
  for (const Call& call : job.calls)
    if (const char* const why = why_no_point(job, call))
      out.skip(why, call.repeats);
    else
      alike[{call.group, call.moves, call.bytes, call.type.name}].push_back(&call);
  for (auto& [key, calls] : alike) {
    const Call& first = *calls.front();
    const auto [nodes, each] = shape_of(job.groups[first.group], gpus_per_node);
    if (each == 0) {
      out.skip("collectives of groups with unequal numbers of GPUs on their nodes", static_cast<int>(calls.size()));
      continue;
    }
    Point point;
    point.source = "trace";
    point.system = otherwise.system;
    point.nodes = nodes;
    point.gpus_per_node = each;
    point.collective = *collective_of(first.moves);
    point.dtype = data_type_of(first.type);
    point.bytes = first.bytes;
    point.repeats = static_cast<int>(calls.size());
    point.library = "nccl";
    point.library_version = library;
    point.notes = "least-waiting calls of a trace";
    point.seconds = seconds_of_least_waiting(calls);
    out.points.push_back(std::move(point));
  }
  return out;
}

}  // namespace fabricost::observe::timeline
