/// A test begins where, after rows of a table, something comes that is printed before one: the command, the head of
/// nccl-tests, a rank, the names of the columns.

#include "diagnose/inputs/split.hpp"

#include "readings/logs/line_fields.hpp"
#include "readings/logs/literals.hpp"
#include "readings/logs/log_text.hpp"
#include "readings/logs/nccl_info.hpp"
#include "text/line_reader.hpp"
#include "text/plain_text.hpp"
#include "text/quantile.hpp"

#include <fabricost/collective.hpp>

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <system_error>

namespace fabricost::observe::diagnosis {

namespace {

constexpr std::size_t max_tests = 256, max_names = 65536, longest_heading = 200;

/// "# Rank 3 Group 0 Pid 12 on HOST device 3 [0x1b] NVIDIA H100"
struct ListedRank {
  std::string host, gpu;
};
std::optional<ListedRank> listed_rank(std::string_view line) {
  const auto rest = after(line, "Rank ");
  if (rest.empty() || !is_digit(rest.front())) return std::nullopt;
  const auto on = after(rest, " on "), device = after(rest, " device ");
  if (on.empty() || device.empty()) return std::nullopt;
  return ListedRank{plain_text(std::string{word(on)}), plain_text(std::string{after(device, "]")})};
}

/// A row of nccl-tests behind whatever a launcher printed: a size, a count, a type, an operation and a root, a time.
struct TimedRow {
  double bytes = 0, time = 0;  ///< time 0: none
};
std::optional<TimedRow> row_of(std::string_view line, Tokens& tokens) {
  split(line, tokens);
  for (std::size_t i = 2; i < tokens.size(); ++i)
    if (all_digits(tokens[i - 1]) && is_digit(tokens[i - 2].back()) && parse_data_type(tokens[i])) {
      TimedRow row{real_at(tokens[i - 2]), 0};
      for (std::size_t k = i + 1; k < tokens.size() && k < i + 4 && row.time == 0; ++k)
        if (is_digit(tokens[k].front()) && (has(tokens[k], ".") || k == i + 3)) row.time = real_at(tokens[k]);
      return row;
    }
  return std::nullopt;
}

/// Times at the largest common size that no repeat of a test has: sound runs of one machine are within a tenth of their middle.
bool times_differ(const Test& a, const Test& b) {
  constexpr double least_bytes = 1 << 20, of_middle = 1.1, most = of_middle * of_middle;
  for (auto at = a.times.rbegin(); at != a.times.rend() && at->first >= least_bytes; ++at)
    if (const auto other = b.times.find(at->first); other != b.times.end())
      return std::max(at->second, other->second) > most * std::min(at->second, other->second);
  return false;
}

/// Times at most sizes, and at the largest, that one run shows when it is started again. Without a common size they are parts of one.
bool times_repeat(const Test& a, const Test& b) {
  constexpr double most = 1.1, least_bytes = 1 << 20;
  std::vector<double> factors, small;  // by size
  for (const auto& [bytes, time] : a.times)
    if (const auto other = b.times.find(bytes); other != b.times.end())
      (bytes < least_bytes ? small : factors).push_back(std::max(time, other->second) / std::min(time, other->second));
  if (factors.empty()) factors = std::move(small);  // latencies, which vary
  if (factors.empty()) return true;
  const double last = factors.back();
  return std::max(last, core::upper_median(factors)) <= most;
}

/// "all_reduce" of "./build/all_reduce_perf -b 8"
std::string operation_in(std::string_view line) {
  const auto end = line.find("_perf");
  if (end == std::string_view::npos) return {};
  std::size_t first = end;
  while (first > 0 && ((line[first - 1] >= 'a' && line[first - 1] <= 'z') || line[first - 1] == '_')) --first;
  return std::string{line.substr(first, end - first)};
}

/// A line that people or scripts write before a run: what it is, or its command.
bool is_heading(std::string_view text) {
  if (text.empty() || text.front() == '#') return false;
  static const LiteralFilter commands{"_perf ", "mpirun", "srun ", "NCCL_"};
  if (commands.may_hold(text))
    for (const std::string_view part : {"_perf ", "mpirun", "srun ", "NCCL_"})
      if (has(text, part)) return true;
  return text.back() == ':' || text.starts_with("==") || text.starts_with("--") || text.starts_with("+ ") || text.starts_with("$ ");
}

class Splitter {
 public:
  explicit Splitter(const std::filesystem::path& log) : lines_(log) {}

