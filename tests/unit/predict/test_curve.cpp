// A compiled curve is the prediction: the same time and the same pick, on both sides of every threshold.
#include <fabricost/choice/candidates.hpp>
#include <fabricost/choice/nccl.hpp>
#include <fabricost/predict/compile.hpp>
#include <fabricost/predict/curve_table.hpp>
#include <fabricost/predict/curve_threads.hpp>

#include "support/random_cases.hpp"
#include "support/slow_build.hpp"

#include "catch.hpp"

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
    const bool same = std::fabs(t - p.seconds) <= 1e-9 * p.seconds && std::fabs(curve.line(bytes)(bytes) - p.seconds) <= 1e-12 * p.seconds &&
                      curve.ran_at(bytes) == p.ran;
    const bool as_fast = p.by_price && t >= p.seconds * (1 - 1e-8) && t <= p.seconds * 1.03;  // which is the fastest a curve samples
    report.expect(same || as_fast,
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

// A curve at many sizes is the curve at each: in any order, across thresholds, on threads; and sizes that are none are refused.

namespace {

/// Sizes over nine decades and around every threshold, in an order without order.
std::vector<double> mixed_sizes(const Curve& curve, int number, std::size_t count) {
  std::mt19937_64 random{static_cast<std::uint64_t>(number)};
  std::uniform_real_distribution<double> power{0, 36};
  std::vector<double> out{0, 1};
  for (int i = 0; i < curve.pieces(); ++i)
    for (const double step : {-1.0, 0.0, 1.0}) out.push_back(std::max(0.0, curve.threshold_bytes(i) + step));
  while (out.size() < count) out.push_back(std::exp2(power(random)));
  std::shuffle(out.begin(), out.end(), random);
  return out;
}

/// Whether the curve at all sizes is the curve at each.
void expect_same(support::Report& report, const support::Case& c, const Curve& curve, const std::vector<double>& sizes, int threads) {
  std::vector<double> seconds(sizes.size(), -1);
  evaluate(curve, sizes, seconds, threads);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const double alone = curve.seconds(sizes[i]);
    report.expect(std::fabs(seconds[i] / alone - 1) <= (curve.table().empty() ? 5e-14 : 1e-9), c, curve.ran_at(sizes[i]), sizes[i],
                  [&] { return std::to_string(seconds[i]) + " s among others, " + std::to_string(alone) + " s alone:"; });
  }
}

}  // namespace

TEST_CASE("a curve at many sizes is the curve at each", "[predict][property]") {
  support::Report report{"array differs"};
  std::set<int> shapes;
  for (int i = 0; i < 400; ++i) {
    const support::Case c = support::random_case(i);
    const Candidates pairs = support::pairs_of(c);
    if (pairs.count == 0) continue;
    std::vector<Choice> choices{{}, {.rule = Choice::Rule::fastest}};
    if (i % 4 == 0)
      for (const Candidate pair : pairs) choices.push_back(support::forced(pair));
    for (const Choice& choice : choices) {
      const Curve curve = compile(c.system, c.operation, choice);
      for (int line = 0; line < curve.pieces(); ++line)
        for (const Ramp& r : curve.line_at(curve.line_index(line)).ramps) shapes.insert(static_cast<int>(r.shape));
      std::vector<double> sizes = mixed_sizes(curve, i, i % 3 == 0 ? 1500 : 130);
      expect_same(report, c, curve, sizes, 1);
      std::sort(sizes.begin(), sizes.end());
      expect_same(report, c, curve, sizes, 1);
    }
  }
  INFO(report.text());
  CHECK(report.failed() == 0);
  CHECK(report.checked() > 100000);
  CHECK(shapes.size() >= 7);  // of the nine shapes a ramp can have
}

TEST_CASE("any number of sizes is answered, and nothing beyond it", "[predict]") {
  const Curve curve = compile(systems::ampere_box(), {.ranks = 8});
  for (std::size_t count = 0; count < 2200; count = count < 70 ? count + 1 : count + 61) {
    std::vector<double> sizes = mixed_sizes(curve, 7, 2300);
    sizes.resize(count);
    std::vector<double> seconds(count + 1, -1);
    evaluate(curve, sizes, {seconds.data(), count});
    for (std::size_t i = 0; i < count; ++i)
      if (!(std::fabs(seconds[i] / curve.seconds(sizes[i]) - 1) < 1e-9)) FAIL_CHECK(count << " sizes, the one at " << i << ": " << seconds[i]);
    if (seconds[count] != -1) FAIL_CHECK(count << " sizes: one more was written");
  }
}

TEST_CASE("threads share sizes and change nothing", "[predict]") {
  const Curve curve = compile(systems::ampere_box(), {.ranks = 8});
  const std::vector<double> sizes = mixed_sizes(curve, 11, 20000);
  std::vector<double> alone(sizes.size()), shared(sizes.size());
  evaluate(curve, sizes, alone);
  for (const int threads : {0, 1, 2, 3, 64}) {
    std::fill(shared.begin(), shared.end(), -1);
    evaluate(curve, sizes, shared, threads);
    CHECK(shared == alone);
  }
  CHECK_THROWS_WITH(evaluate(curve, sizes, shared, -1), Catch::Contains("take 1 to 1024"));
}

