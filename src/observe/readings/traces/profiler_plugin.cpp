/// Dumps of NCCL's example profiler plugin (plugins/profiler/example, NCCL 2.24 on; once ext-profiler/example): pairs of events in Chrome's
/// format, one file a communicator and rank. A COLL or P2P event lasts from its enqueueing to its end; inside it are the kernels of its
/// channels (KernelCh), whose times count where they are there. Counts of gathers and scatters are one rank's part. A file does not say
/// how many ranks its communicator has: as many as the files of all ranks show.

#include "readings/traces/json_pieces.hpp"
#include "readings/traces/readers.hpp"
#include "text/line_reader.hpp"

#include <fabricost/progress.hpp>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

namespace fabricost::observe {

namespace {

struct PluginEvent {
  std::string_view name, category, phase, id, at, process, args;
};
/// The arguments of a call.
struct PluginCall {
  std::string_view communicator, rank, sequence, count, type, peer, gpu_start, gpu_stop;
};

[[nodiscard]] bool read_event(std::string_view raw, PluginEvent& out) {
  return read_members(raw, {{"name", &out.name},
                            {"cat", &out.category},
                            {"ph", &out.phase},
                            {"id", &out.id},
                            {"ts", &out.at},
                            {"pid", &out.process},
                            {"args", &out.args}});
}

[[nodiscard]] PluginCall read_arguments(std::string_view raw) {
  PluginCall out;
  if (raw.empty()) return out;
  read_members(raw, {{"CommHash", &out.communicator},
                     {"Rank", &out.rank},
                     {"SeqNum", &out.sequence},
                     {"Count", &out.count},
                     {"Datatype", &out.type},
                     {"Peer", &out.peer},
                     {"StartGpuClk", &out.gpu_start},
                     {"StopGpuClk", &out.gpu_stop}});
  return out;
}

class PluginReader {
 public:
  explicit PluginReader(const std::filesystem::path& file) : json_(file), trace_(trace_of_calls(json_.name())) {}

  std::vector<RankTrace> run() {
    json_.read(
        "traceEvents", [](std::string_view, std::string_view) {}, [&](std::string_view raw) { take(raw); });
    close();
    if (trace_.calls.empty() && trace_.skipped.empty()) return {};  // of a communicator that was not used
    return one_from_zero(std::move(trace_));
  }

 private:
  void take(std::string_view raw) {
    constexpr std::uint64_t often = 65536;
    if (++events_ % often == 0) ask_to_go_on();
    PluginEvent event;
    if (raw.empty() || raw.front() != '{' || !read_event(raw, event)) json_.fail("an event is not what NCCL's profiler plugin writes");
    const bool begins = event.phase == "b";
    if (event.category == "COLL" || event.category == "P2P") {
      if (begins) {
        close();
        open(event);
      } else if (open_ && event.id == id_ && event.category == category_) {
        call_.span.to = time_of(event);
        close();
      }
    } else if (event.category == "GPU" && event.name == "KernelCh" && open_) {
      kernel(event, begins);
    }
  }

  [[nodiscard]] std::int64_t time_of(const PluginEvent& event) const {
    std::int64_t at = 0;
    if (!nanoseconds(event.at, at)) json_.fail("the time of an event is no time");
    return at;
  }

  void open(const PluginEvent& event) {
    const PluginCall said = read_arguments(event.args);
    call_ = {
        .span = {time_of(event), time_of(event)}, .moves = moves_named(event.name), .type = type_named(said.type), .of_one_rank = true};
    call_.group = group_of(said);
    if (call_.moves == Moves::send_recv)
      call_.peer = count_in(said.peer);
    else
      call_.sequence = std::max<std::int64_t>(-1, json_whole(said.sequence, -1));
    constexpr std::int64_t most = std::int64_t{1} << 52U;
    const std::int64_t count = json_whole(said.count, -1);
    if (count >= 0 && count <= most && call_.type.width > 0) call_.bytes = static_cast<double>(count) * call_.type.width;
    if (trace_.process.empty()) trace_.process = shown_text(event.process);
    kernels_ = gpu_ = nothing_yet;
    id_ = event.id;
    category_ = event.category;
    open_ = true;
  }

  void kernel(const PluginEvent& event, bool begins) {
    const std::int64_t at = time_of(event);
    if (!begins) {
      kernels_.to = std::max(kernels_.to, at);
      return;
    }
    kernels_.from = std::min(kernels_.from, at);
    const PluginCall said = read_arguments(event.args);
    const std::int64_t start = json_whole(said.gpu_start, 0), stop = json_whole(said.gpu_stop, 0);
    if (start > 0) gpu_.from = std::min(gpu_.from, start);
    if (stop > 0) gpu_.to = std::max(gpu_.to, stop);
  }

  /// The length is that of the GPU's clock where it has one, its end that of the host's.
  void close() {
    if (!std::exchange(open_, false)) return;
    if (kernels_.from < kernels_.to) call_.span = kernels_;
    constexpr std::int64_t longest = 86'400'000'000'000;
    if (gpu_.from < gpu_.to && gpu_.to - gpu_.from < longest && kernels_.from < kernels_.to)
      call_.span.from = call_.span.to - (gpu_.to - gpu_.from);
    if (call_.moves == Moves::unknown)
      ++trace_.skipped["a call of NCCL that is no collective"];
    else if (call_.span.to <= call_.span.from)
      ++trace_.skipped["a collective of NCCL whose end is not in the dump"];
    else
      trace_.calls.push_back(call_);
  }

  [[nodiscard]] std::uint32_t group_of(const PluginCall& said) {
    const std::string id = shown_text(said.communicator);
    for (std::uint32_t i = 0; i < trace_.groups.size(); ++i)
      if (trace_.groups[i].id == id) return i;
    trace_.groups.push_back({.name = id, .words = {}, .ranks = {}, .id = id, .own = count_in(said.rank)});
    return static_cast<std::uint32_t>(trace_.groups.size() - 1);
  }

  static constexpr Span nothing_yet{std::numeric_limits<std::int64_t>::max(), 0};
  JsonPieces json_;
  RankTrace trace_;
  TracedCall call_;
  Span kernels_ = nothing_yet, gpu_ = nothing_yet;
  std::string id_, category_;
  bool open_ = false;
  std::uint64_t events_ = 0;
};

}  // namespace

bool may_be_profiler_plugin(std::string_view head) {
  if (!begins_json(head)) return false;
  for (const char* word : {"\"cat\": \"GROUP", "\"cat\": \"COLL", "\"cat\": \"P2P", "\"cat\": \"PROXY\"", "\"cat\": \"KERNEL_LAUNCH\""})
    if (head.find(word) != std::string_view::npos) return true;
  return head.find("\"CommHash\"") != std::string_view::npos;
}

std::vector<RankTrace> read_profiler_plugin(const std::filesystem::path& file) { return PluginReader(file).run(); }

}  // namespace fabricost::observe
