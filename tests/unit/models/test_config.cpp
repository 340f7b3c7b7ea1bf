// config.json of Hugging Face: the shapes of files as they are published, and the messages for broken ones.
#include "catch.hpp"

#include "support/message_of.hpp"
#include "unit/specs/broken.hpp"

#include <fabricost/plan/specs/load_model.hpp>

using namespace fabricost::plan;
using specs::Folder;

namespace {

// the keys of published files that say something of the shape, among some that do not
const std::string llama =
    R"({"architectures": ["LlamaForCausalLM"], "attention_bias": false, "bos_token_id": 128000, "hidden_act": "silu", "hidden_size": 8192,
"intermediate_size": 28672, "max_position_embeddings": 131072, "model_type": "llama", "num_attention_heads": 64, "num_hidden_layers": 80,
"num_key_value_heads": 8, "rms_norm_eps": 1e-05, "rope_scaling": {"factor": 8.0, "rope_type": "llama3"}, "rope_theta": 500000.0,
"tie_word_embeddings": false, "torch_dtype": "bfloat16", "vocab_size": 128256})";
const std::string deepseek =
    R"({"model_type": "deepseek_v3", "first_k_dense_replace": 3, "hidden_size": 7168, "intermediate_size": 18432, "kv_lora_rank": 512,
"moe_intermediate_size": 2048, "moe_layer_freq": 1, "n_group": 8, "n_routed_experts": 256, "n_shared_experts": 1,
"num_attention_heads": 128,
"num_experts_per_tok": 8, "num_hidden_layers": 61, "num_key_value_heads": 128, "num_nextn_predict_layers": 1, "q_lora_rank": 1536,
"qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "quantization_config": {"fmt": "e4m3", "weight_block_size": [128, 128]}, "topk_group": 4,
"v_head_dim": 128, "tie_word_embeddings": false, "vocab_size": 129280})";
const std::string next =
    R"({"model_type": "qwen3_next", "decoder_sparse_step": 1, "full_attention_interval": 4, "head_dim": 256, "hidden_size": 2048,
"intermediate_size": 5120, "linear_conv_kernel_dim": 4, "linear_key_head_dim": 128, "linear_num_key_heads": 16,
"linear_num_value_heads": 32,
"linear_value_head_dim": 128, "mlp_only_layers": [], "moe_intermediate_size": 512, "num_attention_heads": 16, "num_experts": 512,
"num_experts_per_tok": 10, "num_hidden_layers": 48, "num_key_value_heads": 2, "rope_scaling": null, "shared_expert_intermediate_size": 512,
"tie_word_embeddings": false, "use_sliding_window": false, "vocab_size": 151936})";
const std::string gemma =
    R"({"model_type": "gemma3", "text_config": {"model_type": "gemma3_text", "hidden_size": 5376, "intermediate_size": 21504,
"num_attention_heads": 32, "num_hidden_layers": 62, "num_key_value_heads": 16, "head_dim": 128, "sliding_window": 1024,
"vocab_size": 262208}, "vision_config": {"hidden_size": 1152, "num_hidden_layers": 27}})";
const std::string oss =
    R"({"model_type": "gpt_oss", "head_dim": 64, "hidden_size": 2880, "intermediate_size": 2880, "layer_types": ["sliding_attention",
"full_attention", "sliding_attention", "full_attention"], "num_attention_heads": 64, "num_experts_per_tok": 4, "num_hidden_layers": 4,
"num_key_value_heads": 8, "num_local_experts": 128, "sliding_window": 128, "vocab_size": 201088})";

const std::string kimi =
    R"({"model_type": "kimi_linear", "first_k_dense_replace": 1, "head_dim": 72, "hidden_size": 2304, "intermediate_size": 9216,
