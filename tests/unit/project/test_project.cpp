// A whole run in one answer: its parts are the answers of plan, goodput, cost and need; deadlines hold; limits choose machines as brute
// force does; published runs lie inside their intervals.
#include "catch.hpp"

#include <fabricost/plan/answers/design/need.hpp>
#include <fabricost/plan/answers/design/project.hpp>
#include <fabricost/plan/economics/days.hpp>

#include "support/job.hpp"
#include "support/message_of.hpp"
#include "unit/project/narrow.hpp"
#include "support/slow_build.hpp"

#include <random>
#include <string>
#include <vector>

using namespace fabricost::plan;
using Catch::Contains;
using support::message_of;

namespace {

template <class Request = ProjectRequest>
Request asked(const std::string& machines, int gpus = 256) {
  Request r;
  r.systems.all = {machines};
  r.model.name = "llama3-8b";
  if (gpus > 0) r.gpus = gpus;
  r.global_batch = 512;
  r.tokens = 1e12;
  return r;
}

bool inside(double x, const std::pair<double, double>& ends) { return ends.first <= x && x <= ends.second; }

}  // namespace

TEST_CASE("a run is put together from plan, goodput and cost") {
  const ProjectAnswer a = answer(asked("dgx-h100"));
  REQUIRE(a.rows.size() == 1);
  const ProjectedRun& r = a.rows[0];
  auto plan = support::job<PlanRequest>("dgx-h100", "llama3-8b", 256, 512);
  const PlannedLayout best = answer(plan).layouts.front();
  CHECK(*r.layout == best);
  CHECK(r.step.value() == best.step.value());
  GoodputRequest failing;
  failing.system.name = "dgx-h100";
  failing.model.name = "llama3-8b";
  failing.gpus = 256;
  failing.spares = r.spares;
  CHECK(r.goodput == answer(failing).goodput);
  CHECK(r.failures->spares_to_wait_a_thousandth == r.spares);
  CHECK(r.paid_gpus == 256 + 8 * r.spares + r.idle_gpus);
  CHECK(r.steps == Approx(1e12 / (512 * 4096.0)));
  CHECK(r.time.value() == Approx(r.steps * r.step.value() / r.goodput));
  CHECK(r.gpu_hours == Approx(256 * r.time.value() / 3600));
  CostRequest cost;
  cost.system.name = "dgx-h100";
  cost.gpus = r.paid_gpus;
  cost.hours = r.time.value() / 3600;
  const CostAnswer priced = answer(cost);
  CHECK(r.price->value() == Approx(priced.run->rented->value()));
  CHECK(r.energy->value() == Approx(priced.run->energy->value()));
  CHECK(r.site_power->value() == Approx(priced.site_power->value()));
  CHECK(r.energy->value() == Approx(r.site_power->value() * r.time.value()));
  CHECK(r.gpus_energy->value() == Approx(256 * 700 * r.time.value()));
  CHECK(*r.racks == std::ceil(r.paid_gpus / 8 / 4.0));
}

TEST_CASE("intervals contain the answer; a rate of failures that was given has no interval of its own") {
  ProjectRequest q = asked("dgx-h100,gb200-nvl72");
  for (const ProjectedRun& r : answer(q).rows) {
    CAPTURE(r.system, r.trouble);
    for (const auto& [value, ends] :
         {std::pair{r.step.value(), numbers_in(r.interval_step)}, std::pair{r.goodput, r.interval_goodput},
          std::pair{r.time.value(), numbers_in(r.interval)}, std::pair{r.gpu_hours, r.interval_gpu_hours},
          std::pair{r.energy->value(), numbers_in(*r.interval_energy)}, std::pair{r.price->value(), numbers_in(*r.interval_price)}}) {
      CHECK(inside(value, ends));
      CHECK(ends.first > 0);
    }
    CHECK(r.interval_goodput.second <= 1);
    CHECK(r.interval.second.value() / r.time.value() >= r.interval_step.second.value() / r.step.value());
  }
  const ProjectedRun any = answer(q).rows[0];
  q.fleet = "llama3";
  const ProjectedRun known = answer(q).rows[0];
  CHECK(known.time.value() == any.time.value());
  CHECK(known.interval_goodput == std::pair{known.goodput, known.goodput});
  CHECK(known.interval.second.value() < any.interval.second.value());
  CHECK(known.interval.second.value() / known.time.value() == Approx(known.interval_step.second.value() / known.step.value()));
}

