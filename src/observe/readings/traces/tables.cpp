/// Traces that are CSV tables of another tool.

#include "readings/traces/json_pieces.hpp"
#include "readings/traces/readers.hpp"
#include "text/csv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost::observe {

namespace {

class TableRows {
 public:
  /// \throws SpecError when it cannot be read
  explicit TableRows(const std::filesystem::path& file);
  /// \throws SpecError for a row that is no row of this table
  [[nodiscard]] bool next();
  /// A cell of the row by the name of its column, or how that begins; empty: none.
  [[nodiscard]] std::string_view cell(std::string_view column) const;
  /// \throws SpecError where the cell is no number; `otherwise` where it is empty or None
  [[nodiscard]] double number(std::string_view column, double otherwise) const;
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  [[nodiscard]] bool line(std::string_view& out);
  [[noreturn]] void fail(int column, std::string message) const;

  std::string name_, text_;
  std::size_t at_ = 0;
  int number_ = 0;
  std::string_view current_;
  std::vector<std::string> header_;
  std::vector<CsvCell> cells_;
};

TableRows::TableRows(const std::filesystem::path& file) : name_(file.string()) {
  constexpr std::size_t longest_table = std::size_t{1} << 28U;
  text_ = whole_file(file, longest_table);
  if (text_.find('\0') != std::string::npos) throw fault_of_file(name_, "there is a zero byte: the file is not text", "export it as CSV");
  if (!line(current_)) throw fault_of_file(name_, "is empty", "export it as CSV");
  if (const auto fault = split_csv(current_, cells_)) fail(fault->column, fault->message);
  for (CsvCell& cell : cells_) header_.push_back(std::move(cell.text));
}

void TableRows::fail(int column, std::string message) const {
  constexpr std::size_t shown = 120;
  throw SpecError(
      {fault_in_line(name_, number_, column, std::string{current_.substr(0, shown)}, std::move(message), "export the table again")});
}

bool TableRows::line(std::string_view& out) {
  if (at_ >= text_.size()) return false;
  const std::size_t end = std::min(text_.find('\n', at_), text_.size());
  out = std::string_view{text_}.substr(at_, end - at_);
  if (!out.empty() && out.back() == '\r') out.remove_suffix(1);
  at_ = end + 1;
  ++number_;
  return true;
}

bool TableRows::next() {
  while (line(current_)) {
    if (current_.find_first_not_of(" \t") == std::string_view::npos) continue;
    if (const auto fault = split_csv(current_, cells_)) fail(fault->column, fault->message);
    if (cells_.size() != header_.size()) fail(0, "the row has another number of cells than the header");
    return true;
  }
  return false;
}

std::string_view TableRows::cell(std::string_view column) const {
  for (std::size_t i = 0; i < header_.size(); ++i)
    if (header_[i] == column) return cells_[i].text;
  for (std::size_t i = 0; i < header_.size(); ++i)
    if (header_[i].starts_with(column)) return cells_[i].text;
  return {};
}

double TableRows::number(std::string_view column, double otherwise) const {
  const std::string_view text = cell(column);
  if (text.empty() || text == "None" || text == "nan") return otherwise;
  const auto out = parse_number(text);
  if (out) return *out;
  const auto at = std::find_if(cells_.begin(), cells_.end(), [&](const CsvCell& one) { return one.text == text; });
  fail(at == cells_.end() ? 0 : at->column, "this is no number");
}

// Logs of AICB (aliyun/aicb, the benchmark of SimAI's workloads), CSV: a row a call of one rank, in its order, with its size and the
// milliseconds that rank spent in it. A workload that was not run has no times. Sizes are those of the whole, as in nccl-tests.

/// "tp_group" of "CommGroup.tp_group".
[[nodiscard]] std::string_view member_of(std::string_view text) {
  const auto dot = text.rfind('.');
  return dot == std::string_view::npos ? text : text.substr(dot + 1);
}

[[nodiscard]] Moves moves_of_row(std::string_view type) {
  if (type == "isend" || type == "irecv") type.remove_prefix(1);
  return moves_named(type);
}

}  // namespace

bool may_be_aicb(std::string_view head) { return head.starts_with("comm_type,comm_group"); }

