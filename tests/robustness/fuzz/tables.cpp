// Tables of published results, of iteration times, and the tables that come with the library: read from a folder in which one is
// replaced.
#include "scratch.hpp"
#include "targets.hpp"

#include <fabricost/plan/evaluation/workload.hpp>
#include <fabricost/plan/readings/iteration_times.hpp>
#include <fabricost/plan/serving/arrivals/requests.hpp>
#include <fabricost/specs/data_directory.hpp>
#include <fabricost/plan/specs/failures.hpp>
#include <fabricost/specs/load.hpp>
#include <fabricost/plan/specs/load_model.hpp>
#include <fabricost/plan/specs/rl.hpp>
#include <fabricost/plan/specs/serving.hpp>
#include <fabricost/plan/specs/stacks.hpp>

#include <array>
#include <cmath>

namespace fuzz {

namespace {

using namespace fabricost::observe;
namespace fs = std::filesystem;

void check(const WorkloadReport& report) {
  for (const WorkloadRow& row : report.rows)
    require(!row.skipped.empty() || (std::isfinite(row.predicted) && row.predicted >= 0 && std::isfinite(row.measured)),
            "a priced row has a finite figure: " + row.id);
}

/// Any of the tables, recognised by its header.
void workload(std::string_view bytes) {
  const fs::path file = Scratch::folder().write("workload.csv", bytes);
  tolerate([&] { check(validate_workloads({file})); });
}

void moe_kernels(std::string_view bytes) {
  const fs::path file = Scratch::folder().write("kernels.csv", bytes);
  tolerate([&] {
    for (const WorkloadRow& row : validate_workloads({file}).rows)
      require(!row.skipped.empty() || (std::isfinite(row.measured) && row.measured > 0 && std::isfinite(row.predicted) && row.predicted > 0 &&
                                       row.low <= row.predicted && row.predicted <= row.high),
              "a priced row has a time, a prediction and an interval around it");
  });
}

void iteration_times(std::string_view bytes) {
  const fs::path file = Scratch::folder().write("times.csv", bytes);
  tolerate([&] {
    for (const double seconds : read_iteration_times(file).seconds) require(std::isfinite(seconds) && seconds > 0, "a time is above zero");
  });
}

void requests(std::string_view bytes) {
  const fs::path file = Scratch::folder().write("requests.jsonl", bytes);
  tolerate([&] {
    double before = 0;
    for (const Arrival& one : read_requests(file).requests) {
      require(one.at >= before && one.prompt >= 1 && one.answer >= 1, "requests are in order and have tokens");
      before = one.at;
    }
  });
}

/// A copy of data/ made of links, in which workloads/ can be written to.
class OwnData {
 public:
  OwnData() : folder_(Scratch::folder().path() / "data") {
    const fs::path shipped = data_directory();
    fs::create_directories(folder_ / "workloads");
    for (const auto& entry : fs::directory_iterator(shipped))
      if (entry.path().filename() != "workloads") fs::create_symlink(entry.path(), folder_ / entry.path().filename());
    for (const auto& entry : fs::directory_iterator(shipped / "workloads"))
      fs::create_symlink(entry.path(), folder_ / "workloads" / entry.path().filename());
    shipped_ = shipped;
  }

  /// Runs `job` while data/workloads/`name` holds `bytes`.
  template <class Job>
  void with(const std::string& name, std::string_view bytes, Job&& job) const {
    const std::string place = "data/workloads/" + name;
    Scratch::folder().remove(place);
    Scratch::folder().write(place, bytes);
    use_data_directory(folder_);
    tolerate(job);
    use_data_directory(shipped_);
    Scratch::folder().remove(place);
    fs::create_symlink(shipped_ / "workloads" / name, folder_ / "workloads" / name);
  }

 private:
  fs::path folder_, shipped_;
};
const OwnData& own_data() {
  static const OwnData only;
  return only;
}
template <class Job>
void shipped_table(const char* name, std::string_view bytes, Job&& job) {
  own_data().with(name, bytes, job);
}

void serving_table(std::string_view bytes) {
  shipped_table("serving.yaml", bytes, [] { (void)load_serving_table(); });
}
void serving_stacks(std::string_view bytes) {
  shipped_table("serving-stacks.yaml", bytes, [] { (void)load_serving_table(); });
}
void failure_facts(std::string_view bytes) {
  shipped_table("reliability.yaml", bytes, [] {
    for (const FailureFleet& fleet : load_failure_facts().fleets)
      require(std::isfinite(fleet.failures()) && fleet.replaced() >= 0 && fleet.replaced() <= 1, "failures are counted: " + fleet.name);
  });
}
void rl_facts(std::string_view bytes) {
  shipped_table("rl.yaml", bytes, [] {
    const RlFacts facts = load_rl_facts();
    require(facts.load_rate > 0 && facts.framework > 0 && facts.length_spread >= 0, "facts of reinforcement learning are usable");
  });
}
void stack_table(std::string_view bytes) {
  shipped_table("stacks.yaml", bytes, [] { (void)stacks_fitted_on(Generation::hopper), (void)load_stack("megatron-core"); });
}

constexpr std::array<Target, 9> tables_list{{{"workload", workload},
                                             {"moe_kernels", moe_kernels},
                                             {"iteration_times", iteration_times},
                                             {"requests", requests},
                                             {"serving_table", serving_table, "data/workloads/serving.yaml"},
                                             {"serving_stacks", serving_stacks, "data/workloads/serving-stacks.yaml"},
                                             {"failure_facts", failure_facts, "data/workloads/reliability.yaml"},
                                             {"rl_facts", rl_facts, "data/workloads/rl.yaml"},
                                             {"stack_table", stack_table, "data/workloads/stacks.yaml"}}};

}  // namespace

std::span<const Target> table_targets() { return tables_list; }

}  // namespace fuzz