TEST_CASE("racks that keep spare nodes run on the others and are paid for whole, spare racks among them") {
  ProjectRequest q = asked("gb200-nvl72");
  q.spares_per_rack = 2;
  q.spares = 1;
  const ProjectedRun r = answer(q).rows.at(0);
  CHECK(r.paid_gpus == (256 / 64 + 1) * 72);
  CHECK(r.failures->racks == 4);
  GoodputRequest failing;
  failing.system.name = "gb200-nvl72";
  failing.model.name = "llama3-8b";
  failing.gpus = 256;
  failing.spares = 1;
  failing.spares_per_rack = 2;
  CHECK(r.goodput == answer(failing).goodput);
  CHECK(answer(failing).kept_per_node == Approx(r.goodput * 64 / (5 * 18)));
  q.spares_per_rack = 18;
  CHECK_THAT(message_of([&] { return answer(q); }), Contains("at most 17"));
}

TEST_CASE("GPUs are the least that end in time, as need finds them, with spares and turns counted") {
  {
    const double use = 0.5;
    ProjectRequest q = narrow(asked("dgx-h100,dgx-b200", 0));
    // a limit that no count misses by minutes: the next count that divides the batch may be half as many again
    q.in = units::h(21 * 24);
    q.use = use;
    for (const ProjectedRun& r : answer(q).rows) {
      CAPTURE(r.system, r.trouble, use);
      REQUIRE(r.trouble.empty());
      CHECK(r.gpus_found);
      CHECK(*r.in_time);
      CHECK(r.time.value() <= q.in->value());
      NeedRequest n = narrow(NeedRequest{});
      n.unknown = "gpus";
      n.system.name = r.system;
      n.model = q.model;
      n.global_batch = q.global_batch;
      n.tokens = q.tokens;
      n.in = *q.in * use;
      n.goodput = true;
      const NeedAnswer least = answer(n);
      CHECK(r.gpus >= *least.value);  // turns and spares take a little
      CHECK(r.gpus <= 1.1 * *least.value + 8);
      ProjectRequest fewer = q;
      fewer.gpus = static_cast<int>(*least.next_smaller);
      try {
        for (const ProjectedRun& small : answer(fewer).rows)
          if (small.system == r.system && small.trouble.empty()) CHECK_FALSE(*small.in_time);
      } catch (const RequestError&) {}  // so few cannot run at all
    }
  }
}

TEST_CASE("time, money and energy follow tokens; half of each day takes more than twice as long for the same money and a little more") {
  ProjectRequest q = asked("dgx-h100");
  const ProjectedRun one = answer(q).rows[0];
  q.tokens = 3e12;
  const ProjectedRun three = answer(q).rows[0];
  CHECK(three.time.value() == Approx(3 * one.time.value()));
  CHECK(three.price->value() == Approx(3 * one.price->value()));
  CHECK(three.energy->value() == Approx(3 * one.energy->value()));
  q.tokens = 1e12;
  q.use = 0.5;
  const ProjectedRun half = answer(q).rows[0];
  const double turn = (one.failures->stall + one.failures->recovery).value();
  CHECK(half.time.value() == Approx(2 * one.time.value() / (1 - turn / 43200)));
  CHECK(half.price->value() == Approx(one.price->value() / (1 - turn / 43200)));
  q.use = turn / 86400 * 0.9;
  CHECK_THAT(message_of([&] { (void)answer(q); }), Contains("stopping and starting again"));
  ProjectRequest slow = asked("dgx-h100");
  slow.mttf_node = units::h(30 * 24);
  const ProjectedRun failing = answer(slow).rows[0];
  CHECK(failing.goodput < one.goodput);
  CHECK(failing.time.value() > one.time.value());
}

