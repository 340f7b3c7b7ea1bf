#pragma once
/// \file custom_constants.hpp
/// The fitted numbers of the all-reduce kernels inference engines bring along (price/custom_reduce.hpp has the forms; priors:
/// data/priors/custom.yaml). Rates are shares of the one-way rate.

#include <fabricost/hardware/form_constants.hpp>

namespace fabricost {

/// Every rank adds up all others' data by itself.
struct OneShotConstants {
  double start;
  double hop;     ///< per doubling of ranks beyond a pair
  double growth;  ///< until every SM has work, half of it at 64 KiB
  double share;   ///< of the one-way rate at most
  double kib;     ///< in which the loads a kernel has in flight fetch 1024 bytes; 0 for kernels that store
};

/// Every rank reduces its part, then all collect all parts.
struct TwoShotConstants {
  double start;
  double floor;  ///< two barriers, and
  double hop;    ///< per doubling of ranks beyond a pair: the volume can hide them
  double share;
  double overlap;
  double kib;  ///< as above; of symmetric_two_shot with two ranks, every further rank adds as many loads
};

struct CustomConstants {
  /// vLLM, SGLang to 0.5.12: read peers' memory
  OneShotConstants pull_one_shot;
  TwoShotConstants pull_two_shot;
  /// SGLang from 0.5.14
  OneShotConstants push_one_shot;
  TwoShotConstants push_two_shot;
  /// TensorRT-LLM: data is its own flag
  OneShotConstants lamport_one_shot;
  TwoShotConstants lamport_two_shot;
  /// the switch adds up
  TwoShotConstants multicast;
  /// torch symmetric memory
  TwoShotConstants symmetric_two_shot;
  double host_launch;  ///< the least a call from Python takes
  double host_extra;   ///< what such a call adds to a long kernel, besides
  double host_copy;    ///< copying the buffer once at this share of the memory's rate
  CustomForm form;
};

}  // namespace fabricost
