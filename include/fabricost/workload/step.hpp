#pragma once
/// \file step.hpp
/// Time of one training step of a layout: layers, pipeline, gradient exchange, optimizer, each with what of it is exposed.
///
///   layer     forward = norm_4(kernels, floor) + exposed tensor + expert exchange; backward twice the kernels, with attention's own ratio
///   stage     (l / p) layers; the last also the output matrix and its loss
///   pipeline  1F1B  (m-1) max(stage) + p stage + head + [2 (p-1)(m+p)/p - 2] C
///             interleaved  m max(stage) + (p-1)/v stage + hand-over;  C one hand-over of b s h / c activations
///   data      reduce-scatter of gradients + all-gather of weights (one all-reduce without sharding), or per microbatch (FSDP)
///   optimizer 30 bytes per parameter a rank owns
///
/// Form: measurements of 30 groups of published runs (docs/training-accuracy.md); T = b s / c tokens of a microbatch on a rank.

#include <fabricost/workload/compute.hpp>
#include <fabricost/workload/groups.hpp>
#include <fabricost/workload/layout.hpp>
#include <fabricost/workload/model.hpp>
#include <fabricost/workload/stack.hpp>

namespace fabricost {

/// Seconds of a step by what they are spent on; they sum to `seconds`.
struct StepTime {
  double seconds = 0;
  double compute = 0;    ///< kernels of layers and head, recomputation included
  double floor = 0;      ///< what launches and small kernels add to them
  double tensor = 0;     ///< exposed tensor-parallel communication
  double context = 0;
  double expert = 0;
  double pipeline = 0;   ///< exposed hand-over between stages
  double bubble = 0;     ///< stages waiting for the pipeline to fill and drain
  double data = 0;       ///< exposed exchange of gradients and weights
  double optimizer = 0;  ///< and the adding up of gradients
  double stack = 0;      ///< what the stack's own factor adds

  [[nodiscard]] double exposed() const { return tensor + context + expert + pipeline + data; }
};

namespace detail {

/// One layer of one microbatch, seconds.
struct LayerTime {
  double forward = 0, backward = 0;  ///< kernels
  double core = 0;                   ///< attention's own part of `forward`
  double floor = 0;                  ///< of one forward
  double tensor_forward = 0, tensor_backward = 0, context = 0, expert = 0;  ///< exchange, exposed
};

struct StepModel {
  const Model& m;
  const Layout& l;
  const Stack& stack;
  const Processor& gpu;
  GroupCosts& costs;

  [[nodiscard]] bool full_shard() const { return l.zero == 3; }
  [[nodiscard]] Placement tensor_place() const { return place(l.tp, 1, costs.system().domain); }

  /// Bytes of 16-bit traffic of element-wise kernels beside the feed-forward block.
  [[nodiscard]] double stream(double bytes) const {
    const ComputeConstants& c = gpu.constants;
    return (stack.old_kernels ? c.elementwise * c.elementwise_old : c.elementwise) * stream_seconds(gpu, bytes);
  }

  [[nodiscard]] LayerTime layer(bool experts) const {
    const ComputeConstants& c = gpu.constants;
    const double t = l.tp, T = l.tokens(), h = m.hidden;
    const double rows = l.sequence_parallel ? T / t : T;
    const double query = m.query_width() / t, value = m.value_width() / t;
    const double keys = m.latent() ? query + value : 2.0 * m.kv_heads * m.head_dim / std::min<double>(t, m.kv_heads);
    LayerTime out;
    double products = 0;
    if (m.latent()) {
      products += product_seconds(gpu, l.precision, T, m.q_rank + m.kv_rank + m.rope_dim, h);
      if (m.q_rank > 0) products += product_seconds(gpu, l.precision, T, query, m.q_rank);
      products += product_seconds(gpu, l.precision, T, double(m.heads) * (m.nope_dim + m.value_dim) / t, m.kv_rank);
    } else {
      products += product_seconds(gpu, l.precision, T, query + keys, h);
    }
    products += product_seconds(gpu, l.precision, T, h, value);
    double traffic = 2 * (12 * rows * h + 2 * T * (query + keys));
    const double mats = m.ffn_matrices();
    if (!experts) {
      products += product_seconds(gpu, l.precision, T, (mats - 1) * m.ffn / t, h);
      products += product_seconds(gpu, l.precision, T, h, m.ffn / t);
      traffic += 2 * 2 * T * mats * m.ffn / t;
    } else {
      const double routed = T * m.top_k / t, local = static_cast<double>(m.experts) / l.ep, width = double(m.expert_ffn) / l.expert_tp;
      products += product_seconds(gpu, l.precision, routed * l.expert_tp, (mats - 1) * width, h, local);
      products += product_seconds(gpu, l.precision, routed * l.expert_tp, h, width, local);
      traffic += 2 * (2 * routed * mats * m.expert_ffn + 5 * routed * h);
      if (m.shared_experts > 0) {
        const double shared = double(m.shared_experts) * m.shared_ffn / t;
        products += product_seconds(gpu, l.precision, T, (mats - 1) * shared, h) + product_seconds(gpu, l.precision, T, h, shared);
        traffic += 2 * 2 * T * mats * shared;
      }
    }
    const double element = stream(traffic);
    const double seen = m.window > 0 && m.window < l.sequence ? 2.0 * m.window : l.sequence;
    out.core = attention_seconds(gpu, stack.attention, double(l.microbatch) * m.heads / t * l.sequence * seen / l.cp,
                                 (m.query_width() + m.value_width()) / m.heads);
    out.forward = products + out.core + element;
    out.backward = 2 * (products + element) + attention_backward(gpu, stack.attention) * out.core;
    out.floor = c.layer_floor * (1 + c.floor_tensor * std::log2(t)) * (stack.old_kernels ? c.floor_old : 1);
    if (experts) out.floor *= c.floor_mixture + c.floor_expert * m.experts / l.ep;
    tensor(out, T * h * 2);
    if (l.cp > 1) {
      const double bytes = 2 * T * keys * l.cp;
      const Placement ring = place(l.cp, l.tp, costs.system().domain);
      const double gathered = costs.seconds(Collective::all_gather, ring, bytes);
      out.context = 3 * (l.context == ContextParallel::ring ? stack.context_exposed : 1) * gathered;
      if (l.context == ContextParallel::ulysses)
        out.context = 2 * (costs.seconds(Collective::all_to_all, ring, 2 * T * (query + keys)) +
                           costs.seconds(Collective::all_to_all, ring, 2 * T * value));
    }
    if (experts && l.ep > 1) {
      out.expert = 4 * stack.expert_exposed * exchange(T / t, h * 2);
    }
    return out;
  }

