/// fabricost plan train, serve and rl: three questions that share options.

#include "cli/launch_flags.hpp"
#include "cli/plan_text.hpp"
#include "cli/question_command.hpp"
#include "cli/subcommands.hpp"
#include "text/text_table.hpp"

#include <fabricost/fields/json.hpp>
#include <fabricost/plan/answers/plan.hpp>
#include <fabricost/plan/answers/rl.hpp>
#include <fabricost/plan/answers/serve.hpp>
#include <fabricost/plan/model/stages.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <memory>
#include <vector>

namespace fabricost::cli {
namespace {

struct PlanOptions : GivenOptions {
  std::string threads;
  std::string launch;  ///< program whose flags are printed
  OutputPath trace;
  bool train = false, serve = false, rl = false, graph = false, eager = false;
};

/// \throws RequestError where the folder or a file cannot be written
void write_timeline(const PlanAnswer& found, const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw RequestError(fmt::format("--trace: {} cannot be made a folder: {}", folder, error.message()));
  for (const TimelineFile& file : timeline_of(*found.found))
    write_output({(std::filesystem::path(folder) / file.name).string()}, file.text, "--trace");
}

/// Layers of each chunk as Megatron Core's pipeline_model_parallel_layout writes them, "Ettt|(tttt|)*6tttL"; empty where all have as many.
[[nodiscard]] std::string pipeline_layout(const plan::Model& model, const plan::Layout& layout) {
  const plan::LayerSplit split = plan::split_layers(model, layout);
  std::vector<int> layers;
  for (int chunk = 0; chunk < split.chunks; ++chunk) layers.push_back(split.layers(chunk));
  if (has_single_blocks(model) || std::adjacent_find(layers.begin(), layers.end(), std::not_equal_to<>()) == layers.end()) return "";
  const auto of = [](int count) { return std::string(static_cast<std::size_t>(count), 't'); };
  std::string out = "E" + of(layers.front()) + "|";
  for (auto at = layers.begin() + 1, last = layers.end() - 1; at != last;) {
    const auto end = std::find_if(at, last, [&](int other) { return other != *at; });
    out += fmt::format("({}|)*{}", of(*at), end - at);
    at = end;
  }
  return out + of(layers.back()) + std::string(static_cast<std::size_t>(model.predict_layers), 'm') + "L";
}

/// Layers that each chunk recomputes, so that the layout's number is; 0: no such number is.
[[nodiscard]] int recomputed_of_each_chunk(const plan::Model& model, const plan::Layout& layout) {
  int each = 1;
  while (recomputed_of_chunks(model, layout, each) < layout.recompute_layers) ++each;
  return recomputed_of_chunks(model, layout, each) == layout.recompute_layers ? each : 0;
}

/// What commands say of the recipe: the stack's as the request changed it; null for any other name.
[[nodiscard]] core::json_parts::Json recipe_of(const FoundPlan& found, std::string_view name) {
  const plan::TrainingQuestion& q = found.question;
  const plan::Stack& stack = q.stack;
  const plan::MemoryStack& memory = stack.memory;
  const plan::Layout& layout = found.plan.layouts.front().layout;
  const bool narrow = q.precision == plan::Precision::fp8 || q.precision == plan::Precision::fp4, sharded = layout.zero > 0;
  const bool replicas = layout.dp * layout.cp > 1, mixture = q.model.mixture(), exchanges = mixture && layout.ep > 1;
  const bool overlaps_data = replicas && (layout.zero == 3 ? stack.shard_exposed : stack.data_exposed) < 1;
  const bool hides_tokens = exchanges && stack.expert_exposed < 1, chunked = layout.pp == 1 || layout.vp > 1;
  const bool remainders = memory.master_remainders && q.precision != plan::Precision::fp16;
  const bool narrow_states = remainders || memory.optimizer < plan::MemoryStack{}.optimizer || layout.offload_optimizer > 0;
  if (name == "tp_comm_overlap")
    return layout.tp > 1 && layout.sequence_parallel && layout.tp <= found.system.domain && stack.tensor_exposed < 1;
  if (name == "overlap_grad_reduce") return overlaps_data;
  if (name == "overlap_param_gather") return overlaps_data && sharded;
  if (name == "grad_reduce_in_bf16") return memory.gradient == 2;
  if (name == "precision_aware_optimizer") return sharded && narrow_states;
  if (name == "main_grads_in_bf16") return sharded && narrow_states && memory.gradient == 2;
  if (name == "remainders_unsharded") return !sharded && remainders;
  if (name == "fp8_param_gather") return sharded && memory.fp8_parameters && q.precision == plan::Precision::fp8;
  if (name == "activation_func_fp8_input_store") return narrow && memory.activation_input == 1;
  if (name == "fp8_attention") return narrow && stack.fp8_attention;
  if (name == "fp8_recipe" && q.precision == plan::Precision::fp8 && !q.block_scales && !q.delayed_scales)  // none given, or tensorwise
    return memory.fp8_tensor_scaled ? "tensorwise" : found.system.gpu.generation == plan::Generation::blackwell ? "mxfp8" : "blockwise";
  if (name == "moe") return mixture;
  if (name == "moe_dispatcher" && mixture)
    return !exchanges ? "alltoall" : stack.fused_experts ? "hybridep" : stack.deduplicated ? "deepep" : "alltoall";
  if (name == "overlap_moe_comm") return hides_tokens && chunked;
  if (name == "overlap_moe_comm_elsewhere") return hides_tokens && !chunked;
  if (name == "graphs_of_attention") return mixture && !layout.cuda_graphs && stack.launches <= 1;
  if (name == "capacity") return stack.capacity;
  if (name == "mtp_num_layers") return q.model.predict_layers;
  if (name == "attention_backend" && !q.model.hybrid()) {
    constexpr std::array<const char*, plan::attention_kernel_names.size()> backends{"fused", "flash", "flash", "unfused"};
    return backends[static_cast<std::size_t>(stack.attention)];
  }
  if (name == "compiled_parts" && stack.elementwise == 1) return stack.eager_loss ? "model" : "model loss";
  if (name == "keeps_gathered") return layout.zero == 3 && !layout.reshards;
  if (name == "frozen_model") return q.model.frozen != nullptr;
  if (name == "other_model") return !q.model.causal() || q.model.recommends() || q.model.hybrid() || q.model.vision != nullptr;
  return {};
}

/// What commands say of a layout in other terms than plan; null for any other name.
[[nodiscard]] core::json_parts::Json in_terms_of_commands(const PlanAnswer& found, std::string_view name) {
  const plan::Model& model = found.found->question.model;
  const plan::Layout& layout = found.found->plan.layouts.front().layout;
  if (name == "layers") return model.layers;
  if (name == "pipeline_layout") return pipeline_layout(model, layout);
  if (name == "local_batch") return layout.pp > 1 ? layout.global_batch / layout.dp : layout.microbatch;
  if (name == "microbatch_of_stages") return layout.pp > 1 ? layout.microbatch : 1;
  if (name == "shard_degree") return layout.shard > 0 ? std::max(1, layout.shard / layout.cp) : layout.dp;
  if (name == "virtual_stages") return pipeline_layout(model, layout).empty() ? layout.vp : 1;
  if (name == "sharded") {  // with stages gradients are reduced once a step, whether they are sharded or not
    constexpr std::array<const char*, 4> what{"nothing", "optimizer", "gradients", "weights"};
    return what[static_cast<std::size_t>(layout.zero == 1 && layout.pp > 1 ? 2 : layout.zero)];
  }
  const bool some = layout.recompute == plan::Recompute::full && layout.recompute_layers > 0;
  if (name == "recompute_of_each_chunk") return some ? recomputed_of_each_chunk(model, layout) : 0;
  if (name == "recompute_num_layers_above") {
    int each = 1;
    while (some && recomputed_of_chunks(model, layout, each) < layout.recompute_layers) ++each;
    return recomputed_of_chunks(model, layout, each);
  }
  if (name != "recompute_method" || layout.recompute != plan::Recompute::full) return recipe_of(*found.found, name);
  return !layout.recompute_by_stage.empty()                              ? "per_stage"
         : layout.recompute_layers == 0                                  ? "uniform"
         : recomputed_of_each_chunk(model, layout) > 0 ? "block"
                                                                         : "uneven";
}

/// Adds the command that starts the best layout: a section of the text; as JSON, "launch".
template <class Request, class Answer>
void add_launch(std::string& out, const PlanOptions& o, const Request& request, const Answer& found, const Terminal& terminal) {
  using core::json_parts::Json;
  Json json = core::json_of(found);
  const plan::ValueOf value_of = [&](const std::string& name) -> Json {
    if constexpr (std::same_as<Request, PlanRequest>)
      if (Json other = in_terms_of_commands(found, name); !other.is_null()) return other;
    for (const Json* of : {&json.at("layouts").front(), &json})
      if (of->contains(name)) return of->at(name);
    const auto fields = fields_of<Request>();
    const auto field = std::find_if(fields.begin(), fields.end(), [&](const Field& one) { return one.name == name; });
    return field == fields.end() ? Json() : core::json_parts::json_value(*field->type, field->in(&request));
  };
  const plan::LaunchCommand launch = plan::launch_of(o.launch, o.train ? "train" : "serve", value_of);
  if (o.json) {
    json["launch"] = launch.command;
    if (!launch.notes.empty()) json["launch_notes"] = launch.notes;
    out = core::printed(json);
    return;
  }
  Page page(terminal);
  page.section("Start it");
  page.add(wrapped_command("  ", launch.command, terminal.columns));
  for (const std::string& note : launch.notes) page.say(note);
  out += page.text();
}

template <class Request>
[[nodiscard]] std::string answered(const PlanOptions& o, const Request& request, const Terminal& terminal) {
  Request asked = request;
  if constexpr (std::same_as<Request, PlanRequest>)
    if (!o.launch.empty() && request.system) {
      const std::string named = request.stack.name.empty() ? plan::stack_to_launch(o.launch, "", plan::stack_on({}, *request.system.get({})).name)
                                                           : plan::stack_to_launch(o.launch, request.stack.name, "");
      if (!named.empty()) asked.stack = named;
    }
  const auto found = spelled_answer(asked);
  if constexpr (std::same_as<Request, PlanRequest>)
    if (!o.trace.empty()) write_timeline(found, o.trace.path);
  std::string out = shown(found, o.json, terminal, [](Page& page, const auto& a) { text_of(page, a); });
  if constexpr (!std::same_as<Request, RlRequest>)
    if (!o.launch.empty()) add_launch(out, o, asked, found, terminal);
  return out;
}

/// \throws RequestError for an option of other questions that Request does not have
template <class Request, class Other, class Third>
void refuse_others(const PlanOptions& o, std::string_view mine, std::string_view other, std::string_view third) {
  std::string_view of = other, found = given_beyond<Other, Request>(o.typed);
  if (found.empty()) of = third, found = given_beyond<Third, Request>(o.typed);
  if (found.empty() && mine != "serve" && (o.graph || o.eager)) {
    of = "serve";
    found = o.graph ? "--graph" : "--eager";
  }
  if (found.empty()) return;
  if (const std::string_view own = namesake_of(found, fields_of<Request>()); !own.empty())
    throw RequestError(fmt::format("{} is of plan {}; plan {} has {}", found, of, mine, own));
  throw RequestError(fmt::format("{} is of plan {}; leave it out of plan {}", found, of, mine));
}

[[nodiscard]] std::string run(const PlanOptions& o, const Terminal& terminal) {
  const int questions = static_cast<int>(o.train) + static_cast<int>(o.serve) + static_cast<int>(o.rl);
  if (questions > 1) throw RequestError("plan for what? Give one of train, serve and rl");
  if (questions < 1) throw RequestError("plan for what? Say plan train, plan serve or plan rl");
  if (o.train) {
    refuse_others<PlanRequest, ServeRequest, RlRequest>(o, "train", "serve", "rl");
    if (!o.threads.empty() && whole_of(o.threads, "--threads", any_count) > 1)
      throw RequestError("--threads: a search is run on one thread; leave it out");
    return answered(o, request_of<PlanRequest>(o.typed), terminal);
  }
  if (!o.trace.empty()) throw RequestError(fmt::format("--trace is of plan train; leave it out of plan {}", o.rl ? "rl" : "serve"));
  if (o.rl && !o.launch.empty()) throw RequestError("--launch-flags is of plan train and plan serve; leave it out of plan rl");
  if (o.rl) {
    refuse_others<RlRequest, PlanRequest, ServeRequest>(o, "rl", "train", "serve");
    return answered(o, request_of<RlRequest>(o.typed), terminal);
  }
  refuse_others<ServeRequest, PlanRequest, RlRequest>(o, "serve", "train", "rl");
  if (o.graph && o.eager) throw RequestError("--graph and --eager: give one");
  auto request = request_of<ServeRequest>(o.typed);
  if (o.graph || o.eager) request.launch = o.graph ? Launch::graph : Launch::eager;
  return answered(o, request, terminal);
}

/// \param more options of the question that are no fields
void claim(CLI::App& sub, Fields fields, std::string_view question, std::initializer_list<const char*> more) {
  const auto spell = [&](std::string_view name, std::string_view value) { return as_option(fields, name, value); };
  for (const Field& field : fields)
    if (!field.option.empty())
      Runner::claim(*sub.get_option(std::string{long_name(field.option)}), {question, with_fields(field.words, spell)});
  for (const char* option : more) Runner::claim(*sub.get_option(option), {question, {}});
}

}  // namespace

void add_plan(CLI::App& app, Runner& runner) {
  const auto o = std::make_shared<PlanOptions>();
  CLI::App& sub = *app.add_subcommand("plan", "Find the fastest parallel layout to train or serve a model");
  sub.add_flag("--train", o->train, "Plan training");
  sub.add_flag("--serve", o->serve, "Plan serving");
  sub.add_flag("--rl", o->rl, "Plan reinforcement learning: generation and training");
  add_options(sub, o->typed, fields_of<PlanRequest>());
  sub.add_option("--threads", o->threads, "Number of threads: 1")->option_text("N");
  Runner::output(
      *sub.add_option("--trace", o->trace.path, "Write the fastest layout's step into this folder as traces\n(fabricost trace reads them)")
           ->option_text("FOLDER"));
  sub.add_option("--launch-flags", o->launch, "Also the command that starts it in vllm, sglang, trtllm, megatron\nor torchtitan")
      ->option_text("PROGRAM");
  sub.add_flag("--json", o->json, "Print JSON");
  const char* const group = "Serving";
  add_options(sub, o->typed, fields_of<ServeRequest>(), group);
  sub.add_flag("--graph", o->graph, "Prefill in CUDA graphs too; default decode alone")->group(group);
  sub.add_flag("--eager", o->eager, "No CUDA graphs: the host launches every kernel")->group(group);
  add_options(sub, o->typed, fields_of<RlRequest>(), "Reinforcement learning");
  sub.add_option("--find")
      ->description("How much is enough: gpus, batch, ... (fabricost need)")
      ->option_text("UNKNOWN");  // command_words.hpp
  sub.add_option("--vary")->description("Vary the machine: domain=8,16 (fabricost explore)")->option_text("NAME=VALUES...");
  claim(sub, fields_of<PlanRequest>(), "train", {"--train", "--threads", "--trace", "--launch-flags", "--find", "--vary"});
  claim(sub, fields_of<ServeRequest>(), "serve", {"--serve", "--graph", "--eager", "--launch-flags", "--find", "--vary"});
  claim(sub, fields_of<RlRequest>(), "rl", {"--rl"});
  sub.footer(
      "Example: fabricost plan train --model llama3-405b --system dgx-h100 --gpus 1024 --global-batch 512\n"
      "         fabricost plan serve --model llama3-405b --system dgx-h100 --gpus 8 --ttft 1s --tpot 30ms\n"
      "         fabricost plan rl -m qwen3-32b -s dgx-h100 -g 64 --prompts 64 --osl 4096 --max-osl 16384");
  runner.add(sub, [o](const Terminal& terminal) { return run(*o, terminal); });
}

}  // namespace fabricost::cli
