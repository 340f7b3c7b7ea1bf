#pragma once
/// \file this_machine.hpp
/// This very machine: from what `fabricost measure` wrote (docs/reference/measured-files.md) to a system file that extends a stock system
/// by what was measured, and what sets the two apart.
///
///   rate      of a probe: slope of time over size where it streams (Theil and Sen: the median slope of all pairs of points,
///             each counting for the sizes between them)
///   latency   what a few bytes take beyond that line; of dependent loads their own time
///
/// Memories and the tier to the host take the measured rate itself. A scale-up tier keeps the rate of the links that are there, since NCCL
/// plans with it and fitted constants are shares of it; its payload share (`efficiency`) takes what copies reach. Collectives are fitted as
/// `calibrate` fits any. An empty kernel's launch is reported and enters nothing: c0 of a collective is more than it.

#include <fabricost/calibrate/calibrate.hpp>
#include <fabricost/specs/saved_system.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost {

/// One GPU as the machine file has it. Zero, empty and nothing: unknown.
struct MeasuredGpu {
  std::string name{};
  int multiprocessors = 0;
  double memory = 0, l2 = 0;                                                             ///< bytes
  int pcie_generation = 0, pcie_lanes = 0, pcie_generation_max = 0, pcie_lanes_max = 0;  ///< now and at most
  std::optional<int> nvlinks{};                                                          ///< active; nothing: none, or nobody could count
  double clock = 0, clock_max = 0;  ///< Hz; `clock` at the end where it was held back, else the highest seen: idle GPUs clock down
  std::optional<bool> ecc{}, mig{};
  bool mig_instance = false;  ///< what was measured is a slice
  std::string throttled{};    ///< what held the clocks back at the end
};

/// The machine a file of points was measured on.
struct MeasuredMachine {
  std::string file;
  std::string date{}, host{}, runtime{}, runtime_version{}, driver{}, library{}, library_version{};
  std::string system{};  ///< the shipped system it is like; empty: none
  bool complete = true;
  std::string ended{};  ///< why it is not
  std::vector<MeasuredGpu> gpus;
  std::vector<std::vector<bool>> peer_access{};  ///< [from][to]; empty: unknown
};

/// Where the machine of a file of points is described: measured.machine.yaml beside measured.csv.
[[nodiscard]] std::filesystem::path machine_file_of(const std::filesystem::path& points);

/// Whether a machine file lists GPUs; one of MPI alone lists ranks, which have no tiers to calibrate. \throws SpecError
[[nodiscard]] bool lists_gpus(const std::filesystem::path& file);

/// \throws SpecError with file, line, column, value and remedy
[[nodiscard]] MeasuredMachine read_measured_machine(const std::filesystem::path& file);

/// A figure of this machine beside what is written of it.
struct MeasuredFigure {
  std::string tier;                  ///< "hbm"; "gpu" of launches
  std::string what;                  ///< "read", "to the GPU", "one load"
  bool latency = false;              ///< seconds; else bytes per second, one way
  double value = 0;                  ///< median over GPUs or pairs
  double datasheet = 0;              ///< 0: there is none
  double stock = 0;                  ///< what the stock system assumes; 0: nothing
  int points = 0;                    ///< measured times it rests on
  double smallest = 0, largest = 0;  ///< their sizes, bytes
  double min = 0, max = 0;           ///< over GPUs or pairs
  std::string slowest{};             ///< the GPU or pair that is furthest behind; empty: one alone
};

/// Something that sets this machine apart from what it could be. `cause` is a word of `diagnose` where one fits, else
/// mig_slice, memory_slow, host_copies_slow, clocks_low, collectives_slow, measurement_incomplete.
struct MachineFinding {
  std::string cause;
  double confidence = 0;  ///< 0 a guess, 1 the machine says so itself
  std::string evidence;   ///< with its figures
  std::string remedy;
};

struct ThisMachineRequest {
  std::string system{};       ///< the stock system; empty: the one the machine file names
  std::string calibration{};  ///< what is known before, as in load_system
  std::string date{};         ///< yyyy-mm-dd of the calibration; empty: the day of the measurement
};

struct ThisMachine {
  MeasuredMachine machine;
  std::string stock;  ///< name of the stock system
  std::vector<MeasuredFigure> figures;
  std::vector<std::pair<std::string, std::string>> facts;  ///< "PCIe": "5 x8 now, 5 x16 at most"
  std::vector<MachineFinding> findings;                    ///< likeliest first
  std::optional<Calibration> calibration;                  ///< of collectives; nothing: there were none to fit
  std::vector<std::string> not_calibrated;                 ///< what stays as the stock system has it, and why
  SavedSystem system;
  std::string title;
};

/// \param points the CSV; its machine file lies beside it
/// \throws SpecError for a faulty file; RequestError when no stock system is known, it does not exist, or nothing in the file describes a
/// GPU
[[nodiscard]] ThisMachine calibrate_machine(const std::filesystem::path& points, const ThisMachineRequest& request = {});

/// The system file: `extends` the stock system with what was measured (saved_system.hpp).
[[nodiscard]] std::string this_machine_yaml(const ThisMachine& machine);

}  // namespace fabricost
