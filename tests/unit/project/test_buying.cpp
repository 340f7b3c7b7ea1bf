// A buyer gets one answer from every question that contains it: sizes, spares, racks, switches, stacks, prices.
#include "catch.hpp"
#include "support/job.hpp"
#include "support/message_of.hpp"

#include <fabricost/plan/answers/design/explore.hpp>
#include <fabricost/plan/answers/design/need.hpp>
#include <fabricost/plan/answers/design/project.hpp>
#include <fabricost/plan/economics/network.hpp>
#include <fabricost/specs/load.hpp>

#include "unit/project/narrow.hpp"

using namespace fabricost::plan;

namespace {

constexpr double day = 86400;

template <class Request>
Request bought(const std::string& machines) {
  Request r;
  r.systems.all = {machines};
  r.model.name = "llama3-8b";
  r.global_batch = 512;
  r.tokens = 1e12;
  return r;
}

NetworkSize joined(const System& system, double gpus, ScaleOut kind, double spare_gpus = 0) {
  return network_size(system, gpus, {.kind = kind, .spare_gpus = spare_gpus});
}

}  // namespace

TEST_CASE("a tighter limit never makes the cheapest machine cheaper, and what it finds keeps the looser one") {
  auto q = narrow(bought<NeedMachineRequest>("dgx-h100,dgx-b200,gb200-nvl72"));
  q.megawatts = 0.5;
  double looser = 0;
  for (const double days : {20.0, 15.0}) {
    q.in = units::s(days * day);
    const NeedMachineAnswer a = answer(q);
    CAPTURE(days, a.value.value_or("none"), a.reason);
    REQUIRE(a.satisfied);
    CHECK(*a.measure >= looser);
    CHECK(a.run->time <= *q.in);
    looser = *a.measure;
  }
  q.in = units::s(20 * day);
  q.budget = units::USD(looser);
  CHECK(answer(q).satisfied);
}

TEST_CASE("a budget limits what an owned run uses up, capital what is bought for it") {
  auto q = narrow(bought<NeedMachineRequest>("dgx-h100,dgx-b200"));
  q.gpus = 256;
  q.price_kind = PriceKind::owned;
  const NeedMachineAnswer free = answer(q);
  REQUIRE(free.satisfied);
  CHECK(*free.run->capital > *free.run->price);
  CHECK(free.tried.front().capital == free.run->capital);
  q.budget = *free.run->price;
  CHECK(answer(q).satisfied);
  CHECK_THAT(answer(q).goal, Catch::Contains("owned in that time for"));
  q.capital = *free.run->capital * 0.9;
  CHECK(answer(q).value != free.value);
  q.price_kind = PriceKind::on_demand;
  CHECK_THROWS_WITH(answer(q), Catch::Contains("limits what is bought"));
}

TEST_CASE("the best machine is that of brute force over numbers of GPUs") {
  for (const BestMachine by : {BestMachine::cheapest, BestMachine::soonest}) {
    auto q = narrow(bought<NeedMachineRequest>("dgx-h100,gb200-nvl72"));
    q.in = units::s(20 * day);
    q.megawatts = 0.6;
    q.by = by;
    const NeedMachineAnswer found = answer(q);
    REQUIRE(found.satisfied);
    for (int gpus = 64; gpus <= 320; gpus += 64) {
      auto one = narrow(bought<ProjectRequest>("dgx-h100,gb200-nvl72"));
      one.gpus = gpus;
      one.in = q.in;
      for (const ProjectedRun& r : answer(one).rows) {
        if (!r.trouble.empty() || !*r.in_time || *r.site_power > units::MW(*q.megawatts)) continue;
        CAPTURE(gpus, r.system, found.run->gpus, *found.value);
        CHECK(*found.measure <= (by == BestMachine::cheapest ? r.price->value() : r.time.value()) * 1.02);
      }
    }
  }
}

