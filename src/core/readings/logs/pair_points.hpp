#pragma once
/// Shared by the readers of point-to-point benchmarks: conversion of a rate or time between two ends to a
/// point, and their tables. A transfer of B bytes at rate r takes B / r seconds.

#include "readings/logs/log_text.hpp"
#include "readings/point_readers.hpp"
#include "text/line_reader.hpp"

#include <fabricost/namespaces.hpp>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace fabricost::core {

inline constexpr const char* row_cut_short = "row cut short";
inline constexpr const char* no_value = "time is 0 or N/A";

/// Makes the points of one log and passes them on.
class PointMaker {
 public:
  PointMaker(const std::filesystem::path& file, const PointDefaults& otherwise, const RunDescriptions& runs, std::string_view library,
             const PointSink& sink);

  /// A transfer that took `seconds`; skipped for an invalid time. `streamed`, `contradicts`: as in Point.
  /// \throws SpecError when the machine is unknown
  void transfer(int line, double bytes, double seconds, Path path, bool both_ways, const SharedText& notes, bool streamed = false,
                bool contradicts = false);
  /// A collective on all ranks of the run; `bytes` as nccl-tests counts them. \throws SpecError, RequestError
  void collective(int line, Collective operation, DataType type, double bytes, double seconds, int ranks, const SharedText& notes);
  /// Ranks of a collective whose log does not state them: as given, else as described, else the whole
  /// machine. \throws SpecError
  [[nodiscard]] int ranks_taking_part(int line);
  [[nodiscard]] bool ranks_given() const { return otherwise_.ranks > 0; }
  /// Nodes as given, else as described; 0: unknown.
  [[nodiscard]] int nodes_given() const { return otherwise_.nodes > 0 ? otherwise_.nodes : described_.nodes; }

  /// Whether the following points are on nodes that nothing states.
  void assume_nodes(bool assumed) { nodes_assumed_ = assumed; }
  void skip(const std::string& reason, int rows = 1) { count_skipped(skipped_, reason, rows); }
  /// Of a tool's row that other output broke; the reason gives the first one's line.
  void skip_broken(std::string_view tool, int line);
  void version(std::string_view text) { version_ = text; }
  /// True once a row was recognised, priced or not.
  [[nodiscard]] bool anything() const { return points_ > 0 || !skipped_.empty(); }
  [[nodiscard]] std::vector<Skipped> skipped() && { return std::move(skipped_); }
  [[nodiscard]] const std::string& file() const { return name_; }

 private:
  void emit(Point&& point);
  void require_system(int line) const;

  const PointDefaults& otherwise_;
  const RunDescriptions& runs_;
  const PointSink& sink_;
  RunDescription described_;
  std::string name_;
  SharedText source_, system_, library_, version_;
  std::vector<Skipped> skipped_;
  std::string broken_;  ///< the reason of such rows
  long long points_ = 0;
  bool nodes_assumed_ = false;
  int gpus_per_node_ = 0;  ///< of the machine, after loading
};

/// Shared by the readers of text output: lines and words, the start of a table's rows, one note for all
/// points.
class LogReader {
 public:
  LogReader(const std::filesystem::path& file, PointMaker& points) : lines_(file), points_(points) {}

 protected:
  /// Calls `take` with every non-empty line, without the additions of launchers, and its words.
  template <class Take>
  void each_line(Take&& take) {
    std::string line;
    Tokens tokens;
    while (lines_.next(line)) {
      undecorate(line);
      squeeze(line);
      split(line, tokens);
      if (!tokens.empty()) take(line, tokens);
    }
  }
  /// The first word of a row of at least `cells` cells that begins with `counts` counts; empty for other
  /// lines.
  [[nodiscard]] std::optional<std::size_t> row_start(const Tokens& tokens, std::size_t cells, std::size_t counts) const {
    const std::size_t first = prefix_ < tokens.size() && all_digits(tokens[prefix_]) ? prefix_ : 0;
    if (tokens.size() < first + cells || tokens[first].size() > 15) return std::nullopt;
    for (std::size_t i = 0; i < counts; ++i)
      if (!all_digits(tokens[first + i])) return std::nullopt;
    return first;
  }
  /// Whether a file without a final line end may have lost digits of its last word. \param cells of a
  /// complete row
  [[nodiscard]] bool cut(const Tokens& tokens, std::size_t cells) const {
    return tokens.size() < cells || (!lines_.ended() && tokens.size() == cells);
  }
  const SharedText& note(const std::string& text) {
    if (!(note_ == text)) note_ = text;
    return note_;
  }

  LineReader lines_;
  PointMaker& points_;
  std::size_t prefix_ = 0;  ///< words that a launcher prints before every line, according to the table's header

 private:
  SharedText note_;
};

/// A matrix as printed: a line of column numbers, then lines of a row number and its cells.
class Matrix {
 public:
  static constexpr std::size_t max_columns = 4096;

  /// Starts a matrix with the column numbers from `first` on; false if these are not column numbers.
  [[nodiscard]] bool start(const Tokens& tokens, std::size_t first);
  /// Parses a row; false for other lines, which may stand between rows. A row with too few cells is dropped,
  /// except that at the very end of a truncated file only its last cell is.
  [[nodiscard]] bool row(const Tokens& tokens, bool cut);
  [[nodiscard]] bool open() const { return open_; }
  void close() { open_ = false; }
  void clear();

  struct Cell {
    int row = 0, column = 0, line = 0;
    std::optional<double> value;  ///< empty: N/A
  };
  [[nodiscard]] const std::vector<Cell>& cells() const { return cells_; }
  [[nodiscard]] std::optional<double> at(int row, int column) const;
  [[nodiscard]] int lost() const { return lost_; }
  void line(int number) { line_ = number; }

 private:
  std::vector<int> columns_;
  std::vector<Cell> cells_;
  std::map<std::pair<int, int>, double> values_;
  bool open_ = false;
  std::size_t label_ = 0;  ///< tokens of a launcher before the row number
  int line_ = 0, lost_ = 0;
};

/// True if the rates i to j and j to i, where both were printed, differ by at most 10 %.
[[nodiscard]] bool symmetrical(const Matrix& matrix, int row, int column);

}  // namespace fabricost::core