"kv_lora_rank": 512, "linear_attn_config": {"full_attn_layers": [4, 8, 12, 16, 20, 24, 27], "head_dim": 128, "kda_layers": [1, 2, 3, 5, 6,
7, 9, 10, 11, 13, 14, 15, 17, 18, 19, 21, 22, 23, 25, 26], "num_heads": 32, "short_conv_kernel_size": 4}, "moe_intermediate_size": 1024,
"num_attention_heads": 32, "num_experts": 256, "num_experts_per_token": 8, "num_hidden_layers": 27, "num_key_value_heads": 32,
"num_shared_experts": 1, "q_lora_rank": null, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "vocab_size": 163840})";
const std::string maverick =
    R"({"model_type": "llama4", "text_config": {"model_type": "llama4_text", "head_dim": 128, "hidden_size": 5120,
"interleave_moe_layer_step": 2, "intermediate_size": 8192, "intermediate_size_mlp": 16384, "num_attention_heads": 40,
"num_experts_per_tok": 1, "num_hidden_layers": 48, "num_key_value_heads": 8, "num_local_experts": 128, "vocab_size": 202048}})";
const std::string granite =
    R"({"model_type": "granitemoehybrid", "hidden_size": 4096, "intermediate_size": 768, "layer_types": ["mamba", "mamba", "attention",
"mamba"], "mamba_d_conv": 4, "mamba_d_head": 64, "mamba_d_state": 128, "mamba_n_groups": 1, "mamba_n_heads": 128, "num_attention_heads": 32,
"num_experts_per_tok": 10, "num_hidden_layers": 4, "num_key_value_heads": 8, "num_local_experts": 72, "shared_intermediate_size": 1536,
"tie_word_embeddings": true, "vocab_size": 100352})";

Model of(const Folder& folder, const std::string& text) { return load_model(folder.write("config.json", text)); }

/// What is said of a file that is refused; empty where it is read.
std::string refusal_of(const Folder& folder, const std::string& text) {
  try {
    static_cast<void>(of(folder, text));
  } catch (const SpecError& error) {
    return error.what();
  }
  return "";
}

void same_shape(const Model& a, const Model& b) {
  const ParameterCount x = parameters_of(a), y = parameters_of(b);
  CHECK(x == y);
  CHECK(a.top_k == b.top_k);
  CHECK(a.head_norm == b.head_norm);
  CHECK(a.predict_layers == b.predict_layers);
  CHECK(a.window_layers == b.window_layers);
  CHECK(a.mixer == b.mixer);
  CHECK(a.group_limit == b.group_limit);
}

}  // namespace

TEST_CASE("a published config.json is the shape of the catalogue's model", "[models]") {
  const Folder folder;
  same_shape(of(folder, llama), load_model("llama3-70b"));
  same_shape(of(folder, kimi), load_model("kimi-linear-48b-a3b"));
  same_shape(of(folder, maverick), load_model("llama4-maverick"));
  same_shape(of(folder, deepseek), load_model("deepseek-v3"));
  same_shape(of(folder, next), load_model("qwen3-next-80b-a3b"));
  same_shape(of(folder, gemma), load_model("gemma-3-27b"));
}

TEST_CASE("layers that see a window are counted from the list of layers", "[models]") {
  const Folder folder;
  const Model m = of(folder, oss);
  CHECK(m.window_layers == 2);
  CHECK(m.window == 128);
  CHECK(m.expert_layers() == 4);
  CHECK(m.ffn == 0);
}

TEST_CASE("a shape without a published count has the parameters of its matrices", "[models]") {
  const Folder folder;
  const Model m = of(folder, R"({"model_type": "gpt2", "n_embd": 768, "n_head": 12, "n_layer": 12, "n_positions": 1024,
"vocab_size": 50257})");
  CHECK(m.tied);
  CHECK(parameters_of(m).total == Approx(124.4e6).epsilon(0.001));  // GPT-2 small has 124 M
}

