// Failures and checkpoints: against a job played out event by event, in limits, and on published figures.
#include <fabricost/plan/answers/goodput.hpp>
#include <fabricost/plan/economics/reliability.hpp>
#include <fabricost/plan/readings/iteration_times.hpp>
#include <fabricost/plan/specs/failures.hpp>

#include "support/message_of.hpp"
#include "support/written_file.hpp"

#include "catch.hpp"

#include <queue>

using namespace fabricost::plan;

namespace {

/// A job played out: it works, stands still for checkpoints, which count `drain` after they were begun, fails at random moments, also while
/// it recovers, and goes back to the last one that counts.
Goodput played(const Checkpointing& c, double mttf, double until, std::uint64_t seed) {
  std::mt19937_64 random{seed};
  std::exponential_distribution<double> life(1 / mttf);
  Goodput sum;
  double now = 0, fails = life(random);
  while (now < until) {
    // recovered; run until the next failure
    double work = 0, stalled = 0, safe = 0, t = now;
    std::queue<std::pair<double, double>> writing;  // when it counts, work it holds
    bool alive = true;
    while (alive) {
      if (t + c.interval >= fails) {
        work += fails - t;
        alive = false;
        break;
      }
      t += c.interval;
      work += c.interval;
      writing.emplace(t + std::max(c.stall, c.stall + c.drain), work);
      if (t + c.stall >= fails) {
        stalled += fails - t;
        alive = false;
        break;
      }
      t += c.stall;
      stalled += c.stall;
    }
    for (; !writing.empty() && writing.front().first < fails; writing.pop()) safe = writing.front().second;
    sum.kept += safe;
    sum.lost += work - safe;
    sum.checkpoints += stalled;
    now = fails;
    double done = now + c.recovery;
    fails = now + life(random);
    while (fails < done) {  // fails again while it recovers
      now = fails;
      done = now + c.recovery;
      fails = now + life(random);
    }
    now = done;
  }
  const double all = now;
  sum.recovery = all - sum.kept - sum.lost - sum.checkpoints;  // those that failed, too
  for (double* x : {&sum.kept, &sum.lost, &sum.checkpoints, &sum.recovery}) *x /= all;
  return sum;
}

}  // namespace

TEST_CASE("goodput is that of a job played out failure by failure") {
  struct Case {
    Checkpointing c;
    double mttf;
  };
  for (const Case& one : {Case{{600, 40, 0, 300}, 3 * 3600}, Case{{600, 1, 120, 600}, 3 * 3600}, Case{{300, 60, 0, 900}, 1200},
                          Case{{100, 5, 100, 50}, 400}, Case{{3600, 0, 0, 0}, 3600}}) {
    INFO("interval " << one.c.interval << ", MTTF " << one.mttf);
    const Goodput exact = goodput_of(one.c, one.mttf), drawn = played(one.c, one.mttf, one.mttf * 150000, 11);
    CHECK(exact.kept == Approx(drawn.kept).margin(0.004));
    CHECK(exact.checkpoints == Approx(drawn.checkpoints).margin(0.004));
    CHECK(exact.lost == Approx(drawn.lost).margin(0.004));
    CHECK(exact.recovery == Approx(drawn.recovery).margin(0.004));
    CHECK(exact.kept + exact.checkpoints + exact.lost + exact.recovery == within(1, 1e-12));
  }
}

TEST_CASE("goodput goes over into its limits") {
  const Checkpointing c{.interval = 600, .stall = 30, .drain = 0, .recovery = 600};
  CHECK(goodput_of(c, INFINITY).kept == within(600.0 / 630, 1e-15));
  CHECK(goodput_of(c, 1e12).kept == within(600.0 / 630, 1e-6));
  // small against M, first order holds to second
  for (const double m : {1e5, 1e6, 1e7}) {
    const Checkpointing small{.interval = 600, .stall = 0.6, .drain = 60, .recovery = 300};
    CHECK(goodput_of(small, m).kept == Approx(goodput_estimate(small, m)).margin(2 * 1e6 / m / m + 2e-6 + 600 * 0.6 / 600 / m));
  }
  CHECK(goodput_of(c, 30).kept < 1e-9);  // never gets through a recovery
  CHECK(goodput_of(c, 30).recovery > 0.999);
}

