#pragma once
/// \file goodput.hpp
/// What failures, checkpoints, links that drop out and lost NICs leave of a job's time: from what somebody says of the job to every figure
/// of the answer. The command prints them, the Python package returns them.
///
///   nodes          GPUs / GPUs per node, rounded up
///   not said       rate of failures, stall, recovery, repair: FailureFacts; a fleet's rate counts for nodes of its size and is scaled by
///                  GPUs
///   flaps          stand still for 1 - e^-(links x rate x stall); everything else shares what is left; fatal ones are failures
///                  (LinkFlaps)
///   lost rails     of kept work 1 - 1/f, f = 1 + share of the network x (rails / left - 1) (stragglers.hpp)
///   other sizes    nodes and links in proportion to GPUs, spares left out: they are a matter of one size

#include <fabricost/economics/cost.hpp>
#include <fabricost/economics/reliability.hpp>
#include <fabricost/economics/stragglers.hpp>
#include <fabricost/hardware/system.hpp>
#include <fabricost/model/model.hpp>
#include <fabricost/specs/failures.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost {

/// What was said of a job; empty where nothing was. Seconds, bytes, bytes per second, shares from 0 to 1.
struct GoodputAsked {
  double gpus = 0;
  std::optional<double> gpus_per_node{};                           ///< else the machine's, else 8
  std::optional<System> system{};                                  ///< for GPUs and NICs of a node and the rent
  std::optional<Prices> prices{};                                  ///< else the shipped ones
  std::optional<double> gpu_hour{};                                ///< USD
  std::optional<std::string> fleet{};                              ///< fails as often as; at most one of these four
  std::optional<double> mttf_node{};                               ///< s
  std::optional<double> per_node_day{}, per_thousand_node_days{};  ///< failures
  std::optional<double> replaced{};                                ///< share of failures that take a node away
  std::optional<double> checkpoint{}, interval{}, drain{}, restart{}, reload{}, repair{};
  std::optional<int> spares{};
  bool background = false;       ///< checkpoints are written beside the work
  std::optional<Model> model{};  ///< for the size of a checkpoint
  double storage = 0;            ///< byte/s it is written and read at; 0: not said
  double jitter = 0;             ///< standard deviation of one rank's step over its mean
  std::optional<double> flaps_per_link_year{}, flap_stall{}, links{}, flap_fatal{};
  std::optional<int> lost_rails{}, rails{};
  std::optional<double> network_share{};  ///< of a step that waits for the network
};

/// How whoever asks calls what it was given, for messages.
struct GoodputWords {
  std::string_view rates;  ///< all four ways to say a rate, "a, b, c or d"
  std::string_view storage, model, drain, background, flaps, flap_stall, links, flap_fatal, lost_rails, rails, network_share;
  std::string_view rails_example, network_example, system;
};

/// A job, and how it came about.
struct FailingJob {
  FailureQuestion question;
  double gpus = 0, gpus_per_node = 8;
  std::string rate_source = "as given";
  std::optional<FailureFleet> fleet{};  ///< when its rate is used
  bool own_interval = false;            ///< between checkpoints; else the best
  double checkpoint_bytes = 0;          ///< 0: no model
  double reload = 0;                    ///< s
  double rent = 0;                      ///< USD per GPU and second; 0 unknown
  double jitter = 0;
  LinkFlaps flaps{};  ///< of all links of the job
  int rails = 0, lost_rails = 0;
  double network = 0;  ///< share of a step that waits for the network
  /// What the network's part of a step takes beside one with all NICs; 1 where none is lost.
  [[nodiscard]] double network_factor() const { return lost_rails > 0 ? lost_rail_factor(rails, lost_rails, LostRail::spread) : 1; }
  /// What a step takes.
  [[nodiscard]] double step_factor() const { return lost_rails > 0 ? network_slowed(1, network, network_factor()) : 1; }
};

/// Where the time goes, what links take included; shares of it that add up to 1.
struct GoodputShares {
  Goodput of_failures;
  double flaps = 0;       ///< standing still until a link is back
  double lost_rails = 0;  ///< the same work through fewer NICs
};

/// A job of another size.
struct GoodputAtScale {
  double gpus = 0, mttf = 0, interval = 0, kept = 0;  ///< s
  std::optional<double> waiting_efficiency{};         ///< mean step over the slowest rank's; none without jitter
  [[nodiscard]] std::optional<double> efficiency() const {
    return waiting_efficiency ? std::optional{*waiting_efficiency * kept} : std::nullopt;
  }
};
/// The job if nodes failed as they did elsewhere.
struct GoodputOfFleet {
  std::string name, title;
  double per_thousand_node_days = 0, kept = 0;
};
/// Failures of one kind, of the job.
struct CausePerDay {
  std::string cause, part;
  double per_day = 0;
};

struct GoodputAnswer {
  FailingJob job;
  FailureAnswer failures;
  GoodputShares shares;
  double young = 0, daly = 0, best = 0;  ///< intervals, s
  double first_order = 0, ettr = 0;      ///< goodput_estimate, effective_training_time
  double lost_per_day = 0;               ///< USD that what does not count costs; 0: no price is known
  std::vector<CausePerDay> causes;       ///< of the fleet
  std::vector<GoodputAtScale> by_scale;  ///< 1,024 to 131,072 GPUs, and the job's own number
  std::vector<GoodputOfFleet> by_fleet;
  [[nodiscard]] double kept() const { return shares.of_failures.kept; }
  /// Kept work per node that is there, spares counted.
  [[nodiscard]] double kept_per_node() const { return kept() * failures.nodes / (failures.nodes + failures.spares); }
};

/// \throws RequestError for two rates, a storage without a model, a drain without a background, flaps or lost NICs told by half, in
/// `words`; as failures_of; SpecError for faults of the files of fleets and prices
[[nodiscard]] GoodputAnswer goodput_of_job(const GoodputAsked& asked, const GoodputWords& words);

}  // namespace fabricost