TEST_CASE("all machines are priced by one kind; a price that was given comes first") {
  ProjectRequest q = asked("dgx-h100,dgx-b200");
  const ProjectAnswer a = answer(q);
  REQUIRE(a.price_kind == "on_demand");
  for (const ProjectedRun& r : a.rows) CHECK(r.price_kind == "on_demand");
  q.own_prices = {{"dgx-b200", 3.0}};
  const ProjectAnswer own = answer(q);
  CHECK(own.rows[0].price_kind == "on_demand");
  CHECK(own.rows[1].price_kind == "stated");
  CHECK(own.rows[1].price->value() == Approx(3 * own.rows[1].paid_gpus * own.rows[1].time.value() / 3600));
  q.own_prices.clear();
  q.price_kind = PriceKind::owned;
  const ProjectAnswer owned = answer(q);
  CHECK(owned.price_kind == "owned");
  CHECK(owned.rows[0].price->value() == Approx(owned.rows[0].cost->run->owned->value()));
  q.interest = 0.1;
  q.storage_share = 0.2;
  q.network = ScaleOut::fat_tree;
  const ProjectedRun more = answer(q).rows[0];
  CHECK(more.price->value() > owned.rows[0].price->value());
  CHECK(*more.storage_share > 0.1);
  CHECK(more.cost->network == ScaleOut::fat_tree);
  q.own_prices = {{"dgx-a100", 1.0}};
  CHECK_THAT(message_of([&] { (void)answer(q); }), Contains("dgx-a100"));
}

TEST_CASE("a machine that cannot do the job says why beside those that can; alone it is refused") {
  ProjectRequest q = asked("dgx-h100,dgx-1-v100", 8);
  q.model.name = "llama3-70b";
  q.global_batch = 64;
  const ProjectAnswer a = answer(q);
  CHECK(a.rows[0].trouble.empty());
  CHECK_FALSE(a.rows[1].trouble.empty());
  CHECK(a.cheapest == "dgx-h100");
  q.systems.all = {"dgx-1-v100"};
  CHECK_THROWS_AS(answer(q), RequestError);
  CHECK_THAT(message_of([&] { (void)answer(asked("", 8)); }), Contains("which machines"));
  CHECK_THAT(message_of([&] { (void)answer(asked("dgx-h100", 0)); }), Contains("in what time"));
}

TEST_CASE("need machine picks what brute force over the runs picks, under random limits") {
  const auto names = "dgx-h100,dgx-h200,dgx-b200,gb200-nvl72";
  const ProjectAnswer all = answer(narrow(asked(names)));
  std::mt19937 random{20261123};
  const auto any = [&](double from, double to) { return from * std::pow(to / from, std::uniform_real_distribution{0.0, 1.0}(random)); };
  int satisfied = 0;
  for (int i = 0; i < support::draws(15); ++i) {
    auto q = narrow(asked<NeedMachineRequest>(names));
    q.by = static_cast<BestMachine>(random() % 4);
    const auto of = [&](auto&& value) {
      double low = 1e300, high = 0;
      for (const ProjectedRun& r : all.rows) low = std::min(low, value(r)), high = std::max(high, value(r));
      return any(0.9 * low, 1.1 * high);
    };
    if (random() % 2 == 0) q.in = units::s(of([](const ProjectedRun& r) { return r.time.value(); }));
    if (random() % 2 == 0) q.budget = units::USD(of([](const ProjectedRun& r) { return r.price->value(); }));
    if (random() % 2 == 0) q.megawatts = of([](const ProjectedRun& r) { return r.site_power->value() / 1e6; });
    if (random() % 2 == 0) q.racks = static_cast<int>(of([](const ProjectedRun& r) { return *r.racks; }));
    const auto measure = [&](const ProjectedRun& r) {
      return q.by == BestMachine::cheapest       ? r.price->value()
             : q.by == BestMachine::lowest_power ? r.site_power->value()
             : q.by == BestMachine::fewest_gpus  ? r.gpus
                                                 : r.time.value();
    };
    const ProjectedRun* best = nullptr;
    for (const ProjectedRun& r : all.rows) {
      const bool keeps = r.time.value() <= numbers_in(q.in).value_or(1e300) && r.price->value() <= numbers_in(q.budget).value_or(1e300) &&
                         r.site_power->value() / 1e6 <= q.megawatts.value_or(1e300) && *r.racks <= q.racks.value_or(1 << 30);
      if (keeps && (best == nullptr || measure(r) < measure(*best))) best = &r;
    }
    const NeedMachineAnswer found = answer(q);
    CAPTURE(i, found.goal, found.reason);
    REQUIRE(found.satisfied == (best != nullptr));
    if (best == nullptr) {
      CHECK_FALSE(found.reason.empty());
      continue;
    }
    ++satisfied;
    CHECK(found.value == best->system);
    CHECK(*found.measure == measure(*best));
    CHECK(found.tried.size() == all.rows.size());
    CHECK(found.tried.front().value == best->system);
    if (found.next_larger) CHECK(*found.next_larger != best->system);
  }
  CHECK(satisfied >= support::draws(4));
}

