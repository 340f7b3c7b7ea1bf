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

/// The kind of table of published results, by its columns; `none` for anything else (points, a log), `in_python` for those that
/// fabricost.evaluation compares.
enum class WorkloadTable : unsigned char { none, training, ops, inference, moe_kernels, in_python };
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
