#include "files.hpp"

#include "support/random_cases.hpp"

#include <fmt/format.h>

#include <fabricost/answers/predict.hpp>
#include <fabricost/predict/predict.hpp>
#include <fabricost/specs/load.hpp>
#include <fabricost/validation/validate.hpp>

#include <catch.hpp>

#include <cmath>
#include <optional>
#include <utility>

using namespace fabricost::core;
using namespace fabricost::test;

namespace {

Point measured(const std::string& system, double bytes, double seconds, int nodes = 1, int gpus = 8) {
  Point p;
  p.system = system;
  p.nodes = nodes;
  p.gpus_per_node = gpus;
  p.bytes = bytes;
  p.seconds = seconds;
  p.library = "nccl";
  return p;
}

double predicted(const std::string& system, double bytes, const std::vector<std::string>& overrides = {}, int nodes = 1,
                 Choice choice = {}) {
  return predict(load_system(system, overrides), AllReduce{.bytes = Bytes::from_value(bytes), .ranks = 8 * nodes, .nodes = nodes}, choice)
      .seconds;
}

}  // namespace

TEST_CASE("errors are those of predicted over measured, by hand") {
  const double t = predicted("dgx-h100", 1 << 20);
  Points points;
  points.points = {measured("dgx-h100", 1 << 20, t), measured("dgx-h100", 1 << 20, t / 1.2, 1, 8), measured("dgx-h100", 1 << 20, t / 2),
                   measured("dgx-h100", 1 << 20, t * 2)};
  const ValidationReport report = validate(points, {.raw = true});
  REQUIRE(report.total.points == 4);
  CHECK(report.total.mape == Approx((0 + 20 + 100 + 50) / 4.0));
  CHECK(report.total.median_ape == Approx(35));
  CHECK(report.total.p90_abs_log2 == Approx(1));
  CHECK(report.total.within_10pct == Approx(0.25));
  CHECK(report.total.within_25pct == Approx(0.5));
  CHECK(report.total.interval_coverage < 1);
}

TEST_CASE("a release that a point states rules as one that is asked for, inside nodes and between") {
  support::Random random(support::seed);
  for (const auto& [name, gpus] : {std::pair{"abci-v100-edr", 4}, {"dgx-a100-hdr", 8}, {"alps-gh200", 4}, {"aws-p5", 8}, {"hgx-h100-ndr", 1},
                                   {"together-b200-use3a", 8}, {"coreweave-gb200-nvl72", 4}})
    for (const int release : {8, 16, 18, 22, 27, 31}) {
      const Collective op = random.of<Collective>({Collective::all_reduce, Collective::all_gather, Collective::all_to_all, Collective::broadcast});
      Point p = measured(name, std::floor(random.scaled(1e3, 1e9)) * 16 * gpus, 1, random.of<int>({1, 2, 4, 16, 36}), gpus);
      if (p.ranks() < 2) p.nodes = 2;
      p.collective = op;
      p.library_version = fmt::format("2.{}.3", release);
      PredictRequest asked{.system = {name}, .operation = op, .nodes = p.nodes, .ranks = p.ranks(), .bytes = Bytes::from_value(p.bytes),
                           .library = engine_named(fmt::format("nccl-2.{}", release), "library")};
      if (p.nodes > 1) asked.launch = LaunchMode::queued;
      Points repeated;
      repeated.points = {p, p};
      CAPTURE(name, gpus, p.nodes, p.bytes, release, static_cast<int>(op));
      std::optional<PredictAnswer> answered;
      try {
        answered.emplace(answer(asked));
      } catch (const RequestError&) {
        continue;  // a release that is older than the GPU
      }
      const ValidationReport report = validate(repeated);
      REQUIRE(report.points.size() == 1);
      const Prediction& priced = report.points[0].prediction;
      CHECK(priced.made_from.fabric.nccl_release == release);
      CHECK(priced.ran == answered->ran);
      CHECK(priced.seconds == answered->seconds);
    }
}

