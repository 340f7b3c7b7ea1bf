/// Values that several questions must give alike for one machine: idle GPUs, tapers, prices, spares, number of GPUs.

#include "catch.hpp"
#include "support/job.hpp"

#include <fabricost/plan/answers/compare.hpp>
#include <fabricost/plan/answers/cost.hpp>
#include <fabricost/plan/answers/design/explore.hpp>
#include <fabricost/plan/answers/design/need.hpp>
#include <fabricost/plan/answers/design/project.hpp>
#include <fabricost/plan/answers/goodput.hpp>
#include <fabricost/plan/answers/plan.hpp>
#include <fabricost/plan/answers/serve.hpp>
#include <fabricost/predict/predict.hpp>
#include <fabricost/specs/load.hpp>
#include <fabricost/plan/specs/stacks.hpp>

using namespace fabricost::plan;

namespace {

double seconds(const System& s, Collective op, int nodes, int ranks) {
  return predict(s, {.collective = op, .bytes = Bytes::from_value(1 << 30), .ranks = ranks, .nodes = nodes}).seconds;
}

}  // namespace

TEST_CASE("a taper holds back what the NICs that send put on it", "[answers]") {
  // 7:1 at the spine of meta-24k-roce; nodes enough to cross it
  const System plain = load_system("meta-24k-roce", std::vector<std::string>{"spine.oversubscription=1"});
  const System tapered = load_system("meta-24k-roce");
  const int nodes = std::min(tapered.nodes, 1024);
  const double all = seconds(tapered, Collective::all_to_all, nodes, 0) / seconds(plain, Collective::all_to_all, nodes, 0);
  const double one = seconds(tapered, Collective::all_to_all, nodes, nodes) / seconds(plain, Collective::all_to_all, nodes, nodes);
  CHECK(all >= one);
  CHECK(one >= 1);
  const System twice = load_system("meta-24k-roce", std::vector<std::string>{"spine.oversubscription=2"});
  if (tapered.tier("leaf") != nullptr && tapered.tier("leaf")->kind != TierKind::rails)
    CHECK(seconds(twice, Collective::all_to_all, nodes, nodes) == Approx(seconds(plain, Collective::all_to_all, nodes, nodes)));
}

TEST_CASE("ranks take more domains where they do not fill the fewest evenly", "[answers]") {
  const System rack = load_system("gb200-nvl72");
  CHECK(seconds(rack, Collective::all_reduce, 256, 1024) > 0);  // 16 domains of 64, for 15 would not be equal
  CHECK(seconds(rack, Collective::all_reduce, 256, 1024) >= seconds(rack, Collective::all_reduce, 128, 512));
}

TEST_CASE("GPUs that a layout leaves idle are paid in compare as in project", "[answers]") {
  CompareRequest c;
  c.systems = {{"gb200-nvl72"}, {"dgx-b200"}};
  c.model.name = "moe-1.8t";
  c.gpus = 1152;
  c.global_batch = 2304;
  c.train = true;
  const CompareAnswer compared = answer(c);
  const ComparedAnswer& rack = compared.rows.front();
  REQUIRE(rack.dollars_per_million_tokens);
  CHECK(*rack.dollars_per_million_tokens ==
        Approx(*rack.dollars_per_gpu_hour / 3600 * (1152 + rack.idle_gpus) / (1152 * rack.tokens_per_second_per_gpu) * 1e6).epsilon(1e-6));
  auto p = support::job<ProjectRequest>("gb200-nvl72", "moe-1.8t", 1152, 2304);
  p.tokens = 1e12;
  const ProjectAnswer projected = answer(p);
  CHECK(projected.rows.front().idle_gpus == rack.idle_gpus);
  CHECK(projected.rows.front().step.value() == Approx(rack.step->value()));
}

