/// \file models.cpp
/// The named models, and quantities that follow from the shape of one.

#include <fabricost/fields/field.hpp>
#include <fabricost/plan/answers/models.hpp>
#include <fabricost/plan/model/flops.hpp>
#include <fabricost/plan/specs/load_model.hpp>

namespace fabricost::plan {
namespace {

/// Parameters of the matrices of one layer, without norms.
[[nodiscard]] std::optional<double> layer_parameters(const ParameterCount& n, const Model& m, bool experts) {
  if (m.single_block || m.recommends() || (experts ? m.expert_layers() : m.dense_layers()) == 0) return std::nullopt;
  return n.attention + (experts ? n.shared + n.router + m.experts * n.expert : n.dense_ffn);
}

/// Empty where the convention has no term for the model.
[[nodiscard]] std::optional<double> convention_flops(const Model& m, double sequence, FlopConvention convention, Scores scores) {
  try {
    return training_flops_per_token(m, sequence, convention, scores);
  } catch (const RequestError&) {
    return std::nullopt;
  }
}

[[nodiscard]] ModelAnswer answer_of(const Model& m, double sequence) {
  ModelAnswer out{.model = m, .sequence = sequence, .parameters = parameters_of(m)};
  out.dense_layer_parameters = layer_parameters(out.parameters, m, false);
  out.expert_layer_parameters = layer_parameters(out.parameters, m, true);
  out.forward_flops_per_token = forward_flops(m, sequence) / sequence;
  if (m.causal()) out.decode_flops = decode_flops(m, sequence);
  for (std::size_t i = 0; i < flop_convention_names.size(); ++i) {
    ByName<std::optional<double>> one;
    for (const Scores scores : {Scores::full, Scores::causal})
      one.emplace_back(scores_names[static_cast<std::size_t>(scores)],
                       convention_flops(m, sequence, static_cast<FlopConvention>(i), scores));
    out.training_flops_per_token.emplace_back(flop_convention_names[i], std::move(one));
  }
  if (!m.causal()) return out;  // keeps no keys and values from token to token
  out.kv_bytes_per_token = units::B(kv_bytes_per_token(m, 2));
  out.kv_bytes_per_token_layer = units::B(m.kv_width() * 2);
  out.kv_bytes_per_sequence = units::B(kv_bytes(m, sequence, 2));
  return out;
}

}  // namespace

std::variant<std::vector<ListedModel>, ModelAnswer> answer(const ModelsRequest& request) {
  check_ranges(request);
  if (request.model) return answer_of(request.model.load(), request.sequence.value_or(4096));
  if (request.sequence) throw Refusal("<sequence> is for one model: add <model>");
  std::vector<ListedModel> out;
  for (const std::string& name : model_names()) {
    const Model m = load_model(name);
    const ParameterCount n = parameters_of(m);
    out.push_back({m.name, m.title, m.layers, m.hidden, m.experts, m.top_k, n.total, n.active, m.stated_parameters, m.partial});
  }
  return out;
}

}  // namespace fabricost::plan