TEST_CASE("each row of the fleets' table is what asking for that fleet gives, and each size what asking for it gives") {
  for (const auto& [machine, spares, replaced] :
       {std::tuple{"dgx-h100", std::optional<int>{}, std::optional<double>{}}, {"dgx-h100", 6, 0.5}, {"gb200-nvl72", {}, {}}}) {
      GoodputRequest q;
      q.system.name = machine;
      q.gpus = 4096;
      q.spares = spares;
      q.replaced = replaced;
      const GoodputAnswer all = answer(q);
      for (const GoodputOfFleet& row : all.by_fleet) {
        GoodputRequest one = q;
        one.fleet = row.fleet;
        CAPTURE(row.fleet, spares.value_or(-1));
        const GoodputAnswer direct = answer(one);
        CHECK(row.goodput == Approx(direct.goodput));
        CHECK(row.failures_per_1000_node_days == Approx(direct.failures_per_1000_node_days));
        const double ours = q.gpus.value() / direct.nodes;  // fleets were published by nodes of 8
        CHECK(row.published_per_1000_node_days == Approx(row.failures_per_1000_node_days * 8 / ours));
        if (!spares) continue;
        CHECK(row.spares_to_wait_a_thousandth == direct.spares_to_wait_a_thousandth);
        one.spares = row.spares_to_wait_a_thousandth;
        CHECK(row.goodput_with_them == Approx(answer(one).goodput));
      }
      for (const GoodputAtScale& row : all.by_scale) {
        GoodputRequest one = q;
        one.gpus = static_cast<int>(row.gpus);
        CAPTURE(row.gpus, spares.value_or(-1));
        CHECK(row.goodput == Approx(answer(one).goodput));
      }
    }
}

TEST_CASE("switches are whole, hold every port, and become no fewer with more GPUs") {
  for (const std::string name : {"dgx-h100", "dgx-b200", "mi355x-8", "gb200-nvl72"}) {
    const System system = load_system(name);
    for (const ScaleOut kind : {ScaleOut::rail, ScaleOut::fat_tree, ScaleOut::dragonfly}) {
      double before = 0;
      for (double gpus = 2 * machine_gpus(system); gpus < 60'000; gpus = std::ceil(gpus * 1.13)) {
        const NetworkSize net = joined(system, gpus, kind);
        CAPTURE(name, fabricost::plan::name(kind), gpus, net.ports);
        CHECK(net.switches == std::floor(net.switches));
        CHECK(net.switches >= 1);
        CHECK(net.ports <= 64 * net.switches);
        CHECK(net.switches >= before);
        before = net.switches;
      }
    }
  }
  const System h100 = load_system("dgx-h100");
  CHECK(joined(h100, 8 * 518, ScaleOut::rail).switches == 8 * (17 + 9));  // leaves of 32 nodes, and what their cables end at
  CHECK(joined(h100, 16, ScaleOut::rail).switches == 1);                  // 8 rails of 2 nodes in one box
  CHECK(joined(h100, 8 * 2048, ScaleOut::rail).switches == 8 * (64 + 32));
  const NetworkSize cabled = network_size(load_system("dgx-spark-pair"), 2);  // to each other
  CHECK((cabled.switches == 0 && cabled.ports == 0 && cabled.cables == 2 && cabled.optical == 0));
}

TEST_CASE("a machine's default stack is the same whichever question it is asked with") {
  ProjectRequest project = bought<ProjectRequest>("tpu-v5p");
  project.gpus = 256;
  auto plan = support::job<PlanRequest>("tpu-v5p", "llama3-8b", 256, 512);
  const PlanAnswer planned = answer(plan);
  const ProjectedRun run = answer(project).rows.front();
  CHECK(planned.stack == usual_stack(Generation::tpu));
  CHECK(run.layout->stack == planned.stack);
  CHECK(run.step.value() == Approx(planned.layouts.front().step.value()));
  NeedRequest need;
  need.unknown = "gpus";
  need.over = "256";
  need.step = units::s(1e6);
  need.system = plan.system;
  need.model = plan.model;
  need.global_batch = 512;
  CHECK(answer(need).layout->step.value() == Approx(planned.layouts.front().step.value()));
  ExploreRequest explore;
  explore.system = plan.system;
  explore.model = plan.model;
  explore.global_batch = 512;
  explore.vary = {"gpus=256"};
  CHECK(answer(explore).points.at(0).interval.first.value() == Approx(planned.layouts.front().interval.first.value()));
}

