#include <fabricost/plan/economics/reliability.hpp>

namespace fabricost::plan {

FailureRate FailureRate::counted(double failures, double days, double gpus, double gpus_per_node) {
  if (!(failures >= 0 && days > 0 && gpus > 0 && gpus_per_node > 0))
    throw RequestError("a failure rate needs a count of 0 or more, and days, GPUs and GPUs per node above 0");
  return {failures / (days * day_seconds) / (gpus / gpus_per_node)};
}

double daly_interval(double checkpoint, double mttf) {
  if (checkpoint >= 2 * mttf) return mttf;
  const double x = checkpoint / (2 * mttf);
  return std::sqrt(2 * checkpoint * mttf) * (1 + std::sqrt(x) / 3 + x / 9) - checkpoint;
}

double best_interval(double checkpoint, double mttf, double drain) {
  if (!std::isfinite(mttf)) return mttf;
  double x = 0;
  if (checkpoint > 0) {
    // with y = 1 - x: ln y - y + 1 + C/M = 0 on (0, 1)
    const double c = checkpoint / mttf;
    double low = 0, high = 1;
    for (int i = 0; i < 200; ++i) {
      x = (low + high) / 2;
      (std::log1p(-x) + x + c > 0 ? low : high) = x;
    }
  }
  return std::max(mttf * x, drain - checkpoint);
}

Goodput goodput_of(const Checkpointing& c, double mttf) {
  if (!(c.interval > 0 && c.stall >= 0 && c.drain >= 0 && c.recovery >= 0 && mttf > 0))
    throw RequestError("goodput needs an interval and a time to failure above 0, and times of 0 or more");
  if (c.drain > (c.interval + c.stall) * (1 + 1e-12))
    throw RequestError("a checkpoint takes longer to write in the background than the time until the next; checkpoint less often");
  Goodput out;
  const double period = c.interval + c.stall;
  if (!std::isfinite(mttf)) {
    out.kept = c.interval / period;
    out.checkpoints = c.stall / period;
    return out;
  }
  const double running = std::exp(-c.recovery / mttf);  // of all time: E[life] / (E[life] + E[recovery]) = M / (M e^(R/M))
  out.kept = running * c.interval * std::exp(-c.drain / mttf) / (mttf * std::expm1(period / mttf));
  out.recovery = 1 - running;
  // while running: stalls of complete and of interrupted periods, int_tau^(tau+C) e^(-t/M) dt / int_0^(tau+C)
  out.checkpoints = running * std::exp(-c.interval / mttf) * -std::expm1(-c.stall / mttf) / -std::expm1(-period / mttf);
  out.lost = std::max(0.0, running - out.kept - out.checkpoints);
  return out;
}

double goodput_estimate(const Checkpointing& c, double mttf) {
  return 1 - c.stall / c.interval - (c.interval / 2 + c.drain + c.recovery) / mttf;
}

double effective_training_time(double failures, double start, double interval, double write) {
  return (1 - failures * (start + interval / 2)) / (1 + write / interval);
}

double erlang_loss(double load, int servers) {
  double b = 1;
  for (int k = 1; k <= servers; ++k) b = load * b / (k + load * b);
  return b;
}

double waiting_for_nodes(double node_losses_per_second, double repair_seconds, int spares) {
  return erlang_loss(node_losses_per_second * repair_seconds, spares + 1);
}

double waiting_for_racks(double racks, double is_short, int spares) {
  if (!(is_short > 0)) return 0;
  double none_more = 0;
  for (int k = 0; k <= spares && k <= racks; ++k)
    none_more += std::exp(std::lgamma(racks + 1) - std::lgamma(k + 1.0) - std::lgamma(racks - k + 1) + k * std::log(is_short) +
                          (racks - k) * std::log1p(-is_short));
  return spares >= racks ? 0 : std::max(0.0, 1 - none_more);
}

int spares_for(double node_losses_per_second, double repair_seconds, double share) {
  if (!(share > 0 && share < 1)) throw RequestError("a share of the time is between 0 and 1");
  const double load = node_losses_per_second * repair_seconds;
  double b = load / (1 + load);
  int spares = 0;
  while (b > share) {
    if (++spares > 10'000'000)
      throw RequestError("nodes fail faster than they are repaired: even 10 million spares cannot keep the waiting time below " +
                         std::to_string(share) + " of the time; take a shorter repair or fewer failures");
    b = load * b / (spares + 1 + load * b);
  }
  return spares;
}

FailureAnswer failures_of(const FailureQuestion& q) {
  if (!(q.nodes >= 1)) throw RequestError("a job runs on at least 1 node");
  if (q.spares < 0) throw RequestError("spares are 0 or more");
  if (!(q.replaced >= 0 && q.replaced <= 1)) throw RequestError("the share of failures that take a node away is from 0 to 1");
  if (!(q.rate.per_node >= 0 && q.other_failures >= 0 && q.repair >= 0)) throw RequestError("failure rates and repair times are 0 or more");
  FailureAnswer out;
  out.nodes = q.nodes;
  out.spares = q.spares;
  const double failures = q.nodes * q.rate.per_node + q.other_failures;
  out.mttf = 1 / failures;
  out.checkpointing = q.checkpointing;
  if (out.checkpointing.interval <= 0) {
    out.checkpointing.interval = best_interval(q.checkpointing.stall, out.mttf, q.checkpointing.drain);
    if (!std::isfinite(out.checkpointing.interval) || out.checkpointing.interval <= 0)
      throw RequestError("without failures, or with checkpoints that cost nothing, no interval is best; give one");
  }
  out.share = goodput_of(out.checkpointing, out.mttf);
  const double losses = q.nodes * q.rate.per_node * q.replaced;
  constexpr double hardly = 1e-3;
  double waiting = 0;
  if (q.racks > 0) {
    const double is_short = waiting_for_nodes(losses / q.racks, q.repair, q.spares_per_rack);
    waiting = waiting_for_racks(q.racks, is_short, q.spares);
    while (waiting_for_racks(q.racks, is_short, out.spares_to_hardly_wait) > hardly) ++out.spares_to_hardly_wait;
  } else {
    out.spares_to_hardly_wait = spares_for(losses, q.repair, hardly);
    waiting = q.repair > 0 ? waiting_for_nodes(losses, q.repair, q.spares) : 0;
  }
  for (double* share : {&out.share.kept, &out.share.checkpoints, &out.share.lost, &out.share.recovery}) *share *= 1 - waiting;
  out.share.waiting = waiting;
  return out;
}

double checkpoint_seconds(double parameters, double bytes_per_second) {
  if (!(parameters > 0 && bytes_per_second > 0)) throw RequestError("a checkpoint has parameters and a storage rate above 0");
  return checkpoint_bytes_per_parameter * parameters / bytes_per_second;
}

}  // namespace fabricost::plan
