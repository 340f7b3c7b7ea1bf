/// fabricost plan train, serve and rl: three questions that share options.

#include "cli/launch_flags.hpp"
#include "cli/plan_text.hpp"
#include "cli/question_command.hpp"
#include "cli/subcommands.hpp"
#include "text/ascii.hpp"
#include "text/text_table.hpp"

#include <fabricost/fields/json.hpp>
#include <fabricost/plan/answers/plan.hpp>
#include <fabricost/plan/answers/rl.hpp>
#include <fabricost/plan/answers/serve.hpp>
#include <fabricost/plan/kernels/groups.hpp>
#include <fabricost/plan/model/stages.hpp>
#include <fabricost/plan/serving/arrivals/loaded.hpp>
#include <fabricost/plan/serving/experts.hpp>

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
  std::string find, vary;  ///< of plan rl, which refuses them; else command_words.hpp has taken them
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

/// How TorchTitan divides layers into the chunks of a layout: by flags, or by a list of the modules of each chunk that its configuration holds.
struct TitanStages {
  std::string flags, by_hand;  ///< one of them; neither without stages
};

/// torchtitan/distributed/pipeline_parallel.py: n = ceil((layers + first_stage_less_layers + last_stage_less_layers) / layers_per_stage)
/// chunks, without layers_per_stage one a stage or, of schedules with several, two. The sum is spread evenly, the first chunks take what is
/// left over, and then the ends have as many fewer as their flags say.
[[nodiscard]] TitanStages titan_stages(const plan::Model& model, const plan::Layout& layout) {
  if (layout.pp == 1) return {};
  const plan::LayerSplit split = plan::split_layers(model, layout);
  const bool one_each = layout.schedule == plan::PipelineSchedule::one_f_one_b || layout.schedule == plan::PipelineSchedule::gpipe;
  const int n = split.chunks, usual = one_each ? layout.pp : 2 * layout.pp;
  const auto divides_so = [&](int first, int last) {
    const int all = model.layers + first + last;
    for (int chunk = 0; chunk < n; ++chunk)
      if (split.layers(chunk) != all / n + (chunk < all % n ? 1 : 0) - (chunk == 0 ? first : 0) - (chunk == n - 1 ? last : 0)) return false;
    return true;
  };
  for (const auto& [first, last] : {std::pair{0, 0}, {1, 1}, {0, 1}, {1, 0}}) {
    const int all = model.layers + first + last, each = (all + n - 1) / n;
    const bool counts = (all + each - 1) / each == n;
    if (!divides_so(first, last) || (n != usual && !counts)) continue;
    constexpr std::string_view option = "--parallelism.pipeline_parallel";
    const std::string of_chunk = n != usual ? fmt::format("{}_layers_per_stage {} ", option, each) : "";
    return {fmt::format("{0}{1}_first_stage_less_layers {2} {1}_last_stage_less_layers {3}", of_chunk, option, first, last), ""};
  }
  std::vector<std::string> runs;
  for (int chunk = 0, next = 0; chunk < n; chunk = next) {
    while (next < n && split.layers(next) == split.layers(chunk)) ++next;
    runs.push_back(fmt::format("{} of {}", next - chunk, core::counted(split.layers(chunk), "layer")));
  }
  return {"", fmt::format("{} stages: {}", n, core::joined(runs, " then "))};
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
  const bool offloads = layout.offload_optimizer > 0, fp8_parameters = memory.fp8_parameters && q.precision == plan::Precision::fp8;
  // a distributed optimizer of one replica shards nothing, and holds what these need
  const bool distributed = sharded || (layout.dp * layout.cp == 1 && (remainders || fp8_parameters || offloads));
  const bool narrow_states = remainders || memory.optimizer < plan::MemoryStack{}.optimizer || offloads;
  if (name == "tp_comm_overlap")
    return layout.tp > 1 && layout.sequence_parallel && layout.tp <= found.system.domain && stack.tensor_exposed < 1;
  if (name == "overlap_grad_reduce") return overlaps_data;
  if (name == "overlap_param_gather") return overlaps_data && sharded;
  if (name == "grad_reduce_in_bf16") return memory.gradient == 2;
  if (name == "zero") return distributed ? std::max(1, layout.zero) : 0;
  if (name == "precision_aware_optimizer") return distributed && narrow_states;
  if (name == "main_grads_in_bf16") return distributed && narrow_states && memory.gradient == 2;
  if (name == "remainders_unsharded") return !distributed && remainders;
  if (name == "fp8_parameters_unsharded") return !distributed && fp8_parameters;
  if (name == "offload_unsharded") return !distributed && offloads;
  if (name == "fp8_param_gather") return distributed && fp8_parameters;
  if (name == "activation_func_fp8_input_store") return narrow && memory.activation_input == 1;
  if (name == "fp8_attention") return narrow && stack.fp8_attention;
  if (name == "fp8_recipe" && q.precision == plan::Precision::fp8 && !q.block_scales() && !q.delayed_scales)  // none given, or tensorwise
    return fp8_parameters && offloads ? "delayed" : "tensorwise";
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
  if (name == "titan_stages") return titan_stages(model, layout).flags;
  if (name == "titan_stages_by_hand") return titan_stages(model, layout).by_hand;
  if (name == "local_batch") return layout.pp > 1 ? layout.global_batch / layout.dp : layout.microbatch;
  if (name == "microbatch_of_stages") return layout.pp > 1 ? layout.microbatch : 1;
  if (name == "shard_degree") return layout.shard > 0 ? std::max(1, layout.shard / layout.cp) : layout.dp;
  if (name == "virtual_stages") return pipeline_layout(model, layout).empty() ? layout.vp : 1;
  if (name == "sharded") {  // with stages gradients are reduced once a step, whether they are sharded or not
    constexpr std::array<const char*, 4> what{"nothing", "optimizer", "gradients", "weights"};
    return what[static_cast<std::size_t>(layout.zero == 1 && layout.pp > 1 ? 2 : layout.zero)];
  }
  const bool some = layout.recompute == plan::Recompute::full && layout.recompute_layers > 0;
  const int each = some ? recomputed_of_each_chunk(model, layout) : 1, above = recomputed_of_chunks(model, layout, each);
  const bool even = above == layout.recompute_layers;  // a number of layers of each chunk is
  if (name == "recompute_of_each_chunk") return some && even ? each : 0;
  if (name == "recompute_num_layers_above") return above;
  if (name != "recompute_method" || layout.recompute != plan::Recompute::full) return recipe_of(*found.found, name);
  return !layout.recompute_by_stage.empty() ? "per_stage" : layout.recompute_layers == 0 ? "uniform" : even ? "block" : "uneven";
}

