#pragma once
/// Measured points sorted into machines, sets of constants and series, ready to be fitted; constants that somebody asks not to be fitted.

#include "calibrate/fit.hpp"
#include "validation/machines.hpp"

#include <fabricost/calibrate/calibrate.hpp>
#include <fabricost/hardware/parameters.hpp>

#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace fabricost::core::calibrating {

struct Held {
  const Parameter* parameter;
  std::optional<double> value;  ///< that it stays at; none: its own
};

/// \param terms "NAME", "SET:NAME", with "=VALUE" in seconds, bytes or as a plain number; a name without a set means every set that has it
/// \throws RequestError for an unknown name, a value out of the bounds of its kind, a set that points do not show
[[nodiscard]] std::vector<Held> held_constants(const std::vector<std::string>& terms);

/// Error in percent of a ratio, from its log.
[[nodiscard]] inline double error_of(double log_ratio) { return 100 * std::fabs(std::expm1(log_ratio)); }

/// The points, ready to be fitted.
class Preparation {
 public:
  /// \throws SpecError when a spec is faulty, RequestError when the machine to be fitted does not exist
  Preparation(const Points& points, const CalibrateOptions& options);

  std::string own_name;  // of the machine fitted alone, as in its description
  std::vector<Block> blocks;
  std::vector<CalibratedSet> sets;  // parallel to the blocks
  std::vector<FittedMachine> machines;
  std::vector<Series> series;
  std::vector<std::size_t> set_of;  // by series: the set whose residuals it shows
  std::vector<bool> unproven;       // by block: known only from a datasheet so far
  std::vector<Held> held;           // constants that somebody asked to hold
  std::vector<Skipped> skipped;
  std::vector<SetAside> set_aside;
  std::vector<double> before;  // errors in percent, in the order of the points
  std::vector<double> host_launches;  // of rows that the host's launches hold: what launching on one GPU took there, in seconds
  std::vector<unsigned> earlier;      // by block: operations of the machine fitted alone that were measured on it before
  std::map<std::size_t, std::vector<double>> earlier_errors;  // by series of such a block: |log| of each point before the fit

 private:
  void collect(const Points& points);
  /// Clusters of one transport get a block each, which scatters around the transport's, as machines do around measured siblings. The
  /// transport's own block then prices the same points beside theirs.
  void separate();
  void separate(std::size_t transport, const CalibratedSet& cluster);
  /// Transports with a relative among the others scatter around it likewise.
  void relate();
  /// Whether a point names the fitted machine: by the requested name, the one in its description, or an
  /// alias.
  bool is_own(const Point& point);
  void add(const Point& point, int crossing);
  std::size_t machine_of(const System& system);
  std::size_t block_of(ConstantSet set, const System& system, const Fabric& fabric);
  /// \param asked without a measurement, which stays apart from the measured series
  Series& series_of(std::size_t machine, std::size_t set, const Fabric& fabric, const Operation& op, Candidate ran, bool across,
                    bool asked);
  /// Operations without measurements, for every fitted set, to obtain the fit's uncertainty there.
  void ask_everywhere();
  void ask(std::size_t machine, std::size_t block, Operation question, bool across);

  using Key = std::tuple<std::size_t, Collective, double, double, Algorithm, Protocol, bool, bool>;
  CalibrateOptions options_;
  bool own_ = false;
  std::map<std::string, bool> other_names_;  // of machines in the points, with whether each is the fitted one
  PointMachines machines_;
  std::vector<const System*> systems_;
  std::map<const System*, std::size_t> machine_index_;
  std::map<std::string, std::size_t> block_index_;
  std::map<std::pair<std::size_t, std::string>, CalibratedSet> clusters_;  // by the transport's block and the machine
  std::map<Key, std::size_t> series_index_;
};

}  // namespace fabricost::core::calibrating
