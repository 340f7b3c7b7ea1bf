#pragma once
/// \file fused_norm-inl.hpp
/// Bodies of fused_norm.hpp.

#include <fabricost/compiled_once.hpp>
#include <fabricost/predict/fused_norm.hpp>

namespace fabricost::core {

FABRICOST_BODY FusedNorm fused_norm(const System& system, const Prediction& p) {
  if (p.operation.collective != Collective::all_reduce) throw RequestError("only an all_reduce is followed by a fused norm");
  FusedNorm out{.all_reduce = p.seconds, .memory_rate = system.gpu.hbm_bandwidth.value.value() * system.constants.compute.memory};
  if (!(out.memory_rate > 0)) throw RequestError(system.name + ": its memory's rate is not known");
  const double bytes = p.operation.bytes.value();
  out.apart_memory = 4 * bytes / out.memory_rate;
  out.fused_memory = 3 * bytes / out.memory_rate;
  out.fuses = p.ran.kernel != CollectiveKernel::library;
  out.apart = out.all_reduce + out.gap + out.rows + out.apart_memory;
  out.fused = out.fuses ? out.all_reduce + out.rows + out.fused_memory : out.apart;
  return out;
}

FABRICOST_BODY FusedNorm fused_norm(const System& system, const Operation& all_reduce, const Choice& choice) {
  return fused_norm(system, predict(system, all_reduce, choice));
}

}  // namespace fabricost::core
