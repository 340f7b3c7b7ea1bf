// Published training steps: training.csv as jobs on machines.
#include "io/csv.hpp"
#include "io/workload/cells.hpp"
#include "io/workload/stacks.hpp"

#include <fabricost/io/load.hpp>
#include <fabricost/io/load_model.hpp>
#include <fabricost/io/workload.hpp>
#include <fabricost/workload/step.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <regex>

namespace fabricost {

namespace {

using io::Cells;
using io::folded;

bool has(std::string_view text, std::string_view word) { return text.find(word) != std::string_view::npos; }

/// The machine a GPU's name stands for, the first that fits.
struct NamedMachine {
  std::string_view gpu, system;
};
constexpr std::array machines{
    NamedMachine{"a100", "dgx-a100"},    NamedMachine{"h100", "dgx-h100"},   NamedMachine{"h200", "dgx-h200"},
    NamedMachine{"h800", "deepseek-v3-h800"}, NamedMachine{"gb200", "gb200-nvl72"}, NamedMachine{"gb300", "gb300-nvl72"},
    NamedMachine{"b200", "dgx-b200"},    NamedMachine{"b300", "dgx-b300"},   NamedMachine{"mi300x", "mi300x-8"},
};

/// A published name that no file describes: two matrices in the feed-forward block where the stated count of parameters says so.
void guess_matrices(Model& m, double stated) {
  m.gated = true;
  const double three = parameters_of(m).total;
  m.gated = false;
  const double two = parameters_of(m).total;
  const std::string name = folded(m.name);
  const bool named = (name.starts_with("gpt") && !name.starts_with("gpt-oss")) || has(name, "mpt") || has(name, "nemotron") || has(name, "bloom") ||
                     has(name, "megatron") || has(name, "mt-nlg");
  m.gated = stated > 0 && std::fabs(three / two - 1) > 0.02 ? std::fabs(std::log(three / stated)) < std::fabs(std::log(two / stated)) : !named;
}

/// Models of data/models by the names rows give them, each read once.
class Shapes {
 public:
  /// Nothing for a name nobody knows.
  const std::optional<Model>& named(const std::string& wanted) {
    const auto [at, fresh] = read_.try_emplace(wanted);
    if (fresh && !wanted.empty())
      if (const std::string known = model_named(wanted); !known.empty()) at->second = load_model(known);
    return at->second;
  }

