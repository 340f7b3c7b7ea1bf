// Written files are readable by our own readers.
#include "fake_device.hpp"
#include "measure/measure.hpp"
#include "measure/files/files.hpp"
#include "measure/stock.hpp"
#include "support/folder.hpp"
#include "support/message_of.hpp"

#include <fabricost/probes/machine/this_machine.hpp>
#include <fabricost/readings/points.hpp>
#include <fabricost/validation/validate.hpp>

#include "catch.hpp"

#include <yaml-cpp/yaml.h>

#include <unistd.h>

using namespace fake;
using support::Folder;

namespace {

Measured measured_on(FakeDevice& device) {
  const Machine machine = device.describe();
  MeasureOptions options;
  options.source = "measure-node17";
  options.system = "dgx-h200";
  options.now = device.clock();
  return measure::measure(device, machine, plan(machine, 1, {.quick = true}), options);
}

std::string csv_of(const std::vector<Row>& rows) {
  std::string out = std::string{csv_header} + "\n";
  for (const Row& row : rows) out += csv_line(row);
  return out;
}

Row row_of(const Case& what, const Traits& traits = {.gpus = 8}) {
  FakeDevice device(traits);
  return measure::row_of(what, device.describe(), {1, 1}, "measure-node17", "dgx-h200");
}

}  // namespace

TEST_CASE("points read back as they were measured; probes are skipped with their reasons, none fails") {
  const Folder folder;
  FakeDevice device({.gpus = 8});
  const Measured measured = measured_on(device);
  const Points points = read_points(folder.write("measured.csv", csv_of(measured.rows)));
  std::size_t skipped = 0, at = 0;
  for (const Skipped& s : points.skipped) {
    skipped += static_cast<std::size_t>(s.rows);
    CHECK(s.reason.find("operation") == std::string::npos);
  }
  CHECK(skipped + points.points.size() == measured.rows.size());
  CHECK(skipped > 20);
  for (const Row& row : measured.rows) {
    if (!parse_collective(row.operation)) continue;
    REQUIRE(at < points.points.size());
    const Point& p = points.points[at++];
    CHECK(p.system.str() == "dgx-h200");
    CHECK(p.source.str() == "measure-node17");
    CHECK(name(p.collective) == row.operation);
    CHECK(p.bytes == static_cast<double>(row.bytes));
    CHECK(p.seconds == Approx(row.seconds).epsilon(1e-5));
    CHECK(p.ranks() == row.nodes * row.gpus_per_node);
    CHECK((p.path == row.path || (row.path == Path::gpu_host && p.path && is_host_path(*p.path))));  // the notes say which way
    CHECK(p.both_ways == row.both_ways.value_or(false));
    CHECK(p.notes.str().find("spread 0.") != std::string::npos);
  }
  CHECK(at == points.points.size());
}

