#pragma once
/// \file ops.hpp
/// Published times of single kernels and collectives, row by row: matrix products, element-wise kernels, all_reduce, send_recv.
///
///   product      product_seconds of kernels/compute.hpp
///   attention    attention_seconds there, causal, with cuDNN's kernels; its backward
///   stream       row_kernel_seconds there: norms, activations, softmax; a kernel that reduces a row before scaling it reads it twice
///   collective   the library on the row's machine
///
/// The arithmetic of a product is multiplied by a factor for its publisher's clocks
/// (data/workloads/stacks.yaml, by group): the same product on the same A100 takes 1.2 times as long in one
/// publication as in another.

#include <fabricost/plan/evaluation/workload.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace fabricost::plan {

enum class OpKind : unsigned char { product, stream, attention, attention_backward, collective };

/// One row of an ops.csv (columns: docs/reading-logs.md). Times are seconds.
struct OpsRow {
  WorkloadRow row;
  std::string gpu;                     ///< as in the row
  std::string system;                  ///< of data/systems or data/clusters
  std::vector<std::string> overrides;  ///< differences of the row's machine from `system`
  OpKind kind = OpKind::product;
  Precision precision = Precision::fp16;
  double rows = 0, columns = 0,
         inner = 0;  ///< of products: rows of all of them, columns and inner dimension of each; of a stream: rows and width; of attention:
                     ///< queries of all heads, keys that each may see, widths of query and value together
  double count = 1;  ///< products in one call (attention: one per head)
  double bytes = 0;  ///< moved by a stream; of a collective as nccl-tests counts them
  Collective collective = Collective::all_reduce;
  Placement place;
};

/// Rows in the order of the file. Rows that cannot be priced give the reason in `row.skipped`. Rows without a
/// known network are priced with an assumed one and are not `fully_specified`. \throws SpecError with line
/// and column for malformed cells
[[nodiscard]] std::vector<OpsRow> read_ops_rows(const std::filesystem::path& file);

/// Seconds of a product or stream on a GPU. \param slower the publisher's factor on a product's arithmetic: clocks, power, input data
[[nodiscard]] double kernel_seconds(const OpsRow& op, const Processor& gpu, double slower = 1);

/// Fills `predicted` and its interval.
void predict_ops_rows(std::vector<OpsRow>& rows);

}  // namespace fabricost::plan
