#pragma once
/// An answer that carries its explanation: time, the pair that ran, terms that sum to the time, the limiting tier, the
/// uncertainty, and all inputs, so that an explanation only prints and makes no decision of its own.

#include <fabricost/choice/choice.hpp>
#include <fabricost/fixed_list.hpp>
#include <fabricost/hardware/constants.hpp>
#include <fabricost/label.hpp>
#include <fabricost/operation.hpp>
#include <fabricost/price/custom_reduce.hpp>
#include <fabricost/price/fabric.hpp>
#include <fabricost/price/line.hpp>
#include <fabricost/price/protocol.hpp>

#include <utility>

namespace fabricost::core {

/// One contribution to the time.
struct Term {
  Label name;  ///< one of term_names (price/line.hpp), or of the host: "launch from Python", "launches", "module"
  Label tier;  ///< where it is spent
  Time time{};
};

/// A fixed-capacity list, so that a prediction never allocates.
using Terms = FixedList<Term, 12>;

/// Which parts of the request lie outside the measured range.
struct Extrapolated {
  bool sizes = false, ranks = false, nodes = false;
  [[nodiscard]] bool any() const { return sizes || ranks || nodes; }
};

/// The largest term; one without a name if nothing takes time.
[[nodiscard]] inline const Term& largest(const Terms& terms) {
  static constexpr Term none{};
  const Term* out = &none;
  for (const Term& term : terms)
    if (term.time > out->time) out = &term;
  return *out;
}

/// bytes / seconds; 0 if they take no time.
[[nodiscard]] constexpr double over(double bytes, double seconds) { return seconds > 0 ? bytes / seconds : 0; }

/// The inputs of a prediction.
struct PredictionInputs {
  Choice choice;
  Fabric fabric;         ///< for a copy between GPU and host, `inner_tier` is the tier between the two
  Line line;             ///< the price of the pair that ran, excluding the cost of a call from Python
  ReducePieces engine;   ///< the kernels of an inference engine, by size; empty: the library only
  HostCall host_call{};  ///< cost of a call from Python; all zero: replayed in a CUDA graph
  HostTime host{};       ///< the time of launching; all zero: not requested
  double gpu_seconds = 0;  ///< the GPUs' time, where that was requested
};

struct Prediction {
  Operation operation;
  int ranks = 1;
  int nodes = 1;
  Label algorithm{};  ///< name of `ran.algorithm`
  Label protocol{};   ///< name of `ran.protocol`
  Candidate ran{};
  bool by_price = false;  ///< the pair was chosen by price because no tuner rule applies to this library
  double seconds = 0;
  double low = 0, high = 0;  ///< seconds; nine in ten measurements fall in between
  double min = 0;            ///< seconds the bytes need at the links' full rate (price/lower_bound.hpp), a lower bound of `low`
  Terms terms;
  Basis basis = Basis::datasheet;
  Extrapolated extrapolated{};
  PredictionInputs made_from;

  [[nodiscard]] Time time() const { return Time::from_value(seconds); }
  [[nodiscard]] std::pair<Time, Time> interval() const { return {Time::from_value(low), Time::from_value(high)}; }
  /// False for a collective of one rank, which takes a launch alone.
  [[nodiscard]] bool moves() const { return ranks > 1 || operation.collective == Collective::send_recv; }
  /// bytes / time; 0 if nothing moves or takes time
  [[nodiscard]] Bandwidth algorithm_bandwidth() const {
    return Bandwidth::from_value(moves() ? over(operation.bytes.value(), seconds) : 0);
  }
  /// bytes / time x bus_factor(collective, ranks)
  [[nodiscard]] Bandwidth bus_bandwidth() const { return algorithm_bandwidth() * bus_factor(operation.collective, ranks); }
  [[nodiscard]] const Term& bottleneck() const { return largest(terms); }
};

}  // namespace fabricost::core

namespace fabricost {
using core::Extrapolated;
using core::PredictionInputs;
using core::Prediction;
using core::Term;
using core::Terms;
}  // namespace fabricost