  std::vector<Test> read() {
    begin(1);
    std::string said;
    for (std::string line; lines_.next(line);) {
      if (line.starts_with(file_mark)) {
        end();
        file_ = plain_text(line.substr(file_mark.size()));
        before_ = lines_.number();
        begin(lines_.number());
        continue;
      }
      (void)unprefix(line);
      take(line);
      last_ = lines_.number();
    }
    end();
    return grouped();
  }

 private:
  void begin(int line) {
    now_ = {};
    now_.file = file_;
    now_.line = std::max(1, line - before_);
    now_.spans = {{line, line}};
    named_ = false;
  }
  void end() {
    now_.spans.back().second = std::max(last_, now_.spans.back().first);
    if (now_.spans.back().second > now_.spans.back().first || now_.tables > 0) found_.push_back(std::move(now_));
  }

  void take(std::string_view line) {
    const bool said = has(line, "NCCL INFO") || has(line, "NCCL WARN");
    if (const auto row = said ? std::nullopt : row_of(line, tokens_)) {
      now_.tables = 1;
      constexpr std::size_t max_sizes = 1024;
      if (row->time > 0 && now_.times.size() < max_sizes) now_.times.try_emplace(row->bytes, row->time);
      return;
    }
    const bool heading = !said && is_heading(trimmed(line));
    if (heading) heading_ = trimmed(line).substr(0, longest_heading);
    static const LiteralFilter of_table{"Rank ", "Collective test", "_perf", "algbw", "nThread ", "Using devices", "nccl-tests"};
    if (!of_table.may_hold(line)) {
      if (heading && now_.tables == 0) now_.said = heading_;
      return;
    }
    const auto rank = said ? std::nullopt : listed_rank(line);
    const bool starts = !said && has(line, "Collective test starting");
    const bool command = !said && has(line, "_perf") && !has(line, "concluded");
    const bool columns = has(line, "algbw") && has(line, "busbw") && has(line, "time");
    const bool head = rank || starts || command || columns ||
                      (!said && (has(line, "nThread ") || has(line, "Using devices") ||
                                 has(line, "nccl-tests version")));
    if (head && now_.tables > 0) {
      end();
      begin(lines_.number());
    }
    if (heading) {
      if (now_.tables == 0) now_.said = heading_;
    } else if (head && now_.said.empty()) {
      now_.said = heading_;
    }
    if (rank) {
      ++now_.ranks;
      if (now_.hosts.size() < max_names) now_.hosts.insert(rank->host);
      if (now_.gpus.size() < max_names && !rank->gpu.empty()) now_.gpus.insert(rank->gpu);
    }
    if ((command || starts) && (starts || !named_)) {
      if (std::string operation = operation_in(line); !operation.empty()) now_.operation = std::move(operation);
      named_ = starts;
    }
  }

  static bool differs(const std::set<std::string>& a, const std::set<std::string>& b) {
    return !a.empty() && !b.empty() && a != b;
  }
  [[nodiscard]] static bool same(const Test& a, const Test& b, bool by_host) {
    const bool operations = a.operation.empty() || b.operation.empty() || a.operation == b.operation;
    const bool ranks = a.ranks == 0 || b.ranks == 0 || a.ranks == b.ranks;
    return operations && ranks && !differs(a.gpus, b.gpus) && !(by_host && differs(a.hosts, b.hosts)) &&
           !(a.ranks == b.ranks && times_differ(a, b)) && ((a.file == b.file && a.said == b.said) || times_repeat(a, b));
  }

