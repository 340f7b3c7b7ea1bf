#pragma once
/// Fits constants to measured points: which ones the points determine, how well, and which stay at the prior.

#include <fabricost/hardware/parameters.hpp>
#include <fabricost/hardware/system.hpp>
#include <fabricost/parameters/fitted_on.hpp>
#include <fabricost/validation/set_aside.hpp>

#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fabricost::core {

struct CalibrateOptions {
  std::string system{};  ///< fit this machine alone, starting from its known constants; empty: all machines of the data
                         ///< together, from the prior
  std::string calibration{};                ///< starting constants, as in load_system
  std::vector<std::string> overrides{};     ///< applied to every machine, as in load_system
  std::function<void(System&)> adjust{};    ///< called on every machine after loading, for knowledge that is not in files
  std::optional<ConstantSet> only{};        ///< fit only these constants, from the points that determine them
  std::vector<std::string> leave_out{};     ///< points to exclude, as in validation/set_aside.hpp: "SOURCE", "SOURCE:FROM:TO"
  std::vector<std::string> hold{};          ///< constants not to be fitted: "NAME", "SET:NAME", with "=VALUE" at that value
  std::function<void(Constants&)> prior{};  ///< prior of machines fitted together, on top of the defaults of Constants
  int starts = 0;  ///< minimisations from scattered starting points; 0: three when many machines are fitted together, else one
};

/// One fitted constant.
struct FittedConstant {
  std::string_view key;
  Measure measure = Measure::number;
  double value = 0, prior = 0;
  double deviation = 0;        ///< standard error in log
  double prior_deviation = 0;  ///< standard deviation of the prior
  bool determined = true;      ///< false: the data left it at the prior
  bool shared = false;         ///< one value for several sets
  std::string_view partner{};  ///< the constant it is most strongly correlated with
  double correlation = 0;
};

/// Residuals of the points of one interval class.
struct ClassResidual {
  std::string_view key;  ///< as in IntervalWidths
  int points = 0;
  double median_ape = 0, mape = 0;  ///< percent
  double width = 0;                 ///< half width of the interval in log
};

/// One set of constants.
struct CalibratedSet {
  ConstantSet set = ConstantSet::scale_up;
  std::string name;     ///< "scale-up-hopper", "pcie", "transport-roce", "cluster-alps-gh200"
  std::string cluster;  ///< of a transport: the one machine whose set it is, beside that of all clusters with the transport; else empty
  Generation generation = Generation::other;
  Transport transport{};  ///< the measured one; others may share its constants
  Library library = Library::nccl;
  std::vector<std::string> systems;  ///< measured machines
  std::vector<FittedOn> fitted_on;   ///< the same, with the operations measured on each
  Constants constants;               ///< contains this set and its interval widths
  Bandwidth bandwidth{};             ///< one way, that the shares refer to; 0 for a transport
  Bytes smallest{}, largest{};       ///< measured sizes
  int fewest_ranks = 0, most_ranks = 0, most_nodes = 1;
  std::set<std::string_view> launches;  ///< how its points were launched
  std::set<std::string> libraries;      ///< libraries that ran: "nccl-2.23", or "nccl" without a stated version
  int points = 0;
  double median_ape = 0, mape = 0;  ///< percent, after the fit
  std::vector<FittedConstant> fitted;
  std::vector<ClassResidual> classes;
  bool contradicts = false;  ///< of a machine alone: its points lie further from what was measured on it before than that was sure of
  bool only_fitted = false;  ///< the file contains only the constants in `fitted`; the others stay as shipped
};

/// Whether a set is of kernels, one for each GPU generation, and not of a communication library.
[[nodiscard]] constexpr bool is_of_kernels(ConstantSet set) { return set > ConstantSet::transport; }

struct Calibration {
  std::string system;  ///< the fitted machine, as its description names it; empty when several were fitted together
  std::vector<CalibratedSet> sets;
  int points = 0;                             ///< merged points used
  double median_before = 0, mean_before = 0;  ///< percent, with the constants before the fit
  double median_after = 0, mean_after = 0;
  /// Median and mean error of a fit that made both worse on its own points: the constants before it are kept.
  std::optional<std::pair<double, double>> worse{};
  int constants = 0;   ///< free in the fit
  int determined = 0;  ///< number of them that the data narrowed
  int host_held = 0;   ///< points that the host's launches hold, which are not fitted
  double host_launch = 0;  ///< by them, seconds of launching on one GPU
  bool converged = false;
  int steps = 0;
  std::vector<Skipped> skipped;
  std::vector<SetAside> set_aside;  ///< points read but not trusted
};

/// Least squares on log(predicted / measured) with a robust loss and priors (calibrate/fit.hpp). Repeats are
/// merged by their median. Counted in `skipped` are points of another machine than `system` (by any of its
/// names), of algorithms and libraries without a fitted form, on unknown machines, and with a size or time
/// that is not positive.
/// \throws RequestError when no point is left to fit, or `system` does not exist; SpecError when a spec is faulty
[[nodiscard]] Calibration calibrate(const Points& points, const CalibrateOptions& options = {});

/// Sets the constants that load_system would set with this calibration given explicitly: of a transport those of the machine itself where
/// the calibration has them, else those that all clusters of the transport scatter around.
void apply_calibration(System& system, const Calibration& calibration);

/// Constants of a machine of a generation without a fitted set: the geometric mean of the scale-up sets,
/// rates by their share of the one-way rate; in-switch constants only from sets whose data showed them. Basis
/// datasheet.
void apply_mean(const Calibration& calibration, System& system);

/// Constants of a transport without a fitted set: the geometric mean of the sets of its kind of network
/// (hardware/transport.hpp), or of all if there is none. Basis datasheet.
void apply_transport_mean(System& system, const Calibration& calibration);

/// A calibration file with all sets of `calibration` under `parts:`, or with the given set only.
/// \param date yyyy-mm-dd \param origin the measurement
[[nodiscard]] std::string calibration_yaml(const Calibration& calibration, std::string_view name, std::string_view date,
                                           std::string_view origin);
[[nodiscard]] std::string calibration_yaml(const CalibratedSet& set, std::string_view date, std::string_view origin);

/// A valid name of the format (lower case, digits, dashes) from a file name: "My Cal.yaml" gives my-cal.
[[nodiscard]] std::string calibration_name(const std::filesystem::path& file);

}  // namespace fabricost::core

namespace fabricost {
using core::CalibrateOptions;
using core::CalibratedSet;
using core::Calibration;
using core::FittedConstant;
using core::apply_calibration;
using core::calibrate;
using core::calibration_yaml;
}  // namespace fabricost
