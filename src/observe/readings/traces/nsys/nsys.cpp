/// Reports of Nsight Systems, exported as SQLite.

#include "readings/dumps/byte_source.hpp"
#include "readings/traces/kineto.hpp"
#include "readings/traces/readers.hpp"
#include "text/files_read.hpp"
#include "text/line_reader.hpp"
#include "text/plain_text.hpp"

#include <fabricost/progress.hpp>

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace fabricost::observe {

namespace {

class SqliteFile {
 public:
  /// \throws SpecError when it cannot be opened
  explicit SqliteFile(const std::filesystem::path& file);

  /// Whether it has a table of that name, with that column if one is named; views do not count.
  [[nodiscard]] bool has(std::string_view table, std::string_view column = {}) const;
  [[nodiscard]] const std::string& name() const { return name_; }

  /// The rows of a question, as in `for (Rows rows{file, "SELECT ..."}; rows.next();) use(rows.whole(0));`.
  class Rows {
   public:
    Rows(const SqliteFile& file, const std::string& question);
    /// \throws SpecError where the database is damaged
    [[nodiscard]] bool next();
    [[nodiscard]] std::int64_t whole(int column) const;
    [[nodiscard]] std::string_view text(int column) const;  ///< also bytes; until the next row
   private:
    const SqliteFile& file_;
    std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> statement_;
  };

 private:
  [[noreturn]] void fail() const;

  std::string name_;
  std::unique_ptr<sqlite3, int (*)(sqlite3*)> database_;
  std::set<std::string, std::less<>> columns_;  ///< "table" and "table.column"
};

/// file:PATH with characters that are special in a URI escaped; immutable: no lock, no journal beside it.
[[nodiscard]] std::string uri_of(const std::filesystem::path& file) {
  std::string out = "file:";
  for (const char c : std::filesystem::absolute(file).string())
    if (c == '%' || c == '?' || c == '#')
      out += fmt::format("%{:02X}", static_cast<unsigned>(c));
    else
      out += c;
  return out + "?immutable=1";
}

[[nodiscard]] sqlite3* opened(const std::filesystem::path& file) {
  note_regular_file(file);
  sqlite3* out = nullptr;
  sqlite3_open_v2(uri_of(file).c_str(), &out, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, nullptr);
  return out;
}

SqliteFile::SqliteFile(const std::filesystem::path& file) : name_(file.string()), database_(opened(file), sqlite3_close) {
  if (database_ == nullptr || sqlite3_errcode(database_.get()) != SQLITE_OK) fail();
  sqlite3_db_config(database_.get(), SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(database_.get(), SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  constexpr int longest = 1 << 26;
  sqlite3_limit(database_.get(), SQLITE_LIMIT_LENGTH, longest);
  Rows rows(*this,
            "SELECT m.name, c.name FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type = 'table' AND m.sql NOT LIKE "
            "'CREATE VIRTUAL%'");
  while (rows.next()) {
    const std::string table{rows.text(0)};
    columns_.insert(table);
    columns_.insert(table + "." + std::string{rows.text(1)});
  }
}

void SqliteFile::fail() const {
  throw fault_of_file(
      name_, fmt::format("SQLite cannot read it: {}", plain_text(database_ == nullptr ? "no memory" : sqlite3_errmsg(database_.get()))),
      "export it again as SQLite");
}

bool SqliteFile::has(std::string_view table, std::string_view column) const {
  if (column.empty()) return columns_.contains(table);
  return columns_.contains(fmt::format("{}.{}", table, column));
}

SqliteFile::Rows::Rows(const SqliteFile& file, const std::string& question) : file_(file), statement_(nullptr, sqlite3_finalize) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(file.database_.get(), question.c_str(), -1, &statement, nullptr) != SQLITE_OK) file.fail();
  statement_.reset(statement);
}

bool SqliteFile::Rows::next() {
  const int done = sqlite3_step(statement_.get());
  if (done != SQLITE_ROW && done != SQLITE_DONE) file_.fail();
  return done == SQLITE_ROW;
}

std::int64_t SqliteFile::Rows::whole(int column) const { return sqlite3_column_int64(statement_.get(), column); }

std::string_view SqliteFile::Rows::text(int column) const {
  const void* bytes = sqlite3_column_blob(statement_.get(), column);
  const int size = sqlite3_column_bytes(statement_.get(), column);
  return bytes == nullptr || size <= 0 ? std::string_view{}
                                       : std::string_view{static_cast<const char*>(bytes), static_cast<std::size_t>(size)};
}

// Reads what NCCL attaches to its NVTX ranges, as Nsight Systems exports it: the bytes of a struct after a header of 32 bytes (domain,
// schema, size of the struct), and tables with the places of its members.

/// Negative: not said. `communicator` is 0 then.
struct NcclPayload {
  std::uint64_t communicator = 0;
  std::int64_t bytes = -1, peer = -1, rank = -1, ranks = -1;
};

class PayloadSchemas {
 public:
  /// Without those tables every payload is empty.
  explicit PayloadSchemas(const SqliteFile& file);
  [[nodiscard]] NcclPayload read(std::string_view blob) const;

 private:
  enum class Member : unsigned char { communicator, bytes, peer, rank, ranks };
  struct Place {
    Member member;
    std::size_t offset, width;
  };
  std::map<std::int64_t, std::vector<Place>> schemas_;
};

constexpr std::size_t header_bytes = 32, schema_at = 8;

/// Bytes of NVTX's types of whole numbers on 64-bit Linux; 0 for others.
[[nodiscard]] std::size_t width_of_type(std::int64_t type) {
  switch (type) {
    case 5:
    case 6:
    case 15:
    case 16: return 4;  // int, unsigned, int32, uint32
    case 7:
    case 8:
    case 9:
    case 10:
    case 17:
    case 18:
    case 22: return 8;  // long, long long, int64, uint64, size_t
    default: return 0;
  }
}

[[nodiscard]] std::uint64_t number_at(std::string_view bytes, std::size_t at, std::size_t width) {
  if (width > bytes.size() || at > bytes.size() - width) return std::numeric_limits<std::uint64_t>::max();
  std::uint64_t out = 0;
  for (std::size_t i = width; i-- > 0;) out = out << 8U | static_cast<unsigned char>(bytes[at + i]);
  return out;
}

PayloadSchemas::PayloadSchemas(const SqliteFile& file) {
  if (!file.has("NVTX_PAYLOAD_SCHEMA_ENTRIES", "offset") || !file.has("NVTX_EVENTS", "binaryData")) return;
  constexpr std::array<std::pair<std::string_view, Member>, 5> labels{{{"NCCL communicator ID", Member::communicator},
                                                                       {"Message size [bytes]", Member::bytes},
                                                                       {"Peer rank", Member::peer},
                                                                       {"Rank", Member::rank},
                                                                       {"No. of ranks", Member::ranks}}};
  SqliteFile::Rows rows(file, "SELECT DISTINCT schemaId, type, name, offset FROM NVTX_PAYLOAD_SCHEMA_ENTRIES");
  while (rows.next())
    for (const auto& [label, member] : labels) {
      constexpr std::int64_t farthest = 4096;
      const std::int64_t offset = rows.whole(3);
      const std::size_t width = width_of_type(rows.whole(1));
      if (rows.text(2) == label && width > 0 && offset >= 0 && offset < farthest)
        schemas_[rows.whole(0)].push_back({member, static_cast<std::size_t>(offset), width});
    }
}

NcclPayload PayloadSchemas::read(std::string_view blob) const {
  NcclPayload out;
  if (blob.size() <= header_bytes) return out;
  const auto schema = schemas_.find(static_cast<std::int64_t>(number_at(blob, schema_at, 4)));
  if (schema == schemas_.end()) return out;
  constexpr std::uint64_t most_bytes = std::uint64_t{1} << 52U, most_ranks = 1'000'000;
  for (const Place& place : schema->second) {
    const std::uint64_t number = number_at(blob, header_bytes + place.offset, place.width);
    const auto below = [&](std::uint64_t most) { return number < most ? static_cast<std::int64_t>(number) : -1; };
    switch (place.member) {
      case Member::communicator: out.communicator = number; break;
      case Member::bytes: out.bytes = below(most_bytes); break;
      case Member::peer: out.peer = below(most_ranks); break;
      case Member::rank: out.rank = below(most_ranks); break;
      case Member::ranks: out.ranks = below(most_ranks); break;
    }
  }
  return out;
}

// Exports of Nsight Systems (nsys export, SQLite): kernels with their start, end, process and device; the runtime calls that
// launched them; NVTX ranges of NCCL around those calls, which say the communicator and the bytes of one rank where payloads are there
// (NCCL 2.26 on). A rank is one device of one process; a file may hold several. An identifier of a thread is process << 24 | thread.

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
