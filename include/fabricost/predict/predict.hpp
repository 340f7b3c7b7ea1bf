#pragma once
/// \file predict.hpp
/// predict answers one request, sweep the same at many sizes. Neither `predict` nor a compiled Curve
/// allocates.

#include <fabricost/elementary.hpp>
#include <fabricost/predict/curve.hpp>
#include <fabricost/predict/prediction.hpp>
#include <fabricost/predict/uncertainty.hpp>
#include <fabricost/price/terms.hpp>

#include <cmath>
#include <new>
#include <span>
#include <vector>

namespace fabricost {

namespace detail {

inline constexpr auto algorithm_labels = labels_of(algorithm_names);
inline constexpr auto protocol_labels = labels_of(protocol_names);
inline constexpr auto term_labels = labels_of(term_names);
inline constexpr Label gpu_label{"gpu"}, nic_label{"nic"};

/// The tier in which a level's time is spent: the network tier whose uplinks limit, or the tier to the NICs
/// if it carries less than they do. \param f as stored in a prediction
[[nodiscard]] inline const Label& tier_of(const Fabric& f, const Operation& op, Algorithm algorithm, TermKind kind, int level) {
  if (kind == TermKind::launch) return gpu_label;
  if (level == 0) return f.inner_tier.empty() ? gpu_label : f.inner_tier;
  const Label& tapered = exchanges_at_once(algorithm, op.collective) ? f.all_to_all_taper_tier : f.ring_taper_tier;
  if (kind == TermKind::wire && !tapered.empty()) return tapered;
  if (kind == TermKind::wire && !f.held_tier.empty()) return f.held_tier;
  return f.outer_tier.empty() ? nic_label : f.outer_tier;
}

/// Whether the algorithm was chosen by price, as no tuner rule is known for the library.
[[nodiscard]] inline bool decided_by_price(const System& system, const Operation& op, const Choice& choice) {
  return choice.rule == Choice::Rule::nccl && !follows_tuner(system.library) && !is_host_copy(op);
}

inline void check_size(double bytes) {
  if (!(bytes >= 0 && bytes < 1e18)) throw RequestError("a size must be between 0 and 10^18 bytes");
}

/// Checks the fitted constants through the line they make: an invalid constant gives an invalid line or time.
/// \throws RequestError with the field
inline void require_price(const System& system, const Line& line, const Prediction& p) {
  const bool fine = (line.base >= 0) & (line.latency >= 0) & (line.rate >= 0) & (line.overlap >= 1) & (p.low >= 0) & (p.low <= p.seconds) &
                    (p.seconds <= p.high) & (p.high < 1e300);
  if (!fine) [[unlikely]]
    refuse_price(system);
}

/// A prediction with its request; `complete` adds the answer. It is built in place: copying a value that was
/// just written with other widths would stall on store forwarding.
template <class MakeFabric>
[[nodiscard]] Prediction asked(const Operation& op, const Choice& choice, MakeFabric&& fabric) {
  return {.operation = op, .terms = {}, .made_from = {.choice = choice, .fabric = fabric(), .line = {}, .engine = {}}};
}

/// Adds the answer: the pair that runs at this size and its price, line().
template <class Price>
void complete(Prediction& p, const System& system, Candidate ran, Price&& line) {
  const Operation& op = p.operation;
  Fabric& f = p.made_from.fabric;
  const double bytes = op.bytes.value();
  p.ranks = static_cast<int>(f.ranks());
  p.nodes = is_host_copy(op) ? 1 : f.nodes;
  p.ran = ran;
  p.algorithm = algorithm_labels[static_cast<std::size_t>(ran.algorithm)];
  p.protocol = protocol_labels[static_cast<std::size_t>(ran.protocol)];
  p.by_price = decided_by_price(system, op, p.made_from.choice);
  if (is_host_copy(op)) f.inner_tier = host_tier(system)->name;
  ::new (static_cast<void*>(&p.made_from.line)) Line(line());
  const Contributions parts = take_apart(p.made_from.line, bytes);
  double seconds = 0;
  for (const Contribution& part : parts) {
    seconds += part.seconds;
    p.terms.emplace(term_labels[static_cast<std::size_t>(part.kind)], tier_of(f, op, ran.algorithm, part.kind, part.level),
                    Time::from_value(part.seconds));
  }
  p.seconds = seconds;
  Certainty sure = ran.kernel != ReduceKernel::library ? certainty_of_custom(system.constants, f, ran, bytes)
                                                       : certainty_of(system.constants, f, op.collective, ran, p.made_from.line, bytes);
  if (is_host_copy(op)) sure = certainty_of_host_copy(system, p.made_from.line, bytes, sure.extrapolated);
  p.basis = sure.basis;
  p.extrapolated = sure.extrapolated;
  const double factor = sure.half_width < 690 ? fast_exp(sure.half_width) : std::exp(sure.half_width);
  p.min = std::min(p.made_from.line.min * bytes, p.seconds);
  p.low = std::max(p.seconds / factor, p.min);
  p.high = p.seconds * factor;
  require_price(system, p.made_from.line, p);
}

/// The prediction at one size of a curve.
[[nodiscard]] inline Prediction finish(const Curve& curve, const System& system, const Operation& op, const Choice& choice,
                                       const ReducePieces& engine = {}) {
  const double bytes = op.bytes.value();
  Prediction p = asked(op, choice, [&] { return curve.fabric(); });
  p.made_from.engine = engine;
  complete(p, system, curve.ran(bytes), [&] { return curve.line(bytes); });
  return p;
}

}  // namespace detail

namespace detail {

/// Adds the cost of a call from Python: host time that the GPU waits for, and a copy of the buffer.
inline void add_host_launch(Prediction& p, const System& system) {
  const Constants& c = system.constants;
  p.made_from.host_call = host_call(p.seconds, p.operation.bytes.value(), system.gpu.hbm_bandwidth.value.value(), c.custom);
  const double called = p.made_from.host_call.seconds();
  const Basis basis = kernel_basis(c.custom_basis, c.custom_kernels, 0);
  const double like = kernel_width(c.interval, basis, c.custom_kernels, 0, c.interval.other_domain_call);
  const double wider =
      std::sqrt(std::pow(p.seconds > 0 ? std::log(p.high / p.seconds) : 0, 2) + c.interval.host_launch * c.interval.host_launch +
                (basis == Basis::sibling && !Shown::has(c.custom_kernels.alike, 0) ? like * like : 0));
  p.basis = std::max(p.basis, basis);
  p.terms.add({.name = "launch from Python", .tier = "host", .time = Time::from_value(called - p.seconds)});
  p.seconds = called;
  p.low = std::max(called / std::exp(wider), p.min);
  p.high = called * std::exp(wider);
}

/// Of a call of RCCL itself: launch.hpp says what it takes.
[[nodiscard]] inline bool is_rccl_call(const System& system, const Choice& choice) {
  return system.library == Library::rccl && choice.inference.library == InferenceLibrary::none;
}

[[nodiscard]] inline bool adds_host_launch(const System& system, const Operation& op, const Choice& choice) {
  return choice.inference.from_host && !is_rccl_call(system, choice) && op.collective == Collective::all_reduce;
}

/// The time of a launch: beside that of the GPUs, where nearly the larger of the two counts, or after it.
class Launched {
 public:
  Launched(const System& system, const Fabric& f, Collective op, CallLaunch launch) : overlap_(system.constants.custom.form.host_overlap) {
    const ScaleUpForm& form = system.constants.scale_up.form;
    const IntervalWidths& w = system.constants.interval;
    width_ = w.host_bound;
    if (launch.mode == LaunchMode::xla) {
      beside_ = rccl_module(form, f, op);
      if (!(beside_ > 0)) after_ = form.host_module, width_ = w.xla_module;
      return;
    }
    if (after_ = rccl_call(form, f, op, launch); after_ > 0) return;
    const double own = system.host_launch.value.value();
    if (own > 0) width_ = w.host_bound_here;
    host_ = host_time(form, own, f, op, launch);
    beside_ = host_.seconds();
  }
  [[nodiscard]] bool any() const { return beside_ > 0 || after_ > 0; }
  /// Zero where a module launches.
  [[nodiscard]] const HostTime& host() const { return host_; }
  /// Half width, in log, of its own time.
  [[nodiscard]] double width() const { return width_; }
  /// Seconds of a call. \param gpu those of its GPUs \param factor on its own time
  [[nodiscard]] double operator()(double gpu, double factor = 1) const {
    return beside_ > 0 ? norm(gpu, beside_ * factor, overlap_) : gpu + after_ * factor;
  }

