#pragma once
/// \file reliability.hpp
/// Reading what failures and money are reckoned with: published fleets (data/workloads/reliability.yaml), prices (data/prices), measured
/// times per iteration; and the rows of a reliability CSV beside what follows from them.

#include <fabricost/io/workload.hpp>
#include <fabricost/plan/cost.hpp>
#include <fabricost/plan/reliability.hpp>
#include <fabricost/plan/stragglers.hpp>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost {

/// Failures of one kind in a fleet.
struct FailureCause {
  std::string cause;
  std::string part;  ///< gpu, network, host, software
  double count = 0;
};

/// A run or fleet that published its failures.
struct FailureFleet {
  std::string name, title, source;
  double gpus = 0, gpus_per_node = 8;
  double days = 0;     ///< 0: only the rate was published
  double planned = 0;  ///< interruptions that were wanted
  std::vector<FailureCause> causes;
  FailureRate rate;  ///< of a node, without planned ones

  [[nodiscard]] double failures() const {
    double sum = 0;
    for (const FailureCause& c : causes) sum += c.count;
    return sum;
  }
  /// Share of failures after which a node is taken away: all but software; 1 where causes were not published.
  [[nodiscard]] double replaced() const {
    double sum = 0;
    for (const FailureCause& c : causes) sum += c.part == "software" ? 0 : c.count;
    return causes.empty() ? 1 : sum / failures();
  }
};

/// Fleets, and the defaults that go with them, each from a source named in the file.
struct FailureFacts {
  std::vector<FailureFleet> fleets;
  double recovery = 0;                                ///< seconds
  double stall = 0;                                   ///< of a checkpoint the job waits for
  double background_stall = 0, background_drain = 0;  ///< of one written in the background
  double repair = 0;                                  ///< of a node
  /// \throws RequestError naming the fleets there are
  [[nodiscard]] const FailureFleet& fleet(std::string_view name) const;
};
/// \throws SpecError with every fault of data/workloads/reliability.yaml
[[nodiscard]] FailureFacts load_failure_facts();

/// Prices of data/prices by name, or a YAML file, which may `extends: default`.
/// Units: rent `USD/h`; electricity `USD/kWh`; site `USD/kW/month` (of 730.5 h); lifetime `years` (of 8,766 h).
/// \throws SpecError with file, line, column, value and remedy; RequestError for a name that does not exist
[[nodiscard]] Prices load_prices(std::string_view name_or_path = "default");

/// Times per iteration, one a line; or a CSV with a column time_s, time_ms or time_us, and with columns iteration and rank as well where
/// they were measured rank by rank. Seconds.
struct IterationTimes {
  std::vector<double> seconds;     ///< all of them
  int ranks = 0;                   ///< that were told apart; 0: none
  std::vector<double> rank_means;  ///< by rank, in the order of their names
  std::vector<std::string> rank_names;
  std::vector<double> slowest;  ///< of each iteration that every rank is in
};
/// \throws SpecError with file, line and column for a time that is no number above 0, a rank or iteration without its
/// column, no times at all
[[nodiscard]] IterationTimes read_iteration_times(const std::filesystem::path& file);

/// Every row of a reliability CSV (columns id group source topic system gpus model quantity value unit fully_specified notes).
///
///   failure counts, MTTF, failures per node-day   rate of the fleet the row's source is x nodes x time (reliability.hpp)
///   goodput, effective training time of a run     goodput_of with the defaults of FailureFacts, best interval, background checkpoints
///   size of a checkpoint                          14 bytes a parameter
///   power of a GPU, node, rack                    data/gpus, data/systems; measured at most: load x rated
///
/// Counts by cause come from the table that is compared: those rows check the reading and the arithmetic. The rest, observations that
/// follow from nothing else, says so in `skipped`. \throws SpecError for a missing column or a cell that is wrong
[[nodiscard]] std::vector<WorkloadRow> predict_reliability_rows(const std::filesystem::path& file);

}  // namespace fabricost
