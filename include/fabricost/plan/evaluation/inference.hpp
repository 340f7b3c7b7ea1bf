#pragma once
/// \file inference.hpp
/// Published inference results, row by row, with predictions; the serving frameworks, and their fit.

#include <fabricost/calibrate/calibrate.hpp>
#include <fabricost/plan/evaluation/workload.hpp>
#include <fabricost/plan/specs/serving.hpp>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace fabricost::plan {

/// The quantity in a row of an inference table.
enum class InferenceQuantity : unsigned char {
  none,
  ttft,
  tpot,
  tokens_per_s,
  tokens_per_s_per_gpu,
  first_token,
  decode_rate,
  prefill_rate,
  kv_transfer,
  kv_per_token,
  training_flops,
  expert_phase,
  expert_bound,
  offload
};

/// One figure of a table, and the deployment it belongs to.
struct InferenceRow {
  WorkloadRow row;
  InferenceQuantity quantity = InferenceQuantity::none;
  double unit = 1;  ///< SI units per unit of the row
  std::shared_ptr<const Model> model;
  std::string system, stack;
  EngineFormat format;
  EngineLayout engine;  ///< of decode workers, if disaggregated
  EngineLayout prefill;
  Workers workers;
  bool apart = false;
  ServingLoad load;
  ServerSettings settings;
  double batch = 0;  ///< of a static batch, or sequences per GPU
  int per_gpus = 1;  ///< GPUs that a rate is counted for
};

/// Rows in the order of the file. A line with two figures (TTFT and TPOT) becomes two rows. Where figures of
/// different kinds share a group, ":" and the metric are appended to the group's name. Rows that cannot be
/// priced give the reason in `row.skipped`.
/// \throws SpecError with line and column for malformed cells
[[nodiscard]] std::vector<InferenceRow> read_inference_rows(const std::filesystem::path& file, const ServingTable& table);
/// Fills `predicted` and its interval.
void predict_inference_rows(std::vector<InferenceRow>& rows, const ServingTable& table);

/// A row prepared for repeated pricing while constants change.
class InferenceJob {
 public:
  /// \throws RequestError for an impossible deployment
  InferenceJob(const InferenceRow& row, ServingMachine& machine);
  /// The prediction in the row's own unit. \throws RequestError when it does not fit
  [[nodiscard]] double operator()(const ServingStack& stack) const;

 private:
  const InferenceRow* row_;
  Engine engine_;
  std::unique_ptr<Engine> prefill_;
  KvLink link_{0, 1};
};

struct ServingFit {
  ServingTable table;
  int rows = 0, constants = 0, steps = 0;
  double median_tpot = 0, median_ttft = 0;  ///< percent
  std::vector<Skipped> skipped;
};
/// Least squares on log(predicted / measured) of TTFT, TPOT, static batches and first tokens of fully
/// specified rows, soft-L1 beyond 10 %, with priors (serving/parameters.hpp). A group of n rows has the
/// weight of sqrt(n) rows.
/// \throws RequestError when no row is left to fit
[[nodiscard]] ServingFit calibrate_serving(const std::vector<InferenceRow>& rows, const std::vector<std::string>& leave_out = {});

}  // namespace fabricost::plan