TEST_CASE("a bill, a comparison and a project pay for the same GPUs, of servers, racks, slices and what is rented together", "[answers]") {
  struct Sold {
    const char* system;
    int gpus, paid, bought;  // bought: of a machine that is owned
  };
  constexpr std::array sold{Sold{"dgx-h100", 4, 8, 8},         Sold{"dgx-h100", 12, 16, 16},      Sold{"dgx-h100", 16, 16, 16},
                            Sold{"gb200-nvl72", 4, 4, 72},     Sold{"gb200-nvl72", 6, 8, 72},     Sold{"gb200-nvl72", 48, 48, 72},
                            Sold{"gb200-nvl72", 80, 144, 144}, Sold{"aws-p6e-gb200", 8, 36, 72},  Sold{"aws-p6e-gb200", 40, 72, 72},
                            Sold{"aws-p6e-gb300", 8, 72, 72},  Sold{"gcp-a4x", 8, 8, 72},         Sold{"tpu-v5p-cube", 16, 16, 16},
                            Sold{"tpu-v5p-cube", 48, 64, 64},  Sold{"tpu-v5p-cube", 96, 128, 128}};
  for (const Sold& one : sold) {
    CAPTURE(one.system, one.gpus);
    for (const bool own : {false, true}) {
      const std::optional<PriceKind> kind = own ? std::optional{PriceKind::owned} : std::optional{PriceKind::on_demand};
      const int paid = own ? one.bought : one.paid;
      auto plan = support::job<PlanRequest>(one.system, "llama3-8b", one.gpus, 48 * one.gpus);
      plan.top = 1;
      const PlannedLayout layout = answer(plan).layouts.front();
      CostRequest bill;
      bill.system.name = one.system;
      bill.gpus = one.gpus;
      bill.price_kind = kind;
      CHECK(answer(bill).paid_gpus == paid);
      bill.gpus.reset();
      bill.plan = PlannedRate{one.system, "llama3-8b", double(one.gpus), 1, "", double(layout.idle_gpus)};
      CHECK(answer(bill).paid_gpus == paid);
      auto compare = support::job<CompareRequest>(one.system, plan.model.name, one.gpus, *plan.global_batch);
      compare.train = true;
      compare.price_kind = kind;
      CHECK(one.gpus + answer(compare).rows.front().idle_gpus == paid);
      auto project = support::job<ProjectRequest>(one.system, plan.model.name, one.gpus, *plan.global_batch);
      project.tokens = 1e11;
      project.spares = 0;
      project.price_kind = kind;
      CHECK(answer(project).rows.front().paid_gpus == paid);
      CHECK(answer(project).rows.front().cost->paid_gpus == paid);
    }
  }
}

TEST_CASE("a plan leaves idle no nodes of a rack that other jobs can have", "[answers]") {
  auto r = support::job<PlanRequest>("gb200-nvl72", "llama3-8b", 6, 48);
  CHECK(answer(r).layouts.front().idle_gpus == 2);  // of its second node
  r.gpus = 8;
  CHECK(answer(r).layouts.front().idle_gpus == 0);
  r.system.name = "aws-p6e-gb200";
  CHECK(answer(r).layouts.front().idle_gpus == 28);  // of the 36 that are rented together
}

TEST_CASE("what is known of kernels has one word, whichever question it is asked with", "[answers]") {
  using Known = std::pair<const char*, const char*>;
  for (const auto& [system, word] : {Known{"tpu-v7-cube", "sibling"}, Known{"tpu-v5p-cube", "measured"}, Known{"mi355x-8", "measured"},
                                     Known{"dgx-h100", "measured"}, Known{"trn2-ultraserver", "assumed"}}) {
    CAPTURE(system);
    auto plan = support::job<PlanRequest>(system, "llama3-8b", 64, 512);
    CHECK(answer(plan).kernels == word);
    auto compare = support::job<CompareRequest>(system, plan.model.name, 64, 512);
    compare.train = true;
    CHECK(answer(compare).rows.front().kernels == word);
    auto project = support::job<ProjectRequest>(system, plan.model.name, 64, 512);
    project.tokens = 1e11;
    CHECK(answer(project).rows.front().kernels == word);
  }
}

