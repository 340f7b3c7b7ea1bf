#pragma once
/// Measured points that should not be fitted: contradictory or physically impossible numbers, one measurement under two machines' names,
/// warm-up, rates of streams taken as times. They are listed with their reason, never dropped silently; `validate` counts them all the
/// same. Points are left out by hand, too, as in `calibrate --leave-out` and data/measurements/left-out.csv.

#include <fabricost/compiled_part.hpp>
#include <fabricost/hardware/system.hpp>
#include <fabricost/readings/points.hpp>

#include <array>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost::core {

/// Why a point is not trusted.
enum class Doubt : unsigned char {
  contradicts_itself,
  above_the_wires,
  two_names,
  warm_up,
  stream,
  below_a_launch,
  impossible_run,
  other_unit
};
inline constexpr std::array<std::string_view, 8> doubt_names{"the printed bandwidth is not bytes / time",
                                                             "bus bandwidth above what the wires allow",
                                                             "the same times under two machines' names",
                                                             "warm-up: the first rows of a sweep are slower than larger messages",
                                                             "rate of many messages in flight: no time of one so small",
                                                             "less time than a kernel takes to start",
                                                             "of a run whose other times are impossible",
                                                             "of a run that takes over 100 times as long as its machine: in another unit?"};
[[nodiscard]] constexpr std::string_view name(Doubt d) { return doubt_names[static_cast<std::size_t>(d)]; }

struct SetAside {
  Point point;
  Doubt doubt = Doubt::contradicts_itself;
  std::string reason;  ///< with the figures
};

struct Screened {
  std::vector<Point> kept;          ///< in their order
  std::vector<SetAside> set_aside;  ///< in their order, each with its first reason
};

/// Maximum bus bandwidth in bytes per second that the wires allow for a point, for any algorithm unless the
/// point names one. Inside a domain with a one-way rate of B per GPU: B; in-switch all-reduce of n ranks
/// 2(n-1)/(n+1) B. Between domains of g ranks with D one way out of each: ring D; trees of two domains and
/// in-network reduction 2 D; all-to-all D/g (n-1)/(n-g), other exchanges D (n-1)/(n-g). A transfer: the rate
/// of its tier.
/// \returns 0 if the shape is not the machine's, or its links are not described
[[nodiscard]] double highest_bus_bandwidth(const System& system, const Point& point);

/// Minimum time of a collective of a GPU library: the shortest of 30,000 measured ones takes 2.25 us (an
/// engine's own kernel, replayed in a graph), the shortest of NCCL 4.8 us.
inline constexpr double shortest_collective = 1e-6;

/// A run whose median time is more than so many times the predicted one is in another unit, not slow: of 381 measured runs (30,261
/// times), complaints and falls back to TCP among them, the slowest takes 10 times as long, 12 of the datasheet's; seconds taken for
/// milliseconds are 1,000.
inline constexpr double slowest_run = 100;

/// True for an impossible time: above_the_wires or below_a_launch. \param max highest_bus_bandwidth of the
/// point; 0: not known
[[nodiscard]] bool is_impossible(const Point& point, double max);

/// Separates points to fit from points to examine. If a third of a run's points (and at least three) are
/// impossible, none of the run is fitted. In the order of their files: a sweep is a sequence of growing sizes
/// of one run. Ten consecutive times under two machines' names (different ones, after aliases) are doubted
/// under both.
[[nodiscard]] Screened screen(std::vector<Point> points);

/// Points of one source, or of several with a common prefix: "SOURCE", "SOURCE:FROM" or "SOURCE:FROM:TO" with
/// sizes as 512MiB, both included. A `*` in SOURCE stands for any letters.
class LeaveOut {
 public:
  explicit LeaveOut(std::string_view term);
  [[nodiscard]] bool holds(const Point& point) const;
  [[nodiscard]] const std::string& term() const { return term_; }

 private:
  std::string term_, source_;
  double from_ = 0, to_ = std::numeric_limits<double>::infinity();  ///< bytes
};

/// Whether any of them holds the point.
[[nodiscard]] bool left_out(const std::vector<LeaveOut>& all, const Point& point);
[[nodiscard]] std::vector<LeaveOut> leave_outs(const std::vector<std::string>& terms);

}  // namespace fabricost::core

namespace fabricost {
using core::SetAside;
using core::screen;
}  // namespace fabricost
