// Questions about measurements, machines and models asked from C++ as the command and Python ask them.
#include <fabricost/answers/machine.hpp>
#include <fabricost/plan/answers/models.hpp>
#include <fabricost/plan/evaluation/calibrate.hpp>
#include <fabricost/plan/evaluation/validate.hpp>
#include <fabricost/specs/load.hpp>

#include "support/message_of.hpp"

#include <catch.hpp>

#include <filesystem>
#include <memory>

using namespace fabricost::plan;
using support::message_of;

namespace {

const std::filesystem::path sources = FABRICOST_SOURCE_DIR;
const std::string measured_log = sources / "data" / "measurements" / "dgx-h100-all-reduce.txt";
const std::string kernels = sources / "tests" / "robustness" / "fuzz" / "corpus" / "workload" / "ops.csv";

[[nodiscard]] ValidateFilesRequest of_log() {
  ValidateFilesRequest out;
  out.samples = {{measured_log, {}}};
  out.system.name = "dgx-h100";
  return out;
}

}  // namespace

TEST_CASE("what is missing is asked for in the names of fields") {
  CHECK(message_of([] { (void)answer(ShowRequest{}); }).starts_with("which machine?"));
  CHECK(message_of([] { (void)answer(ValidateRequest{}); }).starts_with("which measurements?"));
  CHECK(message_of([] { (void)answer(CalibrateRequest{}); }).starts_with("from which measurements?"));
  ModelsRequest all;
  all.sequence = 8192;
  CHECK(message_of([&] { (void)answer(all); }) == "sequence is for one model: add model");
}

TEST_CASE("a machine is a name or a value, and prices the same points alike") {
  const auto named = std::get<ValidationAnswer>(answer(of_log()));
  ValidateFilesRequest given = of_log();
  given.system = {"", std::make_shared<const System>(load_system("dgx-h100"))};
  const auto valued = std::get<ValidationAnswer>(answer(given));
  REQUIRE(named.points > 10);
  CHECK(static_cast<const Errors&>(named) == static_cast<const Errors&>(valued));
  CHECK(named.worst_error() >= named.median_error());
  CHECK(named.by_system().front().first == "dgx-h100");
}

TEST_CASE("a launch and a release of NCCL that no file says are taken from the request, and those that it says are kept") {
  Point p;
  p.system = SharedText{"dgx-a100"};
  p.gpus_per_node = 8;
  p.bytes = 1048576;
  p.seconds = 75e-6;
  const auto predicted = [](const Point& point, std::optional<LaunchMode> launch, std::optional<Inference> library) {
    ValidateRequest r;
    r.samples = {{"", {point}}};
    r.launch = launch;
    r.library = library;
    return answer(r).report.points.at(0).prediction;
  };
  const Inference old = engine_named("nccl-2.12", "library"), now = engine_named("nccl-2.30", "library");
  CHECK(predicted(p, {}, old).seconds > 1.5 * predicted(p, {}, now).seconds);
  CHECK(name(predicted(p, {}, old).made_from.fabric.tuner) == "nccl-2.12");
  CHECK(predicted(p, LaunchMode::one_process, now).seconds > predicted(p, {}, now).seconds);
  p.library_version = SharedText{"2.30.3"};
  p.launch = {.mode = LaunchMode::threads, .gpus = 8};
  CHECK(predicted(p, LaunchMode::xla, old).seconds == predicted(p, {}, {}).seconds);
  p.library = SharedText{"rccl"};
  p.library_version = SharedText{};
  CHECK(predicted(p, {}, old).seconds == predicted(p, {}, now).seconds);
  const std::string refusal = message_of([&] { (void)predicted(p, {}, Inference{.library = InferenceLibrary::vllm}); });
  CHECK(refusal.find("a release of NCCL") != std::string::npos);
}

TEST_CASE("points in memory take what they do not say from the request") {
  const Points read_once = read(of_log().samples, {.system = "dgx-h100"}, false);
  ValidateRequest request;
  request.samples = {{"", read_once.points}};
  for (Point& p : request.samples.front().points) p.system = SharedText{};
  request.system.name = "dgx-h100";
  const auto from_file = std::get<ValidationAnswer>(answer(of_log()));
  CHECK(answer(request).total() == from_file.total());
}

TEST_CASE("the files' columns say which question is asked, and what it has no use for is refused") {
  ValidateFilesRequest tables;
  tables.samples = {{kernels, {}}};
  CHECK(std::holds_alternative<WorkloadsAnswer>(answer(tables)));
  tables.choice = Choice::Rule::nccl;
  CHECK(message_of([&] { (void)answer(tables); }) == "choice has no meaning for tables of workloads; leave it out");
  CalibrateFilesRequest fit;
  fit.samples = {{kernels, {}}};
  fit.system.name = "dgx-h100";
  CHECK(message_of([&] { (void)answer(fit); }) ==
        "system is for points of collectives; leave it out of tables of kernels");
}
