// From points of machines of data/ to sets of constants: shared ones, those that do not matter, refused ones.
#include "synthetic.hpp"

#include "support/message_of.hpp"

#include <fabricost/calibrate/calibrate.hpp>
#include <fabricost/specs/load.hpp>

#include "catch.hpp"

using namespace fabricost::core;
using namespace synthetic;
using support::contains;
using support::message_of;

namespace {

/// A machine of data/ whose constants differ from the shipped ones as one machine differs from its siblings.
System another(const std::string& called, Random& random) {
  System system = load_system(called);
  Block block = block_of(ConstantSet::scale_up, system.constants, 0.3, 0.1, 0.5);
  system.constants = drawn(block, random);
  block.set = ConstantSet::transport;
  block.prior = system.constants;
  if (system.tier(TierRole::nic) != nullptr) system.constants = drawn(block, random);
  return system;
}

const FittedConstant& constant(const CalibratedSet& set, std::string_view key) {
  for (const FittedConstant& c : set.fitted)
    if (c.key == key) return c;
  throw std::logic_error("no constant " + std::string{key});
}
int skipped(const Calibration& fit, std::string_view words) {
  int rows = 0;
  for (const Skipped& s : fit.skipped)
    if (contains(s.reason, words)) rows += s.rows;
  return rows;
}
/// Largest difference, in log, between the constants of two fits' sets of the same name.
double apart(const Calibration& a, const Calibration& b) {
  double max = 0;
  REQUIRE(a.sets.size() == b.sets.size());
  for (const CalibratedSet& set : a.sets) {
    const CalibratedSet& same = set_named(b, set.name);
    for (const FittedConstant& c : set.fitted) max = std::max(max, std::fabs(std::log(c.value / constant(same, c.key).value)));
  }
  return max;
}
Point one_point(const std::string& system, Collective op, int ranks, double bytes, double microseconds) {
  Point p;
  p.system = system;
  p.collective = op;
  p.gpus_per_node = ranks;
  p.bytes = bytes;
  p.seconds = microseconds * 1e-6;
  p.library = "nccl";
  return p;
}
Points points(std::vector<Point> list) {
  Points out;
  out.points = std::move(list);
  return out;
}

}  // namespace

TEST_CASE("machines of one generation share their set, machines of others do not", "[calibrate]") {
  Random random{support::seed};
  const Grid small{.bytes = sizes(512, 1 << 28, 4)};
  Points all = points_of(load_system("dgx-h100"), "dgx-h100", small, random);
  all.append(points_of(load_system("dgx-h200"), "dgx-h200", small, random));
  all.append(points_of(load_system("dgx-a100"), "dgx-a100", small, random));
  const Calibration fit = calibrate(all);
  REQUIRE(fit.sets.size() == 2);
  CHECK(set_named(fit, "scale-up-hopper").systems == std::vector<std::string>{"dgx-h100", "dgx-h200"});
  CHECK(set_named(fit, "scale-up-ampere").systems == std::vector<std::string>{"dgx-a100"});
  CHECK(fit.points == static_cast<int>(all.points.size()));
  for (const Parameter& p : scale_up_parameters) {
    if (p.held()) continue;
    INFO(p.key);
    const FittedConstant& one = constant(set_named(fit, "scale-up-hopper"), p.key);
    const FittedConstant& two = constant(set_named(fit, "scale-up-ampere"), p.key);
    CHECK(one.shared == (p.fitted == FitTreatment::shared));
    if (p.fitted == FitTreatment::shared) CHECK(one.value == two.value);
  }
}

