#pragma once
/// The machine and the operation of a measured point.

#include <fabricost/choice/ways.hpp>
#include <fabricost/hardware/system.hpp>
#include <fabricost/readings/points.hpp>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace fabricost::core {

/// The requested calibration does not exist: not a fault of the points, and no reason to skip them all.
struct CalibrationFault {
  std::string message;
};

[[nodiscard]] std::string first_line(const std::string& text);

/// Machines named by points, each loaded once. GPUDirect, SHARP, NICs and the release of NCCL that a point states take precedence.
class PointMachines {
 public:
  using Adjust = std::function<void(System&)>;
  /// \param calibration as in load_system; \param adjust called on every machine once it is loaded; \param overrides of every machine
  explicit PointMachines(std::string calibration, Adjust adjust = {}, std::vector<std::string> overrides = {})
      : calibration_(std::move(calibration)), adjust_(std::move(adjust)), overrides_(std::move(overrides)) {}

  /// \throws RequestError for an unknown name, CalibrationFault
  const System& of(const Point& point);

  /// Whether a point's machine is known; fills in the GPUs per node if the point lacks them, else counts it
  /// in `skipped`.
  /// \throws RequestError when the calibration does not exist, SpecError when a description is faulty
  [[nodiscard]] bool knows(Point& point, std::vector<Skipped>& skipped);

  /// A machine of this class that finds its library one set of tables older. \param system with the newest
  const System& with_older(const System& system) {
    return with_era(system, {static_cast<Tuner>(static_cast<int>(newest_tuner) - 1), system.tuner_assumed, 0});
  }

 private:
  using Key = std::tuple<std::string, std::optional<bool>, std::optional<bool>, int, double, LibraryEra, int>;

  const System& loaded(const std::string& name, const std::vector<std::string>& changes);
  const System& with_era(const System& system, LibraryEra era);

  std::string calibration_;
  Adjust adjust_;
  std::vector<std::string> overrides_;
  std::map<std::pair<std::string, std::vector<std::string>>, std::unique_ptr<System>> systems_;
  std::map<std::pair<const System*, LibraryEra>, System> eras_;
  std::map<Key, const System*> seen_;
};

/// Whether MPI or verbs moved it (OSU, perftest), whose messages start without the GPUs' library.
[[nodiscard]] bool is_of_hosts(const Point& point);

/// The operation of a point. A transfer has a path; nccl-tests' send_recv goes round all ranks, so between
/// nodes if there are several. oneCCL's benchmark counts an all_gather by what one rank contributes,
/// nccl-tests by what each receives.
[[nodiscard]] Operation operation_of_point(const Point& point, const System& system);

/// The launch mode of a point. Between nodes no log states it: call after call, as nccl-tests times them.
[[nodiscard]] CallLaunch launch_of(const Point& point);

/// The ways of a point: how its values were combined, where the operation combines any; what its release does by itself.
[[nodiscard]] Ways ways_of(const Point& point);

}  // namespace fabricost::core
