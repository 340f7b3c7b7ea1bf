#pragma once
/// \file inference.hpp
/// Published inference results, row by row, beside what the model says of them; the frameworks they ran on and what is fitted of them.

#include <fabricost/calibrate/calibrate.hpp>
#include <fabricost/evaluation/workload.hpp>
#include <fabricost/specs/serving.hpp>

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost {

/// What a row of an inference table states.
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

/// One figure of a table and the deployment it belongs to.
struct InferenceRow {
  WorkloadRow row;
  InferenceQuantity quantity = InferenceQuantity::none;
  double unit = 1;  ///< SI units of one of the row's
  std::shared_ptr<const Model> model;
  std::string system, stack;
  EngineFormat format;
  EngineLayout engine;  ///< decode's, where prefill is apart
  EngineLayout prefill;
  Workers workers;
  bool apart = false;
  ServingLoad load;
  ServerSettings settings;
  double batch = 0;  ///< of a static batch, or sequences per GPU
  int per_gpus = 1;  ///< GPUs a rate is counted per
};

/// Rows in the order of the file; a line that states two figures (TTFT and TPOT) becomes two, and where figures of different kinds share a
/// group, the group's name is followed by ":" and the metric. What cannot be priced says why in `row.skipped`.
/// \throws SpecError with line and column for malformed cells
[[nodiscard]] std::vector<InferenceRow> read_inference_rows(const std::filesystem::path& file, const ServingTable& table);
/// Fills `predicted` and its interval.
void predict_inference_rows(std::vector<InferenceRow>& rows, const ServingTable& table);

/// A row ready to be priced again and again while constants change.
class InferenceJob {
 public:
  /// \throws RequestError for a deployment that cannot be
  InferenceJob(const InferenceRow& row, ServingMachine& machine);
  /// In the row's own unit. \throws RequestError when it does not fit
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
/// Least squares on log(predicted / measured) of TTFT, TPOT, static batches and first tokens of fully specified rows, soft-L1 beyond 10 %,
/// with priors (serving/parameters.hpp). A group of many rows weighs as the square root of their number.
/// \throws RequestError when no row is left to fit
[[nodiscard]] ServingFit calibrate_serving(const std::vector<InferenceRow>& rows, const std::vector<std::string>& leave_out = {});

}  // namespace fabricost