TEST_CASE("an exploration has differences of a layout that leaves GPUs idle") {
  auto r = support::job<ExploreRequest>("dgx-h100", "llama3-8b", 72, 64);
  r.vary = {"hbm.size=80,160GB"};
  const ExploreAnswer found = answer(r);
  const ExplorePoint& point = found.points.at(0);
  REQUIRE_THAT(point.layout, Catch::Contains("dp 64"));
  for (const auto& [objective, by] : point.elasticities) {
    CAPTURE(objective);
    CHECK(by.size() >= 4);
  }
}

TEST_CASE("an explored goodput is that of goodput by itself, and says of which spares") {
  auto r = support::job<ExploreRequest>("dgx-h100", "llama3-8b", 64, 64);
  r.gpus.reset();
  r.vary = {"gpus=16,64"};
  const auto of_spares = [](const ExploreAnswer& a) {
    return std::any_of(a.notes.begin(), a.notes.end(),
                       [](const std::string& note) { return support::contains(note, "spare node as always at hand"); });
  };
  CHECK_FALSE(of_spares(answer(r)));
  r.limits = {"goodput=50%"};
  const ExploreAnswer a = answer(r);
  CHECK(of_spares(a));
  for (const ExplorePoint& point : a.points)
    for (const auto& [name, value] : point.objectives) {
      if (name != "goodput") continue;
      GoodputRequest failing;
      failing.gpus = static_cast<int>(std::get<double>(point.at.front().second));
      failing.system.name = "dgx-h100";
      const GoodputAnswer one = answer(failing);
      CHECK(*value == one.goodput);
      CHECK(one.waiting_share == 0);
    }
}

TEST_CASE("a larger domain gives more, or the answer says why it gives less") {
  for (const std::string machine : {"mi300x-8", "dgx-h100"}) {
    ExploreServeRequest r;
    r.system.name = machine;
    r.model.name = "llama3-405b";
    r.gpus = 16;
    r.vary = {"domain=8,16"};
    r.objectives = "tokens/s";
    const ExploreAnswer a = answer(r);
    const double less = *a.points.front().objectives.front().second, more = *a.points.back().objectives.front().second;
    CAPTURE(machine, less, more);
    CHECK((more >= less || a.notes.size() == 1));
    CHECK(a.notes.empty() == (machine == "dgx-h100"));
  }
}

TEST_CASE("more of a part never gives a longer step, as points are of the fastest layouts") {
  for (const std::string machine : {"mi300x-8", "dgx-h100"})
    for (const std::string part : {"scale_up.bandwidth=112.5:900:x2GB/s per direction", "nic.bandwidth=100,25,50GB/s per direction"}) {
      auto r = support::job<ExploreRequest>(machine, "llama3-70b", 128, 512);
      r.vary = {part};
      r.objectives = "step";
      const ExploreAnswer a = answer(r);
      std::vector<std::pair<double, double>> steps;
      for (const ExplorePoint& point : a.points)
        if (const auto& step = point.objectives.front().second) steps.emplace_back(std::get<double>(point.at.front().second), *step);
      std::sort(steps.begin(), steps.end());
      for (std::size_t i = 1; i < steps.size(); ++i) {
        CAPTURE(machine, part, steps[i].first);
        CHECK(steps[i].second <= steps[i - 1].second * (1 + 1e-9));
      }
    }
}

