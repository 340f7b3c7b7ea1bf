#pragma once
/// The steps from a measurement to a machine: rows that are not collectives, with the line through a probe's times over size; figures, each
/// beside the datasheet and the stock system; overrides of the stock system (`PATH=VALUE`, docs/spec-format.md) with their source;
/// deviations of the machine from its potential.

#include <fabricost/hardware/system.hpp>
#include <fabricost/operation.hpp>
#include <fabricost/probes/machine/this_machine.hpp>
#include <fabricost/readings/points.hpp>
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

/// The one-way rate of a PCIe link by its generation and lanes, packet headers included: byte/s. 0: unknown
/// generation. Lane rates are in data/links.
[[nodiscard]] double pcie_rate(int generation, int lanes);

/// One-way rate between one GPU and one of its peers: byte/s of a tier.
[[nodiscard]] double rate_to_one_peer(const Tier& tier);

/// Figures in the order of tiers, from the inside out.
[[nodiscard]] std::vector<MeasuredFigure> figures_of(const std::vector<ProbeRow>& rows, const MeasuredMachine& machine,
                                                     const System& stock);

/// The figure of that name, or nullptr.
[[nodiscard]] const MeasuredFigure* figure(const std::vector<MeasuredFigure>& figures, std::string_view tier, std::string_view what);

/// The largest of the measured rates of one tier; nullptr: none.
[[nodiscard]] const MeasuredFigure* best_rate(const std::vector<MeasuredFigure>& figures, std::string_view tier,
                                              std::initializer_list<std::string_view> what);

struct MachineSettings {
  std::vector<std::string> set;
  std::vector<std::string> kept;  ///< values kept from the stock system, with the reason
};

/// \param source "measured on node17, 2026-01-31"
[[nodiscard]] MachineSettings settings_of(const MeasuredMachine& machine, const std::vector<MeasuredFigure>& figures, const System& stock,
                                          std::string_view source);

/// The minimum of active links over the GPUs; the stock system's if the file has no count.
[[nodiscard]] int active_links(const MeasuredMachine& machine, const Tier& scale_up);

/// Input of the rules.
struct Findings {
  const MeasuredMachine& machine;
  const std::vector<MeasuredFigure>& figures;
  const System& stock;
  const std::vector<Point>& collectives;  ///< under the name of the stock system
};

/// Most likely first. Each rule gives one finding, which names all affected GPUs.
[[nodiscard]] std::vector<MachineFinding> findings_of(const Findings& machine);

}  // namespace fabricost::probes
