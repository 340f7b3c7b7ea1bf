/// \file training_rows.cpp
/// Reads published training steps: the rows of training.csv as jobs on machines.

#include "evaluation/cells.hpp"
#include "evaluation/published_machine.hpp"
#include "specs/stacks.hpp"

#include <fabricost/plan/evaluation/workload.hpp>
#include <fabricost/hardware/slice.hpp>
#include <fabricost/plan/memory/memory.hpp>
#include <fabricost/specs/load.hpp>
#include <fabricost/plan/specs/load_model.hpp>
#include <fabricost/plan/specs/stacks.hpp>
#include <fabricost/plan/training/step.hpp>
#include <fabricost/plan/training/figures.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <regex>
#include <tuple>

namespace fabricost::plan {

namespace {


/// For a model without a file: a gated feed-forward block or not, by the stated number of parameters.
void guess_matrices(Model& m, double stated) {
  m.gated = true;
  const double three = parameters_of(m).total;
  m.gated = false;
  const double two = parameters_of(m).total;
  const std::string name = folded(m.name);
  const bool named = (name.starts_with("gpt") && !name.starts_with("gpt-oss")) || has(name, "mpt") || has(name, "nemotron") ||
                     has(name, "bloom") || has(name, "megatron") || has(name, "mt-nlg");
  m.gated =
      stated > 0 && std::fabs(three / two - 1) > 0.02 ? std::fabs(std::log(three / stated)) < std::fabs(std::log(two / stated)) : !named;
}

/// Models of data/models by the names used in rows, each loaded once.
class Shapes {
 public:
  /// Empty for an unknown name.
  const std::optional<Model>& named(const std::string& wanted) {
    const auto [at, fresh] = read_.try_emplace(wanted);
    if (fresh && !wanted.empty())
      if (const std::string known = model_named(wanted); !known.empty()) at->second = load_model(known);
    return at->second;
  }