  /// One dispatch or combine of `rows` tokens of `width` bytes per rank.
  [[nodiscard]] double exchange(double rows, double width) const {
    const Placement at = place(l.ep, l.expert_tp, costs.system().domain);
    if (!stack.deduplicated) return costs.seconds(Collective::all_to_all, at, rows * m.top_k * width);
    const auto distinct = [&](double groups) { return groups * (1 - std::pow(1 - 1 / groups, m.top_k)); };
    const double over = at.domains > 1 ? costs.seconds(Collective::all_to_all, {1, at.domains}, rows * distinct(at.domains) * width) : 0;
    const double inside = costs.seconds(Collective::all_to_all, {at.local, 1}, rows * distinct(l.ep) * width);
    return std::max(over, inside);
  }

  void tensor(LayerTime& out, double bytes) const {
    if (l.tp < 2) return;
    const Placement at = tensor_place();
    if (l.sequence_parallel) {
      const double gather = costs.seconds(Collective::all_gather, at, bytes), scatter = costs.seconds(Collective::reduce_scatter, at, bytes);
      out.tensor_forward = stack.tensor_exposed * 2 * (gather + scatter);
      out.tensor_backward = stack.tensor_exposed * (2 * (gather + scatter) + 2 * gather);
    } else {
      out.tensor_forward = out.tensor_backward = stack.tensor_exposed * 2 * costs.seconds(Collective::all_reduce, at, bytes);
    }
  }

  /// Forward + backward of a layer with what is recomputed: {kernels, added by floors, tensor, context, expert}.
  struct Whole {
    double kernels = 0, floor = 0, tensor = 0, context = 0, expert = 0;
    [[nodiscard]] double sum() const { return kernels + floor + tensor + context + expert; }
    void add(const Whole& o, double n) {
      kernels += n * o.kernels;
      floor += n * o.floor;
      tensor += n * o.tensor;
      context += n * o.context;
      expert += n * o.expert;
    }
  };
  [[nodiscard]] Whole whole(bool experts) const {
    const LayerTime one = layer(experts);
    const double q = gpu.constants.floor_overlap;
    Whole out;
    const double backward_kernels = one.backward + (l.recompute == Recompute::selective ? one.core : 0);
    double forward = joined(one.forward, one.floor, q), backward = joined(backward_kernels, 2 * one.floor, q);
    out.kernels = one.forward + backward_kernels;
    out.tensor = one.tensor_forward + one.tensor_backward;
    out.context = one.context;
    out.expert = one.expert;
    if (l.recompute == Recompute::full) {
      const double again = l.recompute_layers > 0 ? std::min(1.0, static_cast<double>(l.recompute_layers) / m.layers) : 1;
      out.kernels += again * one.forward;
      forward *= 1 + again;
      out.tensor += again * one.tensor_forward;
      out.context += again * one.context / 3;
      out.expert += again * one.expert / 2;
    }
    out.floor = forward + backward - out.kernels;
    return out;
  }

  /// The output matrix with its loss, forward and backward.
  [[nodiscard]] double head() const {
    const ComputeConstants& c = gpu.constants;
    const double T = l.tokens(), vocab = std::ceil(m.vocab / (128.0 * l.tp)) * 128;
    const Precision p = l.precision == Precision::fp8 || l.precision == Precision::fp4 ? Precision::bf16 : l.precision;
    return 3 * product_seconds(gpu, p, T, vocab, m.hidden) +
           stream_seconds(gpu, (stack.eager_loss ? c.logit_bytes_eager : c.logit_bytes) * T * vocab);
  }

