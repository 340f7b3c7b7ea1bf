/// Single-GPU steps and kernels of PyTorch 2.11 on one H100 and one H200, beside what plan and the kernels' forms say of them.

#include "catch.hpp"
#include "support/measurements.hpp"
#include "text/csv.hpp"

#include <fabricost/plan/answers/plan.hpp>
#include <fabricost/plan/kernels/compute.hpp>
#include <fabricost/plan/specs/load_model.hpp>
#include <fabricost/plan/specs/stacks.hpp>
#include <fabricost/plan/training/parts.hpp>
#include <fabricost/plan/training/plan.hpp>
#include <fabricost/specs/load.hpp>

using namespace fabricost::plan;

namespace {

constexpr double gibi = 1024.0 * 1024 * 1024;

/// The rows of a table, by column.
std::vector<std::map<std::string, std::string>> table(const std::filesystem::path& file) {
  fabricost::core::CsvTable read(file);
  std::vector<std::map<std::string, std::string>> out;
  while (read.next()) {
    auto& row = out.emplace_back();
    for (const std::string& column : read.header()) row[column] = read.cell(read.column(column));
  }
  return out;
}
double number(const std::map<std::string, std::string>& row, const std::string& column) { return std::stod(row.at(column)); }
int whole(const std::map<std::string, std::string>& row, const std::string& column) { return std::stoi(row.at(column)); }

Model llama(const std::string& name, int layers) {
  Model model = load_model(name);
  model.layers = layers;
  return model;
}

/// One GPU's step; bf16 weights, gradients and moments are the stack's own.
PlannedLayout step(const std::string& system, const Model& model, int sequence, int microbatch, Recompute recompute,
                   const std::string& stack) {
  PlanRequest r;
  r.system = {system};
  r.model = model;
  r.stack = {stack};
  r.gpus = 1;
  r.global_batch = microbatch;
  r.microbatch = microbatch;
  r.sequence = sequence;
  r.tp = r.pp = r.cp = 1;
  r.zero = 0;
  r.recompute = recompute;
  return answer(r).layouts.front();
}
/// GiB that PyTorch's allocator hands out.
double allocated(const PlannedLayout& planned) {
  double bytes = 0;
  for (const MemoryPart& part : planned.memory)
    if (part.name != "runtime" && part.name != "communicators" && part.name != "fragmentation") bytes += part.bytes.value();
  return bytes / gibi;
}
Recompute recompute(const std::string& word) { return word == "full" ? Recompute::full : Recompute::none; }
double median(std::vector<double> of) {
  std::sort(of.begin(), of.end());
  return (of[(of.size() - 1) / 2] + of[of.size() / 2]) / 2;
}
double off(double predicted, double measured) { return std::fabs(predicted / measured - 1); }

Processor processor(const std::string& system) { return Processor::of(load_system(system)); }

}  // namespace

TEST_CASE("PyTorch's steps on one GPU and their peaks are predicted, eager and compiled", "[measurements]") {
  const auto folder = fabricost::test::measurements();
  if (folder.empty()) return;
  std::vector<double> eager;
  for (const auto& row : table(folder / "third" / "gpu" / "training_steps.csv")) {
    const bool compiled = row.at("mode") != "eager";
    const Model model = llama(row.at("hidden") == "4096" ? "llama3-8b" : "llama3-70b", whole(row, "layers"));
    REQUIRE(model.hidden == whole(row, "hidden"));
    const PlannedLayout p = step(row.at("system"), model, whole(row, "sequence"), whole(row, "microbatch"), recompute(row.at("recompute")),
                                 compiled ? "pytorch-2026-compiled" : "pytorch-2026");
    const double measured = number(row, "step_s"), peak = number(row, "peak_GiB");
    std::printf("%s %d x %d, %s tokens x %s, %s, %s: %.1f ms of %.1f (%+.1f %%), %.1f GiB of %.1f (%+.1f %%)\n", row.at("system").c_str(),
                model.layers, model.hidden, row.at("sequence").c_str(), row.at("microbatch").c_str(), row.at("mode").c_str(),
                row.at("recompute").c_str(), 1e3 * p.step.value(), 1e3 * measured, 100 * (p.step.value() / measured - 1), allocated(p),
                peak, 100 * (allocated(p) / peak - 1));
    if (!compiled) eager.push_back(off(p.step.value(), measured));
    CHECK(off(p.step.value(), measured) < 0.1);
    CHECK(off(allocated(p), peak) < 0.1);
    CHECK(p.interval.first.value() <= measured);
    CHECK(p.interval.second.value() >= measured);
  }
  REQUIRE(eager.size() == 10);
  CHECK(median(eager) < 0.04);
}

TEST_CASE("steps of 16k, 32k and 64k tokens on one GPU are predicted, and their peaks", "[measurements]") {
  const auto folder = fabricost::test::measurements();
  if (folder.empty()) return;
  int steps = 0;
  for (const auto& row : table(folder / "third" / "gpu" / "long_sequences.csv")) {
    if (!row.at("what").starts_with("step")) continue;
    const PlannedLayout p =
        step(row.at("system"), llama("llama3-8b", 8), whole(row, "sequence"), 1, recompute(row.at("recompute")), "pytorch-2026");
    std::printf("%s tokens: %.3f s of %.3f, %.1f GiB of %.1f\n", row.at("sequence").c_str(), p.step.value(), number(row, "seconds"),
                allocated(p), number(row, "peak_GiB"));
    CHECK(off(p.step.value(), number(row, "seconds")) < 0.1);
    CHECK(off(allocated(p), number(row, "peak_GiB")) < 0.1);
    ++steps;
  }
  CHECK(steps == 3);
}

