/// \file nvbandwidth_json.cpp
/// Reads the output of nvbandwidth --json: {"nvbandwidth": {"git_version", "testcases": [{"name", "status",
/// "bandwidth_description", "bandwidth_matrix": [["56.38", "N/A"], ...]}]}} (NVIDIA/nvbandwidth,
/// json_output.cpp). A test that was waived or failed has no matrix.

#include "readings/logs/nvbandwidth.hpp"
#include "text/csv.hpp"
#include "text/json_events.hpp"

#include <fmt/format.h>

namespace fabricost::io {

namespace {

/// Collects one test at a time.
class NvbandwidthJsonReader {
 public:
  NvbandwidthJsonReader(const std::filesystem::path& file, PointMaker& points) : file_(file), points_(points) {}

  void read() {
    read_json(file_, [this](const JsonEvent& event) { take(event); });
  }

 private:
  void take(const JsonEvent& e) {
    using Kind = JsonEvent::Kind;
    if (e.kind == Kind::text && e.key == "git_version") bytes_ = nvbandwidth_bytes(e.text);
    if (e.kind == Kind::text && (e.key == "git_version" || e.key == "nvbandwidth version"))
      points_.version(e.text.starts_with('v') ? e.text.substr(1) : e.text);
    if (e.kind == Kind::open_list && e.key == "testcases") tests_ = e.depth;
    if (tests_ < 0) return;
    if (e.kind == Kind::open_map && e.depth == tests_ + 1) {
      name_.clear();
      title_.clear();
      status_.clear();
      rows_.clear();
      matrix_at_ = -1;
    }
    if (e.kind == Kind::text && e.depth == tests_ + 2) {
      if (e.key == "name") name_ = e.text;
      if (e.key == "status") status_ = e.text;
      if (e.key == "bandwidth_description") title_ = e.text;
    }
    if (e.kind == Kind::open_list && e.key == "bandwidth_matrix") matrix_at_ = e.depth;
    if (matrix_at_ >= 0 && e.kind == Kind::open_list && e.depth == matrix_at_ + 1) rows_.emplace_back();
    if (matrix_at_ >= 0 && (e.kind == Kind::text || e.kind == Kind::number) && e.depth == matrix_at_ + 2 && !rows_.empty()) {
      if (!is_absent(e.text) && !parse_number(e.text))
        throw SpecError({fault_in_line(file_.string(), e.line, 1, "", fmt::format("{}: \"{}\" is not a number", name_, clip(e.text)),
                                       "a cell of bandwidth_matrix is a number or N/A")});
      rows_.back().push_back({std::string{e.text}, e.line});
    }
    if (e.kind == Kind::close_list && e.depth == matrix_at_) matrix_at_ = -1;
    if (e.kind == Kind::close_map && e.depth == tests_ + 1) conclude();
    if (e.kind == Kind::close_list && e.depth == tests_) tests_ = -1;
  }

  static std::string clip(std::string_view text) { return std::string{text.substr(0, 40)}; }

  void conclude() {
    if (rows_.empty()) return points_.skip(fmt::format("nvbandwidth: test {}", status_.empty() ? "without results" : status_));
    std::size_t columns = 0;
    for (const auto& row : rows_) columns = std::max(columns, row.size());
    std::vector<std::string> numbers;
    for (std::size_t i = 0; i < columns; ++i) numbers.push_back(std::to_string(i));
    Matrix matrix;
    if (!matrix.start({numbers.begin(), numbers.end()}, 0)) return points_.skip("nvbandwidth: a matrix too large to be one");
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const std::string label = std::to_string(i);
      Tokens tokens{label};
      for (const auto& [text, line] : rows_[i]) tokens.emplace_back(text);
      if (!rows_[i].empty()) matrix.line(rows_[i].front().second);
      (void)matrix.row(tokens, false);
    }
    add_nvbandwidth(points_, matrix, name_, title_, bytes_);
  }

  const std::filesystem::path& file_;
  PointMaker& points_;
  int tests_ = -1, matrix_at_ = -1;  ///< depths
  std::string name_, title_, status_;
  std::vector<std::vector<std::pair<std::string, int>>> rows_;
  double bytes_ = nvbandwidth_bytes("");
};

}  // namespace

void read_nvbandwidth_json(const std::filesystem::path& file, PointMaker& points) { NvbandwidthJsonReader(file, points).read(); }

}  // namespace fabricost::io