  [[nodiscard]] StepTime run() const {
    const ComputeConstants& c = gpu.constants;
    const double p = l.pp, v = l.vp, micro = l.microbatches();
    const double mixed = m.expert_layers() / p, dense = m.dense_layers() / p;
    Whole stage;
    if (dense > 0) stage.add(whole(false), dense);
    if (mixed > 0) stage.add(whole(true), mixed);
    const ParameterCount n = parameters_of(m);
    const double layers_here = (m.layers * (n.attention + n.norms) + m.dense_layers() * n.dense_ffn + m.expert_layers() * (n.shared + n.router)) /
                               (p * l.tp);
    const double experts_here = m.expert_layers() / p * n.expert * m.experts / (l.ep * l.expert_tp);
    const double tables = (p > 1 ? n.head > 0 ? n.head : n.embedding : n.head + n.embedding) / l.tp;
    const double local = layers_here + tables, all_local = local + experts_here;
    const double accumulate = stack.accumulation_bytes * all_local / gpu.memory_rate;
    const double body = stage.sum() + accumulate, last = head();

    StepTime out;
    // data: full sharding is paid per microbatch and joins the work of the stage
    const int replicas = l.dp * l.cp;
    const Placement data = place(replicas, l.tp, costs.system().domain);
    double per_microbatch = 0;
    if (replicas > 1 && full_shard()) {
      const double z = 2 * costs.seconds(Collective::all_gather, data, 2 * all_local) +
                       costs.seconds(Collective::reduce_scatter, data, stack.gradient_bytes * all_local);
      const double work = body + last;
      per_microbatch = joined(work, z, 4) - work + stack.shard_exposed * z;
    } else if (replicas > 1) {
      const bool sharded = l.zero > 0;
      const double bytes = stack.gradient_bytes * local;
      double z = sharded ? costs.seconds(Collective::reduce_scatter, data, bytes) + costs.seconds(Collective::all_gather, data, 2 * local)
                         : costs.seconds(Collective::all_reduce, data, bytes);
      out.data = stack.data_exposed * z;
    }
    if (experts_here > 0 && !full_shard()) {
      const int copies = static_cast<int>(static_cast<long long>(l.tp) * replicas / (l.ep * l.expert_tp));
      if (copies > 1) {
        const Placement at = place(copies, l.ep * l.expert_tp, costs.system().domain);
        const double bytes = stack.gradient_bytes * experts_here;
        out.data += stack.data_exposed * (l.zero > 0 ? costs.seconds(Collective::reduce_scatter, at, bytes) +
                                                           costs.seconds(Collective::all_gather, at, 2 * experts_here)
                                                     : costs.seconds(Collective::all_reduce, at, bytes));
      }
    }
    out.data += per_microbatch * micro;

    // pipeline
    const double hand_over_bytes = 2 * l.tokens() * m.hidden / (l.sequence_parallel ? l.tp : 1);
    const bool across = static_cast<long long>(l.gpus()) > costs.system().domain;
    const double C = l.pp > 1 ? costs.send(across, hand_over_bytes) : 0;
    if (l.pp > 1) {
      if (v > 1) {
        out.bubble = (p - 1) / v * body;
        out.pipeline = (2 * p * v - 2 - p) * C;
      } else {
        out.bubble = (p - 1) * body;
        out.pipeline = (2 * (p - 1) * (micro + p) / p - 2) * C;
      }
    }
    const double work = micro * (body + last);
    out.compute = micro * (stage.kernels + last);
    out.floor = micro * stage.floor;
    out.tensor = micro * stage.tensor;
    out.context = micro * stage.context;
    out.expert = micro * stage.expert;
    const double owned = l.zero > 0 || full_shard() ? local / replicas : local;
    const double owned_experts = l.zero > 0 || full_shard() ? experts_here * l.ep * l.expert_tp / (double(l.tp) * replicas) : experts_here;
    out.optimizer = micro * accumulate + c.optimizer_bytes * (owned + owned_experts) / gpu.memory_rate;
    out.seconds = work + out.bubble + out.pipeline + out.data + out.optimizer - micro * accumulate;
    out.stack = (stack.scale - 1) * out.seconds;
    out.seconds += out.stack;
    return out;
  }
};

}  // namespace detail

/// Time of one step. The layout must be possible on the machine and for the model (check it first).
[[nodiscard]] inline StepTime step_time(const Model& model, const Layout& layout, const Stack& stack, const Processor& gpu, GroupCosts& costs) {
  if (stack.compute_share >= 1) return detail::StepModel{model, layout, stack, gpu, costs}.run();
  Processor left = gpu;
  left.peak16 *= stack.compute_share;
  left.peak8 *= stack.compute_share;
  left.peak4 *= stack.compute_share;
  return detail::StepModel{model, layout, stack, left, costs}.run();
}

}  // namespace fabricost