TEST_CASE("an exploration gives the rows of machines without a price, and says which have none", "[answers]") {
  ExploreRequest r;
  r.model.name = "llama3-8b";
  r.gpus = 64;
  r.global_batch = 512;
  r.vary = {"system=dgx-h100,mi355x-8,dgx-b200"};
  r.objectives = "step,$/token";
  const ExploreAnswer a = answer(r);
  REQUIRE(a.points.size() == 3);
  CHECK(a.price_kind.has_value());
  REQUIRE(a.no_price);
  CHECK(a.no_price->find("mi355x-8") != std::string::npos);
  CHECK(a.no_price->find("dgx-h100") == std::string::npos);
  for (const ExplorePoint& one : a.points) {
    CHECK(one.trouble.empty());
    CHECK(one.objectives[0].second.has_value());
  }
  CHECK(a.points[0].objectives[1].second.has_value());
  CHECK_FALSE(a.points[1].objectives[1].second.has_value());
  CHECK(a.points[2].objectives[1].second.has_value());
  r.prices = {"mi355x-8=3"};
  const ExploreAnswer priced = answer(r);
  CHECK_FALSE(priced.no_price);
  CHECK(priced.points[1].objectives[1].second.has_value());
}

TEST_CASE("sequences of any length are planned without context ranks", "[answers]") {
  auto r = support::job<PlanRequest>("dgx-h100", "llama3-8b", 64, 64);
  r.sequence = 4095;
  const PlanAnswer odd = answer(r);
  CHECK(odd.fits);
  CHECK(odd.layouts.front().cp == 1);
  r.sequence = 4096;
  CHECK(odd.layouts.front().step.value() <= 1.05 * answer(r).layouts.front().step.value());
}

TEST_CASE("a machine's default stack has published steps, and a named stack is taken as it is", "[answers]") {
  PlanRequest r;
  r.model.name = "llama3-8b";
  r.gpus = 8;
  r.global_batch = 64;
  for (const auto& [machine, usual] :
       {std::pair{"dgx-h100", "nemo"}, {"dgx-b200", "nemo-2025-09"}, {"dgx-a100", "nemo"}, {"tpu-v6e-pod", "maxtext-tpu"},
        {"mi300x-8", "rocm-mlperf"}, {"mi355x-8", "rocm-mlperf"}, {"gaudi-3", "megatron-core"}}) {
    INFO(machine);
    r.system.name = machine;
    r.stack = {};
    CHECK(answer(r).stack == usual);
    if (usual != std::string{unfitted_stack}) CHECK_FALSE(load_stack(usual).seen.on.empty());
    r.stack.name = "megatron-core";
    CHECK(answer(r).stack == "megatron-core");
  }
}

TEST_CASE("a worker that only prefills takes as many prompts as an engine that also answers them", "[answers]") {
  ServeRequest r;
  r.system.name = "dgx-h100";
  r.model.name = "llama3-8b";
  r.gpus = 8;
  r.osl = 1;
  r.isl = 1024;
  r.tp = 1;
  r.pp = 1;
  r.top = 1;
  const double together = answer(r).layouts.front().tokens_per_second_per_gpu;
  // one of the two tokens comes with the prompt
  r.osl = 2;
  r.disaggregated = true;
  const PlannedDeployment apart = answer(r).layouts.front();
  CHECK(apart.tokens_per_second / 2 / apart.prefill_workers >= 0.97 * together);
  CHECK(*apart.prefill_use <= 1);
  CHECK(*apart.prefill_use > 0.9);
  r.osl = 4096;  // decode workers are the bottleneck, or as many as there can be
  const PlannedDeployment long_answers = answer(r).layouts.front();
  CHECK(*long_answers.prefill_use < 1);
}

TEST_CASE("no kernel of a step is faster than the peak, with the stack's factor", "[answers]") {
  for (const char* machine : {"tpu-v5p-cube", "tpu-v7-cube", "tpu-v6e-pod", "dgx-h100", "dgx-b200"}) {
    const System system = load_system(machine);
    const Processor gpu = Processor::of(system);
    for (const char* name : {"maxtext-tpu", "torchtitan", "nemo"}) {
      const Stack stack = load_stack(name);
      const Processor driven = driven_by(stack, {}, gpu);
      for (const Precision p : {Precision::bf16, Precision::fp8})
        CHECK(product_seconds(driven, p, 65536, 65536, 65536) >= 2 * std::pow(65536.0, 3) / gpu.peak(p));
      CHECK(stream_seconds(driven, 1e9) * (1 + 1e-12) >= 1e9 / gpu.memory_rate);
    }
  }
}

