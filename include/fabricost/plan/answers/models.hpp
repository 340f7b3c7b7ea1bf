#pragma once
/// The named models; for one of them its shape, parameters, FLOPs and KV cache.

#include <fabricost/fields/fields.hpp>
#include <fabricost/plan/fields/named_models.hpp>
#include <fabricost/plan/model/model.hpp>

#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace fabricost::plan {

struct ModelsRequest {
  NamedModel model;             ///< empty: all
  std::optional<int> sequence;  ///< tokens per sequence of the FLOPs and the cache, as in 128k (131072); default 4096

  static RequestTable<ModelsRequest> fields();
};

/// One named model.
struct ListedModel {
  std::string name, title;
  int layers = 0, hidden = 0, experts = 0, top_k = 0;
  double parameters = 0, active = 0, stated_parameters = 0;
  std::string partial;
  bool operator==(const ListedModel&) const = default;

  static AnswerTable<ListedModel> fields();
};

/// A Mixer, as answers list it.
struct MixerFields : Mixer {
  static AnswerTable<MixerFields> fields();
};

/// A ParameterCount, as answers list it.
struct ParameterFields : ParameterCount {
  static AnswerTable<ParameterFields> fields();
};

/// The fields of a Model. Python has all of them; JSON has those of the shape, with objects for parts that
/// only some models have.
struct ModelFields : Model {
  /// For latent attention the number of KV heads that the kernels see.
  [[nodiscard]] int shown_kv_heads() const { return latent() ? 1 : kv_heads; }
  [[nodiscard]] int shown_head_dim() const { return latent() ? nope_dim + rope_dim : head_dim; }
  [[nodiscard]] std::optional<int> latent_q_rank() const { return latent() ? std::optional{q_rank} : std::nullopt; }
  [[nodiscard]] std::optional<int> index_of_tokens() const { return index_tokens > 0 ? std::optional{index_heads} : std::nullopt; }
  [[nodiscard]] std::string kind_name() const { return std::string{model_kind_names[static_cast<std::size_t>(kind)]}; }
  [[nodiscard]] std::string vision_name() const { return vision ? vision->name : std::string{}; }
  [[nodiscard]] std::string other_kind() const { return causal() ? std::string{} : kind_name(); }
  [[nodiscard]] std::optional<double> part_of_head() const { return head_share < 1 ? std::optional{head_share} : std::nullopt; }
  [[nodiscard]] std::optional<MixerFields> shown_mixer() const { return hybrid() ? std::optional{MixerFields{mixer}} : std::nullopt; }

  static AnswerTable<ModelFields> fields();
};

/// A model and the quantities that follow from its shape.
struct ModelAnswer {
  Model model;
  double sequence = 4096;
  ParameterCount parameters;
  std::optional<double> dense_layer_parameters{}, expert_layer_parameters{};
  double forward_flops_per_token = 0, decode_flops = 0;
  ByName<ByName<std::optional<double>>> training_flops_per_token{};
  Bytes kv_bytes_per_token{}, kv_bytes_per_token_layer{}, kv_bytes_per_sequence{};
  bool operator==(const ModelAnswer&) const = default;

  [[nodiscard]] const std::string& name() const { return model.name; }
  [[nodiscard]] const std::string& title() const { return model.title; }
  [[nodiscard]] const std::vector<std::string>& aliases() const { return model.aliases; }
  [[nodiscard]] ModelFields shape() const { return {model}; }
  [[nodiscard]] ParameterFields parameter_fields() const { return {parameters}; }
  [[nodiscard]] std::optional<double> stated() const { return known(model.stated_parameters); }
  [[nodiscard]] std::optional<double> stated_active() const { return known(model.stated_active); }
  [[nodiscard]] const std::string& stated_source() const { return model.stated_source; }
  [[nodiscard]] const std::string& partial() const { return model.partial; }
  [[nodiscard]] const std::string& notes() const { return model.notes; }
  [[nodiscard]] const std::string& source() const { return model.source; }
  [[nodiscard]] const std::string& confidence() const { return model.confidence; }

  static AnswerTable<ModelAnswer> fields();

 private:
  [[nodiscard]] static std::optional<double> known(double value) { return value > 0 ? std::optional{value} : std::nullopt; }
};

/// All named models, or the requested one. \throws Refusal for a sequence without a model; SpecError,
/// RequestError as load_model
[[nodiscard]] std::variant<std::vector<ListedModel>, ModelAnswer> answer(const ModelsRequest& request);

}  // namespace fabricost::plan
