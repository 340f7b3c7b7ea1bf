/// \file test_whole_machines.cpp
/// What several questions must say alike of one machine: idle GPUs, tapers, prices, spares, how many GPUs there are.

#include "catch.hpp"

#include <fabricost/answers/compare.hpp>
#include <fabricost/answers/cost.hpp>
#include <fabricost/answers/design/project.hpp>
#include <fabricost/answers/goodput.hpp>
#include <fabricost/answers/plan.hpp>
#include <fabricost/predict/predict.hpp>
#include <fabricost/specs/load.hpp>

#include <memory>
#include <string>
#include <vector>

using namespace fabricost;

namespace {

Machine altered(const char* name, const std::vector<std::string>& overrides) {
  return {{}, std::make_shared<const System>(load_system(name, overrides))};
}
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
  c.model.name = "moe-1.8t", c.gpus = 1152, c.global_batch = 2304, c.train = true;
  const CompareAnswer compared = answer(c);
  const ComparedAnswer& rack = compared.rows.front();
  REQUIRE(rack.dollars_per_million_tokens);
  CHECK(*rack.dollars_per_million_tokens ==
        Approx(*rack.dollars_per_gpu_hour / 3600 * (1152 + rack.idle_gpus) / (1152 * rack.tokens_per_second_per_gpu) * 1e6).epsilon(1e-6));
  ProjectRequest p;
  p.systems.all = {{"gb200-nvl72"}};
  p.model.name = "moe-1.8t", p.gpus = 1152, p.global_batch = 2304, p.tokens = 1e12;
  const ProjectAnswer projected = answer(p);
  CHECK(projected.rows.front().idle_gpus == rack.idle_gpus);
  CHECK(projected.rows.front().step_seconds == Approx(*rack.step_seconds));
}

TEST_CASE("no layout takes more domains than a machine has", "[answers]") {
  PlanRequest r;
  r.system.name = "superpod-gb200", r.model.name = "moe-1.8t", r.gpus = 576, r.global_batch = 2304;
  const System s = load_system("superpod-gb200");
  for (const PlannedLayout& one : answer(r).layouts) CHECK(576 + one.idle_gpus <= s.gpus());
}

TEST_CASE("a price in a machine's file goes before the shipped list, and the user's own before it", "[answers]") {
  CostRequest r;
  r.system = altered("dgx-h100", {"price=100000 USD"}), r.gpus = 1024;
  CHECK(*answer(r).servers_dollars == Approx(128 * 100000.0));
  r.dollars_per_server = 200000;
  CHECK(*answer(r).servers_dollars == Approx(128 * 200000.0));
}

TEST_CASE("an own price of a GPU-hour is a rent and never the cost of owning", "[answers]") {
  CompareRequest c;
  c.systems = {{"dgx-h100"}, {"dgx-b200"}};
  c.model.name = "llama3-70b", c.gpus = 64, c.global_batch = 128, c.train = true;
  c.prices = {{"dgx-h100", 2.2}};
  c.price_kind = PriceKind::owned;
  const CompareAnswer owned = answer(c);
  for (const ComparedAnswer& row : owned.rows) CHECK(row.dollars_per_gpu_hour == std::nullopt);
}

TEST_CASE("the sizes and fleets of goodput wait for spares as its headline does", "[answers]") {
  GoodputRequest r;
  r.gpus = 1024, r.spares = 0, r.fleet = "llama3";
  const GoodputAnswer a = answer(r);
  CHECK(a.waiting_share > 0);
  for (const GoodputAtScale& one : a.by_scale)
    if (one.gpus == 1024) CHECK(one.goodput == Approx(a.goodput));
  for (const GoodputOfFleet& one : a.by_fleet)
    if (one.fleet == "llama3") CHECK(one.goodput == Approx(a.goodput));
}

TEST_CASE("sequences of any length are planned without context ranks", "[answers]") {
  PlanRequest r;
  r.system.name = "dgx-h100", r.model.name = "llama3-8b", r.gpus = 64, r.global_batch = 64, r.sequence = 4095;
  const PlanAnswer odd = answer(r);
  CHECK(odd.fits);
  CHECK(odd.layouts.front().cp == 1);
  r.sequence = 4096;
  CHECK(odd.layouts.front().step_seconds <= 1.05 * answer(r).layouts.front().step_seconds);
}

TEST_CASE("training on a TPU is priced with a stack that runs there", "[answers]") {
  PlanRequest r;
  r.system.name = "tpu-v5p-cube", r.model.name = "llama3-8b", r.gpus = 64, r.global_batch = 1024;
  CHECK(answer(r).stack == "maxtext-tpu");
  r.stack.name = "maxtext-tpu";
  const double named = answer(r).layouts.front().step_seconds;
  r.stack.name = default_stack;
  CHECK(answer(r).layouts.front().step_seconds == named);
}