TEST_CASE("every probe becomes the row that the page of the format says") {
  const Row copy = row_of({.kind = ProbeKind::peer_copy, .bytes = MiB, .pairs = {{2, 5}}});
  CHECK(copy.operation == "send_recv");
  CHECK(copy.path == Path::gpu_gpu);
  CHECK(copy.library == "copy engine");
  CHECK(copy.gpus_per_node == 2);
  CHECK(copy.both_ways == false);
  CHECK(copy.note("pairs") == "2>5");
  const Row kernel = row_of({.kind = ProbeKind::peer_write, .bytes = MiB, .pairs = {{0, 1}}, .both_ways = true});
  CHECK(kernel.library == "kernel");
  CHECK(kernel.both_ways == true);
  const Row several = row_of({.kind = ProbeKind::peer_copy, .bytes = MiB, .pairs = {{0, 1}, {1, 2}, {2, 0}}});
  CHECK(several.operation == "peer_copy");
  CHECK_FALSE(several.path.has_value());
  CHECK(several.gpus_per_node == 3);
  const Row pinned = row_of({.kind = ProbeKind::host_both_ways, .bytes = MiB, .gpu = 3});
  CHECK(pinned.operation == "send_recv");
  CHECK(pinned.path == Path::gpu_host);
  CHECK(pinned.both_ways == true);
  CHECK(pinned.note("gpu") == "3");
  const Row pageable = row_of({.kind = ProbeKind::host_to_device, .bytes = MiB, .pinned = false});
  CHECK(pageable.operation == "host_to_device");
  CHECK(pageable.note("pinned") == "no");
  const Row at_once = row_of({.kind = ProbeKind::device_to_host, .bytes = MiB, .gpus = {0, 1, 4}});
  CHECK(at_once.operation == "device_to_host");
  CHECK_FALSE(at_once.path.has_value());
  CHECK(at_once.note("gpus") == "0,1,4");
  CHECK(at_once.gpus_per_node == 3);
  const Row loads = row_of({.kind = ProbeKind::host_read, .bytes = MiB, .both_ways = true});
  CHECK(loads.operation == "host_read");
  CHECK_FALSE(loads.path.has_value());
  CHECK(loads.both_ways == true);
  const Row forced = row_of(
      {.kind = ProbeKind::collective, .bytes = MiB, .gpus = {0, 1}, .algorithm = Algorithm::ring, .protocol = Protocol::ll, .nvls = false});
  CHECK(forced.algorithm == Algorithm::ring);
  CHECK(forced.protocol == Protocol::ll);
  CHECK(forced.note("gpus") == "0,1");
  CHECK(forced.gpus_per_node == 2);
  const Row off = row_of({.kind = ProbeKind::collective, .bytes = MiB, .gpus = {0, 1, 2, 3, 4, 5, 6, 7}, .nvls = false});
  CHECK(off.note("nvls") == "off");
  CHECK(off.note("gpus").empty());
}

TEST_CASE("nodes of several processes share them evenly") {
  FakeDevice device({.gpus = 2});
  Machine machine = device.describe();
  CHECK(layout_of(machine, 4).nodes == 4);  // one process a node, where the device does not count them
  machine.nodes = 2;
  const measure::Layout layout = layout_of(machine, 4);
  CHECK(layout.processes_per_node == 2);
  const Row all = measure::row_of({.kind = ProbeKind::collective, .bytes = MiB, .gpus = {0, 1}}, machine, layout, "m", "s");
  CHECK(all.nodes == 2);
  CHECK(all.gpus_per_node == 4);
  CHECK(support::contains(support::message_of([&] { return layout_of(machine, 3); }), "3 processes do not spread evenly over 2 nodes"));
}

TEST_CASE("collectives on registered buffers say so and are not taken for ordinary ones") {
  const Folder folder;
  std::vector<Row> rows;
  for (const Registration how : {Registration::none, Registration::own, Registration::symmetric}) {
    rows.push_back(row_of({.kind = ProbeKind::collective, .bytes = MiB, .gpus = {0, 1, 2, 3, 4, 5, 6, 7}, .registered = how}));
    rows.back().seconds = 50e-6;
  }
  CHECK(rows[0].note("registered").empty());
  CHECK(rows[1].note("registered") == "yes");
  CHECK(rows[2].note("registered") == "symmetric");
  rows[2].notes.insert(rows[2].notes.begin(), {"spread", "0.01"});
  const Points points = read_points(folder.write("registered.csv", csv_of(rows)));
  CHECK(points.points.size() == 1);
  REQUIRE(points.skipped.size() == 1);
  CHECK(points.skipped.front().rows == 2);
  CHECK(support::contains(points.skipped.front().reason, "registered"));
}

