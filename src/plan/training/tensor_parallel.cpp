#include <fabricost/plan/training/tensor_parallel.hpp>

namespace fabricost::plan {

double TensorMessages::count(Collective collective) const {
  double out = 0;
  for (const TensorMessage& m : *this)
    if (m.collective == collective) out += m.count;
  return out;
}

double TensorMessages::bytes(Collective collective) const {
  double out = 0;
  for (const TensorMessage& m : *this)
    if (m.collective == collective) out = std::max(out, m.bytes);
  return out;
}

}  // namespace fabricost::plan

namespace fabricost::plan::detail {

void add_block(TensorMessages& out, const TensorQuestion& q, std::string_view all_reduce, std::string_view gather, std::string_view scatter,
               double count, double bytes) {
  if (q.sequence_parallel) {
    out.add(gather, Collective::all_gather, count, bytes);
    out.add(scatter, Collective::reduce_scatter, count, bytes);
  } else {
    out.add(all_reduce, Collective::all_reduce, count, bytes);
  }
}

/// Blocks of a layer's second half over the tensor ranks, in units of S: the feed-forward, or with experts
/// their shared part.
double second_blocks(const Model& m, LayerParts parts) { return parts.feed && (!parts.experts || m.shared_experts > 0) ? 1 : 0; }

/// Whether ranks that all have every token divide them among their experts.
bool gathers_results(const TensorQuestion& q, LayerParts parts) { return parts.feed && parts.experts && !q.sequence_parallel; }

}  // namespace fabricost::plan::detail

namespace fabricost::plan {

double tensor_message_bytes(const Model& m, const TensorQuestion& q) { return q.tokens * m.hidden * q.bytes_per_number; }

TensorMessages tensor_forward(const Model& m, const TensorQuestion& q, LayerParts parts) {
  TensorMessages out;
  if (q.ranks <= 1) return out;
  const double bytes = tensor_message_bytes(m, q);
  detail::add_block(out, q, "attention_output", "attention_input", "attention_output", parts.mixing * m.mixing_blocks(), bytes);
  detail::add_block(out, q, parts.experts ? "shared_down" : "mlp_down", parts.experts ? "shared_up" : "mlp_up",
                    parts.experts ? "shared_down" : "mlp_down", detail::second_blocks(m, parts), bytes);
  if (detail::gathers_results(q, parts)) out.add("expert_output", Collective::all_gather, 1, bytes);
  return out;
}

TensorMessages tensor_backward(const Model& m, const TensorQuestion& q, LayerParts parts) {
  TensorMessages out;
  if (q.ranks <= 1) return out;
  const double bytes = tensor_message_bytes(m, q), first = parts.mixing * m.mixing_blocks(), second = detail::second_blocks(m, parts);
  const double again = q.recompute == Recompute::full ? 1 : 0;
  detail::add_block(out, q, "attention_input_gradient", "attention_output_gradient", "attention_input_gradient", first, bytes);
  detail::add_block(out, q, "mlp_input_gradient", "mlp_output_gradient", "mlp_input_gradient", second, bytes);
  if (q.sequence_parallel) out.add("saved_inputs", Collective::all_gather, first + second, bytes);
  detail::add_block(out, q, "recomputed_outputs", "recomputed_inputs", "recomputed_outputs", again * (first + second), bytes);
  if (detail::gathers_results(q, parts)) out.add("expert_input_gradient", Collective::all_gather, 1 + again, bytes);
  return out;
}

TensorMessages expert_tensor_forward(const Model& m, const TensorQuestion& q) {
  TensorMessages out;
  if (q.expert_ranks <= 1) return out;
  const double bytes = tensor_message_bytes(m, q) * m.top_k * q.expert_ranks / q.ranks;
  out.add("expert_up", Collective::all_gather, 1, bytes);
  out.add("expert_down", Collective::reduce_scatter, 1, bytes);
  return out;
}

TensorMessages expert_tensor_backward(const Model& m, const TensorQuestion& q) {
  TensorMessages out;
  if (q.expert_ranks <= 1) return out;
  const double bytes = tensor_message_bytes(m, q) * m.top_k * q.expert_ranks / q.ranks;
  const double again = q.recompute == Recompute::full ? 1 : 0;
  out.add("expert_down_gradient", Collective::all_gather, 1 + again, bytes);
  out.add("expert_up_gradient", Collective::reduce_scatter, 1 + again, bytes);
  return out;
}

}  // namespace fabricost::plan
