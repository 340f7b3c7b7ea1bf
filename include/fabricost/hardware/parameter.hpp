#pragma once
/// \file parameter.hpp
/// A constant of a System by name: its place, its kind, its bounds and its prior.
/// The tables of them are in parameters.hpp.
///
/// `spread`: standard deviation, in log, around the prior when one machine is fitted from a few points; `latency`, `rate`: how strongly
/// it follows the factor by which all latencies (rates) of that machine differ from the prior's; of kernels, that of ll.hop (related.hpp).

#include <fabricost/hardware/collective_constants.hpp>
#include <fabricost/hardware/compute_constants.hpp>
#include <fabricost/hardware/custom_constants.hpp>
#include <fabricost/hardware/moe_constants.hpp>

#include <array>
#include <cstddef>
#include <string_view>

namespace fabricost {

struct Constants;

/// Which of a system's sets of constants.
enum class ConstantSet : unsigned char { scale_up, pcie, transport, compute, custom, moe };
inline constexpr std::array<std::string_view, 6> constant_set_names{"scale_up", "pcie", "transport", "compute", "custom", "moe"};
[[nodiscard]] constexpr std::string_view name(ConstantSet s) { return constant_set_names[static_cast<std::size_t>(s)]; }

/// How a file writes a constant: seconds, a rate given as its share of the one-way rate, bytes, a plain number.
enum class Measure : unsigned char { time, share, size, number };

/// What a constant is, from which follows how a file writes it and the range in which every price is finite and above zero: seconds; a
/// share of the one-way rate; bytes; a factor that may divide; a part of a whole; a plain number; a count that divides; order of a norm.
enum class ConstantKind : unsigned char { seconds, link_share, bytes, share, part, number, divisor, order };

/// Whether a joint fit of several machines gives every machine its own value, all of them one, or leaves it at what was set; `form`: left
/// as well, and the same on all machines (hardware/form_constants.hpp), so that a calibration file has it only where it differs.
enum class Fitted : unsigned char { own, shared, held, form };

struct Bounds {
  double min = 0, max = 0;
};

namespace detail {
/// The range a System's constant may have, wider than that of a fit.
[[nodiscard]] constexpr Bounds bounds_of(ConstantKind kind) {
  switch (kind) {
    case ConstantKind::seconds: return {0, 100};
    case ConstantKind::link_share:
    case ConstantKind::share: return {1e-6, 100};
    case ConstantKind::bytes:
    case ConstantKind::divisor: return {1e-3, 1e18};
    case ConstantKind::part: return {0, 2};
    case ConstantKind::number: return {0, 1e6};
    case ConstantKind::order: return {1, 1000};
  }
  return {};
}
}  // namespace detail

struct Parameter {
  std::string_view key;  ///< as in a calibration file, sections with a point: "ll.hop"
  ConstantSet set = ConstantSet::scale_up;
  std::string_view member;  ///< of the set's struct: where it lives
  std::size_t offset = 0;   ///< there, in bytes
  ConstantKind kind = ConstantKind::number;
  double prior = 0;         ///< value of a machine that nobody measured
  double min = 0, max = 0;  ///< of a fit, in SI units
  Fitted fitted = Fitted::own;
  double spread = 0;
  double latency = 0, rate = 0;
  double follows = 0;  ///< of a transport: power by which it follows tree_step until it is measured; 0 does not

  [[nodiscard]] inline double& of(Constants& c) const;
  [[nodiscard]] inline double value(const Constants& c) const;
  [[nodiscard]] constexpr Measure measure() const {
    return kind == ConstantKind::seconds      ? Measure::time
           : kind == ConstantKind::link_share ? Measure::share
           : kind == ConstantKind::bytes      ? Measure::size
                                              : Measure::number;
  }
  /// Whether a fit leaves it alone.
  [[nodiscard]] constexpr bool held() const { return fitted == Fitted::held || fitted == Fitted::form; }
};

}  // namespace fabricost