TEST_CASE("keys in nested parts, and what a model type leaves out of its file", "[models]") {
  const Folder folder;
  const Model dbrx = of(folder, R"({"model_type": "dbrx", "attn_config": {"kv_n_heads": 8}, "d_model": 6144, "n_heads": 48, "n_layers": 40,
"ffn_config": {"ffn_hidden_size": 10752, "moe_num_experts": 16, "moe_top_k": 4}, "vocab_size": 100352, "tie_word_embeddings": false})");
  CHECK(dbrx.kv_heads == 8);
  CHECK(dbrx.top_k == 4);
  CHECK(parameters_of(dbrx).total == Approx(131.6e9).epsilon(0.01));
  const Model gemma = of(folder, R"({"model_type": "gemma2", "head_dim": 256, "hidden_size": 3584, "intermediate_size": 14336,
"num_attention_heads": 16, "num_hidden_layers": 42, "num_key_value_heads": 8, "sliding_window": 4096, "vocab_size": 256000})");
  CHECK(gemma.window_layers == 21);
  const Model falcon = of(folder, R"({"model_type": "falcon", "hidden_size": 4544, "multi_query": true, "num_attention_heads": 71,
"num_hidden_layers": 32, "vocab_size": 65024})");
  CHECK(parameters_of(falcon).total == Approx(6.92e9).epsilon(0.01));
}

TEST_CASE("a config.json that lacks or mistakes a size says which and where", "[models]") {
  const Folder folder;
  const auto said = [&](const std::string& text) { return refusal_of(folder, text); };
  CHECK(support::contains(said(R"({"model_type": "llama", "hidden_size": 64})"), "\"num_hidden_layers\" is missing"));
  CHECK(support::contains(said(R"({"model_type": "llama",
"hidden_size": -64, "num_hidden_layers": 2, "num_attention_heads": 2, "vocab_size": 100})"),
                          "config.json:2"));
  CHECK(support::contains(said(R"({"model_type": "x", "hidden_size": 64, "num_hidden_layers": 99999, "num_attention_heads": 2,
"vocab_size": 100})"),
                          "99999 is too many"));
  CHECK(support::contains(said(R"({"model_type": "x", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
"num_key_value_heads": 3, "vocab_size": 100})"),
                          "num_key_value_heads: 3 heads"));
  CHECK(support::contains(said(R"({"model_type": "x", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
"linear_num_value_heads": 9999999, "linear_value_head_dim": 9999999, "vocab_size": 100})"),
                          "a width of"));
  CHECK(support::contains(said(R"({"layers": "x"})"), "is missing"));
  CHECK(support::contains(said("{\"model_type\": "), "config.json"));
}

TEST_CASE("names in another spelling find their model, if they mean one only", "[models]") {
  const std::vector<std::pair<std::string, std::string>> meant{{"llama 3 405b", "llama3.1-405b"},
                                                               {"Llama-3.1-405B", "llama3.1-405b"},
                                                               {"meta-llama/Llama-3.1-405B-Instruct", "llama3.1-405b"},
                                                               {"nemotron-3-super", "nemotron3-super-120b-a12b"},
                                                               {"Qwen 3 Next", "qwen3-next-80b-a3b"},
                                                               {"GLM 4.6", "glm-4.5"},
                                                               {"kimi-k2-thinking", "kimi-k2"},
                                                               {"MiniMax-M2", "minimax-m2.5"},
                                                               {"mistral large 3", "mistral-large-3"},
                                                               {"gemma 3 27b it", "gemma-3-27b"},
                                                               {"DeepSeek-V3-0324", "deepseek-v3"},
                                                               {"deepseek-ai/DeepSeek-R1-0528", "deepseek-v3"},
                                                               {"Qwen3-235B-A22B-Instruct-2507", "qwen3-235b-a22b"},
                                                               {"Qwen/Qwen3-30B-A3B-Thinking-2507", "qwen3-30b-a3b"},
                                                               {"dbrx-instruct", "dbrx"},
                                                               {"ERNIE-4.5-300B-A47B", "ernie-4.5-300b-a47b"},
                                                               {"Qwen3-235B-A22B-9999", ""},
                                                               {"llama3", ""},
                                                               {"qwen3", ""},
                                                               {"glm-4.8", ""},
                                                               {"deepseek", ""},
                                                               {"405b", ""}};
  for (const auto& [wanted, name] : meant) {
    INFO(wanted);
    CHECK(model_named(wanted) == name);
  }
  const auto said = [](const char* name) { return support::message_of([&] { return load_model(name); }); };
  CHECK(support::contains(said("nemotron-3"), "nemotron3-"));
  CHECK(support::contains(said("glm-4.8"), "glm-4"));
}

