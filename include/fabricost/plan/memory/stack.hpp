#pragma once
/// Memory use of training software, in numbers: bytes per parameter, saved activations, further allocations.
/// The defaults are Megatron core with Transformer Engine: 16-bit weights, 32-bit gradients, fused kernels.

#include <fabricost/hardware/constants.hpp>
#include <fabricost/hardware/kinds.hpp>
#include <fabricost/shipped_numbers.hpp>

namespace fabricost::plan {

/// Properties of the software, not of the model or layout. Sizes are in bytes unless a name says otherwise.
struct MemoryStack {
  // per parameter
  double weight = 2;           ///< between steps: 2 in 16 bit; 4 where the 32-bit copy is the parameter (torchtitan's FSDP2)
  double gradient = 4;         ///< as accumulated over microbatches: 4 in 32 bit (Megatron), 2 in 16 bit
  double optimizer = 12;       ///< 32-bit master 4, first and second moment 4 each (Rajbhandari 2020); 8 without a master
  double master = 4;           ///< part of `optimizer`: master weights; 0 where the weights themselves are updated
  double gathered_weight = 2;  ///< of a layer gathered for computing, zero = 3

  /// Row- and column-wise low-precision copies of a layer's weights, with their scales: 2 with one scale per tensor, 2 (1 + 1/32) for
  /// blocks of 32 (MXFP8), 2 (1/2 + 1/16) for NVFP4. 0 where weights are cast each time (torchao).
  double fp8_weight_copies = 2;
  /// fp8 has one scale per tensor, so that from Blackwell on the row-wise copy serves all products (Transformer Engine,
  /// is_non_tn_fp8_gemm_supported): memory_on.
  bool fp8_tensor_scaled = true;
  double fp4_weight_copies = 2 * (0.5 + 1.0 / 16);
  /// A frozen weight in NF4 with scales of blocks of 64 in 8 bit, which share 4 bytes by 256 (QLoRA, arXiv 2305.14314, section 3).
  double weight_in_4_bit = 0.5 + 1.0 / 64 + 1.0 / (64 * 64);
  /// Bytes per element of a product's saved input; 2 where the 16-bit tensor is kept and cast again
  /// (torchao).
  double fp8_input = 1;
  double fp4_input = 0.5 + 1.0 / 16;

  /// Only the 16 bits that the 16-bit weight lacks are kept of the 32-bit master: 2 bytes of `optimizer` less
  /// per parameter kept in 16 bit (Transformer Engine's FusedAdam, store_param_remainders; Megatron core,
  /// use_precision_aware_optimizer).
  bool master_remainders = false;
  /// With fp8 products the copies are the parameters, without 16-bit weights of layers (Megatron core,
  /// fp8_param_gather).
  bool fp8_parameters = false;
  /// Bytes of a gradient that is sharded only after the last of several microbatches and waits whole until then (PyTorch's
  /// FSDP2, set_requires_gradient_sync(False), in the format of its reduction); 0: sharded after each.
  double accumulated_gradient = 0;
  /// Gradients arise in the backward and are dropped after the update (PyTorch's zero_grad, set_to_none), rather than in buffers that
  /// stay (Megatron core).
  bool frees_gradients = false;
  bool embedding_sharded = true;  ///< over tensor ranks

  // activations that layers save for their backward
  bool flash_attention = true;  ///< scores are not kept; otherwise 2 bytes of softmax per score
  bool dropout = false;         ///< masks after attention and feed-forward, 1 byte per element; 3 more bytes per score
  /// Fraction of a layer's saved activations, without scores, that `Recompute::selective` keeps (torchtitan
  /// 0.455). Tensors unfolded from latents are never kept.
  double selective_keeps = 1;
  bool shards_stored = false;  ///< full recompute's stored layer input is divided over tensor ranks without sequence parallel
  bool keeps_gathered =
      false;  ///< sequence parallel: gathered inputs of matrix products are kept (PyTorch DTensor) instead of gathered again
  bool keeps_routed_output = false;  ///< experts' outputs are kept until the router weights them
  double routed_load = 1;            ///< tokens on the fullest expert rank over the mean
  double norm_input = 2;        ///< bytes per element of an RMS norm's saved inputs; 6 where it runs in separate kernels in 32 bit
  double activation_input = 2;  ///< bytes per element of a gated activation's saved inputs; 1 in fp8 (activation_func_fp8_input_store)
  double adapter_mask = 0;      ///< bytes per element of the mask of dropout before an adapter; 0 without dropout

  // at the ends of the model
  double logit = 4;            ///< bytes per logit at the peak: 4 fused cross-entropy in 32 bit; 14 eager: 2 + 4 + 4 + 4
  bool logits_sharded = true;  ///< over tensor ranks

  // besides
  double weight_gradient = 0;  ///< bytes per element of a matrix's gradient before it is accumulated; 0 fused into the product
  double pipe_buffer = 0;      ///< per token, hidden element and microbatch in flight (DeepSpeed: 4, inputs and outputs)
  double bucket_parameters = prior::memory::bucket_parameters;  ///< of a gradient bucket, two alive, where gradients are sharded (smallest
                                                                ///< default of Megatron core)
  /// Static buffers of a layer that is replayed as a graph, per token and hidden element: its input, its output and their
  /// gradients in 16 bit (Transformer Engine, make_graphed_callables).
  double graph_buffer = 8;
  int gathered_layers = 2;      ///< with zero = 3: this layer's weights and the next one's; 0: matrix by matrix, this one and the next
  /// The compiler places all buffers of a step beforehand: the tensors of the output matrix and those of the layer that is recomputed,
  /// which are never alive together, share their place.
  bool planned = false;
  double context = prior::memory::context;                      ///< CUDA context and libraries
  /// Bytes of one communicator: the buffers of a ring's connections.
  double communicator = prior::memory::communicator;
  double extra = 0;                                     ///< fixed further allocations of a stack
  double fragmentation = prior::memory::fragmentation;  ///< fraction of the allocated memory that is lost between blocks
};

/// The same on a generation of GPUs.
[[nodiscard]] inline MemoryStack memory_on(MemoryStack stack, Generation generation) {
  const bool from_blackwell = is_nvidia(generation) && generation >= Generation::blackwell;
  if (stack.fp8_tensor_scaled && from_blackwell && stack.fp8_weight_copies > 0) stack.fp8_weight_copies = 1;
  return stack;
}

}  // namespace fabricost::plan
