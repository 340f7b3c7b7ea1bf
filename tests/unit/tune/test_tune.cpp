// The advice of tune, computed again one size at a time.
#include <fabricost/choice/candidates.hpp>
#include <fabricost/predict/fabric_of.hpp>
#include <fabricost/predict/predict.hpp>
#include <fabricost/specs/load.hpp>
#include <fabricost/tune/tune.hpp>

#include "support/message_of.hpp"
#include "support/systems.hpp"

#include <catch.hpp>

#include <cmath>
#include <random>

using namespace fabricost::core;

namespace {

constexpr double MiB = 1048576;

Prediction asked(const System& system, const TuneShape& shape, Collective c, DataType dtype, double bytes, const Choice& choice = {}) {
  return predict(system, {.collective = c, .bytes = Bytes::from_value(bytes), .ranks = shape.ranks, .nodes = shape.nodes, .dtype = dtype},
                 choice);
}
double half_width(const Prediction& p) { return 0.5 * std::log(p.high / p.low); }

const SlowRange* range_at(const TuneReport& report, Collective c, double bytes) {
  for (const SlowRange& r : report.ranges)
    if (r.collective == c && r.first <= bytes && bytes <= r.last) return &r;
  return nullptr;
}

std::vector<std::pair<System, TuneOptions>> machines() {
  const auto nodes = [](std::vector<int> n) {
    TuneOptions out;
    out.nodes = std::move(n);
    return out;
  };
  const auto ranks = [](int n) {
    TuneOptions out;
    out.ranks = n;
    return out;
  };
  TuneOptions bytes;
  bytes.dtype = DataType::int8;
  std::vector<std::pair<System, TuneOptions>> out{{load_system("dgx-a100"), ranks(4)},        {load_system("dgx-h100"), {}},
                                                  {load_system("dgx-b200"), bytes},           {load_system("l40s-pcie"), {}},
                                                  {load_system("alps-gh200"), nodes({8})},    {load_system("aws-p5"), nodes({4})},
                                                  {systems::grace_hopper_quad(), nodes({3})}, {systems::rack(), {}}};
  System sharp = systems::hopper_box();
  sharp.tiers[1].sharp = true;
  out.emplace_back(std::move(sharp), nodes({16}));
  return out;
}

}  // namespace

TEST_CASE("over a slow range NCCL runs the named pair and the other is faster, at every size", "[tune]") {
  std::mt19937_64 random(20240607);
  int ranges = 0;
  for (const auto& [system, options] : machines()) {
    const TuneReport report = tune(system, options);
    for (const SlowRange& r : report.ranges) {
      ++ranges;
      std::vector<double> sizes{r.first, r.last, r.bytes};
      for (int i = 0; i < 20; ++i) sizes.push_back(std::floor(std::uniform_real_distribution<>{r.first, r.last + 1}(random)));
      for (const double bytes : sizes) {
        const TuneShape shape{r.nodes, r.ranks};
        const Prediction now = asked(system, shape, r.collective, report.dtype, bytes);
        const Prediction better =
            asked(system, shape, r.collective, report.dtype, bytes, {.algorithm = r.better.algorithm, .protocol = r.better.protocol});
        INFO(system.name << " " << name(r.collective) << " " << bytes << " of " << r.first << " to " << r.last);
        REQUIRE(now.ran == r.now);
        REQUIRE(better.ran == r.better);
        REQUIRE(std::log(now.seconds / better.seconds) > 0.0499);
        if (r.sure) REQUIRE(std::log(now.seconds / better.seconds) > std::hypot(half_width(now), half_width(better)) * (1 - 1e-9));
        if (bytes == r.bytes) {
          CHECK(now.seconds == Approx(r.now_seconds));
          CHECK(better.seconds == Approx(r.better_seconds));
        }
        CHECK(now.seconds - better.seconds <= r.lost_seconds() * (1 + 0.05));  // most is lost near where it says
      }
    }
  }
  CHECK(ranges > 40);
}

