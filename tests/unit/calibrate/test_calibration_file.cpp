// Files that `calibrate` writes are what load_system reads.
#include "synthetic.hpp"

#include "unit/specs/files.hpp"
#include "support/locales.hpp"
#include "support/skipped.hpp"

#include <fabricost/calibrate/calibrate.hpp>
#include <fabricost/specs/data_directory.hpp>
#include <fabricost/specs/load.hpp>

#include "catch.hpp"

#include <clocale>

using namespace fabricost::core;
using namespace synthetic;
using specs::Folder;
using specs::Outcome;
using specs::outcome_of;

namespace {

/// A fit of a machine between the shipped constants and their neighbours; several parts where it has NICs and `nodes` are asked for.
Calibration fitted(const std::string& called, const Grid& grid, std::uint64_t salt) {
  Random random{support::seed * 3 + salt};
  System truth = load_system(called);
  const bool over_pcie = truth.tier(TierRole::scale_up)->kind == TierKind::host;
  Block block = block_of(over_pcie ? ConstantSet::pcie : ConstantSet::scale_up, truth.constants, 0.3, 0.1, 0.5);
  truth.constants = drawn(block, random);
  if (grid.nodes.back() > 1) {
    block = block_of(ConstantSet::transport, truth.constants, 0.5, 0.15, 0.5);
    truth.constants = drawn(block, random);
  }
  return calibrate(points_of(truth, called, grid, random), {.system = called});
}

void check_same(const System& read, const System& applied, const Grid& grid) {
  CHECK(read.constants.basis == applied.constants.basis);
  CHECK(read.constants.transport_basis == applied.constants.transport_basis);
  CHECK(read.constants.transport_known == applied.constants.transport_known);
  CHECK(read.constants.smallest == Approx(applied.constants.smallest).epsilon(1e-6));
  CHECK(read.constants.largest == Approx(applied.constants.largest).epsilon(1e-6));
  CHECK(read.constants.fewest_ranks == applied.constants.fewest_ranks);
  CHECK(read.constants.most_ranks == applied.constants.most_ranks);
  CHECK(read.constants.most_nodes == applied.constants.most_nodes);
  double worst = 0, widest = 0;
  each_question(grid, applied, [&](const Operation& op) {
    const Prediction a = predict(applied, op), b = predict(read, op);
    CHECK(a.basis == b.basis);
    worst = std::max(worst, std::fabs(a.seconds / b.seconds - 1));
    widest = std::max(widest, std::fabs(std::log(a.high / a.seconds) / std::log(b.high / b.seconds) - 1));
  });
  INFO("predictions differ by " << worst << ", intervals by " << widest);
  CHECK(worst < 1e-5);
  CHECK(widest < 1e-2);  // three digits in the file
}

}  // namespace

TEST_CASE("a written calibration predicts what the fit predicts", "[calibrate]") {
  struct Case {
    std::string system;
    Grid measured, asked;
    std::size_t parts;
  };
  const std::vector<double> few = sizes(512, 1 << 29, 4);
  const std::vector<Case> cases{
      {"dgx-a100", {.bytes = few}, {.bytes = sizes(8, 4e9, 3)}, 1},
      {"dgx-h100", {.bytes = few}, {.types = {DataType::int8}}, 1},
      {"dgx-h100", {.ops = {Collective::all_gather}, .ranks = {8}, .bytes = {2048}}, {}, 1},  // one point
      {"l40s-pcie", {.bytes = few}, {}, 1},
      {"aws-p5", {.nodes = {1, 2, 4}, .bytes = few}, {.nodes = {1, 2, 4, 16}}, 2},
      {"dgx-a100-hdr", {.nodes = {2, 4}, .bytes = few}, {.nodes = {2, 4, 8}}, 1},
  };
  std::uint64_t salt = 0;
  for (const Case& c : cases) {
    INFO(c.system << ", " << c.parts << " parts");
    const Calibration fit = fitted(c.system, c.measured, ++salt);
    CHECK(fit.sets.size() == c.parts);
    const Folder folder;
    const std::string file = folder.write("mine.yaml", calibration_yaml(fit, "mine", "2026-01-31", "a test"));
    System applied = load_system(c.system);
    apply_calibration(applied, fit);
    const System read = load_system(c.system, {}, file);
    if (c.parts == 2 || c.system != "dgx-a100-hdr") CHECK(read.constants.name == "mine");
    check_same(read, applied, c.asked);
  }
}