std::vector<RankTrace> read_aicb(const std::filesystem::path& file) {
  TableRows rows(file);
  RankTrace trace = trace_of_calls(rows.name());
  GroupPlaces places;
  double now = 0;  // ns
  while (rows.next()) {
    const Moves moves = moves_of_row(member_of(rows.cell("comm_type")));
    if (moves == Moves::unknown || moves == Moves::barrier) continue;  // computation, ends of steps
    const std::string group = shown_text(member_of(rows.cell("comm_group")));
    const std::uint32_t at = places.of(group, trace, [&] { return TracedGroup{.name = group, .words = group, .ranks = {}}; });
    constexpr double most_ranks = 1e6, most_bytes = 1e17, longest = 1e9, ns = 1e6;
    TracedGroup& said = trace.groups[at];
    said.size = std::max(said.size, static_cast<int>(std::clamp(rows.number("comm_group_size", 0), 0.0, most_ranks)));
    TracedCall call{.group = at, .moves = moves};
    if (const double bytes = rows.number("msg_size", -1); bytes >= 0 && bytes < most_bytes) call.bytes = bytes;
    const double milliseconds = rows.number("_elapsed_time", -1);
    const bool timed = milliseconds > 0 && milliseconds < longest;
    call.timing = timed ? Timing::length : Timing::none;
    call.repeats = static_cast<int>(std::clamp(rows.number("count", 1), 1.0, most_ranks));
    const double length = timed ? milliseconds * ns : 0;
    if (now + length > longest * ns) break;
    call.span = {static_cast<std::int64_t>(now), static_cast<std::int64_t>(now + length)};
    now += length;
    trace.calls.push_back(call);
  }
  return one_from_zero(std::move(trace));
}

// Tables of TraceLens (AMD-AGI/TraceLens), CSV: a row for all calls of one operation, group and size. comm_latency is from the last start
// to the last end over all ranks, without waiting; dur is one rank's time, with it. Microseconds.

bool may_be_tracelens(std::string_view head) {
  head = head.substr(0, head.find('\n'));
  return head.find("Collective name") != std::string_view::npos && head.find(',') != std::string_view::npos && !begins_json(head) &&
         (head.find("comm_latency") != std::string_view::npos || head.find("dur") != std::string_view::npos);
}

std::vector<RankTrace> read_tracelens(const std::filesystem::path& file) {
  TableRows rows(file);
  RankTrace trace = trace_of_calls(rows.name());
  GroupPlaces places;
  double now = 0;  // ns
  while (rows.next()) {
    constexpr double most = 1e6, longest = 1e12, max_elements = 1e15, ns = 1000;
    const auto count = [&](std::string_view column, double otherwise) {
      return static_cast<int>(std::clamp(rows.number(column, otherwise), 0.0, most));
    };
    TracedGroup group{.name = shown_text(rows.cell("Process Group Name")),
                      .words = shown_text(rows.cell("Process Group Description")),
                      .ranks = {},
                      .size = count("Group size", 0)};
    bool cut = false;
    group.ranks = ranks_in(rows.cell("Process Group Ranks"), cut);
    if (cut || std::ssize(group.ranks) != group.size) group.ranks.clear();
    const std::string key = fmt::format("{}|{}|{}", group.name, group.size, rows.cell("Process Group Ranks"));
    TracedCall call{.group = places.of(key, trace, [&] { return group; }),
                    .moves = moves_named(rows.cell("Collective name")),
                    .type = type_named(rows.cell("dtype"))};
    const auto elements = [&](std::string_view column) {
      const double n = rows.number(column, -1);
      return n < 0 || n > max_elements ? -1 : static_cast<std::int64_t>(n);
    };
    call.bytes = bytes_of_call(call.moves, {elements("In msg nelems"), elements("Out msg nelems")}, call.type.width, group.size);
    call.repeats = std::max({1, count("count", 0), count("operation_count", 0)});
    double microseconds = -1;
    for (const char* column : {"comm_latency_median", "comm_latency_mean", "comm_latency"})
      if (microseconds < 0) microseconds = rows.number(column, -1);
    call.without_waiting = microseconds >= 0;
    for (const char* column : {"dur_min", "dur_mean", "dur"})
      if (microseconds < 0) microseconds = rows.number(column, -1);
    if (call.moves == Moves::unknown || !(microseconds > 0) || now + microseconds > longest) {
      ++trace.skipped["a row without an operation or a time"];
      continue;
    }
    call.timing = Timing::length;
    call.span = {static_cast<std::int64_t>(now * ns), static_cast<std::int64_t>((now + microseconds) * ns)};
    now += microseconds;
    trace.calls.push_back(call);
  }
  return one_from_zero(std::move(trace));
}

}  // namespace fabricost::observe
