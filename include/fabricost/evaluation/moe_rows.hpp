#pragma once
/// \file moe_rows.hpp
/// Published results about experts (the columns of moe.csv) beside what routing and the library's exchanges say of them.

#include <fabricost/compiled_part.hpp>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost {

/// One row: published and predicted in the row's own unit, or why it was not predicted.
struct MoeRow {
  std::string id, group, quantity, method;
  bool fully_specified = false;
  double published = 0;
  double predicted = 0;  ///< 0 where `skipped` says why
  std::string skipped;
  int line = 0;
  /// 100 (predicted / published - 1)
  [[nodiscard]] double error() const { return 100 * (predicted / published - 1); }
};

/// Reads and predicts every row. Predicted are: distinct nodes a token touches and the fullest expert of random routing (routing.hpp,
/// expert_load.hpp); the bandwidth of dispatch and combine kernels that send a token once per node, counted as DeepEP counts, from NCCL's
/// exchange over the same NICs (experts.hpp: nothing is fitted to kernels); low-latency kernels as fitted inside a node (moe_kernels.hpp);
/// bus bandwidth of NCCL's all_to_all; experts a node can hold for one copy across. The rest is returned with the reason: shares and
/// speed-ups without a shape, machines not described. \param calibration as in load_system \throws SpecError with line and column for a
/// cell that is no number where one is due, or negative; for missing columns; RequestError as load_system
[[nodiscard]] std::vector<MoeRow> predict_moe_rows(const std::filesystem::path& file, std::string_view calibration = {});

}  // namespace fabricost
