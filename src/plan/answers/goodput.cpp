/// Derives the job and its failure rate from the request, and computes its goodput.

#include "text/amounts.hpp"

#include <fabricost/fields/field.hpp>
#include <fabricost/hardware/system.hpp>
#include <fabricost/plan/answers/goodput.hpp>
#include <fabricost/plan/economics/reliability.hpp>
#include <fabricost/plan/economics/stragglers.hpp>
#include <fabricost/plan/specs/failures.hpp>
#include <fabricost/plan/specs/prices.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace fabricost::plan {

RequestTable<GoodputRequest> GoodputRequest::fields() {
  using R = GoodputRequest;
  using enum Amount;
  return {
      asks(&R::gpus, "gpus", "--gpus,-g", count, any_count, "N", "Number of GPUs of the job", true),
      asks(&R::gpus_per_node, "gpus_per_node", "--gpus-per-node", count, any_count, "N", "GPUs per node; default 8, or the system's"),
      asks(&R::system, "system", "--system,-s", "NAME", "The machine: GPUs per node and price"),
      asks(&R::fleet, "fleet", "--fleet", "NAME", "Failure rate, as published of: llama3 (default), rsc-1, rsc-2, rsc-observed, opt-175b"),
      asks(&R::mttf_node, "mttf_node_seconds", "--mttf-node", seconds, any_time, "TIME", "Mean time to failure of a node, as in 6000h"),
      asks(&R::failures_per_node_day, "failures_per_node_day", "--failures-per-node-day", number, {1e-9, 1e6}, "X",
           "Failures per node and day, instead of a mean time"),
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
      asks(&R::repair, "repair_seconds", "--repair", seconds, any_time, "TIME", "Time until a node is back, with <spares>; default 24h"),
      asks(&R::replaced, "replaced", "--replaced", share, any_share, "X",
           "Share of failures that take a node away, with <spares>; default\nthe fleet's"),
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
      asks(&R::jitter, "jitter", "--jitter", share, any_share, "X", "Standard deviation of a GPU's step over its mean: adds waiting"),
      asks(&R::prices, "prices", "--prices", "FILE", "File of prices"),
      asks(&R::dollars_per_gpu_hour, "dollars_per_gpu_hour", "--price-gpu-hour", number, {0, 1e6}, "X", "Price of a GPU-hour, USD")};
}

AnswerTable<GoodputAtScale> GoodputAtScale::fields() {
  using A = GoodputAtScale;
  return {gives(&A::gpus, "gpus", "gpus", "How many GPUs."),
          gives(&A::mttf, "mttf_s", "mttf_seconds", "Mean time to failure of the job, s."),
          gives(&A::checkpoint_every, "interval_s", "checkpoint_every_seconds", "Work between checkpoints, s."),
          gives(&A::goodput, "goodput", "goodput", "Share of the time that counts."),
          gives(&A::waiting_efficiency, "waiting_efficiency", "waiting_efficiency",
                "Mean step over the slowest rank's; None: no jitter was given.", 1, true),
          gives(&A::efficiency, "efficiency", "efficiency", "Both together; None: no jitter was given.", 1, true)};
}

AnswerTable<GoodputOfFleet> GoodputOfFleet::fields() {
  using A = GoodputOfFleet;
  return {gives(&A::fleet, "fleet", "fleet", "Whose."),
          gives(&A::title, "", "", "In words."),
          gives(&A::failures_per_1000_node_days, "per_1000_node_days", "failures_per_1000_node_days", "Of one node of this job."),
          gives(&A::published_per_1000_node_days, "published_per_1000_node_days", "published_per_1000_node_days",
                "As published, of nodes of its own size; nodes of another size fail by their GPUs."),
          gives(&A::goodput, "goodput", "goodput", "Share of the time that counts: what asking for that fleet gives."),
          gives(&A::spares_to_wait_a_thousandth, "to_wait_a_thousandth", "spares_to_wait_a_thousandth",
                "Fewest spares with which the job waits at most 0.1 % of its time."),
          gives(&A::goodput_with_them, "goodput_with_them", "goodput_with_them", "The share that counts with so many.")};
}

AnswerTable<CausePerDay> CausePerDay::fields() {
  using A = CausePerDay;
  return {gives(&A::cause, "cause", "cause", "What fails."), gives(&A::part, "part", "part", "gpu, network, host or software."),
          gives(&A::per_day, "per_day", "per_day", "Of the job, failures a day.")};
}

