/// A dump of PyTorch's flight recorder (dumps/flight_recorder.hpp) as a trace of its rank. The recorder times kernels only with
/// TORCH_NCCL_ENABLE_TIMING, and notices their ends by polling: lengths are exact, places in time are not. Without it calls have no time.
/// Entries of one sequence number were coalesced into one call.

#include "readings/dumps/flight_recorder.hpp"
#include "readings/dumps/pickle.hpp"
#include "readings/traces/json_pieces.hpp"
#include "readings/traces/readers.hpp"
#include "text/ascii.hpp"
#include "text/line_reader.hpp"

#include <algorithm>
#include <charconv>

namespace fabricost::observe {

namespace {

constexpr std::int64_t latest_ns = 2'000'000'000'000'000'000;

/// The other rank of "send 0->1" or "recv 1<-0", as its number in the group; -1: none.
[[nodiscard]] int peer_in(std::string_view operation) {
  std::size_t from = operation.size();
  while (from > 0 && is_digit(operation[from - 1])) --from;
  int peer = -1;
  if (from > 0 && (operation[from - 1] == '>' || operation[from - 1] == '-'))
    (void)std::from_chars(operation.data() + from, operation.data() + operation.size(), peer);
  return peer;
}

[[nodiscard]] std::vector<TracedGroup> groups_of(const FlightDumps& dumps, RankTrace& trace) {
  std::vector<TracedGroup> out;
  for (const FlightGroup& one : dumps.groups) {
    TracedGroup group{.name = one.bare, .words = one.words, .ranks = {one.ranks.begin(), one.ranks.end()}};
    group.size = static_cast<int>(group.ranks.size());
    trace.world = std::max(trace.world, group.ranks.empty() ? 0 : group.ranks.back() + 1);
    out.push_back(std::move(group));
  }
  return out;
}

[[nodiscard]] Elements elements_of_entry(const FlightEntry& one) {
  const auto whole = [](double count) { return count < 0 ? -1 : static_cast<std::int64_t>(count); };
  return {whole(one.elements_in), whole(one.elements_out)};
}

[[nodiscard]] TracedCall call_of_entry(const FlightDumps& dumps, const FlightEntry& one, const std::vector<TracedGroup>& groups) {
  const std::string& operation = dumps.words[one.operation];
  TracedCall call{.sequence = one.pair ? -1 : one.sequence, .group = one.group, .moves = moves_named(operation)};
  const TracedGroup& group = groups[one.group];
  call.type = type_named(dumps.words[one.type]);
  call.bytes = bytes_of_call(call.moves, elements_of_entry(one), call.type.width, group.size);
  const int peer = one.pair ? peer_in(operation) : -1;
  if (peer >= 0 && peer < std::ssize(group.ranks)) call.peer = group.ranks[static_cast<std::size_t>(peer)];
  const std::int64_t at = std::clamp<std::int64_t>(one.completed > 0 ? one.completed : one.created, 0, latest_ns);
  constexpr double longest = 1e9;  // ms, eleven days
  const bool timed = one.state == FlightEntry::State::completed && one.milliseconds > 0 && one.milliseconds < longest;
  call.timing = timed ? Timing::length : Timing::none;
  constexpr double ns = 1e6;  // of a millisecond
  call.span = {at - (timed ? static_cast<std::int64_t>(one.milliseconds * ns) : 0), at};
  return call;
}

/// Adds a call to the one that it was coalesced with. \return false: with none
[[nodiscard]] bool coalesced_with(RankTrace& trace, const TracedCall& call) {
  if (trace.calls.empty() || call.sequence < 0) return false;
  TracedCall& last = trace.calls.back();
  if (last.sequence != call.sequence || last.group != call.group || last.moves != call.moves) return false;
  last.bytes = last.bytes < 0 || call.bytes < 0 ? -1 : last.bytes + call.bytes;
  ++last.messages;
  return true;
}

}  // namespace

bool may_be_flight_dump(std::string_view head) {
  if (is_pickle(head)) return true;
  const auto has = [&](std::string_view word) { return head.find(word) != std::string_view::npos; };
  return begins_json(head) && !has("\"traceEvents\"") && !has("\"schemaVersion\"") &&
         (has("\"pg_status\"") || has("\"collective_seq_id\"") || (has("\"entries\"") && has("\"pg_config\"")));
}

std::vector<RankTrace> read_flight_dump(const std::filesystem::path& file) {
  constexpr std::size_t longest_dump = std::size_t{1} << 28U;
  const std::string bytes = whole_file(file, longest_dump), name = file.string();
  std::size_t next = 0;
  const PlainTree tree = is_pickle(bytes) ? read_pickle(bytes, name) : read_json_value(bytes, next, name);
  if (!is_flight_dump(tree)) throw fault_of_file(name, "is no dump of PyTorch's flight recorder", "docs/traces.md lists what is read");
  FlightDumps dumps;
  (void)add_flight_dump(tree, name, dumps);
  const FlightDump& dump = dumps.dumps.front();
  RankTrace trace = trace_of_calls(dump.file);
  trace.rank = dump.rank;
  trace.library = dump.library;
  trace.groups = groups_of(dumps, trace);
  for (const FlightEntry& one : dump.entries) {
    const TracedCall call = call_of_entry(dumps, one, trace.groups);
    if (call.moves == Moves::unknown)
      ++trace.skipped["an entry of the flight recorder that names no operation of its own"];
    else if (!coalesced_with(trace, call))
      trace.calls.push_back(call);
  }
  return one_from_zero(std::move(trace));
}

}  // namespace fabricost::observe
