/// Finds the traces of a folder by their first bytes; reads as many at once as there are processors.

#include "readings/traces/readers.hpp"

#include "readings/dumps/byte_source.hpp"
#include "readings/traces/json_pieces.hpp"
#include "text/ascii.hpp"
#include "text/line_reader.hpp"

#include <fabricost/on_threads.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <system_error>
#include <tuple>

namespace fabricost::observe {

namespace {

[[nodiscard]] std::vector<RankTrace> read_one_kineto(const std::filesystem::path& file, Keep keep) {
  std::vector<RankTrace> out;
  out.push_back(read_kineto(file, keep));
  return out;
}
/// A reader of files that show no kernels to keep.
template <auto read>
[[nodiscard]] std::vector<RankTrace> calls_of(const std::filesystem::path& file, Keep /*keep*/) {
  return read(file);
}

/// Up to `most` bytes.
[[nodiscard]] std::string bytes_of(ByteSource& source, std::size_t most) {
  std::string out;
  for (;;) {
    constexpr std::size_t block = std::size_t{1} << 16U;
    const std::size_t size = out.size(), wanted = std::min(block, most - size);
    if (wanted == 0) return out;
    out.resize(size + wanted);
    const std::size_t count = source.read(out.data() + size, wanted);
    out.resize(size + count);
    if (count == 0) return out;
  }
}

}  // namespace

std::span<const TraceKind> kinds_of_traces() {
  static constexpr std::array<TraceKind, 9> all{{{may_be_nsys, calls_of<read_nsys>},
                                                 {may_be_inspector, calls_of<read_inspector>},
                                                 {may_be_flight_dump, calls_of<read_flight_dump>},
                                                 {may_be_execution_trace, calls_of<read_execution_trace>},
                                                 {may_be_profiler_plugin, calls_of<read_profiler_plugin>},
                                                 {may_be_aicb, calls_of<read_aicb>},
                                                 {may_be_tracelens, calls_of<read_tracelens>},
                                                 {may_be_chakra, calls_of<read_chakra>},
                                                 {may_be_kineto, read_one_kineto}}};
  return all;
}

std::string first_bytes(const std::filesystem::path& file) {
  ByteSource source(file);
  return bytes_of(source, std::size_t{1} << 16U);
}

std::string whole_file(const std::filesystem::path& file, std::size_t most) {
  ByteSource source(file);
  std::string out = bytes_of(source, most + 1);
  if (out.size() > most)
    throw fault_of_file(source.name(), fmt::format("is longer than {} MiB, which no such file is", most >> 20U), "name a trace");
  return out;
}

bool begins_json(std::string_view head) {
  const auto start = head.find_first_not_of(" \t\r\n");
  return start != std::string_view::npos && (head[start] == '{' || head[start] == '[');
}

std::vector<int> ranks_in(std::string_view text, bool& cut) {
  std::vector<int> out;
  int number = -1;
  for (const char c : text) {
    constexpr int most = 100'000'000;
    if (c >= '0' && c <= '9')
      number = std::min(most, std::max(number, 0) * 10 + (c - '0'));
    else if (number >= 0)
      out.push_back(number), number = -1;
    cut = cut || c == '.';
  }
  if (number >= 0) out.push_back(number);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

TracedGroup listed_group(std::string_view raw) {
  std::string_view name, words, size, ranks;
  read_members(raw, {{"pg_name", &name}, {"pg_desc", &words}, {"pg_size", &size}, {"group_size", &size}, {"ranks", &ranks}});
  bool cut = false;
  TracedGroup out{.name = shown_text(name), .words = shown_text(words), .ranks = ranks_in(ranks, cut), .size = std::max(0, count_in(size))};
  if (cut) out.ranks.clear();
  return out;
}

std::int64_t elements_in(std::string_view dims) {
  double total = 0, product = 1;
  std::int64_t number = -1;
  bool any = false, inside = false;
  for (const char c : dims) {
    if (c >= '0' && c <= '9') {
      number = std::min<std::int64_t>(std::max<std::int64_t>(number, 0) * 10 + (c - '0'), std::int64_t{1} << 52U);
      inside = true;
      continue;
    }
    if (number >= 0) {
      product *= static_cast<double>(number);
      number = -1;
    }
    if (c == ']' && inside) {
      total += product;
      product = 1;
      inside = false;
      any = true;
    }
  }
  constexpr double most = 1e17;
  return any && total < most ? static_cast<std::int64_t>(total) : -1;
}

int count_in(std::string_view value) {
  constexpr std::int64_t most = 1'000'000;
  return static_cast<int>(std::clamp<std::int64_t>(json_whole(value, -1), -1, most));
}

RankTrace trace_of_calls(const std::string& file) {
  RankTrace out;
  out.file = file;
  out.shows_compute = false;
  return out;
}

std::vector<RankTrace> one_from_zero(RankTrace trace) {
  begin_at_zero(trace);
  std::vector<RankTrace> out;
  out.push_back(std::move(trace));
  return out;
}

void begin_at_zero(RankTrace& trace) {
  std::stable_sort(trace.calls.begin(), trace.calls.end(),
                   [](const TracedCall& a, const TracedCall& b) { return a.span.from < b.span.from; });
  std::int64_t first = std::numeric_limits<std::int64_t>::max(), last = 0;
  for (const TracedCall& call : trace.calls) {
    first = std::min(first, call.span.from);
    last = std::max(last, call.span.to);
  }
  if (trace.calls.empty()) return;
  constexpr std::int64_t longest = 1'000'000'000'000'000'000;
  if (first < -longest || last > 2 * longest)
    throw fault_of_file(trace.file, "its times are not those of a clock", "write the trace again");
  for (TracedCall& call : trace.calls) call.span = {call.span.from - first, call.span.to - first};
  trace.start = first;
  trace.whole = {0, last - first};
}

namespace {

namespace fs = std::filesystem;

/// The reader of a file; nullptr: it is no trace.
[[nodiscard]] const TraceKind* kind_of(std::string_view head) {
  for (const TraceKind& kind : kinds_of_traces())
    if (kind.may_be(head)) return &kind;
  return nullptr;
}

/// The same of a file; nullptr also for an unreadable one.
[[nodiscard]] const TraceKind* kind_of_file(const fs::path& file) {
  std::error_code ignored;
  if (!fs::is_regular_file(file, ignored)) return nullptr;
  try {
    return kind_of(first_bytes(file));
  } catch (const Error&) {
    return nullptr;
  }
}

[[nodiscard]] bool has_ending_of_traces(const fs::path& file) {
  const std::string name = file.filename().string();
  for (const std::string_view ending : {".json", ".json.gz", ".json.zst", ".gz", ".zst", ".trace"})
    if (name.ends_with(ending)) return true;
  return false;
}

[[nodiscard]] std::vector<fs::path> traces_in(const fs::path& folder, Traces& out) {
  constexpr std::size_t most = 65536;
  std::vector<fs::path> all;
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied, error), end; !error && at != end;
       at.increment(error)) {
    std::error_code ignored;
    const std::string name = at->path().filename().string();
    if (!at->is_regular_file(ignored) || name.empty() || name.front() == '.' || all.size() >= most) continue;
    if (kind_of(first_bytes(at->path())) != nullptr)
      all.push_back(at->path());
    else if (has_ending_of_traces(at->path()))
      ++out.skipped["a file of the folder that is no trace"];
  }
  std::sort(all.begin(), all.end());
  if (all.empty()) throw fault_of_file(folder.string(), "there is no trace in this folder", "docs/traces.md lists what is read");
  return all;
}

/// The number behind "rank" or "worker", or before ".et", in a file's name; -1: none.
[[nodiscard]] int rank_in_name(const fs::path& file) {
  const std::string name = file.filename().string();
  for (const std::string_view word : {"rank", "worker"}) {
    auto at = name.rfind(word);
    if (at == std::string::npos) continue;
    at += word.size();
    while (at < name.size() && (name[at] == '_' || name[at] == '-' || name[at] == '.')) ++at;
    int out = -1;
    constexpr int most = 1'000'000;
    for (; at < name.size() && name[at] >= '0' && name[at] <= '9' && out < most; ++at) out = std::max(out, 0) * 10 + (name[at] - '0');
    if (out >= 0) return out;
  }
  if (constexpr std::string_view ending = ".et"; name.ends_with(ending)) {  // Chakra's name.3.et
    std::size_t at = name.size() - ending.size();
    int out = -1;
    for (int unit = 1; at > 0 && is_digit(name[at - 1]) && unit <= 100'000; unit *= 10) out = std::max(out, 0) + unit * (name[--at] - '0');
    if (at > 0 && name[at - 1] == '.') return out;
  }
  return -1;
}

/// Communicators say its number (trace/members.cpp).
[[nodiscard]] bool numbered_by_groups(const RankTrace& trace) {
  return std::any_of(trace.groups.begin(), trace.groups.end(), [](const TracedGroup& one) { return !one.id.empty() && one.own >= 0; });
}

[[nodiscard]] std::vector<RankTrace> read_trace(const fs::path& file, Keep keep) {
  const TraceKind* const kind = kind_of(first_bytes(file));
  std::vector<RankTrace> out = kind != nullptr ? kind->read(file, keep) : kinds_of_traces().back().read(file, keep);
  for (RankTrace& one : out)
    if (one.rank < 0 && out.size() == 1 && !numbered_by_groups(one)) one.rank = rank_in_name(file);
  return out;
}

/// Several files of a rank show one time after another; the same calls twice are one trace that was given twice.
void refuse_repeated(const std::vector<RankTrace>& ranks) {
  std::map<std::tuple<int, std::string, std::int64_t, std::int64_t, std::int64_t, std::size_t>, const RankTrace*> known;
  for (const RankTrace& one : ranks) {
    if (one.rank < 0 || one.calls.empty()) continue;
    const auto [at, fresh] = known.try_emplace({one.rank, one.gpu, one.start, one.whole.from, one.whole.to, one.calls.size()}, &one);
    if (!fresh)
      throw Refusal(fmt::format("rank {} is given twice: {} and {}; leave one out", one.rank, at->second->file, one.file));
  }
}

}  // namespace

bool is_trace(const fs::path& file) {
  std::error_code error;
  if (!fs::is_directory(file, error)) return kind_of_file(file) != nullptr;
  std::size_t looked_at = 0;
  constexpr std::size_t most = 1024;
  for (fs::recursive_directory_iterator at(file, fs::directory_options::skip_permission_denied, error), end;
       !error && at != end && looked_at < most; at.increment(error), ++looked_at)
    if (kind_of_file(at->path()) != nullptr) return true;
  return false;
}

bool is_profile(const fs::path& file) {
  std::error_code error;
  if (fs::is_directory(file, error)) {
    bool any = false;
    for (fs::directory_iterator at(file, fs::directory_options::skip_permission_denied, error), end; !error && at != end;
         at.increment(error)) {
      if (!at->is_regular_file(error) || !is_profile(at->path())) return false;
      any = true;
    }
    return any;
  }
  const TraceKind* const kind = kind_of_file(file);
  return kind != nullptr && kind->may_be != may_be_inspector && kind->may_be != may_be_flight_dump;
}

Traces read_traces(const std::vector<fs::path>& given, Keep keep) {
  Traces out;
  std::vector<fs::path> files;
  std::error_code ignored;
  for (const fs::path& one : given) {
    if (!fs::is_directory(one, ignored)) {
      if (!fs::exists(one, ignored)) throw fault_of_file(one.string(), "there is no such file", "a path counts from the current folder");
      files.push_back(one);
      continue;
    }
    for (fs::path& file : traces_in(one, out)) files.push_back(std::move(file));
  }
  std::vector<std::vector<RankTrace>> read(files.size());
  on_threads(files.size(), processors(), [&](std::size_t i) { read[i] = read_trace(files[i], keep); });
  for (std::vector<RankTrace>& some : read)
    for (RankTrace& one : some) out.ranks.push_back(std::move(one));
  refuse_repeated(out.ranks);
  return out;
}

}  // namespace fabricost::observe