TEST_CASE("cuDNN's attention is predicted forward and backward, from 4k to 128k tokens", "[measurements]") {
  const auto folder = fabricost::test::measurements();
  if (folder.empty()) return;
  int kernels = 0;
  const auto compare = [&](const std::string& system, double batch, double heads, double sequence, double measured, bool backward) {
    const Processor gpu = processor(system);
    double seconds = attention_seconds(gpu, Stack{}, {batch * heads * sequence, sequence, {128, 128}}, Precision::bf16);
    if (backward) seconds *= attention_backward(gpu, AttentionKernel::cudnn);
    std::printf("%s %g x %g heads, %g tokens, %s: %.0f us of %.0f (%+.1f %%)\n", system.c_str(), batch, heads, sequence,
                backward ? "backward" : "forward", 1e6 * seconds, 1e6 * measured, 100 * (seconds / measured - 1));
    CHECK(off(seconds, measured) < 0.15);
    ++kernels;
  };
  for (const auto& row : table(folder / "third" / "gpu" / "torch_operations.csv")) {
    int batch = 0, heads = 0, sequence = 0;
    char way = 0;
    if (std::sscanf(row.at("operation").c_str(), "sdpa_%cwd_%d_%d_%d", &way, &batch, &heads, &sequence) == 4)
      compare(row.at("system"), batch, heads, sequence, 1e-6 * number(row, "time_us"), way == 'b');
  }
  for (const auto& row : table(folder / "third" / "gpu" / "long_sequences.csv"))
    if (row.at("what") == "causal flash attention") {
      compare(row.at("system"), 1, number(row, "heads"), number(row, "sequence"), number(row, "forward_s"), false);
      compare(row.at("system"), 1, number(row, "heads"), number(row, "sequence"), number(row, "backward_s"), true);
    }
  CHECK(kernels == 22);
}

TEST_CASE("large products of 16 bit are predicted by themselves", "[measurements]") {
  const auto folder = fabricost::test::measurements();
  if (folder.empty()) return;
  std::vector<double> errors;
  for (const auto& row : table(folder / "third" / "gpu" / "torch_operations.csv")) {
    int m = 0, n = 0, k = 0;
    if (std::sscanf(row.at("operation").c_str(), "gemm_%dx%dx%d", &m, &n, &k) != 3 || m < 2048) continue;
    errors.push_back(off(product_seconds(processor(row.at("system")), Precision::bf16, m, n, k), 1e-6 * number(row, "time_us")));
  }
  REQUIRE(errors.size() == 16);
  CHECK(median(errors) < 0.08);
}

TEST_CASE("PyTorch's fused AdamW is predicted in 16 and in 32 bit, and by --explain", "[measurements]") {
  const auto folder = fabricost::test::measurements();
  if (folder.empty()) return;
  int updates = 0;
  for (const auto& row : table(folder / "third" / "gpu" / "long_sequences.csv")) {
    if (!row.at("what").starts_with("optimizer")) continue;
    Stack stack = load_stack("pytorch-2026");
    if (row.at("what").starts_with("optimizer fp32")) {
      stack.memory.weight = stack.memory.gradient = 4;
      stack.memory.optimizer = 8;
    }
    const double seconds = update_seconds(processor(row.at("system")), stack, number(row, "parameters"));
    std::printf("%s: %.1f ms of %.1f\n", row.at("what").c_str(), 1e3 * seconds, 1e3 * number(row, "seconds"));
    CHECK(off(seconds, number(row, "seconds")) < 0.3);  // 8.7 ps a bf16 parameter on this H200, 6.1 to 7.6 on H100
    ++updates;
  }
  CHECK(updates == 2);
}

TEST_CASE("products, attention, update and the rest of a step are each as its trace says", "[measurements]") {
  const auto folder = fabricost::test::measurements();
  if (folder.empty()) return;
  // ms of a step of two layers of 70B on an H100 by kind of kernel, summed over third/gpu/h100-one-gpu-step.trace.json.gz
  constexpr double products = 180.0, attention = 16.3, update = 29.0, rest = 49.1;
  PlanRequest r;
  r.system = {"dgx-h100"};
  r.stack = {"pytorch-2026"};
  r.model = llama("llama3-70b", 2);
  r.gpus = r.global_batch = r.microbatch = r.tp = r.pp = r.cp = 1;
  r.zero = 0;
  r.sequence = 8192;
  r.recompute = Recompute::none;
  const PlanAnswer a = answer(r);
  const FoundPlan& found = *a.found;
  GroupCosts costs(found.system, {});
  const StepKernels k =
      parts_of_step(found.question.model, found.plan.layouts.front().layout, found.question.stack, Processor::of(found.system), costs)
          .kernels;
  const Processor gpu = Processor::of(found.system);
  const double head = 3 * product_seconds(gpu, Precision::bf16, 8192, 128256, 8192);
  CHECK(off(1e3 * (k.products + head), products) < 0.1);
  CHECK(off(1e3 * k.attention, attention) < 0.15);
  CHECK(off(1e3 * found.plan.layouts.front().time.optimizer, update) < 0.15);
  CHECK(off(1e3 * (k.element + k.head - head), rest) < 0.15);
}