TEST_CASE("times all longer by a factor move the common factors", "[calibrate]") {
  for (const double factor : {0.75, 1.3}) {
    INFO("factor " << factor);
    const System truth = load_system("dgx-h100");
    Random random{support::seed + 2};
    const Grid grid{.bytes = sizes(512, 1 << 29)};
    const Calibration fit = calibrate(points_of(truth, "dgx-h100", grid, random, 0, factor), {.system = "dgx-h100"});
    for (const char* key : {"launch", "ll.hop", "simple.hop", "nvls.floor", "all_to_all.base"})
      CHECK(constant(fit.sets[0], key).value / constant(fit.sets[0], key).prior == Approx(factor).epsilon(0.1));
    for (const char* key : {"simple.rate", "nvls.rate", "all_to_all.rate"})
      CHECK(constant(fit.sets[0], key).value / constant(fit.sets[0], key).prior == Approx(1 / factor).epsilon(0.1));
    CHECK(fit.median_after < 3);
    CHECK(fit.median_before == Approx(100 * std::fabs(1 / factor - 1)).epsilon(0.01));
  }
}

TEST_CASE("one point of any kind on any machine moves its prediction towards it", "[calibrate]") {
  for (int i = 0; i < 20; ++i) {
    Random random{support::seed * 7 + static_cast<std::uint64_t>(i)};
    const std::string called =
        random.of(std::vector<std::string>{"dgx-a100", "dgx-h200", "dgx-b300", "l40s-pcie", "mi300x-8", "aws-p5", "b60-pcie"});
    const System before = load_system(called);
    const Collective op = random.of(four_operations);
    const int nodes = called == "aws-p5" && random.one_in(2) ? 2 : 1;
    const int ranks = nodes > 1 ? before.gpus_per_node : std::min(before.domain, 2 << random.below(3));
    Point p = one_point(called, op, ranks, std::floor(random.scaled(1024, 4e8)), 0);
    p.nodes = nodes;
    p.library = "";  // oneCCL counts an all_gather otherwise
    const Operation question{.collective = op, .bytes = Bytes::from_value(p.bytes), .ranks = nodes * ranks, .nodes = nodes};
    const Prediction old = predict(before, question);
    const double off = std::log(random.scaled(0.4, 2.5));
    p.seconds = old.seconds * std::exp(off);
    INFO("case " << i << ": " << called << " " << name(op) << " " << nodes << " x " << ranks << " " << p.bytes << " B off by " << off);
    Calibration fit;
    const std::string refusal = message_of([&] { return fit = calibrate(points({p}), {.system = called}); });
    if (contains(refusal, "no form to fit here") || contains(refusal, "above what the wires allow")) continue;
    REQUIRE(refusal.empty());
    System after = before;
    apply_calibration(after, fit);
    const double moved =
        std::log(predict(after, question, {.algorithm = old.ran.algorithm, .protocol = old.ran.protocol}).seconds / old.seconds);
    CHECK(moved * off > 0);
    CHECK(std::fabs(moved) < std::fabs(off) * 1.001);
  }
}

TEST_CASE("intervals hold nine in ten of fresh measurements with the same noise", "[calibrate]") {
  int inside = 0, all = 0;
  for (int i = 0; i < 10; ++i) {
    Random random{support::seed * 13 + static_cast<std::uint64_t>(i)};
    const std::string called = i % 3 == 0 ? "dgx-a100" : i % 3 == 1 ? "dgx-h100" : "dgx-b200";
    const System truth = another(called, random);
    const Grid grid{.types = {DataType::half, DataType::int8}};
    const Calibration fit = calibrate(points_of(truth, called, grid, random), {.system = called});
    System fitted = load_system(called);
    apply_calibration(fitted, fit);
    int here = 0, hit = 0;
    each_question(grid, truth, [&](const Operation& op) {
      const double measured = predict(truth, op).seconds * std::exp(noise * normal(random));
      const Prediction p = predict(fitted, op);
      CHECK(p.basis == Basis::calibrated);
      ++here;
      hit += measured >= p.low && measured <= p.high ? 1 : 0;
    });
    INFO(called << ": " << hit << " of " << here);
    CHECK(hit > 0.84 * here);
    CHECK(hit < 0.97 * here);
    inside += hit;
    all += here;
  }
  INFO(inside << " of " << all);
  CHECK(inside > 0.87 * all);
  CHECK(inside < 0.95 * all);
}