TEST_CASE("more failures, longer recoveries and slower checkpoints never help") {
  const Checkpointing base{.interval = 900, .stall = 20, .drain = 100, .recovery = 400};
  for (const double m : {600.0, 3600.0, 36000.0}) {
    const double g = goodput_of(base, m).kept;
    CHECK(goodput_of(base, m / 2).kept < g);
    for (const auto member : {&Checkpointing::stall, &Checkpointing::drain, &Checkpointing::recovery}) {
      Checkpointing worse = base;
      worse.*member *= 1.5;
      CHECK(goodput_of(worse, m).kept < g);
    }
  }
}

TEST_CASE("the best interval beats every other one") {
  for (const double stall : {0.5, 30.0, 600.0, 5000.0})
    for (const double m : {1000.0, 1e4, 1e5}) {
      const double best = best_interval(stall, m), max = goodput_of({best, stall, 0, 300}, m).kept;
      for (double factor = 0.1; factor < 10; factor *= 1.03) CHECK(goodput_of({best * factor, stall, 0, 300}, m).kept <= max * (1 + 1e-12));
      if (stall < m / 2) {
        CHECK(daly_interval(stall, m) == within(best, 0.01));
        CHECK(goodput_of({young_interval(stall, m), stall, 0, 300}, m).kept > max * 0.9);
      }
    }
  CHECK(daly_interval(600, 3000) == within(1518.45, 1e-5));  // 1897.37 (1 + 0.316228 / 3 + 0.1 / 9) - 600
  CHECK(daly_interval(300, 100) == 100);
  CHECK(best_interval(1, 1e4, 500) == 499);  // cannot be shorter than the writing
  CHECK(young_interval(30, 3.09 * 3600) == within(817, 0.001));
}

TEST_CASE("Llama 3's 54 days, RSC's rates and OPT's interruptions follow from one formula") {
  const FailureRate llama = FailureRate::counted(419, 54, 16384, 8);
  CHECK(llama.mttf(2048) / 3600 == within(3.09, 0.002));
  CHECK(llama.mttf(2048) / 3600 * 16384 == within(50677, 1e-6));
  CHECK(llama.thousand_node_days() == within(3.79, 0.001));
  CHECK(FailureRate::counted(466, 54, 16384, 8).mttf(2048) / 3600 == within(2.78, 0.001));
  const FailureRate rsc = FailureRate::per_thousand_node_days(6.50);
  CHECK(rsc.mttf(2048) / 3600 == within(1.8, 0.01));         // projected for 16,384 GPUs
  CHECK(rsc.mttf(131072 / 8) / 3600 == within(0.23, 0.03));  // for 131,072
  CHECK(rsc.mttf(128) / 3600 == within(28.85, 0.001));
  CHECK(FailureRate::per_thousand_node_days(25.8).mttf(124) / 3600 == within(7.5, 0.001));
  CHECK(FailureRate::of_mttf(1e6).mttf(10) == within(1e5, 1e-12));
}

TEST_CASE("Meta's ratio agrees with the exact one for small stalls") {
  const double m = FailureRate::per_thousand_node_days(6.50).mttf(128);  // 1,024 GPUs
  const Checkpointing c{.interval = 1800, .stall = 30, .drain = 0, .recovery = 300};
  CHECK(effective_training_time(1 / m, 300, 1800, 30) == Approx(goodput_of(c, m).kept).margin(0.001));
}

TEST_CASE("checkpoint arithmetic of BLOOM") {
  CHECK(checkpoint_seconds(176.25e9, 57e9) == within(43.3, 0.001));
  CHECK(checkpoint_bytes_per_parameter * 176.25e9 / std::pow(1024, 4) == within(2.3, 0.03));  // published as 2.3 TB, in powers of 1024
  CHECK(1 - goodput_of({3 * 3600, 40, 0, 0}, INFINITY).kept == within(0.0037, 0.01));         // every three hours: 0.37 %
}