TEST_CASE("outside of the ranges no measured pair is faster by more than a twentieth", "[tune]") {
  for (const auto& [system, options] : machines()) {
    const TuneReport report = tune(system, options);
    for (const TuneShape& shape : report.shapes)
      for (const Collective c : tuned_collectives)
        for (double bytes = tune_smallest; bytes <= tune_largest; bytes = std::floor(bytes * 1.07)) {
          if (range_at(report, c, bytes) != nullptr) continue;
          const Prediction now = asked(system, shape, c, report.dtype, bytes);
          for (const Protocol p : {Protocol::ll, Protocol::ll128, Protocol::simple}) {
            // rings run everywhere and are measured everywhere
            if (p == Protocol::ll128 && !has_ll128(fabric_of(system, now.operation))) continue;
            const Prediction ring = asked(system, shape, c, report.dtype, bytes, {.algorithm = Algorithm::ring, .protocol = p});
            if (std::log(now.seconds / ring.seconds) > 0.0501)
              FAIL_CHECK(system.name << " " << name(c) << " " << bytes << ": ring " << name(p) << " saves "
                                     << 100 * (1 - ring.seconds / now.seconds) << " % and no range says so");
          }
        }
  }
}

TEST_CASE("ranges are whole bytes, do not overlap and stay within 1 KiB and 8 GiB", "[tune]") {
  for (const auto& [system, options] : machines()) {
    const TuneReport report = tune(system, options);
    for (const SlowRange& a : report.ranges) {
      CHECK(a.first == std::floor(a.first));
      CHECK(a.last == std::floor(a.last));
      CHECK((tune_smallest <= a.first && a.first <= a.last && a.last <= tune_largest));
      CHECK((a.first <= a.bytes && a.bytes <= a.last));
      for (const SlowRange& b : report.ranges)
        if (&a != &b && a.collective == b.collective && a.nodes == b.nodes) CHECK((a.last < b.first || b.last < a.first));
    }
  }
}

TEST_CASE("sure ranges come first and those that lose most time before others", "[tune]") {
  const TuneReport report = tune(load_system("aws-p5"), {.nodes = {2, 4, 8}, .collective = {}});
  REQUIRE(report.ranges.size() > 4);
  for (std::size_t i = 1; i < report.ranges.size(); ++i) {
    const SlowRange &a = report.ranges[i - 1], &b = report.ranges[i];
    CHECK((a.sure || !b.sure));
    if (a.sure == b.sure) CHECK(a.lost_seconds() >= b.lost_seconds());
  }
  CHECK(report.shapes == std::vector<TuneShape>{{2, 16}, {4, 32}, {8, 64}});
}

TEST_CASE("the cliffs NCCL is known for are found", "[tune]") {
  // measured: 23 to 53 us from 1 to 2 MiB on 4 A100, 44 to 102 us from 8 to 16 MiB on 8 B200
  TuneOptions four;
  four.ranks = 4;
  four.collective = Collective::all_gather;
  const TuneReport ampere = tune(load_system("dgx-a100"), four);
  const SlowRange* two_mebibytes = range_at(ampere, Collective::all_gather, 2 * MiB);
  REQUIRE(two_mebibytes != nullptr);
  CHECK(two_mebibytes->sure);
  CHECK(two_mebibytes->now == Candidate{Algorithm::ring, Protocol::simple});
  CHECK(two_mebibytes->lost_share() > 0.3);
  CHECK(range_at(ampere, Collective::all_gather, 1 * MiB) == nullptr);

  const TuneReport blackwell = tune(load_system("dgx-b200"));
  for (const Collective c : {Collective::all_gather, Collective::reduce_scatter}) {
    const SlowRange* sixteen = range_at(blackwell, c, 16 * MiB);
    REQUIRE(sixteen != nullptr);
    CHECK(sixteen->sure);
    CHECK(sixteen->better == Candidate{Algorithm::ring, Protocol::ll128});
    CHECK(sixteen->lost_share() > 0.35);
  }
}

