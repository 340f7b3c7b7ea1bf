#pragma once
/// \file workload.hpp
/// Published results of whole workloads, row by row, with predictions.

#include <fabricost/hardware/system.hpp>
#include <fabricost/plan/training/step.hpp>
#include <fabricost/validation/validate.hpp>

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fabricost::plan {

/// One published figure and its prediction.
struct WorkloadRow {
  std::string id, group, model, metric;
  double measured = 0, predicted = 0;  ///< in the same unit; training figures are compared as seconds per step
  double low = 0, high = 0;            ///< 5-95 % interval of `predicted`; both 0: no interval
  bool fully_specified = false;
  std::string skipped;  ///< the reason why there is no prediction; empty when there is one
  int line = 0;
  /// Whether the layout of a training row, which did run, is predicted to fit its GPUs; empty if its
  /// recomputation is not stated.
  std::optional<bool> fits{};

  /// predicted / measured - 1; 0 when skipped.
  [[nodiscard]] double error() const { return skipped.empty() ? predicted / measured - 1 : 0; }
};

/// The kind of table of published results, by its columns; `none` for anything else (points, a log).
enum class WorkloadTable : unsigned char { none, training, pipeline, moe, ops, reliability, inference, moe_kernels };
/// \throws SpecError for a file that cannot be read
[[nodiscard]] WorkloadTable workload_table(const std::filesystem::path& file);

/// Errors of the rows of one or more tables that are fully specified and priced, in total and by group; the
/// others are counted by reason.
struct WorkloadReport {
  ErrorSummary total;
  std::vector<ErrorGroup> by_group;  ///< by name
  std::vector<Skipped> skipped;
  std::vector<ErrorGroup> memory;  ///< of the memory peaks that training rows state, by group
  int layouts = 0;                 ///< number of rows that state their layout with its recomputation: they ran, so they fit
  std::vector<std::string> unfit;  ///< ids of those that are predicted not to fit
  std::vector<WorkloadRow> rows;
};
[[nodiscard]] WorkloadReport summarise(std::vector<WorkloadRow> rows);
/// Reads and predicts tables. \throws SpecError; RequestError for a file that is not such a table
/// \param stack whose own kernels price rows of kernels; null: none
[[nodiscard]] WorkloadReport validate_workloads(const std::vector<std::filesystem::path>& files, const Stack* stack = nullptr);

/// Predicts every row of a pipeline CSV (columns `id group model layers hidden heads seq p v tp m microbatch
/// schedule t_f_ms t_b_ms t_w_ms t_comm_ms metric value unit fully_specified notes`; others are ignored).
///
///   bubble_rate                  bubble / (work + bubble), pipeline_cost; zb_2p is searched
///   samples_per_gpu_per_s        m b / (p step), step = (1 + stretch) work + bubble + 2 v m C: of data/workloads/pipeline.yaml
///   activations_first_stage,
///   params_grads_optimizer_...,
///   activation_percent_of_...    Korthikanti 2022 (arXiv 2205.05198)
///   normalised_throughput        GPipe on even stages over its first row: p m / (m + p - 1)
///
/// Stage times that a row lacks are taken from a profile of the same model, else of the model nearest in
/// width, scaled by layers, FLOPs and tokens.
/// \throws SpecError for another kind of file, an invalid column or cell
[[nodiscard]] std::vector<WorkloadRow> predict_pipeline_rows(const std::filesystem::path& file);

/// Predicts every row of a moe.csv: distinct nodes that a token touches and the fullest expert of random
/// routing (experts/routing.hpp, experts/imbalance.hpp); the bandwidth of dispatch and combine kernels that send a
/// token once per node, counted as DeepEP counts, from NCCL's exchange over the same NICs (nothing is fitted
/// to kernels); low-latency kernels as fitted inside a node (experts/moe_kernels.hpp); bus bandwidth of
/// NCCL's all_to_all; experts that a node can hold for one copy across. Other rows give a reason: shares and
/// speed-ups without a shape, machines without a description. \param calibration as in load_system
/// \throws SpecError with line and column for an invalid cell or missing columns; RequestError as load_system
[[nodiscard]] std::vector<WorkloadRow> predict_moe_rows(const std::filesystem::path& file, std::string_view calibration = {});

/// Predicts every row of a reliability CSV (columns id group source topic system gpus model quantity value
/// unit fully_specified notes).
///
///   failure counts, MTTF, failures per node-day   rate of the fleet of the row's source x nodes x time (economics/reliability.hpp)
///   goodput, effective training time of a run     goodput_of with the defaults of FailureFacts, best interval, background checkpoints
///   size of a checkpoint                          14 bytes a parameter
///   power of a GPU, node, rack                    data/gpus, data/systems; for a measured maximum: load x rated
///
/// Counts by cause come from the compared table itself: those rows check the reading and the arithmetic. The
/// other rows, observations that do not follow from anything else, give a reason in `skipped`. \throws
/// SpecError for a missing column or invalid cell
[[nodiscard]] std::vector<WorkloadRow> predict_reliability_rows(const std::filesystem::path& file);

/// One row of a training.csv (columns: docs/reading-logs.md), as a job on a machine.
struct TrainingRow {
  WorkloadRow row;
  Model model;
  Layout layout;
  std::string system;                  ///< of data/systems or data/clusters
  std::vector<std::string> overrides;  ///< NICs and GPU that the row states
  std::string stack, source;           ///< the stack it ran with; where the row is published, as stated
  int gpus = 0;
  bool recompute_stated = false;  ///< otherwise the layout is priced without recomputation, like a given layout
  double memory_rate = 0;         ///< bytes/s that the row states; 0: the datasheet's
  double memory_gib = 0;          ///< peak that the row states; 0: none
  bool out_of_memory = false;     ///< the layout is possible but ended out of memory: its value is "OOM"
};

/// Rows in the order of the file. Rows that cannot be priced give the reason in `row.skipped`. Figures are
/// converted to seconds per step by each group's own convention: tokens/s, TFLOPS and MFU of 6 N and all
/// scores (SC21: equation 3 with recomputation).
/// \throws SpecError with line and column for malformed cells
[[nodiscard]] std::vector<TrainingRow> read_training_rows(const std::filesystem::path& file);

/// Changes to the shipped constants: called on every stack (or publisher of kernels) and on the constants of
/// every GPU after loading.
struct KernelKnowledge {
  std::function<void(Stack&)> stack{};
  std::function<void(Generation, ComputeConstants&)> constants{};
};

/// Fills `predicted` and its interval. Rows with an impossible job give the reason in `skipped`.
void predict_training_rows(std::vector<TrainingRow>& rows, const KernelKnowledge& other = {});

/// Memory peaks of the rows that state one and have a possible layout, beside the prediction for the worst
/// stage, in GiB as the framework's allocator reports them: without context, communicators, fragmentation.
[[nodiscard]] std::vector<WorkloadRow> predict_memory_rows(const std::vector<TrainingRow>& rows);

/// A layout whose outcome is known, and the memory it is predicted to need.
struct MemoryVerdict {
  std::string id, group, model;
  bool ran = true;  ///< false: it ended out of memory
  double bytes = 0, capacity = 0;
  [[nodiscard]] bool fits() const { return bytes <= capacity; }
};
/// Judges the rows that state their layout with its recomputation and are priced or ran out of memory.
[[nodiscard]] std::vector<MemoryVerdict> judge_memory(const std::vector<TrainingRow>& rows);

/// The loaded machine of a row, with its compiled collectives. Kept by callers that price many rows.
struct TrainingMachine {
  System system;
  Processor gpu;
  std::unique_ptr<GroupCosts> costs;
};
/// \throws as load_system
/// \param gpus of a job, whose slice it is where the machine is a pod (slice.hpp); 0: the machine as described
[[nodiscard]] std::unique_ptr<TrainingMachine> load_training_machine(const std::string& system, const std::vector<std::string>& overrides,
                                                                     int gpus = 0);
/// Machines of many rows, each loaded once.
class TrainingMachines {
 public:
  /// The machine lives as long as this object. \throws as load_system
  [[nodiscard]] TrainingMachine& on(const std::string& system, const std::vector<std::string>& overrides, int gpus) {
    std::string name = system;
    for (const std::string& o : overrides) name += " " + o;
    std::unique_ptr<TrainingMachine>& machine = known_[name];
    if (!machine) machine = load_training_machine(system, overrides);
    if (machine->system.pod == 0 || gpus == 0) return *machine;
    std::unique_ptr<TrainingMachine>& slice = known_[name + " of " + std::to_string(gpus)];
    if (!slice) slice = load_training_machine(system, overrides, gpus);
    return *slice;
  }

 private:
  std::map<std::string, std::unique_ptr<TrainingMachine>> known_;
};
/// The machine's processor with the limits that the row states.
[[nodiscard]] Processor processor_of(const TrainingRow& row, const TrainingMachine& machine);

}  // namespace fabricost::plan
