/// Software stacks: data/stacks/*.yaml, and their factors from published runs (data/workloads/stacks.yaml).

#include <fabricost/plan/specs/stacks.hpp>

#include "specs/store.hpp"
#include "text/joined.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace fabricost::plan {

namespace {

void read_memory(MapReader& in, MemoryStack& into) {
  in.text("notes");
  const auto number = [&](std::string_view key, double& value, double max) { value = in.number(key, value, 0, max); };
  const auto flag = [&](std::string_view key, bool& value) { value = in.flag(key, value); };
  number("weight", into.weight, 8);
  number("gradient", into.gradient, 8);
  number("optimizer", into.optimizer, 32);
  number("master", into.master, 8);
  number("gathered_weight", into.gathered_weight, 8);
  number("fp8_weight_copies", into.fp8_weight_copies, 8);
  number("fp4_weight_copies", into.fp4_weight_copies, 8);
  number("fp8_input", into.fp8_input, 8);
  number("fp4_input", into.fp4_input, 8);
  flag("master_remainders", into.master_remainders);
  flag("fp8_parameters", into.fp8_parameters);
  flag("fp8_tensor_scaled", into.fp8_tensor_scaled);
  number("accumulated_gradient", into.accumulated_gradient, 8);
  flag("frees_gradients", into.frees_gradients);
  flag("embedding_sharded", into.embedding_sharded);
  flag("flash_attention", into.flash_attention);
  flag("dropout", into.dropout);
  number("selective_keeps", into.selective_keeps, 1);
  flag("shards_stored", into.shards_stored);
  flag("keeps_gathered", into.keeps_gathered);
  flag("keeps_routed_output", into.keeps_routed_output);
  number("routed_load", into.routed_load, 100);
  number("logit", into.logit, 64);
  flag("logits_sharded", into.logits_sharded);
  number("weight_gradient", into.weight_gradient, 8);
  number("pipe_buffer", into.pipe_buffer, 64);
  number("norm_input", into.norm_input, 16);
  number("activation_input", into.activation_input, 4);
  number("adapter_mask", into.adapter_mask, 4);
  number("graph_buffer", into.graph_buffer, 64);
  number("bucket_parameters", into.bucket_parameters, 1e12);
  flag("planned", into.planned);
  into.gathered_layers = in.count("gathered_layers", into.gathered_layers, 0, 1000);
  for (const auto& [key, value] :
       {std::pair{"context", &into.context}, std::pair{"communicator", &into.communicator}, std::pair{"extra", &into.extra}})
    if (const auto size = in.quantity(key, QuantityKind::size)) *value = size->number;
  number("fragmentation", into.fragmentation, 1);
}

/// A list of generations whose steps were seen, with what the model misses them by.
StepsSeen read_seen(MapReader& in, std::string_view key, double spread) {
  StepsSeen out;
  for (const SpecNode* item : in.texts(key)) {
    if (const auto g = parse_enum<Generation>(item->text, generation_names))
      out.add({*g, spread});
    else
      in.fault(*item, key, fmt::format("\"{}\" is no generation of GPUs", clipped(item->text)),
               fmt::format("one of {}", joined(generation_names)));
  }
  return out;
}

/// Rooflines of one's own kernels: by GPU, then by kind and precision, as in `gemm_fp8`.
void read_kernels(MapReader& gpus, std::vector<OwnKernel>& into) {
  gpus.each_entry([&](const std::string& gpu, MapReader& of) {
    for (std::size_t kind = 0; kind < kernel_kind_names.size(); ++kind)
      for (std::size_t precision = 0; precision < kernel_precision_names.size(); ++precision)
        of.section(fmt::format("{}_{}", kernel_kind_names[kind], kernel_precision_names[precision]), [&](MapReader& one) {
          OwnKernel own{.gpu = gpu, .kind = static_cast<KernelKind>(kind), .precision = static_cast<KernelPrecision>(precision)};
          own.rate.share = one.number("share", 1, 1e-3, 1);
          own.rate.memory = one.number("memory", 1, 1e-3, 1);
          if (const auto start = one.quantity("start", QuantityKind::time)) own.rate.start = start->number;
          if (const auto depth = one.quantity("depth", QuantityKind::time)) own.rate.depth = depth->number;
          own.spread = one.number("spread", prior::stack::spread, 0.001, 2);
          own.rows = one.count("rows", 0, 0, 1000000);
          into.push_back(std::move(own));
        });
  });
}

Stack read_stack(MapReader& in) {
  in.take("extends");
  in.text("notes");
  static_cast<void>(in.texts("published"));  // which published rows ran it: fabricost.evaluation
  Stack s;
  s.name = in.name("name", true);
  s.title = in.text("title");
  s.attention = in.choice("attention", attention_kernel_names, s.attention);
  s.fp8_attention = in.flag("fp8_attention", s.fp8_attention);
  s.old_kernels = in.flag("old_kernels", s.old_kernels);
  s.eager_loss = in.flag("eager_loss", s.eager_loss);
  s.elementwise = in.number("elementwise", s.elementwise, 0.1, 10);
  s.update_cycles = in.number("update_cycles", s.update_cycles, 0, 1000);
  s.tensor_exposed = in.number("tensor_exposed", s.tensor_exposed, 0, 1);
  s.data_exposed = in.number("data_exposed", s.data_exposed, 0, 1);
  s.context_exposed = in.number("context_exposed", s.context_exposed, 0, 1);
  s.expert_exposed = in.number("expert_exposed", s.expert_exposed, 0, 1);
  s.gradient_bytes = in.number("gradient_bytes", s.gradient_bytes, 1, 8);
  s.accumulation_bytes = in.number("accumulation_bytes", s.accumulation_bytes, 0, 200);
  s.shard_exposed = in.number("shard_exposed", s.shard_exposed, 0, 1);
  s.launches = in.number("launches", s.launches, 0, 10);
  s.compute_share = in.fraction("compute_share", s.compute_share);
  s.deduplicated = in.flag("deduplicated", s.deduplicated);
  s.fused_experts = in.flag("fused_experts", s.fused_experts);
  s.offloads_inputs = in.flag("offloads_inputs", s.offloads_inputs);
  s.prunes_recompute = in.flag("prunes_recompute", s.prunes_recompute);
  in.section("runs", [&](MapReader& runs) {
    if (runs.has("zero")) s.runs.zero.clear();
    for (const SpecNode* item : runs.texts("zero")) {
      if (item->text.size() == 1 && item->text >= "0" && item->text <= "3")
        s.runs.zero.push_back(item->text.front() - '0');
      else
        runs.fault(*item, "zero", fmt::format("\"{}\" is no ZeRO stage", clipped(item->text)), "0 to 3");
    }
    s.runs.recomputes = runs.choice("recomputes", recomputes_names, s.runs.recomputes);
    s.runs.divides_any = runs.flag("divides_any", s.runs.divides_any);
    s.runs.any_rank_order = runs.flag("any_rank_order", s.runs.any_rank_order);
  });
  in.section("memory", [&](MapReader& memory) { read_memory(memory, s.memory); });
  if (in.has("schedules")) s.schedules.clear();
  for (const SpecNode* item : in.texts("schedules")) {
    if (const auto known = parse_pipeline_schedule(item->text); known && *known != PipelineSchedule::none)
      s.schedules.push_back(*known);
    else
      in.fault(*item, "schedules", fmt::format("\"{}\" is no pipeline schedule", clipped(item->text)),
               fmt::format("one of {}", joined(pipeline_schedule_names)));
  }
  in.section("kernels", [&](MapReader& gpus) { read_kernels(gpus, s.kernels = {}); });
  s.factor_of = in.text("factor_of");
  s.scale = in.number("scale", s.scale, 0.2, 5);
  s.release = in.number("release", s.release, 0.2, 5);
  s.spread = in.number("spread", s.spread, 0.01, 2);
  s.seen = read_seen(in, "seen", s.spread);
  return s;
}

/// Results of published runs for whole stacks (data/workloads/stacks.yaml).
void read_fitted(MapReader& in, std::vector<FittedStack>& into) {
  for (const char* key : {"name", "title", "date", "notes"}) in.text(key);
  in.needed_section("stacks", [&](MapReader& stacks) {
    stacks.each_entry([&](const std::string& key, MapReader& one) {
      FittedStack fitted{.name = key};
      fitted.factor = one.text("factor_of");
      if (fitted.factor.empty()) fitted.factor = key;
      fitted.scale = one.number("scale", 1, 0.2, 5);
      fitted.spread = one.number("spread", fitted.spread, 0.01, 2);
      fitted.rows = one.count("rows", 0, 0, 1000000);
      fitted.seen = read_seen(one, "generations", fitted.spread);
      fitted.seen.experts = one.flag("experts", false);
      fitted.seen.fp4 = one.flag("fp4", false);
      into.push_back(std::move(fitted));
    });
  });
}

/// data/workloads/stacks.yaml, if it exists.
std::vector<FittedStack> fitted_stacks(SpecStore& library) {
  std::vector<FittedStack> out;
  if (!library.find("workloads", "stacks").empty())
    read_document(library.resolve("workloads", "stacks"), [&](MapReader& in) { read_fitted(in, out); });
  return out;
}

Stack load(SpecStore& library, std::string_view name_or_path, const std::vector<FittedStack>& fitted) {
  std::vector<std::string> chain;  // from the first recipe to the stack itself
  const SpecNode tree = library.resolve("stacks", name_or_path, &chain);
  Stack out;
  read_document(tree, [&](MapReader& in) { out = read_stack(in); });
  const double own_scale = out.scale;
  const std::string own_name = out.name;
  const auto is_fitted = [&](const std::string& one) {
    return std::any_of(fitted.begin(), fitted.end(), [&](const FittedStack& f) { return f.name == one; });
  };
  if (!out.kernels.empty())  // they change no recipe, whose steps say how far it misses
    if (const auto recipe = std::find_if(chain.rbegin(), chain.rend(), is_fitted); recipe != chain.rend()) out.name = *recipe;
  take_fitted(out, fitted);
  out.name = own_name;
  if (tree.find("scale") != nullptr) out.scale = own_scale;
  return out;
}

}  // namespace

Stack load_stack(std::string_view name_or_path) {
  SpecStore library;
  return load(library, name_or_path, fitted_stacks(library));
}

Stack published_kernels(std::string_view group) {
  SpecStore library;
  Stack out{.name = std::string{group}};
  std::vector<FittedStack> fitted = fitted_stacks(library);
  std::erase_if(fitted, [](const FittedStack& one) { return one.name == unseen_program; });  // of programs alone
  take_fitted(out, fitted);
  return out;
}

std::vector<std::string> stack_names() { return names_in("stacks"); }

std::vector<std::string> stacks_fitted_on(Generation generation) {
  SpecStore library;
  const std::vector<FittedStack> fitted = fitted_stacks(library);
  std::vector<std::string> out = stack_names();
  std::erase_if(out, [&](const std::string& name) {
    return std::none_of(fitted.begin(), fitted.end(), [&](const FittedStack& one) { return one.name == name && one.seen.of(generation); });
  });
  return out;
}

}  // namespace fabricost::plan