AnswerTable<GoodputAnswer> GoodputAnswer::fields() {
  using A = GoodputAnswer;
  constexpr bool left_out = true;
  return {
      gives(&A::gpus, "gpus", "gpus", "GPUs of the job."),
      gives(&A::nodes, "nodes", "nodes", "Nodes of the job."),
      gives(&A::failure_source, "failures.source", "failure_source", "Whose rate of failures it is."),
      gives(&A::failures_per_1000_node_days, "failures.per_1000_node_days", "failures_per_1000_node_days", "Of one node of this job."),
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
      gives(&A::goodput_first_order, "goodput_first_order", "goodput_first_order",
            "1 - C/tau - (tau/2 + d + R)/M; None: below 0, where it does not hold."),
      gives(&A::ettr_meta, "ettr_meta", "ettr_meta",
            "Effective training time ratio of arXiv 2410.21680; None: below 0, where it does not hold."),
      gives(&A::goodput, "shares.kept", "", "Work that counts."),
      gives(&A::checkpoints_share, "shares.checkpoints", "checkpoints_share", "Share of standing still for checkpoints."),
      gives(&A::lost_share, "shares.lost", "lost_share", "Share of work done again."),
      gives(&A::recovery_share, "shares.recovery", "recovery_share", "Share of recovery."),
      gives(&A::waiting_share, "shares.waiting", "waiting_share", "Share of waiting for a node."),
      gives(&A::flaps_share, "shares.flaps", "flaps_share", "Share of standing still until a link is back."),
      gives(&A::lost_rails_share, "shares.lost_rails", "lost_rails_share", "Share that lost NICs take: kept work x (1 - 1 / step_factor)."),
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

bool operator==(const GoodputAnswer& a, const GoodputAnswer& b) { return same_fields(a, b); }

namespace {

/// The job, and how its failure rate was derived.
struct FailingJob {
  FailureQuestion question;
  double gpus = 0, gpus_per_node = 8;
  std::string rate_source = "as given";
  std::optional<FailureFleet> fleet{};  ///< when its rate is used
  double checkpoint_bytes = 0;          ///< 0: no model
  double reload = 0;                    ///< s
  double rent = 0;                      ///< USD per GPU and second; 0 unknown
  double jitter = 0;
  int rack = 0, spares_per_rack = 0;  ///< nodes of a rack that is replaced as one; 0: nodes are
  /// Racks of so many GPUs.
  [[nodiscard]] double racks(double of_gpus) const {
    return rack > 0 ? std::ceil(of_gpus / ((rack - spares_per_rack) * gpus_per_node)) : 0;
  }
  LinkFlaps flaps{};  ///< of all links of the job
  int rails = 0, lost_rails = 0;
  double network = 0;  ///< share of a step that waits for the network
  /// Time of the network's part of a step relative to that with all NICs; 1 where none is lost.
  [[nodiscard]] double network_factor() const { return lost_rails > 0 ? lost_rail_factor(rails, lost_rails, LostRail::spread) : 1; }
  /// Time of a step relative to that with all NICs.
  [[nodiscard]] double step_factor() const { return lost_rails > 0 ? network_slowed(1, network, network_factor()) : 1; }
};

/// The shares of the time by use, link flaps included; they sum to 1.
struct GoodputShares {
  Goodput of_failures;
  double flaps = 0;       ///< standing still until a link is back
  double lost_rails = 0;  ///< the same work through fewer NICs
};

/// Link flaps of a job of `gpus` GPUs, with the present number of links per GPU.
[[nodiscard]] LinkFlaps flaps_at(const FailingJob& job, double gpus) {
  LinkFlaps out = job.flaps;
  out.links *= gpus / job.gpus;
  return out;
}

/// While a link is down nothing else proceeds; lost NICs slow the useful work.
[[nodiscard]] GoodputShares shares_of(const FailingJob& job, const Goodput& g, double gpus) {
  GoodputShares out{.of_failures = g, .flaps = flaps_at(job, gpus).stalled()};
  Goodput& of = out.of_failures;
  for (double* share : {&of.kept, &of.checkpoints, &of.lost, &of.recovery, &of.waiting}) *share *= 1 - out.flaps;
  out.lost_rails = of.kept * (1 - 1 / job.step_factor());
  of.kept -= out.lost_rails;
  return out;
}

/// \param nics of a node of the machine; 0: unknown
void take_flaps(FailingJob& out, const GoodputRequest& a, int nics) {
  if (a.flaps_per_link_year.has_value() != a.flap_stall.has_value())
    throw Refusal(
        "link flaps need both: <flaps_per_link_year>, how often a link drops out, and <flap_stall_seconds>, until traffic flows again");
  if (!a.flaps_per_link_year) {
    if (a.links || a.flap_fatal)
      throw Refusal("<links> and <flap_fatal> are of link flaps: add <flaps_per_link_year> and <flap_stall_seconds>");
    return;
  }
  out.flaps = {.links = a.links.value_or(nics > 0 ? std::ceil(out.gpus / out.gpus_per_node) * nics : out.gpus),
               .per_link_hour = *a.flaps_per_link_year / hours_of_a_year,
               .stall_seconds = a.flap_stall->value(),
               .fatal_share = a.flap_fatal.value_or(0)};
  out.question.other_failures = out.flaps.failures_per_hour() / 3600;
}

void take_rails(FailingJob& out, const GoodputRequest& a, int nics) {
  if (!a.lost_rails) {
    if (a.rails || a.network_share) throw Refusal("<rails> and <network_share> are of lost NICs: add <lost_rails>");
    return;
  }
  if (!a.network_share) throw Refusal("what does a step wait for the network? Add <network_share>, as in <network_share=0.2>");
  out.rails = a.rails.value_or(nics);
  if (out.rails == 0) throw Refusal("how many rails are there? Add <rails>, as in <rails=8>, or <system>");
  out.lost_rails = *a.lost_rails;
  out.network = *a.network_share;
  (void)lost_rail_factor(out.rails, out.lost_rails, LostRail::spread);  // checks the number of lost rails
}

/// Puts another fleet in the place of the job's; the answer is then that of a request with that fleet.
void take_fleet(FailureQuestion& q, const FailureFleet& fleet, double gpus_per_node, const GoodputRequest& a) {
  q.rate = fleet.rate;
  q.rate.per_node *= gpus_per_node / fleet.gpus_per_node;  // published per node of its own size: nodes of another size fail by their GPUs
  q.replaced = a.replaced.value_or(fleet.replaced());
}

void take_rate(FailingJob& out, const GoodputRequest& a, const FailureFacts& facts) {
  FailureQuestion& q = out.question;
  if (a.mttf_node.has_value() + a.failures_per_node_day.has_value() + a.failures_per_1000_node_days.has_value() +
          a.fleet.has_value() >
      1)
    throw Refusal("one rate of failures is enough: <mttf_node_seconds>, <failures_per_node_day>, <failures_per_1000_node_days> or <fleet>");
  q.replaced = a.replaced.value_or(1);
  if (a.mttf_node) {
    q.rate = FailureRate::of_mttf(a.mttf_node->value());
  } else if (a.failures_per_node_day) {
    q.rate = FailureRate::per_thousand_node_days(1000 * *a.failures_per_node_day);
  } else if (a.failures_per_1000_node_days) {
    q.rate = FailureRate::per_thousand_node_days(*a.failures_per_1000_node_days);
  } else {
    const FailureFleet& fleet = facts.fleet(a.fleet.value_or("llama3"));
    out.fleet = fleet;
    take_fleet(q, fleet, out.gpus_per_node, a);
    out.rate_source = fmt::format("{}: {}", fleet.name, fleet.title);
  }
}

void take_checkpoints(FailingJob& out, const GoodputRequest& a, const FailureFacts& facts) {
  Checkpointing& c = out.question.checkpointing;
  double loaded_bytes = 0;
  if (a.model) {
    constexpr double frozen_weight = 2;
    const double all = parameters_of(a.model.load()).total;
    out.checkpoint_bytes = checkpoint_bytes_per_parameter * a.trained.value_or(all);
    loaded_bytes = out.checkpoint_bytes + (a.trained ? frozen_weight * all : 0);
  }
  if (a.storage_bandwidth && out.checkpoint_bytes <= 0)
    throw Refusal("<storage_bytes_per_second> writes the checkpoint of a model: add <model>");
  const auto moved = [&](double bytes) { return a.storage_bandwidth ? bytes / a.storage_bandwidth->value() : 0; };
  const double written = moved(out.checkpoint_bytes);
  if (a.drain && !a.background)
    throw Refusal("<drain_seconds> is how long a checkpoint is written in the background: add <background=True>");
  c.stall = numbers_in(a.checkpoint).value_or(a.background ? facts.background_stall : written > 0 ? written : facts.stall);
  if (a.background) c.drain = numbers_in(a.drain).value_or(written > 0 ? written : facts.background_drain);
  c.interval = numbers_in(a.checkpoint_every).value_or(0);
  if (c.interval <= 0 && c.stall <= 0 && c.drain <= 0)
    throw Refusal("<checkpoint_seconds> 0: checkpoints that cost nothing have no best interval; take a time above 0");
  if (c.interval > 0 && c.drain > c.interval + c.stall)
    throw Refusal(
        fmt::format("<checkpoint_every_seconds>: a checkpoint is written in the background for {}, and the next begins {} after it; "
                    "take at least {}, or write in less time with <storage_bytes_per_second> or <drain_seconds>",
                    duration_text(c.drain), duration_text(c.interval + c.stall), duration_text(c.drain)));
  out.reload = numbers_in(a.reload).value_or(moved(loaded_bytes));
  c.recovery = numbers_in(a.restart).value_or(facts.recovery) + out.reload;
  const bool replaces = a.spares || a.spares_per_rack;
  if (!replaces && (a.repair || a.replaced))
    throw Refusal("<repair_seconds> and <replaced> are of nodes that spares replace: add <spares>");
  out.question.spares = a.spares.value_or(0);
  out.question.repair = replaces ? numbers_in(a.repair).value_or(facts.repair) : 0;
}

}  // namespace

void check_spares_per_rack(int spares, int nodes) {
  if (nodes < 2) throw Refusal("<spares_per_rack>: a scale-up domain of this machine is one node; give <spares>");
  if (spares >= nodes) throw Refusal(fmt::format("<spares_per_rack> {}: a rack has {} nodes; take at most {}", spares, nodes, nodes - 1));
}

namespace {

/// \param domain GPUs of a rack of the machine; 0: no machine
void take_racks(FailingJob& out, const GoodputRequest& a, int domain) {
  if (!a.spares_per_rack) return;
  if (domain == 0) throw Refusal("<spares_per_rack> are nodes of a rack of the machine: add <system>, as in <system=gb200-nvl72>");
  out.rack = static_cast<int>(domain / out.gpus_per_node);
  out.spares_per_rack = *a.spares_per_rack;
  check_spares_per_rack(out.spares_per_rack, out.rack);
  out.question.racks = out.racks(out.gpus);
  out.question.spares_per_rack = out.spares_per_rack;
}

[[nodiscard]] FailingJob job_of(const GoodputRequest& a, const FailureFacts& facts) {
  if (!a.gpus) throw Refusal("how many GPUs? Add <gpus>, as in <gpus=16384>", true);
  if (!a.system && a.prices != GoodputRequest{}.prices) throw Refusal("<prices> are those of a machine: add <system>");
  check_ranges(a);
  FailingJob out;
  out.gpus = *a.gpus;
  int nics = 0, domain = 0;
  if (a.system) {
    const System system = a.system.load({}, KernelSets::none());
    check_size(system, out.gpus);
    if (const Tier* nic = system.tier(TierRole::nic)) nics = nic->endpoints;
    out.gpus_per_node = system.gpus_per_node;
    domain = system.domain;
    Prices prices = load_prices(a.prices);
    if (a.dollars_per_gpu_hour) prices.gpu_hour.value = units::USD_per_h(*a.dollars_per_gpu_hour);
    out.rent = rent_of(system, prices).value.value();
  } else if (a.dollars_per_gpu_hour) {
    out.rent = *a.dollars_per_gpu_hour / 3600;
  }
  out.gpus_per_node = a.gpus_per_node.value_or(out.gpus_per_node);
  out.question.nodes = std::ceil(out.gpus / out.gpus_per_node);
  out.jitter = a.jitter.value_or(0);
  take_rate(out, a, facts);
  take_checkpoints(out, a, facts);
  take_racks(out, a, domain);
  take_flaps(out, a, nics);
  take_rails(out, a, nics);
  return out;
}

[[nodiscard]] GoodputAtScale at_scale(const FailingJob& job, double gpus) {
  FailureQuestion q = job.question;
  q.nodes = std::ceil(gpus / job.gpus_per_node);
  q.racks = job.racks(gpus);
  q.other_failures = flaps_at(job, gpus).failures_per_hour() / 3600;
  const FailureAnswer one = failures_of(q);
  GoodputAtScale out{gpus, units::s(one.mttf), units::s(one.checkpointing.interval), shares_of(job, one.share, gpus).of_failures.kept};
  if (job.jitter > 0) {
    out.waiting_efficiency = 1 / expected_maximum({JitterShape::normal, 1, job.jitter}, gpus);
    out.efficiency = *out.waiting_efficiency * out.goodput;
  }
  return out;
}

/// Round sizes, and the job's own.
[[nodiscard]] std::vector<double> scales(double gpus) {
  std::vector<double> out;
  for (double g = 1024; g <= 131072; g *= 2) out.push_back(g);
  if (std::find(out.begin(), out.end(), gpus) == out.end()) out.push_back(gpus);
  std::sort(out.begin(), out.end());
  return out;
}

[[nodiscard]] GoodputOfFleet as_elsewhere(const FailingJob& job, const FailureFleet& f, const GoodputRequest& a) {
  FailureQuestion q = job.question;
  take_fleet(q, f, job.gpus_per_node, a);
  const auto kept = [&](const FailureAnswer& one) { return shares_of(job, one.share, job.gpus).of_failures.kept; };
  const FailureAnswer as_asked = failures_of(q);
  q.spares = as_asked.spares_to_hardly_wait;
  return {f.name, f.title, q.rate.thousand_node_days(), f.rate.thousand_node_days(), kept(as_asked), q.spares, kept(failures_of(q))};
}

}  // namespace

GoodputAnswer answer(const GoodputRequest& request) {
  const FailureFacts facts = load_failure_facts();
  const FailingJob job = job_of(request, facts);
  const FailureAnswer r = failures_of(job.question);
  const Checkpointing& c = r.checkpointing;
  const GoodputShares shares = shares_of(job, r.share, job.gpus);
  const Goodput& share = shares.of_failures;
  GoodputAnswer out;
  out.gpus = job.gpus;
  out.nodes = r.nodes;
  out.failure_source = job.rate_source;
  out.failures_per_1000_node_days = job.question.rate.thousand_node_days();
  out.failures_per_day = day_seconds / r.mttf;
  out.mttf = units::s(r.mttf);
  out.checkpoint_every = units::s(c.interval);
  out.stall = units::s(c.stall);
  out.drain = units::s(c.drain);
  out.own_interval = request.checkpoint_every.has_value();
  out.young = units::s(young_interval(c.stall, r.mttf));
  out.daly = units::s(daly_interval(c.stall, r.mttf));
  out.best = units::s(best_interval(c.stall, r.mttf, c.drain));
  if (job.checkpoint_bytes > 0) out.checkpoint = units::B(job.checkpoint_bytes);
  out.recovery = units::s(c.recovery);
  out.reload = units::s(job.reload);
  out.goodput = share.kept;
  const auto share_or_none = [](double x) { return x >= 0 ? std::optional{x} : std::nullopt; };
  out.goodput_first_order = share_or_none(goodput_estimate(c, r.mttf));
  out.ettr_meta = share_or_none(effective_training_time(1 / r.mttf, c.recovery, c.interval, c.stall));
  out.checkpoints_share = share.checkpoints;
  out.lost_share = share.lost;
  out.recovery_share = share.recovery;
  out.waiting_share = share.waiting;
  out.flaps_share = shares.flaps;
  out.lost_rails_share = shares.lost_rails;
  out.spares = r.spares;
  out.spares_to_wait_a_thousandth = r.spares_to_hardly_wait;
  out.repair = units::s(job.question.repair);
  out.kept_per_node = share.kept * r.nodes / (r.nodes + r.spares);
  if (job.rack > 0) {
    out.racks = job.question.racks;
    out.spares_per_rack = job.spares_per_rack;
    out.kept_per_node = share.kept * r.nodes / ((job.question.racks + r.spares) * job.rack);
  }
  if (job.flaps.links > 0) {
    out.links = job.flaps.links;
    out.flaps_per_day = 24 * job.flaps.links * job.flaps.per_link_hour;
    out.flap_stall = units::s(job.flaps.stall_seconds);
    out.fatal_flaps_per_day = 24 * job.flaps.failures_per_hour();
  }
  if (job.lost_rails > 0) {
    out.rails = job.rails;
    out.lost_rails = job.lost_rails;
    out.network_factor = job.network_factor();
    out.step_factor = job.step_factor();
  }
  if (job.rent > 0) out.lost_dollars_per_day = job.rent * job.gpus * day_seconds * (1 - share.kept);
  out.dollars_per_gpu_hour = job.rent * 3600;
  out.jitter = job.jitter;
  if (job.fleet) {
    for (const FailureCause& cause : job.fleet->causes)
      out.causes.push_back(
          {cause.cause, cause.part, cause.count / job.fleet->failures() * day_seconds * job.question.rate.per_node * r.nodes});
    out.fleet_causes = out.causes;
  }
  for (const double gpus : scales(job.gpus)) out.by_scale.push_back(at_scale(job, gpus));
  for (const FailureFleet& fleet : facts.fleets) out.by_fleet.push_back(as_elsewhere(job, fleet, request));
  return out;
}

}  // namespace fabricost::plan
