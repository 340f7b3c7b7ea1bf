// Properties of any question on any machine. A failing case prints as one line.
#include <fabricost/choice/candidates.hpp>

#include "support/random_cases.hpp"

#include "catch.hpp"
#include "support/slow_build.hpp"

using namespace fabricost::observe;

namespace {

const int cases = support::draws(200);

using support::Report;

void check(const Report& report) {
  INFO(report.text());
  CHECK(report.failed() == 0);
}

template <class Visit>
void for_each_pair(Visit&& visit) {
  for (int i = 0; i < cases; ++i) {
    const support::Case c = support::random_case(i);
    for (const Candidate pair : support::pairs_of(c)) visit(c, pair);
  }
}

}  // namespace

TEST_CASE("a forced pair runs, its terms sum to the time and the interval holds it", "[predict][property]") {
  Report positive{"not positive numbers"}, sum_up{"terms do not sum"}, interval{"interval"}, ran{"something else ran"}, labels{"labels"};
  std::set<Algorithm> seen;
  for_each_pair([&](const support::Case& c, Candidate pair) {
    seen.insert(pair.algorithm);
    Operation op = c.operation;
    for (const double bytes : support::random_sizes(c.number)) {
      op.bytes = Bytes::from_value(bytes);
      const Prediction p = predict(c.system, op, support::forced(pair));
      double sum = 0;
      bool sound = std::isfinite(p.seconds) && p.seconds > 0 && std::isfinite(p.bus_bandwidth().value());
      const char* worst = "";
      for (const Term& term : p.terms) {
        sum += term.time.value();
        if (std::isfinite(term.time.value()) && term.time.value() >= 0 && !term.name.empty() && !term.tier.empty()) continue;
        sound = false;
        worst = term.name.c_str();
      }
      positive.expect(sound, c, pair, bytes, [&] { return std::string{worst}; });
      sum_up.expect(std::fabs(sum - p.seconds) <= 1e-12 * p.seconds, c, pair, bytes);
      interval.expect(p.low <= p.seconds && p.seconds <= p.high && p.low > 0 && std::isfinite(p.high), c, pair, bytes);
      ran.expect(p.ran == pair, c, pair, bytes);
      labels.expect(p.algorithm == name(pair.algorithm) && p.protocol == name(pair.protocol), c, pair, bytes);
    }
  });
  for (const Report* report : {&positive, &sum_up, &interval, &ran, &labels}) check(*report);
  CHECK((support::slow_build || seen.size() == algorithm_count));  // every one
  CHECK(positive.checked() > support::draws(35000));
}

// NCCL moves larger chunks from some sizes on, and gives a peer more channels: logs show times that drop there, those of a send_recv by
// nearly half.
TEST_CASE("time never falls with size, but for what larger chunks and more channels save", "[predict][property]") {
  Report report{"time falls with size"};
  for_each_pair([&](const support::Case& c, Candidate pair) {
    const Curve curve = compile(c.system, c.operation, support::forced(pair));
    double last = 0, last_exact = 0;
    const double rounding = curve.table().empty() ? 1e-13 : 1e-9;
    for (const double bytes : support::random_sizes(c.number)) {
      const double t = curve.seconds(bytes);
      const double exact = curve.line(bytes)(bytes);
      const double saved = curve.line(bytes).jumps.empty() ? 0 : 0.5;
      report.expect(t >= last * (1 - saved - rounding) && exact >= last_exact * (1 - saved - 1e-13), c, pair, bytes);
      last = t;
      last_exact = exact;
    }
  });
  check(report);
  CHECK(report.checked() > support::draws(35000));
}

namespace {

/// \param recount the cases in which NCCL opens another number of channels (but not LL), or all others
void more_bandwidth(Report& report, bool recount) {
  for_each_pair([&](const support::Case& c, Candidate pair) {
    const Curve before = compile(c.system, c.operation, support::forced(pair));
    for (std::size_t tier = 0; tier < c.system.tiers.size(); ++tier) {
      System faster = c.system;
      support::scale_bandwidth(faster.tiers[tier], 1.1);
      const Curve after = compile(faster, c.operation, support::forced(pair));
      if ((after.fabric().channels.count != before.fabric().channels.count) != recount) continue;
      if (recount && pair.protocol == Protocol::ll) continue;
      for (const double bytes : support::random_sizes(c.number))
        report.expect(after.seconds(bytes) <= before.seconds(bytes) * (1 + 1e-12), c, pair, bytes, [&] {
          return std::string{faster.tiers[tier].name.c_str()}
              .append(" x 1.1 takes ")
              .append(std::to_string(after.seconds(bytes) / before.seconds(bytes)))
              .append(" of the time,");
        });
    }
  });
}

}  // namespace

TEST_CASE("more bandwidth of any tier never costs time", "[predict][property]") {
  Report report{"bandwidth costs time"};
  more_bandwidth(report, false);
  check(report);
  CHECK(report.checked() > support::draws(100000));
}

// NCCL's search may open fewer channels on faster links (4 x 60 GB/s where 7 x 30 fitted before), and LL pays by the channel.
TEST_CASE("where NCCL counts its channels anew, more bandwidth costs time under LL at most", "[predict][property]") {
  Report report{"bandwidth costs time"};
  more_bandwidth(report, true);
  check(report);
  CHECK(report.checked() > support::draws(35000));
}

