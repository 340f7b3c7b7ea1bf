#pragma once
/// All constants that a machine is priced with. `calibrate` changes only these. By default they are the
/// priors (data/priors), which price a machine without measurements.

#include <fabricost/hardware/interval_widths.hpp>
#include <fabricost/hardware/parameters.hpp>

#include <cmath>
#include <cstddef>
#include <string>

namespace fabricost::core {

/// The origin of a prediction's constants: measurements of this very system, of one built like it, or its
/// datasheet alone.
enum class Basis : unsigned char { calibrated, sibling, datasheet };
[[nodiscard]] constexpr const char* name(Basis b) {
  return b == Basis::calibrated ? "calibrated" : b == Basis::sibling ? "sibling" : "datasheet";
}

/// The operations or kernels that were measured for a set of constants, one bit each: operations by their
/// index in `Collective`, kernels by theirs in `CollectiveKernel` (index 0: called from Python) and `MoeKernel`.
/// All bits set: the file does not say.
struct MeasuredOperations {
  unsigned here = ~0U;      ///< on this very machine
  unsigned alike = ~0U;     ///< on a machine with as many GPUs in its scale-up domain
  unsigned anywhere = ~0U;  ///< on any machine of the set
  [[nodiscard]] static constexpr bool has(unsigned bits, std::size_t place) { return (bits >> place & 1U) != 0; }
  friend constexpr bool operator==(const MeasuredOperations&, const MeasuredOperations&) = default;
};

inline constexpr double microsecond = 1e-6;
inline constexpr double kibibyte = 1024;
inline constexpr double mebibyte = 1024 * 1024;
inline constexpr double gibibyte = 1024 * 1024 * 1024;

/// All constants of a system, and the range in which they were measured.
struct Constants {
  ScaleUpConstants scale_up = scale_up_prior;
  PcieConstants pcie = pcie_prior;
  TransportConstants transport = transport_prior;
  ComputeConstants compute = compute_prior;
  CustomConstants custom = custom_prior;
  MoeConstants moe = moe_prior;
  IntervalWidths interval = width_priors;

  Basis basis = Basis::datasheet;                   ///< of the constants inside a node
  Basis transport_basis = Basis::datasheet;         ///< of the constants between nodes
  bool transport_known = false;                     ///< this transport was measured on at least one cluster
  MeasuredOperations operations, transport_operations;           ///< measured for those two sets, by index in `Collective`
  double smallest = 512, largest = 512 * mebibyte;  ///< measured sizes inside a domain, bytes
  double transport_smallest = 512, transport_largest = 512 * mebibyte;  ///< between nodes, where these were measured themselves
  int fewest_ranks = 2, most_ranks = 8;             ///< measured ranks inside a domain
  int most_nodes = 1;                               ///< measured nodes, or domains where those are larger

  std::string name = "prior";  ///< of the calibration
  std::string source{prior_source(ConstantSet::scale_up)};
  Basis compute_basis = Basis::datasheet;  ///< of kernel efficiencies
  bool compute_related = false;            ///< they were fitted to processors of this generation, none of this architecture among them
  std::string compute_name = "prior";
  std::string compute_source{prior_source(ConstantSet::compute)};
  Basis custom_basis = Basis::datasheet;  ///< of inference engines' all-reduce kernels
  MeasuredOperations custom_kernels;                   ///< by index in `CollectiveKernel`
  std::string custom_name = "prior";
  std::string custom_source{prior_source(ConstantSet::custom)};
  Basis moe_basis = Basis::datasheet;  ///< of expert exchange kernels; those whose interval was not narrowed stay at datasheet
  MeasuredOperations moe_kernels;                   ///< by index in `MoeKernel`
  int moe_max_ranks = 16;              ///< measured
  std::string moe_name = "prior";
  std::string moe_source{prior_source(ConstantSet::moe)};
  std::string transport_name = "prior";
  std::string transport_source{prior_source(ConstantSet::transport)};
};

namespace detail {
/// The constants of a set, as bytes.
[[nodiscard]] std::byte* block_of(Constants& c, ConstantSet set);
}  // namespace detail

}  // namespace fabricost::core

namespace fabricost {
using core::Basis;
using core::Constants;
}  // namespace fabricost

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/hardware/constants-inl.hpp>
#endif