TEST_CASE("only what NCCL can be made to run is recommended", "[tune]") {
  for (const auto& [system, options] : machines()) {
    const TuneReport report = tune(system, options);
    for (const SlowRange& r : report.ranges) {
      INFO(system.name << " " << name(r.collective) << " " << name(r.better.algorithm));
      CHECK((r.better.algorithm == Algorithm::ring || r.better.algorithm == Algorithm::tree || r.better.algorithm == Algorithm::nvls ||
             r.better.algorithm == Algorithm::nvls_tree || r.better.algorithm == Algorithm::collnet_direct ||
             r.better.algorithm == Algorithm::collnet_chain));  // PAT has no fit
      if (r.better.algorithm == Algorithm::collnet_chain) CHECK(r.collective == Collective::all_reduce);
      if (r.better.algorithm == Algorithm::tree) CHECK((r.collective == Collective::all_reduce && r.nodes > 1));
      if (r.better.algorithm == Algorithm::nvls) CHECK((r.collective == Collective::all_reduce && r.ranks >= 8));
      CHECK_FALSE(is_exchange(r.collective));
    }
  }
}

TEST_CASE("pairs that no fit covers are mentioned", "[tune]") {
  const auto mentions = [](const TuneReport& report, Collective c, Algorithm a) {
    for (const UnmeasuredPair& p : report.unmeasured)
      if (p.collective == c && p.candidate.algorithm == a) return true;
    return false;
  };
  const TuneReport hopper = tune(load_system("dgx-h100"));
  CHECK(mentions(hopper, Collective::all_gather, Algorithm::nvls));
  CHECK(mentions(hopper, Collective::all_reduce, Algorithm::tree));
  CHECK_FALSE(mentions(hopper, Collective::all_reduce, Algorithm::nvls));
  CHECK_FALSE(mentions(hopper, Collective::broadcast, Algorithm::tree));  // NCCL has none
  TuneOptions sixteen;
  sixteen.nodes = {16};
  System sharp = systems::hopper_box();
  sharp.tiers[1].sharp = true;
  CHECK_FALSE(mentions(tune(sharp, sixteen), Collective::all_reduce, Algorithm::collnet_chain));  // measured on two sites
  CHECK_FALSE(mentions(tune(systems::hopper_box(), sixteen), Collective::all_reduce, Algorithm::collnet_chain));
  CHECK(mentions(tune(systems::lone_gpus(), sixteen), Collective::all_gather, Algorithm::pat));
}

TEST_CASE("a library with tables of its own is never sure", "[tune]") {
  const TuneReport report = tune(load_system("mi300x-8"));
  for (const SlowRange& r : report.ranges) CHECK_FALSE(r.sure);
  REQUIRE(report.doubts.size() >= 1);
  CHECK(support::contains(report.doubts.front(), "RCCL"));
}

TEST_CASE("less known machines lose less surely", "[tune]") {
  const auto sure = [](const TuneReport& report) {
    return std::count_if(report.ranges.begin(), report.ranges.end(), [](const SlowRange& r) { return r.sure; });
  };
  const auto known = sure(tune(load_system("dgx-b200")));
  const auto datasheet = sure(tune(load_system("dgx-b200", {}, "none")));
  CHECK(known > datasheet);
}

TEST_CASE("what cannot be tuned is refused with the reason", "[tune]") {
  const auto refused = [](const System& system, const TuneOptions& options, std::string_view reason) {
    const std::string message = support::message_of([&] { return tune(system, options); });
    INFO(message);
    CHECK(support::contains(message, reason));
  };
  TuneOptions options;
  options.collective = Collective::all_to_all;
  refused(systems::hopper_box(), options, "point to point");
  options = {};
  options.ranks = 9;
  options.nodes = {1};
  refused(systems::hopper_box(), options, "do not fit");
  options.ranks = 1;
  refused(systems::hopper_box(), options, "one rank");
  System other = systems::hopper_box();
  other.library = Library::oneccl;
  refused(other, {}, "oneccl");
}

TEST_CASE("the same nodes asked for twice are answered once", "[tune]") {
  const TuneReport once = tune(load_system("aws-p5"), {.nodes = {2}, .collective = {}});
  const TuneReport twice = tune(load_system("aws-p5"), {.nodes = {2, 2}, .collective = {}});
  CHECK(once.ranges.size() == twice.ranges.size());
  CHECK(twice.shapes.size() == 1);
}
