/// Of fabricost/evaluation: questions (training steps, kernels, serving runs) that are priced again and again while constants change.

#include "bindings.hpp"
#include "question.hpp"

#include <fabricost/hardware/parameters.hpp>
#include <fabricost/plan/answers/plan.hpp>
#include <fabricost/plan/evaluation/calibrate.hpp>
#include <fabricost/plan/evaluation/ops.hpp>
#include <fabricost/plan/memory/memory.hpp>
#include <fabricost/plan/serving/arrivals/loaded.hpp>
#include <fabricost/plan/serving/certainty.hpp>
#include <fabricost/plan/serving/offload.hpp>
#include <fabricost/plan/serving/parameters.hpp>
#include <fabricost/plan/specs/serving.hpp>
#include <fabricost/plan/specs/stacks.hpp>
#include <fabricost/plan/training/figures.hpp>
#include <fabricost/specs/load.hpp>

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <string>

namespace py = pybind11;
using namespace py::literals;

namespace fabricost::python {
namespace {

// A question is priced with a row of constants: those of compute, the factor of its stack or publisher, those that inference kernels reach,
// those of its serving framework.
constexpr std::size_t scale_at = compute_parameters.size(), gpus_at = scale_at + 1, framework_at = gpus_at + serving_gpu_parameters.size(),
                      row_size = framework_at + serving_stack_parameters.size();

[[nodiscard]] const ComputeConstants& compute_of(const double* row, Constants& into) {
  for (std::size_t i = 0; i < compute_parameters.size(); ++i) compute_parameters[i].of(into) = row[i];
  return into.compute;
}
void put(double* row, const ComputeConstants& compute, const ServingConstants& reached, const ServingStack& framework) {
  Constants all;
  all.compute = compute;
  for (std::size_t i = 0; i < compute_parameters.size(); ++i) row[i] = compute_parameters[i].value(all);
  row[scale_at] = 1;
  for (std::size_t i = 0; i < serving_gpu_parameters.size(); ++i) row[gpus_at + i] = reached.*serving_gpu_parameters[i].member;
  for (std::size_t i = 0; i < serving_stack_parameters.size(); ++i) row[framework_at + i] = framework.*serving_stack_parameters[i].member;
}
[[nodiscard]] py::array_t<double> row_of(const ComputeConstants& compute, const ServingConstants& reached, const ServingStack& framework) {
  py::array_t<double> out(static_cast<py::ssize_t>(row_size));
  put(out.mutable_data(), compute, reached, framework);
  return out;
}

/// (set, key, least, most, spread, own, shared or held, value at which its effect is gone, of time) of each, in order. A share of a peak has
/// no effect at 1, any other at its least.
[[nodiscard]] py::list constant_columns() {
  py::list out;
  for (const Parameter& p : compute_parameters) {
    const bool share = p.kind == ConstantKind::share || p.kind == ConstantKind::link_share;
    const char* const fitted = p.held() ? "held" : p.fitted == FitTreatment::shared ? "shared" : "own";
    out.append(py::make_tuple("compute", p.key, p.min, p.max, p.spread, fitted, share ? 1 : p.min, p.measure() == Measure::time));
  }
  out.append(py::make_tuple("factor", "scale", 0, std::numeric_limits<double>::infinity(), prior::stack::spread, "own", 1, false));
  const auto serving = [&](const char* set, const auto& parameters) {
    using Fit = std::remove_cvref_t<decltype(parameters.front())>::Fit;
    for (const auto& p : parameters) {
      const char* const fitted = p.fit == Fit::held ? "held" : p.fit == Fit::shared ? "shared" : "own";
      out.append(py::make_tuple(set, p.key, p.min, p.max, p.spread, fitted, p.min, p.time));
    }
  };
  serving("serving_gpu", serving_gpu_parameters);
  serving("serving_stack", serving_stack_parameters);
  return out;
}

/// A published step: the job of a named layout.
struct Step {
  Model model;
  Layout layout;
  std::string system;
  std::vector<std::string> overrides;
  double memory_rate = 0;  ///< bytes/s as stated; 0: the datasheet's
  std::string stack;
  int gpus = 0;