TEST_CASE("NCCL's channels hold its own messages between nodes, not those of MPI") {
  Points points;
  points.points = {measured("hgx-h100-ndr", 1 << 30, 0.03, 2, 1), measured("hgx-h100-ndr", 1 << 30, 0.03, 2, 1)};
  for (Point& p : points.points) p.collective = Collective::send_recv, p.path = Path::nic;
  points.points[1].library = "openmpi";
  const ValidationReport report = validate(points);
  REQUIRE(report.total.points == 2);
  const System system = load_system("hgx-h100-ndr");
  const Prediction nccl = predict(system, SendRecv{.bytes = Bytes::from_value(1 << 30), .path = Path::nic, .ranks = 2});
  for (const ComparedPoint& p : report.points)
    if (p.point.library == "nccl")
      CHECK(p.prediction.seconds == nccl.seconds);
    else
      CHECK(p.prediction.seconds == Approx(nccl.seconds));  // four channels carry what the NIC does
  points.points[0].path.reset();  // round ten nodes of eight: one channel a peer
  points.points[0].nodes = 10, points.points[0].gpus_per_node = 8;
  const ValidationReport round = validate(points);
  REQUIRE(round.total.points == 2);
  CHECK(round.points[0].prediction.seconds > 2 * round.points[1].prediction.seconds);
}

TEST_CASE("a few bytes by MPI or verbs take the NIC's access latency, not a step of NCCL") {
  Points points;
  for (const char* tool : {"osu", "perftest"})
    for (const double bytes : {8.0, double{1 << 29}}) {
      Point p = measured("dgx-a100-hdr", bytes, 3e-6 + bytes / 24e9, 2, 1);
      p.collective = Collective::send_recv, p.path = Path::nic, p.library = tool;
      points.points.push_back(p);
    }
  const System system = load_system("dgx-a100-hdr");
  const ValidationReport report = validate(points);
  REQUIRE(report.total.points == 4);
  for (const ComparedPoint& p : report.points) {
    CHECK((p.prediction.low < p.point.seconds && p.point.seconds < p.prediction.high));
    double sum = 0;
    for (const Term& term : p.prediction.terms) sum += term.time.value();
    CHECK(sum == Approx(p.prediction.seconds));
    if (p.point.bytes == 8) CHECK(p.prediction.seconds == Approx(system.tier("nic")->latency.value.value()).epsilon(0.01));
  }
}

TEST_CASE("groups are by operation, system, size and library, and their points add up") {
  Points points;
  points.points = {measured("dgx-h100", 1024, 1e-5), measured("dgx-h100", 65536, 1e-5), measured("dgx-a100", 1048576, 1e-5),
                   measured("dgx-a100", 64e6, 1e-3)};
  points.points[1].collective = Collective::all_gather;
  points.points[2].library = "";
  const ValidationReport report = validate(points);
  REQUIRE(report.by_size.size() == 3);
  CHECK(report.by_size[0].name == "<=64 KiB");
  CHECK(report.by_size[0].errors.points == 2);
  CHECK(report.by_size[1].name == "<=1 MiB");
  CHECK(report.by_size[2].name == "above");
  CHECK(report.by_operation.front().name == "all_reduce");
  CHECK(report.by_system.size() == 2);
  CHECK(report.by_library.back().name == "unknown");
}

TEST_CASE("what cannot be priced is counted with its reason, repeats included") {
  Points points;
  points.skip("time_us is 0", 2);
  points.points = {measured("dgx-h100", 1024, 1e-5),        measured("no-such-machine", 1024, 1e-5),
                   measured("no-such-machine", 1024, 2e-5), measured("dgx-h100", 1024, 1e-5, 1, 16),
                   measured("dgx-h100", 1024, 1e-5, 1, 1),  measured("dgx-h100", 2e18, 1)};
  const ValidationReport report = validate(points);
  CHECK(report.total.points == 1);
  int rows = 0;
  for (const Skipped& s : report.skipped) rows += s.rows;
  CHECK(rows == 7);
}

