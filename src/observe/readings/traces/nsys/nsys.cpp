/// \file nsys.cpp
/// Exports of Nsight Systems (nsys export, SQLite): kernels with their start, end, process and device; the runtime calls that
/// launched them; NVTX ranges of NCCL around those calls, which say the communicator and the bytes of one rank where payloads are there
/// (NCCL 2.26 on). A rank is one device of one process; a file may hold several. An identifier of a thread is process << 24 | thread.

#include "readings/dumps/byte_source.hpp"
#include "readings/traces/kineto_parts.hpp"
#include "readings/traces/nsys/nvtx_payload.hpp"
#include "readings/traces/nsys/sqlite_file.hpp"
#include "readings/traces/readers.hpp"
#include "text/line_reader.hpp"
#include "text/plain_text.hpp"

#include <fabricost/progress.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

namespace fabricost::observe {

namespace {

constexpr std::int64_t longest_session = 1'000'000'000'000'000;  // ns, eleven days
constexpr const char* kernels = "CUPTI_ACTIVITY_KIND_KERNEL";

[[nodiscard]] std::int64_t process_of(std::int64_t thread) { return thread & ~std::int64_t{0xFFFFFF}; }

/// The events of one device of one process.
struct Device {
  RankTrace trace;
  kineto::Events events;
  SpanUnion compute, busy;
  Span whole{std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()};
  std::map<std::uint64_t, std::uint32_t> groups;  ///< by communicator

  void on_gpu(const Span& span) { whole = {std::min(whole.from, span.from), std::max(whole.to, span.to)}; }
};

class NsysReader {
 public:
  explicit NsysReader(const std::filesystem::path& file) : file_(file), payloads_(file_) {}

  std::vector<RankTrace> run() {
    if (!file_.has(kernels, "correlationId") || !file_.has("StringIds", "value"))
      throw fault_of_file(file_.name(), "is a database, but no export of Nsight Systems with kernels of CUDA",
                          "profile with CUDA and NVTX traced, and export as SQLite");
    own_process_ = file_.has(kernels, "globalPid");
    read_kernels();
    read_copies();
    read_launches();
    read_ranges();
    const std::string gpu = first("TARGET_INFO_GPU", "name"), host = first_where("TARGET_INFO_SYSTEM_ENV", "value", "name = 'Hostname'");
    const std::int64_t epoch = epoch_of_session();
    std::vector<RankTrace> out;
    for (auto& [place, device] : devices_) {
      RankTrace& trace = device.trace;
      trace.file = file_.name();
      trace.gpu = gpu;
      trace.process = fmt::format("{}:{}:{}", host.empty() ? file_.name() : host, place.first >> 24, place.second);
      if (trace.groups.empty()) trace.groups.emplace_back();
      kineto::join(device.events, trace);
      trace.compute = device.compute.take();
      for (const Span& one : trace.compute) device.busy.add(one);
      trace.busy = device.busy.take();
      begin_at(device.whole, epoch, trace);
      out.push_back(std::move(trace));
    }
    return out;
  }

 private:
  static void begin_at(const Span& whole, std::int64_t epoch, RankTrace& trace) {
    const auto move = [&](Span& span) { span.from -= whole.from, span.to -= whole.from; };
    for (TracedCall& call : trace.calls) move(call.span);
    for (std::vector<Span>* spans : {&trace.compute, &trace.busy}) std::for_each(spans->begin(), spans->end(), move);
    trace.whole = {0, whole.length()};
    trace.start = epoch + whole.from;
  }

  [[nodiscard]] Device& device_of(std::int64_t process, std::int64_t device) { return devices_[{process, device}]; }

  /// Start and end in columns 0 and 1.
  [[nodiscard]] Span span_of(const SqliteFile::Rows& rows) {
    constexpr std::int64_t often = 65536;
    if (++rows_ % often == 0) ask_to_go_on();
    const Span out{rows.whole(0), rows.whole(1)};
    if (out.from < 0 || out.to < out.from || out.to > longest_session)
      throw fault_of_file(file_.name(), fmt::format("an event lasts from {} to {} ns of the session", out.from, out.to),
                          "export it again as SQLite");
    return out;
  }

