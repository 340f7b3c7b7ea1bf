#pragma once
/// \file moe_constants.hpp
/// The fitted numbers of the kernels that send tokens to experts and back (price/moe.hpp has the forms): DeepEP's normal and low-latency
/// kernels, TensorRT-LLM's one-sided and two-sided ones over NVLink.
///
/// Priors: data/priors/moe.yaml. Rates are shares of the one-way rate, so that another link scales by itself.
/// Times "per KiB" are those of 1024 bytes of one token's copy.

#include <fabricost/hardware/form_constants.hpp>

namespace fabricost {

/// DeepEP's normal kernels: pairs of SMs are channels, each sends and receives chunks of tokens.
struct ChannelKernelConstants {
  double start;        ///< launch, layout and the first chunk's way
  double start_copy;   ///< added per KiB of a copy and root of copies per token
  double token;        ///< one SM's time for a token whatever it weighs, and
  double token_kib;    ///< per KiB of it
  double copy;         ///< one SM's time for one copy of a token, and
  double copy_kib;     ///< per KiB of it
  double fill;         ///< tokens' time of an SM that its first chunks cost more, reached with
  double fill_tokens;  ///< so many tokens for each SM
  double share;        ///< of the one-way rate at most
  double overlap;      ///< order of the norm that joins a token's time and its copies'
  double spread;       ///< SMs do the work of SMs^spread (from 4 on): they share memory and switch
};

/// DeepEP's low-latency kernels: one message per token and expert, on as many SMs as experts occupy.
struct MessageKernelConstants {
  double start;
  double expert;      ///< per expert: counters to send and wait for
  double start_copy;  ///< per KiB of a copy and root of copies
  double token;       ///< one SM's time for a token, and
  double token_kib;   ///< per KiB of it
  double share;
  double overlap;
};

/// TensorRT-LLM's kernels inside one NVLink domain.
struct DomainKernelConstants {
  double start;
  double copy;   ///< per rank a token goes to, one after the other
  double step;   ///< per doubling of ranks: everyone waits for everyone's flag
  double floor;  ///< latency the volume can hide
  double token;  ///< a rank's time per token beside the link: packing, adding up, converting
  double share;
  double overlap;  ///< order of the norm that joins work and wire
};

/// Which experts get what, before a two-sided dispatch.
struct PrepareConstants {
  double start, step, token;
};

struct MoeConstants {
  ChannelKernelConstants normal_dispatch;
  ChannelKernelConstants normal_combine;
  MessageKernelConstants low_latency_dispatch;
  MessageKernelConstants low_latency_combine;
  DomainKernelConstants one_sided_dispatch;
  DomainKernelConstants one_sided_combine;
  PrepareConstants prepare;
  DomainKernelConstants two_sided_dispatch;
  DomainKernelConstants two_sided_combine;
  DomainKernelConstants two_sided_combine_fp4;
  MoeForm form;
};

}  // namespace fabricost
