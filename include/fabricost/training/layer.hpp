#pragma once
/// \file layer.hpp
/// One layer of one microbatch on one rank: kernels, the launch floor below them, and exposed exchanges.
///
///   forward   norm_4(products + attention + element-wise, floor) + exposed tensor, context and expert exchange
///             element-wise: traffic, casts of inputs of narrow products, starts of kernels (as many again for casts, some a ring's step)
///   backward  the same with twice the products and element-wise traffic, attention's own ratio, two floors; half of the
///             products belong to the weight gradient (W), the rest to the input gradient (B)
///   frozen    weights have no weight gradient: only those of the adapters beside them. An adapter of rank r is two more
///             products, K -> r -> N in 16 bit, its result added to the matrix's by a kernel of its own, after dropout of its input
///   states    layers that mix through a state (Mamba-2, gated delta rules): products in and out, the convolution, and the scan
///             in chunks as long as the state is wide, where both halves of its work are equal (Mamba-2, arXiv 2405.21060,
///             section 6): of a token 2 n k + 6 n v FLOP with n values of state per key, keys k and values v of all heads, and
///             2 n (k + v) more to correct earlier writes (delta rule), at attention's rate. Where layers of both kinds follow
///             each other a layer is their mean. Context ranks exchange tokens for heads, as Ulysses does
///   blocks    of a model whose layers are single blocks, a layer is one half of such a layer
///   graphs    the host launches nothing of a layer replayed as a CUDA graph: no floor; its kernels start all the same
///
/// T = b s / c tokens, t tensor ranks; with sequence parallel, norms and residuals run on T / t.

#include <fabricost/kernels/compute.hpp>
#include <fabricost/kernels/groups.hpp>
#include <fabricost/kernels/stack.hpp>
#include <fabricost/model/layout.hpp>
#include <fabricost/model/stages.hpp>
#include <fabricost/training/exchanges.hpp>
#include <fabricost/training/expert_load.hpp>
#include <fabricost/training/tensor_parallel.hpp>

#include <cmath>
#include <numeric>

namespace fabricost {

/// Seconds of one layer's forward, input gradient and weight gradient, and of both directions by cause.
struct LayerTime {
  double forward = 0, backward = 0, weight = 0;
  double kernels = 0, floor = 0, tensor = 0, context = 0, expert = 0;
  double expert_hidden = 0;  ///< exchange of tokens behind the other microbatch, where there is one

  [[nodiscard]] double sum() const { return forward + backward + weight; }
  void add(const LayerTime& o, double n) {
    forward += n * o.forward;
    backward += n * o.backward;
    weight += n * o.weight;
    kernels += n * o.kernels;
    floor += n * o.floor;
    tensor += n * o.tensor;
    context += n * o.context;
    expert += n * o.expert;
    expert_hidden += n * o.expert_hidden;
  }
};

/// Context ranks that can exchange tokens for heads: the most that divide both.
[[nodiscard]] inline int ranks_of_heads(const Model& model, const Layout& layout) { return std::gcd(layout.cp, model.heads / layout.tp); }

namespace detail {

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
    double adapters = 0;              ///< products and element-wise kernels of adapters
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
  [[nodiscard]] double product(Kernels& of, double M, double N, double K, double count = 1) const {
    of.read += M * K;
    of.written += M * N;
    return product(M, N, K, count);
  }

  [[nodiscard]] double key_width() const {
    return m.latent() ? 0 : m.kv_heads * (m.shared_kv ? 1.0 : 2.0) * m.head_dim / std::min<double>(l.tp, m.kv_heads);
  }

  void attention(Kernels& out, double& traffic) const {
    const double t = l.tp, T = l.tokens(), h = m.hidden;
    const double query = m.query_width() / t, value = m.value_width() / t;
    double keys = key_width();
    if (m.latent()) {
      out.products += product(out, T, m.q_rank + m.kv_rank + m.rope_dim, h);
      if (m.q_rank > 0) out.selective += product(out, T, query, m.q_rank);
      out.selective += product(out, T, double(m.heads) * (m.nope_dim + m.value_dim) / t, m.kv_rank);
      out.products += out.selective;
      keys = query + value;
    } else {
      out.products += product(out, T, query + keys, h);
    }
    out.products += product(out, T, h, value);
    const double rows = l.sequence_parallel ? T / t : T;
    traffic += attention_traffic(gpu, rows, h, T, query + keys);
    // windowed layers see at most that much of the past
    const double whole = m.attention_layers() > 0 ? static_cast<double>(m.full_layers()) / m.attention_layers() : 1;
    const double past = l.attended();  // packed documents attend to themselves only
    const double seen = m.window > 0 ? whole * past + (1 - whole) * std::min<double>(past, 2 * m.window) : past;
    out.core = attention_seconds(gpu, stack, double(l.microbatch) * m.heads / t * l.sequence * seen / l.cp,
                                 (m.query_width() + m.value_width()) / m.heads, l.precision);
    if (!m.latent()) out.selective = out.core;
  }

