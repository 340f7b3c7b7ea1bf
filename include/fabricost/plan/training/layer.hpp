#pragma once
/// One layer of one microbatch on one rank: kernels, the launch floor below them, and exposed exchanges.
///
///   forward   norm_4(products + attention + element-wise, floor) + exposed tensor, context and expert exchange: of each the stack's share,
///             and what the kernels are too short to hide
///             element-wise: traffic, casts of inputs of narrow products, starts of kernels (as many again for casts, some a ring's step)
///   backward  the same with twice the products and element-wise traffic, attention's own ratio, two floors; half of the
///             products belong to the weight gradient (W), the rest to the input gradient (B)
///   frozen    weights have no weight gradient: only those of the adapters beside them. An adapter of rank r is two more
///             products, K -> r -> N in 16 bit. Kernels of their own drop out values of its input, scale its result and add that to the
///             matrix's, backward scale the gradient and add that of the input to the matrix's (Megatron-Bridge, peft/utils.py):
///             5 N values forward, 2 N + 3 K backward, 2 K more and the mask each way with dropout. A matrix divided by columns has all of
///             its input on each tensor rank. Of narrow weights the copy by columns is made from the one in memory in each backward;
///             in 4 bit the weights are read and written in 16 bit before the products of each direction, by kernels of their own
///   states    layers that mix through a state (Mamba-2, gated delta rules): products in and out, the convolution, and the scan
///             in chunks as long as the state is wide, where both halves of its work are equal (Mamba-2, arXiv 2405.21060,
///             section 6): of a token 2 n k + 6 n v FLOP with n values of state per key, keys k and values v of all heads, and
///             2 n (k + v) more to correct earlier writes (delta rule), at attention's rate. Where layers of both kinds follow
///             each other a layer is their mean. Context ranks exchange tokens for heads, as Ulysses does
///   blocks    of a model whose layers are single blocks, a layer is one half of such a layer
///   text      a diffusion transformer's layer has one more block, whose keys and values are those of a text, and no causal mask
///   graphs    the host launches nothing of a layer replayed as a CUDA graph: no floor; its kernels start all the same
///
/// T = b s / c tokens, t tensor ranks; with sequence parallel, norms and residuals run on T / t.

#include <fabricost/experts/expert_traffic.hpp>
#include <fabricost/fixed_list.hpp>
#include <fabricost/plan/kernels/compute.hpp>
#include <fabricost/plan/kernels/groups.hpp>
#include <fabricost/plan/kernels/stack.hpp>
#include <fabricost/plan/memory/states.hpp>
#include <fabricost/plan/model/layout.hpp>
#include <fabricost/plan/model/model.hpp>
#include <fabricost/plan/model/stages.hpp>
#include <fabricost/plan/training/tensor_parallel.hpp>

#include <algorithm>
#include <array>
#include <numeric>
#include <string_view>

namespace fabricost::plan {

// Rows of the fullest expert rank: all ranks wait for them, that rank keeps them for the backward, and a capacity caps them.

/// The routing of tokens.
[[nodiscard]] inline Routing routing_of(const Stack& stack) { return {stack.routing, stack.zipf_exponent, {}}; }
/// Rows of the fullest expert rank over the mean, which all ranks wait for and which it keeps for the backward. Choices above a
/// capacity are dropped before the exchange; free places stay empty (Megatron-Core pads only with moe_pad_expert_input_to_capacity).
[[nodiscard]] double expert_load(const Model& model, const Layout& layout, const Stack& stack, GroupCosts& costs);
/// The memory of a stack whose fullest expert rank has `load` times the mean rows.
[[nodiscard]] MemoryStack with_load(MemoryStack memory, double load);

// The collectives of a training step, as they are priced and as an explanation lists them. A group is the ranks that exchange one
// kind of data: tensor ranks inside a layer, context ranks its keys and values, expert ranks its tokens, data ranks gradients and weights.

enum class StepGroup : unsigned char { tensor, context, expert, stages, data, rows, expert_data };
inline constexpr std::array<std::string_view, 7> step_group_names{"tensor", "context", "expert", "stages", "data", "rows", "expert data"};

/// A collective of one layer.
struct LayerExchange {
  StepGroup group = StepGroup::tensor;
  Collective collective = Collective::all_reduce;
  Placement at;
  double bytes = 0;                  ///< as nccl-tests counts them (operation.hpp); of tokens to experts: bytes that a rank sends
  double seconds = 0;                ///< of one
  double forward = 0, backward = 0;  ///< how many a layer's forward and backward need
  double exposed = 1;                ///< share that nothing hides
  double feed = 0;                   ///< part of `forward`: those of the feed-forward block
  LinkTime least{};                  ///< of one, at the links' full rate
};
using LayerExchanges = FixedList<LayerExchange, 12>;

/// A collective that exchanges gradients or weights.
struct DataExchange {
  StepGroup group = StepGroup::data;
  Collective collective = Collective::all_reduce;
  Placement at;
  double bytes = 0, seconds = 0;
  double each = 0, last = 0;  ///< how many in every microbatch but the last, and in the last
  LinkTime least{};           ///< of one, at the links' full rate
};
using DataExchanges = FixedList<DataExchange, 6>;

/// Seconds of one layer's forward, input gradient and weight gradient, and of both directions by cause.
struct LayerTime {
  double forward = 0, backward = 0, weight = 0;
  double kernels = 0, floor = 0, tensor = 0, context = 0, expert = 0;
  double expert_hidden = 0;  ///< exchange of tokens behind the other microbatch, where there is one
  double exposed_forward = 0;  ///< part of tensor, context and expert that is in the forward
  LinkTime links{};            ///< of all exchanges, hidden or not, at the links' full rate

