// Max-min fairness: hand cases, the certificate that defines it, a second algorithm, and properties that do and do not follow from it.
#include <fabricost/plan/network/balance.hpp>
#include <fabricost/plan/network/sharing.hpp>

#include "support/message_of.hpp"

#include "catch.hpp"

#include <numeric>
#include <random>

using namespace fabricost::plan;

namespace {

struct Case {
  std::vector<double> capacities;
  std::vector<std::vector<LinkUse>> uses;
  std::vector<double> weights, limits;

  [[nodiscard]] std::vector<Flow> flows() const {
    std::vector<Flow> out;
    for (std::size_t f = 0; f < uses.size(); ++f) out.push_back({uses[f], weights[f], limits[f]});
    return out;
  }
  [[nodiscard]] Sharing share() const { return share_max_min(capacities, flows()); }
};

Case random_case(std::mt19937& random, bool plain) {
  const auto upto = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  Case c;
  const int links = 1 + upto(8), flows = 1 + upto(12);
  for (int l = 0; l < links; ++l) c.capacities.push_back(1 + upto(20));
  for (int f = 0; f < flows; ++f) {
    std::vector<LinkUse> uses;
    for (int l = 0; l < links; ++l)
      if (upto(3) == 0) uses.push_back({l, plain ? 1.0 : 0.25 * (1 + upto(8))});
    if (uses.empty()) uses.push_back({upto(links), 1});
    c.uses.push_back(uses);
    c.weights.push_back(plain ? 1 : 0.5 * (1 + upto(4)));
    c.limits.push_back(!plain && upto(4) == 0 ? 0.5 * upto(10) : std::numeric_limits<double>::infinity());
  }
  return c;
}

/// The lowest rate, each counted by its weight.
double lowest(const Case& c, const Sharing& s) {
  double out = s.rates[0] / c.weights[0];
  for (std::size_t f = 1; f < s.rates.size(); ++f) out = std::min(out, s.rates[f] / c.weights[f]);
  return out;
}

double load(const Case& c, const std::vector<double>& rates, int link) {
  double out = 0;
  for (std::size_t f = 0; f < c.uses.size(); ++f)
    for (const LinkUse& use : c.uses[f])
      if (use.link == link) out += use.share * rates[f];
  return out;
}

/// Another way to the same rates: bisect how far all free flows can rise together, then find out by trying which of them can rise
/// alone; those that cannot are fixed.
std::vector<double> by_trial(const Case& c) {
  const std::size_t n = c.uses.size();
  std::vector<double> rates(n, 0);
  std::vector<bool> fixed(n, false);
  const auto fits = [&](const std::vector<double>& r) {
    for (std::size_t f = 0; f < n; ++f)
      if (r[f] > c.limits[f] * (1 + 1e-12)) return false;
    for (std::size_t l = 0; l < c.capacities.size(); ++l)
      if (load(c, r, static_cast<int>(l)) > c.capacities[l] * (1 + 1e-12)) return false;
    return true;
  };
  while (std::count(fixed.begin(), fixed.end(), false) > 0) {
    const auto raised = [&](double t) {
      std::vector<double> r = rates;
      for (std::size_t f = 0; f < n; ++f)
        if (!fixed[f]) r[f] = t * c.weights[f];
      return r;
    };
    double low = 0, high = 1000;
    for (int i = 0; i < 100; ++i) (fits(raised((low + high) / 2)) ? low : high) = (low + high) / 2;
    rates = raised(low);
    bool stopped = false;
    for (std::size_t f = 0; f < n; ++f) {
      if (fixed[f]) continue;
      std::vector<double> more = rates;
      more[f] += 1e-6 * c.weights[f];
      if (!fits(more)) fixed[f] = stopped = true;
    }
    REQUIRE(stopped);
  }
  return rates;
}

}  // namespace

TEST_CASE("two flows halve a link, and what one cannot use the other gets") {
  // the textbook line: A-B carries flows 0 and 1, B-C flows 0 and 2; B-C is wider
  const Case c{
      {10, 30}, {{{0, 1}, {1, 1}}, {{0, 1}}, {{1, 1}}}, {1, 1, 1}, std::vector<double>(3, std::numeric_limits<double>::infinity())};
  const Sharing s = c.share();
  CHECK(s.rates == std::vector<double>{5, 5, 25});
  CHECK(s.bottlenecks == std::vector<int>{0, 0, 1});
  CHECK(s.loads == std::vector<double>{10, 30});
  CHECK(Sharing::sharers(c.flows(), 0) == std::vector<int>{0, 1});
}

