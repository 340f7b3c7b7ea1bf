#pragma once
/// \file moe_constants.hpp
/// The fitted constants of the kernels that send tokens to experts and back (forms: price/moe.hpp): DeepEP's
/// normal and low-latency kernels, TensorRT-LLM's one-sided and two-sided ones over NVLink, MORI's over xGMI.
///
/// Priors: data/priors/moe.yaml. Rates are fractions of the one-way rate, so they carry over to other links.
/// Times "per KiB" are for 1024 bytes of one token's copy.

#include <fabricost/hardware/form_constants.hpp>

namespace fabricost::core {

/// DeepEP's normal kernels: a pair of SMs is a channel, which sends and receives chunks of tokens.
struct ChannelKernelConstants {
  double start;        ///< launch, layout and transfer of the first chunk
  double start_copy;   ///< added per KiB of a copy and square root of copies per token
  double token;        ///< one SM's fixed time per token
  double token_kib;    ///< and its time per KiB of the token
  double copy;         ///< one SM's fixed time per copy of a token
  double copy_kib;     ///< and its time per KiB of the copy
  double fill;         ///< extra cost of an SM's first chunks, in tokens
  double fill_tokens;  ///< tokens per SM at which it is reached
  double share;        ///< maximum, of the one-way rate
  double overlap;      ///< order of the norm of a token's time and its copies'
  double spread;       ///< n SMs do the work of n^spread (from 4 on), since they share memory and switch
};

/// DeepEP's low-latency kernels: one message per token and expert, on as many SMs as the experts occupy.
struct MessageKernelConstants {
  double start;
  double expert;      ///< per expert: counters to send and wait for
  double start_copy;  ///< per KiB of a copy and square root of copies
  double token;       ///< one SM's fixed time per token
  double token_kib;   ///< and its time per KiB of the token
  double share;
  double overlap;
};

/// TensorRT-LLM's kernels inside one NVLink domain, MORI's inside one mesh.
struct DomainKernelConstants {
  double start;
  double copy;   ///< per rank that a token goes to, one after the other; of one-sided kernels for copies of 1 KiB
  double step;   ///< per doubling of ranks: all ranks wait for the flags of all others
  double floor;  ///< latency that the volume can hide; the same
  double token;  ///< time of a rank per token besides the link: packing, adding, converting
  double share;
  double overlap;  ///< order of the norm of work and wire
};

/// The computation of each expert's tokens, before a two-sided dispatch.
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
  DomainKernelConstants mori_dispatch;
  DomainKernelConstants mori_combine;
  MoeForm form;
};

}  // namespace fabricost::core

namespace fabricost {
using core::MoeConstants;
}  // namespace fabricost
