#pragma once
/// \file parameters.hpp
/// Every constant of a System, one row each (parameter.hpp), from data/priors, one file per set. All code
/// that reads, writes, checks or fits constants walks these tables. A new constant is a member of its struct
/// and a row there.

#include <fabricost/hardware/parameter.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <span>
#include <string_view>

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
using core::parameters_of;
}  // namespace fabricost