TEST_CASE("waiting for nodes is that of a yard of broken ones") {
  // played out: nodes break while the job runs and are back after a time that is exponential, or always the same
  for (const bool constant : {false, true})
    for (const int spares : {0, 2, 5}) {
      const double rate = 1 / 3600.0, repair = 2.5 * 3600;
      std::mt19937_64 random{3};
      std::exponential_distribution<double> breaks(rate), repaired(1 / repair);
      std::priority_queue<double, std::vector<double>, std::greater<>> back;
      double now = 0, waited = 0;
      const double until = 3600.0 * 400000;
      while (now < until) {
        now += breaks(random);  // running; memoryless
        while (!back.empty() && back.top() <= now) back.pop();
        back.push(now + (constant ? repair : repaired(random)));
        if (static_cast<int>(back.size()) > spares) {
          waited += back.top() - now;
          now = back.top();
          back.pop();
        }
      }
      INFO(spares << " spares");
      CHECK(waiting_for_nodes(rate, repair, spares) == Approx(waited / now).margin(0.004));
    }
  CHECK(erlang_loss(2, 1) == within(2.0 / 3, 1e-15));
  CHECK(waiting_for_nodes(0, 3600, 0) == 0);
  const int enough = spares_for(1 / 3600.0, 24 * 3600, 0.001);
  CHECK(waiting_for_nodes(1 / 3600.0, 24 * 3600, enough) <= 0.001);
  CHECK(waiting_for_nodes(1 / 3600.0, 24 * 3600, enough - 1) > 0.001);
}

TEST_CASE("everything together: shares add up, spares help until they idle") {
  FailureQuestion q{.nodes = 2048,
                    .rate = FailureRate::counted(419, 54, 16384, 8),
                    .checkpointing = {.stall = 0.6, .drain = 60, .recovery = 600},
                    .replaced = 0.77,
                    .repair = day_seconds};
  double last = 0;
  for (const int spares : {0, 4, 8, 16}) {
    q.spares = spares;
    const FailureAnswer a = failures_of(q);
    CHECK(a.share.kept + a.share.checkpoints + a.share.lost + a.share.recovery + a.share.waiting == within(1, 1e-12));
    CHECK(a.share.kept > last);
    last = a.share.kept;
  }
  q.repair = 0;
  q.spares = 0;
  const double without = failures_of(q).share.kept;
  CHECK(without > 0.9);  // Llama 3: above 90 %
  CHECK(without < 0.95);
  q.other_failures = 1 / failures_of(q).mttf;  // as many again
  CHECK(failures_of(q).mttf == within(FailureRate::counted(419, 54, 16384, 8).mttf(2048) / 2, 1e-12));
}

TEST_CASE("a job on racks that keep spare nodes waits while more racks are short than there are spare racks") {
  const double is_short = waiting_for_nodes(0.5 / day_seconds, day_seconds, 1);  // half a node lost a day, back after one, one spare: 1 / 13
  CHECK(is_short == Approx(1.0 / 13));
  CHECK(waiting_for_racks(1, is_short, 0) == Approx(is_short));
  CHECK(waiting_for_racks(16, is_short, 0) == Approx(1 - std::pow(12.0 / 13, 16)));
  CHECK(waiting_for_racks(2, is_short, 1) == Approx(is_short * is_short));
  CHECK(waiting_for_racks(16, is_short, 16) == 0);
  FailureQuestion q{.nodes = 256, .rate = FailureRate::per_thousand_node_days(4), .checkpointing = {.stall = 30, .recovery = 600}};
  q.repair = 2 * day_seconds;
  q.racks = 16;
  double last = 1;
  for (q.spares_per_rack = 0; q.spares_per_rack <= 4; ++q.spares_per_rack) {
    q.spares = 0;
    const FailureAnswer none = failures_of(q);
    CHECK(none.share.waiting < last);
    last = none.share.waiting;
    q.spares = none.spares_to_hardly_wait;
    CHECK(failures_of(q).share.waiting <= 1e-3);
    if (q.spares > 0) {
      --q.spares;
      CHECK(failures_of(q).share.waiting > 1e-3);
    }
  }
}

