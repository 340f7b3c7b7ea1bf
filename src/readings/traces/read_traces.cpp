/// \file read_traces.cpp
/// Finds the traces of a folder by their first bytes; reads as many at once as there are processors.

#include "readings/traces/read_traces.hpp"

#include "readings/dumps/byte_source.hpp"
#include "readings/traces/kineto.hpp"
#include "text/line_reader.hpp"

#include <fabricost/interrupt.hpp>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

namespace fabricost::io {

namespace {

namespace fs = std::filesystem;

[[nodiscard]] bool may_be_trace(const fs::path& file) {
  const std::string name = file.filename().string();
  if (name.empty() || name.front() == '.') return false;
  for (const std::string_view ending : {".json", ".json.gz", ".json.zst", ".gz", ".zst", ".trace"})
    if (name.ends_with(ending)) return true;
  return false;
}

[[nodiscard]] std::string first_bytes(const fs::path& file) {
  ByteSource source(file);
  std::string out(std::size_t{1} << 16U, '\0');
  std::size_t size = 0;
  while (size < out.size()) {
    const std::size_t count = source.read(out.data() + size, out.size() - size);
    if (count == 0) break;
    size += count;
  }
  out.resize(size);
  return out;
}

[[nodiscard]] std::vector<fs::path> traces_in(const fs::path& folder, Traces& out) {
  constexpr std::size_t most = 65536;
  std::vector<fs::path> all;
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied, error), end; !error && at != end;
       at.increment(error)) {
    std::error_code ignored;
    if (!at->is_regular_file(ignored) || !may_be_trace(at->path()) || all.size() >= most) continue;
    if (may_be_kineto(first_bytes(at->path())))
      all.push_back(at->path());
    else
      ++out.skipped["a file of the folder that is no trace of PyTorch's profiler"];
  }
  std::sort(all.begin(), all.end());
  if (all.empty())
    throw fault_of_file(folder.string(), "there is no trace in this folder",
                        "traces of PyTorch's profiler end in .json, .json.gz or .json.zst");
  return all;
}

/// The number behind "rank" or "worker" in a file's name; -1: none.
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
  return -1;
}

[[nodiscard]] RankTrace read_trace(const fs::path& file, Keep keep) {
  RankTrace out = read_kineto(file, keep);
  if (out.rank < 0) out.rank = rank_in_name(file);
  return out;
}

}  // namespace

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
  out.ranks.resize(files.size());
  std::atomic<std::size_t> next{0};
  std::atomic<bool> stop{false};
  std::mutex one_at_a_time;
  std::exception_ptr failed;
  std::size_t failed_at = files.size();
  const auto work = [&] {
    for (std::size_t i = next++; i < files.size() && !stop; i = next++) try {
        out.ranks[i] = read_trace(files[i], keep);
      } catch (...) {
        const std::scoped_lock lock(one_at_a_time);
        stop = true;
        if (i < failed_at) failed_at = i, failed = std::current_exception();
      }
  };
  {
    const std::size_t processors = std::max(1U, std::thread::hardware_concurrency());
    std::vector<std::jthread> others;
    for (std::size_t i = 1; i < std::min(processors, files.size()); ++i) others.emplace_back(work);
    work();
  }
  if (failed) std::rethrow_exception(failed);
  return out;
}

}  // namespace fabricost::io
