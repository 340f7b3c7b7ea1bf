#pragma once
/// \file sections.hpp
/// The sections of docs/accuracy.md, each a text of Markdown worked out from the measured points.

#include <fabricost/io/points.hpp>
#include <fabricost/io/validate.hpp>

#include <string>
#include <vector>

namespace accuracy {

/// Merged points by what they were measured on.
struct Measurements {
  fabricost::Points nvlink, l40s, b60;
  fabricost::Points clusters;         ///< healthy public runs on more than one node, known faulty sweeps left out
  std::vector<std::string> left_out;  ///< why
};
/// \throws fabricost::Error when a file is missing or malformed
[[nodiscard]] Measurements read_measurements(const std::string& folder);

[[nodiscard]] std::string introduction();
/// Errors on the systems whose points were fitted, beside NCCL's own model and the datasheet.
[[nodiscard]] std::string fitted_systems(const Measurements& data);
/// The same by operation, size, ranks, protocol, library version.
[[nodiscard]] std::string where_it_errs(const Measurements& data);
/// A generation fitted out of: blind, then after the probes of calibrate/probes.hpp.
[[nodiscard]] std::string generations_left_out(const Measurements& data);
/// Ranks, sizes, types left out of the fit and predicted.
[[nodiscard]] std::string parts_left_out(const Measurements& data);
/// Public clusters: in sample, left out, after one point of each.
[[nodiscard]] std::string clusters(const Measurements& data);
/// A cluster calibrated on its fewest nodes, its larger node counts predicted.
[[nodiscard]] std::string more_nodes(const Measurements& data);

}  // namespace accuracy
