#pragma once
/// \file interval_widths.hpp
/// The half widths of intervals (IntervalWidths) by name: those a fit finds with the constants of a set, and those that all machines have
/// in common.

#include <fabricost/hardware/parameter.hpp>

#include <array>
#include <string_view>

namespace fabricost {

/// The range a width may have, in log time.
inline constexpr Bounds width_bounds{0, 10};

struct NamedWidth {
  std::string_view key;
  double IntervalWidths::*of;
  ConstantSet set = ConstantSet::scale_up;  ///< whose residuals it comes from
};

/// Widths that a fit finds, by the name they have in a calibration file.
inline constexpr auto interval_widths = std::to_array<NamedWidth>({
    {"ring_ll", &IntervalWidths::ring_ll, ConstantSet::scale_up},
    {"ring_ll128", &IntervalWidths::ring_ll128, ConstantSet::scale_up},
    {"ring_simple", &IntervalWidths::ring_simple, ConstantSet::scale_up},
    {"nvls", &IntervalWidths::nvls, ConstantSet::scale_up},
    {"exchange_ll", &IntervalWidths::exchange_ll, ConstantSet::scale_up},
    {"exchange_simple", &IntervalWidths::exchange_simple, ConstantSet::scale_up},
    {"pcie_ll", &IntervalWidths::pcie_ll, ConstantSet::pcie},
    {"pcie_simple", &IntervalWidths::pcie_simple, ConstantSet::pcie},
    {"pcie_exchange_ll", &IntervalWidths::pcie_exchange_ll, ConstantSet::pcie},
    {"pcie_exchange_simple", &IntervalWidths::pcie_exchange_simple, ConstantSet::pcie},
    {"internode_ring_ll", &IntervalWidths::internode_ring_ll, ConstantSet::transport},
    {"internode_ring_ll128", &IntervalWidths::internode_ring_ll128, ConstantSet::transport},
    {"internode_ring_simple", &IntervalWidths::internode_ring_simple, ConstantSet::transport},
    {"tree_ll", &IntervalWidths::tree_ll, ConstantSet::transport},
    {"tree_ll128", &IntervalWidths::tree_ll128, ConstantSet::transport},
    {"tree_simple", &IntervalWidths::tree_simple, ConstantSet::transport},
    {"nvls_tree", &IntervalWidths::nvls_tree, ConstantSet::transport},
    {"internode_exchange", &IntervalWidths::internode_exchange, ConstantSet::transport},
    {"custom_one_shot", &IntervalWidths::custom_one_shot, ConstantSet::custom},
    {"custom_two_shot", &IntervalWidths::custom_two_shot, ConstantSet::custom},
    {"host_launch", &IntervalWidths::host_launch, ConstantSet::custom},
    {"deepep_normal", &IntervalWidths::deepep_normal, ConstantSet::moe},
    {"deepep_low_latency", &IntervalWidths::deepep_low_latency, ConstantSet::moe},
    {"trtllm_one_sided", &IntervalWidths::trtllm_one_sided, ConstantSet::moe},
    {"trtllm_two_sided", &IntervalWidths::trtllm_two_sided, ConstantSet::moe},
});
/// Widths that all machines have in common, by the name they have in data/priors/forms.yaml; their set says nothing.
inline constexpr auto general_widths = std::to_array<NamedWidth>({
    {"sibling", &IntervalWidths::sibling},
    {"other_domain", &IntervalWidths::other_domain},
    {"other_domain_call", &IntervalWidths::other_domain_call},
    {"unmeasured_operation", &IntervalWidths::unmeasured_operation},
    {"datasheet", &IntervalWidths::datasheet},
    {"pcie_datasheet", &IntervalWidths::pcie_datasheet},
    {"unmeasured_cluster", &IntervalWidths::unmeasured_cluster},
    {"unmeasured_transport", &IntervalWidths::unmeasured_transport},
    {"unfitted_algorithm", &IntervalWidths::unfitted_algorithm},
    {"below_sizes", &IntervalWidths::below_sizes},
    {"below_rack_sizes", &IntervalWidths::below_rack_sizes},
    {"beyond_sizes", &IntervalWidths::beyond_sizes},
    {"beyond_ranks", &IntervalWidths::beyond_ranks},
    {"unseen_wire", &IntervalWidths::unseen_wire},
    {"host_copy", &IntervalWidths::host_copy},
});

}  // namespace fabricost
