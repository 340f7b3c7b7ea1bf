#pragma once
/// Published failures of fleets, and the defaults for jobs without rates of their own
/// (data/workloads/reliability.yaml).

#include <fabricost/compiled_part.hpp>
#include <fabricost/plan/economics/reliability.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace fabricost::plan {

/// Failures of one kind in a fleet.
struct FailureCause {
  std::string cause;
  std::string part;  ///< gpu, network, host, software
  double count = 0;
};

/// A run or fleet with published failures.
struct FailureFleet {
  std::string name, title, source;
  double gpus = 0, gpus_per_node = 8;
  double days = 0;     ///< 0: only the rate was published
  double planned = 0;  ///< planned interruptions
  std::vector<FailureCause> causes;
  FailureRate rate;  ///< of a node, without planned interruptions

  [[nodiscard]] double failures() const {
    double sum = 0;
    for (const FailureCause& c : causes) sum += c.count;
    return sum;
  }
  /// Share of failures after which a node is removed: all but software; 1 if causes were not published.
  [[nodiscard]] double replaced() const {
    double sum = 0;
    for (const FailureCause& c : causes) sum += c.part == "software" ? 0 : c.count;
    return causes.empty() ? 1 : sum / failures();
  }
};

/// Fleets and defaults, each with a source in the file.
struct FailureFacts {
  std::vector<FailureFleet> fleets;
  double recovery = 0;                                ///< seconds
  double stall = 0;                                   ///< s of a checkpoint that the job waits for
  double background_stall = 0, background_drain = 0;  ///< of one written in the background, s
  double repair = 0;                                  ///< of a node, s
  /// \throws RequestError naming the known fleets
  [[nodiscard]] const FailureFleet& fleet(std::string_view name) const;
};
/// \throws SpecError with every fault of data/workloads/reliability.yaml
[[nodiscard]] FailureFacts load_failure_facts();

}  // namespace fabricost::plan
