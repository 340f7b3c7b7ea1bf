// A compiled curve is the prediction: the same time and the same pick, on both sides of every threshold.
#include <fabricost/choice/candidates.hpp>
#include <fabricost/choice/nccl.hpp>
#include <fabricost/predict/compile.hpp>

#include "support/random_cases.hpp"

#include "catch.hpp"
#include "support/slow_build.hpp"

#include <concepts>

using namespace fabricost::core;

namespace {

/// Whole bytes around a size.
std::vector<double> around(double size) {
  std::vector<double> out;
  for (const double step : {-1024.0, -3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 1024.0}) out.push_back(std::floor(size) + step);
  for (const double share : {-1e-3, -1e-6, -1e-9, 1e-9, 1e-6, 1e-3}) out.push_back(std::floor(size * (1 + share)));
  return out;
}

void compare(support::Report& report, const support::Case& c, const Choice& choice, const std::vector<double>& sizes, const Curve& curve) {
  Operation op = c.operation;
  for (const double bytes : sizes) {
    if (!(bytes >= 0 && bytes < 1e13)) continue;  // beyond, rounding decides between equals
    op.bytes = Bytes::from_value(bytes);
    const Prediction p = predict(c.system, op, choice);
    const double t = curve.seconds(bytes);
    report.expect(std::fabs(t - p.seconds) <= 1e-9 * p.seconds && std::fabs(curve.line(bytes)(bytes) - p.seconds) <= 1e-12 * p.seconds &&
                      curve.ran_at(bytes) == p.ran,
                  c, p.ran, bytes, [&] {
                    const Candidate other = curve.ran_at(bytes);
                    return std::string{"the curve runs "}
                        .append(name(other.algorithm))
                        .append(" ")
                        .append(name(other.protocol))
                        .append(" in ")
                        .append(std::to_string(t / p.seconds))
                        .append(" of the time of");
                  });
  }
}

std::vector<double> sizes_of(const Curve& curve, int number) {
  std::vector<double> sizes = support::random_sizes(number);
  for (int i = 0; i < curve.pieces(); ++i)
    for (const double s : around(curve.threshold_bytes(i))) sizes.push_back(s);
  for (int octave = 0; octave < 34; ++octave)
    for (const double s : {64 * std::exp2(octave) - 1, 64 * std::exp2(octave)}) sizes.push_back(s);
  return sizes;
}

}  // namespace

TEST_CASE("a curve gives the prediction's time and pick as NCCL chooses", "[predict][property]") {
  support::Report report{"curve differs"};
  for (int i = 0; i < support::draws(600); ++i) {
    const support::Case c = support::random_case(i);
    if (support::pairs_of(c).count == 0) continue;
    const Curve curve = compile(c.system, c.operation);
    compare(report, c, {}, sizes_of(curve, i), curve);
  }
  INFO(report.text());
  CHECK(report.failed() == 0);
  CHECK(report.checked() > support::draws(50000));
}

// on 651,215,744 ranks the second and third of these rows cross at 12.8 PB, where neighbouring numbers are two bytes apart
TEST_CASE("the walk along a tuner's choices ends, at whatever sizes its rows cross", "[predict][property]") {
  std::mt19937_64 random{5};
  const auto between = [&](double low, double high) { return low * std::pow(high / low, std::generate_canonical<double, 53>(random)); };
  for (int i = 0; i < support::draws(2000); ++i) {
    TunerTable table;
    if (i == 0) {
      table.add({Algorithm::ring, Protocol::ll}, 1359.4128714999999, 1 / 5.2631578947368421e-11);
      table.add({Algorithm::ring, Protocol::ll128}, 1465.2354359999999, 1 / 3.0193236714975846e-12);
      table.add({Algorithm::ring, Protocol::simple}, 4558.5102084, 1 / 2.7777777777777777e-12);
    } else {
      for (const Protocol protocol : {Protocol::ll, Protocol::ll128, Protocol::simple})
        table.add({Algorithm::ring, protocol}, between(1e-6, 1e5), between(1e9, 1e12));
    }
    INFO("table " << i);
    int stretches = 0;
    double last = 0;
    fabricost::core::detail::walk_tuner(table, [&](Candidate now, double until) {
      if (++stretches > 100 || !(until > last)) throw std::logic_error("no end");
      CHECK(table.pick(last) == now);
      last = until;
    });
    CHECK(last == std::numeric_limits<double>::infinity());
  }
}

TEST_CASE("a curve of the fastest is the fastest but for three hundredths near its changes", "[predict][property]") {
  support::Report report{"curve of the fastest"};
  for (int i = 0; i < 120; ++i) {
    const support::Case c = support::random_case(i);
    if (support::pairs_of(c).count == 0) continue;
    const Choice fastest{.rule = Choice::Rule::fastest};
    const Curve curve = compile(c.system, c.operation, fastest);
    Operation op = c.operation;
    for (const double bytes : sizes_of(curve, i)) {
      if (!(bytes >= 0 && bytes < 1e13)) continue;  // beyond, rounding decides between equals
      op.bytes = Bytes::from_value(bytes);
      const Prediction p = predict(c.system, op, fastest);
      const double t = curve.seconds(bytes);
      report.expect(t >= p.seconds * (1 - 1e-8) && t <= p.seconds * 1.03, c, p.ran, bytes,
                    [&] { return std::to_string(t / p.seconds).append(" of the time of"); });
    }
  }
  INFO(report.text());
  CHECK(report.failed() == 0);
}