TEST_CASE("a config.json whose layers Model cannot describe is refused, not read as plain attention", "[models]") {
  const Folder folder;
  const auto with = [&](const std::string& key) { return refusal_of(folder, std::string{llama}.insert(1, key + ", ")); };
  for (const char* key : {R"("attn_layer_period": 8)", R"("state_size": 128)", R"("zero_expert_num": 256)", R"("mamba_d_state": 16)",
                          R"("block_configs": [])"}) {
    INFO(key);
    CHECK(support::contains(with(key), "another kind than attention"));
  }
  CHECK(support::contains(with(R"("is_encoder_decoder": true)"), "has an encoder"));
  CHECK(with(R"("is_encoder_decoder": false)").empty());
}

TEST_CASE("a model beside the language model, and a model type without rules, are named", "[models]") {
  const Folder folder;
  const auto but = [](std::string text, const std::string& part, const std::string& with) { return text.replace(text.find(part), part.size(), with); };
  const std::string eyes = R"("vision_config": {"hidden_size": 1024, "num_hidden_layers": 24})", ears = R"("audio_config": {"d_model": 1280})";
  for (const std::string& text : {llama, deepseek, next, oss, kimi, maverick, granite}) {
    const Model plain = of(folder, text);
    const Model sees = of(folder, but(text, "{", "{" + eyes + ", " + ears + ", "));
    CHECK(plain.unread.empty());
    CHECK(sees.unread == "vision_config, audio_config");
    CHECK(support::contains(sees.partial, "vision_config"));
    CHECK(parameters_of(sees) == parameters_of(plain));
  }
  const Model strange = of(folder, but(llama, R"("model_type": "llama")", R"("model_type": "foo_moe")"));
  CHECK(support::contains(strange.unread, "foo_moe is unknown"));
  CHECK(parameters_of(strange) == parameters_of(of(folder, llama)));
}

TEST_CASE("models that write no text, or not with one stack of layers, are refused by their type, with what to write instead", "[models]") {
  const Folder folder;
  const auto said = [&](const std::string& keys) { return refusal_of(folder, "{" + keys + "}"); };
  const std::string clip = R"("model_type": "clip", "text_config": {"hidden_size": 768, "num_attention_heads": 12, "num_hidden_layers": 12,
"vocab_size": 49408}, "vision_config": {"hidden_size": 1024, "num_hidden_layers": 24})";
  CHECK(support::contains(said(clip), "pairs an encoder of texts"));
  CHECK(support::contains(said(R"("model_type": "bert", "hidden_size": 1024)"), "bert-large.yaml"));
  CHECK(support::contains(said(R"("model_type": "vit", "hidden_size": 1024)"), "`patch`"));
  CHECK(support::contains(said(R"("model_type": "whisper", "d_model": 1280, "encoder_layers": 32)"), "has an encoder beside its decoder"));
  CHECK(support::contains(said(R"("_class_name": "FluxTransformer2DModel", "num_layers": 19)"), "`kind: diffusion`"));
  CHECK(support::contains(said(R"("model_type": "some_omni", "thinker_config": {})"), "other names for its sizes"));
}

