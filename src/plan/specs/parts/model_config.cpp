/// config.json of Hugging Face transformers: the keys of its model types, one shape.
///
/// A quantity has several names (GPT-2: n_embd; Falcon: n_head_kv; Mixtral: num_local_experts; ...): the first that is present counts.
/// Configurations of multimodal models hold the language model's below `text_config` (or `llm_config`, `language_config`); their other
/// models are named, not read.

#include "specs/parts/model_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <initializer_list>
#include <memory>
#include <set>
#include <utility>

namespace fabricost::plan {

namespace {

using Keys = std::initializer_list<std::string_view>;

const Keys layer_keys{"num_hidden_layers", "n_layer", "num_layers", "n_layers"};
const Keys head_keys{"num_attention_heads", "n_head", "n_heads", "num_heads"};
const Keys kv_head_keys{"num_key_value_heads", "n_head_kv", "num_kv_heads", "multi_query_group_num", "n_kv_heads"};
const Keys top_k_keys{"num_experts_per_tok", "num_experts_per_token", "moe_top_k", "moe_topk", "top_k_experts", "moe_k"};
const Keys first_dense_keys{"first_k_dense_replace", "num_dense_layers", "moe_layer_start_index"};
const Keys group_keys{"n_group", "num_expert_group"};
constexpr int largest_size = 10000000, most_layers = 10000, max_heads = 100000;
/// Model types whose feed-forward block has two matrices; all others' have a gate.
const std::set<std::string_view> two_matrices{"gpt2",   "gpt_neo", "gpt_neox", "gptj", "gpt_bigcode", "opt",        "bloom",
                                              "falcon", "mpt",     "nemotron", "phi",  "nemotron_h",  "starcoder2", "refinedweb"};
/// Model types that share their output table with the embedding unless the file says otherwise.
const std::set<std::string_view> tied_types{"gpt2", "gpt_bigcode", "opt", "bloom", "mpt", "gemma", "gemma2", "gemma3", "gemma3_text",
                                            "cohere", "cohere2", "falcon", "refinedweb", "gpt_neo", "starcoder2"};
/// Further model types whose sizes the keys below name as they are; a file of any other type is read likewise, and says so.
const std::set<std::string_view> read_types{
    "arctic",      "baichuan",     "bailing_moe_v2", "dbrx",             "deepseek_v2",    "deepseek_v3",       "deepseek_v32",
    "dots1",       "ernie4_5",     "ernie4_5_moe",   "exaone4",     "glm",              "glm4",           "glm4_moe",          "gpt_oss",
    "granite",     "granitemoe",   "granitemoehybrid", "granitemoeshared", "hunyuan_v1_moe", "internlm2",  "kimi_k2",           "kimi_linear",
    "llama",       "llama4",       "mimo",           "minimax_m2",  "mistral",          "mixtral",        "olmo",              "olmo2",
    "olmo3",       "olmoe",        "phi3",           "qwen2",       "qwen2_5_vl",       "qwen2_moe",      "qwen2_vl",          "qwen3",
    "qwen3_5",     "qwen3_5_moe",  "qwen3_moe",      "qwen3_next",  "qwen3_vl",         "qwen3_vl_moe",   "seed_oss",          "smollm3",
    "stablelm"};
/// Model types that write no text token by token, or not with one stack of layers.
struct OtherKind {
  std::set<std::string_view> types;
  std::string_view is, remedy;
};
const std::array<OtherKind, 4> other_kinds{
    {{{"albert", "bert", "camembert", "deberta", "deberta-v2", "distilbert", "electra", "modernbert", "mpnet", "roberta", "xlm-roberta"},
      "is an encoder of texts",
      "plan train takes one: write its shape as in data/models/bert-large.yaml (`kind: encoder`)"},
     {{"beit", "clip_vision_model", "deit", "dinov2", "dinov3_vit", "siglip_vision_model", "vit", "vit_mae"},
      "is an encoder of images",
      "plan train takes one: write its shape as in data/models/qwen3-vl-vision.yaml (`kind: encoder` with `patch`)"},
     {{"align", "altclip", "chinese_clip", "clap", "clip", "clip_text_model", "siglip", "siglip2", "siglip2_text_model", "siglip_text_model"},
      "pairs an encoder of texts with one of images or sounds",
      "plan train takes one of them: write its shape as in data/models/bert-large.yaml or data/models/qwen3-vl-vision.yaml"},
     {{"bart", "m2m_100", "marian", "mbart", "mt5", "pegasus", "t5", "umt5", "whisper"},
      "has an encoder beside its decoder",
      "only models that write token by token with one stack of layers, encoders and diffusion transformers are priced"}}};
/// Beginnings of keys of layers that only some model types have, which are read where Model has such layers: read_layer_kinds. A file
/// with one of them that was not read describes another shape than its other keys say.
const Keys other_layers{"mamba_", "ssm_", "state_size", "lru_", "rwkv", "linear_attn_config", "attn_layer_period", "expert_layer_period",
                        "zero_expert", "block_configs", "conv_L_cache"};

[[nodiscard]] bool is_known(std::string_view type) {
  if (type.ends_with("_text")) type.remove_suffix(std::string_view{"_text"}.size());
  return read_types.contains(type) || two_matrices.contains(type) || tied_types.contains(type);
}

struct Config {
  const SpecNode& tree;
  Faults& faults;
  std::string type{};  ///< model_type, of the file where the part has none
  std::shared_ptr<std::set<std::string_view>> asked = std::make_shared<std::set<std::string_view>>();  ///< keys that a rule reads

