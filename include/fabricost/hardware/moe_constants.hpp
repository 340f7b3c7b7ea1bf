#pragma once
/// \file moe_constants.hpp
/// The fitted numbers of the kernels that send tokens to experts and back (price/moe.hpp has the forms): DeepEP's normal and low-latency
/// kernels, TensorRT-LLM's one-sided and two-sided ones over NVLink.
///
/// Defaults are for a GPU whose NCCL takes a step of 1.04 us: the mean of Hopper and Blackwell for DeepEP, Blackwell's for TensorRT-LLM,
/// latencies stretched to that step (parameters/related.hpp). Rates are shares of the one-way rate, so that another link scales by itself.
/// Times "per KiB" are those of 1024 bytes of one token's copy.

#include <fabricost/hardware/form_constants.hpp>

namespace fabricost {

/// DeepEP's normal kernels: pairs of SMs are channels, each sends and receives chunks of tokens.
struct ChannelKernelConstants {
  double start = 28e-6;        ///< launch, layout and the first chunk's way
  double start_copy = 1e-6;    ///< added per KiB of a copy and root of copies per token
  double token = 0.45e-6;      ///< one SM's time for a token whatever it weighs, and
  double token_kib = 1e-9;     ///< per KiB of it
  double copy = 0.06e-6;       ///< one SM's time for one copy of a token, and
  double copy_kib = 0.038e-6;  ///< per KiB of it
  double fill = 10;            ///< tokens' time of an SM that its first chunks cost more, reached with
  double fill_tokens = 14;     ///< so many tokens for each SM
  double share = 0.68;         ///< of the one-way rate at most
  double overlap = 1.5;        ///< order of the norm that joins a token's time and its copies'
  double spread = 0.92;        ///< SMs do the work of SMs^spread (from 4 on): they share memory and switch
};

/// DeepEP's low-latency kernels: one message per token and expert, on as many SMs as experts occupy.
struct MessageKernelConstants {
  double start = 10e-6;
  double expert = 0.018e-6;      ///< per expert: counters to send and wait for
  double start_copy = 0.078e-6;  ///< per KiB of a copy and root of copies
  double token = 1.8e-6;         ///< one SM's time for a token, and
  double token_kib = 0.14e-6;    ///< per KiB of it
  double share = 0.58;
  double overlap = 2.2;
};

/// TensorRT-LLM's kernels inside one NVLink domain.
struct DomainKernelConstants {
  double start = 9e-6;
  double copy = 0.4e-6;    ///< per rank a token goes to, one after the other
  double step = 0.5e-6;    ///< per doubling of ranks: everyone waits for everyone's flag
  double floor = 2e-6;     ///< latency the volume can hide
  double token = 0.03e-6;  ///< a rank's time per token beside the link: packing, adding up, converting
  double share = 0.67;
  double overlap = 2.5;  ///< order of the norm that joins work and wire
};

/// Which experts get what, before a two-sided dispatch.
struct PrepareConstants {
  double start = 10e-6, step = 0.8e-6, token = 0.007e-6;
};

struct MoeConstants {
  ChannelKernelConstants normal_dispatch;
  ChannelKernelConstants normal_combine{.start = 28e-6,
                                        .start_copy = 1.5e-6,
                                        .token = 0.01e-6,
                                        .token_kib = 0.122e-6,
                                        .copy = 0.06e-6,
                                        .copy_kib = 0.031e-6,
                                        .fill = 15,
                                        .fill_tokens = 54,
                                        .share = 0.69,
                                        .overlap = 1.76,
                                        .spread = 0.92};
  MessageKernelConstants low_latency_dispatch;
  MessageKernelConstants low_latency_combine{
      .start = 11.5e-6, .expert = 0.006e-6, .start_copy = 0.08e-6, .token = 0.1e-6, .token_kib = 0.03e-6, .share = 0.58, .overlap = 1.2};
  DomainKernelConstants one_sided_dispatch{
      .start = 8.2e-6, .copy = 0.4e-6, .step = 0.5e-6, .floor = 1.5e-6, .token = 0.01e-6, .share = 0.72, .overlap = 8};
  DomainKernelConstants one_sided_combine{
      .start = 5.3e-6, .copy = 1e-6, .step = 0.4e-6, .floor = 5.2e-6, .token = 0.018e-6, .share = 0.73, .overlap = 8};
  PrepareConstants prepare{.start = 8.2e-6, .step = 0.58e-6, .token = 0.007e-6};
  DomainKernelConstants two_sided_dispatch{
      .start = 6.8e-6, .copy = 0.2e-6, .step = 0.4e-6, .floor = 0.4e-6, .token = 0.038e-6, .share = 0.67, .overlap = 2.1};
  DomainKernelConstants two_sided_combine{
      .start = 6.6e-6, .copy = 0.22e-6, .step = 0.45e-6, .floor = 1.6e-6, .token = 0.079e-6, .share = 0.615, .overlap = 2.1};
  DomainKernelConstants two_sided_combine_fp4{
      .start = 8e-6, .copy = 0.34e-6, .step = 0.4e-6, .floor = 2.2e-6, .token = 0.137e-6, .share = 0.37, .overlap = 2.2};
  MoeForm form;
};

}  // namespace fabricost