  [[nodiscard]] Processor on(const TrainingMachine& machine) const {
    Processor gpu = machine.gpu;
    if (memory_rate > 0) gpu.memory_rate = memory_rate;
    return gpu;
  }
};

/// Published runs keep their activations on the GPU. \param chunks of a stage where the row states them for a schedule that has its own; 0: the
/// layout's
[[nodiscard]] Step step_of(const PlanAnswer& plans, std::string system, std::vector<std::string> overrides, double memory_rate,
                           std::string stack, int chunks) {
  const auto& found = found_of(plans);
  Step out{found.question.model, found.plan.layouts.front().layout, std::move(system), std::move(overrides), memory_rate, std::move(stack),
           found.question.gpus};
  out.layout.offload_layers = 0;
  if (chunks > 0) out.layout.vp = chunks;
  return out;
}

/// A served model's deployment, and the figure that is asked of it.
struct Deployment {
  std::shared_ptr<const Model> model;
  EngineFormat format;
  EngineLayout engine, prefill;  ///< of decode workers, if disaggregated; of prefill workers
  Workers workers;
  bool apart = false;
  ServingLoad load;
  double batch = 0;  ///< of a static batch, or sequences per GPU
  std::string figure;
  std::map<std::string, double> settings;  ///< of its server, where they are not its stack's
};

[[nodiscard]] EngineLayout layout_of(const std::array<int, 4>& ranks) { return {ranks[0], ranks[1], ranks[2], ranks[3]}; }

class Question {
 public:
  Question() = default;
  Question(const Question&) = delete;
  Question& operator=(const Question&) = delete;
  virtual ~Question() = default;
  /// In seconds, tokens per second, or what is asked. \throws RequestError when it does not fit
  [[nodiscard]] virtual double price(const ComputeConstants& compute, const double* row) = 0;
};

/// Machines and stacks of published rows, each read once.
class Published {
 public:
  TrainingMachine& machine_of(const Step& step) { return machines_.on(step.system, step.overrides, step.gpus); }
  TrainingMachine& machine_of(const OpsRow& kernel) { return machines_.on(kernel.system, kernel.overrides, 0); }
  /// \param read what is made of a stack when it is first asked for
  template <class Read>
  Stack& stack_of(const Step& step, const Read& read) {
    const auto [stack, fresh] = stacks_.try_emplace(step.stack);
    if (fresh) stack->second = read(load_stack(step.stack));
    return stack->second;
  }
  Stack& stack_of(const Step& step) {
    return stack_of(step, [](Stack stack) { return stack; });
  }

 private:
  TrainingMachines machines_;
  std::map<std::string, Stack> stacks_;
};

class StepQuestion : public Question {
 public:
  StepQuestion(const Step& step, Stack stack, TrainingMachine& machine)
      : step_(step), stack_(std::move(stack)), gpu_(step.on(machine)), costs_(*machine.costs) {}
  [[nodiscard]] double price(const ComputeConstants& compute, const double* row) override {
    gpu_.use(compute);
    stack_.scale = stack_.release * row[scale_at];
    return step_time(step_.model, step_.layout, stack_, gpu_, costs_).seconds;
  }

 private:
  Step step_;
  Stack stack_;
  Processor gpu_;
  GroupCosts& costs_;
};

class KernelQuestion : public Question {
 public:
  KernelQuestion(OpsRow kernel, const Processor& gpu) : kernel_(std::move(kernel)), gpu_(gpu) {}
  [[nodiscard]] double price(const ComputeConstants& compute, const double* row) override {
    gpu_.use(compute);
    return kernel_seconds(kernel_, gpu_, row[scale_at]);
  }

