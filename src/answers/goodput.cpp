/// \file goodput.cpp
/// From what is said of a job to what failures leave of its time.

#include <fabricost/answers/goodput.hpp>
#include <fabricost/hardware/machine_size.hpp>
#include <fabricost/specs/failures.hpp>
#include <fabricost/specs/prices.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace fabricost {
namespace {

/// Links of a job of so many GPUs, as many a GPU as there are now.
[[nodiscard]] LinkFlaps flaps_at(const FailingJob& job, double gpus) {
  LinkFlaps out = job.flaps;
  out.links *= gpus / job.gpus;
  return out;
}

/// While a link is out nothing else goes on; what is kept goes on more slowly where NICs are lost.
[[nodiscard]] GoodputShares shares_of(const FailingJob& job, const Goodput& g, double gpus) {
  GoodputShares out{.of_failures = g, .flaps = flaps_at(job, gpus).stalled()};
  Goodput& of = out.of_failures;
  for (double* share : {&of.kept, &of.checkpoints, &of.lost, &of.recovery, &of.waiting}) *share *= 1 - out.flaps;
  out.lost_rails = of.kept * (1 - 1 / job.step_factor());
  of.kept -= out.lost_rails;
  return out;
}

/// \param nics of a node of the machine; 0: none named
void mean_flaps(FailingJob& out, const GoodputAsked& a, const GoodputWords& w, int nics) {
  if (a.flaps_per_link_year.has_value() != a.flap_stall.has_value())
    throw RequestError(
        fmt::format("link flaps need both: {}, how often a link drops out, and {}, until traffic flows again", w.flaps, w.flap_stall));
  if (!a.flaps_per_link_year) {
    if (a.links || a.flap_fatal)
      throw RequestError(fmt::format("{} and {} are of link flaps: add {} and {}", w.links, w.flap_fatal, w.flaps, w.flap_stall));
    return;
  }
  out.flaps = {.links = a.links.value_or(nics > 0 ? std::ceil(out.gpus / out.gpus_per_node) * nics : out.gpus),
               .per_link_hour = *a.flaps_per_link_year / hours_of_a_year,
               .stall_seconds = *a.flap_stall,
               .fatal_share = a.flap_fatal.value_or(0)};
  out.question.other_failures = out.flaps.failures_per_hour() / 3600;
}

void mean_rails(FailingJob& out, const GoodputAsked& a, const GoodputWords& w, int nics) {
  if (!a.lost_rails) {
    if (a.rails || a.network_share)
      throw RequestError(fmt::format("{} and {} are of lost NICs: add {}", w.rails, w.network_share, w.lost_rails));
    return;
  }
  if (!a.network_share)
    throw RequestError(fmt::format("what does a step wait for the network? Add {}, as in {}", w.network_share, w.network_example));
  out.rails = a.rails.value_or(nics);
  if (out.rails == 0)
    throw RequestError(fmt::format("how many rails are there? Add {}, as in {}, or {}", w.rails, w.rails_example, w.system));
  out.lost_rails = *a.lost_rails;
  out.network = *a.network_share;
  (void)lost_rail_factor(out.rails, out.lost_rails, LostRail::spread);  // fewer than there are?
}

void mean_rate(FailingJob& out, const GoodputAsked& a, const GoodputWords& w, const FailureFacts& facts) {
  FailureQuestion& q = out.question;
  if (a.mttf_node.has_value() + a.per_node_day.has_value() + a.per_thousand_node_days.has_value() + a.fleet.has_value() > 1)
    throw RequestError(fmt::format("one rate of failures is enough: {}", w.rates));
  q.replaced = 1;
  if (a.mttf_node) {
    q.rate = FailureRate::of_mttf(*a.mttf_node);
  } else if (a.per_node_day) {
    q.rate = FailureRate::per_thousand_node_days(1000 * *a.per_node_day);
  } else if (a.per_thousand_node_days) {
    q.rate = FailureRate::per_thousand_node_days(*a.per_thousand_node_days);
  } else {
    const FailureFleet& fleet = facts.fleet(a.fleet.value_or("llama3"));
    out.fleet = fleet;
    q.rate = fleet.rate;
    // published per node of its own size: nodes of another size fail in proportion to their GPUs
    q.rate.per_node *= out.gpus_per_node / fleet.gpus_per_node;
    q.replaced = fleet.replaced();
    out.rate_source = fmt::format("{}: {}", fleet.name, fleet.title);
  }
  q.replaced = a.replaced.value_or(q.replaced);
}

void mean_checkpoints(FailingJob& out, const GoodputAsked& a, const GoodputWords& w, const FailureFacts& facts) {
  Checkpointing& c = out.question.checkpointing;
  if (a.model) out.checkpoint_bytes = checkpoint_bytes_per_parameter * parameters_of(*a.model).total;
  if (a.storage > 0 && out.checkpoint_bytes <= 0)
    throw RequestError(fmt::format("{} writes the checkpoint of a model: add {}", w.storage, w.model));
  const double written = a.storage > 0 ? out.checkpoint_bytes / a.storage : 0;
  if (a.drain && !a.background)
    throw RequestError(fmt::format("{} is how long a checkpoint is written in the background: add {}", w.drain, w.background));
  c.stall = a.checkpoint.value_or(a.background ? facts.background_stall : written > 0 ? written : facts.stall);
  if (a.background) c.drain = a.drain.value_or(written > 0 ? written : facts.background_drain);
  c.interval = a.interval.value_or(0);
  out.own_interval = a.interval.has_value();
  out.reload = a.reload.value_or(written);
  c.recovery = a.restart.value_or(facts.recovery) + out.reload;
  out.question.spares = a.spares.value_or(0);
  out.question.repair = a.repair.value_or(a.spares ? facts.repair : 0);
}

[[nodiscard]] FailingJob job_of(const GoodputAsked& a, const GoodputWords& w, const FailureFacts& facts) {
  FailingJob out;
  out.gpus = a.gpus;
  int nics = 0;
  if (a.system) {
    check_size(*a.system, a.gpus);
    if (const Tier* nic = a.system->tier(TierRole::nic)) nics = nic->endpoints;
    out.gpus_per_node = a.system->gpus_per_node;
    Prices prices = a.prices ? *a.prices : load_prices();
    if (a.gpu_hour) prices.gpu_hour.value = units::USD_per_h(*a.gpu_hour);
    out.rent = rent_of(*a.system, prices).value.value();
  } else if (a.gpu_hour) {
    out.rent = *a.gpu_hour / 3600;
  }
  out.gpus_per_node = a.gpus_per_node.value_or(out.gpus_per_node);
  out.question.nodes = std::ceil(out.gpus / out.gpus_per_node);
  out.jitter = a.jitter;
  mean_rate(out, a, w, facts);
  mean_checkpoints(out, a, w, facts);
  mean_flaps(out, a, w, nics);
  mean_rails(out, a, w, nics);
  return out;
}

[[nodiscard]] GoodputAtScale at_scale(const FailingJob& job, double gpus) {
  FailureQuestion q = job.question;
  q.nodes = std::ceil(gpus / job.gpus_per_node);
  q.other_failures = flaps_at(job, gpus).failures_per_hour() / 3600;
  q.repair = 0;  // about failures; spares are a matter of one size
  const FailureAnswer one = failures_of(q);
  GoodputAtScale out{gpus, one.mttf, one.checkpointing.interval, shares_of(job, one.share, gpus).of_failures.kept, {}};
  if (job.jitter > 0) out.waiting_efficiency = 1 / expected_maximum({JitterShape::normal, 1, job.jitter}, gpus);
  return out;
}

/// Round sizes, and the one asked about.
[[nodiscard]] std::vector<double> scales(double gpus) {
  std::vector<double> out;
  for (double g = 1024; g <= 131072; g *= 2) out.push_back(g);
  if (std::find(out.begin(), out.end(), gpus) == out.end()) out.push_back(gpus);
  std::sort(out.begin(), out.end());
  return out;
}

[[nodiscard]] GoodputOfFleet as_elsewhere(const FailingJob& job, const FailureFleet& f) {
  FailureQuestion q = job.question;
  q.rate = f.rate;
  q.rate.per_node *= job.gpus_per_node / f.gpus_per_node;
  q.checkpointing.interval = 0;
  q.repair = 0;
  return {f.name, f.title, f.rate.thousand_node_days(), shares_of(job, failures_of(q).share, job.gpus).of_failures.kept};
}

}  // namespace

