#pragma once
/// The measurements behind a set of constants: machines, and the operations or kernels measured on each. A
/// calibration file contains it (`fitted_on:`), and a prediction is `calibrated` only if its own operation or
/// kernel was measured on this very machine.

#include <fabricost/collective.hpp>
#include <fabricost/hardware/constants.hpp>
#include <fabricost/hardware/system.hpp>
#include <fabricost/experts/moe_kernels.hpp>
#include <fabricost/price/protocol.hpp>

#include <cmath>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost::core {

/// One machine of a set.
struct FittedOn {
  std::string system;
  int domain = 0;         ///< GPUs of its scale-up domain
  unsigned measured = 0;  ///< a bit for each name of measured_names
  double rate = 0;        ///< of a GPU's links inside it, one way, bytes/s; 0: not stated
};

/// Engines' all-reduce kernels as a file names them; in place of the library's own, a call from Python.
inline constexpr auto custom_names = [] {
  auto out = collective_kernel_names;
  out[0] = "host_launch";
  return out;
}();

/// Operations or kernels that a set can be fitted on, by place. Empty for compute, which has neither.
[[nodiscard]] constexpr std::span<const std::string_view> measured_names(ConstantSet set) {
  switch (set) {
    case ConstantSet::scale_up:
    case ConstantSet::pcie:
    case ConstantSet::transport: return collective_names;
    case ConstantSet::custom: return custom_names;
    case ConstantSet::moe: return std::span{moe_kernel_names}.first(own_moe_kernels - 1);  // nccl has constants of its own, and data/exchanges none
    case ConstantSet::compute: break;
  }
  return {};
}
/// The key they stand under.
[[nodiscard]] constexpr std::string_view measured_key(ConstantSet set) {
  return set == ConstantSet::custom || set == ConstantSet::moe ? "kernels" : "operations";
}

/// Adds a point of `place` measured on a machine. \param rate as in FittedOn
inline void add_measured(std::vector<FittedOn>& all, std::string_view system, int domain, std::size_t place, double rate = 0) {
  for (FittedOn& one : all)
    if (one.system == system) {
      one.measured |= 1U << place;
      return;
    }
  all.push_back({std::string{system}, domain, 1U << place, rate});
}

/// The evidence of a set for a machine. \param all empty: not stated, the set counts for everything \param named
/// whether the file applies to this machine under a name that is not in `all`: a file given by hand without
/// `systems`
[[nodiscard]] inline MeasuredOperations measured_operations_of(std::span<const FittedOn> all, const System& system, bool named = false) {
  if (all.empty()) return {};
  const Tier* const tier = system.tier(TierRole::scale_up);
  const auto whole = [](double rate) { return std::round(rate / units::GB_per_s(1).value()); };
  const double rate = tier != nullptr ? whole(tier->bandwidth.value.value()) : 0;
  MeasuredOperations out{0, 0, 0};
  for (const FittedOn& one : all) {
    out.anywhere |= one.measured;
    if (one.domain == system.domain && (one.rate == 0 || whole(one.rate) == rate)) out.alike |= one.measured;
    if (one.system == system.name || (named && all.size() == 1)) out.here |= one.measured;
  }
  return out;
}

/// The same for constants fitted to measurements of one machine alone, whose priors are the constants from its relatives: operations
/// measured on those count as measured somewhere. \param before of the constants that were the priors, and their basis
[[nodiscard]] inline MeasuredOperations with_earlier_measurements(MeasuredOperations own, std::size_t machines, const MeasuredOperations& before, Basis basis_before) {
  if (machines != 1 || basis_before == Basis::datasheet) return own;
  own.alike |= before.alike;
  own.anywhere |= before.anywhere;
  return own;
}

}  // namespace fabricost::core