 private:
  OpsRow kernel_;
  Processor gpu_;
};

/// The stack with all of the memory, as operators set it if weights leave almost nothing of the usual share, or not even one sequence.
[[nodiscard]] ServingStack roomy(ServingStack stack, const Engine& engine, double context) {
  constexpr double next_to_nothing = 0.03;  // of the share; assumed: nobody serves with less
  const double left = engine.room(stack.memory_share), all = stack.memory_share * engine.machine().memory();
  if (left < next_to_nothing * all || room_for(engine, stack, context) < 1) stack.memory_share = stack.cache_share = 1;
  return stack;
}

class ServingRun : public Question {
 public:
  /// \throws RequestError for an impossible deployment
  ServingRun(Deployment run, ServingStack stack, ServingMachine& machine)
      : run_(std::move(run)), stack_(std::move(stack)), machine_(machine), engine_(*run_.model, run_.engine, run_.format, machine) {
    for (const auto& [key, value] : run_.settings) set(key, value);
    if (run_.apart) prefill_ = std::make_unique<Engine>(*run_.model, run_.prefill, run_.format, machine);
    const int ranks = run_.apart ? std::min(run_.engine.cache_gpus(), run_.prefill.cache_gpus()) : run_.engine.cache_gpus();
    if (run_.apart || run_.figure == "kv_transfer") {
      const int all = run_.apart ? run_.workers.prefill * run_.prefill.gpus() + run_.workers.decode * run_.engine.gpus() : 2 * run_.engine.gpus();
      link_ = kv_link(machine.system(), ranks, all <= machine.system().domain);
    }
  }
  [[nodiscard]] double price(const ComputeConstants& compute, const double* row) override {
    machine_.reach(compute);
    for (std::size_t i = 0; i < serving_gpu_parameters.size(); ++i) machine_.constants.*serving_gpu_parameters[i].member = row[gpus_at + i];
    ServingStack stack = stack_;
    for (std::size_t i = 0; i < serving_stack_parameters.size(); ++i) stack.*serving_stack_parameters[i].member = row[framework_at + i];
    const double whole_share = stack.memory_share;
    const double isl = run_.load.isl, osl = run_.load.osl;
    stack = roomy(stack, engine_, isl + osl);
    if (stack.drafts > 0) stack.draft(stack.drafts, draft_cost(*run_.model));
    if (prefill_) stack = roomy(stack, *prefill_, isl);
    const std::string& figure = run_.figure;
    if (figure == "ttft" || figure == "tpot") {
      const auto served = run_.apart ? disaggregated(*prefill_, engine_, run_.workers, stack, run_.load, link_) : aggregated(engine_, stack, run_.load);
      return figure == "ttft" ? served.ttft : served.tpot;
    }
    if (figure == "tokens_per_s") {
      if (run_.batch >= 1) return run_.batch * osl / static_batch_seconds(engine_, stack, run_.batch, isl, osl);
      // as many requests as are there and the cache holds, each replaced when answered
      const double room = std::max(1.0, std::floor(room_for(engine_, stack, isl + osl / 2))), most = run_.load.concurrency > 1 ? run_.load.concurrency : 2048;
      return aggregated(engine_, stack, {isl, osl, std::min(room, most)}).rate * osl;
    }
    if (figure == "first_token") return prefill_prompt(engine_, stack, isl).alone;
    if (figure == "decode_rate") {
      const double all = run_.batch * run_.engine.ranks();
      return all / decode_step(engine_, stack, all, isl).per_token;
    }
    if (figure == "prefill_rate") {  // a rank's `batch` tokens are prompts of isl tokens processed together
      const double prompts = std::max(1.0, run_.batch / isl);
      return prompts * isl * run_.engine.attention_dp / (stack.stretch * stack.prefill * pass_seconds(engine_.prefill(isl, prompts), stack));
    }
    if (figure == "kv_transfer") return link_.seconds(kv_bytes(*run_.model, isl, run_.format.kv_width));
    if (figure != "offload") throw RequestError(figure + ": is no figure of a serving run");
    const Offload at = min_offload(engine_, run_.batch, isl + osl, whole_share);
    return run_.batch * osl / offloaded_batch_seconds(engine_, stack, run_.batch, isl, osl, at, host_rate(machine_.system()));
  }

