#pragma once
/// \file custom_constants.hpp
/// The fitted numbers of the all-reduce kernels inference engines bring along (price/custom_reduce.hpp has the forms). Defaults are for a
/// GPU whose NCCL takes a step of 1.04 us, the geometric mean of the Ampere, Hopper and Blackwell fits with their latencies stretched to
/// that step (parameters/related.hpp); rates are shares of the one-way rate.

#include <fabricost/hardware/form_constants.hpp>

namespace fabricost {

/// Every rank adds up all others' data by itself.
struct OneShotConstants {
  double start = 5.3e-6;
  double hop = 0.25e-6;    ///< per doubling of ranks beyond a pair
  double growth = 0.2e-6;  ///< until every SM has work, half of it at 64 KiB
  double share = 0.7;      ///< of the one-way rate at most
  double kib = 0;          ///< in which the loads a kernel has in flight fetch 1024 bytes; 0 for kernels that store
};

/// Every rank reduces its part, then all collect all parts.
struct TwoShotConstants {
  double start = 7.8e-6;
  double floor = 1e-6;  ///< two barriers, and
  double hop = 5e-6;    ///< per doubling of ranks beyond a pair: the volume can hide them
  double share = 0.7;
  double overlap = 2.9;
  double kib = 0;  ///< as above; of symmetric_two_shot with two ranks, every further rank adds as many loads
};

struct CustomConstants {
  /// vLLM, SGLang to 0.5.12: read peers' memory
  OneShotConstants pull_one_shot{.kib = 4.5e-9};
  TwoShotConstants pull_two_shot{.kib = 4.5e-9};
  /// SGLang from 0.5.14
  OneShotConstants push_one_shot{.start = 3e-6, .hop = 0.44e-6, .growth = 0.74e-6, .share = 0.7};
  TwoShotConstants push_two_shot{.start = 3.7e-6, .floor = 2.4e-6, .hop = 1.5e-6, .share = 0.69, .overlap = 1.05};
  /// TensorRT-LLM: data is its own flag
  OneShotConstants lamport_one_shot{.start = 3.8e-6, .hop = 0.32e-6, .growth = 0.19e-6, .share = 0.65};
  TwoShotConstants lamport_two_shot{.start = 1.6e-6, .floor = 0.8e-6, .hop = 6.9e-6, .share = 0.45, .overlap = 1.05};
  /// the switch adds up
  TwoShotConstants multicast{.start = 8.6e-6, .floor = 1.9e-6, .hop = 0.52e-6, .share = 0.69, .overlap = 1.1};
  /// torch symmetric memory
  TwoShotConstants symmetric_two_shot{.start = 8.7e-6, .floor = 10.5e-6, .hop = 0.7e-6, .share = 0.7, .overlap = 1.8, .kib = 4.3e-9};
  double host_launch = 28e-6;  ///< the least a call from Python takes
  double host_extra = 6e-6;    ///< what such a call adds to a long kernel, besides
  double host_copy = 0.85;     ///< copying the buffer once at this share of the memory's rate
  CustomForm form{};
};

}  // namespace fabricost
