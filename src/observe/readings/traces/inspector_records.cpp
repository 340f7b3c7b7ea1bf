/// NCCL Inspector (plugins/profiler/inspector, NCCL 2.27 on; once ext-profiler/inspector): one JSON record for every collective, send and
/// receive of a process, with its time and size. Without NCCL_INSPECTOR_DUMP_VERBOSE no record says when a call began, only when it was
/// written; with it, the kernels' times of every channel are there. The size of a gather or scatter is one rank's part.

#include "readings/traces/json_pieces.hpp"
#include "readings/traces/readers.hpp"
#include "text/line_reader.hpp"

#include <fabricost/progress.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

namespace fabricost::observe {

namespace {

/// The fields of a record.
struct InspectorRecord {
  std::string_view id, communicator, rank, ranks, nodes;     // header
  std::string_view written, host, process;                   // metadata
  std::string_view what, sequence, bytes, time, peer;        // the call
  Span kernel{std::numeric_limits<std::int64_t>::max(), 0};  ///< of its channels, ns; empty: not said
};

/// First start to last end of the channels' kernels.
void read_times(std::string_view raw, Span& kernel) {
  for (JsonMembers times(raw); times.next();) {
    if (times.key != "kernel_events") continue;
    for (JsonMembers channels(times.value); channels.next();)
      for (JsonMembers one(channels.value); one.next();) {
        std::int64_t at = 0;
        if (!nanoseconds(one.value, at) || at <= 0) continue;
        if (one.key == "kernel_start_ts") kernel.from = std::min(kernel.from, at);
        if (one.key == "kernel_stop_ts") kernel.to = std::max(kernel.to, at);
      }
  }
}

[[nodiscard]] bool read_record(std::string_view raw, InspectorRecord& out) {
  std::string_view header, metadata, collective, pair, times;
  const bool whole =
      read_members(raw, {{"header", &header}, {"metadata", &metadata}, {"coll_perf", &collective}, {"p2p_perf", &pair}});
  if (!header.empty())
    read_members(header, {{"id", &out.id}, {"comm_name", &out.communicator}, {"rank", &out.rank}, {"n_ranks", &out.ranks}, {"nnodes", &out.nodes}});
  if (!metadata.empty()) read_members(metadata, {{"dump_timestamp_us", &out.written}, {"hostname", &out.host}, {"pid", &out.process}});
  if (!collective.empty())
    read_members(collective, {{"coll", &out.what},
                              {"coll_sn", &out.sequence},
                              {"coll_msg_size_bytes", &out.bytes},
                              {"coll_exec_time_us", &out.time},
                              {"event_trace_ts", &times}});
  if (!pair.empty())
    read_members(pair, {{"p2p", &out.what},
                        {"p2p_sn", &out.sequence},
                        {"p2p_msg_size_bytes", &out.bytes},
                        {"p2p_exec_time_us", &out.time},
                        {"p2p_peer", &out.peer},
                        {"event_trace_ts", &times}});
  if (!times.empty()) read_times(times, out.kernel);
  return whole;
}

class InspectorReader {
 public:
  explicit InspectorReader(const std::filesystem::path& file) : json_(file) {}

  std::vector<RankTrace> run() {
    try {
      json_.documents([&](std::string_view raw) { take(raw); });
    } catch (const SpecError&) {
      if (!json_.ends_early() || traces_.empty()) throw;
      ++traces_.front().skipped["a record that the end of the file cuts"];
    }
    if (traces_.empty())
      throw fault_of_file(json_.name(), "no record of it is a collective of NCCL Inspector", "name what the plugin wrote, or its folder");
    for (RankTrace& trace : traces_) begin_at_zero(trace);
    return std::move(traces_);
  }

 private:
  void take(std::string_view raw) {
    constexpr std::uint64_t often = 65536;
    if (++records_ % often == 0) ask_to_go_on();
    InspectorRecord record;
    if (!read_record(raw, record)) json_.fail("a record is not what NCCL Inspector writes");
    if (record.what.empty()) return;  // statistics of a dump
    RankTrace& trace = trace_of(record);
    TracedCall call{.group = group_of(record, trace), .moves = moves_named(record.what), .of_one_rank = true};
    const std::int64_t bytes = json_whole(record.bytes, -1);
    constexpr std::int64_t most = std::int64_t{1} << 52U;
    if (bytes >= 0 && bytes <= most) call.bytes = static_cast<double>(bytes);
    if (call.moves == Moves::send_recv)
      call.peer = count_in(record.peer);
    else
      call.sequence = std::max<std::int64_t>(-1, json_whole(record.sequence, -1));
    std::int64_t time = 0, written = 0;
    if (!nanoseconds(record.time, time) || time < 0) json_.fail("the time of a record is no time");
    if (!nanoseconds(record.written, written) || written < 0) written = 0;
    if (record.kernel.from < record.kernel.to) {
      call.span = record.kernel;
    } else {
      call.span = {written - time, written};
      call.timing = Timing::length;
    }
    if (call.moves == Moves::unknown)
      ++trace.skipped["a call of Inspector that is no collective"];
    else
      trace.calls.push_back(call);
  }

  RankTrace& trace_of(const InspectorRecord& record) {
    std::string process = fmt::format("{}:{}", shown_text(record.host), shown_text(record.process));
    if (record.process.empty()) process += fmt::format("{}/{}", record.id, record.rank);
    const auto [at, fresh] = places_.try_emplace(process, traces_.size());
    if (fresh) traces_.emplace_back(trace_of_calls(json_.name())).process = process;
    return traces_[at->second];
  }

  [[nodiscard]] std::uint32_t group_of(const InspectorRecord& record, RankTrace& trace) {
    for (std::uint32_t i = 0; i < trace.groups.size(); ++i)
      if (trace.groups[i].id == record.id) return i;
    const std::string words = shown_text(record.communicator);
    trace.groups.push_back({.name = words.empty() || words == "unknown" ? shown_text(record.id) : words,
                            .words = words == "unknown" ? "" : words,
                            .ranks = {},
                            .size = std::max(0, count_in(record.ranks)),
                            .id = std::string{record.id.substr(0, 64)},
                            .own = count_in(record.rank),
                            .nodes = std::max(0, count_in(record.nodes))});
    return static_cast<std::uint32_t>(trace.groups.size() - 1);
  }

  JsonPieces json_;
  std::vector<RankTrace> traces_;
  std::map<std::string, std::size_t> places_;
  std::uint64_t records_ = 0;
};

}  // namespace

bool may_be_inspector(std::string_view head) {
  if (!begins_json(head)) return false;
  for (const char* word : {"\"coll_perf\"", "\"p2p_perf\"", "\"inspector_output_format_version\""})
    if (head.find(word) != std::string_view::npos) return true;
  return false;
}

std::vector<RankTrace> read_inspector(const std::filesystem::path& file) { return InspectorReader(file).run(); }

}  // namespace fabricost::observe
