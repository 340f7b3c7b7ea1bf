// Questions asked from C++ as the command and Python ask them: machines, machines read from files, logs.
#include <fabricost/answers/systems.hpp>
#include <fabricost/fields/field.hpp>
#include <fabricost/observe/answers/topo.hpp>
#include <fabricost/observe/diagnose/diagnose.hpp>
#include <fabricost/plan/answers/tune.hpp>

#include "support/message_of.hpp"

#include <catch.hpp>

#include <algorithm>
#include <filesystem>
#include <memory>

using namespace fabricost::observe;
using support::message_of;

namespace {

const std::filesystem::path root = FABRICOST_SOURCE_DIR;
const std::filesystem::path log_of_h100 = root / "data" / "measurements" / "dgx-h100-all-reduce.txt";

}  // namespace

TEST_CASE("a rule names fields, and its message has their own names") {
  CHECK(message_of([] { (void)answer(TuneRequest{}); }) == "which machine? Add system = NAME; fabricost machine lists the names");
  CHECK(message_of([] { (void)answer(DiagnoseRequest{}); }).starts_with("which log?"));
  CHECK(message_of([] { (void)answer(TopoRequest{}); }).starts_with("which file?"));
}

TEST_CASE("what a field holds by default need not lie in its range, anything else must") {
  CHECK_NOTHROW(check_ranges(TuneRequest{}));  // ranks = 0: all of the nodes
  TuneRequest negative;
  negative.ranks = -1;
  CHECK_THROWS_AS(check_ranges(negative), Refusal);
}

TEST_CASE("an operation that is tuned has the name of a collective; of others tune says why they are not") {
  CHECK(worded<TunedOperation>("AllGather") == TunedOperation::all_gather);
  CHECK_FALSE(worded<TunedOperation>("all_around").has_value());
  CHECK(worded<DataType>("bf16") == DataType::bfloat16);
  for (const Collective c : tuned_collectives) CHECK(worded<TunedOperation>(name(c)) == static_cast<TunedOperation>(c));
  TuneRequest request;
  request.system.name = "dgx-b200";
  request.operation = worded<TunedOperation>("all_to_all");
  CHECK(support::contains(message_of([&] { (void)answer(request); }), "point to point"));
}

TEST_CASE("tune answers for the group of ranks that a machine has by default") {
  TuneRequest request;
  request.system.name = "dgx-b200";
  request.operation = TunedOperation::all_gather;
  const TuneAnswer found = answer(request);
  REQUIRE_FALSE(found.ranges.empty());
  CHECK(found.config == plugin_config(found));
  CHECK(found.groups == std::vector<TunedGroup>{{1, 8}});
}

TEST_CASE("topo says what differs only where it was asked to compare") {
  TopoRequest request;
  request.path = root / "tests" / "robustness" / "fuzz" / "corpus" / "topology_table" / "nvidia.txt";
  const TopoAnswer alone = answer(request);
  CHECK_FALSE(alone.compared_with.has_value());
  CHECK_FALSE(alone.differences_found.has_value());
  request.compare.name = "gb200-nvl72";
  const TopoAnswer beside = answer(request);
  CHECK(beside.compared_with == "gb200-nvl72");
  REQUIRE(beside.differences_found.has_value());
  CHECK(*beside.differences_found == beside.differences);
  CHECK_FALSE(beside.differences.empty());
  CHECK(beside.yaml == alone.yaml);
}

TEST_CASE("a log is compared with a machine as it was altered") {
  DiagnoseRequest request;
  request.log = log_of_h100;
  request.system.name = "dgx-h100";
  const Diagnosis stock = answer(request);
  CHECK(stock.healthy);
  REQUIRE_FALSE(stock.sizes.empty());
  request.system.overrides = {"tiers.nvlink.bandwidth=220 GB/s per direction"};
  const Diagnosis slower = answer(request);
  CHECK(slower.compared_with() == "dgx-h100");
  CHECK(slower.sizes.back().predicted > 1.5 * stock.sizes.back().predicted);
  request.system = {"", std::make_shared<const System>(load_system("dgx-h100"))};
  CHECK(message_of([&] { (void)answer(request); }).starts_with("system: a machine that has a name"));
}

TEST_CASE("systems lists machines, then clusters") {
  const std::vector<ListedSystem> systems = answer(SystemsRequest{});
  CHECK(std::is_partitioned(systems.begin(), systems.end(), [](const ListedSystem& s) { return !s.cluster; }));
  const auto rack = std::find_if(systems.begin(), systems.end(), [](const ListedSystem& s) { return s.name == "gb200-nvl72"; });
  REQUIRE(rack != systems.end());
  CHECK(rack->domain == 72);
}
