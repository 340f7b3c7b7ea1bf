#pragma once
/// How a prediction is completed: its terms by tier, its interval, the time of launches.

#include <fabricost/elementary.hpp>
#include <fabricost/predict/compile.hpp>
#include <fabricost/predict/host_copy.hpp>
#include <fabricost/predict/predict.hpp>
#include <fabricost/predict/certainty.hpp>
#include <fabricost/price/custom_reduce.hpp>
#include <fabricost/price/terms.hpp>

#include <cmath>
#include <new>

namespace fabricost::core {

/// The prediction at one size of a curve.
[[nodiscard]] Prediction prediction_at(const Curve& curve, const System& system, const Operation& op, const Choice& choice,
                                const ReducePieces& engine = {});

/// Of a call of RCCL itself: launch.hpp says what it takes.
[[nodiscard]] bool is_rccl_call(const System& system, const Choice& choice);

/// The time of a launch: beside that of the GPUs, where nearly the larger of the two counts, or after it.
class LaunchCost {
 public:
  LaunchCost(const System& system, const Fabric& f, Collective op, CallLaunch launch) : overlap_(system.constants.custom.form.host_overlap) {
    const ScaleUpForm& form = system.constants.scale_up.form;
    const IntervalWidths& w = system.constants.interval;
    width_ = w.host_bound;
    if (launch.mode == LaunchMode::xla) {
      beside_ = rccl_module(form, f, op);
      width_ = w.rccl_module;
      if (!(beside_ > 0)) {
        after_ = form.host_module;
        width_ = w.xla_module;
      }
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
void add_launches(Prediction& p, const System& system, CallLaunch launch);

}  // namespace fabricost::core

namespace fabricost::core::detail {

inline constexpr auto algorithm_labels = labels_of(algorithm_names);
inline constexpr auto protocol_labels = labels_of(protocol_names);
inline constexpr auto term_labels = labels_of(term_names);
inline constexpr Label gpu_label{"gpu"}, nic_label{"nic"};

/// The tier in which a level's time is spent: the network tier whose uplinks limit, or the tier to the NICs
/// if it carries less than they do. \param f as stored in a prediction
[[nodiscard]] const Label& tier_of(const Fabric& f, const Operation& op, Algorithm algorithm, TermKind kind, int level);

/// Whether the algorithm was chosen by price, as no tuner rule is known for the library.
[[nodiscard]] bool decided_by_price(const System& system, const Operation& op, const Choice& choice);

void check_size(double bytes);

/// Checks the fitted constants through the line they make: an invalid constant gives an invalid line or time.
/// \throws RequestError with the field
void require_price(const System& system, const Line& line, const Prediction& p);

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
  Certainty sure = ran.kernel != CollectiveKernel::library ? certainty_of_custom(system.constants, f, ran, bytes)
                                                       : certainty_of(system.constants, f, op.collective, ran, p.made_from.line, bytes);
  if (is_host_copy(op)) sure = certainty_of_host_copy(system, p.made_from.line, bytes, sure.extrapolated);
  p.basis = sure.basis;
  p.extrapolated = sure.extrapolated;
  const double factor = sure.half_width < 690 ? fast_exp(sure.half_width) : std::exp(sure.half_width);
  p.min = std::min(p.made_from.line.min * bytes, p.seconds);
  const double otherwise = p.made_from.line.alternative_seconds(bytes, p.seconds);
  p.low = std::max(std::min(p.seconds, otherwise) / factor, p.min);
  p.high = std::max(p.seconds, otherwise) * factor;
  require_price(system, p.made_from.line, p);
}

}  // namespace fabricost::core::detail

#ifdef FABRICOST_HEADER_ONLY
#include <fabricost/predict/complete-inl.hpp>
#endif
