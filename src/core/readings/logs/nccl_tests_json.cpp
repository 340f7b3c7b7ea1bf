/// The file that nccl-tests writes with -J: {"nccl_version", "args", "config": {"nthreads", "ngpus",
/// "devices"}, "results": [{"size", "count", "type", "redop", "root", "out_of_place": {"time", "alg_bw",
/// "bus_bw", "nwrong"}, "in_place": {...}}]}. It has the rows of the table with more digits, the command
/// line, and one device of each process (NVIDIA/nccl-tests, src/util.cu).

#include "text/plain_tree.hpp"
#include "readings/logs/nccl_runs.hpp"
#include "text/csv.hpp"
#include "text/line_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace fabricost::core {

namespace {

/// A number, also as text with blanks before it; 0 for anything else.
double number_of(const PlainTree& tree, PlainTree::Id id) {
  const std::string shown = tree.shown(id);
  std::string_view text = shown;
  while (text.starts_with(' ')) text.remove_prefix(1);
  return parse_number(text).value_or(0);
}
/// A count or version, clamped to the range of real machines.
int count_of(const PlainTree& tree, PlainTree::Id id) { return static_cast<int>(std::clamp(number_of(tree, id), 0.0, 1e6)); }

/// `./build/all_reduce_perf` -> all_reduce
std::string test_of(std::string_view program) {
  if (const auto slash = program.find_last_of('/'); slash != std::string_view::npos) program.remove_prefix(slash + 1);
  return std::string{program.substr(0, program.find("_perf"))};
}

/// What stands around the rows.
LogRun run_of(const PlainTree& tree) {
  LogRun run;
  run.time_unit = 1e-6;
  for (const PlainTree::Id argument : tree.items(tree.find(tree.root, "args")))
    if (run.test.empty()) run.test = test_of(tree.text(argument));
  if (const int code = count_of(tree, tree.find(tree.root, "nccl_version")); code >= 20000)
    run.version = fmt::format("{}.{}.{}", code / 10000, code / 100 % 100, code % 100);
  const PlainTree::Id config = tree.find(tree.root, "config");
  const auto among_devices = [&](std::string_view key, int& said) {
    const PlainTree::Id id = tree.find(config, key);
    if (id != PlainTree::none) said = std::clamp(count_of(tree, id), 1, 4096);
    return std::max(1, said);
  };
  const int threads = among_devices("nthreads", run.threads), gpus = among_devices("ngpus", run.gpus);
  const int each = std::min(threads * gpus, 1024);
  constexpr std::size_t most_processes = 100000;
  std::size_t processes = 0;
  for (const PlainTree::Id device : tree.items(tree.find(config, "devices"))) {  // every process lists one of its devices
    if (++processes > most_processes) break;
    for (int i = 0; i < each; ++i) {
      run.ranks_listed.push_back(static_cast<int>(run.ranks_listed.size()));
      run.hosts.emplace_back(tree.text(tree.find(device, "hostname")));
      run.groups.push_back(count_of(tree, tree.find(device, "group")));
    }
  }
  return run;
}

/// The out-of-place or in-place half of a row.
void add_side(LogRun& run, LogRow& row, const PlainTree& tree, PlainTree::Id half, bool in_place) {
  LogSide side;
  side.in_place = in_place;
  side.time_slack = side.algbw_slack = side.busbw_slack = 0.5e-6;  // printed with %lf
  side.checked = false;
  bool timed = false;
  for (const auto& [key, id] : tree.members(half)) {
    if (key == "time") {
      side.time = number_of(tree, id);
      timed = true;
    }
    if (key == "alg_bw") side.algbw = number_of(tree, id);
    if (key == "bus_bw") side.busbw = number_of(tree, id);
    if (key == "nwrong") {
      side.wrong = number_of(tree, id);
      side.checked = true;
    }
  }
  if (timed)
    row.add(side);
  else
    count_skipped(run.skipped, "nccl-tests printed CPU time (-C 1): how long the call took, not the operation");
}

void add_row(LogRun& run, const PlainTree& tree, PlainTree::Id result) {
  LogRow row;
  row.line = tree[result].line;
  for (const auto& [key, id] : tree.members(result)) {
    if (key == "size") row.bytes = number_of(tree, id);
    if (key == "count") row.count = number_of(tree, id);
    if (key == "type") {
      row.type = Label::cut(tree.shown(id));
      row.dtype = parse_data_type(tree.shown(id));
    }
    if (const std::string_view redop = tree.text(id); key == "redop" && !redop.empty()) row.combine(redop);
    if (key == "root" && std::fabs(number_of(tree, id)) < 1e9) row.root = static_cast<int>(number_of(tree, id));
    const bool in_place = key == "in_place";
    if ((in_place || key == "out_of_place") && tree[id].kind == PlainTree::Kind::map) add_side(run, row, tree, id, in_place);
  }
  if (row.sides > 0) run.rows.push_back(row);
}

}  // namespace

std::vector<Skipped> read_nccl_tests_json(const std::filesystem::path& file, const PointDefaults& otherwise, const RunDescriptions& runs,
                                          const PointSink& sink) {
  const PlainTree tree = read_json_file(file);
  const PlainTree::Id results = tree.find(tree.root, "results");
  if (tree[results].kind != PlainTree::Kind::list)
    throw SpecError({fault_in_line(file.string(), 1, 1, "", "this JSON has no \"results\" list: it is not what nccl-tests writes with -J",
                                   "give a point CSV, or the text or JSON output of nccl-tests or nvbandwidth")});
  LogRun run = run_of(tree);
  for (const PlainTree::Id result : tree.items(results)) add_row(run, tree, result);
  RunsToPoints points(file, otherwise, runs, sink);
  points.take(run, true);
  return std::move(points).skipped();
}

}  // namespace fabricost::core
