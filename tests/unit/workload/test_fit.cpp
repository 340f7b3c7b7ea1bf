// The fit of steps and kernels: constants come back from steps made with them; what is shipped predicts as well.
#include "jobs.hpp"

#include "support/measurements.hpp"

#include <fabricost/plan/evaluation/calibrate_training.hpp>
#include <fabricost/hardware/constants.hpp>
#include <fabricost/plan/specs/load_model.hpp>
#include <fabricost/plan/specs/stacks.hpp>

#include <catch.hpp>

#include <cmath>

using namespace fabricost::plan;

namespace {

TrainingRow step(const char* group, const char* model = "llama3-8b") {
  TrainingRow out;
  out.row = {.id = "X", .group = group, .model = model, .metric = "step_time_s", .measured = 2, .fully_specified = true, .skipped = ""};
  out.model = load_model(model);
  out.layout = {.dp = 8, .zero = 1, .global_batch = 16};
  out.system = "dgx-h100";
  out.stack = unfitted_stack;
  out.gpus = 8;
  return out;
}

/// Steps as they would be with other constants: of two models, in several sizes, and products alone.
struct Made {
  std::vector<TrainingRow> steps;
  std::vector<OpsRow> kernels;
};
Made made(const ComputeConstants& truth, double scale) {
  Made out;
  for (const char* model : {"llama3-8b", "llama2-13b", "mpt-7b"})
    for (const int sequence : {1024, 4096, 32768})
      for (const int microbatch : {1, 2, 4})
        for (const int tp : {1, 2, 8}) {
          TrainingRow r = step("made", model);
          r.layout.tp = tp;
          r.layout.dp = 8 / tp;
          r.layout.microbatch = microbatch;
          r.layout.global_batch = 64;
          r.layout.sequence = sequence;
          const auto machine = load_training_machine(r.system, r.overrides, r.gpus);
          Processor gpu = machine->gpu;
          gpu.constants = truth;
          Stack stack = load_stack(r.stack);
          stack.scale = scale;
          r.row.measured = step_time(r.model, r.layout, stack, gpu, *machine->costs).seconds;
          out.steps.push_back(std::move(r));
        }
  for (int rows = 16; rows <= 16384; rows *= 4)
    for (int side = 1024; side <= 16384; side *= 4) {
      OpsRow op;
      op.row = {.id = "K", .group = "made_kernels", .model = "", .metric = "", .fully_specified = true, .skipped = ""};
      op.system = "dgx-h100";
      op.rows = rows;
      op.columns = op.inner = side;
      Processor gpu = Processor::of(jobs::machine("dgx-h100"));
      gpu.constants = truth;
      op.row.measured = kernel_seconds(op, gpu);
      out.kernels.push_back(op);
    }
  return out;
}

}  // namespace

TEST_CASE("a fit of steps and kernels finds the constants they were made with", "[fit]") {
  ComputeConstants truth = fabricost::core::compute_prior;
  truth.gemm = 0.72;
  truth.attention = 0.38;
  truth.layer_floor = 700e-6;
  truth.gemm_start = 4e-6;
  truth.memory = 0.9;
  const Made data = made(truth, 1.1);
  const TrainingFit fit = calibrate_training(data.steps, data.kernels, {.every_group = true});
  CHECK(fit.rows == static_cast<int>(data.steps.size() + data.kernels.size()));
  CHECK(fit.mape < 1);
  REQUIRE(fit.generations.size() == 1);
  const ComputeConstants& found = fit.generations.front().constants.compute;
  CHECK(found.attention == Approx(truth.attention).epsilon(0.08));
  CHECK(found.layer_floor == Approx(truth.layer_floor).epsilon(0.08));
  CHECK(found.gemm_start == Approx(truth.gemm_start).epsilon(0.08));
  CHECK(found.memory == Approx(truth.memory).epsilon(0.05));
  // arithmetic of kernels is known up to their publisher's clocks, of steps up to their stack
  for (const FittedStack& s : fit.stacks)
    if (s.rows > 0) CHECK(s.scale / found.gemm == Approx((s.name == "made_kernels" ? 1 : 1.1) / truth.gemm).epsilon(0.05));
}

TEST_CASE("a fit says what it left out, and that nothing is left", "[fit]") {
  std::vector<TrainingRow> rows{step("mosaic_fsdp_h100"), step("aws_kimi_b300"), step("unheard"), step("nemo_h100"), step("nemo_h100")};
  rows[3].row.skipped = "no machine known";
  rows[4].row.fully_specified = false;
  const TrainingFit fit = calibrate_training(rows);
  CHECK(fit.rows == 1);
  int skipped = 0;
  for (const Skipped& s : fit.skipped) skipped += s.rows;
  CHECK(skipped == 4);
  CHECK_THROWS_AS(calibrate_training(rows, {.leave_out = {"mosaic_"}}), RequestError);
}

TEST_CASE("published products are predicted within a few percent", "[fit][measurements]") {
  const auto folder = fabricost::test::measurements();
  if (folder.empty()) return;
  const WorkloadReport kernels = validate_workloads({folder / "workloads" / "ops.csv"});
  std::vector<double> products;
  for (const WorkloadRow& r : kernels.rows)
    if (r.group.starts_with("vidur_gemm") && r.metric.ends_with("_proj")) products.push_back(std::fabs(r.predicted / r.measured - 1));
  REQUIRE(products.size() == 780);
  std::nth_element(products.begin(), products.begin() + 390, products.end());
  CHECK(products[390] <= 0.05);
}