  void read_kernels() {
    const std::string name = file_.has(kernels, "demangledName") ? "demangledName" : "shortName";
    std::unordered_map<std::int64_t, std::optional<Moves>> known;
    for (SqliteFile::Rows names(file_,
                                fmt::format("SELECT id, value FROM StringIds WHERE id IN (SELECT DISTINCT {} FROM {})", name, kernels));
         names.next();)
      known[names.whole(0)] = moves_of_kernel(names.text(1));
    SqliteFile::Rows rows(file_, fmt::format("SELECT start, end, {}, deviceId, streamId, correlationId, {} FROM {}", name,
                                             own_process_ ? "globalPid" : "0", kernels));
    while (rows.next()) {
      const Span span = span_of(rows);
      Device& device = device_of(rows.whole(6), rows.whole(3));
      device.on_gpu(span);
      const auto at = known.find(rows.whole(2));
      const std::optional<Moves> moves = at == known.end() ? std::nullopt : at->second;
      if (!moves) {
        device.compute.add(span);
        continue;
      }
      kineto::Kernel kernel{.call = {.span = span, .group = group_of(device, 0, {})}, .correlation = rows.whole(5)};
      kernel.call.moves = *moves;
      constexpr std::int64_t max_streams = 1'000'000'000;
      kernel.call.stream = static_cast<int>(std::clamp<std::int64_t>(rows.whole(4), 0, max_streams));
      device.events.kernels.push_back(kernel);
      launched_[{rows.whole(6), kernel.correlation}] = &device;
    }
    if (devices_.empty()) throw fault_of_file(file_.name(), "no kernel ran in it", "profile while the program trains or serves");
  }

  void read_copies() {
    for (const char* table : {"CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET"}) {
      if (!file_.has(table, "deviceId")) continue;
      SqliteFile::Rows rows(file_, fmt::format("SELECT start, end, {}, deviceId FROM {}", own_process_ ? "globalPid" : "0", table));
      while (rows.next()) {
        const Span span = span_of(rows);
        const auto at = devices_.find({rows.whole(2), rows.whole(3)});
        if (at == devices_.end()) continue;
        at->second.on_gpu(span);
        at->second.busy.add(span);
      }
    }
  }

  void read_launches() {
    if (!file_.has("CUPTI_ACTIVITY_KIND_RUNTIME", "globalTid")) return;
    SqliteFile::Rows rows(file_, "SELECT start, end, correlationId, globalTid FROM CUPTI_ACTIVITY_KIND_RUNTIME");
    while (rows.next()) {
      const std::int64_t thread = rows.whole(3);
      const auto at = launched_.find({own_process_ ? process_of(thread) : 0, rows.whole(2)});
      if (at == launched_.end()) continue;
      at->second->events.launches.push_back({rows.whole(2), span_of(rows).from, thread});
      of_thread_[thread].insert(at->second);
    }
  }

