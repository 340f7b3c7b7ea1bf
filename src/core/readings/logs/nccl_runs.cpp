/// Reads the output of nccl-tests and rccl-tests from logs: after tags of mpirun, srun or a log collector,
/// between lines of NCCL, truncated at either end, several runs in one file, from version 1 (milliseconds, no
/// root) to now. A row is recognised by its first three cells (size, count, element type), so its prefix does
/// not matter; the header above defines the other columns.

#include "readings/logs/nccl_runs.hpp"

#include "readings/logs/literals.hpp"
#include "readings/logs/log_text.hpp"
#include "text/csv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <string_view>

namespace fabricost::core {

namespace {

bool is_word(std::string_view t) {
  return !t.empty() && std::isalpha(static_cast<unsigned char>(t.front())) != 0 &&
         std::all_of(t.begin(), t.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; });
}

enum class Column : unsigned char { size, count, type, redop, root, time, cpu_time, algbw, busbw, wrong, other };

Column column_named(std::string_view name) {
  if (name.starts_with('#')) name.remove_prefix(1);
  if (name == "size" || name == "bytes") return Column::size;
  if (name == "count" || name == "N") return Column::count;
  if (name == "type") return Column::type;
  if (name == "redop" || name == "op") return Column::redop;
  if (name == "root") return Column::root;
  if (name == "time") return Column::time;
  if (name == "cputime") return Column::cpu_time;
  if (name == "algbw") return Column::algbw;
  if (name == "busbw") return Column::busbw;
  if (name == "wrong" || name == "error" || name == "res") return Column::wrong;
  return Column::other;
}

/// The columns named in a header line; empty for any other line.
std::vector<Column> header_in(const Tokens& tokens) {
  for (std::size_t i = 0; i + 2 < tokens.size(); ++i) {
    if ((tokens[i] != "time" && tokens[i] != "cputime") || tokens[i + 1] != "algbw" || tokens[i + 2] != "busbw") continue;
    std::size_t first = i;
    while (first > 0 && column_named(tokens[first]) != Column::size) --first;
    std::vector<Column> out;
    for (std::size_t j = first; j < tokens.size(); ++j)
      if (tokens[j] != "#") out.push_back(column_named(tokens[j]));
    // every version prints these first, and rows are recognised by them; other words mean that something else
    // was printed into the header
    constexpr std::array begins{Column::size, Column::count, Column::type};
    if (out.size() < begins.size() || !std::equal(begins.begin(), begins.end(), out.begin())) return {};
    return out;
  }
  return {};
}

/// Half of the last printed digit of a number.
double slack_of(std::string_view text) {
  const auto point = text.find('.');
  const auto exponent = text.find_first_of("eE");
  const std::size_t digits_end = exponent == std::string_view::npos ? text.size() : exponent;
  double slack = 0.5;
  if (point != std::string_view::npos && point < digits_end)
    for (std::size_t i = point + 1; i < digits_end; ++i) slack /= 10;
  if (exponent != std::string_view::npos)
    if (const auto power = parse_number(text.substr(exponent + 1))) slack *= std::pow(10, *power);
  return slack;
}

constexpr std::string_view cut_short = "nccl-tests row cut short";

/// Reads a file line by line and splits it into runs.
class NcclTestsReader {
 public:
  NcclTestsReader(const std::filesystem::path& file, const RunSink& take) : lines_(file), take_(take) { fresh(); }

  int read() {
    std::string line;
    Tokens tokens;
    while (lines_.next(line)) {
      undecorate(line);
      split(line, tokens);
      if (!tokens.empty()) take(tokens, line);
    }
    keep();
    return runs_;
  }

 private:
  void fresh() {
    run_ = {};
    run_.line = lines_.number() + 1;
    columns_.clear();
    places_ = header_places_ = {};
    named_ = handed_on_ = false;
  }
  [[nodiscard]] bool has_table() const { return handed_on_ || !run_.rows.empty() || !run_.skipped.empty(); }
  void keep() {
    if (has_table()) {
      take_(run_, true);
      ++runs_;
    }
    fresh();
  }
  /// Passes the rows on and forgets them, so that a long run needs no more memory than a short one.
  void hand_on() {
    take_(run_, false);
    run_.rows.clear();
    run_.skipped.clear();
    handed_on_ = true;
  }
  /// Starts a new run if the current one already has a table.
  void begin() {
    if (has_table()) {
      const std::string library = run_.library, version = run_.version;
      keep();
      run_.library = library;
      run_.version = version;
    }
  }