  [[nodiscard]] const SpecNode* find(Keys keys) const {
    asked->insert(keys.begin(), keys.end());
    for (const std::string_view key : keys)
      if (const SpecNode* at = tree.find(key); at != nullptr && at->kind != SpecNode::Kind::null && at->text != "null") return at;
    return nullptr;
  }
  /// The key that is present, else the first.
  [[nodiscard]] std::string_view key_of(Keys keys) const {
    const auto* const key = std::find_if(keys.begin(), keys.end(), [this](std::string_view one) { return find({one}) != nullptr; });
    return key == keys.end() ? *keys.begin() : *key;
  }
  void fault(const SpecNode& at, std::string_view key, std::string message, std::string remedy) const {
    faults.add(issue_at(at.mark, std::string{key}, std::move(message), std::move(remedy)));
  }
  /// A count, or `otherwise` where no key is present.
  [[nodiscard]] int count(Keys keys, int otherwise = 0, bool required = false) const {
    const SpecNode* at = find(keys);
    if (at == nullptr) {
      if (required)
        fault(tree, *keys.begin(), fmt::format("\"{}\" is missing", *keys.begin()),
              type.empty() || is_known(type)
                  ? "give the config.json that is published with the model's weights, or a file as in data/models"
                  : fmt::format("the model type \"{}\" has other names for its sizes: describe the model as in data/models", clipped(type)));
      return otherwise;
    }
    const bool digits = at->kind == SpecNode::Kind::scalar && !at->text.empty() && at->text.size() <= 9 &&
                        std::all_of(at->text.begin(), at->text.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
    const int value = digits ? std::stoi(at->text) : -1;
    if (value < 0 || value > largest_size || (required && value < 1)) {
      fault(*at, *keys.begin(), fmt::format("\"{}\" is no count", clipped(at->text)),
            fmt::format("write a whole number up to {}", largest_size));
      return otherwise;
    }
    return value;
  }
  /// The product of two counts, a width.
  [[nodiscard]] int width(Keys many, Keys each) const {
    const long long out = static_cast<long long>(count(many)) * count(each);
    if (out > largest_size) fault(*find(many), *many.begin(), fmt::format("a width of {}", out), fmt::format("at most {}", largest_size));
    return static_cast<int>(std::min<long long>(out, largest_size));
  }
  /// Reports a count above `most`.
  void at_most(Keys keys, int value, int most) const {
    if (const SpecNode* at = find(keys); at != nullptr && value > most)
      fault(*at, *keys.begin(), fmt::format("{} is too many", value), fmt::format("at most {}", most));
  }
  [[nodiscard]] std::string text(Keys keys) const {
    const SpecNode* at = find(keys);
    return at != nullptr && at->kind == SpecNode::Kind::scalar ? at->text : std::string{};
  }
  [[nodiscard]] bool flag(Keys keys, bool otherwise) const {
    const std::string value = text(keys);
    return value.empty() ? otherwise : value == "true";
  }
  /// The map below a key; an empty one where there is none.
  [[nodiscard]] Config part(std::string_view key) const {
    static const SpecNode nothing{};
    const SpecNode* at = find({key});
    return {at != nullptr && at->kind == SpecNode::Kind::map ? *at : nothing, faults, type};
  }
  /// The number of entries of a list that satisfy `is`; -1 without the list.
  template <class Is>
  [[nodiscard]] int how_many(std::string_view key, Is&& is) const {
    const SpecNode* at = find({key});
    if (at == nullptr || at->kind != SpecNode::Kind::list) return -1;
    return static_cast<int>(std::count_if(at->items.begin(), at->items.end(), [&](const SpecNode& item) { return is(item.text); }));
  }
};

const SpecNode& language_part(const SpecNode& tree) {
  for (const std::string_view key : {"text_config", "llm_config", "language_config"})
    if (const SpecNode* part = tree.find(key); part != nullptr && part->kind == SpecNode::Kind::map && !part->entries.empty()) return *part;
  return tree;
}

void read_attention(const Config& in, Model& m) {
  const bool gemma3 = in.type.starts_with("gemma3");  // whose files leave out what equals the default
  m.heads = in.count(head_keys, gemma3 ? 8 : 1, !gemma3);
  m.kv_rank = in.count({"kv_lora_rank"});
  if (m.latent()) {
    m.q_rank = in.count({"q_lora_rank"});
    m.rope_dim = in.count({"qk_rope_head_dim"});
    m.nope_dim = in.count({"qk_nope_head_dim"});
    m.value_dim = in.count({"v_head_dim"});
  }
  const bool one_group = in.flag({"multi_query"}, false) && !in.flag({"new_decoder_architecture"}, false);
  const Config inner = in.part("attn_config");  // DBRX and MPT keep attention's keys in one
  const int groups = inner.find({"kv_n_heads"}) != nullptr     ? inner.count({"kv_n_heads"}, 0, true)
                     : one_group                               ? 1
                     : gemma3 && in.find(head_keys) == nullptr ? 4
                                                               : m.heads;
  m.kv_heads = in.count(kv_head_keys, groups);
  const int whole = m.heads > 0 && m.hidden % m.heads == 0 ? m.hidden / m.heads : 0;
  m.head_dim = in.count({"head_dim", "attention_head_dim"}, m.latent() ? 0 : gemma3 ? 256 : whole);
  if (m.latent()) {
    m.kv_heads = m.heads;
    m.head_dim = 0;
  }
  m.gated_attention = in.flag({"attn_output_gate"}, in.type.starts_with("qwen3_next") || in.type.starts_with("qwen3_5"));
  const auto is = [&](std::initializer_list<std::string_view> types) {
    return std::any_of(types.begin(), types.end(), [&](std::string_view one) { return in.type.starts_with(one); });
  };
  if (is({"olmo2", "olmo3", "minimax_m2"}))
    m.head_norm = HeadNorm::all;
  else if (in.flag({"use_qk_norm"}, is({"qwen3", "gemma3"})))
    m.head_norm = HeadNorm::each;
  if (in.find({"index_n_heads"}) != nullptr) {
    m.index_heads = in.count({"index_n_heads"});
    m.index_dim = in.count({"index_head_dim"});
    m.index_tokens = in.count({"index_topk"});
  }
}

/// Layers by their kind: a list of them, or a pattern that repeats.
void read_layer_kinds(const Config& in, Model& m) {
  const int listed = in.how_many("layer_types", [](const std::string& kind) { return kind.find("sliding") != std::string::npos; });
  const int linear = in.how_many("layer_types", [](const std::string& kind) { return kind.find("linear") != std::string::npos; });
  const int every = in.count({"full_attention_interval"});
  if (in.find({"linear_num_value_heads"}) != nullptr) {
    Mixer& x = m.mixer;
    x.layers = linear >= 0 ? linear : every > 0 ? m.layers - m.layers / every : 0;
    x.heads = in.count({"linear_num_value_heads"});
    x.state = in.count({"linear_key_head_dim"});
    x.inner = in.width({"linear_num_value_heads"}, {"linear_value_head_dim"});
    x.keys = in.width({"linear_num_key_heads"}, {"linear_key_head_dim"});
    x.kernel = in.count({"linear_conv_kernel_dim"}, 4);
    x.gates = 2;
  }
  if (const SpecNode* part = in.find({"linear_attn_config"}); part != nullptr && part->find("kda_layers") != nullptr) {  // Kimi Linear
    const Config kda{*part, in.faults};
    Mixer& x = m.mixer;
    x.layers = kda.how_many("kda_layers", [](const std::string&) { return true; });
    x.heads = kda.count({"num_heads"}, 0, true);
    x.state = kda.count({"head_dim"}, 0, true);
    x.inner = x.keys = kda.width({"num_heads"}, {"head_dim"});
    x.kernel = kda.count({"short_conv_kernel_size"}, 4);
    x.gates = 2;
  }
  if (const int mamba = in.how_many("layer_types", [](const std::string& kind) { return kind == "mamba"; }); mamba > 0) {  // Granite 4
    Mixer& x = m.mixer;
    x.layers = mamba;
    x.heads = in.count({"mamba_n_heads"}, 0, true);
    x.state = in.count({"mamba_d_state"}, 0, true);
    x.inner = in.width({"mamba_n_heads"}, {"mamba_d_head"});
    x.keys = in.width({"mamba_n_groups"}, {"mamba_d_state"});
    x.kernel = in.count({"mamba_d_conv"}, 4);
  }
  const std::string blocks = in.text({"hybrid_override_pattern"});
  if (!blocks.empty()) {
    const auto many = [&](char letter) { return static_cast<int>(std::count(blocks.begin(), blocks.end(), letter)); };
    if (static_cast<int>(blocks.size()) != m.layers || many('M') + many('*') + many('-') + many('E') != m.layers)
      in.fault(*in.find({"hybrid_override_pattern"}), "hybrid_override_pattern", "does not name every layer by M, *, - or E",
               "one letter per layer, as many as num_hidden_layers");
    m.single_block = true;
    m.mixer.layers = many('M');
    m.dense_blocks = many('-');
    m.expert_blocks = many('E');
    m.mixer.heads = in.count({"mamba_num_heads"});
    m.mixer.state = in.count({"ssm_state_size"});
    m.mixer.inner = in.width({"mamba_num_heads"}, {"mamba_head_dim"});
    m.mixer.keys = in.width({"n_groups"}, {"ssm_state_size"});
    m.mixer.kernel = in.count({"conv_kernel"}, 4);
  }
  const int window = in.count({"sliding_window"});
  if (window == 0 || !in.flag({"use_sliding_window"}, true) || m.hybrid()) return;
  const int usual = in.type.starts_with("gemma3") ? 6 : in.type.starts_with("gemma2") ? 2 : in.type.starts_with("cohere2") ? 4 : 0;
  const int pattern = in.count({"sliding_window_pattern", "_sliding_window_pattern"}, usual);
  m.window_layers = listed >= 0 ? listed : pattern > 0 ? m.layers - m.layers / pattern : m.layers;
  m.window = m.window_layers > 0 ? window : 0;
}

/// OPT keeps two more positions than it reads (transformers, OPTLearnedPositionalEmbedding); embeddings as wide as its layers need no
/// projection.
void read_opt(const Config& in, Model& m) {
  m.positions = in.count({"max_position_embeddings"}, 2048) + 2;
  m.biases = in.flag({"enable_bias"}, true);
  const SpecNode* wide = in.tree.find("word_embed_proj_dim");
  if (wide != nullptr && wide->text == std::to_string(m.hidden)) static_cast<void>(in.find({"word_embed_proj_dim"}));
}

/// Faults of files of models of another kind.
void refuse_other_kinds(const Config& in, const Config& whole) {
  if (const SpecNode* name = whole.find({"_class_name"}); name != nullptr)
    return in.fault(*name, "_class_name", fmt::format("\"{}\" is of diffusers, whose files are not read", clipped(name->text)),
                    "plan train takes diffusion transformers: write its shape as in data/models/dit-xl-2.yaml (`kind: diffusion`)");
  const std::string own = in.text({"model_type"}), outer = whole.text({"model_type"});
  const bool both = whole.flag({"is_encoder_decoder"}, false);
  for (const OtherKind& kind : other_kinds)
    for (const std::string& type : {outer, own})
      if (kind.types.contains(type) || (both && &kind == &other_kinds.back()))
        return in.fault(in.tree, "model_type", fmt::format("\"{}\" {}", clipped(type), kind.is), std::string{kind.remedy});
}

/// Faults of layers that Model cannot describe: a shape that looked right would be priced wrong without a word.
void refuse_unread(const Config& in, const Model& m) {
  const std::string remedy = "such layers are not read: describe the model as in data/models";
  if (m.mixer.layers > 0) return;
  for (const auto& entry : in.tree.entries) {
    const std::string& key = entry.key;
    if (std::any_of(other_layers.begin(), other_layers.end(), [&key](std::string_view begin) { return key.starts_with(begin); }))
      return in.fault(entry.value, key, fmt::format("the model has layers of another kind than attention ({})", clipped(key)), remedy);
  }
}

/// Keys that look like sizes of a shape and are none, or that follow from others.
const std::set<std::string_view> no_shapes{"chunk_size",
                                           "chunk_size_feed_forward",
                                           "encoder_no_repeat_ngram_size",
                                           "ep_size",
                                           "image_size",
                                           "mamba_chunk_size",
                                           "max_window_layers",
                                           "no_repeat_ngram_size",
                                           "num_beam_groups",
                                           "num_beams",
                                           "num_labels",
                                           "num_ln_in_parallel_attn",
                                           "num_logits_to_keep",
                                           "num_return_sequences",
                                           "qk_head_dim",
                                           "rotary_dim",
                                           "tie_encoder_decoder",
                                           "type_vocab_size"};

[[nodiscard]] bool looks_like_shape(std::string_view key) {
  constexpr std::array<std::string_view, 7> ends{"_size", "_dim", "_heads", "_layers", "_rank", "_experts", "_ratio"};
  return key.starts_with("num_") || key.starts_with("tie_") ||
         std::any_of(ends.begin(), ends.end(), [key](std::string_view end) { return key.ends_with(end); });
}

/// Whether an entry is a model of its own, as a multimodal file has beside the language model.
[[nodiscard]] bool is_other_model(const std::string& key, const SpecNode& value) {
  if (!key.ends_with("_config") || value.kind != SpecNode::Kind::map) return false;
  const auto has = [&](std::string_view one) { return value.find(one) != nullptr; };
  return key == "vision_config" || key == "audio_config" || has("depth") || has("encoder_layers") ||
         std::any_of(layer_keys.begin(), layer_keys.end(), has);
}

/// Names a model type without rules of its own, models beside the language model, and keys with a value that look like a size of the shape
/// and that no rule read: the model may have another shape.
void name_unread(const Config& in, const Config& whole, Model& m) {
  if (!is_known(in.type))
    m.unread = fmt::format("the model type ({}: sizes are taken by the names of their keys)",
                           in.type.empty() ? "missing" : fmt::format("{} is unknown", clipped(in.type)));
  for (const auto& [key, mark, value] : whole.tree.entries)
    if (&value != &in.tree && is_other_model(key, value)) m.unread += (m.unread.empty() ? "" : ", ") + clipped(key);
  for (const auto& [key, mark, value] : in.tree.entries) {
    if (!looks_like_shape(key) || no_shapes.contains(key) || in.asked->contains(key) || value.kind != SpecNode::Kind::scalar) continue;
    const bool of_experts = key.find("moe") != std::string::npos || key.find("expert") != std::string::npos;
    if (of_experts && m.experts == 0) continue;  // left over in files of dense models
    const bool number = value.text.find_first_of("123456789") != std::string::npos &&
                        value.text.find_first_not_of("0123456789.e+-") == std::string::npos;
    if (!number && !(key.starts_with("tie_") && value.text == "true")) continue;
    m.unread += (m.unread.empty() ? "" : ", ") + clipped(key);
  }
  if (!m.unread.empty()) m.partial = fmt::format("what its config.json says of {}, which no rule reads", m.unread);
}

void read_experts(const Config& in, Model& m) {
  const Config inner = in.part("ffn_config");  // DBRX
  const Config& from = inner.find({"moe_num_experts"}) != nullptr ? inner : in;
  m.experts = from.count({"n_routed_experts", "num_experts", "num_local_experts", "moe_num_experts"});
  if (m.experts == 0) return;
  m.top_k = from.count(top_k_keys, 0, true);
  m.expert_ffn = from.count({"moe_intermediate_size", "expert_ffn_hidden_size", "intermediate_size", "ffn_hidden_size"}, 0, true);
  const bool one_of_the_same = in.type.starts_with("llama4");  // beside those that it routes to
  const int one = in.count({"shared_expert_intermediate_size", "moe_shared_expert_intermediate_size", "shared_intermediate_size"},
                           one_of_the_same ? m.expert_ffn : 0);
  m.shared_experts = in.count({"n_shared_experts", "num_shared_experts", "moe_num_shared_experts"}, one > 0 ? 1 : 0);
  if (m.shared_experts > 0) m.shared_ffn = one > 0 ? one : m.expert_ffn;
  // Arctic's dense block beside its experts
  if (in.flag({"parallel_attn_mlp_res"}, false)) {
    m.shared_experts = 1;
    m.shared_ffn = m.hidden;
  }
  m.first_dense = in.count(first_dense_keys);
  m.expert_every = std::max(1, in.count({"decoder_sparse_step", "interleave_moe_layer_step", "moe_layer_frequency"}, 1));
  if (const SpecNode* list = in.find({"mlp_only_layers"}); list != nullptr && m.first_dense == 0)
    m.first_dense = static_cast<int>(list->items.size());  // few, and leading ones in every published model
  if (const int groups = in.count(group_keys); groups > 1) {
    m.expert_groups = groups;
    m.group_limit = in.count({"topk_group"}, groups);
  }
  if (m.expert_layers() == m.layers) m.ffn = 0;
}

/// Faults of numbers that contradict each other, by the keys that say them.
void refuse_contradictions(const Config& in, const Model& m) {
  const auto fault = [&](Keys keys, const std::string& what, const std::string& remedy) {
    const SpecNode* at = in.find(keys);
    in.fault(at != nullptr ? *at : in.tree, in.key_of(keys), what, remedy);
  };
  const std::string_view heads = in.key_of(head_keys);
  if (!m.latent() && (m.kv_heads < 1 || m.heads % m.kv_heads != 0))
    fault(kv_head_keys, fmt::format("{} heads of keys and values do not divide the {} of {}", m.kv_heads, m.heads, heads),
          fmt::format("write a divisor of {}", heads));
  else if (!m.latent() && m.head_dim < 1)
    fault({"head_dim"}, fmt::format("is missing, and the {} of {} do not divide a width of {}", m.heads, heads, m.hidden), "add it");
  if (m.experts > 0 && (m.top_k < 1 || m.top_k > m.experts))
    fault(top_k_keys, fmt::format("{} of {} experts", m.top_k, m.experts), "write at most as many as there are");
  if (m.first_dense > m.layers)
    fault(first_dense_keys, fmt::format("{} of {} layers", m.first_dense, m.layers), "write at most as many as there are");
  if (m.expert_groups > 0 && m.experts % m.expert_groups != 0)
    fault(group_keys, fmt::format("{} groups do not divide {} experts", m.expert_groups, m.experts), "write a divisor of them");
  else if (m.expert_groups > 0 && (m.group_limit < 1 || m.group_limit > m.expert_groups))
    fault({"topk_group"}, fmt::format("{} of {} groups", m.group_limit, m.expert_groups), "write at most as many as there are");
}

std::string name_from(const Config& in, std::string given) {
  if (const std::string stated = in.text({"_name_or_path", "name_or_path"}); !stated.empty()) given = stated.substr(stated.rfind('/') + 1);
  std::string out;
  for (const char c : given) {
    const auto letter = static_cast<unsigned char>(c);
    out += std::isalnum(letter) != 0 || c == '.' ? static_cast<char>(std::tolower(letter)) : '-';
  }
  return out.empty() || out.size() > 100 ? "model" : out;
}

}  // namespace

bool is_model_config(const SpecNode& tree) {
  if (tree.kind != SpecNode::Kind::map || tree.find("layers") != nullptr) return false;
  const SpecNode& part = language_part(tree);
  const auto has = [&](std::string_view key) { return tree.find(key) != nullptr; };
  return has("model_type") || has("_class_name") || has("architectures") || part.find("num_hidden_layers") != nullptr;
}

Model read_model_config(const SpecNode& tree, const std::string& name, Faults& faults) {
  const Config whole{tree, faults};
  Config in{language_part(tree), faults};
  if (&in.tree == &whole.tree) in.asked = whole.asked;
  Model m;
  m.name = name_from(whole, name);
  const std::string outer = whole.text({"model_type"}), own = in.text({"model_type"}), type = own.empty() ? outer : own;
  in.type = type;
  m.title = m.name;
  m.source = fmt::format("config.json of model type {}", clipped(type));
  m.confidence = "vendor-code";
  refuse_other_kinds(in, whole);
  if (!faults.issues.empty()) return m;
  m.layers = in.count(layer_keys, 1, true);
  m.hidden = in.count({"hidden_size", "n_embd", "d_model", "dim"}, 1, true);
  m.vocab = in.count({"vocab_size", "padded_vocab_size"}, whole.count({"vocab_size"}, type.starts_with("gemma3") ? 262208 : 0));
  if (m.vocab == 0) static_cast<void>(in.count({"vocab_size"}, 0, true));
  const int four_times = 4 * std::min(m.hidden, largest_size / 4);
  m.ffn = in.count({"intermediate_size_mlp", "intermediate_size", "ffn_hidden_size", "n_inner", "ffn_dim"},
                   in.part("ffn_config").count({"ffn_hidden_size"}, four_times));
  in.at_most(layer_keys, m.layers, most_layers);
  in.at_most(head_keys, in.count(head_keys), max_heads);
  m.gated = !two_matrices.contains(type);
  const bool tied = tied_types.contains(type) || tied_types.contains(outer);
  m.tied = whole.flag({"tie_word_embeddings"}, in.flag({"tie_word_embeddings"}, tied));
  if (type == "gpt2") {
    m.positions = in.count({"n_positions"}, 1024);
    m.biases = true;
  }
  if (type == "opt") read_opt(in, m);
  if (!faults.issues.empty()) return m;
  read_attention(in, m);
  read_layer_kinds(in, m);
  refuse_unread(in, m);
  read_experts(in, m);
  m.predict_layers = in.count({"num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_modules"});
  name_unread(in, whole, m);
  refuse_contradictions(in, m);
  if (!faults.issues.empty()) return m;
  try {
    check(m);
  } catch (const RequestError& error) {
    in.fault(in.tree, "", error.what(),
             is_known(type) ? "compare the file with the published one" : "such a model type is not known here: describe it as in data/models");
  }
  return m;
}

}  // namespace fabricost::plan
