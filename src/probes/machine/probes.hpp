#pragma once
/// \file probes.hpp
/// The rows of a measurement that are not collectives, and the line through a probe's times over size.
///

#include <fabricost/operation.hpp>
#include <fabricost/shipped_numbers.hpp>

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost::probes {

/// One row, as in measure/files/files.hpp.
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

/// Rows with an invalid size or time are left out; read_points reports them.
/// \throws SpecError for a file that is not a point CSV
[[nodiscard]] std::vector<ProbeRow> read_probes(const std::filesystem::path& file);

/// Time over size: t = start + S / rate.
struct ProbeLine {
  double rate = 0;              ///< byte/s
  std::optional<double> start;  ///< s; empty if no size was small enough to show it
  int points = 0;
  int streaming = 0;                 ///< number of them in the streaming part
  double smallest = 0, largest = 0;  ///< bytes of the points
};

/// The line of a probe. The rate is the slope over the streaming part, from a sixteenth of the largest size
/// on; it is at most `max` times the best S / t there, since noise in a few adjacent points can tilt a line,
/// and S / t for a single size. The start is the median over sizes up to 64 KiB of the time beyond S / rate.
/// Empty without rows.
[[nodiscard]] std::optional<ProbeLine> line_through(const std::vector<const ProbeRow*>& rows, double max = policy::findings::datasheet);

[[nodiscard]] double median_of(std::vector<double> values);

}  // namespace fabricost::probes