  void take(const Tokens& tokens, const std::string& line) {
    if (data_row(tokens)) return;
    static const LiteralFilter of_table{"Rank", "algbw", "out-of-place", "in-place", "(GB/s)", "nThread ", "Using devices", "Collective test", "nccl",
                                     "NCCL", "rccl", "RCCL", "_perf"};
    if (!of_table.may_hold(line)) return;
    if (rank_line(tokens)) return;
    const auto columns = header_in(tokens);
    if (!columns.empty()) {
      columns_ = columns;
      header_places_ = places_;
      return;
    }
    const bool out = line.find("out-of-place") != std::string::npos, in = line.find("in-place") != std::string::npos;
    if (out || in) places_ = {out, in};
    unit_line(tokens);
    remark(tokens, line);
  }

  void unit_line(const Tokens& tokens) {
    if (columns_.empty() || run_.time_unit > 0) return;
    const auto has = [&](std::string_view t) { return std::find(tokens.begin(), tokens.end(), t) != tokens.end(); };
    if (!has("(GB/s)")) return;
    if (has("(us)")) run_.time_unit = 1e-6;
    if (has("(ms)")) run_.time_unit = 1e-3;
  }

  /// Parses library, version, name of the test, and settings forced by the environment.
  void remark(const Tokens& tokens, const std::string& line) {
    if (line.find("nThread ") != std::string::npos || line.find("Using devices") != std::string::npos) {
      begin();
      if (line.find("Using devices") != std::string::npos) clear_ranks();
    }
    if (line.find("nThread ") != std::string::npos) head(tokens);
    const bool starting = line.find("Collective test starting:") != std::string::npos;
    if (starting || line.find("nccl-tests version") != std::string::npos) begin();
    run_.says_start = run_.says_start || starting;
    if (line.find("_perf") != std::string::npos && line.find("concluded") == std::string::npos && !has_table() && (starting || !named_)) {
      for (const std::string_view token : tokens)
        if (std::string test = test_in(token); !test.empty()) run_.test = std::move(test);
      named_ = starting;
    }
    if (line.find("rccl") != std::string::npos || line.find("RCCL") != std::string::npos) run_.library = "rccl";
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      if (tokens[i].starts_with("nccl-library=") && run_.version.empty()) run_.version = version_of_code(tokens[i].substr(13));
      if ((tokens[i] == "NCCL" || tokens[i] == "RCCL") && i + 2 < tokens.size() && tokens[i + 1] == "version") {
        const std::size_t at = tokens[i + 2] == ":" ? i + 3 : i + 2;
        if (at < tokens.size() && is_digit(tokens[at].front())) run_.version = std::string{tokens[at]};
      }
      if (tokens[i] == "NCCL" && i + 1 < tokens.size() && tokens[i + 1].starts_with("2.") &&
          line.find("compiled with NCCL") != std::string::npos)
        run_.version = std::string{tokens[i + 1]};
      forced(tokens, i);
    }
  }
  /// # nThread 1 nGpus 8 minBytes 8 ... graph: 0
  void head(const Tokens& tokens) {
    constexpr int most = 4096;
    for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
      const int value = std::min(most, whole_number(tokens[i + 1], 8).value_or(0));
      if (tokens[i] == "nThread") run_.threads = value;
      if (tokens[i] == "nGpus") run_.gpus = value;
      if (tokens[i] == "graph:") run_.graph = value > 0;
      if (tokens[i] == "maxBytes") run_.max_bytes = parse_number(tokens[i + 1]).value_or(0);
      if (tokens[i] == "step:") step(tokens[i + 1]);
    }
  }
  /// "2(factor)", "1048576(bytes)"
  void step(std::string_view text) {
    const std::size_t open = text.find('(');
    const double value = parse_number(text.substr(0, open)).value_or(0);
    const std::string_view unit = open == std::string_view::npos ? std::string_view{} : text.substr(open);
    if (unit.starts_with("(factor")) run_.step_factor = value;
    if (unit.starts_with("(bytes")) run_.step_bytes = value;
  }

  void forced(const Tokens& tokens, std::size_t i) {
    // NCCL INFO NCCL_ALGO set by environment to Ring
    if (!tokens[i].starts_with("NCCL_") || i + 5 >= tokens.size() || tokens[i + 1] != "set" || tokens[i + 3] != "environment") return;
    std::string_view value = tokens[i + 5];
    while (!value.empty() && (value.back() == '.' || value.back() == ',')) value.remove_suffix(1);
    run_.environment.set(tokens[i], value);
  }

  static std::string version_of_code(std::string_view code) {
    if (!whole_number(code) || code.size() < 4) return "";
    const int n = *whole_number(code);
    // 2.9.0 and later print 20900; before, 2 counted 1000
    return n >= 10000 ? fmt::format("{}.{}.{}", n / 10000, n / 100 % 100, n % 100)
                      : fmt::format("{}.{}.{}", n / 1000, n / 100 % 10, n % 100);
  }

  /// `/opt/nccl-tests/build/all_reduce_perf_mpi` -> all_reduce
  static std::string test_in(std::string_view token) {
    const auto end = token.find("_perf");
    if (end == std::string_view::npos) return "";
    const auto rest = token.substr(end + 5);
    if (!rest.empty() && (std::isalnum(static_cast<unsigned char>(rest.front())) != 0 || rest.starts_with(".json"))) return "";
    std::size_t first = end;
    while (first > 0 && (std::isalnum(static_cast<unsigned char>(token[first - 1])) != 0 || token[first - 1] == '_')) --first;
    const std::string name{token.substr(first, end - first)};
    return operation_named(name).known ? name : "";
  }

  void clear_ranks() {
    run_.ranks_listed.clear();
    run_.hosts.clear();
    run_.groups.clear();
    run_.processes.clear();
  }

  /// `#  Rank  0 Group  0 Pid  61241 on HOST device  0 [0x07] NVIDIA A100`, with or without Group and Pid.
  bool rank_line(const Tokens& tokens) {
    for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
      if (tokens[i] != "Rank" || !all_digits(tokens[i + 1])) continue;
      const auto number = whole_number(tokens[i + 1], 8);
      std::size_t on = i + 2;
      while (on < tokens.size() && tokens[on] != "on") ++on;
      if (on + 2 >= tokens.size() || tokens[on + 2] != "device" || !number) return false;
      if (has_table()) begin();
      int group = 0, process = -1;
      for (std::size_t j = i + 2; j + 1 < on; ++j) {
        if (tokens[j] == "Group") group = whole_number(tokens[j + 1], 8).value_or(group);
        if (tokens[j] == "Pid") process = whole_number(tokens[j + 1], 8).value_or(process);
      }
      run_.ranks_listed.push_back(*number);
      run_.hosts.emplace_back(tokens[on + 1]);
      run_.groups.push_back(group);
      run_.processes.push_back(process);
      for (std::size_t j = on + 3; j < tokens.size(); ++j)
        if (tokens[j].starts_with("[0x") && tokens[j].size() <= 6) run_.short_bus_ids = true;
      for (std::size_t j = on + 3; j < tokens.size(); ++j)
        if (tokens[j] == "AMD" || tokens[j] == "Instinct") run_.library = "rccl";
      return true;
    }
    return false;
  }

  /// Index of the size cell, if any. A tag may be attached to it (`[STAT]:96`); `size` is the text after it.
  std::optional<std::size_t> row_start(const Tokens& tokens, std::string_view& size) {
    for (std::size_t i = 0; i + 2 < tokens.size(); ++i) {
      if (!is_digit(tokens[i].back())) continue;
      size = tokens[i];
      if (const auto colon = size.rfind(':'); colon != std::string_view::npos) size.remove_prefix(colon + 1);
      if (!all_digits(size) || size.size() > 18 || !all_digits(tokens[i + 1]) || !is_word(tokens[i + 2])) continue;
      if (type_named(tokens[i + 2])) return i;
      // an unknown type: accepted only in a row that fits its header
      const auto time = std::find(columns_.begin(), columns_.end(), Column::time) - columns_.begin();
      if (!columns_.empty() && tokens.size() - i == columns_.size() && parse_number(tokens[i + static_cast<std::size_t>(time)])) return i;
    }
    return std::nullopt;
  }
  /// Rows of one table have one type, so its name is looked up once.
  std::optional<DataType> type_named(std::string_view text) {
    if (!(text == type_text_)) {
      type_text_ = text;
      type_ = parse_data_type(text);
    }
    return type_;
  }

  /// The columns of a row without header, from version 2 on: after the type an optional operation, an
  /// optional root, then groups of four.
  static std::vector<Column> guessed(const Tokens& tokens, std::size_t first) {
    std::vector<Column> out{Column::size, Column::count, Column::type};
    std::size_t at = first + 3;
    if (at < tokens.size() && is_word(tokens[at])) {
      out.push_back(Column::redop);
      ++at;
    }
    const std::size_t rest = tokens.size() - at;
    if (rest > 0 && (rest % 4 == 1 || tokens[at] == "-1")) out.push_back(Column::root);
    for (int side = 0; side < (rest >= 8 ? 2 : 1); ++side)
      for (const Column c : {Column::time, Column::algbw, Column::busbw, Column::wrong}) out.push_back(c);
    return out;
  }

  /// Assigns the cells of a row to its columns; shorter for a truncated row. An operation that is not printed
  /// leaves its cell empty.
  static void cells_of(const Tokens& tokens, std::size_t start, const std::vector<Column>& columns, Tokens& cells) {
    cells.clear();
    std::size_t at = start;
    for (const Column c : columns) {
      if (at >= tokens.size()) break;
      const bool left_out = c == Column::redop && !is_word(tokens[at]);
      cells.push_back(left_out ? std::string_view{} : tokens[at++]);
    }
  }

  enum class Cell : unsigned char { number, absent, broken };
  static Cell read_cell(std::string_view cell, double& value) {
    const auto number = parse_number(cell);
    value = number.value_or(0);
    return number ? Cell::number : is_absent(cell) ? Cell::absent : Cell::broken;
  }

  /// The half of a row from the time in column `first` on; empty if truncated or broken, which is counted.
  std::optional<LogSide> side_of(const Tokens& cells, const std::vector<Column>& columns, std::size_t first) {
    // a number at the very end of a file may have lost digits, so it counts only if something follows
    const bool last = first + 3 >= columns.size();
    if (cells.size() < first + 3 || (!last && cells.size() == first + 3)) {
      count_skipped(run_.skipped, std::string{cut_short});
      return std::nullopt;
    }
    LogSide side;
    const Cell time = read_cell(cells[first], side.time), alg = read_cell(cells[first + 1], side.algbw),
               bus = read_cell(cells[first + 2], side.busbw);
    if (time == Cell::broken || alg == Cell::broken || bus == Cell::broken) {
      if (broken_.empty()) broken_ = fmt::format("nccl-tests row broken by other output (first in line {})", lines_.number());
      count_skipped(run_.skipped, broken_);
      return std::nullopt;
    }
    side.time_slack = slack_of(cells[first]);
    side.algbw_slack = slack_of(cells[first + 1]);
    side.busbw_slack = slack_of(cells[first + 2]);
    if (!last && columns[first + 3] == Column::wrong) side.checked = read_cell(cells[first + 3], side.wrong) == Cell::number;
    return side;
  }

  bool data_row(const Tokens& tokens) {
    std::string_view size;
    const auto start = row_start(tokens, size);
    if (!start) return false;
    if (columns_.empty()) guessed_ = guessed(tokens, *start);
    const std::vector<Column>& columns = columns_.empty() ? guessed_ : columns_;
    const Tokens& cells = cells_;
    cells_of(tokens, *start, columns, cells_);
    LogRow row;
    row.line = lines_.number();
    row.bytes = *parse_number(size);
    row.count = *parse_number(cells[1]);
    row.type = Label::cut(cells[2]);
    row.dtype = type_named(cells[2]);
    const int sides = static_cast<int>(std::count_if(columns.begin(), columns.end(), is_time));
    int place = 0;
    for (std::size_t i = 3; i < columns.size(); ++i) {
      const std::string_view cell = i < cells.size() ? cells[i] : std::string_view{};
      if (columns[i] == Column::redop && !cell.empty()) row.combine(cell);
      if (columns[i] == Column::root)
        if (const auto root = parse_number(cell); root && std::fabs(*root) < 1e9) row.root = static_cast<int>(*root);
      if (!is_time(columns[i])) continue;
      if (columns[i] == Column::cpu_time) {
        count_skipped(run_.skipped, "nccl-tests printed CPU time (-C 1): how long the call took, not the operation");
        continue;
      }
      if (auto side = side_of(cells, columns, i)) {
        side->known_place = sides == 2 || header_places_[0] || header_places_[1];
        side->in_place = sides == 2 ? place == 1 : header_places_[1] && !header_places_[0];
        row.add(*side);
      }
      ++place;
    }
    if (row.sides > 0) run_.rows.push_back(row);
    if (run_.rows.size() >= max_rows_held) hand_on();
    return true;
  }

  static bool is_time(Column c) { return c == Column::time || c == Column::cpu_time; }

  LineReader lines_;
  std::string broken_;  ///< the reason of rows that other output broke
  const RunSink& take_;
  LogRun run_;
  int runs_ = 0;
  std::vector<Column> columns_, guessed_;
  Tokens cells_;
  std::string type_text_;
  std::optional<DataType> type_;  ///< of type_text_
  std::array<bool, 2> places_{};  ///< out-of-place, in-place: from the line before the header
  std::array<bool, 2> header_places_{};
  bool named_ = false;      ///< the run names its test itself
  bool handed_on_ = false;  ///< rows of this run were already passed on
};

}  // namespace

int read_nccl_runs(const std::filesystem::path& file, const RunSink& take) { return NcclTestsReader(file, take).read(); }

}  // namespace fabricost::core