TEST_CASE("the machine's file is YAML with what the machine said, and no key where it said nothing") {
  FakeDevice device({.gpus = 2, .lost_after = 8});
  Machine machine = device.describe();
  machine.remarks.emplace_back("a \"quoted\" remark: with a colon");
  const Measured measured = measured_on(device);
  const YAML::Node y = YAML::Load(machine_yaml(
      machine, measured, {.date = "2026-01-31T12:00:00Z", .version = "0.1.0", .points = "m.csv", .system = "dgx-h200", .budget = 120}));
  CHECK(y["measured"]["rows"].as<int>() == 8);
  CHECK(y["measured"]["complete"].as<bool>() == false);
  CHECK(support::contains(y["measured"]["ended"].as<std::string>(), "fallen off the bus"));
  CHECK(y["measured"]["system"].as<std::string>() == "dgx-h200");
  CHECK(y["runtime"]["version"].Tag() == "!");  // a text: 13.0 is no number
  CHECK(y["host"]["processor"].as<std::string>() == "a \"processor\"");
  CHECK_FALSE(y["host"]["kernel"].IsDefined());
  REQUIRE(y["gpus"].size() == 2);
  CHECK(y["gpus"][0]["pcie"]["lanes"].as<int>() == 8);
  CHECK(y["gpus"][0]["pcie"]["lanes_most"].as<int>() == 16);
  CHECK(y["gpus"][0]["memory_bytes"].as<std::uint64_t>() == device.traits.memory);
  CHECK(y["gpus"][0]["ecc"].as<bool>());
  CHECK_FALSE(y["gpus"][0]["power_limit_w"].IsDefined());
  CHECK(y["gpus"][0]["before"]["clock_mhz"].as<double>() == 1980);
  CHECK_FALSE(y["gpus"][0]["after"].IsDefined());  // it was lost
  CHECK(y["peer_access"][0][1].as<int>() == 1);
  CHECK(y["remarks"][0].as<std::string>() == "a \"quoted\" remark: with a colon");
  CHECK(y["not_measured"].size() == measured.not_measured.size());
  CHECK(fabricost::probes::machine_file_of("a/b.csv") == std::filesystem::path("a/b.machine.yaml"));
}

TEST_CASE("the stock system is the one with that GPU, joined like it, with as many or the next more") {
  const auto stock = [](const Traits& t) {
    FakeDevice device(t);
    return stock_system(device.describe(), t.gpus).name;
  };
  CHECK(stock({.gpus = 8, .name = "NVIDIA H200"}) == "dgx-h200");
  CHECK(stock({.gpus = 1, .name = "NVIDIA H200"}) == "dgx-h200");
  CHECK(stock({.gpus = 8, .name = "NVIDIA H100 80GB HBM3"}) == "dgx-h100");
  CHECK(stock({.gpus = 4, .name = "NVIDIA A100-SXM4-40GB"}) == "hgx-a100-4");
  CHECK(stock({.gpus = 2, .name = "NVIDIA GeForce RTX 4090", .peers = false}) == "rtx-4090-pcie");
  CHECK(stock({.gpus = 8, .name = "AMD Instinct MI300X", .runtime = "HIP"}) == "mi300x-8");
  CHECK(stock({.gpus = 1, .name = "Moore Threads S4000"}).empty());
  CHECK(stock({.gpus = 1, .name = "NVIDIA L40"}).empty());  // not an L4
}

TEST_CASE("points on disk outlive a crash, and go when the finished file is there") {
  const Folder folder;
  const std::filesystem::path target = folder / "measured.csv";
  std::filesystem::path left;
  {
    PartialFile partial(target);
    partial.line("a\n");
    partial.line("b\n");
    left = partial.path();
    std::ifstream in(left);  // read while it is still open, as after a crash
    CHECK(std::string{std::istreambuf_iterator<char>{in}, {}} == "a\nb\n");
  }
  CHECK(std::filesystem::exists(left));
  PartialFile again(target);  // as a process that was given the dead one's number
  CHECK(again.path() != left);
  again.remove();
  CHECK_FALSE(std::filesystem::exists(again.path()));
  CHECK(std::filesystem::exists(left));
  CHECK(support::contains(support::message_of([&] { return PartialFile(folder / "no/such/m.csv").path(); }), "cannot be written"));
}

TEST_CASE("points on disk are never written where a link or another's file lies") {
  const Folder folder;
  const std::filesystem::path target = folder / "measured.csv";
  const std::string victim = folder.write("victim.txt", "keep");
  const std::string first = target.string() + "." + std::to_string(getpid()) + ".partial";
  std::filesystem::create_symlink(victim, first);
  std::filesystem::create_symlink(folder / "nowhere", target.string() + "." + std::to_string(getpid()) + "-1.partial");
  PartialFile partial(target);
  partial.line("a\n");
  CHECK(partial.path() == target.string() + "." + std::to_string(getpid()) + "-2.partial");
  std::ifstream in(victim);
  CHECK(std::string{std::istreambuf_iterator<char>{in}, {}} == "keep");
  CHECK(std::filesystem::is_symlink(first));
  CHECK_FALSE(std::filesystem::exists(folder / "nowhere"));
  partial.remove();
}