TEST_CASE("a limit leaves its link to the others, a weight divides it, a share counts as often as it passes") {
  const std::vector<LinkUse> once{{0, 1}}, twice{{0, 2}};
  const std::vector<double> link{12};
  const std::vector<Flow> limited{{once, 1, 2}, {once}, {once}};
  CHECK(share_max_min(link, limited).rates == std::vector<double>{2, 5, 5});
  CHECK(share_max_min(link, limited).bottlenecks == std::vector<int>{-1, 0, 0});
  const std::vector<Flow> weighted{{once, 2}, {once, 1}};
  CHECK(share_max_min(link, weighted).rates == std::vector<double>{8, 4});
  const std::vector<Flow> folded{{twice}, {once}};
  CHECK(share_max_min(link, folded).rates == std::vector<double>{4, 4});
}

TEST_CASE("what cannot be shared is refused by name") {
  const std::vector<LinkUse> once{{0, 1}}, off{{3, 1}}, nothing{};
  const std::vector<double> link{12}, dead{0};
  const auto refused = [](const std::vector<double>& capacities, const Flow& flow) {
    return support::message_of([&] { return share_max_min(capacities, std::vector<Flow>{flow}); });
  };
  CHECK(support::contains(refused(dead, {once}), "link 0 carries nothing"));
  CHECK(support::contains(refused(link, {off}), "flow 0: crosses link 3 of 1"));
  CHECK(support::contains(refused(link, {nothing}), "unbounded"));
  CHECK(support::contains(refused(link, {once, 0}), "weight"));
  CHECK(support::contains(refused(link, {once, 1, -1}), "limit"));
}

TEST_CASE("random cases: within capacity, each flow held by a full link where nobody is better off, equal to a second algorithm") {
  std::mt19937 random{20261120};
  for (int i = 0; i < 600; ++i) {
    const Case c = random_case(random, i % 2 == 0);
    const Sharing s = c.share();
    const std::vector<double> wanted = by_trial(c);
    for (std::size_t l = 0; l < c.capacities.size(); ++l) {
      const double here = load(c, s.rates, static_cast<int>(l));
      REQUIRE(here <= c.capacities[l] * (1 + 1e-9));
      REQUIRE(s.loads[l] == Approx(here).margin(1e-9));
    }
    for (std::size_t f = 0; f < c.uses.size(); ++f) {
      INFO("case " << i << " flow " << f);
      REQUIRE(s.rates[f] == Approx(wanted[f]).epsilon(1e-5).margin(1e-5));
      const int b = s.bottlenecks[f];
      if (b < 0) {
        REQUIRE(s.rates[f] == Approx(c.limits[f]));
        continue;
      }
      REQUIRE(s.loads[static_cast<std::size_t>(b)] == Approx(c.capacities[static_cast<std::size_t>(b)]));
      for (const int other : Sharing::sharers(c.flows(), b)) {
        const auto o = static_cast<std::size_t>(other);
        REQUIRE(s.rates[o] / c.weights[o] <= s.rates[f] / c.weights[f] * (1 + 1e-9));
      }
    }
  }
}

