/// A PlanRequest as the question that the search answers: the job, its recipe and its kernels, with the stack's where none are given.

#include "answers/recipe.hpp"
#include "fields/refuse_given.hpp"
#include "text/joined.hpp"

#include <fabricost/plan/answers/plan.hpp>
#include <fabricost/plan/specs/sites.hpp>
#include <fabricost/plan/specs/stacks.hpp>
#include <fabricost/text/ranges.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <string>
#include <vector>

namespace fabricost::plan {
namespace {

void choose_routing(const Routing& routing, Stack& out) {
  if (routing.kind == RoutingKind::histogram) throw Refusal("<routing>: training takes balanced, uniform or zipf, no counts");
  out.routing = routing.kind;
  if (routing.kind == RoutingKind::zipf) out.zipf_exponent = routing.exponent;
}

/// The set of the named values: "mlp", or "mlp,moe_act".
template <class E, std::size_t N>
[[nodiscard]] SetOf<E> set_of(const std::vector<std::string>& texts, const std::array<std::string_view, N>& names, std::string_view field) {
  SetOf<E> out;
  for (const std::string& text : texts)
    for (std::size_t from = 0; from <= text.size();) {
      const std::size_t end = std::min(text.find(',', from), text.size());
      const std::string one = text.substr(from, end - from);
      const auto known = parse_enum<E>(one, names);
      if (!known) throw Refusal(fmt::format("<{}>: {}", field, unknown_text(one, "one of its names", names)));
      out.add(*known);
      from = end + 1;
    }
  return out;
}

/// The matrix that Megatron Bridge fuses one of Hugging Face's modules into (peft/lora.py); empty for any other name.
[[nodiscard]] std::string_view fused_module(std::string_view module) {
  if (module == "q_proj" || module == "k_proj" || module == "v_proj") return "linear_qkv";
  if (module == "o_proj") return "linear_proj";
  if (module == "gate_proj" || module == "up_proj") return "linear_fc1";
  return module == "down_proj" ? "linear_fc2" : "";
}

[[nodiscard]] double bytes_of(StateFormat format) {
  switch (format) {
    case StateFormat::fp32: return 4;
    case StateFormat::bf16:
    case StateFormat::fp16: return 2;
    case StateFormat::fp8: return 1;
    case StateFormat::none: return 0;
  }
  return 0;
}

/// The optimizer's bytes per parameter: those that are given instead of the stack's.
void choose_memory(const PlanRequest& r, Stack& stack) {
  MemoryStack& m = stack.memory;
  if (r.main_params_dtype || r.exp_avg_dtype || r.exp_avg_sq_dtype) {
    const auto moment = [](const std::optional<StateFormat>& given, std::string_view field, double otherwise) {
      if (given == StateFormat::none) throw Refusal(fmt::format("<{}>: Adam has both moments; take fp32, bf16, fp16 or fp8", field));
      return given ? bytes_of(*given) : otherwise;
    };
    if (r.main_params_dtype == StateFormat::fp8 || r.main_params_dtype == StateFormat::bf16)
      throw Refusal("<main_params_dtype>: take fp32, fp16 or none");
    const double of_stack = (m.optimizer - m.master) / 2;
    const double first = moment(r.exp_avg_dtype, "exp_avg_dtype", of_stack);
    const double second = moment(r.exp_avg_sq_dtype, "exp_avg_sq_dtype", r.exp_avg_dtype ? first : of_stack);
    if (r.main_params_dtype) m.master = bytes_of(*r.main_params_dtype);
    m.optimizer = m.master + first + second;
    m.master_remainders = m.master_remainders && m.master == bytes_of(StateFormat::fp32);
  }
  m.master_remainders = r.store_param_remainders.value_or(m.master_remainders);
  if (m.master_remainders && r.main_params_dtype.value_or(StateFormat::fp32) != StateFormat::fp32)
    throw Refusal("<store_param_remainders>: only 32-bit master weights leave a remainder; give <main_params_dtype> fp32");
  if (r.grad_reduce_in_fp32) m.gradient = stack.gradient_bytes = *r.grad_reduce_in_fp32 ? 4 : 2;
  m.fp8_parameters = r.fp8_param_gather.value_or(m.fp8_parameters);
  if (r.activation_func_fp8_input_store) m.activation_input = *r.activation_func_fp8_input_store ? 1 : 2;
}

/// Scales in bytes: of a tensor none worth counting, 4 a block of 128 x 128 weights or 128 inputs, 1 for 32 values. A stack that casts
/// weights each time, or saves inputs in 16 bit, does so with every recipe.
void choose_fp8(Fp8Recipe recipe, MemoryStack& m) {
  const bool blocks = recipe == Fp8Recipe::blockwise, micro = recipe == Fp8Recipe::mxfp8;
  m.fp8_tensor_scaled = !blocks && !micro;
  if (m.fp8_weight_copies > 0) m.fp8_weight_copies = 2 * (1 + (blocks ? 4.0 / (128 * 128) : micro ? 1.0 / 32 : 0));
  if (m.fp8_input < 2) m.fp8_input = 1 + (blocks || micro ? 1.0 / 32 : 0);
}

/// Share of an exchange that stays exposed: that of a stack known to overlap it, 1 without overlap.
[[nodiscard]] double exposed(bool overlaps, double Stack::*share, const Stack& stack, const char* known) {
  return overlaps ? std::min(stack.*share, load_stack(known).*share) : 1;
}

/// Kernels and overlap, where the request differs from the stack.
void choose_kernels(const PlanRequest& r, const Model& model, Stack& stack) {
  const auto needs = [](bool given, bool met, std::string_view field, std::string_view what) {
    if (given && !met) throw Refusal(fmt::format("<{}>: {}", field, what));
  };
  const bool narrow = r.precision == Precision::fp8 || r.precision == Precision::fp4;
  const std::string dense = fmt::format("{} has no experts; leave it out", model.name);
  needs(r.fp8_recipe.has_value(), r.precision == Precision::fp8, "fp8_recipe", "products are not fp8; give <precision=fp8>");
  needs(r.fp8_attention.value_or(false), narrow, "fp8_attention", "needs narrow products; give <precision=fp8>");
  needs(r.fp8_attention.value_or(false), r.attention.value_or(stack.attention) != AttentionKernel::math, "fp8_attention",
        "attention that writes its scores has no fp8; take another <attention>");
  needs(r.moe_dispatcher.has_value(), model.mixture(), "moe_dispatcher", dense);
  needs(r.overlap_moe_comm.has_value(), model.mixture(), "overlap_moe_comm", dense);
  needs(r.routing.has_value(), model.mixture(), "routing", dense);
  needs(r.capacity.has_value(), model.mixture(), "capacity", dense);
  needs(r.fp8_param_gather.value_or(false), narrow, "fp8_param_gather", "parameters are not fp8; give <precision=fp8>");
  if (r.fp8_recipe) choose_fp8(*r.fp8_recipe, stack.memory);
  stack.fp8_attention = r.fp8_attention.value_or(stack.fp8_attention);
  if (r.attention) {
    stack.attention = *r.attention;
    stack.memory.flash_attention = *r.attention != AttentionKernel::math;
  }
  if (r.moe_dispatcher)
    stack.deduplicated = *r.moe_dispatcher != Dispatcher::alltoall, stack.fused_experts = *r.moe_dispatcher == Dispatcher::hybridep;
  if (r.overlap_moe_comm) stack.expert_exposed = exposed(*r.overlap_moe_comm, &Stack::expert_exposed, stack, "nemo-mlperf");
  if (r.prefetch_layers) {
    stack.memory.gathered_layers = 1 + *r.prefetch_layers;
    if (*r.prefetch_layers == 0) stack.shard_exposed = 1;
  }
  stack.input = numbers_in(r.data_time).value_or(0);
  stack.evaluation = r.evaluation_share;
  if (r.tp_comm_overlap) stack.tensor_exposed = exposed(*r.tp_comm_overlap, &Stack::tensor_exposed, stack, "nemo");
  if (r.overlap_grad_reduce) stack.data_exposed = exposed(*r.overlap_grad_reduce, &Stack::data_exposed, stack, unfitted_stack);
}

/// The first of the modules to recompute that the model does not have; empty where it has all.
[[nodiscard]] std::string_view absent_module(const TrainingQuestion& q) {
  using enum RecomputeModule;
  const auto word = [](RecomputeModule module) { return recompute_module_names[static_cast<std::size_t>(module)]; };
  for (const RecomputeModule of_experts : {moe, moe_act})
    if (q.recompute_modules.has(of_experts) && !q.model.mixture()) return word(of_experts);
  if (q.recompute_modules.has(shared_experts) && q.model.shared_experts == 0) return word(shared_experts);
  return q.recompute_modules.has(mla_up_proj) && !q.model.latent() ? word(mla_up_proj) : std::string_view{};
}

/// Layers that each stage recomputes: numbers, or `fewest`.
void choose_by_stage(const PlanRequest& r, TrainingQuestion& q) {
  const std::string& text = r.recompute_num_layers_per_stage;
  if (text.empty()) return;
  if (q.recompute.value_or(Recompute::full) != Recompute::full || r.recompute_num_layers)
    throw Refusal(
        "<recompute_num_layers_per_stage> says which layers <recompute> full repeats; leave <recompute> and "
        "<recompute_num_layers> out");
  q.fewest_by_stage = text == "fewest";
  if (q.fewest_by_stage) {
    if (q.recompute)
      throw Refusal("<recompute_num_layers_per_stage> fewest recomputes only where a layout does not fit; leave <recompute> out");
    return;
  }
  q.recompute = Recompute::full;
  for (const char *at = text.data(), *const end = at + text.size(); at <= end; ++at) {
    int layers = -1;
    const auto [stopped, fault] = std::from_chars(at, end, layers);
    if (fault != std::errc{} || layers < 0 || (stopped != end && *stopped != ','))
      throw Refusal(fmt::format("<recompute_num_layers_per_stage> \"{}\": write layers of each stage, as 4,3,2,0, or fewest", text));
    q.recompute_by_stage.push_back(layers);
    at = stopped;
  }
  if (!r.pp || q.recompute_by_stage.size() != static_cast<std::size_t>(*r.pp))
    throw Refusal(fmt::format("<recompute_num_layers_per_stage>: {} numbers; give as many as stages, <pp>", q.recompute_by_stage.size()));
}

void choose_recipe(const PlanRequest& r, TrainingQuestion& q) {
  q.recompute_modules = set_of<RecomputeModule>(r.recompute_modules, recompute_module_names, "recompute_modules");
  if (!q.recompute_modules.empty()) {
    if (q.recompute.value_or(Recompute::selective) != Recompute::selective)
      throw Refusal("<recompute_modules> are those of <recompute> selective; leave one of them out");
    q.recompute = Recompute::selective;
  }
  if (r.recompute_num_layers) {
    if (q.recompute.value_or(Recompute::full) != Recompute::full)
      throw Refusal("<recompute_num_layers> counts layers of <recompute> full; leave one of them out");
    q.recompute = Recompute::full;
    q.recompute_layers = r.recompute_num_layers;
  }
  choose_by_stage(r, q);
  q.offload_layers = r.cpu_offloading_num_layers;
  q.offload_optimizer = r.optimizer_offload_fraction;
  q.document = r.document;
  q.cuda_graphs = r.cuda_graphs.value_or(false);
  q.adapters.rank = r.lora_rank.value_or(0);
  for (const std::string& modules : r.lora_modules)
    for (const std::string_view module : core::listed(modules))
      if (const std::string_view of = fused_module(module); !of.empty())
        throw Refusal(fmt::format("<lora_modules>: {} is in {}; give that", module, of));
  q.adapters.modules = set_of<AdapterModule>(r.lora_modules, adapter_module_names, "lora_modules");
  if (!q.adapters.modules.empty() && !r.lora_rank) throw Refusal("<lora_modules> need the rank of the adapters, <lora_rank>");
  q.adapters.in_4_bit = r.load_in_4bit;
  q.split = {.first = r.decoder_first_pipeline_num_layers.value_or(0),
             .last = r.decoder_last_pipeline_num_layers.value_or(0),
             .embedding = r.account_for_embedding_in_pipeline_split,
             .loss = r.account_for_loss_in_pipeline_split};
  q.reshards = r.reshard_after_forward.value_or(true);
  if (q.adapters.modules.empty())
    for (std::size_t i = 0; i < adapter_module_names.size(); ++i) q.adapters.modules.add(static_cast<AdapterModule>(i));
}

/// Counts of layers and tokens that the model or the sequence does not have.
void check_counts(const TrainingQuestion& q) {
  if (const int layers = q.recompute_layers.value_or(0); layers > q.model.layers)
    throw Refusal(
        fmt::format("<recompute_num_layers> {}: {} has {} layers; take at most {}", layers, q.model.name, q.model.layers, q.model.layers));
  const int most = q.model.layers - (offloads_layers(q) ? 1 : 0);  // Megatron-Core keeps the last one's
  if (const int layers = q.offload_layers.value_or(0); layers > most)
    throw Refusal(
        fmt::format("<cpu_offloading_num_layers> {}: {} has {} layers; take at most {}", layers, q.model.name, q.model.layers, most));
  if (const int tokens = q.document.value_or(0); tokens > q.sequence)
    throw Refusal(fmt::format("<document> {}: longer than a sequence of {} tokens; take at most {}", tokens, q.sequence, q.sequence));
}

/// Tokens of an image or a video of `pixels`, "832x480x81": one for each patch of the width, of the height and of the frames after the
/// first.
[[nodiscard]] int tokens_of_image(const std::string& pixels, const Model& m) {
  if (m.patch_pixels == 0) throw Refusal(fmt::format("<image>: {} has no patches of pixels; give <sequence>", m.name));
  std::array<int, 3> size{0, 0, 1};
  std::size_t given = 0;
  const char* at = pixels.data();
  const char* const end = at + pixels.size();
  while (given < size.size()) {
    const auto [stopped, fault] = std::from_chars(at, end, size[given]);
    if (fault != std::errc{} || size[given] < 1) {
      given = 0;
      break;
    }
    ++given;
    at = stopped;
    if (at == end || *at != 'x') break;
    ++at;
  }
  if (given < 2 || at != end)
    throw Refusal(fmt::format("<image> \"{}\": write width x height, as 512x512, or with the frames of a video, as 832x480x81", pixels));
  const int side = m.patch_pixels, frames = m.patch_frames;
  if (size[0] % side != 0 || size[1] % side != 0 || (size[2] - 1) % frames != 0)
    throw Refusal(fmt::format("<image> {}: a token of {} is {} x {} pixels of {} frames after the first; take {}x{}x{}", pixels, m.name,
                              side, side, frames, (size[0] + side - 1) / side * side, (size[1] + side - 1) / side * side,
                              (size[2] - 1) / frames * frames + 1));
  const int columns = size[0] / side, rows = size[1] / side, slices = 1 + (size[2] - 1) / frames;
  const double tokens = static_cast<double>(columns) * rows * slices;
  if (!any_count.holds(tokens)) throw Refusal(fmt::format("<image> {}: {:.0f} tokens are too many", pixels, tokens));
  return static_cast<int>(tokens);
}

/// Fields of a transformer, which a recommendation model has not. \throws Refusal
void check_recommender(const PlanRequest& r, TrainingQuestion& q) {
  for (const std::string_view field : {"sequence", "tp", "max_tp", "pp", "vp", "cp", "ep", "expert_tp", "dp", "zero", "shard", "microbatch",
                                       "sequence_parallel", "placing", "document", "lora_rank", "pareto", "sites", "recompute"})
    if (is_given(r, field) || (field == "recompute" && q.recompute))
      throw Refusal(
          fmt::format("<{}>: {} is a recommendation model, whose tables are spread over all GPUs and whose dense layers each has a copy "
                      "of; leave it out",
                      field, q.model.name));
  refuse_given(r, {"cpu_offloading_num_layers", "optimizer_offload_fraction"},
               "<{}>: " + q.model.name + " is a recommendation model, whose states stay on the GPUs; leave it out");
  if (q.precision == Precision::fp8 || q.precision == Precision::fp4)
    throw Refusal(fmt::format("<precision>: the dense layers of {} are priced in bf16 and fp16 only", q.model.name));
  q.sequence = 1;  // a sample
}

/// \throws Refusal for fields of several sites without them, and the other way round
void check_sites(const PlanRequest& r, const Model& m) {
  if (!r.sites)
    return refuse_given(r,
                        {"site_bytes_per_second", "site_distance_km", "sync_every", "sync_fragments", "sync_overlap", "sync_precision",
                         "sync_penalty", "site_availability"},
                        "<{}> is of several sites; say how many with <sites>");
  if (!r.site_rate) throw Refusal("at which rate does a site reach the others? Give <site_bytes_per_second>", true);
  const int every = r.sync_every.value_or(static_cast<int>(load_site_facts().steps)), most = std::min(every, m.layers);
  if (r.sync_fragments.value_or(1) > most)
    throw Refusal(fmt::format("<sync_fragments> {}: {} has {} layers and a round {} steps; take at most {}", *r.sync_fragments, m.name,
                              m.layers, every, most));
  if (r.sync_overlap.value_or(0) > every)
    throw Refusal(fmt::format("<sync_overlap> {}: a round has {} steps; take at most {}", *r.sync_overlap, every, every));
}

}  // namespace

void need_job(const PlanRequest& r) {
  if (!r.model) throw Refusal("which model? Name it with <model> (fabricost model lists them)", true);
  if (!r.gpus) throw Refusal("on how many GPUs? Give <gpus> (need, or --find gpus, finds how many are enough)", true);
  if (!r.global_batch) throw Refusal("how many sequences a step? Give <global_batch>", true);
  check_ranges(r);
}

NamedStack stack_on(const NamedStack& stack, const System& system) {
  NamedStack out = stack ? stack : NamedStack{usual_stack(system.gpu.generation)};
  out.value = std::make_shared<const Stack>(out.load());
  return out;
}

std::string stack_note(const Stack& stack, const System& system) {
  const Generation g = system.gpu.generation;
  if (stack.scale_given || stack.seen.of(g)) return "";
  const std::vector<std::string> measured = stacks_fitted_on(g);
  return fmt::format("stack {} was not measured on {}, so that its times are less sure; {}", stack.name, name(g),
                     measured.empty() ? "none was" : fmt::format("measured there: {} (<stack>)", joined(measured)));
}

TrainingQuestion training_question(const PlanRequest& r, const System& system) {
  need_job(r);
  TrainingQuestion q;
  q.gpus = *r.gpus;
  q.global_batch = *r.global_batch;
  q.sequence = r.sequence;
  q.precision = r.precision;
  q.max_tp = r.max_tp.value_or(0);
  q.tp = r.tp;
  q.pp = r.pp;
  q.vp = r.vp;
  q.cp = r.cp;
  q.ep = r.ep;
  q.dp = r.dp;
  q.expert_tp = r.expert_tp;
  q.zero = r.zero;
  q.shard = r.shard.value_or(0);
  q.microbatch = r.microbatch;
  q.schedule = r.schedule;
  q.context = r.cp_comm_type;
  if (q.vp && *q.vp > 1 && (q.schedule == PipelineSchedule::one_f_one_b || q.schedule == PipelineSchedule::none))
    throw Refusal(
        fmt::format("<vp> {}: {} runs one chunk of layers a stage; leave <schedule> out, or take interleaved", *q.vp, name(*q.schedule)));
  q.recompute = r.recompute;
  q.sequence_parallel = r.sequence_parallel;
  q.placing = r.placing;
  q.headroom = r.headroom;
  q.top = r.top;
  q.wanted = r.wanted;
  q.batch_within = r.batch_within;
  q.plain_within = r.plain_within;
  q.stack = stack_on(r.stack, system).load();
  if (q.pp.value_or(1) > 1 && !q.schedule && q.stack.schedules.empty())
    throw Refusal(fmt::format("<pp> {}: {} runs no pipeline; leave it out, or say with <schedule> what runs one", *q.pp, q.stack.title));
  if (q.vp && *q.vp > 1 && !q.schedule) {
    const auto own = std::find_if(q.stack.schedules.begin(), q.stack.schedules.end(), takes_chunks);
    q.schedule = own == q.stack.schedules.end() ? PipelineSchedule::interleaved : *own;
  }
  q.stack.scale = r.stack_scale.value_or(q.stack.scale);
  q.stack.scale_given = r.stack_scale.has_value();
  q.stack.capacity = r.capacity.value_or(q.stack.capacity);
  if (r.routing) choose_routing(*r.routing, q.stack);
  choose_memory(r, q.stack);
  choose_recipe(r, q);
  q.model = r.model.load();
  if (const std::string_view absent = absent_module(q); !absent.empty())
    throw Refusal(fmt::format("<recompute_modules>: {} has no {}", q.model.name, absent));
  if (q.model.vision) {
    if (!r.image.empty()) {
      q.model.image_tokens = tokens_of_image(r.image, *q.model.vision);
      q.model.images = r.images.value_or(1);
    }
    if (r.images && r.image.empty()) throw Refusal("of which size are the <images>? Give <image>, as in 448x448", true);
  } else if (r.images) {
    throw Refusal(fmt::format("<images>: {} has no encoder of images; leave it out", q.model.name));
  } else if (!r.image.empty()) {
    if (r.sequence != PlanRequest{}.sequence) throw Refusal("<image> sets the tokens of a sequence; leave <sequence> out");
    q.sequence = tokens_of_image(r.image, q.model);
  }
  if (r.mtp_num_layers.value_or(0) > 0 && !q.model.causal())
    throw Refusal(fmt::format("<mtp_num_layers>: {} predicts no next tokens; leave it out", q.model.name));
  q.model.predict_layers = r.mtp_num_layers.value_or(q.model.predict_layers);
  if (r.frozen_model) q.model.frozen = std::make_shared<const Model>(r.frozen_model.load());
  choose_kernels(r, q.model, q.stack);
  q.overlaps_tokens = r.overlap_moe_comm.value_or(false);
  q.delayed_scales = r.fp8_recipe == Fp8Recipe::delayed;
  check_counts(q);
  check_sites(r, q.model);
  if (q.model.recommends()) check_recommender(r, q);
  check_recipe(r, q, system);
  q.ways = ways_of({.symmetric = r.symmetric, .nvls = r.nvls}, true);
  if (r.library && !is_nccl(*r.library)) throw Refusal("<library>: of training a release of NCCL, as in <library=nccl-2.18>");
  return q;
}

}  // namespace fabricost::plan