  /// Those that are alike as one. Files without a test go to the test of their name's host, else stand for themselves.
  std::vector<Test> grouped() {
    // processes that each ran alone, on whatever host, are one mistake and no tests of nodes
    const bool by_host = std::any_of(found_.begin(), found_.end(), [](const Test& one) { return one.ranks > 1; });
    std::vector<Test> out, rest;
    for (Test& one : found_) {
      if (one.tables == 0 && one.ranks == 0) {  // else a test that printed no row
        if (one.file.empty() && !out.empty())
          out.back().spans.push_back(one.spans.front());
        else
          rest.push_back(std::move(one));
        continue;
      }
      const auto like =
          std::find_if(out.rbegin(), out.rend(), [&](const Test& other) { return same(one, other, by_host); });
      if (like == out.rend()) {
        out.push_back(std::move(one));
        continue;
      }
      if (one.tables > 0 && one.file != like->file) like->repeats.push_back(one.file);
      like->tables += one.tables;
      if (like->operation.empty()) like->operation = one.operation;
      like->spans.push_back(one.spans.front());
    }
    if (out.size() < 2) return out;
    Test others;
    for (Test& one : rest) {
      const auto own = std::find_if(out.begin(), out.end(), [&](const Test& test) {
        return std::any_of(test.hosts.begin(), test.hosts.end(),
                           [&](const std::string& host) { return has(one.file, host); });
      });
      Test& to = own == out.end() ? others : *own;
      if (to.file.empty()) to.file = one.file;
      to.spans.push_back(one.spans.front());
    }
    if (out.size() > max_tests) out.resize(max_tests);
    if (!others.spans.empty()) out.push_back(std::move(others));
    for (Test& one : out) std::sort(one.spans.begin(), one.spans.end());
    return out;
  }

  LineReader lines_;
  std::string file_;
  int before_ = 0, last_ = 0;
  bool named_ = false;
  std::string heading_;  ///< the last one
  Tokens tokens_;        ///< of a line
  Test now_;
  std::vector<Test> found_;
};

}  // namespace

std::string Test::title() const {
  std::string out = operation.empty() ? (tables > 0 ? "a table" : "lines without a table") : operation;
  if (ranks > 0) {
    out += fmt::format(", {} rank{}", ranks, ranks == 1 ? "" : "s");
    out += hosts.size() == 1 ? " on " + *hosts.begin() : fmt::format(" on {} nodes", hosts.size());
  }
  return fmt::format("{} ({})", out, place());
}

std::string Test::place() const {
  return file.empty() ? fmt::format("line {}", line) : line > 1 ? fmt::format("{} line {}", file, line) : file;
}

std::string Test::repeated() const {
  if (repeats.empty()) return "";
  const std::string others = repeats.size() == 1 ? repeats.front() : fmt::format("{} other files", repeats.size());
  return fmt::format("; {} and {} repeat one run and are judged by their medians", file, others);
}

std::vector<Test> different_tests(const std::filesystem::path& log) { return Splitter(log).read(); }

PartOfLog::PartOfLog(const std::filesystem::path& log, const Test& test) {
  std::string name = (std::filesystem::temp_directory_path() / "fabricost-XXXXXX").string();
  const auto fail = [](const std::string& what) {
    throw fault_of_file(what, std::string{"cannot be written: "} + std::strerror(errno),
                            "set TMPDIR to a folder you may write");
  };
  if (mkdtemp(name.data()) == nullptr) fail(name);
  folder_ = name;
  const std::filesystem::path own = std::filesystem::path{test.file}.filename();
  file_ = folder_ / (test.file.empty() ? log.filename() : own.stem().replace_extension(".txt"));
  try {
    std::ofstream out(file_, std::ios::binary);
    if (!out) fail(file_.string());
    LineReader lines(log);
    std::string file;
    int file_at = 0, written = 0;
    bool marked = true;
    auto span = test.spans.begin();
    const auto put = [&](const std::string& line, int number, int times) {
      if (number != written + 1 || times > 1) out << line_mark << number << ' ' << times << '\n';
      out << line << '\n';
      written = number;
    };
    for (std::string line; span != test.spans.end() && lines.next(line);) {
      if (line.starts_with(file_mark)) {
        file = line;
        file_at = lines.number();
        marked = false;
        if (span->second == file_at) ++span;
        continue;
      }
      if (lines.number() < span->first) continue;
      if (!marked) put(file, file_at, 1);
      marked = true;
      put(line, lines.number(), lines.times());
      while (span != test.spans.end() && lines.number() >= span->second) ++span;
    }
    out.close();
    if (!out) fail(file_.string());
  } catch (...) {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
    throw;
  }
}

PartOfLog::~PartOfLog() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

}  // namespace fabricost::observe::diagnosis