TEST_CASE("a calibration is of the operations it was fitted on, in memory and as a file", "[calibrate]") {
  const Folder folder;
  const Calibration fit = fitted("aws-p5", {.ops = {Collective::all_reduce}, .bytes = sizes(512, 1 << 29, 4)}, 70);
  REQUIRE(fit.sets[0].fitted_on.size() == 1);
  CHECK(fit.sets[0].fitted_on[0].system == "aws-p5");
  CHECK(fit.sets[0].fitted_on[0].domain == 8);
  CHECK(fit.sets[0].fitted_on[0].measured == 1U << static_cast<unsigned>(Collective::all_reduce));
  System applied = load_system("aws-p5");
  apply_calibration(applied, fit);
  const System read = load_system("aws-p5", {}, folder.write("mine.yaml", calibration_yaml(fit, "mine", "2026-01-31", "a test")));
  CHECK(read.constants.operations == applied.constants.operations);
  for (const System& s : {applied, read}) {
    const auto basis = [&](Collective op) {
      return predict(s, Operation{.collective = op, .bytes = Bytes::from_value(1 << 20), .ranks = 8}).basis;
    };
    CHECK(basis(Collective::all_reduce) == Basis::calibrated);
    CHECK(basis(Collective::all_to_all) == Basis::sibling);
  }
}

TEST_CASE("what was measured on relatives stays measured when one operation of a machine is fitted", "[calibrate]") {
  const Folder folder;
  const System relative = load_system("runpod-a100-pair");
  const Calibration fit = fitted("runpod-a100-pair", {.ops = {Collective::all_reduce}, .ranks = {2}}, 71);
  System applied = relative;
  apply_calibration(applied, fit);
  const System read = load_system("runpod-a100-pair", {}, folder.write("mine.yaml", calibration_yaml(fit, "mine", "2026-01-31", "a test")));
  CHECK(read.constants.operations == applied.constants.operations);
  const auto width = [](const System& s, Collective of) {
    const Prediction p = predict(s, Operation{.collective = of, .bytes = Bytes::from_value(1 << 20), .ranks = 2});
    return std::log(p.high / p.low);
  };
  for (const Collective op : four_operations) {
    INFO(name(op));
    CHECK(width(applied, op) < 2 * width(relative, op));
  }
  CHECK(load_system("runpod-a100-pair", {}, "none").constants.operations == MeasuredOperations{});
}

TEST_CASE("a calibration of another kind of machine is refused with both names", "[calibrate]") {
  const Folder folder;
  const Calibration fit = fitted("dgx-h100", {.ops = {Collective::all_gather}, .ranks = {8}, .bytes = {2048}}, 72);
  const std::string file = folder.write("mine.yaml", calibration_yaml(fit, "mine", "2026-01-31", "a test"));
  for (const char* other : {"mi300x-8", "dgx-a100", "l40s-pcie"}) {
    const Outcome outcome = outcome_of([&] { (void)load_system(other, {}, file); });
    INFO(outcome.text);
    CHECK(outcome.refused());
    CHECK((outcome.says("fitted to dgx-h100") && outcome.says(other)));
  }
  CHECK(load_system("aws-p5", {}, file).constants.basis == Basis::sibling);
  CHECK(load_system("dgx-h100", std::vector<std::string>{"gpu=b200-sxm", "nvlink.link=nvlink-5"}, file).constants.name != "mine");
  CHECK(load_system("dgx-b200", {}, "scale-up-hopper").constants.name == "scale-up-hopper");  // asked for by the name of what it is of
  const std::string older = (data_directory() / "calibrations" / "transport-rccl-roce-rocm6.yaml").string();  // older releases' of mi300x-8
  CHECK_NOTHROW(load_system("mi300x-8", {}, older));
}

TEST_CASE("a machine described in a file is calibrated under its own name", "[calibrate]") {
  const Folder folder;
  const std::string box = folder.write("somewhere/box.yaml", "extends: dgx-h100\nname: my-box\n");
  Random random{support::seed + 60};
  const Points measured = points_of(load_system(box), "my-box", {.bytes = sizes(512, 1 << 29, 4)}, random);
  Points by_path = measured;
  for (Point& p : by_path.points) p.system = box;
  for (const Points& points : {measured, by_path}) {
    const Calibration fit = calibrate(points, {.system = box});
    CHECK(fit.system == "my-box");
    const std::string file = folder.write("mine.yaml", calibration_yaml(fit, "mine", "2026-01-31", "a test"));
    CHECK(load_system(box, {}, file).constants.basis == Basis::calibrated);
    CHECK(load_system("dgx-h100", {}, file).constants.basis == Basis::sibling);
  }
}

TEST_CASE("what was measured is quoted safely", "[calibrate]") {
  const Calibration fit = fitted("dgx-h100", {.ranks = {8}, .bytes = {2048, 1 << 20}}, 80);
  const Folder folder;
  const std::string origin = "a \"quoted\" \\ file: {with} [odd] # characters\n and a line";
  const std::string file = folder.write("mine.yaml", calibration_yaml(fit, "mine", "2026-01-31", origin));
  CHECK(load_system("dgx-h100", {}, file).constants.source == origin);
}
