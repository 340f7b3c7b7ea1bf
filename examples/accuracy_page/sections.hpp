#pragma once
/// The sections of docs/accuracy.md, each a text of Markdown worked out from the measured points.

#include <fabricost/readings/points.hpp>
#include <fabricost/validation/validate.hpp>

#include <string>
#include <vector>

namespace accuracy {

/// Merged points by machine and origin.
struct Measurements {
  fabricost::core::Points nvlink, l40s, b60;
  /// Healthy public runs of both rounds on more than one node, without what data/measurements/left-out.csv lists.
  fabricost::core::Points clusters;
  fabricost::core::Points cluster_repeats;  ///< the same, not merged
  fabricost::core::Points one_node;  ///< healthy public runs inside one node
  fabricost::core::Points unclear;   ///< public runs of unclear health
  fabricost::core::Points h200, b300, gb200, rtx_pro;  ///< second/: measured as those of nvlink and l40s
  fabricost::core::Points later_one_node;              ///< second/multinode and second/newer
  fabricost::core::Points gb200_xla;                   ///< second/xla, its collectives of GB200
  struct Left {
    std::string term, why;
    fabricost::core::Points points;
  };
  std::vector<Left> left_out;
  int measured = 0, left = 0;  ///< times of healthy runs on more than one node; of these left out
};
/// \throws fabricost::core::Error when a file is missing or malformed
[[nodiscard]] Measurements read_measurements(const std::string& folder);

/// The points that could not be priced, one line a reason.
[[nodiscard]] std::string not_priced(const fabricost::core::ValidationReport& report);

[[nodiscard]] std::string introduction();
/// Points that no fit has seen: other machines, nccl-tests inside one node, runs of unclear health.
[[nodiscard]] std::string never_fitted(const Measurements& data);
/// Errors on the systems whose points were fitted, beside NCCL's own model and the datasheet.
[[nodiscard]] std::string fitted_systems(const Measurements& data);
/// The same by operation, size, ranks, protocol, library version.
[[nodiscard]] std::string where_it_errs(const Measurements& data);
/// A generation fitted out of: blind, then after the probes of calibrate/probes.hpp.
[[nodiscard]] std::string generations_left_out(const Measurements& data);
/// Runs inside one node, each machine without what was fitted to it.
[[nodiscard]] std::string machines_left_out(const Measurements& data);
/// Collectives in a rack of GB200, half of the sizes left out of the fit.
[[nodiscard]] std::string rack_sizes_left_out(const Measurements& data);
/// Ranks, sizes, types left out of the fit and predicted.
[[nodiscard]] std::string parts_left_out(const Measurements& data);
/// Public clusters: left out, after one point of each, in sample; and the points left out of all that.
[[nodiscard]] std::string clusters(const Measurements& data);
/// A cluster calibrated on its fewest nodes, its larger node counts predicted.
[[nodiscard]] std::string more_nodes(const Measurements& data);

}  // namespace accuracy