  /// A layer that mixes through a state.
  void state(Kernels& out, double& traffic) const {
    const Mixer& x = m.mixer;
    const double t = l.tp, T = l.tokens(), h = m.hidden, inner = x.inner / t, keys = x.keys / t;
    out.products += product(out, T, 2 * inner + 2 * keys + double(x.gates) * x.heads / t, h) + product(out, T, h, inner);
    traffic += attention_traffic(gpu, l.sequence_parallel ? T / t : T, h, T, 2 * inner + 2 * keys) + 4 * T * (inner + 2 * keys);
    const double corrected = x.gates == 2 ? 2 * (keys + inner) : 0;
    out.scan = T * x.state * (2 * keys + 6 * inner + corrected) / attention_rate(gpu);
  }
  /// The mixing block: the mean of attention and state layers.
  void mixing(Kernels& out, double& traffic) const {
    const double states = state_share(m);
    if (states <= 0) return attention(out, traffic);
    Kernels attending, through_state;
    double around = 0, beside = 0;
    if (states < 1) attention(attending, around);
    state(through_state, beside);
    const auto mean = [&](double a, double b) { return (1 - states) * a + states * b; };
    out.products += mean(attending.products, through_state.products);
    out.core += mean(attending.core, 0), out.scan += mean(0, through_state.scan);
    out.selective += mean(attending.selective, 0);
    out.read += mean(attending.read, through_state.read), out.written += mean(attending.written, through_state.written);
    traffic += mean(around, beside);
  }

  void feed_forward(Kernels& out, double& traffic, bool experts) const {
    const double t = l.tp, T = l.tokens(), h = m.hidden, mats = m.ffn_matrices();
    if (!experts) {
      const double f = m.ffn / t;
      out.last = product(out, T, h, f);
      out.products += product(out, T, (mats - 1) * f, h) + out.last;
      traffic += block_traffic(T, mats * f);
      return;
    }
    const double routed = load() * T * m.top_k / t, local = static_cast<double>(m.experts) / l.ep, f = double(m.expert_ffn) / l.expert_tp;
    out.last = product(out, routed * l.expert_tp, h, f, local);
    out.products += product(out, routed * l.expert_tp, (mats - 1) * f, h, local) + out.last;
    traffic += stack.fused_experts ? fused_routed_traffic(routed, h) : routed_traffic(gpu, routed, h, mats * m.expert_ffn);
    if (m.biases && !stack.fused_experts) traffic += biased_traffic(gpu, routed, h, m.expert_ffn);
    if (m.shared_experts > 0) {
      const double shared = double(m.shared_experts) * m.shared_ffn / t;
      out.products += product(out, T, (mats - 1) * shared, h) + product(out, T, h, shared);
      traffic += block_traffic(T, mats * shared);
    }
  }

  /// Context ranks that do not exchange tokens for heads: each needs the others' keys and values, all at once or in the steps of a ring.
  [[nodiscard]] int rings() const { return l.context == ContextParallel::ulysses ? l.cp / ranks_of_heads(m, l) : l.cp; }
  [[nodiscard]] int ring() const { return l.context == ContextParallel::all_gather ? 1 : rings(); }

  [[nodiscard]] double load() const { return expert_load(m, l, stack, costs); }

  [[nodiscard]] Kernels kernels(LayerParts parts) const {
    Kernels out;
    const bool experts = parts.experts;
    double traffic = 0;
    if (parts.mixing) mixing(out, traffic);
    out.feed = -out.products;
    if (parts.feed) feed_forward(out, traffic, experts);
    out.feed += out.products;
    const ComputeConstants& c = gpu.constants;
    const auto element = [&](double bytes) { return (stack.old_kernels ? c.elementwise_old : 1) * element_seconds(gpu, bytes); };
    const int copies = l.trains_all() ? 2 : 1;  // gradients of weights read columns
    out.cast = cast_seconds(gpu, l.precision, out.read, copies);
    out.cast_back = cast_seconds(gpu, l.precision, out.written, copies);
    const double launched = parts.share() * c.form.layer_kernels * (out.cast > 0 ? 2 : 1);
    out.starts = c.gemm_start * (launched + (parts.mixing ? c.form.ring_kernels * (ring() - 1) : 0));
    out.element = element(traffic) + out.starts + out.cast;
    if (l.recompute == Recompute::selective && !l.recompute_modules.empty()) {
      const double t = l.tp, T = l.tokens();
      out.norm = parts.share() * element(8 * m.hidden * (l.sequence_parallel ? T / t : T));  // reads and writes the hidden width, twice
      if (experts) {
        out.activation = element(block_traffic(load() * T * m.top_k / t, m.ffn_matrices() * m.expert_ffn) / 2);
        if (m.shared_experts > 0) {
          const double shared = double(m.shared_experts) * m.shared_ffn / t;
          out.shared = product(T, (m.ffn_matrices() - 1) * shared, m.hidden) + product(T, m.hidden, shared);
        }
      }
    }
    if (l.adapters.on()) out.adapters = adapter_seconds(experts);
    return out;
  }