 private:
  HostTime host_;
  double beside_ = 0, after_ = 0, width_ = 0, overlap_ = 1;
};

/// The GPUs' time and the host's beside each other, as in a call from Python; the GPUs' time and a module's.
inline void add_launches(Prediction& p, const System& system, CallLaunch launch) {
  const Launched launched(system, p.made_from.fabric, p.operation.collective, launch);
  if (!launched.any()) return;
  const double gpu = p.seconds, factor = std::exp(launched.width());
  const bool by_host = launched.host().seconds() > 0;
  if (by_host) p.made_from.host = launched.host(), p.made_from.gpu_seconds = gpu;
  p.low = launched(p.low, 1 / factor);
  p.high = launched(p.high, factor);
  p.seconds = launched(gpu);
  const char* const term = by_host ? "launches" : launch.mode == LaunchMode::xla ? "module" : "launch from Python";
  p.terms.add({.name = term, .tier = "host", .time = Time::from_value(p.seconds - gpu)});
}

[[nodiscard]] inline Prediction predict_without_host(const System& system, const Operation& op, const Choice& choice);

/// By the curve, as sweep does. (Its own function, so that requests without ways do not pay for them.)
[[nodiscard, gnu::noinline]] inline Prediction finish_by_ways(const System& system, const Operation& op, const Choice& choice) {
  check_size(op.bytes.value());
  const Curve curve = compile_lines(system, op, choice);
  return finish(curve, system, op, choice, pieces_of(system, curve.fabric(), op, choice));
}

}  // namespace detail

/// Time of one operation with the terms it consists of. With `choice.inference` an all-reduce runs as in that
/// engine, from Python if requested. \throws RequestError when the ranks do not fit the machine, the size is
/// negative or not a number, nothing allowed can run, or the machine's numbers give no time (check).
[[nodiscard]] inline Prediction predict(const System& system, const Operation& op, const Choice& choice = {}) {
  // one expression: with two returns the prediction would be copied
  Prediction p =
      choice.ways.any() ? detail::finish_by_ways(system, op, choice) : detail::predict_without_host(system, op, choice);
  if (detail::adds_host_launch(system, op, choice)) detail::add_host_launch(p, system);
  if (adds_to_gpus(choice.launch)) detail::add_launches(p, system, choice.launch);
  return p;
}

[[nodiscard]] inline Prediction detail::predict_without_host(const System& system, const Operation& op, const Choice& choice) {
  const double bytes = op.bytes.value();
  detail::check_size(bytes);
  Prediction p = detail::asked(op, choice, [&] { return fabric_of(system, op); });
  p.made_from.fabric.back_to_back = is_back_to_back(choice.launch);
  const Fabric& f = p.made_from.fabric;
  const ChoiceInput in{op.collective, is_byte_wide(op.dtype)};
  if (choice.inference.library != InferenceLibrary::none) {
    p.made_from.engine = detail::pieces_of(system, f, op, choice);
    if (const ReduceKernel own = p.made_from.engine.at(bytes); own != ReduceKernel::library) {
      detail::complete(p, system, candidate_of(own), [&] { return price_custom(own, f, system.constants.custom); });
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
  if (choice.rule == Choice::Rule::fastest && !is_host_copy(op)) {  // exact, where a curve samples
    const PriceTable table = detail::prices_of(system, f, op, choice, in);
    const int best = table.pick(bytes);
    detail::complete(p, system, table.candidate(best), [&] { return table.line(best); });
    return p;
  }
  const Curve curve = detail::compile_on(f, system, op, choice);
  detail::complete(p, system, curve.ran(bytes), [&] { return curve.line(bytes); });
  return p;
}

/// The same request at many sizes. \throws as predict
[[nodiscard]] inline std::vector<Prediction> sweep(const System& system, const Operation& op, std::span<const Bytes> sizes,
                                                   const Choice& choice = {}) {
  const Curve curve = detail::compile_lines(system, op, choice);
  const ReducePieces engine = detail::pieces_of(system, curve.fabric(), op, choice);
  std::vector<Prediction> out;
  out.reserve(sizes.size());
  Operation one = op;
  for (const Bytes& size : sizes) {
    detail::check_size(size.value());
    one.bytes = size;
    out.push_back(detail::finish(curve, system, one, choice, engine));
    if (detail::adds_host_launch(system, op, choice)) detail::add_host_launch(out.back(), system);
    if (adds_to_gpus(choice.launch)) detail::add_launches(out.back(), system, choice.launch);
  }
  return out;
}

/// Sizes from `first` to `last`, both included, each twice the previous one. \throws RequestError unless 0 <
/// first and last is finite
[[nodiscard]] inline std::vector<Bytes> powers_of_two(Bytes first, Bytes last) {
  std::vector<Bytes> out;
  if (!(first.value() > 0)) throw RequestError("a range of sizes must start above zero");
  if (!std::isfinite(last.value())) throw RequestError("a range of sizes must have an end");
  for (Bytes size = first; size <= last; size *= 2.0) out.push_back(size);
  return out;
}

}  // namespace fabricost
