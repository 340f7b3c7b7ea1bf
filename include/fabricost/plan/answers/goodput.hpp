#pragma once
/// The share of a job's time that is left after failures, checkpoints, link flaps and lost NICs.
///
///   nodes          GPUs / GPUs per node, rounded up
///   defaults       rate of failures, stall, recovery, repair: FailureFacts; the rate of a fleet holds for nodes of its
///                  own size and is scaled by GPUs
///   flaps          the job stands still for 1 - e^-(links x rate x stall) of the time; the rest shares what is left;
///                  fatal flaps count as failures (LinkFlaps)
///   lost rails     take 1 - 1/f of useful work, f = 1 + share of the network x (rails / left - 1) (stragglers.hpp)
///   frozen model   checkpoints hold what is trained beside it; a restart loads its weights in 16 bit too
///   racks          with spares_per_rack a node is replaced by one of its own rack (the machine's scale-up domain) alone, and spares are
///                  racks; the job's GPUs are those that work: 64 of 72 with 2 spare nodes of 4
///   other sizes    nodes and links in proportion to GPUs, with the requested spares

#include <fabricost/fields/fields.hpp>
#include <fabricost/plan/fields/named_models.hpp>

#include <optional>
#include <string>
#include <vector>

namespace fabricost::plan {

namespace field {
template <class R>
inline constexpr auto ask_spares_per_rack =
    asks(&R::spares_per_rack, "spares_per_rack", "--spares-per-rack", Amount::count, {0, 1000}, "N",
         "Spare nodes inside each rack, which alone replace its nodes, as 2\nof an NVL72 that runs 64 + 8 GPUs; <spares> are racks then");
}  // namespace field

/// How often nodes fail and what is done about it, of any job.
struct FailuresRequest {
  std::optional<std::string> fleet;            ///< failure rate, as published of: llama3 (default), rsc-1, rsc-2, rsc-observed, opt-175b
  std::optional<Time> mttf_node;               ///< mean time to failure of a node, as in 6000h
  std::optional<Time> checkpoint;              ///< time the job stops for a checkpoint; default 40s, background 0.6s
  std::optional<Time> restart;                 ///< time to detect, replace and restart; default 10min
  bool background = false;                     ///< write checkpoints in the background
  std::optional<Bandwidth> storage_bandwidth;  ///< bandwidth of the storage, as in 2TB/s
  std::optional<int> spares;                   ///< spare nodes; default: enough to wait 0.1 % at most
  std::optional<int> spares_per_rack;          ///< spare nodes inside each rack, which alone replace its nodes
  std::optional<Time> repair;                  ///< time until a node is back; default 24h
};

struct GoodputRequest : FailuresRequest {
  std::optional<int> gpus, gpus_per_node;
  Machine system;
  std::optional<double> failures_per_node_day, failures_per_1000_node_days;
  std::optional<Time> checkpoint_every, drain, reload;
  NamedModel model;
  std::optional<double> replaced, jitter, dollars_per_gpu_hour;
  std::string prices = "default";
  std::optional<double> flaps_per_link_year;
  std::optional<Time> flap_stall;
  std::optional<double> links, flap_fatal;
  std::optional<int> lost_rails, rails;
  std::optional<double> network_share;
  std::optional<double> trained;  ///< parameters beside a frozen model, as of adapters: checkpoints hold them alone; default the model

  static RequestTable<GoodputRequest> fields();
};

/// Goodput of the job at another size.
struct GoodputAtScale {
  double gpus = 0;
  Time mttf{}, checkpoint_every{};
  double goodput = 0;
  std::optional<double> waiting_efficiency{}, efficiency{};
  bool operator==(const GoodputAtScale&) const = default;

  static AnswerTable<GoodputAtScale> fields();
};
/// Goodput of the job with the failure rate of a published fleet.
struct GoodputOfFleet {
  std::string fleet, title;
  double failures_per_1000_node_days = 0, published_per_1000_node_days = 0, goodput = 0;
  int spares_to_wait_a_thousandth = 0;
  double goodput_with_them = 0;
  bool operator==(const GoodputOfFleet&) const = default;

  static AnswerTable<GoodputOfFleet> fields();
};
/// Failures of the job with one cause.
struct CausePerDay {
  std::string cause, part;
  double per_day = 0;
  bool operator==(const CausePerDay&) const = default;

  static AnswerTable<CausePerDay> fields();
};

struct GoodputAnswer {
  double gpus = 0, nodes = 0;
  std::string failure_source;
  double failures_per_1000_node_days = 0, failures_per_day = 0;
  Time mttf{}, checkpoint_every{}, stall{}, drain{}, young{}, daly{}, best{};
  std::optional<Bytes> checkpoint;
  Time recovery{};
  double goodput = 0;
  std::optional<double> goodput_first_order, ettr_meta;
  double checkpoints_share = 0, lost_share = 0, recovery_share = 0, waiting_share = 0, flaps_share = 0, lost_rails_share = 0;
  int spares = 0, spares_to_wait_a_thousandth = 0;
  std::optional<double> racks;
  std::optional<int> spares_per_rack;
  Time repair{};
  double kept_per_node = 0;
  std::optional<double> links, flaps_per_day;
  std::optional<Time> flap_stall;
  std::optional<double> fatal_flaps_per_day;
  std::optional<int> rails, lost_rails;
  std::optional<double> network_factor, step_factor, lost_dollars_per_day;
  std::optional<std::vector<CausePerDay>> fleet_causes;  ///< empty where the user gave the rate
  std::vector<CausePerDay> causes;
  std::vector<GoodputAtScale> by_scale;  ///< 1,024 to 131,072 GPUs, and the job's own number
  std::vector<GoodputOfFleet> by_fleet;
  bool own_interval = false;  ///< the checkpoint interval was given; otherwise it is the optimal one
  Time reload{};
  double dollars_per_gpu_hour = 0, jitter = 0;

  static AnswerTable<GoodputAnswer> fields();
};
[[nodiscard]] bool operator==(const GoodputAnswer& a, const GoodputAnswer& b);

/// Whether a rack of so many nodes can keep so many of them as spares. \throws Refusal with what it can
void check_spares_per_rack(int spares, int nodes);

/// \throws Refusal for two rates, a storage without a model, a drain without a background, flaps or lost NICs given by half; RequestError
/// as failures_of; SpecError for faults of the files of fleets and prices
[[nodiscard]] GoodputAnswer answer(const GoodputRequest& request);

}  // namespace fabricost::plan