TEST_CASE("a calibration is for the machine by any of its names", "[calibrate]") {
  Random random{support::seed + 5};
  const Points own = points_of(load_system("dgx-h100"), "dgx-h100", {.bytes = sizes(1024, 1 << 28, 16)}, random);
  Points alias = own;
  for (Point& p : alias.points) p.system = "hgx-h100";
  const Calibration fit = calibrate(own, {.system = "dgx-h100"});
  for (const Points& given : {own, alias})
    for (const char* asked : {"dgx-h100", "hgx-h100"}) {
      const Calibration same = calibrate(given, {.system = asked});
      CHECK(same.system == "dgx-h100");
      CHECK(apart(fit, same) == 0);
    }
}

TEST_CASE("a calibration applied by hand makes siblings of like machines and leaves others alone", "[calibrate]") {
  Random random{support::seed + 7};
  const Grid grid{.nodes = {1, 2}, .bytes = sizes(512, 1 << 29, 16)};
  const Calibration fit = calibrate(points_of(another("aws-p5", random), "aws-p5", grid, random), {.system = "aws-p5"});
  REQUIRE(fit.sets.size() == 2);
  const double launch = set_named(fit, "scale-up-hopper").constants.scale_up.launch;
  const double step = set_named(fit, "transport-efa-v2").constants.transport.tree_step;
  const auto applied = [&](const char* called) {
    System system = load_system(called, {}, "none");
    apply_calibration(system, fit);
    return system.constants;
  };
  const Constants own = applied("aws-p5");
  CHECK((own.basis == Basis::calibrated && own.transport_basis == Basis::calibrated && own.transport_known));
  CHECK((own.scale_up.launch == launch && own.transport.tree_step == step));
  CHECK(own.most_nodes == 2);                  // what others of its transport showed at more nodes is not this cluster's
  const Constants like = applied("dgx-h100");  // the GPUs are the same, the NICs are not
  CHECK((like.basis == Basis::sibling && like.scale_up.launch == launch));
  CHECK((like.transport_basis == Basis::datasheet && !like.transport_known && like.transport.tree_step != step));
  for (const char* called : {"dgx-a100", "l40s-pcie", "mi300x-8"}) {
    INFO(called);
    const Constants other = applied(called);
    CHECK((other.basis == Basis::datasheet && other.scale_up.launch != launch && other.transport.tree_step != step));
  }
}

TEST_CASE("points that cannot be fitted are counted with their reason", "[calibrate]") {
  const Point good = one_point("dgx-h100", Collective::all_gather, 8, 1048576, 20);
  const double nan = std::numeric_limits<double>::quiet_NaN(), infinite = std::numeric_limits<double>::infinity();
  const auto with = [&good](auto member, auto value) {
    Point other = good;
    other.*member = value;
    return points({good, other});
  };
  for (const double seconds : {0.0, -1e-6, nan, infinite}) {
    const Points both = with(&Point::seconds, seconds);
    const Calibration fit = calibrate(both, {.system = "dgx-h100"});
    CHECK(fit.points == 1);
    CHECK(skipped(fit, "not a number above zero") == 1);
    const Points bad = points({both.points.back()});
    CHECK(contains(message_of([&] { return calibrate(bad, {.system = "dgx-h100"}); }), "no point is left to fit"));
  }
  for (const double bytes : {0.0, -5.0, nan}) CHECK(skipped(calibrate(with(&Point::bytes, bytes)), "not a number above zero") == 1);
  CHECK(calibrate(with(&Point::bytes, 1e19)).set_aside.size() == 1);  // no wire is that fast
  CHECK(skipped(calibrate(with(&Point::gpus_per_node, 1)), "one rank") == 1);
  CHECK(calibrate(with(&Point::gpus_per_node, 16)).points == 1);
  const Points stranger = with(&Point::system, "no-such-box");
  CHECK(skipped(calibrate(stranger), "no-such-box") == 1);
  CHECK(skipped(calibrate(stranger, {.system = "dgx-h100"}), "of no-such-box, not of dgx-h100") == 1);
  CHECK(skipped(calibrate(with(&Point::algorithm, Algorithm::pat)), "pat") == 1);
}