  /// Products and element-wise kernels of the adapters.
  [[nodiscard]] double adapter_seconds(bool experts) const {
    const double t = l.tp, T = l.tokens(), h = m.hidden, rank = l.adapters.rank, inner = m.ffn_matrices() - 1;
    const double query = m.query_width() / t, value = m.value_width() / t;
    double seconds = 0, traffic = 0;
    const auto beside = [&](AdapterModule matrix, double rows, double in, double out, double count) {
      if (!l.adapters.at(matrix) || in <= 0 || out <= 0) return;
      seconds += product_seconds(gpu, Precision::bf16, rows, rank, in, count);
      seconds += product_seconds(gpu, Precision::bf16, rows, out, rank, count);
      // dropout reads and writes the input; adding reads two results and writes one
      traffic += 2 * rows * ((stack.memory.adapter_mask > 0 ? 2 * in : 0) + 3 * out);
    };
    const auto block = [&](double rows, double hidden, double f, double count) {
      beside(AdapterModule::linear_fc1, rows, hidden, inner * f, count);
      beside(AdapterModule::linear_fc2, rows, f, hidden, count);
    };
    beside(AdapterModule::linear_qkv, T, h / t, m.latent() ? query + (m.kv_rank + m.rope_dim) / t : query + key_width(), 1);
    beside(AdapterModule::linear_proj, T, value, h / t, 1);
    if (!experts) {
      block(T, h / t, m.ffn / t, 1);
    } else {
      block(load() * T * m.top_k / t * l.expert_tp, h, double(m.expert_ffn) / l.expert_tp, static_cast<double>(m.experts) / l.ep);
      if (m.shared_experts > 0) block(T, h / t, double(m.shared_experts) * m.shared_ffn / t, 1);
    }
    return seconds + gpu.constants.row_traffic * stream_seconds(gpu, traffic);
  }

  /// Forward work that selective recomputation repeats (memory/activations.hpp lists the modules).
  [[nodiscard]] double repeated(const Kernels& k, bool experts) const {
    if (l.recompute_modules.empty()) return k.selective;
    const auto on = [&](RecomputeModule one) { return l.recompute_modules.has(one); };
    double out = (on(RecomputeModule::core_attn) ? k.core : 0) + (on(RecomputeModule::layernorm) ? k.norm : 0);
    if (m.latent() && on(RecomputeModule::mla_up_proj)) out += k.selective;
    if (!experts) return out + (on(RecomputeModule::mlp) ? k.feed : 0);
    if (on(RecomputeModule::moe)) return out + k.feed + k.activation;
    return out + (on(RecomputeModule::moe_act) ? k.activation : 0) + (on(RecomputeModule::shared_experts) ? k.shared : 0);
  }

  /// Forward work that full recomputation repeats.
  [[nodiscard]] double repeated_in_full(const Kernels& k) const { return k.sum() - (stack.prunes_recompute ? k.last : 0); }

  [[nodiscard]] double floor(LayerParts parts) const {
    const ComputeConstants& c = gpu.constants;
    const double each = stack.fused_experts ? 0 : c.floor_expert * m.experts / l.ep;  // else one launch for all experts of the rank
    return stack.launches * parts.share() * c.layer_floor * (parts.experts ? c.floor_mixture + each : 1);
  }

  /// The exchanges of the layer, group by group.
  [[nodiscard]] LayerExchanges exchanges(LayerParts parts) const {
    LayerExchanges out;
    const double T = l.tokens();
    const auto add = [&](StepGroup group, Collective collective, Placement at, double size, double forward, double backward,
                         double exposed, double feed = 0) {
      out.add({group, collective, at, size, costs.seconds(collective, at, size), forward, backward, exposed, feed});
    };
    add_tensor(add, parts);
    if (l.cp > 1 && parts.mixing) add_context(add);
    if (parts.experts && l.ep > 1) {
      const Copies copies = stack.deduplicated ? Copies::per_domain : Copies::per_expert;
      const ExpertPlacement at = place_experts(l.ep, domain(), l.expert_tp);
      const double token = token_bytes(m.hidden, Precision::bf16);
      const double chosen = T / l.tp, rows = chosen * (stack.capacity > 0 ? std::min(1.0, stack.capacity) : 1);
      double once = costs.experts(gate_of(m), at, copies, token, routing_of(stack))(chosen);
      if (stack.capacity > 0)  // the fullest rank takes no more than its places
        once = std::min(once, costs.experts(gate_of(m), at, copies, token, Routing{})(chosen * stack.capacity));
      // dispatch and combine, forward and backward
      const Placement ranks{at.per_domain, at.ranks / at.per_domain};
      out.add({StepGroup::expert, Collective::all_to_all, ranks, token * rows * m.top_k, once, 2, 2, stack.expert_exposed, 2});
    }
    return out;
  }