TEST_CASE("a size among many that is none is named", "[predict]") {
  const Curve curve = compile(systems::hopper_box(), {.ranks = 8});
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  for (const double bad : {-1.0, -1e-300, 1e18, inf, -inf, nan})
    for (const std::size_t at : {std::size_t{0}, std::size_t{5}, std::size_t{1023}, std::size_t{1500}, std::size_t{2999}})
      for (const int threads : {1, 2}) {
        std::vector<double> sizes(3000, 1e6), seconds(3000);
        sizes[at] = bad;
        CHECK_THROWS_WITH(evaluate(curve, sizes, seconds, threads), Catch::Contains("size " + std::to_string(at) + ":"));
        CHECK_THROWS_WITH(evaluate(curve, std::vector<double>(3, bad), {seconds.data(), 3}), Catch::Contains("size 0:"));
      }
  std::vector<double> two(2), three(3);
  CHECK_THROWS_AS(evaluate(curve, two, three), RequestError);
}

TEST_CASE("threads are started only where there is work for them", "[predict]") {
  CHECK(fabricost::core::detail::threads_for(100, 0) == 1);
  CHECK(fabricost::core::detail::threads_for(2 * sizes_per_thread - 1, 0) == 1);
  CHECK(fabricost::core::detail::threads_for(100, 3) == 3);
  CHECK(fabricost::core::detail::threads_for(std::size_t{1} << 40U, 0) == std::max(1U, std::thread::hardware_concurrency()));
}

// The table of a curve against the exact line at every size, and the sizes that it leaves to the line.

namespace {

CurveTable table_of(const Line& line) {
  CurveTable table;
  table.fill([&](double, double) { return &line; });
  return table;
}
bool knows(const CurveTable& table, double bytes) { return !std::isnan(table(bytes)); }

/// 1 ms and 1 ns per byte: the two meet at 10^6 bytes.
Line two_terms(double overlap) {
  Line line;
  line.add_latency_part(TermKind::steps, 0, 1, 1e-3).add_rate_part(TermKind::wire, 0, 1, 1e-9);
  line.overlap = overlap;
  return line;
}

}  // namespace

TEST_CASE("what the table of a curve knows is within 1e-9 of the line", "[predict][property]") {
  support::Report report{"table differs"};
  std::size_t known = 0, tables = 0;
  for (int i = 0; i < 400; ++i) {
    const support::Case c = support::random_case(i);
    if (support::pairs_of(c).count == 0) continue;
    const Curve curve = compile(c.system, c.operation);
    if (curve.table().empty()) continue;
    ++tables;
    std::mt19937_64 random{static_cast<std::uint64_t>(i)};
    std::uniform_real_distribution<double> power{8, 36};
    for (int k = 0; k < 1000; ++k) {
      const double bytes = std::exp2(power(random)), t = curve.table()(bytes), exact = curve.line(bytes)(bytes);
      if (std::isnan(t)) continue;
      ++known;
      report.expect(std::fabs(t / exact - 1) <= 1e-9, c, curve.ran_at(bytes), bytes, [&] { return std::to_string(t / exact) + " of"; });
    }
  }
  INFO(report.text());
  CHECK(report.failed() == 0);
  CHECK(tables > 100);
  CHECK(static_cast<double>(known) > 0.75 * 1000 * static_cast<double>(tables));
}

TEST_CASE("a table holds to its own edges", "[predict]") {
  const Line line = two_terms(1.4);
  const CurveTable table = table_of(line);
  for (const double size : {256.0, std::nextafter(320.0, 0), 320.0, 1e6, std::nextafter(std::exp2(36), 0)}) {
    INFO(size);
    CHECK(table(size) == Approx(line(size)).epsilon(1e-9));
  }
  for (const double size : {0.0, std::nextafter(256.0, 0), std::exp2(36), 1e18, -1000.0, std::nan(""), HUGE_VAL}) {
    INFO(size);
    CHECK_FALSE(knows(table, size));
  }
}

TEST_CASE("a table leaves jumps, bends and corners to the line", "[predict]") {
  constexpr double size = 1300000;  // in the quarter from 1.25 x 2^20 = 1,310,720 down to 2^20
  using Shape = Ramp::Shape;
  for (const Shape shape : {Shape::step, Shape::until, Shape::linear, Shape::square}) {
    Line line = two_terms(1.4);
    line.add_ramp({.shape = shape, .amplitude = 1e-3, .per_byte = 1 / size});
    const CurveTable table = table_of(line);
    INFO(static_cast<int>(shape));
    CHECK_FALSE(knows(table, size));
    CHECK_FALSE(knows(table, 1.01 * 1048576));
    CHECK(table(1.26 * 1048576) == Approx(line(1.26 * 1048576)).epsilon(1e-9));
    CHECK(table(0.99 * 1048576) == Approx(line(0.99 * 1048576)).epsilon(1e-9));
  }
  Line jump = two_terms(1.4);
  jump.add_ramp({.shape = Shape::step, .amplitude = 1e-3, .per_byte = 1.0 / 1048576});
  CHECK_FALSE(knows(table_of(jump), 1048576));  // at the edge of two quarters
  Line chunks = two_terms(1);
  chunks.chunk = size;
  chunks.chunk_seconds = 1e-4;
  CHECK_FALSE(knows(table_of(chunks), 1.01 * 1048576));  // the first chunk ends in this quarter
  CHECK(knows(table_of(chunks), 0.9 * 1048576));
  CHECK_FALSE(knows(table_of(chunks), 1e9));
  const Line corner = two_terms(400);
  CHECK_FALSE(knows(table_of(corner), 1e6));
  CHECK(table_of(corner)(1e9) == Approx(corner(1e9)).epsilon(1e-9));
}
