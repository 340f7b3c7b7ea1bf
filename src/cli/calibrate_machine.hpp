#pragma once
/// \file calibrate_machine.hpp
/// fabricost calibrate of what fabricost measure wrote: this machine as a system file, and how it compares.

#include "runner.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace fabricost::cli {

/// As typed; empty where nothing was.
struct MachineQuestion {
  std::string points, system, calibration, out, date;
  bool json = false;
};

/// The points of a measurement of GPUs among the files asked for: the one given, or measured.csv in this folder where none was. Nothing
/// when it has no machine file, or one of MPI ranks alone. \throws SpecError when the machine file cannot be read
[[nodiscard]] std::optional<std::string> measured_points(const std::vector<std::string>& files);

/// Writes the system file, this-machine.yaml unless -o says otherwise, and tells of it.
/// \throws RequestError, SpecError
[[nodiscard]] std::string calibrate_this_machine(const MachineQuestion& asked, const Terminal& terminal);

}  // namespace fabricost::cli
