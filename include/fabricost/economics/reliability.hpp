#pragma once
/// \file reliability.hpp
/// The productive share of a job's time with failures and checkpoints: failure rates by scale, checkpoint
/// intervals, goodput.
///
/// A job on n nodes fails at rate n r (nodes independent, exponential times between failures), MTTF M = 1 /
/// (n r). The work tau between checkpoints stops the job for C; a recovery of R (detect, restart, load) may
/// itself fail; a checkpoint can be loaded only d after it was taken (it is written in the background):
///
///   share kept = tau e^(-d/M) / ( M e^(R/M) (e^((tau + C)/M) - 1) )        exact; Daly 2006 for d = 0; Young: 1 - C/tau - (tau/2 + R)/M
///
/// Derivation for d > 0: after a recovery the j-th next checkpoint counts if the job lives j (tau + C) + d,
/// so e^(-d/M) multiplies every term of the geometric series. Failed nodes wait for repair. With s spares the
/// job stands still while s + 1 nodes are in repair: Erlang's loss formula, which depends on the repair time
/// only by its mean.
///
/// Limits: failures come in bursts and soon after changes (RSC's small jobs fail three times as often as its
/// rate says), and some are not noticed at once: silent corruption is not modelled.

#include <fabricost/economics/days.hpp>
#include <fabricost/error.hpp>
#include <fabricost/shipped_numbers.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace fabricost {

inline constexpr double hours_of_a_year = 8766;

/// Failure rate of one node, per second, from counts or as published.
struct FailureRate {
  double per_node = 0;

  /// `failures` in `days` on `gpus` GPUs with `gpus_per_node` per node: 419 in 54 days on 16,384 give 3.79
  /// per 1000 node-days.
  [[nodiscard]] static FailureRate counted(double failures, double days, double gpus, double gpus_per_node) {
    if (!(failures >= 0 && days > 0 && gpus > 0 && gpus_per_node > 0))
      throw RequestError("a failure rate needs a count of 0 or more, and days, GPUs and GPUs per node above 0");
    return {failures / (days * day_seconds) / (gpus / gpus_per_node)};
  }
  [[nodiscard]] static FailureRate per_thousand_node_days(double failures) {
    if (!(failures >= 0)) throw RequestError("failures per thousand node-days are 0 or more");
    return {failures / 1000 / day_seconds};
  }
  [[nodiscard]] static FailureRate of_mttf(double node_seconds) {
    if (!(node_seconds > 0)) throw RequestError("a node's mean time to failure is above 0");
    return {1 / node_seconds};
  }

  [[nodiscard]] double thousand_node_days() const { return per_node * 1000 * day_seconds; }
  /// Mean time to failure of a job on `nodes` nodes, seconds: 1/(n r); infinite without failures.
  [[nodiscard]] double mttf(double nodes) const { return 1 / (nodes * per_node); }
};

/// Young 1974: sqrt(2 C M), the work between checkpoints of C for a job with MTTF M. Seconds.
[[nodiscard]] inline double young_interval(double checkpoint, double mttf) { return std::sqrt(2 * checkpoint * mttf); }

/// Daly 2006 (Future Generation Computer Systems 22, eq. 37): sqrt(2 C M) (1 + sqrt(C/2M)/3 + (C/2M)/9) - C, M where C >= 2 M. Seconds.
[[nodiscard]] inline double daly_interval(double checkpoint, double mttf) {
  if (checkpoint >= 2 * mttf) return mttf;
  const double x = checkpoint / (2 * mttf);
  return std::sqrt(2 * checkpoint * mttf) * (1 + std::sqrt(x) / 3 + x / 9) - checkpoint;
}