TEST_CASE("published runs lie inside the intervals of one question each") {
  SECTION("Llama 3 405B: 30.84 M H100 hours for 15.6 T tokens, above 90 % of 54 days kept (arXiv 2407.21783; model card)") {
    ProjectRequest q;
    q.systems.all = {"meta-24k-roce"};
    q.model.name = "llama3-405b";
    q.stack.name = "meta-llama3";
    q.gpus = 16384;
    q.global_batch = 2048;
    q.sequence = 8192;
    q.tokens = 15.6e12;
    q.storage_bandwidth = units::TB_per_s(2);
    const ProjectedRun r = answer(q).rows[0];
    INFO(r.gpu_hours << " h, goodput " << r.goodput);
    CHECK(inside(30.84e6, r.interval_gpu_hours));
    CHECK(r.gpu_hours == Approx(30.84e6).epsilon(0.25));
    CHECK(inside(0.9, r.interval_goodput));
    CHECK(r.goodput == Approx(0.9).margin(0.04));
    // the published 400 TFLOP/s a GPU and 90 % of 54 days are 10.5 T tokens, at 2.63 TFLOP a token (matrix products and all scores)
    const double tokens = 16384 * 400e12 / 2.626e12 * 0.9 * 54 * 86400;
    q.tokens = tokens;
    const ProjectedRun snapshot = answer(q).rows[0];
    INFO(tokens << " tokens, " << snapshot.time.value() / 86400 << " days");
    CHECK(inside(54 * 86400.0, numbers_in(snapshot.interval)));
    CHECK(snapshot.time.value() == Approx(54 * 86400.0).epsilon(0.25));
  }
  SECTION("DeepSeek-V3: 2.664 M H800 hours of pretraining on 14.8 T tokens, 2.788 M in all (arXiv 2412.19437)") {
    ProjectRequest q;
    q.systems.all = {"deepseek-v3-h800"};
    q.model.name = "deepseek-v3";
    q.stack.name = "deepseek";
    q.precision = Precision::fp8;
    q.gpus = 2048;
    q.global_batch = 15360;
    q.sequence = 4096;
    q.tokens = 14.8e12;
    q.tp = 1;
    q.pp = 16;
    q.ep = 64;
    q.cp = 1;
    q.zero = 1;
    q.recompute = Recompute::selective;
    const ProjectedRun r = answer(q).rows[0];
    INFO(r.gpu_hours << " h");
    CHECK(inside(2.664e6, r.interval_gpu_hours));
    CHECK(inside(2.788e6, r.interval_gpu_hours));
    CHECK(r.gpu_hours == Approx(2.664e6).epsilon(0.25));
  }
  SECTION("BLOOM: 1,082,990 A100 hours, 433 MWh at the GPUs' rating, 690 MWh with what nodes draw idle (arXiv 2211.02001)") {
    ProjectRequest q;
    q.systems.all = {"jean-zay-a100"};
    q.model.name = "bloom-176b";
    q.stack.name = "megatron-deepspeed-bf16";
    q.gpus = 384;
    q.global_batch = 2048;
    q.sequence = 2048;
    q.tokens = 366e9;
    q.tp = 4;
    q.pp = 12;
    q.dp = 8;
    q.zero = 1;
    q.microbatch = 2;
    q.recompute = Recompute::full;
    const ProjectedRun r = answer(q).rows[0];
    INFO(r.gpu_hours << " h, " << r.gpus_energy->value() / 3.6e9 << " MWh, " << r.racks_energy->value() / 3.6e9 << " MWh");
    CHECK(inside(1082990, r.interval_gpu_hours));
    const double by = r.interval_gpu_hours.second / r.gpu_hours, least = r.interval_gpu_hours.first / r.gpu_hours;
    CHECK(inside(433.196, {r.gpus_energy->value() / 3.6e9 * least, r.gpus_energy->value() / 3.6e9 * by}));
    CHECK(inside(433.196 + 256.646, {r.racks_energy->value() / 3.6e9 * least, r.racks_energy->value() / 3.6e9 * by}));
  }
}

