#pragma once
/// \file custom_constants.hpp
/// The fitted constants of the all-reduce kernels of inference engines (forms: price/custom_reduce.hpp;
/// priors: data/priors/custom.yaml). Rates are fractions of the one-way rate.

#include <fabricost/hardware/form_constants.hpp>

namespace fabricost::core {

/// Every rank reads and adds the data of all others.
struct OneShotConstants {
  double start;
  double hop;     ///< per doubling of ranks beyond a pair
  double growth;  ///< reached when every SM has work, half of it at 64 KiB
  double share;   ///< maximum, of the one-way rate
  double kib;     ///< time in which the loads in flight of a kernel fetch 1024 bytes; 0 for kernels that store
};

/// Every rank reduces its part, then all ranks collect all parts.
struct TwoShotConstants {
  double start;
  double floor;  ///< two barriers; the volume can hide them and the hops
  double hop;    ///< per doubling of ranks beyond a pair
  double share;
  double overlap;
  double kib;  ///< as above; for symmetric_two_shot with two ranks: every further rank adds as many loads
};

struct CustomConstants {
  /// vLLM, SGLang to 0.5.12: kernels read the memory of peers
  OneShotConstants pull_one_shot;
  TwoShotConstants pull_two_shot;
  /// SGLang from 0.5.14
  OneShotConstants push_one_shot;
  TwoShotConstants push_two_shot;
  /// TensorRT-LLM: the data itself is the flag
  OneShotConstants lamport_one_shot;
  TwoShotConstants lamport_two_shot;
  /// the switch reduces
  TwoShotConstants multicast;
  /// torch symmetric memory
  TwoShotConstants symmetric_two_shot;
  double host_launch;  ///< minimum time of a call from Python
  double host_extra;   ///< further time that such a call adds to a long kernel
  double host_copy;    ///< fraction of the memory rate at which the buffer is copied once
  CustomForm form;
};

}  // namespace fabricost::core
