/// Layouts that a vendor publishes for a GPU fit it: NVIDIA's recipes (github.com/NVIDIA-NeMo/Megatron-Bridge, scripts/performance/configs,
/// *_workload_base_configs.py), those that offload nothing to the CPU.

#include <fabricost/plan/memory/memory.hpp>
#include <fabricost/plan/model/layout_check.hpp>
#include <fabricost/specs/load.hpp>
#include <fabricost/plan/specs/load_model.hpp>
#include <fabricost/plan/specs/stacks.hpp>

#include <catch.hpp>

#include <string>
#include <vector>

using namespace fabricost::plan;

namespace {

struct Recipe {
  const char *model, *system;
  Precision precision;
  int gpus, batch, sequence, tp, pp, vp, cp, ep, microbatch;
  Recompute recompute = Recompute::none;

  [[nodiscard]] Layout layout() const {
    Layout l;
    l.tp = tp;
    l.pp = pp;
    l.vp = vp;
    l.cp = cp;
    l.ep = ep;
    l.microbatch = microbatch;
    l.global_batch = batch;
    l.sequence = sequence;
    l.dp = gpus / (tp * pp * cp);
    l.zero = 1;
    l.sequence_parallel = tp > 1;
    l.precision = precision;
    l.recompute = recompute;
    l.schedule = vp > 1 ? PipelineSchedule::interleaved : PipelineSchedule::one_f_one_b;
    return l;
  }
};

constexpr Precision fp8 = Precision::fp8, bf16 = Precision::bf16, fp4 = Precision::fp4;
constexpr Recompute selective = Recompute::selective;
const std::vector<Recipe> recipes{
    {"llama3.1-405b", "dgx-h100", fp8, 1024, 1536, 8192, 8, 8, 8, 2, 1, 1},
    {"llama3.1-405b", "dgx-h100", bf16, 1024, 1536, 8192, 8, 8, 8, 2, 1, 1},
    {"llama3.1-405b", "dgx-b200", fp8, 128, 64, 8192, 4, 8, 8, 2, 1, 1},
    {"llama3.1-405b", "gb200-nvl72", fp8, 128, 64, 8192, 4, 8, 8, 2, 1, 1},
    {"llama3.1-405b", "gb200-nvl72", fp8, 256, 1536, 8192, 4, 16, 4, 1, 1, 1},
    {"llama3.1-405b", "gb200-nvl72", fp4, 256, 1536, 8192, 4, 16, 8, 1, 1, 1},
    {"llama3.1-405b", "gb300-nvl72", fp8, 256, 1536, 8192, 4, 8, 4, 1, 1, 1},
    {"llama3.1-405b", "gb300-nvl72", fp8, 256, 1536, 8192, 2, 8, 4, 2, 1, 1},
    {"llama3-70b", "dgx-h100", fp8, 64, 256, 8192, 4, 8, 5, 1, 1, 1},
    {"llama3-70b", "dgx-h100", bf16, 64, 256, 8192, 4, 4, 5, 2, 1, 1},
    {"llama3-70b", "gb200-nvl72", fp8, 64, 256, 8192, 2, 4, 5, 1, 1, 1},
    {"llama3-70b", "gb300-nvl72", fp8, 64, 256, 8192, 1, 4, 5, 1, 1, 1},
    {"llama3-8b", "dgx-h100", bf16, 8, 128, 8192, 1, 1, 1, 2, 1, 1},
    {"llama3-8b", "dgx-b200", fp8, 8, 128, 8192, 1, 1, 1, 1, 1, 2},
    {"deepseek-v3", "dgx-h100", fp8, 1024, 16384, 4096, 2, 8, 4, 1, 64, 1, selective},
    {"deepseek-v3", "dgx-b200", fp8, 256, 4096, 4096, 1, 16, 1, 1, 8, 1, selective},
    {"deepseek-v3", "gb200-nvl72", fp8, 256, 4096, 4096, 1, 4, 4, 1, 64, 1, selective},
    {"deepseek-v3", "gb200-nvl72", bf16, 256, 4096, 4096, 1, 4, 4, 1, 64, 1, selective},
    {"deepseek-v3", "gb300-nvl72", fp8, 256, 4096, 4096, 1, 2, 8, 1, 32, 1},
};

}  // namespace

TEST_CASE("NVIDIA's recipes fit the GPUs they are published for") {
  const MemoryStack stack = load_stack("nemo").memory;
  for (const Recipe& r : recipes) {
    const Model model = load_model(r.model);
    const Layout layout = r.layout();
    INFO(r.model << " on " << r.system << ", tp " << r.tp << " pp " << r.pp);
    REQUIRE(why_impossible(model, layout).empty());
    const double capacity = load_system(r.system).gpu.memory.value.value();
    CHECK(worst_stage(model, layout, stack).total() / gibibyte <= capacity / gibibyte);
  }
}