  [[nodiscard]] double sum() const { return forward + backward + weight; }
  void add(const LayerTime& o, double n);
};

/// Context ranks that can exchange tokens for heads: the most that divide both.
[[nodiscard]] inline int ranks_of_heads(const Model& model, const Layout& layout) { return std::gcd(layout.cp, model.heads / layout.tp); }

struct LayerModel {
  const Model& m;
  const Layout& l;
  const Stack& stack;
  const Processor& gpu;
  GroupCosts& costs;

  /// Kernels of a forward pass.
  struct Kernels {
    double products = 0, core = 0, element = 0;
    double scan = 0;                  ///< of state layers
    double last = 0;                  ///< part of `products`: the layer's last one
    double selective = 0;             ///< repeated by selective recomputation: the attention core, or for latent attention the
                                      ///< products that unfold the latent
    double adapters = 0, adapters_back = 0;  ///< adapters' kernels; those of the backward are no part of the sum
    double adapter_products = 0;             ///< part of `adapters`
    double read = 0, written = 0;     ///< values on either side of the products
    double starts = 0, cast = 0, cast_back = 0;  ///< part of `element`, but for the casts of the backward
    double feed = 0, shared = 0;      ///< part of `products`: the feed-forward block; its shared experts
    double activation = 0, norm = 0;  ///< part of `element`: the routed experts' activation function; both norms
    [[nodiscard]] double sum() const { return products + core + scan + element + adapters; }
  };
  /// Exposed exchange of one group's ranks, seconds.
  struct Exchange {
    double forward = 0, backward = 0;
  };

  [[nodiscard]] int domain() const { return domain_for_data(l, costs.system().domain); }
  [[nodiscard]] double product(double M, double N, double K, double count = 1) const {
    return product_seconds(gpu, l.precision, M, N, K, count);
  }
  [[nodiscard]] double product(Kernels& of, double M, double N, double K, double count = 1) const;

  [[nodiscard]] HeadWidth head_width() const { return {m.query_width() / m.heads, m.value_width() / m.heads}; }
  [[nodiscard]] double key_width() const {
    return m.latent() ? 0 : m.kv_heads * (m.shared_kv ? 1.0 : 2.0) * m.head_dim / std::min<double>(l.tp, m.kv_heads);
  }

  void attention(Kernels& out, double& traffic) const;
  /// The block between a layer's two that attends to a text.
  void attention_to_text(Kernels& out, double& traffic) const;
  /// Blocks of these parts over those of a layer of a language model, two.
  [[nodiscard]] double blocks(LayerParts parts) const { return (parts.mixing * m.mixing_blocks() + parts.feed) / 2.0; }

  /// A layer that mixes through a state.
  void state(Kernels& out, double& traffic) const;
  /// The mixing block: the mean of attention and state layers.
  void mixing(Kernels& out, double& traffic) const;

  void feed_forward(Kernels& out, double& traffic, bool experts) const;

  /// Context ranks that do not exchange tokens for heads: each needs the others' keys and values, all at once or in the steps of a ring.
  [[nodiscard]] int rings() const { return l.context == ContextParallel::ulysses ? l.cp / ranks_of_heads(m, l) : l.cp; }
  [[nodiscard]] int ring() const { return l.context == ContextParallel::all_gather ? 1 : rings(); }

  [[nodiscard]] double load() const { return expert_load(m, l, stack, costs); }

  [[nodiscard]] Kernels kernels(LayerParts parts) const;

  /// Weights of the rank.
  [[nodiscard]] double weights(LayerParts parts) const;
  /// Bringing the layer's frozen weights from 4 bit to 16, once.
  [[nodiscard]] double widening_seconds(LayerParts parts) const;
  /// Making the narrow copy by columns of frozen weights, of which memory holds the one by rows, for the gradients of inputs.
  [[nodiscard]] double missing_copy_seconds(LayerParts parts) const;

  /// Kernels of the adapters.
  struct AdapterKernels {
    double products = 0;  ///< of the forward; gradients of weights and of inputs take as long each
    double forward = 0, backward = 0;
  };
  [[nodiscard]] AdapterKernels adapter_kernels(bool experts) const;

  /// Forward work that selective recomputation repeats (memory/activations.hpp lists the modules).
  [[nodiscard]] double repeated(const Kernels& k, bool experts) const;

  /// Forward work that full recomputation repeats.
  [[nodiscard]] double repeated_in_full(const Kernels& k) const { return k.sum() - (stack.prunes_recompute ? k.last : 0); }

  [[nodiscard]] double floor(LayerParts parts) const;