/// The model's checkpoint by its public id: the one that was asked for, else the one of its own name, else one that follows instructions and is
/// not quantised, else one that is not, else any; empty: none is known.
[[nodiscard]] std::string checkpoint_of(const plan::Model& model, std::string_view asked) {
  constexpr int none = 5;
  const auto rank = [&](const std::string& alias) {
    const std::size_t slash = alias.find('/');
    if (slash == std::string::npos) return none;
    if (alias == asked) return 0;
    const std::string tail = core::lowered(alias.substr(slash + 1));
    if (tail == model.name) return 1;
    return tail.find("fp4") != std::string::npos || tail.find("fp8") != std::string::npos ? 4 : tail.find("instruct") != std::string::npos ? 2 : 3;
  };
  const auto best = std::min_element(model.aliases.begin(), model.aliases.end(), [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
  return best == model.aliases.end() || rank(*best) == none ? std::string{} : *best;
}

/// Copies of experts beside each one once: those asked for, and as many more as give every rank as many.
[[nodiscard]] int copies_of_experts(const plan::ServingQuestion& q, const plan::EngineLayout& engine) {
  const int once = q.model.experts, all = once + q.stack.kernels.copies;
  return engine.ep < 2 ? q.stack.kernels.copies : (all + engine.ep - 1) / engine.ep * engine.ep - once;
}

/// Whether a kernel of DeepEP carries tokens to experts and back.
[[nodiscard]] bool runs_deepep(const plan::ServingStack& stack, const plan::EngineLayout& engine, const plan::System& system, bool prefill) {
  const std::vector<core::MoeKernel>& kernels = prefill ? stack.kernels.experts_prefill : stack.kernels.experts_decode;
  const core::ExpertPlacement at{engine.ep, std::min(engine.ep, plan::place(engine.ranks(), 1, system.domain).local)};
  return engine.ep == engine.ranks() && engine.ep > 1 && std::any_of(kernels.begin(), kernels.end(), [&](core::MoeKernel k) {
           return core::name(k).starts_with("deepep") && plan::runs_on(k, system, at);
         });
}

/// The same of a deployment: what its question priced. \param prefill of a prefill worker, not of the engine that decodes
/// \param asked the model's name as the question gives it
[[nodiscard]] core::json_parts::Json in_terms_of_commands(const ServeAnswer& found, std::string_view asked, std::string_view name, bool prefill = false) {
  using core::json_parts::Json;
  const plan::ServingQuestion& q = found.found->question;
  const plan::ServingStack& stack = q.stack;
  const plan::PricedServing& p = found.found->plan.layouts.front();
  const plan::System& system = prefill && q.pool ? *q.pool->system : found.found->system;
  const plan::EngineLayout& engine = prefill ? p.prefill : p.engine;
  const std::string weights{plan::name(q.format.weights)}, published = q.model.stated_precision.empty() ? "bf16" : q.model.stated_precision;
  const std::string id = checkpoint_of(q.model, asked);
  const auto positive = [](auto number) { return number > 0 ? Json(number) : Json(); };
  const auto share = [](double part) { return part < 1 ? Json(fmt::format("{:g}", part)) : Json(); };
  const int nodes = (engine.gpus() + system.gpus_per_node - 1) / system.gpus_per_node;
  const bool mtp = q.model.predict_layers > 0, arrive = found.found->loaded != nullptr;
  if (name == "tp") return engine.tp;
  if (name == "pp") return engine.pp;
  if (name == "ep") return engine.ep;
  if (name == "dp") return engine.attention_dp;
  if (name == "replicas_of_attention") return engine.attention_dp > 1 ? Json(engine.attention_dp) : Json();
  if (name == "library") return std::string{core::name(stack.kernels.reduce.library)};
  if (name == "checkpoint") return id.empty() ? q.model.name : id;
  if (name == "unnamed") return id.empty() ? Json(q.model.name) : Json();
  if (name == "sequences") return prefill ? Json() : Json(static_cast<long long>(arrive ? plan::most_sequences_of(found.found->system, q, p) : p.batch));
  if (name == "longest") return arrive ? Json() : Json(static_cast<long long>(q.isl + q.osl));
  if (name == "varies") return arrive;
  if (name == "chunk") return static_cast<long long>(stack.chunk);
  if (name == "poll") return stack.poll > 1 ? Json(static_cast<long long>(stack.poll)) : Json();
  if (name == "together") return engine.attention_dp > 1 ? positive(static_cast<long long>(stack.together)) : Json();
  if (name == "memory_share") return share(stack.memory_share);
  if (name == "cache_share") return share(stack.cache_share);
  if (name == "kv") return q.format.kv_width < 2 ? "fp8" : "bf16";
  if (name == "narrow_kv") return q.format.kv_width < 2;
  if (name == "quantized") return weights != published && weights == "fp8" ? Json(weights) : Json();
  if (name == "converted") return weights != published && weights != "fp8" ? Json(weights) : Json();
  if (name == "own_drafts") return mtp ? positive(stack.drafts) : Json();
  if (name == "other_drafts") return mtp ? Json() : positive(stack.drafts);
  if (name == "copies") return stack.kernels.copies > 0 ? positive(copies_of_experts(q, engine)) : Json();
  if (name == "copies_to_divide") return positive(copies_of_experts(q, engine));
  if (name == "deepep") return runs_deepep(stack, engine, system, prefill);
  if (name == "half_batches") return stack.overlaps;
  if (name == "weights_on_host") return positive(std::ceil(q.host.weights / gibibyte));
  if (name == "kv_on_host") return positive(std::ceil(q.host.cache / gibibyte));
  if (name == "eager") return stack.decode_launch == Launch::eager;
  if (name == "prefill_graph") return stack.prefill_launch == Launch::graph;
  if (name == "nodes") return nodes > 1 ? Json(nodes) : Json();
  if (name == "rank_nodes") return nodes > 1 && engine.attention_dp == 1 ? Json(nodes) : Json();
  if (name == "replica_nodes") return nodes > 1 && engine.attention_dp > 1 ? Json(nodes) : Json();
  if (name == "role") return !p.apart ? Json() : prefill ? Json("kv_producer") : Json("kv_consumer");
  return {};
}

/// What commands do not say of how many engines there are.
[[nodiscard]] std::vector<std::string> engines_to_start(const PlanAnswer&) { return {}; }
[[nodiscard]] std::vector<std::string> engines_to_start(const ServeAnswer& found) {
  const plan::PricedServing& p = found.found->plan.layouts.front();
  if (p.apart)
    return {fmt::format("{} and {} like these, behind a router that sends a request to one of either", counted(p.prefill_workers, "prefill worker"),
                        counted(p.replicas, "decode worker"))};
  if (p.replicas > 1) return {fmt::format("{} engines like this one, behind a router", p.replicas)};
  return {};
}

/// Adds the commands that start the best layout and what they leave to do: a section of the text; as JSON, "launch" and "launch_by_hand".
template <class Request, class Answer>
void add_launch(std::string& out, const PlanOptions& o, const Request& request, const Answer& found, const Terminal& terminal) {
  using core::json_parts::Json;
  Json json = core::json_of(found);
  const auto in_terms = [&](std::string_view name, [[maybe_unused]] bool prefill) {
    if constexpr (std::same_as<Request, ServeRequest>)
      return in_terms_of_commands(found, request.model.name, name, prefill);
    else
      return in_terms_of_commands(found, name);
  };
  const plan::ValueOf value_of = [&](const std::string& name) -> Json {
    if (Json other = in_terms(name, false); !other.is_null()) return other;
    for (const Json* of : {&json.at("layouts").front(), &json})
      if (of->contains(name)) return of->at(name);
    const auto fields = fields_of<Request>();
    const auto field = std::find_if(fields.begin(), fields.end(), [&](const Field& one) { return one.name == name; });
    return field == fields.end() ? Json() : core::json_parts::json_value(*field->type, field->in(&request));
  };
  const plan::LaunchCommand launched = plan::launch_of(o.launch, o.train ? "train" : "serve", value_of);
  std::vector<std::string> commands{launched.command}, by_hand = engines_to_start(found);
  by_hand.insert(by_hand.end(), launched.by_hand.begin(), launched.by_hand.end());
  if constexpr (std::same_as<Request, ServeRequest>)
    if (found.layouts.front().disaggregated) {
      const plan::LaunchCommand prefill = plan::launch_of(o.launch, "serve", [&](const std::string& name) { return in_terms(name, true); });
      commands.insert(commands.begin(), prefill.command);
      for (const std::string& one : prefill.by_hand)
        if (std::find(by_hand.begin(), by_hand.end(), one) == by_hand.end()) by_hand.push_back("prefill workers: " + one);
    }
  if (o.json) {
    json["launch"] = commands.back();
    if (commands.size() > 1) json["launch_prefill"] = commands.front();
    if (!by_hand.empty()) json["launch_by_hand"] = by_hand;
    if (!launched.notes.empty()) json["launch_notes"] = launched.notes;
    out = core::printed(json);
    return;
  }
  Page page(terminal);
  page.section(commands.size() > 1 ? "Start a prefill worker, and a decode worker" : "Start it");
  for (const std::string& command : commands) page.add(wrapped_command("  ", command, terminal.columns));
  for (const std::string& one : by_hand) page.say("By hand: {}.", one);
  for (const std::string& note : launched.notes) page.say(note);
  out += page.text();
}

/// The request with the stack of the program that is to be started.
template <class Request>
[[nodiscard]] Request to_launch(const PlanOptions& o, Request request) {
  if constexpr (std::same_as<Request, PlanRequest>)
    if (!o.launch.empty() && request.system) {
      const std::string named = request.stack.name.empty() ? plan::stack_to_launch(o.launch, "", plan::stack_on({}, *request.system.get({})).name)
                                                           : plan::stack_to_launch(o.launch, request.stack.name, "");
      if (!named.empty()) request.stack = named;
      const plan::MemoryStack& memory = plan::stack_on(request.stack, *request.system.get({})).value->memory;
      if (request.precision == plan::Precision::fp8 && !request.fp8_recipe && !memory.fp8_tensor_scaled)
        request.fp8_recipe = plan::Fp8Recipe::blockwise;
    }
  return request;
}

template <class Request>
[[nodiscard]] std::string answered(const PlanOptions& o, const Request& request, const Terminal& terminal) {
  const Request asked = to_launch(o, request);
  auto found = spelled_answer(asked);
  if constexpr (std::same_as<Request, PlanRequest>) {
    if (o.json) found.best = best_of_job(found);
    if (!o.trace.empty()) write_timeline(found, o.trace.path);
  }
  std::string out = shown(found, o.json, terminal, [&](Page& page, const auto& a) {
    text_of(page, a);
    if (!o.trace.empty()) page.say("The step is written to {0}: fabricost trace {0} reads it.", o.trace.path);
  });
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
  for (const auto& [option, given] : {std::pair{"--launch-flags", o.launch}, {"--find", o.find}, {"--vary", o.vary}})
    if (o.rl && !given.empty()) throw RequestError(fmt::format("{} is of plan train and plan serve; leave it out of plan rl", option));
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
  sub.add_option("--find", o->find, "How much is enough: gpus, batch, ... (fabricost need)")->option_text("UNKNOWN");
  sub.add_option("--vary", o->vary, "Vary the machine: domain=8,16 (fabricost explore)")->option_text("NAME=VALUES...");
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