  /// Ranges of NCCL's calls, and of PyTorch's around them.
  void read_ranges() {
    if (!file_.has("NVTX_EVENTS", "text") || !file_.has("NVTX_EVENTS", "globalTid")) return;
    const bool by_id = file_.has("NVTX_EVENTS", "textId");
    SqliteFile::Rows rows(
        file_, fmt::format("SELECT n.start, n.end, n.globalTid, {0} AS words, {1} FROM NVTX_EVENTS n {2} WHERE n.end IS NOT NULL AND "
                           "words LIKE 'nccl%' ORDER BY n.start",
                           by_id ? "COALESCE(n.text, s.value)" : "n.text", file_.has("NVTX_EVENTS", "binaryData") ? "n.binaryData" : "NULL",
                           by_id ? "LEFT JOIN StringIds s ON n.textId = s.id" : ""));
    while (rows.next()) {
      const Span span = span_of(rows);
      const NcclPayload payload = payloads_.read(rows.text(4));
      const std::int64_t thread = rows.whole(2);
      std::string_view words = rows.text(3);
      if (payload.ranks > 0) {  // ncclCommInitRank, maybe of another thread
        initialised_[{process_of(thread), payload.communicator}] = payload;
        continue;
      }
      const auto threads = of_thread_.find(thread);
      if (threads == of_thread_.end() || threads->second.size() != 1) continue;  // a thread of several devices: whose is it?
      const bool of_nccl = !words.starts_with("nccl:");
      if (of_nccl) words.remove_prefix(std::string_view{"nccl"}.size());
      if (const auto comma = words.find(','); comma != std::string_view::npos) words = words.substr(0, comma);
      Device& device = **threads->second.begin();
      kineto::CallRequest asked{
          .call = {.span = span, .bytes = static_cast<double>(payload.bytes)}, .thread = thread, .annotation = !of_nccl};
      asked.call.moves = moves_named(words);
      if (asked.call.moves == Moves::unknown) continue;
      asked.receives = words.starts_with("Recv");
      asked.call.peer = static_cast<int>(payload.peer);
      asked.call.of_one_rank = true;
      asked.call.group = group_of(device, payload.communicator, payload_of(thread, payload.communicator));
      device.events.asked.push_back(asked);
    }
  }

  [[nodiscard]] NcclPayload payload_of(std::int64_t thread, std::uint64_t communicator) const {
    const auto at = initialised_.find({process_of(thread), communicator});
    return at == initialised_.end() ? NcclPayload{} : at->second;
  }

  [[nodiscard]] static std::uint32_t group_of(Device& device, std::uint64_t communicator, const NcclPayload& said) {
    const auto [at, fresh] = device.groups.try_emplace(communicator, static_cast<std::uint32_t>(device.trace.groups.size()));
    if (fresh) {
      const std::string id = communicator == 0 ? "" : fmt::format("0x{:x}", communicator);
      device.trace.groups.push_back({.name = id,
                                     .words = {},
                                     .ranks = {},
                                     .size = static_cast<int>(std::max<std::int64_t>(0, said.ranks)),
                                     .id = id,
                                     .own = static_cast<int>(said.rank)});
    }
    return at->second;
  }

  [[nodiscard]] std::string first(const char* table, const char* column) const { return first_where(table, column, "1"); }
  [[nodiscard]] std::string first_where(const char* table, const char* column, const char* condition) const {
    if (!file_.has(table, column)) return {};
    SqliteFile::Rows rows(file_, fmt::format("SELECT {} FROM {} WHERE {} LIMIT 1", column, table, condition));
    constexpr std::size_t longest = 200;
    return rows.next() ? plain_text(std::string{rows.text(0).substr(0, longest)}) : std::string{};
  }

  [[nodiscard]] std::int64_t epoch_of_session() const {
    if (!file_.has("TARGET_INFO_SESSION_START_TIME", "utcEpochNs")) return 0;
    SqliteFile::Rows rows(file_, "SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME LIMIT 1");
    constexpr std::int64_t latest = 2'000'000'000'000'000'000;
    return rows.next() ? std::clamp<std::int64_t>(rows.whole(0), 0, latest) : 0;
  }

  SqliteFile file_;
  PayloadSchemas payloads_;
  bool own_process_ = false;
  std::map<std::pair<std::int64_t, std::int64_t>, Device> devices_;            ///< by process and device
  std::map<std::pair<std::int64_t, std::int64_t>, Device*> launched_;          ///< kernels of communication, by process and correlation
  std::map<std::int64_t, std::set<Device*>> of_thread_;                        ///< devices that a thread launched such kernels on
  std::map<std::pair<std::int64_t, std::uint64_t>, NcclPayload> initialised_;  ///< by process and communicator
  std::int64_t rows_ = 0;
};

}  // namespace

bool may_be_nsys(std::string_view head) { return head.starts_with("SQLite format 3"); }

std::vector<RankTrace> read_nsys(const std::filesystem::path& file) {
  if (ByteSource(file).packed()) throw fault_of_file(file.string(), "is a packed database, which has to lie on a disk", "unpack it");
  return NsysReader(file).run();
}

}  // namespace fabricost::observe
