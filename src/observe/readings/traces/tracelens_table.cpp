/// \file tracelens_table.cpp
/// Tables of TraceLens (AMD-AGI/TraceLens), CSV: a row for all calls of one operation, group and size. comm_latency is from the last start
/// to the last end over all ranks, without waiting; dur is one rank's time, with it. Microseconds.

#include "readings/traces/json_pieces.hpp"
#include "readings/traces/readers.hpp"
#include "readings/traces/table_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace fabricost::observe {

bool may_be_tracelens(std::string_view head) {
  head = head.substr(0, head.find('\n'));
  return head.find("Collective name") != std::string_view::npos && head.find(',') != std::string_view::npos && !begins_json(head) &&
         (head.find("comm_latency") != std::string_view::npos || head.find("dur") != std::string_view::npos);
}

std::vector<RankTrace> read_tracelens(const std::filesystem::path& file) {
  TableRows rows(file);
  std::vector<RankTrace> out(1);
  RankTrace& trace = out.front();
  trace.file = rows.name();
  trace.shows_compute = false;
  std::map<std::string, std::uint32_t> places;
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
    const auto [at, fresh] =
        places.try_emplace(fmt::format("{}|{}|{}", group.name, group.size, rows.cell("Process Group Ranks")), trace.groups.size());
    TracedCall call{.group = at->second, .moves = moves_named(rows.cell("Collective name")), .type = type_named(rows.cell("dtype"))};
    const auto elements = [&](std::string_view column) {
      const double n = rows.number(column, -1);
      return n < 0 || n > max_elements ? -1 : static_cast<std::int64_t>(n);
    };
    call.bytes = bytes_of_call(call.moves, {elements("In msg nelems"), elements("Out msg nelems")}, call.type.width, group.size);
    if (fresh) trace.groups.push_back(std::move(group));
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
  begin_at_zero(trace);
  return out;
}

}  // namespace fabricost::observe
