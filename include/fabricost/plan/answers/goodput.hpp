#pragma once
/// \file goodput.hpp
/// The share of a job's time that is left after failures, checkpoints, link flaps and lost NICs.
///
///   nodes          GPUs / GPUs per node, rounded up
///   defaults       rate of failures, stall, recovery, repair: FailureFacts; the rate of a fleet holds for nodes of its
///                  own size and is scaled by GPUs
///   flaps          the job stands still for 1 - e^-(links x rate x stall) of the time; the rest shares what is left;
///                  fatal flaps count as failures (LinkFlaps)
///   lost rails     take 1 - 1/f of useful work, f = 1 + share of the network x (rails / left - 1) (stragglers.hpp)
///   racks          with spares_per_rack a node is replaced by one of its own rack (the machine's scale-up domain) alone, and spares are
///                  racks; the job's GPUs are those that work: 64 of 72 with 2 spare nodes of 4
///   other sizes    nodes and links in proportion to GPUs, with the requested spares

#include <fabricost/fields/field.hpp>
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

struct GoodputRequest {
  std::optional<int> gpus, gpus_per_node;
  Machine system;
  std::optional<std::string> fleet;
  std::optional<Time> mttf_node;
  std::optional<double> failures_per_node_day, failures_per_1000_node_days;
  std::optional<Time> checkpoint, checkpoint_every;
  bool background = false;
  std::optional<Time> drain, restart, reload;
  NamedModel model;
  std::optional<Bandwidth> storage_bandwidth;
  std::optional<int> spares, spares_per_rack;
  std::optional<Time> repair;
  std::optional<double> replaced, jitter, dollars_per_gpu_hour;
  std::string prices = "default";
  std::optional<double> flaps_per_link_year;
  std::optional<Time> flap_stall;
  std::optional<double> links, flap_fatal;
  std::optional<int> lost_rails, rails;
  std::optional<double> network_share;

  static constexpr auto fields() {
    using R = GoodputRequest;
    using enum Amount;
    return Table{
        asks(&R::gpus, "gpus", "--gpus,-g", count, any_count, "N", "Number of GPUs of the job", true),
        asks(&R::gpus_per_node, "gpus_per_node", "--gpus-per-node", count, any_count, "N", "GPUs per node; default 8, or the system's"),
        asks(&R::system, "system", "--system,-s", "NAME", "The machine: GPUs per node and price"),
        asks(&R::fleet, "fleet", "--fleet", "NAME", "Failure rate, as published of: llama3 (default), rsc-1, rsc-2, rsc-observed, opt-175b"),
        asks(&R::mttf_node, "mttf_node_seconds", "--mttf-node", seconds, any_time, "TIME",
             "Mean time to failure of a node, as in 6000h"),
        asks(&R::failures_per_node_day, "failures_per_node_day", "--failures-per-node-day", number, {1e-9, 1e6}, "X", "Failures per node and day, instead of a mean time"),
        asks(&R::failures_per_1000_node_days, "failures_per_1000_node_days", "--failures-per-1000-node-days", number, {1e-6, 1e9}, "X",
             "Failures per 1000 node-days, as papers print them"),
        asks(&R::checkpoint, "checkpoint_seconds", "--checkpoint,-c", seconds, any_time, "TIME",
             "Time the job stops for a checkpoint; default 40s, <background> 0.6s"),
        asks(&R::checkpoint_every, "checkpoint_every_seconds", "--interval", seconds, some_time, "TIME",
             "Time between checkpoints; default the best"),
        asks(&R::background, "background", "--async", "", "Write checkpoints in the background"),
        asks(&R::drain, "drain_seconds", "--drain", seconds, any_time, "TIME",
             "Time to write in the background; default 60s, or the model's\nsize at <storage_bytes_per_second>"),
        asks(&R::restart, "restart_seconds", "--restart", seconds, any_time, "TIME", "Time to detect, replace and restart; default 10min"),
        asks(&R::reload, "reload_seconds", "--reload", seconds, any_time, "TIME",
             "Time to load the checkpoint; default the model's size at\n<storage_bytes_per_second>"),
        asks(&R::model, "model", "--model,-m", "NAME", "The model: 14 bytes a parameter in a checkpoint"),
        asks(&R::storage_bandwidth, "storage_bytes_per_second", "--storage", bytes_per_second, {1, 1e18}, "RATE",
             "Bandwidth of the storage, as in 2TB/s"),
        asks(&R::spares, "spares", "--spares", count, {0, 1e6}, "N", "Spare nodes; default: there is always one"),
        field::ask_spares_per_rack<R>,
        asks(&R::repair, "repair_seconds", "--repair", seconds, any_time, "TIME",
             "Time until a node is back, with <spares>; default 24h"),
        asks(&R::replaced, "replaced", "--replaced", share, any_share, "X", "Share of failures that take a node away; default the fleet's"),
        asks(&R::flaps_per_link_year, "flaps_per_link_year", "--flaps-per-link-year", number, {0, 1e9}, "X",
             "Flaps of a link per year (it drops out and comes back);\nneeds <flap_stall_seconds>"),
        asks(&R::flap_stall, "flap_stall_seconds", "--flap-stall", seconds, any_time, "TIME",
             "Time until traffic flows again: every rank waits"),
        asks(&R::links, "links", "--links", number, {1, 1e9}, "N", "Links whose flaps the job feels; default one per NIC"),
        asks(&R::flap_fatal, "flap_fatal", "--flap-fatal", share, any_share, "X",
             "Share of flaps that outlast the transport and end the job; default 0"),
        asks(&R::lost_rails, "lost_rails", "--lost-rails", count, any_count, "N", "NICs that one node has lost; needs <network_share>"),
        asks(&R::rails, "rails", "--rails", count, any_count, "N", "NICs of a node; default the system's"),
        asks(&R::network_share, "network_share", "--network-share", share, any_share, "X", "Share of a step that waits for the network"),
        asks(&R::jitter, "jitter", "--jitter", share, any_share, "X",
             "Standard deviation of a GPU's step over its mean: adds waiting"),
        asks(&R::prices, "prices", "--prices", "FILE", "File of prices"),
        asks(&R::dollars_per_gpu_hour, "dollars_per_gpu_hour", "--price-gpu-hour", number, {0, 1e6}, "X", "Price of a GPU-hour, USD")};
  }
};