TEST_CASE("owning and renting cost the same where the answer says so") {
  for (const std::string name : {"dgx-h100", "dgx-b200", "gb200-nvl72"}) {
    CostRequest q;
    q.system.name = name;
    q.gpus = 1152;
    q.interest = 0.08;
    const CostAnswer a = answer(q);
    REQUIRE(a.break_even);
    const double hours = a.break_even->value() / 3600, life = a.lifetime_years * 8766;
    const MoneyAnswer& h = a.hour;
    CHECK(a.capital->value() == Approx((*a.servers_price + a.network_price).value()));
    CHECK(h.rented->value() * hours ==
          Approx(a.capital->value() + h.interest->value() * life + (h.electricity->value() + h.site->value()) * hours));
    const double busy = life * *a.break_even_use;
    CHECK(h.rented->value() * busy ==
          Approx((h.servers->value() + h.network.value() + h.interest->value() + h.site->value()) * life + h.electricity->value() * busy));
  }
}

TEST_CASE("a bill has the storage that owning pays for") {
  CostRequest q;
  q.system.name = "dgx-h100";
  q.gpus = 64;
  CHECK_FALSE(answer(q).storage_price);
  q.storage_share = 0.1;
  const CostAnswer a = answer(q);
  CHECK(a.storage_price->value() == Approx(a.servers_price->value() / 10));
  CHECK(a.capital->value() == Approx((*a.servers_price + a.network_price + *a.storage_price).value()));
}

TEST_CASE("renting and owning are the same two figures whichever is asked for, and owning is that of what is sold whole") {
  for (const std::string name : {"dgx-h100", "gb200-nvl72", "aws-p6e-gb200", "coreweave-gb200-nvl72", "tpu-v5p-cube"})
    for (const int gpus : {4, 12, 16, 48, 72, 80}) {
      CAPTURE(name, gpus);
      CostRequest q;
      q.system.name = name;
      q.gpus = gpus;
      const CostAnswer rented = answer(q);
      q.price_kind = PriceKind::owned;
      const CostAnswer owned = answer(q);
      CHECK(owned.hour.rented == rented.hour.rented);
      CHECK(owned.hour.owned == rented.hour.owned);
      CHECK(owned.hour.price == owned.hour.owned);
      CHECK(owned.capital == rented.capital);
      CHECK(owned.break_even == rented.break_even);
      CHECK(owned.bought_gpus == owned.paid_gpus);
      CHECK(rented.bought_gpus == owned.paid_gpus);
      if (owned.break_even_use) CHECK(owned.break_even.has_value() == (*owned.break_even_use <= 1));
      q.dollars_per_gpu_hour = 2;  // a rent that was given is the other figure, too
      CHECK(answer(q).hour.owned == owned.hour.owned);
      CHECK(answer(q).hour.rented->value() == Approx(2 * rented.paid_gpus));
    }
  auto q = narrow(bought<ProjectRequest>("dgx-h100"));
  q.gpus = 64;
  q.price_kind = PriceKind::owned;
  const ProjectAnswer owned = answer(q);
  q.own_prices = {{"dgx-h100", 2.0}};
  const ProjectAnswer beside = answer(q);
  CHECK(beside.price_kind == "owned");
  CHECK(beside.rows[0].price == owned.rows[0].price);
  CHECK(beside.rows[0].break_even > owned.rows[0].break_even);
}

TEST_CASE("the machine with more tokens is not said to be the cheaper one, and one without a price leaves the others theirs") {
  CompareRequest q;
  q.systems = {"dgx-b200", "gb200-nvl72"};
  q.train = true;
  q.model.name = "llama3-8b";
  q.gpus = 8;
  q.global_batch = 64;
  q.price_kind = PriceKind::owned;  // of which a rack is whole
  CompareAnswer a = answer(q);
  CHECK(a.best == "gb200-nvl72");
  CHECK(a.cheapest == "dgx-b200");
  q.systems.push_back("vera-rubin-nvl72");
  q.price_kind = PriceKind::on_demand;
  a = answer(q);
  CHECK(a.price_kind == "on_demand");
  CHECK(a.no_price);
  CHECK(a.rows.front().dollars_per_million_tokens);
  CHECK_FALSE(a.rows.back().dollars_per_million_tokens);
}