 private:
  void set(const std::string& key, double value) {
    for (const auto& [name, member] : {std::pair{"chunk", &ServingStack::chunk}, {"poll", &ServingStack::poll}, {"hold_steps", &ServingStack::hold_steps},
                                       {"hold_tokens", &ServingStack::hold_tokens}, {"together", &ServingStack::together},
                                       {"acceptance", &ServingStack::acceptance}, {"memory_share", &ServingStack::memory_share}})
      if (key == name) {
        stack_.*member = value;
        return;
      }
    if (key != "drafts") throw RequestError(key + ": is no setting of a server");
    stack_.drafts = static_cast<int>(value);
  }

  Deployment run_;
  ServingStack stack_;
  ServingMachine& machine_;
  Engine engine_;
  std::unique_ptr<Engine> prefill_;
  KvLink link_{0, 1};
};

/// Questions with the machines and stacks that they share.
class Questions {
 public:
  /// (generation, W per TFLOP/s, TFLOP/s of a processor, stack, program, a model with experts, in fp4)
  py::tuple add_step(const Step& step) {
    TrainingMachine& machine = published_.machine_of(step);
    const Stack& stack = published_.stack_of(step);
    add(std::make_unique<StepQuestion>(step, stack, machine), machine.system.constants.compute, {}, {});
    return py::make_tuple(name(machine.system.gpu.generation), machine.gpu.watts, machine.gpu.unit_peak, stack.name, fitted_name(stack), step.model.mixture(),
                          step.layout.precision == Precision::fp4);
  }
  /// (generation, W per TFLOP/s, TFLOP/s of a processor)
  py::tuple add_kernel(const OpsRow& kernel) {
    const TrainingMachine& machine = published_.machine_of(kernel);
    add(std::make_unique<KernelQuestion>(kernel, machine.gpu), machine.system.constants.compute, {}, {});
    return py::make_tuple(name(machine.system.gpu.generation), machine.gpu.watts, machine.gpu.unit_peak);
  }
  /// (generation, constants as shipped with the spreads of this run, as described before any fit, name of the GPU)
  py::tuple add_serving(const std::string& system, const std::string& stack, const Model& model, const std::string& weights, double kv_width,
                        const std::array<int, 4>& engine, const std::optional<std::array<int, 4>>& prefill, std::array<int, 2> workers,
                        std::array<double, 3> load, double batch, const std::string& figure,
                        const std::map<std::string, double>& settings) {
    auto& [described, machine] = served_[{system, stack}];
    const ServingStack& base = table_.described(stack);
    if (!machine) {
      described = load_system(system);
      machine = std::make_unique<ServingMachine>(described, ServingConstants{}, base.kernels);
    }
    const auto format = parse_enum<WeightFormat>(weights, weight_format_names);
    Deployment run{std::make_shared<const Model>(model), {format.value(), kv_width}, layout_of(engine), layout_of(prefill.value_or(engine)), {workers[0], workers[1]}, prefill.has_value(),
                   {load[0], load[1], load[2]}, batch, figure, settings};
    const Generation g = described.gpu.generation;
    const ComputeConstants& compute = described.constants.compute;
    add(std::make_unique<ServingRun>(std::move(run), base, *machine), compute, table_.constants(g), table_.stack(stack, g));
    ServingStack shipped = table_.stack(stack, g, described.gpu.name);
    const AskedRun asked{model.name, prefill.has_value(), load[2] / layout_of(engine).gpus() / workers[1], load[0], load[1]};
    const ServingSpread spread = spread_of(shipped, asked).spread;
    shipped.spread_tpot = spread.tpot;
    shipped.spread_ttft = spread.ttft;
    return py::make_tuple(name(g), row_of(compute, table_.constants(g), shipped), row_of(compute, {}, base), described.gpu.name);
  }
  [[nodiscard]] std::size_t size() const { return all_.size(); }
  /// \param constants a row for each of the questions `at`
  [[nodiscard]] py::array_t<double> price(const py::array_t<std::int64_t, py::array::c_style | py::array::forcecast>& at,
                                          const py::array_t<double, py::array::c_style | py::array::forcecast>& constants) {
    if (constants.ndim() != 2 || constants.shape(0) != at.size() || constants.shape(1) != static_cast<py::ssize_t>(row_size))
      throw RequestError("a row of constants for each question is wanted");
    py::array_t<double> out(at.size());
    double* const to = out.mutable_data();
    const double* const rows = constants.data();
    const std::int64_t* const which = at.data();
    const auto count = static_cast<std::size_t>(at.size());
    const py::gil_scoped_release released;
    for (std::size_t i = 0; i < count; ++i) {
      const double* const row = rows + i * row_size;
      to[i] = all_.at(static_cast<std::size_t>(which[i]))->price(compute_of(row, scratch_), row);
    }
    return out;
  }