TEST_CASE("a run that ends on the last day named is in time, and one that ends a day later is not") {
  for (const int gpus : {64, 128, 512}) {
    ProjectRequest r = asked("dgx-h100", gpus);
    r.start = "2027-01-01";
    const std::string ends = *answer(r).rows[0].ends;
    INFO(gpus << " GPUs end on " << ends);
    r.done_by = ends;
    CHECK(*answer(r).rows[0].in_time);
    r.start = "2027-01-02";
    CHECK_FALSE(*answer(r).rows[0].in_time);
  }
}

TEST_CASE("a machine that comes later has less time, and one that comes too late says so") {
  ProjectRequest r = asked("dgx-h100,dgx-b200", 0);
  r.start = "2027-01-01";
  r.done_by = "2027-03-31";
  const int now = answer(r).rows[0].gpus;
  r.deliveries = {{"dgx-h100", "2027-02"}};
  const ProjectAnswer later = answer(r);
  CHECK(later.rows[0].gpus > now);
  CHECK(later.rows[0].wait.value() == 58 * 86400.0);
  CHECK(later.rows[0].delivery_source == "as given");
  CHECK(*later.rows[0].ends <= "2027-03-31");
  CHECK(later.rows[1].wait.value() == 0);
  r.deliveries = {{"dgx-h100", "2027-04-01"}};
  CHECK_THAT(answer(r).rows[0].trouble, Contains("2027-04-01") && Contains("2027-03-31"));
  const auto refused = [&](auto change) {
    ProjectRequest other = asked("dgx-h100", 0);
    other.start = "2027-01-01";
    other.done_by = "2027-03-31";
    change(other);
    return message_of([&] { static_cast<void>(answer(other)); });
  };
  CHECK_THAT(refused([](ProjectRequest& q) { q.done_by = "soon"; }), Contains("is no day") && Contains("2027-Q1"));
  CHECK_THAT(refused([](ProjectRequest& q) { q.done_by = "2026-01"; }), Contains("not after"));
  CHECK_THAT(refused([](ProjectRequest& q) { q.in = units::s(1e6); }), Contains("one end"));
  CHECK_THAT(refused([](ProjectRequest& q) { q.deliveries = {{"dgx-h10", "2027-02"}}; }), Contains("dgx-h100"));
  CHECK_THAT(refused([](ProjectRequest& q) { q.deliveries = {{"dgx-h100", "2027"}}; }), Contains("is no day"));
  CHECK_THAT(refused([](ProjectRequest& q) { q.systems.all = {"mtia-400-rack"}; }), Contains("is not known"));
}

TEST_CASE("need machine: delivery and the last day are limits like money") {
  auto r = narrow(asked<NeedMachineRequest>("dgx-b200,vera-rubin-nvl72", 0));
  r.start = "2026-11-20";
  r.done_by = "2027-06";
  r.tokens = 15e12;
  r.megawatts = 1;  // which keeps the search short
  r.by = BestMachine::fewest_gpus;
  const NeedMachineAnswer all = answer(r);
  CHECK(all.no_verdict);  // what its kernels reach is assumed
  r.delivered_by = "2026-11";
  const NeedMachineAnswer now = answer(r);
  CHECK(now.value.value_or("none") == "dgx-b200");
  CHECK(now.next_smaller == "vera-rubin-nvl72");
  CHECK_THAT(now.binding, Contains("delivery 2026-12-31, at most 2026-11-30"));
  r.by = BestMachine::soonest;
  r.gpus = 512;
  r.delivered_by.clear();
  r.deliveries = {{"vera-rubin-nvl72", "2027-05-31"}};
  const NeedMachineAnswer soonest = answer(r);
  CHECK(soonest.value != "vera-rubin-nvl72");
  for (const NeedMachineTried& one : soonest.tried)
    if (one.holds) CHECK(*soonest.measure <= *one.measure);
  r.delivered_by = "soon";
  CHECK_THAT(message_of([&] { static_cast<void>(answer(r)); }), Contains("delivered_by") && Contains("is no day"));
}

