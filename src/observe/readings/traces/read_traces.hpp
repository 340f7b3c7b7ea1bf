#pragma once
/// \file read_traces.hpp
/// All traces that were given, several at a time.

#include "readings/traces/traced.hpp"

#include <filesystem>
#include <vector>

namespace fabricost::observe {

struct Traces {
  std::vector<RankTrace> ranks;                 ///< in the order of their names
  std::map<std::string, std::int64_t> skipped;  ///< files of a folder that are no traces, by reason
};

/// \param given files, and folders of them \throws SpecError for a file that is no trace, and for a folder without any
[[nodiscard]] Traces read_traces(const std::vector<std::filesystem::path>& given, Keep keep = Keep::calls);

/// A file that one of the readers knows by its first bytes, or a folder with one. False for an unreadable file.
[[nodiscard]] bool is_trace(const std::filesystem::path& file);

/// The same for traces of profilers alone: no folder, no dump of Inspector or the flight recorder, which tell more than times.
[[nodiscard]] bool is_profile(const std::filesystem::path& file);

}  // namespace fabricost::observe
