/// Converts transfers and collectives of tools other than nccl-tests to points, and parses their matrices.

#include "readings/logs/pair_points.hpp"

#include "text/csv.hpp"

#include <fabricost/error.hpp>
#include <fabricost/specs/load.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace fabricost::core {

PointMaker::PointMaker(const std::filesystem::path& file, const PointDefaults& otherwise, const RunDescriptions& runs,
                       std::string_view library, const PointSink& sink)
    : otherwise_(otherwise), runs_(runs), sink_(sink), name_(file.string()), source_(file.stem().string()), library_(library) {
  if (const auto found = runs.find(file.stem().string()); found != runs.end()) described_ = found->second;
  system_ = otherwise.system.empty() ? described_.system : otherwise.system;
}

void PointMaker::require_system(int line) const {
  if (system_.empty())
    throw SpecError({fault_in_line(name_, line, 1, "", "the log does not say which machine it ran on",
                                   "add <system=NAME> (`fabricost machine` lists them)")});
}

void PointMaker::emit(Point&& point) {
  point.source = source_;
  point.system = system_;
  point.library = library_;
  point.library_version = version_;
  point.nodes_assumed = nodes_assumed_;
  describe(point, runs_);
  ++points_;
  sink_(std::move(point));
}

void PointMaker::transfer(int line, double bytes, double seconds, Path path, bool both_ways, const SharedText& notes, bool streamed,
                          bool contradicts) {
  if (!(bytes > 0)) return skip("bytes is 0");
  if (!(seconds >= 1e-9) || !(seconds < 1e9)) return skip(no_value);
  require_system(line);
  Point p;
  p.collective = Collective::send_recv;
  p.dtype = DataType::int8;
  p.bytes = bytes;
  p.seconds = seconds;
  p.nodes = path == Path::nic ? 2 : 1;
  p.gpus_per_node = path == Path::gpu_gpu ? 2 : 1;
  p.path = path_of_copy(path, both_ways, notes.str());
  p.both_ways = both_ways;
  p.streamed = streamed;
  p.contradicts_itself = contradicts;
  p.notes = notes;
  emit(std::move(p));
}

void PointMaker::skip_broken(std::string_view tool, int line) {
  if (broken_.empty()) broken_ = fmt::format("{} row broken by other output (first in line {})", tool, line);
  skip(broken_);
}

int PointMaker::ranks_taking_part(int line) {
  require_system(line);
  if (otherwise_.ranks > 0) return otherwise_.ranks;
  if (const int given = described_.nodes * described_.gpus_per_node; given > 0) return given;
  const System machine = load_system(system_);
  if (otherwise_.nodes > 0 || machine.nodes == 1) return std::max(1, otherwise_.nodes) * machine.gpus_per_node;
  throw SpecError({fault_in_line(name_, line, 1, "", "the log does not say how many ranks took part", "add <ranks=N> (and <nodes=N>)")});
}

void PointMaker::collective(int line, Collective operation, DataType type, double bytes, double seconds, int ranks,
                            const SharedText& notes) {
  if (!(bytes > 0)) return skip("bytes is 0");
  if (!(seconds >= 1e-9) || !(seconds < 1e9)) return skip(no_value);
  if (ranks < 2) return skip("one rank: nothing moves");
  require_system(line);
  if (otherwise_.ranks > 0 && otherwise_.ranks != ranks)
    throw fabricost::core::Refusal(fmt::format("{}: {} processes took part, <ranks> says {}", name_, ranks, otherwise_.ranks));
  int nodes = nodes_given();
  if (nodes == 0) {
    if (gpus_per_node_ == 0) gpus_per_node_ = gpus_per_node_of(system_);
    nodes = (ranks + gpus_per_node_ - 1) / gpus_per_node_;
  }
  if (ranks % nodes != 0) return skip(fmt::format("{} ranks do not spread evenly over {} nodes", ranks, nodes));
  Point p;
  p.collective = operation;
  p.dtype = type;
  p.bytes = bytes;
  p.seconds = seconds;
  p.nodes = nodes;
  p.gpus_per_node = ranks / nodes;
  p.notes = notes;
  emit(std::move(p));
}

void Matrix::clear() { *this = {}; }

bool Matrix::start(const Tokens& tokens, std::size_t first) {
  std::vector<int> columns;
  for (std::size_t i = first; i < tokens.size(); ++i) {
    const auto number = whole_number(tokens[i]);
    if (!number || (!columns.empty() && *number != columns.back() + 1)) return false;
    columns.push_back(*number);
  }
  if (columns.empty() || columns.size() > max_columns) return false;
  clear();
  columns_ = std::move(columns);
  open_ = true;
  return true;
}

bool Matrix::row(const Tokens& tokens, bool cut) {
  if (!open_ || tokens.empty()) return false;
  // the row number has the same position as in the first row; there it is the first number that is
  // followed by at most as many cells as there are columns
  std::size_t first = label_;
  if (cells_.empty())
    for (first = 0; first < tokens.size() && !(whole_number(tokens[first]) && tokens.size() - first - 1 <= columns_.size()); ++first) {}
  if (first >= tokens.size() && whole_number(tokens[0])) first = 0;
  if (first >= tokens.size()) return false;
  const auto row = whole_number(tokens[first]);
  const std::size_t count = std::min(tokens.size() - first - 1, columns_.size());
  if (!row || tokens.size() - first - 1 > columns_.size() || count == 0) return false;
  for (std::size_t i = 0; i < count; ++i)
    if (!is_absent(tokens[first + 1 + i]) && !parse_number(tokens[first + 1 + i])) return false;
  if (!cells_.empty() && *row != cells_.back().row + 1) return false;
  if (count < columns_.size() && !cut) {
    lost_ += static_cast<int>(columns_.size());
    return true;
  }
  label_ = first;
  for (std::size_t i = 0; i < count; ++i) {
    if (cut && first + 2 + i == tokens.size()) {  // it may have lost digits
      ++lost_;
      break;
    }
    const std::string_view text = tokens[first + 1 + i];
    Cell cell{*row, columns_[i], line_, std::nullopt};
    if (!is_absent(text)) {
      cell.value = parse_number(text);
      values_[{*row, columns_[i]}] = *cell.value;
    }
    cells_.push_back(cell);
  }
  return true;
}

std::optional<double> Matrix::at(int row, int column) const {
  const auto found = values_.find({row, column});
  return found == values_.end() ? std::nullopt : std::optional{found->second};
}

bool symmetrical(const Matrix& matrix, int row, int column) {
  const auto there = matrix.at(row, column), back = matrix.at(column, row);
  return !there || !back || std::fabs(*there - *back) <= 0.1 * std::max(*there, *back);
}

}  // namespace fabricost::core