  /// Of what the stack would hide of these exchanges, the share that fits behind kernels of `forward` and `backward` seconds: work hides no
  /// more exchange than it takes itself.
  [[nodiscard]] Exchange hidden_shares(const LayerExchanges& all, LayerParts parts, double forward, double backward) const;

  /// The exchanges of the layer, group by group.
  [[nodiscard]] LayerExchanges exchanges(LayerParts parts) const;

  /// Tensor ranks of the layer, and of each expert, whose rows no product of theirs hides. Buffers that overlap exchanges with products reach
  /// the ranks of one NVLink domain only (Transformer Engine's user buffers: NVIDIA/TransformerEngine, issue 1071 and pull request 1470).
  template <class Add>
  void add_tensor(const Add& add, LayerParts parts) const {
    const TensorQuestion q{l.tp, l.expert_tp, l.tokens(), 2, l.sequence_parallel, Recompute::none};
    const auto all = [&](const TensorMessages& forward, const TensorMessages& backward, const TensorMessages& feed, int ranks,
                         double load, double exposed) {
      const Placement at = place(ranks, 1, domain());
      if (at.domains > 1) exposed = 1;
      for (const Collective one : {Collective::all_gather, Collective::reduce_scatter, Collective::all_reduce})
        if (forward.count(one) + backward.count(one) > 0)
          add(StepGroup::tensor, one, at, load * std::max(forward.bytes(one), backward.bytes(one)),
              forward.count(one), backward.count(one), exposed, feed.count(one));
    };
    all(tensor_forward(m, q, parts), tensor_backward(m, q, parts), tensor_forward(m, q, {false, parts.feed, parts.experts}), l.tp, 1,
        stack.tensor_exposed);
    if (!parts.feed || !parts.experts) return;
    const TensorMessages of_experts = expert_tensor_forward(m, q);
    all(of_experts, expert_tensor_backward(m, q), of_experts, l.expert_tp, load(), 1);
  }

  /// Context ranks of attention layers. Ring: keys and values pass all ranks, once forward, they and their gradients backward. Each rank
  /// has a block from either end of the sequence, so that a causal mask leaves every rank the same work. Ulysses: queries, keys, values and
  /// results are exchanged for heads, among as many ranks as divide the heads (fewer keys are repeated), with rings between such groups
  /// (USP, arXiv 2405.07719). State layers exchange the inputs and the results of the scan, tokens for heads and back.
  template <class Add>
  void add_context(const Add& add) const {
    const double T = l.tokens(), query = m.query_width() / l.tp, value = m.value_width() / l.tp;
    const double keys = m.latent() ? query + value : key_width(), states = state_share(m), attends = 1 - states;
    const int rings = this->rings(), among = l.cp / rings;
    const double copies = m.latent() ? 1 : std::max(1.0, among * double(l.tp) / std::max(m.kv_heads, l.tp));
    if (among > 1 && attends > 0) {
      const Placement near = place(among, l.tp, domain());
      add(StepGroup::context, Collective::all_to_all, near, 2 * T * (query + copies * keys), attends, attends, 1);
      add(StepGroup::context, Collective::all_to_all, near, 2 * T * value, attends, attends, 1);
    }
    if (rings > 1 && attends > 0) {
      const bool hides = l.context != ContextParallel::all_gather;
      add(StepGroup::context, Collective::all_gather, place(rings, l.tp * among, domain()), 2 * T * copies * keys * rings, attends,
          2 * attends, hides ? stack.context_exposed : 1);
    }
    if (states > 0) {
      const Placement ranks = place(l.cp, l.tp, domain());
      add(StepGroup::context, Collective::all_to_all, ranks, 2 * T * 2.0 * (m.mixer.inner + m.mixer.keys) / l.tp, states, states, 1);
      add(StepGroup::context, Collective::all_to_all, ranks, 2 * T * m.mixer.inner / l.tp, states, states, 1);
    }
  }

  /// The share of a layer's forward that full recomputation repeats, as a mean over all layers.
  [[nodiscard]] double again() const {
    return l.recompute_layers > 0 ? std::min(1.0, static_cast<double>(l.recompute_layers) / m.layers) : 1;
  }
  /// How many of an exchange the backward needs, with those of the forward that it repeats.
  [[nodiscard]] double in_backward(const LayerExchange& x, LayerParts parts) const;

  /// Kernels of a backward pass by kind, seconds.
  struct BackwardWork {
    double products = 0, core = 0, scan = 0, element = 0, adapters = 0, repeated = 0;
    [[nodiscard]] double sum() const { return products + core + scan + element + adapters + repeated; }
  };
  /// Frozen weights have no gradient of their own, their adapters have.
  [[nodiscard]] BackwardWork backward_work(const Kernels& k, bool experts) const;

  [[nodiscard]] LayerTime run(LayerParts parts) const;
};

/// \throws RequestError when the machine cannot join the ranks of a group
[[nodiscard]] LayerTime layer_time(const Model& model, const Layout& layout, const Stack& stack, const Processor& gpu,
                                   GroupCosts& costs, LayerParts parts);

}  // namespace fabricost::plan