TEST_CASE("jobs of any size on machines whose domains are no power of two have an answer, or say why not") {
  std::mt19937 random{72};
  const auto one_of = [&](const auto& all) { return all[std::uniform_int_distribution<std::size_t>{0, std::size(all) - 1}(random)]; };
  const std::vector<std::string> machines{"gb200-nvl72",      "vera-rubin-nvl72", "helios-mi455x", "kyber-nvl576",
                                          "trn3-ultraserver", "cloudmatrix384",   "tpu-8i-pod",    "atlas-960"};
  const std::vector<std::string> models{"llama3-8b", "llama3-70b"};
  const std::vector<int> batches{512, 2048, 3000};
  const auto asked_about = [](const auto& request) {
    try {
      (void)answer(request);
    } catch (const RequestError& error) {
      CHECK(!std::string{error.what()}.empty());
    }
  };
  for (int i = 0; i < support::draws(10); ++i)
    for (const std::string& machine : machines) {
      const int gpus = 8 << std::uniform_int_distribution<int>{0, 14}(random);
      auto r = asked(machine, gpus);
      r.model.name = one_of(models);
      r.global_batch = one_of(batches);
      r.sequence = 8192;
      CAPTURE(machine, gpus, r.model.name, *r.global_batch);
      asked_about(r);
      CostRequest cost;
      cost.system.name = machine;
      cost.gpus = gpus;
      asked_about(cost);
      GoodputRequest failing;
      failing.system.name = machine;
      failing.gpus = gpus;
      asked_about(failing);
    }
  auto r = asked("gb200-nvl72", 32768);  // its cheapest layout is searched among those that leave fewer GPUs idle, of which none is wanted
  r.model.name = "llama3-70b";
  r.global_batch = 2048;
  r.sequence = 8192;
  CHECK(answer(r).rows.front().trouble.empty());
}

TEST_CASE("checkpoints of adapters hold the adapters, whose model is loaded after a failure, too") {
  std::mt19937 random{16};
  const auto from = [&](int least, int most) { return std::uniform_int_distribution<int>{least, most}(random); };
  for (int i = 0; i < support::draws(4); ++i) {
    ProjectRequest q = narrow(asked("dgx-h100", 64 << from(0, 2)));
    q.storage_bandwidth = units::GB_per_s(from(1, 20));
    const ProjectedRun all = answer(q).rows.at(0);
    q.lora_rank = from(1, 64);
    const ProjectedRun some = answer(q).rows.at(0);
    q.lora_modules = {"linear_qkv"};
    const ProjectedRun fewer = answer(q).rows.at(0);
    CAPTURE(*q.gpus, q.storage_bandwidth->value(), *q.lora_rank);
    CHECK(some.failures->checkpoint->value() < all.failures->checkpoint->value() / 10);
    CHECK(some.failures->stall.value() == Approx(some.failures->checkpoint->value() / q.storage_bandwidth->value()));
    CHECK(some.failures->reload.value() == Approx(some.failures->stall.value() + all.failures->reload.value() * 2 / 14));
    CHECK(some.goodput > all.goodput);
    CHECK(fewer.failures->checkpoint->value() < some.failures->checkpoint->value());
    CHECK(fewer.goodput >= some.goodput);
    const double width = 4096, keys = 1024, layers = 32;  // of the model, whose queries are as wide as its states
    CHECK(fewer.failures->checkpoint->value() == Approx(14 * *q.lora_rank * layers * (width + width + 2 * keys)));
  }
}