/// Goodput of the job at another size.
struct GoodputAtScale {
  double gpus = 0;
  Time mttf{}, checkpoint_every{};
  double goodput = 0;
  std::optional<double> waiting_efficiency{}, efficiency{};
  bool operator==(const GoodputAtScale&) const = default;

  static constexpr auto fields() {
    using A = GoodputAtScale;
    return Table{gives(&A::gpus, "gpus", "gpus", "How many GPUs."),
                 gives(&A::mttf, "mttf_s", "mttf_seconds", "Mean time to failure of the job, s."),
                 gives(&A::checkpoint_every, "interval_s", "checkpoint_every_seconds", "Work between checkpoints, s."),
                 gives(&A::goodput, "goodput", "goodput", "Share of the time that counts."),
                 gives(&A::waiting_efficiency, "waiting_efficiency", "waiting_efficiency",
                       "Mean step over the slowest rank's; None: no jitter was given.", 1, true),
                 gives(&A::efficiency, "efficiency", "efficiency", "Both together; None: no jitter was given.", 1, true)};
  }
};
/// Goodput of the job with the failure rate of a published fleet.
struct GoodputOfFleet {
  std::string fleet, title;
  double failures_per_1000_node_days = 0, goodput = 0;
  int spares_to_wait_a_thousandth = 0;
  double goodput_with_them = 0;
  bool operator==(const GoodputOfFleet&) const = default;

  static constexpr auto fields() {
    using A = GoodputOfFleet;
    return Table{gives(&A::fleet, "fleet", "fleet", "Whose."),
                 gives(&A::title, "", "", "In words."),
                 gives(&A::failures_per_1000_node_days, "per_1000_node_days", "failures_per_1000_node_days",
                       "As published, of nodes of its own size."),
                 gives(&A::goodput, "goodput", "goodput", "Share of the time that counts: what asking for that fleet gives."),
                 gives(&A::spares_to_wait_a_thousandth, "to_wait_a_thousandth", "spares_to_wait_a_thousandth",
                       "Fewest spares with which the job waits at most 0.1 % of its time."),
                 gives(&A::goodput_with_them, "goodput_with_them", "goodput_with_them", "The share that counts with so many.")};
  }
};
/// Failures of the job with one cause.
struct CausePerDay {
  std::string cause, part;
  double per_day = 0;
  bool operator==(const CausePerDay&) const = default;

  static constexpr auto fields() {
    using A = CausePerDay;
    return Table{gives(&A::cause, "cause", "cause", "What fails."), gives(&A::part, "part", "part", "gpu, network, host or software."),
                 gives(&A::per_day, "per_day", "per_day", "Of the job, failures a day.")};
  }
};

struct GoodputAnswer {
  double gpus = 0, nodes = 0;
  std::string failure_source;
  double failures_per_1000_node_days = 0, failures_per_day = 0;
  Time mttf{}, checkpoint_every{}, stall{}, drain{}, young{}, daly{}, best{};
  std::optional<Bytes> checkpoint;
  Time recovery{};
  double goodput = 0;
  std::optional<double> goodput_first_order, ettr_meta;  ///< empty where the approximation does not hold: below 0
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

