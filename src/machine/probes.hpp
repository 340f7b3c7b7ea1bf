#pragma once
/// \file probes.hpp
/// The rows of a measurement that are no collective, and the line through the times of one probe over its sizes. Private to the sources.

#include <fabricost/operation.hpp>
#include <fabricost/shipped_numbers.hpp>

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost::io {

/// One row as rows.hpp of src/measure describes it.
struct ProbeRow {
  std::string probe;  ///< the operation's word; of a send_recv the note `probe`
  double bytes = 0, seconds = 0;
  std::optional<Path> path;
  bool both_ways = false;
  std::map<std::string, std::string, std::less<>> notes;
  [[nodiscard]] std::string_view note(std::string_view key) const {
    const auto found = notes.find(key);
    return found == notes.end() ? std::string_view{} : std::string_view{found->second};
  }
};

/// Rows with a size or time that is no number above zero are left out; read_points has said what is wrong with them.
/// \throws SpecError for a file that is no point CSV
[[nodiscard]] std::vector<ProbeRow> read_probes(const std::filesystem::path& file);

/// Time over size: t = start + S / rate.
struct ProbeLine {
  double rate = 0;              ///< byte/s
  std::optional<double> start;  ///< s; nothing where no size was small enough to show it
  int points = 0;
  int streaming = 0;                 ///< of them, those the rate rests on
  double smallest = 0, largest = 0;  ///< bytes of the points
};

/// Where a probe streams: from a sixteenth of its largest size on. The rate is at most `most` times the best of S / t there, since noise
/// in a few near points can tilt a line; of one size alone it is S / t. The start is the median of what sizes up to 64 KiB take beyond
/// S / rate. Nothing without rows.
[[nodiscard]] std::optional<ProbeLine> line_through(const std::vector<const ProbeRow*>& rows, double max = policy::findings::datasheet);

[[nodiscard]] double median_of(std::vector<double> values);

}  // namespace fabricost::io
