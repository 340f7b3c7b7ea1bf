#pragma once
/// \file predict.hpp
/// predict = one question; sweep = many sizes of one question. Neither `predict` nor a compiled Curve allocates.

#include <fabricost/elementary.hpp>
#include <fabricost/predict/curve.hpp>
#include <fabricost/predict/prediction.hpp>
#include <fabricost/predict/uncertainty.hpp>
#include <fabricost/price/terms.hpp>

#include <cmath>
#include <span>
#include <vector>

namespace fabricost {

namespace detail {

inline constexpr auto algorithm_labels = labels_of(algorithm_names);
inline constexpr auto protocol_labels = labels_of(protocol_names);
inline constexpr auto term_labels = labels_of(term_names);
inline constexpr Label gpu_label{"gpu"}, nic_label{"nic"};

/// The tier a level's time is spent in; the network tier where its taper binds.
[[nodiscard]] inline const Label& tier_of(const System& system, const Fabric& f, const Operation& op, Algorithm algorithm, TermKind kind,
                                          int level) {
  if (kind == TermKind::launch) return gpu_label;
  if (level == 0) {
    if (is_host_copy(op)) return host_tier(system)->name;
    return f.inner_tier.empty() ? gpu_label : f.inner_tier;
  }
  const Label& tapered = exchanges_at_once(algorithm, op.collective) ? f.exchanges_tier : f.streams_tier;
  if (kind == TermKind::wire && !tapered.empty()) return tapered;
  return f.outer_tier.empty() ? nic_label : f.outer_tier;
}

/// No tuner rule is known for the library, so what runs was decided by price.
[[nodiscard]] inline bool decided_by_price(const System& system, const Operation& op, const Choice& choice) {
  return choice.rule == Choice::Rule::nccl && !follows_tuner(system.library) && !is_host_copy(op);
}

inline void check_size(double bytes) {
  if (!(bytes >= 0 && bytes < 1e18)) throw RequestError("a size must be between 0 and 10^18 bytes");
}

[[nodiscard]] inline Prediction finish(const System& system, const Operation& op, const Fabric& f, Candidate ran, const Line& line,
                                       bool by_price) {
  const double bytes = op.bytes.value();
  Prediction p;
  p.operation = op;
  p.ranks = static_cast<int>(f.ranks());
  p.nodes = is_host_copy(op) ? 1 : f.nodes;
  p.ran = ran;
  p.algorithm = algorithm_labels[static_cast<std::size_t>(ran.algorithm)];
  p.protocol = protocol_labels[static_cast<std::size_t>(ran.protocol)];
  p.by_price = by_price;
  const Contributions parts = take_apart(line, bytes);
  double seconds = 0;
  for (const Contribution& part : parts) {
    seconds += part.seconds;
    p.terms.add({.name = term_labels[static_cast<std::size_t>(part.kind)],
                 .tier = tier_of(system, f, op, ran.algorithm, part.kind, part.level),
                 .time = Time::from_value(part.seconds)});
  }
  p.seconds = seconds;
  Certainty sure = ran.kernel != ReduceKernel::library ? certainty_of_custom(system.constants, f, ran, bytes)
                                                       : certainty_of(system.constants, f, op.collective, ran, bytes);
  if (is_host_copy(op)) sure = certainty_of_host_copy(system, bytes, sure.extrapolated);
  p.basis = sure.basis;
  p.extrapolated = sure.extrapolated;
  const double factor = sure.half_width < 690 ? fast_exp(sure.half_width) : std::exp(sure.half_width);
  p.low = p.seconds / factor;
  p.high = p.seconds * factor;
  return p;
}

}  // namespace detail

namespace detail {

/// What calling from Python adds: the host's time where the GPU waits for it, and a copy of the buffer.
inline void add_host_launch(Prediction& p, const System& system) {
  const Constants& c = system.constants;
  const double called = launched_from_host(p.seconds, p.operation.bytes.value(), system.gpu.hbm_bandwidth.value.value(), c.custom);
  const double wider = std::hypot(p.seconds > 0 ? std::log(p.high / p.seconds) : 0, c.interval.host_launch);
  p.terms.add({.name = "launch from Python", .tier = "host", .time = Time::from_value(called - p.seconds)});
  p.seconds = called;
  p.low = called / std::exp(wider);
  p.high = called * std::exp(wider);
}

[[nodiscard]] inline bool adds_host_launch(const Operation& op, const Choice& choice) {
  return choice.inference.from_host && op.collective == Collective::all_reduce;
}

[[nodiscard]] inline Prediction predict_without_host(const System& system, const Operation& op, const Choice& choice);

}  // namespace detail

/// Time of one operation with the terms that make it up. With `choice.inference` an all-reduce runs as that engine runs it, from Python
/// where it says so. \throws RequestError when the ranks do not fit the machine, the size is negative or not a number, or nothing allowed
/// can run.
[[nodiscard]] inline Prediction predict(const System& system, const Operation& op, const Choice& choice = {}) {
  Prediction p = detail::predict_without_host(system, op, choice);
  if (detail::adds_host_launch(op, choice)) detail::add_host_launch(p, system);
  return p;
}

[[nodiscard]] inline Prediction detail::predict_without_host(const System& system, const Operation& op, const Choice& choice) {
  const double bytes = op.bytes.value();
  detail::check_size(bytes);
  const Fabric f = fabric_of(system, op);
  const ChoiceInput in{op.collective, is_byte_wide(op.dtype)};
  if (const ReduceKernel own = detail::pieces_of(system, f, op, choice).at(bytes); own != ReduceKernel::library)
    return detail::finish(system, op, f, candidate_of(own), price_custom(own, f, system.constants.custom), false);
  if (choice.rule == Choice::Rule::nccl && follows_tuner(system.library) && !is_host_copy(op)) {
    // the common question: ask the tuner for this size alone and price only what runs
    if (const std::optional<Candidate> ran = picked_at(bytes, choice, in, f)) {
      const Line line = price(schedule_of(ran->algorithm, in.op, f), f, system.constants, ran->protocol, in.byte_wide);
      return detail::finish(system, op, f, *ran, line, false);
    }
  }
  if (choice.rule == Choice::Rule::fastest && !is_host_copy(op)) {  // exact, where a curve samples
    const PriceTable table{detail::candidates_or_throw(system, choice, in, f), in, f, system.constants};
    const int best = table.pick(bytes);
    return detail::finish(system, op, f, table.candidate(best), table.line(best), false);
  }
  const Curve curve = detail::compile_on(f, system, op, choice);
  return detail::finish(system, op, f, curve.ran(bytes), curve.line(bytes), detail::decided_by_price(system, op, choice));
}

/// The same question at many sizes. \throws as predict
[[nodiscard]] inline std::vector<Prediction> sweep(const System& system, const Operation& op, std::span<const Bytes> sizes,
                                                   const Choice& choice = {}) {
  const Curve curve = detail::compile_lines(system, op, choice);
  const bool by_price = detail::decided_by_price(system, op, choice);
  std::vector<Prediction> out;
  out.reserve(sizes.size());
  Operation one = op;
  for (const Bytes& size : sizes) {
    detail::check_size(size.value());
    one.bytes = size;
    out.push_back(detail::finish(system, one, curve.fabric(), curve.ran(size.value()), curve.line(size.value()), by_price));
    if (detail::adds_host_launch(op, choice)) detail::add_host_launch(out.back(), system);
  }
  return out;
}

/// Sizes from `first` to `last`, both included, each twice the one before. \throws RequestError unless 0 < first and last is finite
[[nodiscard]] inline std::vector<Bytes> powers_of_two(Bytes first, Bytes last) {
  std::vector<Bytes> out;
  if (!(first.value() > 0)) throw RequestError("a range of sizes must start above zero");
  if (!std::isfinite(last.value())) throw RequestError("a range of sizes must have an end");
  for (Bytes size = first; size <= last; size *= 2.0) out.push_back(size);
  return out;
}

}  // namespace fabricost
