/// \file nvbandwidth_json.cpp
/// Reads the output of nvbandwidth --json: {"nvbandwidth": {"git_version", "testcases": [{"name", "status",
/// "bandwidth_description", "bandwidth_matrix": [["56.38", "N/A"], ...]}]}} (NVIDIA/nvbandwidth,
/// json_output.cpp). A test that was waived or failed has no matrix.

#include "text/plain_tree.hpp"
#include "readings/logs/nvbandwidth.hpp"
#include "text/csv.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace fabricost::core {

namespace {

/// The cells of a row behind its number. \throws SpecError for one that is neither a number nor absent
[[nodiscard]] std::vector<std::string> cells_of(const PlainTree& tree, PlainTree::Id row, std::size_t number, const std::string& file,
                                                std::string_view test) {
  std::vector<std::string> out{std::to_string(number)};
  for (const PlainTree::Id cell : tree.items(row)) {
    const std::string text = tree.shown(cell);
    if (!is_absent(text) && !parse_number(text))
      throw SpecError({fault_in_line(file, tree[cell].line, 1, "", fmt::format("{}: \"{}\" is not a number", test, text.substr(0, 40)),
                                     "a cell of bandwidth_matrix is a number or N/A")});
    out.push_back(text);
  }
  return out;
}

void take_test(const PlainTree& tree, PlainTree::Id test, const std::string& file, double bytes, PointMaker& points) {
  const std::string_view name = tree.text(tree.find(test, "name")), status = tree.text(tree.find(test, "status"));
  const std::vector<PlainTree::Id>& rows = tree.items(tree.find(test, "bandwidth_matrix"));
  if (rows.empty()) return points.skip(fmt::format("nvbandwidth: test {}", status.empty() ? "without results" : status));
  std::size_t columns = 0;
  for (const PlainTree::Id row : rows) columns = std::max(columns, tree.items(row).size());
  std::vector<std::string> numbers;
  for (std::size_t i = 0; i < columns; ++i) numbers.push_back(std::to_string(i));
  Matrix matrix;
  if (!matrix.start({numbers.begin(), numbers.end()}, 0)) return points.skip("nvbandwidth: a matrix too large to be one");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::vector<std::string> cells = cells_of(tree, rows[i], i, file, name);
    matrix.line(tree[tree.items(rows[i]).empty() ? rows[i] : tree.items(rows[i]).front()].line);
    (void)matrix.row({cells.begin(), cells.end()}, false);
  }
  add_nvbandwidth(points, matrix, name, tree.text(tree.find(test, "bandwidth_description")), bytes);
}

}  // namespace

void read_nvbandwidth_json(const std::filesystem::path& file, PointMaker& points) {
  const PlainTree tree = read_json_file(file);
  const PlainTree::Id named = tree.find(tree.root, "nvbandwidth"), all = named == PlainTree::none ? tree.root : named;
  double bytes = nvbandwidth_bytes("");
  for (const auto& [key, id] : tree.members(all)) {
    std::string_view version = tree.text(id);
    if (version.empty() || (key != "git_version" && key != "nvbandwidth version")) continue;
    if (key == "git_version") bytes = nvbandwidth_bytes(version);
    if (version.starts_with('v')) version.remove_prefix(1);
    points.version(version);
  }
  for (const PlainTree::Id test : tree.items(tree.find(all, "testcases"))) take_test(tree, test, file.string(), bytes, points);
}

}  // namespace fabricost::core
