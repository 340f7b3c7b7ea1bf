#pragma once
/// Half widths of intervals by name: those that a fit determines together with the constants of a set, and
/// those common to all machines. Values before a fit, each with its source, are in
/// data/priors/intervals.yaml.

#include <fabricost/hardware/parameters.hpp>

#include <array>
#include <string_view>

namespace fabricost::core {

/// Half width, in log time, of the interval that contains nine of ten measured points, by residual class.
/// Widths described as added are added in quadrature.
struct IntervalWidths {
  double ring_ll, ring_ll128, ring_simple, nvls, exchange_ll, exchange_simple;
  double internode_ring_ll, internode_ring_ll128, internode_ring_simple, tree_ll, tree_ll128, tree_simple, nvls_tree, internode_exchange;
  double pcie_ll, pcie_simple, pcie_exchange_ll, pcie_exchange_simple;
  double custom_one_shot, custom_two_shot, host_launch;
  double deepep_normal, deepep_low_latency, trtllm_one_sided, trtllm_two_sided, mori;
  double sibling;  ///< added: offset between similar systems
  double rccl_sibling;  ///< instead of it, for RCCL inside a node: launches and shares of the links differ more between installs
  /// Replaces `sibling` for an engine's kernel measured only on machines with another domain size or links of another rate.
  double other_domain;
  double other_domain_call;  ///< the same for a call from Python, where the host differs, too
  double other_ranks;        ///< added: an engine's kernel on numbers of ranks that no fit had, as 6
  /// Added: an operation measured on no machine of the set, priced with the constants of others.
  double unmeasured_operation;
  double datasheet;             ///< a generation without measurements
  double pcie_datasheet;        ///< a PCIe board without measurements (1.645 x 0.5)
  double pcie_sockets;          ///< the same across its two sockets
  double pcie_carried;          ///< one whose rates the system states
  double unmeasured_cluster;    ///< a cluster without measurements, of collectives between domains
  double unmeasured_exchange;   ///< the same of expert kernels, which were measured inside a domain alone
  double unmeasured_transport;  ///< a transport without measurements
  double unfitted_algorithm;    ///< an algorithm priced from its schedule alone
  double below_sizes;           ///< below the measured sizes: latency is flat there, but tiny messages may be faster
  double beyond_sizes;          ///< per factor of two beyond the measured sizes, for the part of the time there that is not the wire
  double beyond_ranks;          ///< per factor of two outside the measured ranks
  /// Minimum share of `beyond_sizes` on a machine without measurements of its own.
  double unseen_wire;
  double unknown_library;  ///< in quadrature: nothing says which version ran, or its kernels were measured on other GPUs alone
  double host_bound;       ///< of a time that the host's launches hold
  double host_bound_here;  ///< the same on a machine whose processor was measured
  double xla_module;       ///< of the time that a module of XLA adds
  double rccl_module;      ///< of a time that a module around RCCL holds
  double host_copy;  ///< of a measured tier to the host: copies bend where the engine starts to stream, a line does not
};

/// The valid range of a width, in log time.
inline constexpr Bounds width_bounds{0, 10};

struct NamedWidth {
  std::string_view key;
  double IntervalWidths::*of;
  double prior;
  ConstantSet set = ConstantSet::scale_up;  ///< whose residuals it comes from; meaningless for widths common to all machines
};

}  // namespace fabricost::core

#include <fabricost/hardware/shipped_widths.inc>

namespace fabricost::core {

inline constexpr IntervalWidths width_priors = [] {
  IntervalWidths out{};
  for (const NamedWidth& width : interval_widths) out.*width.of = width.prior;
  for (const NamedWidth& width : general_widths) out.*width.of = width.prior;
  return out;
}();

}  // namespace fabricost::core
