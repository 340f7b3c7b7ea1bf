#pragma once
/// The machine of a trace with its predictions for the trace's collectives, and the traced step: by the use of its time, replayed, compared
/// with a plan's, and what is notable in it as sentences.

#include "trace/timeline.hpp"

#include <fabricost/observe/answers/trace.hpp>
#include <fabricost/predict/predict.hpp>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace fabricost::observe::detail {

/// "dgx-h100 has h100-sxm, and the traces are of NVIDIA B200"; empty: they agree, or the traces do not say their GPU.
[[nodiscard]] std::string other_gpu(const System& system, const std::string& gpu);

/// The predicted time of a call, with its interval, and the time that the machine's wires need at the least.
struct Expected {
  double seconds = 0, low = 0, high = 0, least = 0;
  Basis basis = Basis::datasheet;
};

class TraceMachine {
 public:
  /// \param traces of all ranks: their GPUs tell the machine where none is named
  TraceMachine(const TraceRequest& request, const std::vector<RankTrace>& traces, std::vector<std::string>& notes);
  /// Another machine for the same job.
  TraceMachine(const TraceRequest& request, std::shared_ptr<const System> system, std::vector<std::string>& notes)
      : request_(request), notes_(notes), system_(std::move(system)) {}

  [[nodiscard]] const System* system() const { return system_.get(); }
  /// Ranks of the job, as far as the traces say.
  [[nodiscard]] int world() const { return world_; }
  [[nodiscard]] bool guessed() const { return guessed_; }
  /// 0: no machine.
  [[nodiscard]] int gpus_per_node() const { return system_ == nullptr ? 0 : system_->gpus_per_node; }
  /// Nodes that the ranks are on, where a node holds consecutive ones; 0: not known.
  [[nodiscard]] int nodes_of(const timeline::Group& group) const;
  [[nodiscard]] std::vector<std::string> tiers_of(const timeline::Group& group) const;
  /// Empty where no prediction is possible; the notes then give the reason.
  [[nodiscard]] std::optional<Expected> expect(const timeline::Group& group, const timeline::Call& call);

 private:
  [[nodiscard]] std::optional<Expected> exchange(const timeline::Group& group, Moves moves);
  void note(const std::string& text);

  const TraceRequest& request_;
  std::vector<std::string>& notes_;
  std::shared_ptr<const System> system_;
  int world_ = 0;
  bool guessed_ = false, one_node_ = false;
  std::map<std::tuple<Moves, double, int, int, unsigned>, std::optional<Expected>> known_;
};

}  // namespace fabricost::observe::detail

namespace fabricost::observe {

struct FoundTrace {
  timeline::Job job;
  std::int64_t start = 0;                                 ///< of the traces, ns on the common clock
  std::vector<std::string> labels;                        ///< of each group
  std::vector<std::optional<detail::Expected>> expected;  ///< of each call
};

/// \throws RequestError where answer() did not make it
[[nodiscard]] const FoundTrace& found_of(const TraceAnswer& answer);

}  // namespace fabricost::observe

namespace fabricost::observe::detail {

/// Seconds of a step, and its terms, which sum to it: means of the ranks.
[[nodiscard]] std::pair<double, std::vector<StepTerm>> step_of(const timeline::Job& job);

/// Replays the job on the requested machine. \throws Refusal where something is missing; RequestError, SpecError as load_system
void say_replay(const TraceRequest& request, const timeline::Job& job, TraceMachine& here, TraceAnswer& answer);

/// Compares with a plan's step. \param file as `plan --json` printed it \throws SpecError where it is no plan
void say_against(const std::string& file, TraceAnswer& answer);

/// Adds findings and notes, from all other fields of the answer and the calls they come from.
void say_findings(const FoundTrace& trace, TraceAnswer& answer);

}  // namespace fabricost::observe::detail
