#pragma once
/// The readers of traces, one for each kind of file, their shared parts, and the reading of a job's files.

#include "readings/traces/traced.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fabricost::observe {

/// The format of one tool.
struct TraceKind {
  bool (*may_be)(std::string_view);                              ///< told from the first bytes of the unpacked file
  std::vector<RankTrace> (*read)(const std::filesystem::path&, Keep);  ///< \throws SpecError where it is damaged, or without calls
};
[[nodiscard]] std::span<const TraceKind> kinds_of_traces();

/// NCCL Inspector, lines of JSON.
[[nodiscard]] bool may_be_inspector(std::string_view head);
[[nodiscard]] std::vector<RankTrace> read_inspector(const std::filesystem::path& file);
/// Dumps of PyTorch's flight recorder.
[[nodiscard]] bool may_be_flight_dump(std::string_view head);
[[nodiscard]] std::vector<RankTrace> read_flight_dump(const std::filesystem::path& file);

/// NCCL's example profiler plugin, Chrome's format.
[[nodiscard]] bool may_be_profiler_plugin(std::string_view head);
[[nodiscard]] std::vector<RankTrace> read_profiler_plugin(const std::filesystem::path& file);

/// PyTorch's execution traces, also as Chakra host traces: JSON without times.
[[nodiscard]] bool may_be_execution_trace(std::string_view head);
[[nodiscard]] std::vector<RankTrace> read_execution_trace(const std::filesystem::path& file);

/// Chakra's execution traces, protobuf.
[[nodiscard]] bool may_be_chakra(std::string_view head);
[[nodiscard]] std::vector<RankTrace> read_chakra(const std::filesystem::path& file);

/// Traces of PyTorch's profiler (Kineto, JSON in Chrome's format), one file a rank, of all years:
///   since 2.2      kernels of communication carry "Collective name", element counts, type and process group
///   since 1.13     a record_param_comms of the host says the same; several before one kernel were coalesced
///   before         an annotation nccl:all_to_all holds the launch whose correlation the kernel has
/// Without a GPU, annotations of gloo and MPI are the calls themselves.
[[nodiscard]] bool may_be_kineto(std::string_view head);
/// \throws SpecError where it is not JSON, or holds no events
[[nodiscard]] RankTrace read_kineto(const std::filesystem::path& file, Keep keep = Keep::calls);

/// Logs of AICB, CSV.
[[nodiscard]] bool may_be_aicb(std::string_view head);
[[nodiscard]] std::vector<RankTrace> read_aicb(const std::filesystem::path& file);

/// Tables of TraceLens, CSV.
[[nodiscard]] bool may_be_tracelens(std::string_view head);
[[nodiscard]] std::vector<RankTrace> read_tracelens(const std::filesystem::path& file);

/// Exports of Nsight Systems, SQLite.
[[nodiscard]] bool may_be_nsys(std::string_view head);
[[nodiscard]] std::vector<RankTrace> read_nsys(const std::filesystem::path& file);

/// The numbers of "[0, 1, 2]" or of the same as text. \param cut set where it was shortened with "..."
[[nodiscard]] std::vector<int> ranks_in(std::string_view text, bool& cut);
/// A process group as PyTorch lists it; without ranks where they were shortened.
[[nodiscard]] TracedGroup listed_group(std::string_view raw);
/// Elements of all tensors in "[[8, 1024], [16]]", also nested; -1: none is said.
[[nodiscard]] std::int64_t elements_in(std::string_view dims);
/// JSON by its first byte that is not blank.
[[nodiscard]] bool begins_json(std::string_view head);
/// Of a file that shows calls alone.
[[nodiscard]] RankTrace trace_of_calls(const std::string& file);
/// Moves all times of a trace so that its first call begins at zero, and sets its window.
void begin_at_zero(RankTrace& trace);
/// The same of the one trace of a file.
[[nodiscard]] std::vector<RankTrace> one_from_zero(RankTrace trace);

/// The places of a trace's groups by what tells them apart.
class GroupPlaces {
 public:
  /// \param make gives the group when it is new
  template <class Make>
  [[nodiscard]] std::uint32_t of(std::string key, RankTrace& trace, const Make& make) {
    const auto [at, fresh] = places_.try_emplace(std::move(key), static_cast<std::uint32_t>(trace.groups.size()));
    if (fresh) trace.groups.push_back(make());
    return at->second;
  }

 private:
  std::map<std::string, std::uint32_t> places_;
};
/// The whole of `file`, unpacked. \throws SpecError when it is longer than `most` bytes
[[nodiscard]] std::string whole_file(const std::filesystem::path& file, std::size_t most);
/// The first bytes, unpacked.
[[nodiscard]] std::string first_bytes(const std::filesystem::path& file);
/// A count in a trace: -1 where there is none, no more than a million.
[[nodiscard]] int count_in(std::string_view value);

struct Traces {
  std::vector<RankTrace> ranks;                 ///< in the order of their names
  std::map<std::string, std::int64_t> skipped;  ///< files of a folder that are no traces, by reason
};

/// \param given files, and folders of them \throws SpecError for a file that is no trace, and for a folder without any
[[nodiscard]] Traces read_traces(const std::vector<std::filesystem::path>& given, Keep keep = Keep::calls);

/// A file that one of the readers knows by its first bytes, or a folder with one. False for an unreadable file.
[[nodiscard]] bool is_trace(const std::filesystem::path& file);

/// The same for traces of profilers alone, or a folder of nothing else: no dump of Inspector or the flight recorder, which tell more than times.
[[nodiscard]] bool is_profile(const std::filesystem::path& file);

}  // namespace fabricost::observe