GoodputAnswer goodput_of_job(const GoodputAsked& asked, const GoodputWords& words) {
  const FailureFacts facts = load_failure_facts();
  GoodputAnswer out;
  out.job = job_of(asked, words, facts);
  const FailingJob& job = out.job;
  out.failures = failures_of(job.question);
  const FailureAnswer& r = out.failures;
  const Checkpointing& c = r.checkpointing;
  out.shares = shares_of(job, r.share, job.gpus);
  out.young = young_interval(c.stall, r.mttf);
  out.daly = daly_interval(c.stall, r.mttf);
  out.best = best_interval(c.stall, r.mttf, c.drain);
  out.first_order = goodput_estimate(c, r.mttf);
  out.ettr = effective_training_time(1 / r.mttf, c.recovery, c.interval, c.stall);
  out.lost_per_day = job.rent * job.gpus * day_seconds * (1 - out.kept());
  if (job.fleet)
    for (const FailureCause& cause : job.fleet->causes)
      out.causes.push_back(
          {cause.cause, cause.part, cause.count / job.fleet->failures() * day_seconds * job.question.rate.per_node * r.nodes});
  for (const double gpus : scales(job.gpus)) out.by_scale.push_back(at_scale(job, gpus));
  for (const FailureFleet& fleet : facts.fleets) out.by_fleet.push_back(as_elsewhere(job, fleet));
  return out;
}

}  // namespace fabricost
