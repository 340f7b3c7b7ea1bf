#pragma once
/// Measured times from a job's traces, for readers of measurements.

#include <fabricost/readings/points.hpp>

#include <filesystem>
#include <vector>

namespace fabricost::observe::timeline {

/// A file that a reader of traces knows, or a folder with one.
[[nodiscard]] bool is_trace(const std::filesystem::path& file);

/// \param files of one job \param otherwise its system is the traces' machine \throws SpecError as read_traces, and without a system
[[nodiscard]] Points points_of(const std::vector<std::filesystem::path>& files, const PointDefaults& otherwise);

}  // namespace fabricost::observe::timeline
