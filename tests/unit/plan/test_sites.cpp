/// Several sites: rounds and their exchange against closed forms, and what they gain over data parallelism.

#include "questions.hpp"

#include "support/job.hpp"
#include "support/message_of.hpp"
#include "support/random_cases.hpp"

#include <fabricost/plan/answers/plan.hpp>
#include <fabricost/plan/training/sites.hpp>
#include <fabricost/specs/load.hpp>

#include <catch.hpp>

#include <cmath>

using namespace fabricost::plan;
using namespace fabricost::test;

namespace {

struct Job {
  System system = load_system("dgx-h100");
  TrainingQuestion q = question("llama3-8b", 64, 64, 8192);
  PricedLayout first;
  Job() {
    q.tp = 1;
    q.pp = 1;
    q.cp = 1;
    q.zero = 1;
    q.microbatch = 1;
    first = plan_training(system, q).layouts.front();
  }
  [[nodiscard]] SitesTime time(const SitesQuestion& sites) const { return sites_time(sites, q, system, first); }
};

}  // namespace

TEST_CASE("a round's exchange is its bytes over the link and two delays a fragment") {
  const Job job;
  const double parameters = parameters_of(job.q.model).total;
  const SitesTime t = job.time({.sites = 4, .rate = 12.5e9, .delay = 5e-3, .every = 50, .width = 2});
  CHECK(t.parameters == parameters);
  CHECK(t.sent == Approx(1.5 * parameters * 2));
  CHECK(t.exchange == Approx(1.5 * parameters * 2 / 12.5e9 + 2 * 5e-3));
  CHECK(t.exposed == Approx(t.exchange));
  CHECK(t.seconds(50) == Approx(t.step + (t.exchange + t.update) / 50));
  CHECK(t.state == Approx(8 * parameters / 64));
  // data parallelism: gradients each step, of which no more is hidden than the stack hides
  CHECK(t.plain_exchange == Approx(1.5 * parameters * job.q.stack.gradient_bytes / 12.5e9 + 2 * 5e-3));
  CHECK(t.plain >= t.step);
  CHECK(t.plain <= t.step + t.plain_exchange);
}

TEST_CASE("fragments hide behind the steps that go on, as far as the link carries them") {
  const Job job;
  for (int i = 0; i < 200; ++i) {
    support::Random random(i);
    SitesQuestion q{
        .sites = 2 + random.below(15), .rate = random.scaled(1e8, 1e11), .delay = random.scaled(1e-5, 0.1), .every = 8 + random.below(492)};
    q.fragments = 1 + random.below(8);
    q.overlap = random.below(9);
    q.width = 4;
    const SitesTime t = job.time(q);
    const double hidden = q.fragments * q.overlap * t.step;
    CHECK(t.exposed >= 0);
    CHECK(t.exposed <= t.exchange);
    CHECK(t.exposed >= t.exchange - hidden - 1e-9 * t.exchange);
    CHECK(q.every * t.step + t.exposed >= t.sent / t.rate * (1 - 1e-12));  // the link carries no more
    SitesQuestion narrow = q;
    narrow.width = 0.5;
    CHECK(job.time(narrow).exposed <= t.exposed);
    SitesQuestion rarer = q;
    rarer.every *= 2;
    CHECK(job.time(rarer).seconds(rarer.every) <= t.seconds(q.every) * (1 + 1e-12));
  }
}

TEST_CASE("a site's NICs bound its rate") {
  const Job job;
  CHECK(job.time({.rate = 1e15}).rate == Approx(64 * nics_rate(job.system) / job.system.gpus_per_node));
}

TEST_CASE("several sites: figures of all, the published penalty or one's own, and what is refused") {
  auto r = support::job<PlanRequest>("dgx-h100", "llama3-8b", 64, 64);
  r.sequence = 8192;
  r.top = 1;
  CHECK_FALSE(answer(r).sites);
  const double alone = answer(r).layouts.front().tokens_per_second;
  r.sites = 4;
  r.site_rate = Bandwidth::from_value(12.5e9);
  r.site_distance = 1000;
  const PlannedSites a = *answer(r).sites;
  CHECK(a.gpus == 256);
  CHECK(a.every == 30);
  CHECK(a.tokens_per_second < 4 * alone);
  CHECK(a.terms.size() == 3);
  CHECK(a.step.value() == Approx(a.terms[0].seconds() + a.terms[1].seconds() + a.terms[2].seconds()));
  CHECK(a.penalty > 0);
  CHECK(a.useful_tokens_per_second == Approx(a.tokens_per_second / (1 + a.penalty)));
  CHECK(a.gain == Approx(a.useful_tokens_per_second / a.plain_tokens_per_second));
  CHECK_FALSE(a.penalty_extrapolated);
  const auto is_known = [&](auto&& change) {  // no published run is of other rounds, fewer bits or an exchange in parts
    PlanRequest other = r;
    change(other);
    return !answer(other).sites->penalty_extrapolated;
  };
  CHECK_FALSE(is_known([](PlanRequest& o) { o.sync_every = 1000; }));
  CHECK_FALSE(is_known([](PlanRequest& o) { o.sync_precision = OuterFormat::fp4; }));
  CHECK_FALSE(is_known([](PlanRequest& o) { o.sync_fragments = 4; }));
  r.sync_penalty = 0.5;
  CHECK(answer(r).sites->useful_tokens_per_second == Approx(a.tokens_per_second / 1.5));
  const auto refused = [&](auto&& change) {
    PlanRequest other = r;
    change(other);
    return support::message_of([&] { return answer(other); });
  };
  CHECK(support::contains(refused([](PlanRequest& o) { o.sites.reset(); }), "say how many"));
  CHECK(support::contains(refused([](PlanRequest& o) { o.site_rate.reset(); }), "at which rate"));
  CHECK(support::contains(refused([](PlanRequest& o) { o.sync_fragments = 33; }), "take at most 30"));
  CHECK(support::contains(refused([](PlanRequest& o) { o.sync_overlap = 31; }), "take at most 30"));
}