  static constexpr auto fields() {
    using A = GoodputAnswer;
    constexpr bool left_out = true;
    return Table{
        gives(&A::gpus, "gpus", "gpus", "GPUs of the job."),
        gives(&A::nodes, "nodes", "nodes", "Nodes of the job."),
        gives(&A::failure_source, "failures.source", "failure_source", "Whose rate of failures it is."),
        gives(&A::failures_per_1000_node_days, "failures.per_1000_node_days", "failures_per_1000_node_days", "Of one node."),
        gives(&A::failures_per_day, "failures.per_day", "failures_per_day", "Of the job."),
        gives(&A::mttf, "failures.mttf_s", "mttf_seconds", "Mean time to failure: 1 / (nodes x rate), s."),
        gives(&A::checkpoint_every, "checkpoint.interval_s", "checkpoint_every_seconds",
              "Work between checkpoints, s: as given, or the best."),
        gives(&A::stall, "checkpoint.stall_s", "stall_seconds", "The job stands still for a checkpoint, s."),
        gives(&A::drain, "checkpoint.drain_s", "drain_seconds", "Until it could be loaded, s."),
        gives(&A::young, "checkpoint.young_s", "young_seconds", "Young's interval sqrt(2 C M), s."),
        gives(&A::daly, "checkpoint.daly_s", "daly_seconds", "Daly's, s."),
        gives(&A::best, "checkpoint.best_s", "best_seconds", "The exact best, s."),
        gives(&A::checkpoint, "checkpoint.bytes", "checkpoint_bytes", "14 bytes a parameter; None: no model was given.", 1, left_out),
        gives(&A::recovery, "recovery_s", "recovery_seconds", "Detect, replace, restart, load, s."),
        gives(&A::goodput, "goodput", "goodput", "Share of the time that is work that counts."),
        gives(&A::goodput_first_order, "goodput_first_order", "goodput_first_order", "1 - C/tau - (tau/2 + d + R)/M; None: below 0, where it does not hold."),
        gives(&A::ettr_meta, "ettr_meta", "ettr_meta", "Effective training time ratio of arXiv 2410.21680; None: below 0, where it does not hold."),
        gives(&A::goodput, "shares.kept", "", "Work that counts."),
        gives(&A::checkpoints_share, "shares.checkpoints", "checkpoints_share", "Share of standing still for checkpoints."),
        gives(&A::lost_share, "shares.lost", "lost_share", "Share of work done again."),
        gives(&A::recovery_share, "shares.recovery", "recovery_share", "Share of recovery."),
        gives(&A::waiting_share, "shares.waiting", "waiting_share", "Share of waiting for a node."),
        gives(&A::flaps_share, "shares.flaps", "flaps_share", "Share of standing still until a link is back."),
        gives(&A::lost_rails_share, "shares.lost_rails", "lost_rails_share",
              "Share that lost NICs take: kept work x (1 - 1 / step_factor)."),
        gives(&A::spares, "spares.spares", "spares", "Nodes that stand by; racks where these have spares of their own."),
        gives(&A::racks, "spares.racks", "racks", "Racks of the job; None: no spares of a rack were given.", 1, left_out),
        gives(&A::spares_per_rack, "spares.per_rack", "spares_per_rack", "Spare nodes of each; None: not given.", 1, left_out),
        gives(&A::repair, "spares.repair_s", "repair_seconds", "Until a node is back, s; 0: there is always another."),
        gives(&A::spares_to_wait_a_thousandth, "spares.to_wait_a_thousandth", "spares_to_wait_a_thousandth",
              "Fewest with which the job waits at most 0.1 % of its time."),
        gives(&A::kept_per_node, "spares.kept_per_node", "kept_per_node", "Goodput x nodes / (nodes + spares), those of racks among them."),
        gives(&A::links, "flaps.links", "links", "Links whose flaps the job feels; None: no flaps were given.", 1, left_out),
        gives(&A::flaps_per_day, "flaps.per_day", "flaps_per_day", "Flaps of all links, a day; None: no flaps were given.", 1, left_out),
        gives(&A::flap_stall, "flaps.stall_s", "", "Until traffic flows again, s.", 1, left_out),
        gives(&A::fatal_flaps_per_day, "flaps.fatal_per_day", "fatal_flaps_per_day",
              "Of those, the ones that end the job; None: no flaps were given.", 1, left_out),
        gives(&A::rails, "rails.rails", "", "NICs of a node.", 1, left_out),
        gives(&A::lost_rails, "rails.lost", "", "Of them lost.", 1, left_out),
        gives(&A::network_factor, "rails.network_factor", "network_factor",
              "Factor of lost NICs on the network's part of a step; None: none are lost.", 1, left_out),
        gives(&A::step_factor, "rails.step_factor", "step_factor", "Their factor on a step; None: none are lost.", 1, left_out),
        gives(&A::lost_dollars_per_day, "lost_usd_per_day", "lost_dollars_per_day",
              "What does not count costs, USD a day; None: no price is known.", 1, left_out),
        gives(&A::fleet_causes, "causes", "", "Of the fleet.", 1, left_out),
        gives(&A::causes, "", "causes", "Of the fleet, a list of FailureCause."),
        gives(&A::by_scale, "by_scale", "by_scale", "Other sizes, a list of GoodputAtScale."),
        gives(&A::by_fleet, "by_fleet", "by_fleet", "Other fleets' failures, a list of GoodputOfFleet.")};
  }
};
[[nodiscard]] inline bool operator==(const GoodputAnswer& a, const GoodputAnswer& b) { return same_fields(a, b); }

/// \throws Refusal for two rates, a storage without a model, a drain without a background, flaps or lost NICs given by half; RequestError
/// as failures_of; SpecError for faults of the files of fleets and prices
[[nodiscard]] GoodputAnswer answer(const GoodputRequest& request);

}  // namespace fabricost::plan