 private:
  std::map<std::string, std::optional<Model>> read_;
};

/// The shape of the model: cells of the row take precedence over the model's file.
Model shape_of(Cells& cells, Shapes& shapes, std::string& skipped) {
  const std::string wanted = cells.text("model");
  const std::optional<Model>& known = shapes.named(wanted);
  Model m = known.value_or(Model{});
  m.name = wanted;
  const auto own = [&](std::string_view column, int& into) {
    if (const int value = cells.count(column); value > 0) into = value;
  };
  const int heads = m.heads;
  own("layers", m.layers);
  own("hidden", m.hidden);
  own("heads", m.heads);
  if (!known || m.heads != heads) m.kv_heads = m.heads;
  if (!m.latent()) own("kv_heads", m.kv_heads);
  own("vocab", m.vocab);
  own("experts", m.experts);
  own("top_k", m.top_k);
  own("ffn", m.experts > 0 ? m.expert_ffn : m.ffn);
  if (m.experts > 0 && !known) m.ffn = 0;
  if (m.head_dim == 0 && m.heads > 0) m.head_dim = m.hidden / m.heads;
  if (m.first_dense > 0 && m.layers < 10) m.first_dense = 1;  // small test models keep one dense layer
  if (m.layers < 1 || m.hidden < 1 || m.heads < 1 || m.vocab < 1) {
    skipped = "shape not stated";
    return m;
  }
  if (!known) guess_matrices(m, 1e9 * cells.number("params_b"));
  if (skipped.empty()) {
    try {
      check(m);
    } catch (const RequestError& error) {
      skipped = error.what();
    }
  }
  return m;
}

int bits_of(Precision p) { return p == Precision::fp8 ? 8 : p == Precision::fp4 ? 4 : 16; }

/// The precision of products: "BF16", "amp_fp8", "FP8-MX", "NVFP4", "FP8 rowwise"; an empty cell is bf16.
/// Empty for another word.
std::optional<Precision> precision_of(const std::string& cell) {
  const std::string word = folded(cell);
  if (has(word, "fp4")) return Precision::fp4;
  if (has(word, "fp8")) return Precision::fp8;
  if (has(word, "bf16")) return Precision::bf16;
  if (has(word, "fp16")) return Precision::fp16;
  return word.empty() ? std::optional{Precision::bf16} : std::nullopt;
}

/// A policy of MaxText by its own name.
bool of_maxtext(const std::string& cell) { return has(cell, "minimal") || has(cell, "custom") || has(cell, "offload"); }

/// Recomputation: "none", "selective", "full", also with further words ("selective per-op"). A layout without
/// a stated recomputation is priced without it, as in plan (as_named). MaxText's policies by name are the nearest of the three:
/// "custom" and those that offload keep or move the attention's products and run the feed-forward again, two thirds of a layer or more;
/// "minimal" keeps the outputs of products.
Recompute recompute_of(Cells& cells) {
  const std::string cell = folded(cells.text("recompute"));
  for (std::size_t i = 0; i < recompute_names.size(); ++i)
    if (cell == recompute_names[i] || cell.starts_with(std::string{recompute_names[i]} + " ")) return static_cast<Recompute>(i);
  if (of_maxtext(cell)) return has(cell, "minimal") ? Recompute::selective : Recompute::full;
  return static_cast<Recompute>(cells.one_of("recompute", {"none", "selective", "full"}));
}

/// "LoRA r=16 alpha 32 on qkv and output, base frozen; ... cuda_graph=1; recompute stated as: full method=block layers=21".
void read_adapters(const std::string& notes, Layout& l, std::string& skipped) {
  static const std::regex adapters("LoRA r=(\\d{1,5})[^;]* on ([a-z0-9, ]+)");
  static const std::regex again("recompute stated as: full method=block layers=(\\d{1,4})");
  std::smatch found;
  if (!std::regex_search(notes, found, adapters)) {
    if (has(notes, "LoRA")) skipped = "trains adapters of a rank that is not stated";
    return;
  }
  l.adapters.rank = std::stoi(found[1]);
  const std::string on = found[2];
  static constexpr std::array words{"qkv", "output", "fc1", "fc2"};
  for (std::size_t i = 0; i < words.size(); ++i)
    if (has(on, words[i])) l.adapters.modules.add(static_cast<AdapterModule>(i));
  l.cuda_graphs = has(notes, "cuda_graph=1");
  if (std::regex_search(notes, found, again)) {
    l.recompute = Recompute::full;
    l.recompute_layers = std::stoi(found[1]);
  }
}

/// The modules that selective recomputation repeats: "modules layernorm+moe_act", "selective modules=mlp".
SetOf<RecomputeModule> modules_of(const std::string& notes) {
  SetOf<RecomputeModule> out;
  static const std::regex told("modules[ :=]([^;]*)"), word("[a-z_]+");
  std::smatch found;
  if (!std::regex_search(notes, found, told)) return out;
  const std::string list = found[1];
  for (std::sregex_iterator at(list.begin(), list.end(), word), end; at != end; ++at)
    for (std::size_t i = 0; i < recompute_module_names.size(); ++i)
      if (at->str() == recompute_module_names[i]) out.add(static_cast<RecomputeModule>(i));
  return out;
}

Layout layout_of(Cells& cells, const Model& m, int gpus, std::string& skipped) {
  Layout l;
  l.tp = std::max(1, cells.count("tp", 1));
  l.pp = std::max(1, cells.count("pp", 1));
  l.vp = std::max(1, cells.count("vpp", 1));
  l.cp = std::max(1, cells.count("cp", 1));
  l.ep = std::max(1, cells.count("ep", 1));
  l.microbatch = std::max(1, cells.count("microbatch", 1));
  l.global_batch = cells.count("global_batch");
  l.sequence = cells.count("seq");
  l.zero = cells.count("zero_stage");
  l.sequence_parallel = cells.one_of("sequence_parallel", {"no", "yes"}) == 1;
  l.recompute = recompute_of(cells);
  const std::string& format = cells.text("precision");
  l.block_scales = has(folded(format), "mxfp8") || has(folded(format), "blockwise");
  if (const auto precision = precision_of(format))
    l.precision = *precision;
  else
    skipped = fmt::format("products in \"{}\" are not priced", format.substr(0, 40));
  const std::string& notes = cells.text("notes");
  std::smatch found;
  static const std::regex blocks("full recompute of (\\d{1,4}) of"), inside("expert TP (\\d{1,3})");
  if (std::regex_search(notes, found, blocks)) l.recompute_layers = std::stoi(found[1]);
  if (std::regex_search(notes, found, inside)) l.expert_tp = std::stoi(found[1]);
  if (has(notes, "SHARD_GRAD_OP")) l.zero = 2;
  // pipelined jobs keep gradients between microbatches, whatever they call their ZeRO stage: MegaScale's
  // steps (arXiv 2402.15627, ZeRO-2) take half the time of a reduction after each microbatch
  if (l.zero == 2 && l.pp > 1) l.zero = 1;
  if (has(notes, "CP uses a2a")) l.context = ContextParallel::ulysses;
  if (has(notes, "CP uses all-gather")) l.context = ContextParallel::all_gather;
  read_adapters(notes, l, skipped);
  // Megatron-Core divides experts like the layer unless told not to (expert_tensor_parallel_size); this recipe does not tell
  // (github.com/NVIDIA/dgxc-benchmarking, whose later table of Grok has a column ETP)
  if (m.mixture() && has(cells.text("source"), "grok1/README_314b")) l.expert_tp = l.tp;
  if (l.recompute == Recompute::selective) l.recompute_modules = modules_of(notes);
  if (has(cells.text("schedule"), "DualPipe")) l.schedule = PipelineSchedule::dualpipe;
  const long long product = static_cast<long long>(l.tp) * l.pp * l.cp;
  if (gpus < 1 || l.global_batch < 1 || l.sequence < 1)
    skipped = "GPUs, batch or sequence not stated";
  else if (product > gpus || gpus % product != 0)
    skipped = fmt::format("tp x pp x cp = {} does not divide {} GPUs", product, gpus);
  if (l.zero > 3) cells.fault("zero_stage", "is no stage of ZeRO", "write 0, 1, 2 or 3");
  if (!skipped.empty()) return l;
  l.dp = static_cast<int>(gpus / product);
  if (static_cast<long long>(l.dp) * l.microbatch > l.global_batch)
    skipped = fmt::format("a batch of {} is less than {} replicas x microbatch {}", l.global_batch, l.dp, l.microbatch);
  if (m.experts > 0 && l.ep > m.experts) skipped = "more expert ranks than experts";
  return l;
}

/// Reads the GPU and NICs of the row.
void machine_of(TrainingRow& out, Cells& cells) {
  PublishedMachine machine = published_machine(cells.text("gpu"), cells.text("interconnect"), cells.count("gpus_per_node"));
  out.system = std::move(machine.system);
  out.overrides = std::move(machine.overrides);
  out.memory_rate = machine.memory_rate;
  if (out.system.empty()) out.row.skipped = fmt::format("no machine known with a GPU \"{}\"", cells.text("gpu").substr(0, 40));
}

/// Converts a figure to seconds per step by its group's convention; 0 with a reason if that is impossible.
double seconds_of(const TrainingRow& job, double value, double peak, std::string& skipped) {
  const Model& m = job.model;
  const Layout& l = job.layout;
  const double tokens = static_cast<double>(l.global_batch) * l.sequence;
  const std::string& metric = job.row.metric;
  if (!(value > 0)) {
    skipped = "no figure";
    return 0;
  }
  if (metric == "step_time_s") return value;
  if (metric == "step_time_ms") return value * 1e-3;
  if (metric == "tokens_per_s_per_gpu") return tokens / (value * job.gpus);
  if (metric == "tokens_per_s") return tokens / value;
  if (metric != "tflops_per_gpu" && metric != "model_tflops_per_gpu" && metric != "mfu_pct") {
    skipped = fmt::format("{} is no time of a step", metric);
    return 0;
  }
  if (metric == "mfu_pct" && !(peak > 0)) {
    skipped = "no peak is known that its MFU divides by";
    return 0;
  }
  const double s = l.sequence, h = m.hidden, layers = m.layers;
  double flops = 0;
  if (job.row.group.starts_with("sc21")) {  // equation 3 of Narayanan 2021, with recomputation
    flops = 96.0 * l.global_batch * s * layers * h * h * (1 + s / (6 * h) + m.vocab / (16 * layers * h));
  } else {  // 6 N and all scores
    flops = tokens * (6 * parameters_of(m).multiplied + 12 * layers * m.query_width() * s);
  }
  return metric == "mfu_pct" ? flops / (value / 100 * peak * job.gpus) : flops / (value * 1e12 * job.gpus);
}

}  // namespace

std::vector<TrainingRow> read_training_rows(const std::filesystem::path& file) {
  CsvTable table(file);
  const std::vector<PublishedStack> stacks = shipped_stacks();
  Shapes shapes;
  std::vector<TrainingRow> out;
  while (table.next()) {
    Cells cells(table);
    TrainingRow job;
    job.row = cells.row("measured_metric");
    job.gpus = cells.count("gpus");
    job.source = cells.text("source");
    job.memory_gib = cells.number("memory_gib");
    std::string skipped;
    job.model = shape_of(cells, shapes, skipped);
    job.recompute_stated = !cells.text("recompute").empty() && !of_maxtext(folded(cells.text("recompute")));
    std::string unlaid;
    job.layout = layout_of(cells, job.model, job.gpus, unlaid);
    machine_of(job, cells);
    const std::string ran = fmt::format("{} {} {} {}", job.row.model, cells.text("gpu"), cells.text("source"), cells.text("notes"));
    job.stack = stack_of(stacks, job.row.group, ran).stack.name;
    if (job.row.skipped.empty()) job.row.skipped = !skipped.empty() ? skipped : unlaid;
    const bool failed = folded(cells.text("value")) == "oom";
    const double value = failed ? 0 : cells.number("value");
    job.out_of_memory = failed && job.row.skipped.empty();
    if (job.out_of_memory) job.row.skipped = "ran out of memory";
    if (job.row.skipped.empty())
      job.row.measured = seconds_of(job, value, published_peak(job.system, bits_of(job.layout.precision)), job.row.skipped);
    out.push_back(std::move(job));
  }
  table.finish();
  return out;
}

std::unique_ptr<TrainingMachine> load_training_machine(const std::string& system, const std::vector<std::string>& overrides, int gpus) {
  auto out = std::make_unique<TrainingMachine>();
  out->system = load_system(system, overrides);
  if (gpus > 0) out->system = slice_for(std::move(out->system), gpus);
  out->gpu = Processor::of(out->system);
  out->costs = std::make_unique<GroupCosts>(out->system);
  return out;
}

Processor processor_of(const TrainingRow& row, const TrainingMachine& machine) {
  Processor gpu = machine.gpu;
  if (row.memory_rate > 0) gpu.memory_rate = row.memory_rate;
  return gpu;
}

void predict_training_rows(std::vector<TrainingRow>& rows, const KernelKnowledge& other) {
  TrainingMachines machines;
  std::map<std::string, Stack> stacks;
  for (TrainingRow& job : rows) {
    if (!job.row.skipped.empty()) continue;
    try {
      TrainingMachine& machine = machines.on(job.system, job.overrides, job.gpus);
      const Gpu& part = machine.system.gpu;
      if (job.layout.precision == Precision::fp4 && !(part.fp4.value.value() > 0)) {
        job.row.skipped = fmt::format("{} has no fp4", part.name);
        continue;
      }
      const auto [at, fresh] = stacks.try_emplace(job.stack);
      Stack& stack = at->second;
      if (fresh) {
        stack = load_stack(job.stack);
        if (other.stack) other.stack(stack);
      }
      Processor gpu = processor_of(job, machine);
      if (other.constants) {
        ComputeConstants constants = gpu.constants;
        other.constants(part.generation, constants);
        gpu.use(constants);
      }
      const StepTime step = step_time(job.model, job.layout, stack, gpu, *machine.costs);
      if (!(step.seconds > 0 && std::isfinite(step.seconds))) {
        job.row.skipped = "no positive time came out";
        continue;
      }
      job.row.predicted = step.seconds;
      if (job.recompute_stated)
        job.row.fits = fits(worst_stage(job.model, job.layout, memory_on(stack.memory, part.generation)), machine.gpu.memory);
      const StepWork work = step_work(job.model, job.layout.sequence, job.layout.global_batch, stack.capacity, job.layout.document,
                                      !job.layout.trains_all());
      const StepParts parts = parts_of_step(job.model, job.layout, stack, gpu, *machine.costs);
      std::tie(job.row.low, job.row.high) = step_interval(step, parts, stack, *machine.costs, job.layout.precision, work, job.gpus);
    } catch (const RequestError& error) {
      job.row.skipped = error.what();
    }
  }
}

std::vector<WorkloadRow> predict_memory_rows(const std::vector<TrainingRow>& rows) {
  TrainingMachines machines;
  std::map<std::string, MemoryStack> stacks;
  std::vector<WorkloadRow> out;
  for (const TrainingRow& job : rows) {
    if (!(job.memory_gib > 0) || !job.row.skipped.empty() || !job.recompute_stated) continue;
    const auto [stack, fresh] = stacks.try_emplace(job.stack);
    if (fresh) {
      stack->second = load_stack(job.stack).memory;
      stack->second.context = stack->second.communicator = stack->second.fragmentation = 0;
    }
    const MemoryStack here = memory_on(stack->second, machines.on(job.system, job.overrides, job.gpus).system.gpu.generation);
    WorkloadRow row = job.row;
    row.metric = "memory_gib";
    row.measured = job.memory_gib;
    row.predicted = worst_stage(job.model, job.layout, here).total() / gibibyte;
    row.low = row.high = 0;
    out.push_back(std::move(row));
  }
  return out;
}

std::vector<MemoryVerdict> judge_memory(const std::vector<TrainingRow>& rows) {
  TrainingMachines machines;
  std::map<std::string, MemoryStack> stacks;
  std::vector<MemoryVerdict> out;
  for (const TrainingRow& job : rows) {
    if (!job.recompute_stated || (!job.row.skipped.empty() && !job.out_of_memory)) continue;
    const auto [stack, fresh] = stacks.try_emplace(job.stack);
    if (fresh) stack->second = load_stack(job.stack).memory;
    const TrainingMachine& machine = machines.on(job.system, job.overrides, job.gpus);
    const MemoryStack here = memory_on(stack->second, machine.system.gpu.generation);
    out.push_back({job.row.id, job.row.group, job.row.model, !job.out_of_memory, worst_stage(job.model, job.layout, here).total(),
                   machine.gpu.memory});
  }
  return out;
}

}  // namespace fabricost::plan