TEST_CASE("a curve gives the prediction's time and pick when forced or restricted", "[predict][property]") {
  support::Report report{"curve differs"};
  for (int i = 0; i < support::draws(150); ++i) {
    const support::Case c = support::random_case(i);
    const Candidates pairs = support::pairs_of(c);
    if (pairs.count == 0) continue;
    for (const Candidate pair : pairs)
      compare(report, c, support::forced(pair), support::random_sizes(i), compile(c.system, c.operation, support::forced(pair)));
    for (const Protocol p : {Protocol::ll, Protocol::simple}) {
      const Choice only{.protocol = p};
      bool possible = false;
      for (const Candidate pair : pairs) possible = possible || pair.protocol == p;
      if (!possible) continue;
      const Curve restricted = compile(c.system, c.operation, only);
      compare(report, c, only, sizes_of(restricted, i), restricted);
    }
  }
  INFO(report.text());
  CHECK(report.failed() == 0);
}

TEST_CASE("a sweep is its predictions", "[predict]") {
  const System s = systems::hopper_box();
  const Operation op{.collective = Collective::all_reduce, .ranks = 16, .nodes = 2};
  const std::vector<Bytes> sizes = powers_of_two(units::B(8), units::GiB(8));
  CHECK(sizes.size() == 31);
  Choice from_python;
  from_python.inference.from_host = true;
  for (const Choice& choice : {Choice{}, Choice{.rule = Choice::Rule::fastest}, Choice{.algorithm = Algorithm::hierarchical},
                               Choice{.algorithm = Algorithm::ring}, from_python}) {
    const std::vector<Prediction> swept = sweep(s, op, sizes, choice);
    REQUIRE(swept.size() == sizes.size());
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      Operation one = op;
      one.bytes = sizes[i];
      const Prediction p = predict(s, one, choice);
      CHECK(swept[i].seconds == Approx(p.seconds).epsilon(1e-12));
      CHECK(swept[i].ran == p.ran);
      CHECK(swept[i].by_price == p.by_price);
      CHECK(swept[i].low == Approx(p.low).epsilon(1e-12));
      CHECK(swept[i].terms.size() == p.terms.size());
    }
  }
}

TEST_CASE("a pair is said to be chosen by price only where no tuner rule applies", "[predict]") {
  const Operation op{.collective = Collective::all_reduce, .bytes = units::MiB(1), .ranks = 8};
  CHECK_FALSE(predict(systems::hopper_box(), op).by_price);
  CHECK_FALSE(predict(systems::hopper_box(), op, {.algorithm = Algorithm::one_shot, .protocol = Protocol::ll}).by_price);
  CHECK_FALSE(predict(systems::hopper_box(), op, {.rule = Choice::Rule::fastest}).by_price);
  CHECK(predict(systems::torus_cube(), AllReduce{.bytes = units::MiB(1), .ranks = 64}).by_price);
}

TEST_CASE("sizes that are no sizes are refused", "[predict]") {
  const System s = systems::hopper_box();
  const double nan = std::nan("");
  for (const double bytes : {-1.0, -1e-300, nan, 1e18, std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()}) {
    INFO(bytes);
    for (const Choice& choice : {Choice{}, Choice{.rule = Choice::Rule::fastest}}) {
      CHECK_THROWS_AS(predict(s, AllReduce{.bytes = Bytes::from_value(bytes)}, choice), RequestError);
      const std::vector<Bytes> sizes{units::KiB(1), Bytes::from_value(bytes)};
      CHECK_THROWS_AS(sweep(s, AllReduce{}, sizes, choice), RequestError);
    }
  }
  CHECK_NOTHROW(predict(s, AllReduce{.bytes = Bytes::from_value(9.9e17)}));
  CHECK_THROWS_AS(powers_of_two(units::B(0), units::MiB(1)), RequestError);
  CHECK_THROWS_AS(powers_of_two(units::B(1), Bytes::from_value(std::numeric_limits<double>::infinity())), RequestError);
  CHECK_THROWS_AS(powers_of_two(units::B(1), Bytes::from_value(nan)), RequestError);
}

TEST_CASE("a curve takes sizes and gives times; plain numbers go through functions that say so", "[predict]") {
  static_assert(std::same_as<decltype(std::declval<const Curve&>()(units::MiB(1))), Time>);
  static_assert(!std::invocable<const Curve&, double> && !std::invocable<const Curve&, int>);
  const Curve curve = compile(systems::hopper_box(), AllReduce{.ranks = 8});
  REQUIRE(curve.pieces() > 1);
  const Bytes second = curve.threshold(1);
  CHECK(second.value() == curve.threshold_bytes(1));
  CHECK(curve.ran(second) == curve.ran_at(second.value()));
  CHECK_FALSE(curve.ran(second) == curve.ran(units::B(8)));
  for (const Bytes size : {units::B(8), second, units::GiB(1)}) {
    CHECK(curve(size).value() == curve.seconds(size.value()));
    CHECK(curve.min(size).value() == curve.min_seconds(size.value()));
    CHECK(curve.min(size) < curve(size));
  }
}