TEST_CASE("where tokens cost least is said of the machines that are ranked, and that one which is not would cost less") {
  CompareRequest q;
  q.systems = {"rtx-pro-6000-pcie", "h200-nvl-4", "mi300x-8"};
  q.serve = true;
  q.model.name = "llama3-70b";
  q.gpus = 4;
  q.ttft = units::s(3);
  q.tpot = units::ms(50);
  const CompareAnswer a = answer(q);
  REQUIRE(a.unranked == std::vector<std::string>{"mi300x-8"});
  REQUIRE(a.cheapest == "rtx-pro-6000-pcie");
  REQUIRE(*a.rows[2].dollars_per_million_tokens < *a.rows[0].dollars_per_million_tokens);
  CHECK_THAT(a.verdict, Catch::Contains("the only one of those ranked whose price is known; mi300x-8, not ranked, would cost 4."));
  q.systems = {"l40s-pcie", "mi300x-8"};  // the kernels of both are assumed
  const CompareAnswer assumed = answer(q);
  CHECK(assumed.best == "mi300x-8");
  CHECK_FALSE(assumed.sure);
}

TEST_CASE("project and need machine name as the best only what compare ranks") {
  auto project = narrow(bought<ProjectRequest>("dgx-h100,trn2-ultraserver"));
  project.gpus = 256;
  project.own_prices = {{"trn2-ultraserver", 0.1}};
  auto need = narrow(bought<NeedMachineRequest>("dgx-h100,trn2-ultraserver"));
  need.gpus = 256;
  need.own_prices = project.own_prices;
  CompareRequest compare;
  compare.systems = {"dgx-h100", "trn2-ultraserver"};
  compare.train = true;
  compare.model.name = "llama3-8b";
  compare.gpus = 256;
  compare.global_batch = 512;
  ProjectAnswer a = answer(project);
  NeedMachineAnswer n = answer(need);
  REQUIRE(answer(compare).no_verdict);
  CHECK(a.no_verdict == answer(compare).no_verdict);
  CHECK(n.no_verdict == a.no_verdict);
  CHECK_FALSE((a.cheapest || a.lowest_power || a.fewest_gpus || a.soonest || n.value || n.fast_value || n.slow_value));
  for (Machines* systems : {&project.systems, &need.systems}) systems->all = {"dgx-h100,dgx-b200,trn2-ultraserver"};
  compare.systems = {"dgx-h100", "dgx-b200", "trn2-ultraserver"};
  a = answer(project);
  n = answer(need);
  CHECK(a.unranked == answer(compare).unranked);
  CHECK(a.cheapest == "dgx-b200");
  CHECK(n.value == "dgx-b200");
  CHECK_FALSE(n.tried.at(2).ranked);
  CHECK(n.tried.at(2).value == "trn2-ultraserver");
  need.by = BestMachine::fewest_gpus;
  need.gpus.reset();
  need.in = units::s(20 * day);
  need.systems.all = {"dgx-h100,dgx-b200"};
  need.own_prices.clear();
  for (const NeedMachineTried& one : answer(need).tried) {  // as certain as project says it is
    project.systems.all = {one.value};
    project.own_prices.clear();
    project.gpus = one.gpus;
    project.in = need.in;
    CHECK(one.sure == answer(project).rows.front().sure_in_time);
  }
}

