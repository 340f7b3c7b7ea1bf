/// \file read_traces.cpp
/// Finds the traces of a folder by their first bytes; reads as many at once as there are processors.

#include "readings/traces/read_traces.hpp"

#include "readings/traces/readers.hpp"
#include "text/ascii.hpp"
#include "text/line_reader.hpp"

#include <fabricost/on_threads.hpp>

#include <algorithm>
#include <system_error>

namespace fabricost::observe {

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
  return out;
}

}  // namespace fabricost::observe