 private:
  /// Keeps a question that can be priced with these constants. \throws RequestError what makes it impossible
  void add(std::unique_ptr<Question> question, const ComputeConstants& compute, const ServingConstants& reached, const ServingStack& framework) {
    std::array<double, row_size> row{};
    put(row.data(), compute, reached, framework);
    (void)question->price(compute, row.data());
    all_.push_back(std::move(question));
  }

  std::vector<std::unique_ptr<Question>> all_;
  Published published_;
  ServingTable table_ = load_serving_table();
  std::map<std::pair<std::string, std::string>, std::pair<System, std::unique_ptr<ServingMachine>>> served_;  ///< by system and stack
  Constants scratch_;
};

/// (name, factor, scale, spread, generations, experts, fp4)
using StackFound = std::tuple<std::string, std::string, double, double, std::vector<std::string>, bool, bool>;
[[nodiscard]] std::vector<FittedStack> fitted_of(const std::vector<StackFound>& stacks) {
  std::vector<FittedStack> out;
  for (const auto& [stack, factor, scale, spread, generations, experts, fp4] : stacks) {
    FittedStack& one = out.emplace_back(FittedStack{.name = stack, .factor = factor, .scale = scale, .spread = spread});
    one.seen.experts = experts;
    one.seen.fp4 = fp4;
    for (const std::string& g : generations) one.seen.on.push_back({parse_enum<Generation>(g, generation_names).value(), spread});
  }
  return out;
}

/// Seconds of each step with their interval: with the shipped constants, or those of a fit, which knows of stacks what it saw alone. Not fitted
/// generations have their priors then. \param constants of compute, by generation
[[nodiscard]] std::vector<std::tuple<double, double, double>> predicted_steps(const std::vector<const Step*>& steps,
                                                                              const std::optional<std::map<std::string, std::vector<double>>>& constants,
                                                                              const std::vector<StackFound>& found) {
  const py::gil_scoped_release released;
  const std::vector<FittedStack> fitted = fitted_of(found);
  Published published;
  std::vector<std::tuple<double, double, double>> out;
  for (const Step* const step : steps) {
    TrainingMachine& machine = published.machine_of(*step);
    const Stack& stack = published.stack_of(*step, [&](Stack one) {
      if (!constants) return one;
      one.scale = 1;
      one.spread = Stack{}.spread;
      one.seen = {};
      take_fitted(one, fitted);
      return one;
    });
    Processor gpu = step->on(machine);
    if (constants) {
      const auto known = constants->find(std::string{name(machine.system.gpu.generation)});
      Constants all;
      gpu.use(known == constants->end() ? fabricost::core::compute_prior : compute_of(known->second.data(), all));
    }
    const Layout& l = step->layout;
    const StepTime time = step_time(step->model, l, stack, gpu, *machine.costs);
    const StepWork work = step_work(step->model, l.sequence, l.global_batch, stack.capacity, l.document, !l.trains_all());
    const auto [low, high] = step_interval(time, parts_of_step(step->model, l, stack, gpu, *machine.costs), stack, *machine.costs, l.precision, work, step->gpus);
    out.emplace_back(time.seconds, low, high);
  }
  return out;
}

/// Bytes of each step's worst stage, as the framework's allocator counts them and in all, and of its GPU.
[[nodiscard]] std::vector<std::tuple<double, double, double>> memory_of(const std::vector<const Step*>& steps) {
  Published published;
  std::vector<std::tuple<double, double, double>> out;
  for (const Step* const step : steps) {
    const TrainingMachine& machine = published.machine_of(*step);
    const MemoryStack whole = memory_on(published.stack_of(*step).memory, machine.system.gpu.generation);
    MemoryStack allocator = whole;
    allocator.context = allocator.communicator = allocator.fragmentation = 0;
    out.emplace_back(worst_stage(step->model, step->layout, allocator).total(), worst_stage(step->model, step->layout, whole).total(), machine.gpu.memory);
  }
  return out;
}

/// Kernels with the shipped constants: (the kernel, group, kind, system, fully specified, measured, predicted, low, high, skipped).
[[nodiscard]] py::list priced_kernels(const std::string& file) {
  std::vector<OpsRow> rows = read_ops_rows(file);
  predict_ops_rows(rows);
  py::list out;
  for (const OpsRow& op : rows) {
    const std::string_view kind = op.kind == OpKind::product  ? "products"
                                  : op.kind == OpKind::stream ? "element-wise"
                                  : op.kind == OpKind::collective ? name(op.collective) : "others";
    const WorkloadRow& r = op.row;
    out.append(py::make_tuple(op, r.group, kind, op.system, r.fully_specified, r.measured, r.predicted, r.low, r.high, r.skipped));
  }
  return out;
}

/// The text of data/calibrations/compute-GENERATION.yaml. \param fitted (name, deviation, determined, one for all generations)
[[nodiscard]] std::string compute_yaml(const std::string& generation, const std::vector<std::string>& systems, const std::vector<double>& constants, int rows,
                                       double median, double mean, const std::vector<std::tuple<std::string, double, bool, bool>>& fitted,
                                       const std::string& origin) {
  CalibratedSet set;
  set.set = ConstantSet::compute;
  set.name = "compute-" + generation;
  set.generation = parse_enum<Generation>(generation, generation_names).value();
  set.systems = systems;
  (void)compute_of(constants.data(), set.constants);
  set.points = rows;
  set.median_ape = median;
  set.mape = mean;
  for (const auto& [key, deviation, determined, shared] : fitted)
    for (const Parameter& p : compute_parameters)
      if (p.key == key) set.fitted.push_back({.key = p.key, .measure = p.measure(), .deviation = deviation, .determined = determined, .shared = shared});
  return calibration_yaml(set, today(), origin);
}

}  // namespace

void add_evaluation(py::module_& module) {
  py::class_<Step>(module, "_Step", "A published step.");
  py::class_<OpsRow>(module, "_Kernel", "A published kernel.");
  py::class_<Questions>(module, "_Questions", "Questions that are priced again and again while constants change.")
      .def(py::init<>())
      .def("add_step", &Questions::add_step, "step"_a)
      .def("add_kernel", &Questions::add_kernel, "kernel"_a)
      .def("add_serving", &Questions::add_serving, "system"_a, "stack"_a, "model"_a, "weights"_a, "kv_width"_a, "engine"_a, "prefill"_a, "workers"_a, "load"_a,
           "batch"_a, "figure"_a, "settings"_a)
      .def("price", &Questions::price, "at"_a, "constants"_a)
      .def("__len__", &Questions::size);
  module.def("_constant_columns", &constant_columns);
  module.def("_generations", [] { return std::vector<std::string>(generation_names.begin(), generation_names.end()); });
  module.def("_compute_prior", [] { return row_of(fabricost::core::compute_prior, {}, {}); });
  module.def("_step", &step_of, "plans"_a, "system"_a, "overrides"_a, "memory_rate"_a, "stack"_a, "chunks"_a);
  module.def("_predict_steps", &predicted_steps, "steps"_a, "constants"_a = py::none(), "stacks"_a = std::vector<StackFound>{});
  module.def("_memory_of_steps", &memory_of, "steps"_a);
  module.def("_priced_kernels", &priced_kernels, "file"_a);
  module.def("_compute_yaml", &compute_yaml, "generation"_a, "systems"_a, "constants"_a, "rows"_a, "median"_a, "mean"_a, "fitted"_a, "origin"_a);
}

}  // namespace fabricost::python
