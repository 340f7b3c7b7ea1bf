/// Reads the output of nvbandwidth: its text (`Running NAME.`, a title, column numbers, rows), and that of --json: {"nvbandwidth":
/// {"git_version", "testcases": [{"name", "status", "bandwidth_description", "bandwidth_matrix": [["56.38", "N/A"], ...]}]}}
/// (NVIDIA/nvbandwidth, json_output.cpp). A test that was waived or failed has no matrix.
///
/// All rates are GB/s (10^9). One-way tests time one copy at a time. Bidirectional tests time one stream
/// while the other direction is loaded and print the rate of the timed stream. The exception are copies
/// between GPUs by kernels: versions before 0.5 print the sum of both streams, later ones both streams and a
/// total (NVIDIA/nvbandwidth, README.md "Bidirectional Device <-> Device Bandwidth Tests" and
/// testcases_sm.cpp).

#include "readings/logs/pair_points.hpp"
#include "text/ascii.hpp"
#include "text/csv.hpp"
#include "text/plain_tree.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace fabricost::core {

namespace {

struct NvbandwidthTest {
  Path path = Path::gpu_gpu;
  bool both_ways = false;
  bool sum_of_both = false;
  std::string skipped;  ///< the reason why it is not a transfer between two ends; empty if it is
};

/// The transfer that a test measures, from its name and the title of its matrix.
NvbandwidthTest nvbandwidth_test(std::string_view name, std::string_view title) {
  NvbandwidthTest out;
  if (has(title, "(ns)") || has(name, "latency"))
    out.skipped = "nvbandwidth: latency of dependent loads, not of a transfer";
  else if (has(name, "local") || has(title, "local"))
    out.skipped = "nvbandwidth: a copy inside one GPU";
  else if (has(name, "all_to") || has(name, "to_all") || has(name, "one_to") || has(name, "to_one") || has(name, "bisect") ||
           has(name, "broadcast") || has(title, "All G") || has(title, "total bandwidth"))
    out.skipped = "nvbandwidth: several GPUs at once";
  else if (has(name, "_total") || has(title, "Total"))
    out.skipped = "nvbandwidth: the sum of two directions that are printed one by one";
  if (!out.skipped.empty()) return out;
  out.path = has(name, "host") || (name.empty() && has(title, "CPU")) ? Path::gpu_host : Path::gpu_gpu;
  out.both_ways = has(name, "bidir") || has(title, "<->");
  const bool kernel = has(title, "SM ") || name.ends_with("_sm");
  const bool one_of_two = has(title, "Read1") || has(title, "Read2") || has(title, "Write1") || has(title, "Write2");
  out.sum_of_both = out.both_ways && kernel && out.path == Path::gpu_gpu && !one_of_two;
  return out;
}

/// Default bytes of one copy: 64 MiB before version 0.3, 512 MiB since (common.h, default_constants.h, README.md there).
double nvbandwidth_bytes(std::string_view version) {
  while (!version.empty() && !is_digit(version.front())) version.remove_prefix(1);
  const bool old = version == "0.1" || version == "0.2" || version.starts_with("0.1.") || version.starts_with("0.2.");
  return (old ? 64.0 : 512.0) * 1024 * 1024;
}

/// Converts a matrix to points.
void add_nvbandwidth(PointMaker& points, const Matrix& matrix, std::string_view name, std::string_view title, double bytes) {
  const NvbandwidthTest test = nvbandwidth_test(name, title);
  if (matrix.lost() > 0) points.skip(row_cut_short, matrix.lost());
  const SharedText notes = fmt::format("{}{}; size not printed: {:.0f} MiB", name.empty() ? title : name,
                                       test.sum_of_both ? "; sum of both directions, halved" : "", bytes / 1024 / 1024);
  for (const Matrix::Cell& cell : matrix.cells()) {
    if (!cell.value) {
      if (test.path != Path::gpu_gpu || cell.row != cell.column) points.skip(no_value);
      continue;
    }
    if (!test.skipped.empty()) {
      points.skip(test.skipped);
    } else if (test.path == Path::gpu_gpu && cell.row == cell.column && *cell.value == 0) {
      continue;  // versions that print zeros for missing pairs
    } else if (test.path == Path::gpu_gpu && cell.row == cell.column) {
      points.skip("a copy inside one GPU (diagonal)");
    } else if (test.sum_of_both && !symmetrical(matrix, cell.row, cell.column)) {
      points.skip("the sum of two directions that differ by more than 10 %: neither is known");
    } else {
      const double rate = *cell.value * 1e9 * (test.sum_of_both ? 0.5 : 1);
      points.transfer(cell.line, bytes, rate > 0 ? bytes / rate : 0, test.path, test.both_ways, notes);
    }
  }
}

class NvbandwidthReader : LogReader {
 public:
  using LogReader::LogReader;

  void read() {
    each_line([this](const std::string& line, const Tokens& tokens) { take(line, tokens); });
    conclude();
  }

 private:
  void take(const std::string& line, const Tokens& tokens) {
    for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
      if (tokens[i] == "Running" && has(tokens[i + 1], "_")) {
        conclude();
        name_ = tokens[i + 1];
        while (name_.ends_with('.')) name_.pop_back();
        title_.clear();
        return;
      }
      if (tokens[i] == "SUM") return conclude();
      if (tokens[i] == "Version:" && i > 0 && tokens[i - 1] == "nvbandwidth") {
        bytes_ = nvbandwidth_bytes(tokens[i + 1]);
        std::string_view version = tokens[i + 1];
        if (version.starts_with('v')) version.remove_prefix(1);
        points_.version(version);
      }
      if (tokens[i].starts_with("--bufferSize") || tokens[i] == "-b") read_size(tokens[i + 1]);
    }
    if ((has(line, "(GB/s)") || has(line, "(ns)")) && (has(line, "GPU") || has(line, "memcpy"))) {
      conclude();
      title_ = line.substr(line.find_first_not_of(" \t"));
      return;
    }
    if (title_.empty()) return;
    matrix_.line(lines_.number());
    if (!matrix_.open()) {
      // column numbers, after any prefix of a launcher
      for (std::size_t first = 0; first < tokens.size(); ++first)
        if (matrix_.start(tokens, first)) break;
      return;
    }
    (void)matrix_.row(tokens, !lines_.ended());  // other lines may stand between
  }

  /// The size in MiB that a command line in the log gave (`-b 1024`).
  void read_size(std::string_view text) {
    if (const auto mebibytes = parse_number(text); mebibytes && *mebibytes >= 1 && *mebibytes < 1e6) bytes_ = *mebibytes * 1024 * 1024;
  }

  void conclude() {
    add_nvbandwidth(points_, matrix_, name_, title_, bytes_);
    matrix_.clear();
    title_.clear();
  }

  Matrix matrix_;
  std::string name_, title_;
  double bytes_ = nvbandwidth_bytes("");
};

/// The cells of a row behind its number. \throws SpecError for one that is neither a number nor absent
std::vector<std::string> cells_of(const PlainTree& tree, PlainTree::Id row, std::size_t number, const std::string& file,
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

void read_nvbandwidth(const std::filesystem::path& file, PointMaker& points) { NvbandwidthReader(file, points).read(); }

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
