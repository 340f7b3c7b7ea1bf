/// \file nccl_tests_json.cpp
/// The file that nccl-tests writes with -J: the rows of its table with more digits, the command line, one device of each process.

#include "io/csv.hpp"
#include "io/logs/nccl_tests.hpp"
#include "io/spec_tree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace fabricost::io {

namespace {

constexpr std::size_t largest_json = std::size_t{64} << 20U;

const std::string& text_of(const SpecNode* node) {
  static const std::string none;
  return node != nullptr && node->kind == SpecNode::Kind::scalar ? node->text : none;
}
const std::string& text_of(const SpecNode& map, std::string_view key) { return text_of(map.find(key)); }
double number_of(const SpecNode& map, std::string_view key) { return parse_number(text_of(map, key)).value_or(0); }
/// A count or version, within what any machine has.
int count_of(const SpecNode& map, std::string_view key) { return static_cast<int>(std::clamp(number_of(map, key), 0.0, 1e6)); }

/// `./build/all_reduce_perf` -> all_reduce
std::string test_of(const SpecNode* arguments) {
  if (arguments == nullptr || arguments->items.empty()) return "";
  std::string_view program = arguments->items.front().text;
  if (const auto slash = program.find_last_of('/'); slash != std::string_view::npos) program.remove_prefix(slash + 1);
  return std::string{program.substr(0, program.find("_perf"))};
}

std::optional<LogSide> side_of(const SpecNode* node, bool in_place) {
  if (node == nullptr || node->kind != SpecNode::Kind::map || node->find("time") == nullptr) return std::nullopt;
  LogSide side;
  side.time = number_of(*node, "time");
  side.algbw = number_of(*node, "alg_bw");
  side.busbw = number_of(*node, "bus_bw");
  side.time_slack = side.algbw_slack = side.busbw_slack = 0.5e-6;  // printed with %lf
  const SpecNode* wrong = node->find("nwrong");
  side.checked = wrong != nullptr && wrong->kind == SpecNode::Kind::scalar;
  side.wrong = number_of(*node, "nwrong");
  side.in_place = in_place;
  return side;
}

}  // namespace

std::vector<Skipped> read_nccl_tests_json(const std::filesystem::path& file, const PointSource& otherwise, const RunDescriptions& runs,
                                          const PointSink& sink) {
  const SpecNode root = parse_spec_text(read_text_file(file, largest_json), file.string());
  const SpecNode* results = root.find("results");
  if (results == nullptr || results->kind != SpecNode::Kind::list)
    throw SpecError({fault_in_line(file.string(), 1, 1, "", "this JSON has no \"results\" list: it is not what nccl-tests writes with -J",
                                   "give a point CSV, or the text or JSON output of nccl-tests")});
  LogRun run;
  run.time_unit = 1e-6;
  run.test = test_of(root.find("args"));
  if (const int code = count_of(root, "nccl_version"); code >= 20000)
    run.version = fmt::format("{}.{}.{}", code / 10000, code / 100 % 100, code % 100);
  if (const SpecNode* config = root.find("config")) {
    const SpecNode* devices = config->find("devices");
    if (devices == nullptr) devices = root.find("devices");
    // every process lists one of its devices
    const int each = static_cast<int>(std::clamp(number_of(*config, "nthreads") * number_of(*config, "ngpus"), 1.0, 1024.0));
    if (devices != nullptr) {
      int next = 0;
      for (const SpecNode& device : devices->items)
        for (int i = 0; i < each; ++i) {
          run.ranks_listed.push_back(next++);
          run.hosts.push_back(text_of(device, "hostname"));
          run.groups.push_back(count_of(device, "group"));
        }
    }
  }
  for (const SpecNode& result : results->items) {
    LogRow row;
    row.line = std::max(1, result.mark.line);
    row.bytes = number_of(result, "size");
    row.count = number_of(result, "count");
    row.type = Label{text_of(result, "type")};
    row.dtype = parse_data_type(text_of(result, "type"));
    if (const std::string& redop = text_of(result, "redop"); !redop.empty()) (redop == "none" ? row.copies : row.combines) = true;
    std::string_view root_text = text_of(result, "root");
    while (root_text.starts_with(' ')) root_text.remove_prefix(1);
    if (const auto number = parse_number(root_text); number && std::fabs(*number) < 1e9) row.root = static_cast<int>(*number);
    for (const bool in_place : {false, true}) {
      const SpecNode* node = result.find(in_place ? "in_place" : "out_of_place");
      if (const auto side = side_of(node, in_place))
        row.add(*side);
      else if (node != nullptr && node->kind == SpecNode::Kind::map)
        count_skipped(run.skipped, "nccl-tests printed CPU time (-C 1): how long the call took, not the operation");
    }
    if (row.sides > 0) run.rows.push_back(row);
  }
  RunsToPoints points(file, otherwise, runs, sink);
  points.take(run, true);
  return std::move(points).skipped();
}

}  // namespace fabricost::io