TEST_CASE("money is of a kind with its reason, and a machine without a price says that alone") {
  auto q = narrow(bought<ProjectRequest>("dgx-b200,gb300-nvl72"));
  q.gpus = 288;
  ProjectAnswer a = answer(q);
  CHECK(a.price_kind == "owned");
  CHECK_THAT(a.price_instead.value_or(""), Catch::Contains("on demand not known of gb300-nvl72"));
  CHECK_FALSE(a.no_price);
  q.price_kind = PriceKind::owned;
  CHECK_FALSE(answer(q).price_instead);
  auto need = narrow(bought<NeedMachineRequest>("dgx-h100,dgx-b200"));
  need.gpus = 256;
  CHECK_FALSE(answer(need).price_instead);
  need.capital = units::USD(100e6);
  CHECK(answer(need).price_kind == "owned");
  CHECK(answer(need).price_instead);
  need.capital.reset();
  need.systems.all = {"mi355x-8"};
  const NeedMachineAnswer unpriced = answer(need);
  CHECK_FALSE(unpriced.value);
  CHECK_THAT(unpriced.reason, Catch::Contains("price is not known") && !Catch::Contains("limit"));
  q.systems.all = {"dgx-h100,dgx-h100"};
  CHECK_THROWS_WITH(answer(q), Catch::Contains("given twice"));
}

TEST_CASE("a comparison takes prices of owning, ranks what was measured, tries prefill apart and refuses one machine by two names") {
  CompareRequest r;
  const auto on = [&](std::initializer_list<const char*> names) {
    r.systems.clear();
    for (const char* one : names) r.systems.emplace_back(one);
    return answer(r);
  };
  r.model.name = "llama3-70b";
  r.gpus = 64;
  r.serve = true;
  r.ttft = units::s(2.0);
  r.tpot = units::s(0.05);
  const CompareAnswer mixed = on({"dgx-h200", "dgx-b200", "mi300x-8", "mi355x-8"});
  CHECK(mixed.unranked == std::vector<std::string>{"mi300x-8", "mi355x-8"});
  CHECK(mixed.best == "dgx-b200");
  CHECK(mixed.cheapest == "dgx-b200");
  const CompareAnswer together = on({"dgx-h100", "gb200-nvl72"});
  r.disaggregated = true;
  CHECK(together.rows[0].tokens_per_second_per_gpu_apart == on({"dgx-h100", "gb200-nvl72"}).rows[0].tokens_per_second_per_gpu);
  CHECK_THROWS_WITH(on({"dgx-h200", "h200"}), Catch::Contains("are one machine"));
  r.disaggregated = false;
  r.price_kind = PriceKind::owned;
  const CompareAnswer five = on({"dgx-h100", "gb200-nvl72"});
  CHECK_THAT(five.owning, Catch::Contains("over 5 years, always busy, without interest, without storage"));
  r.lifetime_years = 2.5;
  CHECK(*on({"dgx-h100", "gb200-nvl72"}).rows[0].dollars_per_million_tokens > *five.rows[0].dollars_per_million_tokens);
}

TEST_CASE("an explored domain says what its GPUs may cost more at the same money a token, and the machine's own nothing") {
  ExploreRequest r;
  r.system.name = "dgx-h100";
  r.model.name = "llama3-8b";
  r.gpus = 64;
  r.global_batch = 64;
  r.vary = {"domain=8,32"};
  const ExploreAnswer a = answer(r);
  const auto dollars = [](const ExplorePoint& p) { return *p.objectives[1].second; };
  REQUIRE(a.points.size() == 2);
  CHECK(std::fabs(*a.points[0].extra_dollars_per_gpu_hour) < 1e-9);
  CHECK((*a.points[1].extra_dollars_per_gpu_hour > 0) == (dollars(a.points[1]) < dollars(a.points[0])));
}

TEST_CASE("a batch that the GPUs divide better is named where it gives a tenth more tokens a second") {
  auto q = bought<ProjectRequest>("gb200-nvl72");
  q.model.name = "llama3-70b";
  q.global_batch = 1024;
  q.sequence = 8192;
  q.tokens = 15e12;
  q.gpus = 1536;
  const ProjectedRun run = answer(q).rows.front();
  REQUIRE(run.better_batch);
  CHECK(*run.better_batch > 1024);
  CHECK(*run.better_batch <= 1280);
  q.global_batch = *run.better_batch;
  const ProjectedRun better = answer(q).rows.front();
  CHECK(better.layout->tokens_per_second == Approx(run.layout->tokens_per_second * (1 + run.better_batch_gain)));
  CHECK(run.better_batch_gain >= 0.1);
  CHECK_FALSE(better.better_batch.value_or(0) == 1024);
}