 private:
  std::map<std::string, std::optional<Model>> read_;
};

/// The shape: the row's own cells before the model's file.
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
  if (m.first_dense > 0 && m.layers < 10) m.first_dense = 1;  // proxies of a few layers keep one dense one
  if (m.layers < 1 || m.hidden < 1 || m.heads < 1 || m.vocab < 1) {
    skipped = "shape not stated";
    return m;
  }
  if (m.hybrid()) skipped = "layers of another kind than attention are not priced in training";
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
  l.sequence_parallel = cells.text("sequence_parallel") == "yes";
  const std::string recompute = cells.text("recompute");
  l.recompute = recompute == "full" ? Recompute::full : recompute == "selective" ? Recompute::selective : Recompute::none;
  const std::string precision = folded(cells.text("precision"));
  l.precision = has(precision, "fp4") ? Precision::fp4 : has(precision, "fp8") ? Precision::fp8 : has(precision, "fp16") ? Precision::fp16 : Precision::bf16;
  const std::string& notes = cells.text("notes");
  std::smatch found;
  static const std::regex blocks("full recompute of (\\d{1,4}) of"), inside("expert TP (\\d{1,3})");
  if (std::regex_search(notes, found, blocks)) l.recompute_layers = std::stoi(found[1]);
  if (std::regex_search(notes, found, inside)) l.expert_tp = std::stoi(found[1]);
  if (has(notes, "SHARD_GRAD_OP")) l.zero = 2;
  if (has(notes, "CP uses a2a")) l.context = ContextParallel::ulysses;
  if (has(notes, "CP uses all-gather")) l.context = ContextParallel::all_gather;
  if (has(cells.text("schedule"), "DualPipe")) l.schedule = PipelineSchedule::dualpipe;
  const long long product = static_cast<long long>(l.tp) * l.pp * l.cp;
  if (gpus < 1 || l.global_batch < 1 || l.sequence < 1)
    skipped = "GPUs, batch or sequence not stated";
  else if (product > gpus || gpus % product != 0)
    skipped = fmt::format("tp x pp x cp = {} does not divide {} GPUs", product, gpus);
  if (!skipped.empty()) return l;
  l.dp = static_cast<int>(gpus / product);
  if (l.microbatches() < 1) skipped = fmt::format("a batch of {} is less than {} replicas x microbatch {}", l.global_batch, l.dp, l.microbatch);
  if (m.experts > 0 && l.ep > m.experts) skipped = "more expert ranks than experts";
  return l;
}

/// GPU and NICs the row states, where they differ from those of the machine's description.
void machine_of(TrainingRow& out, Cells& cells) {
  const std::string gpu = folded(cells.text("gpu"));
  for (const NamedMachine& m : machines)
    if (out.system.empty() && gpu.starts_with(m.gpu)) out.system = m.system;
  if (out.system.empty()) {
    out.row.skipped = fmt::format("no machine known with a GPU \"{}\"", cells.text("gpu"));
    return;
  }
  if (gpu == "a100-40g") out.overrides.push_back("gpu=a100-sxm-40");
  std::smatch found;
  if (std::regex_search(gpu, found, std::regex("([0-9.]{1,5})tb/s"))) out.memory_rate = 1e12 * *io::parse_number(found[1].str());
  // matrix products of a part held at 500 W reach 0.89 of the 700 W part's (TorchTitan's H100s against DGX H100)
  if (has(gpu, "500w")) out.power_share = 0.89;
  const std::string& wires = cells.text("interconnect");
  if (std::regex_search(wires, found, std::regex("(\\d{1,3}) ?x ?(\\d{2,4}) ?G"))) {
    const std::string rate = found[2];
    out.overrides.push_back(fmt::format("tiers.nic.endpoints={}", found[1].str()));
    const bool efa = has(wires, "EFA");
    std::string link = has(wires, "Omni-Path") ? "omnipath-100" : efa ? "efa-v3" : rate == "200" ? "infiniband-hdr" : rate == "400" ? "infiniband-ndr" : "";
    if (efa && rate == "100") link = "efa-v2";
    if (!link.empty()) out.overrides.push_back("tiers.nic.link=" + link);
    if (efa) out.overrides.push_back("tiers.nic.transport=" + link);
  }
  if (has(wires, "RoCE")) out.overrides.push_back("tiers.nic.transport=roce");
}

/// Seconds of a step a figure stands for, by its group's convention; 0 with a reason when it is none.
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
  if (metric != "tflops_per_gpu" && metric != "mfu_pct") {
    skipped = fmt::format("{} is no time of a step", metric);
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

/// Dense 16-bit peak each generation's published MFU divides by (formulas collected with their sources in docs/training-accuracy.md).
double published_peak(const std::string& system) {
  if (system == "dgx-a100") return 312e12;
  if (has(system, "b200") || has(system, "b300")) return 2250e12;
  return 989.5e12;
}

}  // namespace

std::vector<TrainingRow> read_training_rows(const std::filesystem::path& file) {
  io::CsvTable table(file);
  const std::vector<io::NamedStack> stacks = io::shipped_stacks();
  Shapes shapes;
  std::vector<TrainingRow> out;
  while (table.next()) {
    Cells cells(table);
    TrainingRow job;
    job.row.id = cells.text("id");
    job.row.group = cells.text("group");
    job.row.model = cells.text("model");
    job.row.metric = cells.text("measured_metric");
    job.row.fully_specified = cells.text("fully_specified") == "yes";
    job.row.line = table.line();
    job.gpus = cells.count("gpus");
    job.memory_gib = cells.number("memory_gib");
    std::string skipped;
    job.model = shape_of(cells, shapes, skipped);
    std::string unlaid;
    job.layout = layout_of(cells, job.model, job.gpus, unlaid);
    machine_of(job, cells);
    job.stack = io::stack_of(stacks, job.row.group, job.row.model + " " + cells.text("notes")).stack.name;
    if (job.row.skipped.empty()) job.row.skipped = !skipped.empty() ? skipped : unlaid;
    if (has(cells.text("notes"), "LoRA")) job.row.skipped = "trains adapters only";
    const double value = cells.number("value");
    if (job.row.skipped.empty()) job.row.measured = seconds_of(job, value, published_peak(job.system), job.row.skipped);
    out.push_back(std::move(job));
  }
  table.finish();
  return out;
}

std::unique_ptr<TrainingMachine> load_training_machine(const std::string& system, const std::vector<std::string>& overrides) {
  auto out = std::make_unique<TrainingMachine>();
  out->system = load_system(system, overrides);
  out->gpu = Processor::of(out->system);
  out->costs = std::make_unique<GroupCosts>(out->system);
  return out;
}

Processor processor_of(const TrainingRow& row, const TrainingMachine& machine) {
  Processor gpu = machine.gpu;
  if (row.memory_rate > 0) gpu.memory_rate = row.memory_rate;
  gpu.peak16 *= row.power_share;
  gpu.peak8 *= row.power_share;
  gpu.peak4 *= row.power_share;
  return gpu;
}

void predict_training_rows(std::vector<TrainingRow>& rows) {
  std::map<std::string, std::unique_ptr<TrainingMachine>> known;
  std::map<std::string, Stack> stacks;
  for (TrainingRow& job : rows) {
    if (!job.row.skipped.empty()) continue;
    try {
      std::unique_ptr<TrainingMachine>& machine = known[job.machine()];
      if (!machine) machine = load_training_machine(job.system, job.overrides);
      const auto [stack, fresh] = stacks.try_emplace(job.stack);
      if (fresh) stack->second = load_stack(job.stack);
      const StepTime step = step_time(job.model, job.layout, stack->second, processor_of(job, *machine), *machine->costs);
      if (!(step.seconds > 0 && std::isfinite(step.seconds))) {
        job.row.skipped = "no positive time came out";
        continue;
      }
      const double factor = std::exp(half_width(stack->second, machine->system.gpu.generation, job.layout.precision));
      job.row.predicted = step.seconds;
      job.row.low = step.seconds / factor;
      job.row.high = step.seconds * factor;
    } catch (const RequestError& error) {
      job.row.skipped = error.what();
    }
  }
}

}  // namespace fabricost