TEST_CASE("an algorithm or protocol a point names is forced") {
  Points points;
  points.points = {measured("dgx-h100", 64 << 20, 1e-3)};
  points.points[0].algorithm = Algorithm::ring;
  points.points[0].protocol = Protocol::ll;
  const ValidationReport report = validate(points);
  REQUIRE(report.total.points == 1);
  CHECK(report.points[0].prediction.ran == Candidate{Algorithm::ring, Protocol::ll});
  points.points[0].algorithm = Algorithm::collnet_chain;  // no network here reduces
  CHECK(validate(points).skipped.size() == 1);
}

TEST_CASE("GPUDirect and NICs that a point knows override the machine's") {
  Points points;
  points.points = {measured("dgx-h100", 256e6, 1e-3, 4), measured("dgx-h100", 256e6, 1e-3, 4), measured("dgx-h100", 256e6, 1e-3, 4),
                   measured("dgx-h100", 256e6, 1e-3, 4)};
  points.points[1].gpu_direct = false;
  points.points[2].nics_per_node = 4;
  points.points[3].nics_per_node = 16;  // twice as many of half the rate: the same
  points.points[3].nic_rate = units::Gbit_per_s(200);
  const ValidationReport report = validate(points, {.raw = true});
  REQUIRE(report.points.size() == 4);
  const auto time = [&](std::size_t i) { return report.points[i].prediction.seconds; };
  CHECK(time(0) == predicted("dgx-h100", 256e6, {}, 4));
  CHECK(time(1) == predicted("dgx-h100", 256e6, {"nic.gdr=false"}, 4));
  CHECK(time(1) > time(0));
  CHECK(time(2) == predicted("dgx-h100", 256e6, {"nic.endpoints=4"}, 4));
  CHECK(time(2) > time(0));
  CHECK(time(3) == time(0));
}

TEST_CASE("the log the project carries is read whole and predicted well") {
  const auto file = std::filesystem::path(FABRICOST_SOURCE_DIR) / "data" / "measurements" / "dgx-h100-all-reduce.txt";
  const Points points = read_points(file, {.system = "dgx-h100"});
  CHECK(points.points.size() == 64);
  CHECK(points.skipped.empty());
  const ValidationReport report = validate(points);
  CHECK(report.total.points == 32);
  CHECK(report.total.median_ape < 5);
}

TEST_CASE("the interval score is the width in log time, and twenty times how far a point lies outside") {
  const auto score = [](const std::vector<Outcome>& all) { return summarise(all).interval_score; };
  const double width = std::log(2.0 / 0.5);
  CHECK(score({{.measured = 1, .predicted = 1, .low = 0.5, .high = 2}}) == Approx(width));
  CHECK(score({{.measured = 4, .predicted = 1, .low = 0.5, .high = 2}}) == Approx(width + 20 * std::log(2)));
  CHECK(score({{.measured = 0.25, .predicted = 1, .low = 0.5, .high = 2}}) == Approx(width + 20 * std::log(2)));
  CHECK(score({{.measured = 1, .predicted = 1, .low = 0.5, .high = 2}, {.measured = 1, .predicted = 1}}) == Approx(width));
  CHECK(score({}) == 0);
}

TEST_CASE("a point is predicted as it was launched and with the release that ran") {
  const std::string columns = "source,system,nodes,gpus_per_node,operation,bytes,time_us,library,library_version\n";
  const auto predicted = [&](const std::string& version, CallLaunch launch = {}) {
    Points points = points_in(columns + "run,dgx-a100,1,8,all_reduce,1048576,75,nccl," + version + "\n", {}, "points.csv");
    points.points.at(0).launch = launch;
    return validate(points).points.at(0).prediction;
  };
  CHECK(predicted("2.12.7").seconds > 1.5 * predicted("2.27.3").seconds);
  CHECK(predicted("").seconds == predicted("2.27.3").seconds);
  CHECK(predicted("").high > predicted("2.27.3").high);
  CHECK(predicted("2.27.3", {LaunchMode::one_process, 8}).seconds > predicted("2.27.3").seconds);
  const Points across = points_in(columns + "run,superpod-a100,2,8,all_reduce,1048576,75,nccl,2.12.7\n", {}, "points.csv");
  CHECK(validate(across).points.at(0).prediction.made_from.fabric.tuner == tuner_of_version(2, 12));
  // the trays of a rack are one domain
  const Points rack = points_in(columns + "run,gb200-nvl72,18,4,all_to_all,67108864,170,nccl,2.27.3\n", {}, "points.csv");
  CHECK(name(validate(rack).points.at(0).prediction.made_from.fabric.tuner) == "nccl-2.28");
}