TEST_CASE("numbers that contradict each other are named by their keys, with the line, whatever the model type", "[models]") {
  const Folder folder;
  struct Broken {
    const std::string& text;
    std::string_view was, now, says;
  };
  for (const Broken& b : {Broken{llama, R"("num_key_value_heads": 8)", R"("num_key_value_heads": 5)", "num_key_value_heads: 5 heads"},
                          {deepseek, R"("num_experts_per_tok": 8)", R"("num_experts_per_tok": 800)", "num_experts_per_tok: 800 of 256"},
                          {kimi, R"("num_experts_per_token": 8)", R"("num_experts_per_token": 257)", "num_experts_per_token: 257 of 256"},
                          {deepseek, R"("n_group": 8)", R"("n_group": 7)", "n_group: 7 groups"},
                          {deepseek, R"("topk_group": 4)", R"("topk_group": 9)", "topk_group: 9 of 8"},
                          {deepseek, R"("first_k_dense_replace": 3)", R"("first_k_dense_replace": 62)", "first_k_dense_replace: 62 of 61"},
                          {llama, R"("hidden_size": 8192)", R"("hidden_size": 8193)", "head_dim: is missing"}}) {
    std::string text = b.text;
    const std::string said = refusal_of(folder, text.replace(text.find(b.was), b.was.size(), b.now));
    INFO(b.now << ": " << said);
    CHECK(support::contains(said, b.says));
    CHECK(!support::contains(said, "not known here"));
  }
}

TEST_CASE("OPT has biases, positions of its own, and a projection of its embeddings only where they are narrower", "[models]") {
  const Folder folder;
  const std::string keys = R"({"model_type": "opt", "ffn_dim": 16384, "hidden_size": 4096, "max_position_embeddings": 2048,
"num_attention_heads": 32, "num_hidden_layers": 32, "vocab_size": 50272, "word_embed_proj_dim": )";
  const Model m = of(folder, keys + "4096}"), known = load_model("opt-6.7b");
  CHECK(m.unread.empty());
  CHECK(parameters_of(m).total == parameters_of(known).total);
  CHECK(support::contains(of(folder, keys + "512}").unread, "word_embed_proj_dim"));
}

TEST_CASE("the layers of Granite 4 are Mamba-2's where its list says so, beside one shared expert", "[models]") {
  const Folder folder;
  const Model m = of(folder, granite);
  CHECK(m.mixer == Mixer{.layers = 3, .inner = 8192, .keys = 128, .heads = 128, .state = 128});
  CHECK(m.shared_experts == 1);
  CHECK(m.shared_ffn == 1536);
}

TEST_CASE("keys that look like sizes of a shape and that no rule reads are named, ordinary ones are not", "[models]") {
  const Folder folder;
  for (const std::string& text : {llama, deepseek, next, oss, kimi, maverick, granite}) CHECK(of(folder, text).unread.empty());
  // the whole files, with what says nothing of the shape
  const std::string mixtral = R"({"architectures": ["MixtralForCausalLM"], "attention_dropout": 0.0, "hidden_act": "silu",
"hidden_size": 4096, "initializer_range": 0.02, "intermediate_size": 14336, "max_position_embeddings": 32768, "model_type": "mixtral",
"num_attention_heads": 32,
"num_experts_per_tok": 2, "num_hidden_layers": 32, "num_key_value_heads": 8, "num_local_experts": 8, "output_router_logits": false,
"rms_norm_eps": 1e-05, "rope_theta": 1000000.0, "router_aux_loss_coef": 0.02, "sliding_window": null, "tie_word_embeddings": false,
"torch_dtype": "bfloat16", "use_cache": true, "vocab_size": 32000})";
  const std::string qwen3 = R"({"architectures": ["Qwen3ForCausalLM"], "attention_bias": false, "head_dim": 128, "hidden_act": "silu",
"hidden_size": 5120, "intermediate_size": 25600, "max_position_embeddings": 40960, "max_window_layers": 64, "model_type": "qwen3",
"num_attention_heads": 64, "num_hidden_layers": 64, "num_key_value_heads": 8, "rope_scaling": null, "sliding_window": null,
"tie_word_embeddings": false, "use_sliding_window": false, "vocab_size": 151936})";
  const std::string qwen3_moe = R"({"architectures": ["Qwen3MoeForCausalLM"], "decoder_sparse_step": 1, "head_dim": 128,
