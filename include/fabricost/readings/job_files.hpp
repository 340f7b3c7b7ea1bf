#pragma once
/// \file job_files.hpp
/// What readers of logs and traces (component observe) say of a file of measurements. They join when they are linked; without them no file is
/// a trace, and no log contradicts its machine.

#include <fabricost/readings/points.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace fabricost::core {

struct System;

struct JobFiles {
  /// Whether a reader of traces knows the file, or a file in the folder.
  bool (*is_trace)(const std::filesystem::path& file) = nullptr;
  /// Measured times from the traces of one job. \throws SpecError for a fault of a file, and where `otherwise` names no system
  Points (*points_of)(const std::vector<std::filesystem::path>& files, const PointDefaults& otherwise) = nullptr;
  /// A sentence on what the log says against this machine; empty: nothing.
  std::string (*contradiction)(const std::filesystem::path& log, const System& system) = nullptr;
  /// The usual machine of the GPUs that a log names; empty: it names none.
  std::string (*usual_system)(const std::filesystem::path& log) = nullptr;
};

/// The readers that joined: none is null.
[[nodiscard]] const JobFiles& job_files();
void use_job_files(const JobFiles& readers);

}  // namespace fabricost::core