  /// Tensor ranks of the layer, and of each expert, whose rows no product of theirs hides.
  template <class Add>
  void add_tensor(const Add& add, LayerParts parts) const {
    const TensorQuestion q{l.tp, l.expert_tp, l.tokens(), 2, l.sequence_parallel, Recompute::none};
    const auto all = [&](const TensorMessages& forward, const TensorMessages& backward, const TensorMessages& feed, int ranks,
                         double load, double exposed) {
      for (const Collective one : {Collective::all_gather, Collective::reduce_scatter, Collective::all_reduce})
        if (forward.count(one) + backward.count(one) > 0)
          add(StepGroup::tensor, one, place(ranks, 1, domain()), load * std::max(forward.bytes(one), backward.bytes(one)),
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
  [[nodiscard]] double in_backward(const LayerExchange& x, LayerParts parts) const {
    if (l.recompute == Recompute::full) return x.backward + again() * x.forward;
    const RecomputeModule feed = parts.experts ? RecomputeModule::moe : RecomputeModule::mlp;
    return x.backward + (l.recompute == Recompute::selective && l.recompute_modules.has(feed) ? x.feed : 0);
  }

  /// Kernels of a backward pass by kind, seconds.
  struct BackwardWork {
    double products = 0, core = 0, scan = 0, element = 0, adapters = 0, repeated = 0;
    [[nodiscard]] double sum() const { return products + core + scan + element + adapters + repeated; }
  };
  /// Frozen weights have no gradient of their own, their adapters have.
  [[nodiscard]] BackwardWork backward_work(const Kernels& k, bool experts) const {
    const bool all = l.trains_all();
    const double ratio = attention_backward(gpu, stack.attention);
    return {.products = (all ? 2 : 1) * k.products,
            .core = ratio * k.core,
            .scan = ratio * k.scan,
            .element = 2 * (k.element - k.cast) + k.cast_back,
            .adapters = (all ? 1 : 2) * k.adapters,
            .repeated = l.recompute == Recompute::selective ? repeated(k, experts) : 0};
  }

  [[nodiscard]] LayerTime run(LayerParts parts) const {
    const bool experts = parts.experts;
    const Kernels k = kernels(parts);
    Exchange tensor, context, expert;
    double hidden = 0;
    for (const LayerExchange& x : exchanges(parts)) {
      Exchange& of = x.group == StepGroup::tensor ? tensor : x.group == StepGroup::context ? context : expert;
      of.forward += x.exposed * x.forward * x.seconds;
      const double backward = in_backward(x, parts) * x.seconds;
      of.backward += x.exposed * backward;
      if (x.group == StepGroup::expert) hidden += (1 - x.exposed) * (x.forward * x.seconds + backward);
    }
    const double q = gpu.constants.floor_overlap, min = l.cuda_graphs ? 0 : floor(parts);
    const double forward = p_norm(k.sum(), min, q);
    const BackwardWork in_backward = backward_work(k, experts);
    const double work = in_backward.sum(), gradients = l.trains_all() ? k.products : k.adapters;
    const double backward = p_norm(work, 2 * min, q);
    LayerTime out;
    out.kernels = k.sum() + work;
    out.floor = forward + backward - out.kernels;
    out.tensor = tensor.forward + tensor.backward;
    out.context = context.forward + context.backward;
    out.expert = expert.forward + expert.backward;
    out.expert_hidden = hidden;
    out.forward = forward + tensor.forward + context.forward + expert.forward;
    out.weight = backward * gradients / work;
    out.backward = backward - out.weight + tensor.backward + context.backward + expert.backward;
    if (l.recompute == Recompute::full) {
      const double repeats = again(), repeated = repeated_in_full(k);
      const double forward_again = p_norm(repeated, min, q);
      out.kernels += repeats * repeated;
      out.floor += repeats * (forward_again - repeated);
      out.backward += repeats * forward_again;
    }
    return out;
  }
};

}  // namespace detail

/// \throws RequestError when the machine cannot join the ranks of a group
[[nodiscard]] inline LayerTime layer_time(const Model& model, const Layout& layout, const Stack& stack, const Processor& gpu,
                                          GroupCosts& costs, LayerParts parts) {
  return detail::LayerModel{model, layout, stack, gpu, costs}.run(parts);
}

}  // namespace fabricost
