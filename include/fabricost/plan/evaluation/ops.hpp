#pragma once
/// Published times of single kernels and collectives, row by row: matrix products, those of experts, attention, element-wise kernels,
/// all_reduce, send_recv. The same columns hold one's own kernels, for calibrate_kernels.
///
///   product      product_seconds of kernels/compute.hpp
///   attention    attention_seconds there, causal, with cuDNN's kernels; its backward
///   experts      two products of all experts there; tokens that enter are read, and their sums cleared and written
///   decode       attention of one token to its context: its bytes
///   memory       bytes read and written, the optimizer's too
///   stream       row_kernel_seconds there: norms, activations, softmax; a kernel that reduces a row before scaling it reads it twice
///   collective   the library on the row's machine
///
/// The arithmetic of a product is multiplied by a factor for its publisher's clocks
/// (data/workloads/stacks.yaml, by group): the same product on the same A100 takes 1.2 times as long in one
/// publication as in another.

#include <fabricost/plan/evaluation/workload.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace fabricost::plan {

enum class OpKind : unsigned char { product, stream, attention, attention_backward, collective, experts, decode, optimizer, memory };

/// One row of an ops.csv (columns: docs/reading-logs.md). Times are seconds.
struct OpsRow {
  WorkloadRow row;
  std::string gpu;                     ///< as in the row
  std::optional<Issue> unknown{};      ///< the fault of a GPU that data/gpus lacks, or of a file that holds none
  std::string file;                    ///< that holds the row
  std::string system;                  ///< of data/systems or data/clusters
  std::vector<std::string> overrides;  ///< differences of the row's machine from `system`
  OpKind kind = OpKind::product;
  Precision precision = Precision::fp16;
  bool blocks = false;  ///< fp8 with a scale for each block of values
  double part = 1;      ///< of the GPU that ran it: one of its cores
  double rows = 0, columns = 0,
         inner = 0;  ///< of products: rows of all of them, columns and inner dimension of each; of a stream: rows and width; of attention:
                     ///< queries of all heads, keys that each may see, widths of query and value together; of experts: rows of all,
                     ///< width of one, hidden width
  double count = 1;  ///< products in one call (attention: one per head); experts that have a row
  double bytes = 0;  ///< moved by a stream, attention or decode; of a collective as nccl-tests counts them
  double entering = 0;  ///< of experts: tokens x hidden width
  Collective collective = Collective::all_reduce;
  Placement place;
};

/// Rows in the order of the file. Rows that cannot be priced give the reason in `row.skipped`. Rows without a
/// known network are priced with an assumed one and are not `fully_specified`. \throws SpecError with line
/// and column for malformed cells
[[nodiscard]] std::vector<OpsRow> read_ops_rows(const std::filesystem::path& file);

/// Seconds of a product or stream on a GPU. \param slower the publisher's factor on a product's arithmetic: clocks, power, input data
[[nodiscard]] double kernel_seconds(const OpsRow& op, const Processor& gpu, double slower = 1);
/// Bytes that a kernel moves at least.
[[nodiscard]] double kernel_bytes(const OpsRow& op);
/// Its kind among a stack's own kernels; none for element-wise kernels that reduce rows, and for collectives.
[[nodiscard]] std::optional<KernelKind> kernel_kind(const OpsRow& op);
[[nodiscard]] inline KernelPrecision kernel_precision(const OpsRow& op) {
  return op.blocks ? KernelPrecision::fp8_block : kernel_precision(op.precision);
}

/// Gives rows of products the reason to be skipped where one of their group, GPU and precision is faster than the peak: they ran in another.
void skip_impossible(std::vector<OpsRow>& rows, TrainingMachines& machines);

/// Fills `predicted` and its interval. \param stack whose own kernels and their spreads count where it has any; null: none
void predict_ops_rows(std::vector<OpsRow>& rows, const Stack* stack = nullptr);

}  // namespace fabricost::plan
