#include <fabricost/plan/model/gate.hpp>
#include <fabricost/plan/training/layer.hpp>

namespace fabricost::plan {

double expert_load(const Model& model, const Layout& layout, const Stack& stack, GroupCosts& costs) {
  const bool even = !model.mixture() || stack.routing == RoutingKind::balanced || layout.ep == 1;
  const double load = even ? 1 : costs.load(gate_of(model), routing_of(stack), layout.ep)(layout.tokens() / layout.tp);
  return stack.capacity > 0 ? std::min(load, stack.capacity) : load;
}

MemoryStack with_load(MemoryStack memory, double load) {
  memory.routed_load *= load;
  return memory;
}

void LayerTime::add(const LayerTime& o, double n) {
  forward += n * o.forward;
  backward += n * o.backward;
  weight += n * o.weight;
  kernels += n * o.kernels;
  floor += n * o.floor;
  tensor += n * o.tensor;
  context += n * o.context;
  expert += n * o.expert;
  expert_hidden += n * o.expert_hidden;
  exposed_forward += n * o.exposed_forward;
  links.add(o.links, n);
}

double LayerModel::product(Kernels& of, double M, double N, double K, double count) const {
  of.read += M * K;
  of.written += M * N;
  return product(M, N, K, count);
}

void LayerModel::attention(Kernels& out, double& traffic) const {
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
  out.core = attention_seconds(gpu, stack, {T * m.heads / t, seen, head_width(), m.causal(), 2 * T * (query + keys + value)}, l.precision);
  if (m.cross_tokens > 0) attention_to_text(out, traffic);
  if (m.modulation > 0) out.products += product(out, l.microbatch, m.modulation * h / t, h);
  if (!m.latent()) out.selective = out.core;
}

void LayerModel::attention_to_text(Kernels& out, double& traffic) const {
  const double t = l.tp, T = l.tokens(), h = m.hidden, query = m.query_width() / t, value = m.value_width() / t;
  const double text = double(l.microbatch) * m.cross_tokens;  // every context rank has all of it
  out.products += product(out, T, query, h) + product(out, text, query + value, h) + product(out, T, h, value);
  traffic += attention_traffic(gpu, l.sequence_parallel ? T / t : T, h, T, query + value);
  out.core += attention_seconds(
      gpu, stack, {T * m.heads / t, double(m.cross_tokens), head_width(), false, 2 * (T + text) * (query + value)}, l.precision);
}

void LayerModel::state(Kernels& out, double& traffic) const {
  const Mixer& x = m.mixer;
  const double t = l.tp, T = l.tokens(), h = m.hidden, inner = x.inner / t, keys = x.keys / t;
  out.products += product(out, T, 2 * inner + 2 * keys + double(x.gates) * x.heads / t, h) + product(out, T, h, inner);
  traffic += attention_traffic(gpu, l.sequence_parallel ? T / t : T, h, T, 2 * inner + 2 * keys) + 4 * T * (inner + 2 * keys);
  const double corrected = x.gates == 2 ? 2 * (keys + inner) : 0;
  out.scan = T * x.state * (2 * keys + 6 * inner + corrected) / attention_rate(gpu);
}

void LayerModel::mixing(Kernels& out, double& traffic) const {
  const double states = state_share(m);
  if (states <= 0) return attention(out, traffic);
  Kernels attending, through_state;
  double around = 0, beside = 0;
  if (states < 1) attention(attending, around);
  state(through_state, beside);
  const auto mean = [&](double a, double b) { return (1 - states) * a + states * b; };
  out.products += mean(attending.products, through_state.products);
  out.core += mean(attending.core, 0);
  out.scan += mean(0, through_state.scan);
  out.selective += mean(attending.selective, 0);
  out.read += mean(attending.read, through_state.read);
  out.written += mean(attending.written, through_state.written);
  traffic += mean(around, beside);
}

void LayerModel::feed_forward(Kernels& out, double& traffic, bool experts) const {
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

LayerModel::Kernels LayerModel::kernels(LayerParts parts) const {
  Kernels out;
  const bool experts = parts.experts;
  double traffic = 0;
  if (parts.mixing) mixing(out, traffic);
  out.feed = -out.products;
  if (parts.feed) feed_forward(out, traffic, experts);
  out.feed += out.products;
  const ComputeConstants& c = gpu.constants;
  const double operations = m.gated ? stack.elementwise : 1;
  const auto element = [&](double bytes) { return operations * (stack.old_kernels ? c.elementwise_old : 1) * element_seconds(gpu, bytes); };
  const int copies = l.trains_all() ? 2 : 1;  // gradients of weights read columns
  out.cast = cast_seconds(gpu, l.precision, out.read, copies);
  out.cast_back = cast_seconds(gpu, l.precision, out.written, copies);
  if (l.adapters.in_4_bit) {
    const double widening = widening_seconds(parts);
    out.cast += widening;
    out.cast_back += widening;
  } else if (l.adapters.on()) {
    out.cast_back += missing_copy_seconds(parts);
  }
  const double launched = blocks(parts) * c.form.layer_kernels * (out.cast > 0 ? 2 : 1);
  out.starts = c.gemm_start * (launched + (parts.mixing ? c.form.ring_kernels * (ring() - 1) : 0));
  out.element = element(traffic) + out.starts + out.cast;
  if (l.recompute == Recompute::selective && !l.recompute_modules.empty()) {
    const double t = l.tp, T = l.tokens();
    out.norm = blocks(parts) * element(8 * m.hidden * (l.sequence_parallel ? T / t : T));  // reads and writes the hidden width, twice
    if (experts) {
      out.activation = element(block_traffic(load() * T * m.top_k / t, m.ffn_matrices() * m.expert_ffn) / 2);
      if (m.shared_experts > 0) {
        const double shared = double(m.shared_experts) * m.shared_ffn / t;
        out.shared = product(T, (m.ffn_matrices() - 1) * shared, m.hidden) + product(T, m.hidden, shared);
      }
    }
  }
  if (l.adapters.on()) {
    const AdapterKernels own = adapter_kernels(experts);
    out.adapters = own.forward, out.adapters_back = own.backward, out.adapter_products = own.products;
  }
  return out;
}

double LayerModel::weights(LayerParts parts) const {
  const ParameterCount n = parameters_of(m);
  const double experts = n.shared / l.tp + m.experts * n.expert / (static_cast<double>(l.ep) * l.expert_tp);
  return (parts.mixing ? n.mixing / l.tp : 0) + (!parts.feed ? 0 : parts.experts ? experts : n.dense_ffn / l.tp);
}

double LayerModel::widening_seconds(LayerParts parts) const {
  return stream_seconds(gpu, (stack.memory.weight_in_4_bit + 2) * weights(parts));
}

double LayerModel::missing_copy_seconds(LayerParts parts) const {
  const NarrowCopies copies = narrow_copies(l, memory_on(stack.memory, costs.system().gpu.generation));
  return copies.needed > copies.held ? stream_seconds(gpu, copies.needed * weights(parts)) : 0;  // one is read, the other written
}

LayerModel::AdapterKernels LayerModel::adapter_kernels(bool experts) const {
  const double t = l.tp, T = l.tokens(), h = m.hidden, rank = l.adapters.rank, inner = m.ffn_matrices() - 1;
  const double query = m.query_width() / t, value = m.value_width() / t, mask = stack.memory.adapter_mask;
  AdapterKernels all;
  double there = 0, back = 0;  // bytes of element-wise kernels
  const auto beside = [&](AdapterModule matrix, double rows, double in, double out, double count) {
    if (!l.adapters.at(matrix) || in <= 0 || out <= 0) return;
    all.products += product_seconds(gpu, Precision::bf16, rows, rank, in, count);
    all.products += product_seconds(gpu, Precision::bf16, rows, out, rank, count);
    const double dropout = mask > 0 ? (2 * 2 + mask) * in : 0;
    there += rows * (dropout + 2 * (2 + 3) * out);       // the result is scaled, then added to the matrix's
    back += rows * (dropout + 2 * 2 * out + 2 * 3 * in);  // its gradient is scaled, then added to that of the matrix's input
  };
  const auto block = [&](double rows, double hidden, double wide, double f, double count) {
    beside(AdapterModule::linear_fc1, rows, wide, inner * f, count);
    beside(AdapterModule::linear_fc2, rows, f, hidden, count);
  };
  beside(AdapterModule::linear_qkv, T, h, m.latent() ? query + (m.kv_rank + m.rope_dim) / t : query + key_width(), 1);
  beside(AdapterModule::linear_proj, T, value, h / t, 1);
  if (!experts) {
    block(T, h / t, h, m.ffn / t, 1);
  } else {
    block(load() * T * m.top_k / t * l.expert_tp, h, h, double(m.expert_ffn) / l.expert_tp, static_cast<double>(m.experts) / l.ep);
    if (m.shared_experts > 0) block(T, h / t, h, double(m.shared_experts) * m.shared_ffn / t, 1);
  }
  all.forward = all.products + stream_seconds(gpu, there);
  all.backward = 2 * all.products + stream_seconds(gpu, back);
  return all;
}

double LayerModel::repeated(const Kernels& k, bool experts) const {
  if (l.recompute_modules.empty()) return k.selective;
  const auto on = [&](RecomputeModule one) { return l.recompute_modules.has(one); };
  double out = (on(RecomputeModule::core_attn) ? k.core : 0) + (on(RecomputeModule::layernorm) ? k.norm : 0);
  if (m.latent() && on(RecomputeModule::mla_up_proj)) out += k.selective;
  if (!experts) return out + (on(RecomputeModule::mlp) ? k.feed : 0);
  if (on(RecomputeModule::moe)) return out + k.feed + k.activation;
  return out + (on(RecomputeModule::moe_act) ? k.activation : 0) + (on(RecomputeModule::shared_experts) ? k.shared : 0);
}

double LayerModel::floor(LayerParts parts) const {
  const ComputeConstants& c = gpu.constants;
  const double each = stack.fused_experts ? 0 : c.floor_expert * m.experts / l.ep;  // else one launch for all experts of the rank
  return stack.launches * blocks(parts) * c.layer_floor * (parts.experts ? c.floor_mixture + each : 1);
}

LayerExchanges LayerModel::exchanges(LayerParts parts) const {
  LayerExchanges out;
  const double T = l.tokens();
  const auto add = [&](StepGroup group, Collective collective, Placement at, double size, double forward, double backward, double exposed,
                       double feed = 0) {
    out.add({group, collective, at, size, costs.seconds(collective, at, size), forward, backward, exposed, feed,
             costs.min(collective, at, size)});
  };
  add_tensor(add, parts);
  if (l.cp > 1 && parts.mixing) add_context(add);
  if (parts.experts && l.ep > 1) {
    const Copies copies = stack.deduplicated ? Copies::per_domain : Copies::per_expert;
    const ExpertPlacement at = place_experts(l.ep, domain(), l.expert_tp);
    const double token = token_bytes(m.hidden, Precision::bf16);
    const double kept = stack.capacity > 0 ? std::min(1.0, stack.capacity) : 1, chosen = T / l.tp, rows = chosen * kept;
    const LinkTime least = costs.experts(gate_of(m), at, copies, token, Routing{}).min(rows);
    double once = costs.experts(gate_of(m), at, copies, token, routing_of(stack)).seconds(chosen);
    if (stack.capacity > 0)  // the fullest rank takes no more than its places
      once = std::min(once, costs.experts(gate_of(m), at, copies, token, Routing{}).seconds(chosen * stack.capacity));
    // dispatch and combine, forward and backward
    const Placement ranks{at.per_domain, at.ranks / at.per_domain};
    out.add({StepGroup::expert, Collective::all_to_all, ranks, token * rows * m.top_k, once, 2, 2, stack.expert_exposed, 2, least});
  }
  return out;
}

double LayerModel::in_backward(const LayerExchange& x, LayerParts parts) const {
  if (l.recompute == Recompute::full) return x.backward + again() * x.forward;
  const RecomputeModule feed = parts.experts ? RecomputeModule::moe : RecomputeModule::mlp;
  return x.backward + (l.recompute == Recompute::selective && l.recompute_modules.has(feed) ? x.feed : 0);
}

LayerModel::BackwardWork LayerModel::backward_work(const Kernels& k, bool experts) const {
  const bool all = l.trains_all();
  const double ratio = attention_backward(gpu, stack.attention);
  return {.products = (all ? 2 : 1) * k.products,
          .core = ratio * k.core,
          .scan = ratio * k.scan,
          .element = 2 * (k.element - k.cast) + k.cast_back,
          .adapters = k.adapters_back,
          .repeated = l.recompute == Recompute::selective ? repeated(k, experts) : 0};
}

LayerModel::Exchange LayerModel::hidden_shares(const LayerExchanges& all, LayerParts parts, double forward, double backward) const {
  Exchange hidden;
  for (const LayerExchange& x : all) {
    hidden.forward += (1 - x.exposed) * x.forward * x.seconds;
    hidden.backward += (1 - x.exposed) * in_backward(x, parts) * x.seconds;
  }
  return {hidden.forward > forward ? forward / hidden.forward : 1, hidden.backward > backward ? backward / hidden.backward : 1};
}

LayerTime LayerModel::run(LayerParts parts) const {
  const bool experts = parts.experts;
  const Kernels k = kernels(parts);
  const double q = gpu.constants.floor_overlap, min = l.cuda_graphs ? 0 : floor(parts);
  const double forward = p_norm(k.sum(), min, q);
  const BackwardWork of_backward = backward_work(k, experts);
  const double work = of_backward.sum(), gradients = l.trains_all() ? k.products : k.adapter_products;
  const double backward = p_norm(work, 2 * min, q);
  const bool full = l.recompute == Recompute::full;
  const double repeats = full ? again() : 0, repeated = full ? repeated_in_full(k) : 0;
  const double forward_again = full ? p_norm(repeated, min, q) : 0;
  LayerTime out;
  Exchange tensor, context, expert;
  const LayerExchanges all = exchanges(parts);
  const Exchange hides = hidden_shares(all, parts, forward, backward + repeats * forward_again);
  for (const LayerExchange& x : all) {
    Exchange& of = x.group == StepGroup::tensor ? tensor : x.group == StepGroup::context ? context : expert;
    const double there = x.forward * x.seconds, back = in_backward(x, parts) * x.seconds;
    const Exchange hidden{(1 - x.exposed) * hides.forward * there, (1 - x.exposed) * hides.backward * back};
    of.forward += there - hidden.forward;
    of.backward += back - hidden.backward;
    if (x.group == StepGroup::expert) out.expert_hidden += hidden.forward + hidden.backward;
    out.links.add(x.least, x.forward + in_backward(x, parts));
  }
  out.kernels = k.sum() + work;
  out.floor = forward + backward - out.kernels;
  out.tensor = tensor.forward + tensor.backward;
  out.context = context.forward + context.backward;
  out.expert = expert.forward + expert.backward;
  out.exposed_forward = tensor.forward + context.forward + expert.forward;
  out.forward = forward + out.exposed_forward;
  out.weight = backward * gradients / work;
  out.backward = backward - out.weight + tensor.backward + context.backward + expert.backward;
  if (full) {
    out.kernels += repeats * repeated;
    out.floor += repeats * (forward_again - repeated);
    out.backward += repeats * forward_again;
  }
  return out;
}

LayerTime layer_time(const Model& model, const Layout& layout, const Stack& stack, const Processor& gpu, GroupCosts& costs,
                     LayerParts parts) {
  return LayerModel{model, layout, stack, gpu, costs}.run(parts);
}

}  // namespace fabricost::plan
