#include <fabricost/price/terms.hpp>

#include "catch.hpp"

using namespace fabricost::core;

TEST_CASE("the contributions of any price sum to it", "[price]") {
  const std::uint64_t seed = 20250611;
  std::mt19937_64 random{seed};
  const auto uniform = [&](double a, double b) { return a + (b - a) * static_cast<double>(random() >> 11) / 9007199254740992.0; };
  const auto spread = [&](double centre) { return centre * std::exp(uniform(-4, 4)); };
  for (int i = 0; i < 20000; ++i) {
    Line line;
    for (int p = 0; p < 3; ++p) {
      line.add_base_part(static_cast<TermKind>(random() % 6), static_cast<int>(random() % 2), uniform(0, 9), spread(1e-6));
      line.add_latency_part(static_cast<TermKind>(random() % 6), static_cast<int>(random() % 2), uniform(0, 9), spread(1e-6));
      line.add_rate_part(static_cast<TermKind>(random() % 6), static_cast<int>(random() % 2), uniform(0, 2), spread(1e-11));
    }
    for (int r = 0; r < 2; ++r)
      line.add_ramp({.shape = static_cast<Ramp::Shape>(random() % 9), .inside = random() % 2 == 0, .level = static_cast<int>(random() % 2),
                 .amplitude = spread(1e-5), .per_byte = spread(1e-6), .limit = 24});
    if (random() % 2 == 0) {
      line.early = spread(1e6);
      line.early_rate = uniform(-0.3, 0.3) * line.rate;
    }
    if (random() % 4 == 0) {
      line.chunk = spread(1e6);
      line.chunk_seconds = spread(1e-6);
      line.chunk_share = uniform(0, 1);
    }
    line.overlap = random() % 3 == 0 ? 1 : random() % 3 == 0 ? uniform(1, 1.1) : uniform(1, 12);
    const double bytes = random() % 10 == 0 ? 0 : spread(1e6) * (random() % 2 == 0 ? 1 : 1e6);
    double sum = 0;
    bool finite = true;
    for (const Contribution& c : take_apart(line, bytes)) {
      sum += c.seconds;
      finite = finite && std::isfinite(c.seconds);
    }
    const double time = line(bytes);
    if (!(finite && time > 0 && std::fabs(sum - time) <= 1e-12 * time))
      FAIL_CHECK("seed " << seed << " line " << i << " bytes " << bytes << " q " << line.overlap << ": " << sum << " against " << time);
  }
}

TEST_CASE("norm_q lies between the larger and the sum and falls with q", "[price]") {
  for (const double a : {0.0, 1e-9, 1e-6, 1.0})
    for (const double b : {0.0, 1e-7, 1e-3, 5.0}) {
      double last = a + b;
      for (const double q : {1.0, 1.02, 1.4, 2.0, 6.0, 40.0}) {
        const double n = norm(a, b, q);
        CHECK(n >= std::max(a, b) * (1 - 1e-15));
        CHECK(n <= last * (1 + 1e-15));
        last = n;
      }
    }
}

TEST_CASE("a contribution is that of its kind on its level", "[price]") {
  Contributions all;
  all.add(TermKind::launch, 0, 1);
  all.add(TermKind::launch, 1, 2);
  all.add(TermKind::steps, 0, 4);
  all.add(TermKind::steps, 1, 8);
  all.add(TermKind::launch, 1, 16);
  all.add(TermKind::wire, 0, 0);
  REQUIRE(all.items.size() == 4);
  CHECK(all.items[0].seconds == 1);
  CHECK(all.items[1].seconds == 18);
  CHECK(all.items[1].level == 1);
  CHECK(all.items[2].seconds == 4);
  CHECK(all.items[3].seconds == 8);
}

TEST_CASE("what hides the other counts for more, by Euler's rule", "[price]") {
  const auto parts = [](double latency, double rate, double q) {
    Line line;
    line.add_latency_part(TermKind::steps, 0, 1, latency);
    line.add_rate_part(TermKind::wire, 0, 1, rate);
    line.overlap = q;
    const Contributions c = take_apart(line, 1);
    return std::pair{c.items[0].seconds, c.items.size() > 1 ? c.items[1].seconds : 0};
  };
  CHECK(parts(3, 4, 2).first == Approx(9.0 / 5));
  CHECK(parts(3, 4, 2).second == Approx(16.0 / 5));
  CHECK(parts(3, 4, 1).first == 3);
  CHECK(parts(3, 4, 1).second == 4);
  CHECK(parts(2, 1e-300, 12).first == Approx(2));  // the ratio's power is infinite
  CHECK(parts(2, 1e-300, 12).second == 0);
}

TEST_CASE("where nothing can be hidden no contribution is a division by zero", "[price]") {
  Line line;
  line.add_rate_part(TermKind::wire, 0, 1, 1e-9);
  line.add_ramp({.shape = Ramp::Shape::step, .inside = true, .amplitude = 1, .per_byte = 1e-9});
  line.overlap = 2;
  double sum = 0;
  for (const Contribution& c : take_apart(line, 100)) sum += c.seconds;
  CHECK(sum == Approx(100e-9));
}

TEST_CASE("the share of the wire is that of its bytes, and of ramps that every byte lengthens", "[price]") {
  Line line;
  line.add_base_part(TermKind::launch, 0, 1, 4e-6);
  CHECK(wire_share(line, 1e6) == 0);
  line.add_ramp({.shape = Ramp::Shape::unbounded, .amplitude = 2e-6, .per_byte = 1e-6});
  for (const double bytes : {0.0, 1e6, 5e6}) CHECK(wire_share(line, bytes) == Approx(2e-12 * bytes / (4e-6 + 2e-12 * bytes)));
  line.add_rate_part(TermKind::wire, 0, 1, 3e-12);
  line.add_rate_part(TermKind::copy, 0, 1, 1e-12);  // no wire
  CHECK(wire_share(line, 1e6) == Approx(5.0 / 10));
  line.add_latency_part(TermKind::floor, 0, 1, 3e-6);
  line.overlap = 2;  // norm(3, 4) = 5 us, of which the volume shows 16/25, and the wire three quarters of that
  CHECK(wire_share(line, 1e6) == Approx((2 + 3 * 4 / 5.0) / (4 + 2 + 5)));
}
