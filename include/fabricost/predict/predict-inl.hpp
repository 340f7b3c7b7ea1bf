#pragma once
/// Bodies of predict.hpp.

#include <fabricost/compiled_once.hpp>
#include <fabricost/predict/complete.hpp>
#include <fabricost/predict/fabric_of.hpp>
#include <fabricost/predict/predict.hpp>

namespace fabricost::core::detail {

/// Adds the cost of a call from Python: host time that the GPU waits for, and a copy of the buffer.
inline void add_host_launch(Prediction& p, const System& system) {
  const Constants& c = system.constants;
  p.made_from.host_call = host_call(p.seconds, p.operation.bytes.value(), system.gpu.hbm_bandwidth.value.value(), c.custom);
  const double called = p.made_from.host_call.seconds();
  const Basis basis = kernel_basis(c.custom_basis, c.custom_kernels, 0);
  const double like = kernel_width(c.interval, basis, c.custom_kernels, 0, c.interval.other_domain_call);
  const double wider =
      std::sqrt(std::pow(p.seconds > 0 ? std::log(p.high / p.seconds) : 0, 2) + c.interval.host_launch * c.interval.host_launch +
                (basis == Basis::sibling && !MeasuredOperations::has(c.custom_kernels.alike, 0) ? like * like : 0));
  p.basis = std::max(p.basis, basis);
  p.terms.add({.name = "launch from Python", .tier = "host", .time = Time::from_value(called - p.seconds)});
  p.seconds = called;
  p.low = std::max(called / std::exp(wider), p.min);
  p.high = called * std::exp(wider);
}

[[nodiscard]] inline bool adds_host_launch(const System& system, const Operation& op, const Choice& choice) {
  return choice.inference.from_host && !is_rccl_call(system, choice) && op.collective == Collective::all_reduce;
}

[[nodiscard]] inline Prediction predict_without_host(const System& system, const Operation& op, const Choice& choice);

/// The prediction from a compiled curve, which the ways of a choice need. (Its own function, so that requests without ways do not pay for them.)
[[nodiscard, gnu::noinline]] inline Prediction finish_by_ways(const System& system, const Operation& op, const Choice& choice) {
  check_size(op.bytes.value());
  const Curve curve = compile_lines(system, op, choice);
  return prediction_at(curve, system, op, choice, pieces_of(system, curve.fabric(), op, choice));
}

}  // namespace fabricost::core::detail

namespace fabricost::core {

FABRICOST_BODY Prediction predict(const System& system, const Operation& op, const Choice& choice) {
  // one expression: with two returns the prediction would be copied
  Prediction p = choice.ways.any() ? detail::finish_by_ways(system, op, choice) : detail::predict_without_host(system, op, choice);
  if (detail::adds_host_launch(system, op, choice)) detail::add_host_launch(p, system);
  if (adds_to_gpus(choice.launch)) add_launches(p, system, choice.launch);
  return p;
}

inline Prediction detail::predict_without_host(const System& system, const Operation& op, const Choice& choice) {
  const double bytes = op.bytes.value();
  detail::check_size(bytes);
  Prediction p = detail::asked(op, choice, [&] { return fabric_of(system, op); });
  p.made_from.fabric.back_to_back = is_back_to_back(choice.launch);
  const Fabric& f = p.made_from.fabric;
  const ChoiceInput in{op.collective, is_byte_wide(op.dtype)};
  if (choice.inference.library != InferenceLibrary::none) {
    p.made_from.engine = pieces_of(system, f, op, choice);
    if (const CollectiveKernel own = p.made_from.engine.at(bytes); own != CollectiveKernel::library) {
      detail::complete(p, system, candidate_of(own), [&] { return price_custom(own, f, system.constants); });
      return p;
    }
  }
  if (choice.rule == Choice::Rule::nccl && follows_tuner(system.library) && !is_host_copy(op)) {
    // the common case: evaluate the tuner for this size alone and price only its choice
    if (const std::optional<Candidate> ran = picked_at(bytes, choice, in, f)) {
      detail::complete(p, system, *ran,
                       [&] { return price(schedule_of(ran->algorithm, in.op, f), f, system.constants, ran->protocol, in.byte_wide); });
      return p;
    }
  }
  if (is_host_copy(op)) {
    const Curve curve = compile_on(f, system, op, choice);
    detail::complete(p, system, curve.ran_at(bytes), [&] { return curve.line(bytes); });
    return p;
  }
  // of this size alone, exact where a curve samples
  const PriceTable table = detail::prices_of(system, f, op, choice, in);
  const int best = table.pick(std::max(bytes, 1.0));  // an empty message runs as a byte does, which breaks ties; so do curves
  detail::complete(p, system, table.candidate(best), [&] { return table.line(best); });
  return p;
}

FABRICOST_BODY std::vector<Prediction> sweep(const System& system, const Operation& op, std::span<const Bytes> sizes,
                                             const Choice& choice) {
  const Curve curve = compile_lines(system, op, choice);
  const ReducePieces engine = pieces_of(system, curve.fabric(), op, choice);
  std::vector<Prediction> out;
  out.reserve(sizes.size());
  Operation one = op;
  for (const Bytes& size : sizes) {
    detail::check_size(size.value());
    one.bytes = size;
    out.push_back(prediction_at(curve, system, one, choice, engine));
    if (detail::adds_host_launch(system, op, choice)) detail::add_host_launch(out.back(), system);
    if (adds_to_gpus(choice.launch)) add_launches(out.back(), system, choice.launch);
  }
  return out;
}

FABRICOST_BODY std::vector<Bytes> powers_of_two(Bytes first, Bytes last) {
  std::vector<Bytes> out;
  if (!(first.value() > 0)) throw RequestError("a range of sizes must start above zero");
  if (!std::isfinite(last.value())) throw RequestError("a range of sizes must have an end");
  for (Bytes size = first; size <= last; size *= 2.0) out.push_back(size);
  return out;
}

}  // namespace fabricost::core
