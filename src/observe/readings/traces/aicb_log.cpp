/// \file aicb_log.cpp
/// Logs of AICB (aliyun/aicb, the benchmark of SimAI's workloads), CSV: a row a call of one rank, in its order, with its size and the
/// milliseconds that rank spent in it. A workload that was not run has no times. Sizes are those of the whole, as in nccl-tests.

#include "readings/traces/json_pieces.hpp"
#include "readings/traces/readers.hpp"
#include "readings/traces/table_rows.hpp"

#include <algorithm>
#include <map>

namespace fabricost::observe {

namespace {

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
  std::vector<RankTrace> out(1);
  RankTrace& trace = out.front();
  trace.file = rows.name();
  trace.shows_compute = false;
  std::map<std::string, std::uint32_t> places;
  double now = 0;  // ns
  while (rows.next()) {
    const Moves moves = moves_of_row(member_of(rows.cell("comm_type")));
    if (moves == Moves::unknown || moves == Moves::barrier) continue;  // computation, ends of steps
    const std::string group = shown_text(member_of(rows.cell("comm_group")));
    const auto [at, fresh] = places.try_emplace(group, static_cast<std::uint32_t>(trace.groups.size()));
    if (fresh) trace.groups.push_back({.name = group, .words = group, .ranks = {}});
    constexpr double most_ranks = 1e6, most_bytes = 1e17, longest = 1e9, ns = 1e6;
    TracedGroup& said = trace.groups[at->second];
    said.size = std::max(said.size, static_cast<int>(std::clamp(rows.number("comm_group_size", 0), 0.0, most_ranks)));
    TracedCall call{.group = at->second, .moves = moves};
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
  begin_at_zero(trace);
  return out;
}

}  // namespace fabricost::observe