TEST_CASE("the order of flows does not matter, a flow more never helps one on the same path, capacity scales rates") {
  std::mt19937 random{7};
  for (int i = 0; i < 300; ++i) {
    const Case c = random_case(random, i % 2 == 0);
    const Sharing s = c.share();
    std::vector<std::size_t> order(c.uses.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::shuffle(order.begin(), order.end(), random);
    Case mixed{c.capacities, {}, {}, {}};
    for (const std::size_t f : order) {
      mixed.uses.push_back(c.uses[f]);
      mixed.weights.push_back(c.weights[f]);
      mixed.limits.push_back(c.limits[f]);
    }
    const Sharing m = mixed.share();
    for (std::size_t f = 0; f < order.size(); ++f) REQUIRE(m.rates[f] == Approx(s.rates[order[f]]).margin(1e-9));

    Case more = c;  // a twin of flow 0
    more.uses.push_back(c.uses[0]);
    more.weights.push_back(c.weights[0]);
    more.limits.push_back(c.limits[0]);
    const Sharing with = more.share();
    REQUIRE(with.rates[0] <= s.rates[0] * (1 + 1e-9));
    REQUIRE(with.rates.back() == Approx(with.rates[0]).margin(1e-9));
    REQUIRE(lowest(more, with) <= lowest(c, s) * (1 + 1e-9));

    Case wider = c;
    for (double& x : wider.capacities) x *= 3;
    for (double& x : wider.limits) x *= 3;
    const Sharing w = wider.share();
    for (std::size_t f = 0; f < c.uses.size(); ++f) REQUIRE(w.rates[f] == Approx(3 * s.rates[f]).margin(1e-9));
  }
}

TEST_CASE("a flow more can help one that shares no link with it: monotony holds on a path, not everywhere") {
  // flow 2 holds flow 1 down on link 1, which leaves more of link 0 to flow 0
  const std::vector<LinkUse> a{{0, 1}}, b{{0, 1}, {1, 1}}, c{{1, 1}};
  const std::vector<double> links{10, 6};
  const std::vector<Flow> two{{a}, {b}}, three{{a}, {b}, {c}};
  CHECK(share_max_min(links, two).rates == std::vector<double>{5, 5});
  CHECK(share_max_min(links, three).rates == std::vector<double>{7, 3, 3});
}

// Hashing, incast and SHARP: against counting every assignment, and against published limits.

namespace {

/// E[max] by trying all p^f ways.
double by_counting(int flows, int paths) {
  long long ways = 1, sum = 0;
  for (int i = 0; i < flows; ++i) ways *= paths;
  for (long long way = 0; way < ways; ++way) {
    std::vector<int> on(static_cast<std::size_t>(paths), 0);
    long long left = way;
    for (int i = 0; i < flows; ++i, left /= paths) ++on[static_cast<std::size_t>(left % paths)];
    sum += *std::max_element(on.begin(), on.end());
  }
  return static_cast<double>(sum) / static_cast<double>(ways);
}

double by_throwing(int flows, int paths, int times) {
  std::mt19937 random{1};
  double sum = 0;
  std::vector<int> on(static_cast<std::size_t>(paths));
  for (int t = 0; t < times; ++t) {
    std::fill(on.begin(), on.end(), 0);
    for (int i = 0; i < flows; ++i) ++on[random() % on.size()];
    sum += *std::max_element(on.begin(), on.end());
  }
  return sum / times;
}

}  // namespace

TEST_CASE("the fullest of hashed links is exact for few flows") {
  CHECK(expected_max_load(2, 2) == Approx(1.5));
  CHECK(expected_max_load(2, 8) == Approx(1.125));  // two of eight meet once in eight times
  CHECK(expected_max_load(3, 2) == Approx(2.25));
  for (int f = 1; f <= 7; ++f)
    for (int p = 1; p <= 5; ++p) {
      INFO(f << " flows on " << p);
      CHECK(expected_max_load(f, p) == Approx(by_counting(f, p)).epsilon(1e-10));
    }
}

TEST_CASE("for many flows the fullest link is near what throwing dice says") {
  for (const auto& [f, p] : {std::pair{8, 8}, {64, 64}, {256, 16}, {100, 128}, {1024, 32}, {4096, 64}, {512, 512}}) {
    INFO(f << " flows on " << p);
    CHECK(expected_max_load(f, p) == Approx(by_throwing(f, p, 4000)).epsilon(0.02));
  }
  // asymptotes: right order for as many flows as links, near for many on each
  CHECK(max_load_asymptote(1e6, 1e6) / expected_max_load(1e6, 1e6) == Approx(0.6).margin(0.15));
  CHECK(max_load_asymptote(64000, 64) == Approx(by_throwing(64000, 64, 200)).epsilon(0.03));
  CHECK(max_load_asymptote(1000, 2) == Approx(by_throwing(1000, 2, 400)).epsilon(0.03));
}

TEST_CASE("more flows load the fullest link more, more links less, and it is never below the mean") {
  for (int p = 1; p <= 64; p *= 2)
    for (int f = 1; f <= 512; f *= 2) {
      INFO(f << " flows on " << p);
      CHECK(expected_max_load(2 * f, p) >= expected_max_load(f, p) * (1 - 1e-9));
      CHECK(expected_max_load(f, 2 * p) <= expected_max_load(f, p) * 1.02);
      CHECK(expected_max_load(f, p) >= static_cast<double>(f) / p);
    }
}

TEST_CASE("m senders to one port get an m-th each") {
  CHECK(incast_rate(50e9, 8, 50e9) == 50e9 / 8);
  CHECK(incast_rate(50e9, 8, 5e9) == 5e9);
  CHECK(incast_rate(50e9, 1, 100e9) == 50e9);
  CHECK(support::contains(support::message_of([] { return incast_rate(50e9, 0, 50e9); }), "at least one sender"));
}

TEST_CASE("SHARP streams take turns on a Quantum switch and on a Quantum-2 port") {
  CHECK(sharp_turns("quantum", 3, 1) == 3);
  CHECK(sharp_turns("quantum-2", 3, 1) == 1);
  CHECK(sharp_turns("quantum-2", 3, 2) == 2);
  CHECK(support::contains(support::message_of([] { return sharp_turns("quantum", 64, 1); }), "trees for 63"));
  CHECK(support::contains(support::message_of([] { return sharp_turns("spectrum-4", 1, 1); }), "spectrum-4"));
}