// Published fleets and files of measured times: which are read, and which refused where.

namespace {

using File = fabricost::test::WrittenFile;

template <class Call>
std::string spec_error(Call&& call) {
  try {
    static_cast<void>(call());
  } catch (const SpecError& e) {
    return e.what();
  }
  return "";
}

}  // namespace

TEST_CASE("the fleets are those published") {
  const FailureFacts facts = load_failure_facts();
  const FailureFleet& llama = facts.fleet("llama3");
  CHECK(llama.failures() == 419);
  CHECK(llama.failures() + llama.planned == 466);
  CHECK(llama.replaced() == within(0.78, 0.02));  // "about 78 % hardware"
  double network = 0;
  for (const FailureCause& c : llama.causes)
    if (c.cause == "Network switch/cable") network = c.count;
  CHECK(network / llama.failures() == within(0.084, 0.01));  // 8.4 %, and not the 10.7 % that text 003 has
  CHECK(facts.fleet("rsc-1").rate.thousand_node_days() == within(6.5, 1e-12));
  CHECK(facts.fleet("rsc-1").replaced() == 1);
  CHECK(facts.recovery == 600);
  CHECK(support::contains(support::message_of([&] { return facts.fleet("rsc-3"); }), "rsc-1"));
}

TEST_CASE("checkpoints that cannot be taken so are refused with what can") {
  GoodputRequest q;
  q.gpus = 16384;
  const auto refused = [&] { return support::message_of([&] { return answer(q); }); };
  q.background = true;
  for (const double every : {1.0, 30.0, 58.0, 59.3}) {
    q.checkpoint_every = units::s(every);
    CHECK(support::contains(refused(), "written in the background for 1 min"));
    CHECK(support::contains(refused(), "take at least 1 min"));
  }
  q.checkpoint_every = units::s(60);
  CHECK(refused().empty());
  q = {};
  q.gpus = 16384;
  q.checkpoint = Time{};
  CHECK(support::contains(refused(), "have no best interval; take a time above 0"));
  q.checkpoint = units::s(0.001);
  CHECK(refused().empty());
}

TEST_CASE("times per iteration are read alone and by rank") {
  const File alone("# seconds\n0.101\n0.1\n\n0.102\n", "fabricost_times.txt");
  CHECK(read_iteration_times(alone.path()).seconds == std::vector<double>{0.101, 0.1, 0.102});
  const File ranks("iteration,rank,time_ms\n0,a,10\n0,b,30\n1,a,20\n1,b,10\n2,a,10\n");
  const IterationTimes t = read_iteration_times(ranks.path());
  CHECK(t.ranks == 2);
  CHECK(t.rank_names == std::vector<std::string>{"a", "b"});
  REQUIRE(t.rank_means.size() == 2);
  CHECK(t.rank_means[0] == within(0.04 / 3, 1e-12));
  CHECK(t.slowest == std::vector<double>{0.03, 0.02});  // the third lacks a rank
}

TEST_CASE("broken times are refused where they stand") {
  const auto error = [](const std::string& text) {
    const File file(text);
    return spec_error([&] { return read_iteration_times(file.path()); });
  };
  CHECK(support::contains(error("0.1\nfast\n0.2\n"), ":2:1: \"fast\" is not a time above 0"));
  CHECK(support::contains(error("0.1\n-1\n"), ":2:1"));
  CHECK(support::contains(error("0.1\nnan\n"), ":2:1"));
  CHECK(support::contains(error("iteration,rank,time_ms\n0,a,ten\n"), ":2:5"));
  CHECK(support::contains(error("iteration,time_ms\n0,10\n"), "no ranks"));
  CHECK(support::contains(error("a,b\n1,2\n"), "no column holds times"));
  CHECK(support::contains(error("time_s\n"), "no times"));
  CHECK(!error("").empty());
}
