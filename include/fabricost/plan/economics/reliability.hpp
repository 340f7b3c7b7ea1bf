#pragma once
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
/// Where a rack is the failure domain (ranks of a scale-up domain must share it) a node is replaced by one of s_r spare nodes of its own rack
/// alone. A rack is short of nodes while s_r + 1 are in repair, B = Erlang's loss with the rack's load, independently of the others; the
/// job waits while more of its R racks are short than there are spare racks: a binomial tail of R and B.
///
/// Limits: failures come in bursts and soon after changes (RSC's small jobs fail three times as often as its
/// rate says), and some are not noticed at once: silent corruption is not modelled.

#include <fabricost/plan/economics/days.hpp>
#include <fabricost/error.hpp>
#include <fabricost/shipped_numbers.hpp>

#include <cmath>

namespace fabricost::plan {

inline constexpr double hours_of_a_year = 8766;

/// Failure rate of one node, per second, from counts or as published.
struct FailureRate {
  double per_node = 0;

  /// `failures` in `days` on `gpus` GPUs with `gpus_per_node` per node: 419 in 54 days on 16,384 give 3.79
  /// per 1000 node-days.
  [[nodiscard]] static FailureRate counted(double failures, double days, double gpus, double gpus_per_node);
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
[[nodiscard]] double daly_interval(double checkpoint, double mttf);

/// The exact optimal interval: tau = M x with (1 - x) e^x = e^(-C/M), by bisection. It does not depend on
/// recovery and background writing, but cannot be below d - C where a background write takes d. Infinite M:
/// infinite. Seconds.
[[nodiscard]] double best_interval(double checkpoint, double mttf, double drain = 0);

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
[[nodiscard]] Goodput goodput_of(const Checkpointing& c, double mttf);

/// First order, for times small compared with M: 1 - C/tau - (tau/2 + d + R)/M. Negative outside its range.
[[nodiscard]] double goodput_estimate(const Checkpointing& c, double mttf);

/// Effective training time ratio of Meta (arXiv 2410.21680, eq. 1 without queues): (1 - n r (u0 + D/2)) / (1
/// + w/D).
/// \param failures n r per second \param start u0, initialisation \param interval D between checkpoints \param write w, stall of one
[[nodiscard]] double effective_training_time(double failures, double start, double interval, double write);

/// Probability that all `servers` are busy at a load (Erlang 1917), by B(k) = a B(k-1) / (k + a B(k-1)).
[[nodiscard]] double erlang_loss(double load, int servers);

/// Share of the time a job waits because `spares` + 1 nodes are in repair: Erlang's loss formula with spares
/// + 1 servers and the load (failures that remove a node) x (mean repair time). Spares do not fail; repairs
/// run in parallel.
[[nodiscard]] double waiting_for_nodes(double node_losses_per_second, double repair_seconds, int spares);

/// Share of the time that more than `spares` of `racks` racks are short of nodes, each for the share `is_short` of its own time.
[[nodiscard]] double waiting_for_racks(double racks, double is_short, int spares);

/// Minimum number of spares with which a job waits at most `share` of its time. \throws RequestError for a
/// share outside (0, 1), and if ten million are too few
[[nodiscard]] int spares_for(double node_losses_per_second, double repair_seconds, double share);

/// Input of failures_of.
struct FailureQuestion {
  double nodes = 0;
  FailureRate rate{};
  double other_failures = 0;      ///< per second, of the job as a whole: fatal link flaps, software beyond the nodes' rate
  Checkpointing checkpointing{};  ///< interval 0: the optimal one
  double replaced = 1;            ///< share of failures after which a node is removed
  double repair = 0;              ///< mean seconds until it returns; 0: a replacement is always available
  int spares = 0;
  double racks = 0;         ///< whose nodes are replaced by their own spare nodes, a rack short of nodes by one of `spares` racks; 0: none
  int spares_per_rack = 0;  ///< nodes
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
[[nodiscard]] FailureAnswer failures_of(const FailureQuestion& q);

/// Bytes of a checkpoint: 16-bit weights and 32-bit master weights, momentum and variance.
inline constexpr double checkpoint_bytes_per_parameter = prior::memory::checkpoint;

/// Seconds to write or read `parameters` at `bytes_per_second`, the storage rate of all writers together.
[[nodiscard]] double checkpoint_seconds(double parameters, double bytes_per_second);

}  // namespace fabricost::plan