TEST_CASE("parts of an all_to_all that are no multiple of 16 bytes are copied by elements, which takes longer") {
  const std::string columns = "source,system,nodes,gpus_per_node,operation,bytes,time_us,library,library_version\n";
  const auto seconds = [&](const std::string& operation, int ranks, long long part) {
    const std::string row = fmt::format("run,dgx-a100,1,{},{},{},75,nccl,2.12.7\n", ranks, operation, part * ranks);
    return validate(points_in(columns + row, {}, "points.csv")).points.at(0).prediction.seconds;
  };
  for (const int n : {2, 5, 7}) {
    INFO(n << " ranks");
    CHECK(seconds("all_to_all", n, 1 << 20) < 1e-3);
    CHECK(seconds("all_to_all", n, (1 << 20) + 16) < 1e-3);
    for (const int off : {1, 4, 8, 12}) CHECK(seconds("all_to_all", n, (1 << 20) + off) > 3e-3);
    CHECK(seconds("all_gather", n, (1 << 20) + 4) < 1e-3);
  }
  // 32 channels for all peers: no more than 8 GB/s of a rank
  CHECK(seconds("all_to_all", 7, (1 << 28) + 4) == Approx((1 << 28) * 6 / 7.7e9).epsilon(0.1));
}

TEST_CASE("the interval of an exchange by an unknown release holds what both of its protocols take") {
  const std::string columns = "source,system,nodes,gpus_per_node,operation,bytes,time_us,library,library_version\n";
  const auto predicted = [&](const std::string& version) {
    const Points rack = points_in(columns + "run,gb200-nvl72,8,4,all_to_all,16777216,124.5,nccl," + version + "\n", {}, "points.csv");
    return validate(rack).points.at(0).prediction;
  };
  const Prediction older = predicted("2.28.9"), newer = predicted("2.29.2"), unknown = predicted("");
  CHECK(older.ran.protocol == Protocol::ll);
  CHECK(newer.ran.protocol == Protocol::simple);
  CHECK(older.seconds > 1.5 * newer.seconds);
  CHECK(unknown.seconds == Approx(newer.seconds));
  CHECK(unknown.low <= newer.seconds);
  CHECK(unknown.high >= older.seconds);
  CHECK(newer.high < older.seconds);
}

TEST_CASE("a measured send_recv has the channels of its communicator") {
  const std::string columns = "source,system,nodes,gpus_per_node,operation,bytes,time_us,library,library_version\n";
  const auto seconds = [&](int gpus) {
    const std::string row = "run,dgx-h100,1," + std::to_string(gpus) + ",send_recv,67108864,400,nccl,2.29.2\n";
    return validate(points_in(columns + row, {}, "points.csv")).points.at(0).prediction.seconds;
  };
  CHECK(seconds(8) > 1.7 * seconds(4));  // 4 channels of a peer, 8
  CHECK(seconds(4) > 1.2 * seconds(2));
}

TEST_CASE("a run between nodes with RCCL of ROCm 6 is priced as its transport, later ones and unknown ones as RCCL of today") {
  const auto priced = [](const char* library, const char* version, int nodes) {
    Point p = measured("mi300x-8", 1024, 1e-4, nodes);
    p.library = library;
    p.library_version = version;
    Points points;
    points.points = {p};
    return validate(points).points.front().prediction.seconds;
  };
  const double today = priced("rccl", "", 2), old = priced("rccl", "2.22.3", 2);
  CHECK(old > 3 * today);
  CHECK(old == Approx(predicted("mi300x-8", 1024, {"tiers.nic.transport=rccl-roce-rocm6"}, 2, {.launch = {.mode = LaunchMode::queued}})));
  CHECK(priced("rccl", "2.26.6", 2) == today);
  CHECK(priced("rccl", "2.22.3", 1) == priced("rccl", "2.26.6", 1));
}