TEST_CASE("kernels fitted on other processors of a generation are siblings of it, and the interval says so", "[answers]") {
  PlanRequest r;
  r.model.name = "llama3-8b";
  r.gpus = 64;
  r.global_batch = 1024;
  const auto planned_on = [&](const char* machine) {
    r.system.name = machine;
    return answer(r);
  };
  const PlanAnswer fitted = planned_on("tpu-v5p-cube"), sibling = planned_on("tpu-v7-cube");
  CHECK(fitted.kernels == "measured");
  CHECK(sibling.kernels == "sibling");
  CHECK(planned_on("tpu-v4-cube").kernels == "sibling");
  CHECK(planned_on("deepseek-v3-h800").kernels == "measured");  // the same processor as an H100
  const auto width = [](const PlanAnswer& a) { return a.layouts.front().interval.second.value() / a.layouts.front().step.value(); };
  CHECK(width(sibling) > width(fitted));
}

TEST_CASE("what waits in host memory has room there", "[answers]") {
  auto r = support::job<PlanRequest>("dgx-h100", "llama3-405b", 64, 64);
  r.tp = 8;
  r.pp = 8;
  r.microbatch = 1;
  r.zero = 1;
  r.recompute = Recompute::full;
  r.optimizer_offload_fraction = 1;
  const PlannedLayout away = answer(r).layouts.front();
  CHECK(away.host.value_or(Bytes{}) > Bytes{});
  double sum = 0;
  for (const MemoryPart& part : away.memory) sum += part.bytes.value();
  CHECK(sum == Approx(away.memory_size.value()));
  r.overrides = {"host_memory=64 GB"};
  const PlanAnswer none = answer(r);
  CHECK_FALSE(none.fits);
  CHECK(none.advice.find("in host memory") != std::string::npos);
}

TEST_CASE("answers that time a training run say where their stack was not measured on the GPU's generation", "[answers]") {
  auto p = support::job<ProjectRequest>("dgx-a100", "llama3-8b", 8, 32);
  p.systems.all = {{"dgx-a100"}, {"dgx-h100"}};
  p.tokens = 1e9;
  CompareRequest c;
  c.systems = p.systems.all;
  c.model = p.model;
  c.gpus = 8;
  c.global_batch = 32;
  c.train = true;
  auto n = support::job<NeedRequest>("dgx-a100", "llama3-8b", 8, 32);
  n.gpus.reset();
  n.unknown = "gpus";
  n.over = "4,8";
  n.step = units::s(1000);
  auto e = support::job<ExploreRequest>("dgx-a100", "llama3-8b", 8, 32);
  e.vary = {"batch=16,32"};
  e.global_batch.reset();
  const auto notes = [&] {
    const ProjectAnswer projected = answer(p);
    const CompareAnswer compared = answer(c);
    return std::vector<std::string>{projected.rows[0].stack_note, projected.rows[1].stack_note, compared.rows[0].stack_note,
                                    compared.rows[1].stack_note,  answer(n).stack_note,         answer(e).stack_note};
  };
  const std::vector<std::string> usual = notes();
  for (const std::size_t ampere : {0U, 2U, 4U, 5U}) {
    CHECK_THAT(usual[ampere], Catch::StartsWith("stack nemo was not measured on ampere"));
    CHECK_THAT(usual[ampere], Catch::Contains("megatron-lm-2023") && Catch::Contains("<stack>"));
  }
  CHECK(usual[1].empty());
  CHECK(usual[3].empty());
  p.stack.name = c.stack.name = n.stack.name = e.stack.name = "composer-fsdp";
  for (const std::string& one : notes()) CHECK(one.empty());
}