/// The exact optimal interval: tau = M x with (1 - x) e^x = e^(-C/M), by bisection. It does not depend on
/// recovery and background writing, but cannot be below d - C where a background write takes d. Infinite M:
/// infinite. Seconds.
[[nodiscard]] inline double best_interval(double checkpoint, double mttf, double drain = 0) {
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

/// Checkpoints and recovery of a job. Seconds.
struct Checkpointing {
  double interval = 0;  ///< work between checkpoints
  double stall = 0;     ///< C: the job stands still
  double drain = 0;     ///< d: from the end of the stall until the checkpoint can be loaded
  double recovery = 0;  ///< R: detect, replace, restart, load
};

/// The shares of a job's time by use; they sum to 1.
struct Goodput {
  double kept = 0;         ///< productive work
  double checkpoints = 0;  ///< standing still for checkpoints, whether used or not
  double lost = 0;         ///< work that is repeated
  double recovery = 0;     ///< detecting, restarting, loading
  double waiting = 0;      ///< for a node, when more have failed than there are spares
};

/// The exact goodput of exponential failures (formula above).
/// \throws RequestError for an interval of 0, a negative time, or a background write longer than the time to the next checkpoint
[[nodiscard]] inline Goodput goodput_of(const Checkpointing& c, double mttf) {
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

/// First order, for times small compared with M: 1 - C/tau - (tau/2 + d + R)/M. Negative outside its range.
[[nodiscard]] inline double goodput_estimate(const Checkpointing& c, double mttf) {
  return 1 - c.stall / c.interval - (c.interval / 2 + c.drain + c.recovery) / mttf;
}

/// Effective training time ratio of Meta (arXiv 2410.21680, eq. 1 without queues): (1 - n r (u0 + D/2)) / (1
/// + w/D).
/// \param failures n r per second \param start u0, initialisation \param interval D between checkpoints \param write w, stall of one
[[nodiscard]] inline double effective_training_time(double failures, double start, double interval, double write) {
  return (1 - failures * (start + interval / 2)) / (1 + write / interval);
}

/// Probability that all `servers` are busy at a load (Erlang 1917), by B(k) = a B(k-1) / (k + a B(k-1)).
[[nodiscard]] inline double erlang_loss(double load, int servers) {
  double b = 1;
  for (int k = 1; k <= servers; ++k) b = load * b / (k + load * b);
  return b;
}

/// Share of the time a job waits because `spares` + 1 nodes are in repair: Erlang's loss formula with spares
/// + 1 servers and the load (failures that remove a node) x (mean repair time). Spares do not fail; repairs
/// run in parallel.
[[nodiscard]] inline double waiting_for_nodes(double node_losses_per_second, double repair_seconds, int spares) {
  return erlang_loss(node_losses_per_second * repair_seconds, spares + 1);
}

/// Minimum number of spares with which a job waits at most `share` of its time. \throws RequestError for a
/// share outside (0, 1), and if ten million are too few
[[nodiscard]] inline int spares_for(double node_losses_per_second, double repair_seconds, double share) {
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

/// Input of failures_of.
struct FailureQuestion {
  double nodes = 0;
  FailureRate rate{};
  double other_failures = 0;      ///< per second, of the job as a whole: fatal link flaps, software beyond the nodes' rate
  Checkpointing checkpointing{};  ///< interval 0: the optimal one
  double replaced = 1;            ///< share of failures after which a node is removed
  double repair = 0;              ///< mean seconds until it returns; 0: a replacement is always available
  int spares = 0;
};

struct FailureAnswer {
  double mttf = 0;  ///< seconds
  Checkpointing checkpointing;
  Goodput share;
  int spares_to_hardly_wait = 0;  ///< minimum number with which the job waits at most 0.1 % of its time
  double nodes = 0;
  int spares = 0;
  /// Productive work per available node, spares included.
  [[nodiscard]] double per_node() const { return share.kept * nodes / (nodes + spares); }
};

/// Goodput of a job, including the wait for nodes. A waiting job does not fail, so the rest of its time is
/// divided as by goodput_of.
/// \throws RequestError as goodput_of, for fewer than 1 node, negative spares or a share outside [0, 1]
[[nodiscard]] inline FailureAnswer failures_of(const FailureQuestion& q) {
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
  out.spares_to_hardly_wait = spares_for(losses, q.repair, 1e-3);
  const double waiting = q.repair > 0 ? waiting_for_nodes(losses, q.repair, q.spares) : 0;
  for (double* share : {&out.share.kept, &out.share.checkpoints, &out.share.lost, &out.share.recovery}) *share *= 1 - waiting;
  out.share.waiting = waiting;
  return out;
}

/// Bytes of a checkpoint: 16-bit weights and 32-bit master weights, momentum and variance.
inline constexpr double checkpoint_bytes_per_parameter = prior::memory::checkpoint;

/// Seconds to write or read `parameters` at `bytes_per_second`, the storage rate of all writers together.
[[nodiscard]] inline double checkpoint_seconds(double parameters, double bytes_per_second) {
  if (!(parameters > 0 && bytes_per_second > 0)) throw RequestError("a checkpoint has parameters and a storage rate above 0");
  return checkpoint_bytes_per_parameter * parameters / bytes_per_second;
}

}  // namespace fabricost