"hidden_size": 2048, "intermediate_size": 6144, "max_window_layers": 48, "mlp_only_layers": [], "model_type": "qwen3_moe",
"moe_intermediate_size": 768,
"norm_topk_prob": true, "num_attention_heads": 32, "num_experts": 128, "num_experts_per_tok": 8, "num_hidden_layers": 48,
"num_key_value_heads": 4, "output_router_logits": false, "router_aux_loss_coef": 0.001, "sliding_window": null,
"tie_word_embeddings": false,
"use_sliding_window": false, "vocab_size": 151936})";
  const std::string glm = R"({"architectures": ["Glm4MoeForCausalLM"], "attention_bias": true, "first_k_dense_replace": 3, "head_dim": 128,
"hidden_size": 5120, "intermediate_size": 12288, "model_type": "glm4_moe", "moe_intermediate_size": 1536, "n_group": 1,
"n_routed_experts": 160, "n_shared_experts": 1, "norm_topk_prob": true, "num_attention_heads": 96, "num_experts_per_tok": 8,
"num_hidden_layers": 92, "num_key_value_heads": 8, "num_nextn_predict_layers": 1, "partial_rotary_factor": 0.5,
"routed_scaling_factor": 2.5, "tie_word_embeddings": false, "topk_group": 1, "use_qk_norm": true, "vocab_size": 151552})";
  const std::string deepseek_whole = R"({"architectures": ["DeepseekV3ForCausalLM"], "aux_loss_alpha": 0.001, "ep_size": 1,
"first_k_dense_replace": 3, "hidden_size": 7168, "intermediate_size": 18432, "kv_lora_rank": 512, "model_type": "deepseek_v3",
"moe_intermediate_size": 2048, "moe_layer_freq": 1, "n_group": 8, "n_routed_experts": 256, "n_shared_experts": 1,
"num_attention_heads": 128, "num_experts_per_tok": 8, "num_hidden_layers": 61, "num_key_value_heads": 128,
"num_nextn_predict_layers": 1, "pretraining_tp": 1,
"q_lora_rank": 1536, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "rope_scaling": {"factor": 40}, "seq_aux": true,
"tie_word_embeddings": false, "topk_group": 4, "topk_method": "noaux_tc", "v_head_dim": 128, "vocab_size": 129280})";
  const std::string gemma_whole = R"({"architectures": ["Gemma3ForConditionalGeneration"], "boi_token_index": 255999,
"mm_tokens_per_image": 256, "model_type": "gemma3", "text_config": {"attn_logit_softcapping": null, "head_dim": 128,
"hidden_size": 5376, "intermediate_size": 21504,
"model_type": "gemma3_text", "num_attention_heads": 32, "num_hidden_layers": 62, "num_key_value_heads": 16, "query_pre_attn_scalar": 168,
"rope_local_base_freq": 10000.0, "rope_scaling": {"factor": 8.0}, "sliding_window": 1024, "sliding_window_pattern": 6,
"vocab_size": 262208}, "vision_config": {"hidden_size": 1152, "image_size": 896, "num_attention_heads": 16, "num_hidden_layers": 27}})";
  for (const std::string& text : {mixtral, qwen3, qwen3_moe, glm, deepseek_whole}) CHECK(of(folder, text).unread.empty());
  CHECK(of(folder, gemma_whole).unread == "vision_config");

  const auto with = [](const std::string& more) {
    return R"({"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 100, )" + more + "}";
  };
  const Model strange = of(folder, with(R"("swa_head_dim": 128, "num_kv_shared_layers": 10, "mlp_expansion_ratio": 3.5,
"tie_experts_weights": true)"));
  CHECK(strange.unread == "swa_head_dim, num_kv_shared_layers, mlp_expansion_ratio");  // a model without experts ties none
  CHECK(support::contains(strange.partial, "swa_head_dim"));
  CHECK(of(folder, with(R"("num_kv_shared_layers": 0, "altup_rank": null, "tie_x": false, "swa_head_dim": "auto")")).unread.empty());
}
