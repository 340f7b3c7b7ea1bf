#pragma once
/// Published results of whole workloads, row by row, with predictions.

#include <fabricost/hardware/system.hpp>
#include <fabricost/plan/training/step.hpp>
#include <fabricost/validation/validate.hpp>

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace fabricost::plan {

/// One published figure and its prediction.
struct WorkloadRow {
  std::string id, group, model, metric;
  double measured = 0, predicted = 0;  ///< in the same unit
  double low = 0, high = 0;            ///< 5-95 % interval of `predicted`; both 0: no interval
  bool fully_specified = false;
  std::string skipped;  ///< the reason why there is no prediction; empty when there is one
  int line = 0;

  /// predicted / measured - 1; 0 when skipped.
  [[nodiscard]] double error() const { return skipped.empty() ? predicted / measured - 1 : 0; }
};

/// The kind of table of published results, by its columns; `none` for anything else (points, a log), `in_python` for those that
/// fabricost.evaluation compares.
enum class WorkloadTable : unsigned char { none, ops, moe_kernels, in_python };
/// \throws SpecError for a file that cannot be read
[[nodiscard]] WorkloadTable workload_table(const std::filesystem::path& file);

/// Errors of the rows of one or more tables that are fully specified and priced, in total and by group; the
/// others are counted by reason.
struct WorkloadReport {
  ErrorSummary total;
  std::vector<ErrorGroup> by_group;  ///< by name
  std::vector<Skipped> skipped;
  std::vector<WorkloadRow> rows;
};
[[nodiscard]] WorkloadReport summarise(std::vector<WorkloadRow> rows);
/// Reads and predicts tables. \throws SpecError; RequestError for a file that is not such a table
/// \param stack whose own kernels price rows of kernels; null: none \param adjust called on the machines of expert exchange
[[nodiscard]] WorkloadReport validate_workloads(const std::vector<std::filesystem::path>& files, const Stack* stack = nullptr,
                                                const std::function<void(System&)>& adjust = {});

/// A loaded machine with its compiled collectives. Kept by callers that price many rows.
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

}  // namespace fabricost::plan
