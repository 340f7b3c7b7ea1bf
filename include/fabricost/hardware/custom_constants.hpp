#pragma once
/// \file custom_constants.hpp
/// The fitted numbers of the all-reduce kernels inference engines bring along (price/custom_reduce.hpp has the forms). Defaults, the prior
/// for a GPU nobody measured, lie between the Ampere, Hopper and Blackwell fits; rates are shares of the one-way rate.

namespace fabricost {

/// Every rank adds up all others' data by itself.
struct OneShotConstants {
  double start = 4.8e-6;
  double hop = 0.3e-6;     ///< per doubling of ranks beyond a pair
  double growth = 0.3e-6;  ///< until every SM has work, half of it at 64 KiB
  double share = 0.7;      ///< of the one-way rate at most
  double kib = 0;          ///< in which the loads a kernel has in flight fetch 1024 bytes; 0 for kernels that store
};

/// Every rank reduces its part, then all collect all parts.
struct TwoShotConstants {
  double start = 7e-6;
  double floor = 1.5e-6;  ///< two barriers, and
  double hop = 4e-6;      ///< per doubling of ranks beyond a pair: the volume can hide them
  double share = 0.7;
  double overlap = 2.5;
  double kib = 0;  ///< as above; of symmetric_two_shot with two ranks, every further rank adds as many loads
};

struct CustomConstants {
  OneShotConstants pull_one_shot{.kib = 4.5e-9};  ///< vLLM, SGLang to 0.5.12: read peers' memory
  OneShotConstants push_one_shot{.start = 3e-6, .hop = 0.45e-6, .growth = 0.8e-6, .share = 0.7};  ///< SGLang from 0.5.14
  OneShotConstants lamport_one_shot{
      .start = 3.7e-6, .hop = 0.28e-6, .growth = 0.1e-6, .share = 0.7};  ///< TensorRT-LLM: data is its own flag
  TwoShotConstants pull_two_shot{.kib = 4.5e-9};
  TwoShotConstants push_two_shot{.start = 4e-6, .floor = 2.5e-6, .hop = 1.3e-6, .share = 0.7, .overlap = 1.1};
  TwoShotConstants lamport_two_shot{.start = 1.6e-6, .floor = 0.8e-6, .hop = 7e-6, .share = 0.46, .overlap = 1.1};
  TwoShotConstants multicast{.start = 8e-6, .floor = 2e-6, .hop = 0.6e-6, .share = 0.7, .overlap = 1.1};  ///< the switch adds up
  TwoShotConstants symmetric_two_shot{
      .start = 8e-6, .floor = 10e-6, .hop = 1e-6, .share = 0.7, .overlap = 2, .kib = 4.3e-9};  ///< torch symmetric memory
  double host_launch = 28e-6;                                                                  ///< the least a call from Python takes
  double host_extra = 6e-6;  ///< what such a call adds to a long kernel, besides
  double host_copy = 0.85;   ///< copying the buffer once at this share of the memory's rate
};

}  // namespace fabricost
