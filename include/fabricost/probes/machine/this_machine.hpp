#pragma once
/// Converts the output of `fabricost measure` (docs/reference/measured-files.md) to a system file that
/// extends a stock system by the measured values, and lists the differences between the two.
///
///   rate      slope of a probe's time over size where it streams (Theil and Sen: the median slope over all pairs of points,
///             weighted by the sizes between them)
///   latency   time of a few bytes beyond that line; for dependent loads their own time
///
/// Memories and the host tier get the measured rate. A scale-up tier keeps the rate of its links, since NCCL
/// plans with it and fitted constants are fractions of it; its payload share (`efficiency`) is the share that
/// copies reach. Collectives are fitted as by `calibrate`. The launch time of an empty kernel is reported but
/// not used: c0 of a collective is larger.

#include <fabricost/calibrate/calibrate.hpp>
#include <fabricost/fields/fields.hpp>
#include <fabricost/specs/load.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace fabricost::probes {

/// One GPU in the machine file. Zero and empty: unknown.
struct MeasuredGpu {
  std::string name{};
  int multiprocessors = 0;
  double memory = 0, l2 = 0;                                                             ///< bytes
  int pcie_generation = 0, pcie_lanes = 0, pcie_generation_max = 0, pcie_lanes_max = 0;  ///< present and maximum
  std::optional<int> nvlinks{};                                                          ///< active; empty: none, or unknown
  double clock = 0, clock_max = 0;  ///< Hz; `clock` at the end if it was throttled, else the highest observed, since idle GPUs clock down
  std::optional<bool> ecc{}, mig{};
  bool mig_instance = false;  ///< a slice was measured
  std::string throttled{};    ///< reasons for throttling at the end
};

/// The machine on which a file of points was measured.
struct MeasuredMachine {
  std::string file;
  std::string date{}, host{}, runtime{}, runtime_version{}, driver{}, library{}, library_version{};
  std::string system{};  ///< the shipped system that is similar; empty: none
  bool complete = true;
  std::string ended{};  ///< the reason why it is incomplete
  std::vector<MeasuredGpu> gpus;
  std::vector<std::vector<bool>> peer_access{};  ///< [from][to]; empty: unknown
};

/// Path of the machine file for a file of points: measured.machine.yaml beside measured.csv.
[[nodiscard]] std::filesystem::path machine_file_of(const std::filesystem::path& points);

/// \throws SpecError with file, line, column, value and remedy
[[nodiscard]] MeasuredMachine read_measured_machine(const std::filesystem::path& file);

/// A measured figure of this machine beside the documented one.
struct MeasuredFigure {
  std::string tier;                  ///< "hbm"; "gpu" for launches
  std::string what;                  ///< "read", "to the GPU", "one load"
  bool latency = false;              ///< seconds; else bytes per second, one way
  double value = 0;                  ///< median over GPUs or pairs
  double datasheet = 0;              ///< 0: unknown
  double stock = 0;                  ///< value in the stock system; 0: unknown
  int points = 0;                    ///< number of measured times
  double smallest = 0, largest = 0;  ///< their sizes, bytes
  double min = 0, max = 0;           ///< over GPUs or pairs
  std::string slowest{};             ///< the slowest GPU or pair; empty: only one
};

/// A deviation of this machine from its potential. `cause` is a word of `diagnose`, or mig_slice,
/// memory_slow, host_copies_slow, clocks_low, collectives_slow, measurement_incomplete.
struct MachineFinding {
  std::string cause;
  double confidence = 0;
  std::string evidence, remedy;
  bool operator==(const MachineFinding&) const = default;

  static AnswerTable<MachineFinding> fields();
};

struct ThisMachineRequest {
  std::string system{};       ///< the stock system; empty: the one named in the machine file
  std::string calibration{};  ///< initial constants, as in load_system
  std::string date{};         ///< yyyy-mm-dd of the calibration; empty: the day of the measurement
};

struct ThisMachine {
  MeasuredMachine machine;
  std::string stock;  ///< name of the stock system
  std::vector<MeasuredFigure> figures;
  std::vector<std::pair<std::string, std::string>> facts;  ///< "PCIe": "5 x8 now, 5 x16 at most"
  std::vector<MachineFinding> findings;                    ///< likeliest first
  std::optional<Calibration> calibration;                  ///< of collectives; empty: there were none to fit
  std::vector<std::string> not_calibrated;                 ///< values kept from the stock system, with the reason
  SavedSystem system;
  std::string title;
};

/// \param points the CSV, with its machine file beside it
/// \throws SpecError for a faulty file; RequestError for an unknown or missing stock system, or if the
/// file does not describe a GPU
[[nodiscard]] ThisMachine calibrate_machine(const std::filesystem::path& points, const ThisMachineRequest& request = {});

/// The system file, which `extends` the stock system by the measured values (saved_system.hpp).
[[nodiscard]] std::string this_machine_yaml(const ThisMachine& machine);

}  // namespace fabricost::probes
