#pragma once
/// Every constant of a System by name, one row each, from data/priors, one file per set: its place, kind, bounds and prior. All code that
/// reads, writes, checks or fits constants walks these tables. A new constant is a member of its struct and a row there.
///
/// `spread`: standard deviation, in log, around the prior when one machine is fitted from a few points.
/// `latency`, `rate`: exponents with which it follows the common factor of this machine's latencies (rates)
/// relative to the prior's; for kernels, the factor of ll.hop (parameters/related.hpp).

#include <fabricost/hardware/constant_sets.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <span>
#include <string_view>

namespace fabricost::core {

struct Constants;

/// The sets of constants of a system.
enum class ConstantSet : unsigned char { scale_up, pcie, transport, compute, custom, moe };
inline constexpr std::array<std::string_view, 6> constant_set_names{"scale_up", "pcie", "transport", "compute", "custom", "moe"};
[[nodiscard]] constexpr std::string_view name(ConstantSet s) { return constant_set_names[static_cast<std::size_t>(s)]; }

/// The notation of a constant in a file: seconds, a fraction of the one-way rate, bytes, a plain number.
enum class Measure : unsigned char { time, share, size, number };

/// The kind of a constant, which determines its notation in a file and the range in which every price is
/// finite and positive: seconds; a fraction of the one-way rate; bytes; a factor that may divide; a part of a
/// whole; a plain number; a count that divides; the order of a norm.
enum class ConstantKind : unsigned char { seconds, link_share, bytes, share, part, number, divisor, order };

/// The treatment in a joint fit of several machines: a value for each machine, one for all, or not fitted.
/// `form`: not fitted and common to all machines (hardware/constant_sets.hpp), so a calibration file states
/// it only where it differs.
enum class FitTreatment : unsigned char { own, shared, held, form };

struct Bounds {
  double min = 0, max = 0;
};

/// The valid range of a System's constant, wider than the bounds of a fit.
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

struct Parameter {
  std::string_view key;  ///< as in a calibration file, sections with a point: "ll.hop"
  ConstantSet set = ConstantSet::scale_up;
  std::string_view member;  ///< of the set's struct
  std::size_t offset = 0;   ///< in the struct, in bytes
  ConstantKind kind = ConstantKind::number;
  double prior = 0;         ///< value without measurements
  double min = 0, max = 0;  ///< of a fit, in SI units
  FitTreatment fitted = FitTreatment::own;
  double spread = 0;
  double latency = 0, rate = 0;
  double follows = 0;  ///< of a transport: exponent with which it follows tree_step until it is measured; 0: independent

  [[nodiscard]] double& of(Constants& c) const;
  [[nodiscard]] double value(const Constants& c) const;
  [[nodiscard]] constexpr Measure measure() const {
    return kind == ConstantKind::seconds      ? Measure::time
           : kind == ConstantKind::link_share ? Measure::share
           : kind == ConstantKind::bytes      ? Measure::size
                                              : Measure::number;
  }
  /// Whether a fit does not change it.
  [[nodiscard]] constexpr bool held() const { return fitted == FitTreatment::held || fitted == FitTreatment::form; }
};

}  // namespace fabricost::core

#include <fabricost/hardware/shipped_priors.inc>

namespace fabricost::core {

namespace detail {
/// The set of these rows, with every constant at its prior.
template <class Block, std::size_t N>
consteval Block prior_of(const std::array<Parameter, N>& rows) {
  static_assert(sizeof(Block) == N * sizeof(double), "a constant was added: give it a row in data/priors");
  std::array<double, N> values{};
  for (const Parameter& row : rows) values[row.offset / sizeof(double)] = row.prior;
  return std::bit_cast<Block>(values);
}
}  // namespace detail

inline constexpr auto scale_up_prior = detail::prior_of<ScaleUpConstants>(scale_up_parameters);
inline constexpr auto pcie_prior = detail::prior_of<PcieConstants>(pcie_parameters);
inline constexpr auto transport_prior = detail::prior_of<TransportConstants>(transport_parameters);
inline constexpr auto compute_prior = detail::prior_of<ComputeConstants>(compute_parameters);
inline constexpr auto custom_prior = detail::prior_of<CustomConstants>(custom_parameters);
inline constexpr auto moe_prior = detail::prior_of<MoeConstants>(moe_parameters);

[[nodiscard]] inline std::span<const Parameter> parameters_of(ConstantSet set) {
  switch (set) {
    case ConstantSet::scale_up: return scale_up_parameters;
    case ConstantSet::pcie: return pcie_parameters;
    case ConstantSet::transport: return transport_parameters;
    case ConstantSet::compute: return compute_parameters;
    case ConstantSet::custom: return custom_parameters;
    case ConstantSet::moe: return moe_parameters;
  }
  return {};
}

/// The source of a set's priors.
[[nodiscard]] constexpr std::string_view prior_source(ConstantSet set) { return prior_sources[static_cast<std::size_t>(set)]; }

}  // namespace fabricost::core

namespace fabricost {
using core::Bounds;
using core::ConstantSet;
using core::Parameter;
using core::parameters_of;
}  // namespace fabricost
