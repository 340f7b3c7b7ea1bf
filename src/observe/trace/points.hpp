#pragma once
/// Measured times from a job's traces, for readers of measurements.

#include <fabricost/readings/points.hpp>

#include <filesystem>
#include <vector>

namespace fabricost::observe::timeline {

/// \param files of one job \param otherwise its system is the traces' machine \throws SpecError as read_traces, and without a system
[[nodiscard]] Points points_of(const std::vector<std::filesystem::path>& files, const PointDefaults& otherwise);

}  // namespace fabricost::observe::timeline