TEST_CASE("spares are taken where they cost less than the waiting that they save, and a run that takes none still ends in time") {
  auto q = narrow(bought<ProjectRequest>("dgx-h100"));
  bool none = false, some = false;
  for (const int gpus : {8, 32, 128, 256, 512}) {
    q.gpus = gpus;
    q.spares.reset();
    const ProjectedRun usual = answer(q).rows.front();
    const int enough = usual.failures->spares_to_wait_a_thousandth;
    q.spares = 0;
    const ProjectedRun waits = answer(q).rows.front();
    q.spares = enough;
    const ProjectedRun hardly = answer(q).rows.front();
    CAPTURE(gpus, enough, waits.goodput, hardly.goodput);
    const bool cheaper = hardly.paid_gpus / hardly.goodput < waits.paid_gpus / waits.goodput;
    CHECK(usual.spares == (cheaper ? enough : 0));
    CHECK(usual.goodput == (cheaper ? hardly : waits).goodput);
    CHECK(waits.usual_spares == (cheaper ? std::optional{enough} : std::nullopt));
    (cheaper ? some : none) = true;
  }
  CHECK((some && none));
  q.gpus.reset();
  q.spares.reset();
  for (const double days : {250.0, 100.0, 60.0}) {
    q.in = units::s(days * day);
    const ProjectedRun run = answer(q).rows.front();
    CAPTURE(days, run.gpus, run.spares);
    CHECK(run.time <= *q.in);
  }
  // the number found takes the spares that it takes where it is given
  for (const auto& [fleet, days] : {std::pair{"rsc-observed", 18.0}, {"rsc-observed", 35.0}, {"opt-175b", 19.0}}) {
    q.fleet = fleet;
    q.gpus.reset();
    q.in = units::s(days * day);
    const ProjectedRun found = answer(q).rows.front();
    q.gpus = found.gpus;
    q.in.reset();
    const ProjectedRun given = answer(q).rows.front();
    CAPTURE(fleet, days, found.gpus);
    CHECK(found.spares == given.spares);
    CHECK(found.goodput == given.goodput);
    CHECK(found.time == given.time);
    CHECK(found.usual_spares == given.usual_spares);
    for (int fewer = found.gpus - 8; fewer >= found.gpus / 2; fewer -= 8) {
      q.gpus = fewer;
      INFO(fewer << " GPUs");
      CHECK(answer(q).rows.front().time > units::s(days * day));
    }
  }
}

TEST_CASE("chips of a pod that are found end in time: those of a smaller slice have other links") {
  auto q = bought<ProjectRequest>("tpu-v5p-cube");
  q.model.name = "llama3-405b";
  q.global_batch = 1024;
  q.tokens = 155e9;
  q.background = true;
  q.in = units::s(10.1 * day);
  const ProjectedRun run = answer(q).rows.front();
  CAPTURE(run.gpus);
  CHECK(run.time <= *q.in);
}

TEST_CASE("machines to buy are none that a cloud rents out, and those without a price are named") {
  auto q = narrow(bought<NeedMachineRequest>(""));
  q.systems.all.clear();
  q.gpus = 8;
  q.capital = units::USD(1e6);
  const NeedMachineAnswer a = answer(q);
  const auto among = [](const auto& all, const std::string& name) { return std::find(all.begin(), all.end(), name) != all.end(); };
  for (const NeedMachineTried& one : a.tried) CHECK(load_system(one.value).seller.empty());
  CHECK(among(a.unpriced, "h200-nvl-4"));
  CHECK_FALSE(among(a.unpriced, "runpod-a100-pair"));
}