TEST_CASE("less taper of the network never costs time", "[predict][property]") {
  Report report{"less taper costs time"};
  for_each_pair([&](const support::Case& c, Candidate pair) {
    const Curve before = compile(c.system, c.operation, support::forced(pair));
    System wider = c.system;
    for (Tier& t : wider.tiers) t.oversubscription = 1 + (t.oversubscription - 1) / 2;
    const Curve after = compile(wider, c.operation, support::forced(pair));
    for (const double bytes : support::random_sizes(c.number)) report.expect(after.seconds(bytes) <= before.seconds(bytes) * (1 + 1e-12), c, pair, bytes);
  });
  check(report);
}

TEST_CASE("more latency of any tier never saves time", "[predict][property]") {
  Report report{"latency saves time"};
  for_each_pair([&](const support::Case& c, Candidate pair) {
    const Curve before = compile(c.system, c.operation, support::forced(pair));
    for (std::size_t tier = 0; tier < c.system.tiers.size(); ++tier) {
      System slower = c.system;
      slower.tiers[tier].latency.value += units::us(0.7);
      const Curve after = compile(slower, c.operation, support::forced(pair));
      for (const double bytes : support::random_sizes(c.number))
        report.expect(after.seconds(bytes) >= before.seconds(bytes) * (1 - 1e-12), c, pair, bytes,
                      [&] { return std::string{slower.tiers[tier].name.c_str()}.append(" + 0.7 us,"); });
    }
  });
  check(report);
}

TEST_CASE("the fastest pair is never slower than any forced one", "[predict][property]") {
  Report report{"fastest is slower"};
  for (int i = 0; i < 200; ++i) {
    const support::Case c = support::random_case(i);
    const Candidates pairs = support::pairs_of(c);
    if (pairs.count == 0) continue;
    const Choice fastest{.rule = Choice::Rule::fastest};
    Operation op = c.operation;
    std::array<Curve, Candidates::capacity> curves = [&]<std::size_t... I>(std::index_sequence<I...>) {
      return std::array<Curve, Candidates::capacity>{
          compile(c.system, op, support::forced(pairs.items[static_cast<int>(I) < pairs.count ? I : 0]))...};
    }
    (std::make_index_sequence<Candidates::capacity>{});
    for (const double bytes : support::random_sizes(i)) {
      op.bytes = Bytes::from_value(bytes);
      const double min = predict(c.system, op, fastest).seconds;
      for (int pair = 0; pair < pairs.count; ++pair) {
        const double t = curves[static_cast<std::size_t>(pair)].seconds(bytes);
        report.expect(min <= t * (1 + 1e-8), c, pairs.items[static_cast<std::size_t>(pair)], bytes,
                      [&] { return std::to_string(min / t).append(" times slower than"); });
      }
    }
  }
  check(report);
}

TEST_CASE("what NCCL picks can run", "[predict][property]") {
  Report report{"picked but impossible"};
  for (int i = 0; i < 1500; ++i) {
    const support::Case c = support::random_case(i);
    const Candidates pairs = support::pairs_of(c);
    if (pairs.count == 0) continue;
    const Curve curve = compile(c.system, c.operation);
    for (const double bytes : support::random_sizes(i)) {
      bool possible = false;
      for (const Candidate pair : pairs) possible = possible || pair == curve.ran_at(bytes);
      report.expect(possible, c, curve.ran_at(bytes), bytes);
    }
  }
  check(report);
}

TEST_CASE("on a torus no operation takes longer than one that it is a part of", "[predict][property]") {
  support::Random random{support::seed};
  const Choice fastest{.rule = Choice::Rule::fastest};
  for (int i = 0; i < support::draws(1500); ++i) {
    System s = systems::torus_cube();
    Tier& ici = s.tiers.front();
    ici.dims.resize(static_cast<std::size_t>(2 + random.below(2)));
    ici.endpoints = 1;
    for (int& axis : ici.dims) ici.endpoints *= axis = 2 + random.below(7);
    ici.wrap = !random.one_in(3);
    ici.open_axes = static_cast<unsigned char>(random.below(1 << ici.dims.size()));
    ici.links = 2 * static_cast<int>(ici.dims.size());
    s.gpus_per_node = 1;
    s.domain = ici.endpoints;
    const int ranks = random.one_in(3) ? s.domain : 2 + random.below(s.domain - 1);
    const double bytes = random.scaled(1, 1e11);
    std::string torus;
    for (std::size_t axis = 0; axis < ici.dims.size(); ++axis) torus += std::to_string(ici.dims[axis]) + (ici.closes(axis) ? " " : "- ");
    const auto seconds = [&](Collective op) {
      return predict(s, Operation{.collective = op, .bytes = Bytes::from_value(bytes), .ranks = ranks}, fastest).seconds * (1 - 1e-9);
    };
    INFO(i << ": " << ranks << " ranks on " << torus << bytes << " B");
    const double whole = seconds(Collective::all_reduce), scatter = seconds(Collective::reduce_scatter), gather = seconds(Collective::all_gather);
    CHECK(whole <= scatter + gather);
    CHECK(scatter <= whole * (1 + 2e-9));
    CHECK(gather <= whole * (1 + 2e-9));
    CHECK(seconds(Collective::broadcast) <= whole * (1 + 2e-9));
    CHECK(seconds(Collective::reduce) <= whole * (1 + 2e-9));
  }
}