TEST_CASE("a point that agrees with a measured machine makes no answer about it less sure", "[calibrate]") {
  struct Case {
    std::string system;
    int nodes;
  };
  for (const Case& one : {Case{"mi300x-8", 1}, Case{"dgx-a100", 1}, Case{"dgx-a100-hdr", 4}}) {
    INFO(one.system);
    const System before = load_system(one.system);
    const auto ask = [&](const System& system, Collective op, double bytes) {
      return predict(system, Operation{.collective = op, .bytes = Bytes::from_value(bytes), .ranks = 8 * one.nodes, .nodes = one.nodes});
    };
    Point p = one_point(one.system, Collective::all_reduce, 8, 1 << 30, 1.04e6 * ask(before, Collective::all_reduce, 1 << 30).seconds);
    p.nodes = one.nodes;
    p.library = std::string{name(before.library)};
    const auto fitted_to = [&](double times) {
      Point other = p;
      other.seconds *= times;
      return calibrate(points({other}), {.system = one.system});
    };
    const Calibration fit = fitted_to(1);
    System after = before;
    apply_calibration(after, fit);
    for (const Collective op : four_operations)
      for (const double bytes : {1024.0, 1048576.0, 1073741824.0}) {
        INFO(name(op) << " " << bytes);
        const Prediction old = ask(before, op, bytes), now = ask(after, op, bytes);
        CHECK(now.basis == old.basis);
        CHECK(now.high / now.seconds <= 1.001 * old.high / old.seconds);
      }
    CHECK_FALSE(fit.sets.front().contradicts);
    CHECK(fitted_to(1.8).sets.front().contradicts);
  }
}

TEST_CASE("times of MPI and verbs are no times of NCCL or RCCL", "[calibrate]") {
  for (const char* system : {"oci-mi300x", "dgx-a100-hdr"})
    for (const char* tool : {"osu", "perftest"}) {
      Point p = one_point(system, Collective::send_recv, 1, 8, 2.1);
      p.nodes = 2;
      p.path = Path::nic;
      Point good = one_point(system, Collective::all_reduce, 8, 1 << 28, 4000);
      good.nodes = 4;
      good.library = std::string{name(load_system(system).library)};
      p.library = tool;
      const Calibration fit = calibrate(points({p, good}), {.system = system});
      CHECK(fit.points == 1);
      CHECK(skipped(fit, "of MPI or verbs") == 1);
    }
}

TEST_CASE("a machine without reduction in the switch has no constants of it to fit", "[calibrate]") {
  const auto of_switch = [](const char* system) {
    const Calibration fit = calibrate(points({one_point(system, Collective::all_gather, 8, 1 << 28, 1000)}), {.system = system});
    const auto& all = fit.sets.front().fitted;
    return std::any_of(all.begin(), all.end(), [](const FittedConstant& c) { return c.key.starts_with("nvls."); });
  };
  CHECK_FALSE(of_switch("dgx-a100"));
  CHECK(of_switch("dgx-h100"));
}

TEST_CASE("rows that the host's launches hold say what a launch takes", "[calibrate]") {
  const System system = load_system("dgx-a100");
  std::vector<Point> rows;
  for (const double bytes : {1024.0, 4096.0, 16384.0, 1e9}) {
    Point p = one_point("dgx-a100", Collective::all_reduce, 8, bytes, 80);
    p.launch.mode = LaunchMode::one_process;
    if (bytes == 1e9) p.seconds = 1e-2;
    rows.push_back(p);
  }
  const Calibration fit = calibrate(points(rows), {.system = "dgx-a100"});
  CHECK(fit.host_held == 3);
  CHECK(fit.points == 1);
  CHECK(fit.host_launch == Approx(80e-6 / 8).epsilon(0.1));
}
