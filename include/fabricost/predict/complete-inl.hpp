#pragma once
/// Bodies of complete.hpp.

#include <fabricost/compiled_once.hpp>
#include <fabricost/hardware/check.hpp>
#include <fabricost/predict/complete.hpp>

namespace fabricost::core::detail {

FABRICOST_BODY const Label& tier_of(const Fabric& f, const Operation& op, Algorithm algorithm, TermKind kind, int level) {
  if (kind == TermKind::launch || kind == TermKind::kernels) return gpu_label;
  if (level == 0 && kind == TermKind::wire && !f.inner_limit_tier.empty()) return f.inner_limit_tier;
  if (level == 0) return f.inner_tier.empty() ? gpu_label : f.inner_tier;
  const Label& tapered = exchanges_at_once(algorithm, op.collective) ? f.all_to_all_taper_tier : f.ring_taper_tier;
  if (kind == TermKind::wire && !tapered.empty()) return tapered;
  if (kind == TermKind::wire && !f.nic_limit_tier.empty()) return f.nic_limit_tier;
  return f.outer_tier.empty() ? nic_label : f.outer_tier;
}

FABRICOST_BODY bool decided_by_price(const System& system, const Operation& op, const Choice& choice) {
  return choice.rule == Choice::Rule::nccl && !follows_tuner(system.library) && !is_host_copy(op);
}

FABRICOST_BODY void check_size(double bytes) {
  if (std::isnan(bytes)) throw RequestError("how much? Give the operation its size, as in AllReduce{.bytes = MiB(256)}");
  if (!(bytes >= 0 && bytes < 1e18)) throw RequestError("a size must be between 0 and 10^18 bytes");
}

FABRICOST_BODY void require_price(const System& system, const Line& line, const Prediction& p) {
  const bool fine = (line.base >= 0) & (line.latency >= 0) & (line.rate >= 0) & (line.overlap >= 1) & (p.low >= 0) & (p.low <= p.seconds) &
                    (p.seconds <= p.high) & (p.high < 1e300);
  if (!fine) [[unlikely]]
    refuse_price(system);
}

}  // namespace fabricost::core::detail

namespace fabricost::core {

FABRICOST_BODY Prediction prediction_at(const Curve& curve, const System& system, const Operation& op, const Choice& choice,
                                 const ReducePieces& engine) {
  const double bytes = op.bytes.value();
  Prediction p = detail::asked(op, choice, [&] { return curve.fabric(); });
  p.made_from.engine = engine;
  detail::complete(p, system, curve.ran_at(bytes), [&] { return curve.line(bytes); });
  return p;
}

FABRICOST_BODY bool is_rccl_call(const System& system, const Choice& choice) {
  return system.library == Library::rccl && choice.inference.library == InferenceLibrary::none;
}

FABRICOST_BODY void add_launches(Prediction& p, const System& system, CallLaunch launch) {
  const LaunchCost launched(system, p.made_from.fabric, p.operation.collective, launch);
  if (!launched.any()) return;
  const double gpu = p.seconds, factor = std::exp(launched.width());
  const bool by_host = launched.host().seconds() > 0;
  if (by_host) {
    p.made_from.host = launched.host();
    p.made_from.gpu_seconds = gpu;
  }
  p.low = launched(p.low, 1 / factor);
  p.high = launched(p.high, factor);
  p.seconds = launched(gpu);
  const char* const term = by_host ? "launches" : launch.mode == LaunchMode::xla ? "module" : "launch from Python";
  p.terms.add({.name = term, .tier = "host", .time = Time::from_value(p.seconds - gpu)});
}

}  // namespace fabricost::core
