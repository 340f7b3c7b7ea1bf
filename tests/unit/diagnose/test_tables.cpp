/// Tables beside predictions and expectations. Tables are made from the prediction itself times a factor, so that the verdict is known
/// beforehand.

#include "catch.hpp"
#include "unit/diagnose/logs.hpp"

#include <fabricost/error.hpp>
#include <fabricost/predict/predict.hpp>
#include <fabricost/specs/load.hpp>

#include <functional>
#include <random>

using namespace fabricost::observe;

namespace {

constexpr double MiB = 1024.0 * 1024;

double predicted_bus(const std::string& system, int nodes, int per_node, double bytes, const Choice& choice = {}) {
  const System machine = load_system(system);
  const Operation op = AllReduce{.bytes = Bytes::from_value(bytes), .ranks = nodes * per_node, .nodes = nodes, .dtype = DataType::single};
  return predict(machine, op, choice).bus_bandwidth().value() / 1e9;
}

std::vector<std::pair<double, double>> rows_at(const std::string& system, int nodes, int per_node, double share,
                                               const Choice& choice = {}) {
  std::vector<std::pair<double, double>> rows;
  for (double bytes = 16 * MiB; bytes <= 4096 * MiB; bytes *= 2)
    rows.emplace_back(bytes, share * predicted_bus(system, nodes, per_node, bytes, choice));
  return rows;
}

/// A table at `share` of the machine's predicted rates, 16 MiB to 4 GiB.
std::string table_at(const std::string& system, const std::string& gpu, int nodes, int per_node, double share) {
  return table(gpu, nodes, per_node, rows_at(system, nodes, per_node, share));
}

}  // namespace

TEST_CASE("a run at its prediction is healthy, at a third of it is slow") {
  for (const auto& [system, nodes, per_node] :
       {std::tuple{"dgx-h100", 1, 8}, std::tuple{"dgx-a100", 1, 8}, std::tuple{"hgx-h100-ndr", 4, 8}, std::tuple{"dgx-a100-hdr", 2, 8},
        std::tuple{"l40s-pcie", 1, 8}}) {
    INFO(system);
    const Diagnosis fine = diagnosed(table_at(system, "X", nodes, per_node, 1), {.system = {system}});
    CHECK(fine.healthy);
    CHECK(fine.causes.empty());
    CHECK(fine.next.empty());
    const Diagnosis slow = diagnosed(table_at(system, "X", nodes, per_node, 1 / 3.0), {.system = {system}});
    CHECK_FALSE(slow.healthy);
    CHECK_FALSE(slow.causes.empty());
    CHECK_FALSE(slow.next.empty());
    CHECK(slow.verdict.find("x3 ") != std::string::npos);
  }
}

TEST_CASE("ports that all run below the rate of the machine are named, with what they cost") {
  const std::string gpu = "NVIDIA H100 80GB HBM3", cost = "dgx-h100 has 400: ports trained down, or another machine; ";
  for (const int gigabits : {100, 200}) {
    std::string ports = "n:1:1 [0] NCCL INFO NET/IB : Using", stats;
    for (int i = 0; i < 8; ++i) ports += fmt::format(" [{}]mlx5_{}:1/IB", i, i);
    for (int i = 0; i < 8; ++i) {
      ports += fmt::format("\nn:1:1 [0] NCCL INFO NET/IB: [{}] mlx5_{}:uverbs{}:1/IB provider=Mlx5 speed={}000", i, i, i, gigabits);
      stats += fmt::format("CA 'mlx5_{}'\n\tNumber of ports: 1\n\tPort 1:\n\t\tState: Active\n\t\tRate: {}\n", i, gigabits);
    }
    const std::string log = ports + "\n" + table_at("dgx-h100", gpu, 2, 8, gigabits / 400.0);
    const std::string there = fmt::format("8 adapters of {} Gbit/s", gigabits);
    const Diagnosis guessed = diagnosed(log), named = diagnosed(log, {.system = {"dgx-h100"}});
    const Diagnosis alone = diagnosed(stats, {.system = {"dgx-h100"}});
    INFO(causes_of(guessed) << causes_of(named) << causes_of(alone));
    CHECK(guessed.adapters == there);
    for (const Diagnosis* one : {&guessed, &named}) CHECK(one->verdict.find(there + ", where " + cost) != std::string::npos);
    CHECK(named.state == RunState::slow);
    CHECK(named.causes.front().cause == Cause::half_rate_link);
    REQUIRE_FALSE(alone.causes.empty());
    CHECK(alone.causes.front().cause == Cause::half_rate_link);
  }
}

namespace {
/// nvbandwidth of eight GPUs. \param odd the rate of one GPU with the host, or with the others
std::string matrices(double host, double between, double odd_host, double odd_between) {
  std::string out = "nvbandwidth Version: v0.7\nRunning host_to_device_memcpy_ce.\nmemcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)\n";
  const std::string columns = "      0 1 2 3 4 5 6 7\n";
  out += columns + " 0 ";
  for (int i = 0; i < 8; ++i) out += fmt::format(" {:.2f}", i == 3 ? odd_host : host);
  out += "\n\nRunning device_to_device_memcpy_write_ce.\nmemcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)\n" + columns;
  for (int i = 0; i < 8; ++i) {
    out += fmt::format(" {} ", i);
    for (int k = 0; k < 8; ++k) out += i == k ? " N/A" : fmt::format(" {:.2f}", i == 4 || k == 4 ? odd_between : between);
    out += "\n";
  }
  return out;
}
}  // namespace

TEST_CASE("each test of copies is judged by its own link, and a slow GPU by the link that its siblings have") {
  const DiagnoseRequest on{.system = {"dgx-h100"}};
  CHECK(diagnosed(matrices(55, 390, 55, 390), on).healthy);
  for (const auto& [text, cause, said] :
       {std::tuple{matrices(12.6, 390, 12.6, 390), Cause::pcie_downgraded, "host_to_device_memcpy_ce"},
        std::tuple{matrices(55, 390, 12.6, 390), Cause::pcie_downgraded, "GPU 3 reaches 12.6 GB/s"},
        std::tuple{matrices(55, 390, 55, 210), Cause::nvlink_not_used, "GPU 4 reaches 210 GB/s"}}) {
    const Diagnosis d = diagnosed(text, on);
    INFO(causes_of(d));
    REQUIRE(d.state == RunState::slow);
    CHECK(d.verdict.find(said) != std::string::npos);
    CHECK(d.normal.find("normal") == std::string::npos);
    CHECK(d.causes.front().cause == cause);
  }
}

TEST_CASE("a forced setting costs what is predicted without it, and the run is as predicted only within the range") {
  for (const double share : {1.0, 0.75}) {
    const Diagnosis d = diagnosed("a:1:2 [0] NCCL INFO NCCL_ALGO set by environment to Tree\n" +
                                      table("NVIDIA H100 80GB HBM3", 2, 8, rows_at("dgx-h100", 2, 8, share, Choice{.algorithm = Algorithm::tree})),
                                  {.system = {"dgx-h100"}});
    const double bytes = 4096 * MiB, forced = predicted_bus("dgx-h100", 2, 8, bytes, {.algorithm = Algorithm::tree});
    INFO(causes_of(d));
    const std::string costs = fmt::format("costs {:.0f} %", 100 * (1 - forced / predicted_bus("dgx-h100", 2, 8, bytes)));
    CHECK(d.verdict.find(costs) != std::string::npos);
    CHECK(d.verdict.starts_with("as predicted with") == (share == 1));
    CHECK((d.normal.find(": low") == std::string::npos) == (share == 1));
  }
}

TEST_CASE("a stream of messages at the rate of a known link names it, above its port it is impossible") {
  const auto perftest = [](double gigabits) {
    return diagnosed(fmt::format("                    RDMA_Write BW Test\n Dual-port : OFF  Device : mlx5_0\n"
                                 " #bytes #iterations BW peak[Gb/sec] BW average[Gb/sec] MsgRate[Mpps]\n 65536 5000 {0} {0} {1:.6f}\n",
                                 gigabits, gigabits * 1e3 / 8 / 65536),
                     {.system = {"dgx-h100"}});
  };
  CHECK(perftest(392).healthy);
  for (const auto& [gigabits, cause] : {std::pair{107.9, Cause::pcie_downgraded}, std::pair{97.6, Cause::half_rate_link},
                                        std::pair{196.0, Cause::half_rate_link}, std::pair{140.0, Cause::other}}) {
    const Diagnosis d = perftest(gigabits);
    INFO(causes_of(d));
    REQUIRE(d.state == RunState::slow);
    CHECK(d.causes.front().cause == cause);
    CHECK(d.causes.front().remedy.find("NCCL") == std::string::npos);
    for (const NextQuestion& one : d.next) CHECK(one.ask.find("NCCL_DEBUG") == std::string::npos);
    for (const std::string& note : d.notes) CHECK(note.find("NCCL") == std::string::npos);
  }
  CHECK(perftest(412).verdict.find("impossible") != std::string::npos);
}

TEST_CASE("sockets are no cause of what they do not carry, and all ports at a lower rate are one") {
  const Diagnosis d = diagnosed(table_at("dgx-h100", "NVIDIA H100 80GB HBM3", 2, 8, 0.21), {.system = {"dgx-h100"}});
  INFO(causes_of(d));
  for (const Finding& one : d.causes) CHECK(one.cause != Cause::tcp_fallback);
  CHECK(names(d, Cause::half_rate_link));
  const Diagnosis slower = diagnosed(table_at("dgx-h100", "NVIDIA H100 80GB HBM3", 2, 8, 0.02), {.system = {"dgx-h100"}});
  INFO(causes_of(slower));
  CHECK(std::any_of(slower.causes.begin(), slower.causes.end(), [](const Finding& f) { return f.cause == Cause::tcp_fallback; }));
}

TEST_CASE("a ring's bandwidth where the switch should reduce means NVLS is off") {
  const Diagnosis d = diagnosed(table("NVIDIA H100 80GB HBM3", 1, 8, rows_at("dgx-h100", 1, 8, 1, Choice{.algorithm = Algorithm::ring})),
                                {.system = {"dgx-h100"}});
  INFO(causes_of(d));
  CHECK_FALSE(d.healthy);
  CHECK(names(d, Cause::nvls_off));
}

TEST_CASE("one adapter's share of a node with many is a missing rail") {
  const Diagnosis d = diagnosed(table_at("hgx-h100-ndr", "X", 4, 8, 1 / 8.0), {.system = {"hgx-h100-ndr"}});
  INFO(causes_of(d));
  CHECK(names(d, Cause::rail_missing));
  const Diagnosis half = diagnosed(table_at("hgx-h100-ndr", "X", 4, 8, 1 / 2.0), {.system = {"hgx-h100-ndr"}});
  INFO(causes_of(half));
  CHECK(names(half, Cause::half_rate_link));
  CHECK(half.notes.front().starts_with("measured and predicted: "));
}

TEST_CASE("ranks that a log does not name are those whose bus bandwidth fits") {
  std::string unnamed = table_at("hgx-h100-ndr", "X", 4, 8, 1);
  unnamed.erase(0, unnamed.find("#       size"));
  const Diagnosis d = diagnosed("# Collective test starting: all_reduce_perf\n" + unnamed, {.system = {"hgx-h100-ndr"}});
  INFO(causes_of(d));
  REQUIRE_FALSE(d.sizes.empty());
  CHECK(d.sizes.front().ranks == 32);
}

TEST_CASE("what is normal is said of the machine that ran, and of figures that can be") {
  const auto rows = rows_at("dgx-h100", 1, 8, 1);
  const std::string normal = diagnosed(table("NVIDIA H100 80GB HBM3", 1, 8, rows), {.system = {"dgx-h100"}}).normal;
  INFO(normal);
  CHECK(normal.find(" of 6 public runs on such machines") != std::string::npos);
  const auto small = diagnosed(table("NVIDIA H100 80GB HBM3", 1, 8, {rows.begin(), rows.begin() + 3}), {.system = {"dgx-h100"}}).normal;
  CHECK(small.find("at 64 MiB: normal") != std::string::npos);  // the best of public runs have larger messages
  CHECK(small.find("public runs") == std::string::npos);
  CHECK(diagnosed(table("NVIDIA GB300", 1, 8, rows), {.system = {"dgx-h100"}}).normal.empty());
  CHECK(diagnosed(table("NVIDIA H100 80GB HBM3", 1, 8, {{512 * MiB, 5000}, {1024 * MiB, 5000}}), {.system = {"dgx-h100"}}).normal.empty());
}

TEST_CASE("PCIe's bandwidth on a board with NVLink means NVLink is not used") {
  std::vector<std::pair<double, double>> rows;
  for (double bytes = 16 * MiB; bytes <= 1024 * MiB; bytes *= 2) rows.emplace_back(bytes, 12.5);
  const Diagnosis d = diagnosed(table("NVIDIA A100-SXM4-80GB", 1, 8, rows));
  INFO(causes_of(d));
  CHECK(d.system == "dgx-a100");
  CHECK(d.system_guessed);
  CHECK((names(d, Cause::nvlink_not_used) || names(d, Cause::no_p2p_shm)));
}

TEST_CASE("two cards that are faster than PCIe are joined by a bridge, more of them or slower ones are a plain server's") {
  constexpr double size = 1 << 30;
  const auto of = [&](const std::string& gpu, int cards, double rate) {
    return diagnosed(table(gpu, 1, cards, {{size / 2, rate}, {size, rate}}));
  };
  const Diagnosis pair = of("NVIDIA A100-PCIE-40GB", 2, 208);  // https://github.com/NVIDIA/nccl-tests/issues/178
  CHECK(pair.system == "a100-pcie-bridge");
  CHECK(pair.system_guessed);
  CHECK(pair.healthy);
  const Diagnosis slow = of("NVIDIA H100 PCIe", 2, 116);
  CHECK(slow.system == "h100-pcie-bridge");
  CHECK(slow.state == RunState::slow);
  CHECK(of("NVIDIA H100 PCIe", 2, 20).system == "pcie5-8gpu");
  const TemporaryLog fast(table("NVIDIA H100 PCIe", 1, 2, {{size, 116}})), low(table("NVIDIA H100 PCIe", 1, 2, {{size, 20}}));
  CHECK(usual_system(fast.path()) == "h100-pcie-bridge");
  CHECK(usual_system(low.path()) == "pcie5-8gpu");
  CHECK(of("NVIDIA H100 NVL", 2, 200).system == "h100-nvl-pair");
  CHECK(of("NVIDIA H100 NVL", 2, 41).state == RunState::slow);  // sold with a bridge
  CHECK(of("NVIDIA H100 NVL", 4, 41).system == "pcie5-8gpu");
  const Diagnosis eight = of("NVIDIA H200 NVL", 8, 41);  // more than its machine has
  CHECK(std::any_of(eight.notes.begin(), eight.notes.end(), [](const std::string& note) { return note.find("no comparison: ") == 0; }));
  const Diagnosis three = of("NVIDIA A100-PCIE-40GB", 3, 208);
  CHECK(three.system == "pcie4-8gpu");
  CHECK(three.verdict.find("impossible") != std::string::npos);
  CHECK(of("NVIDIA A100-PCIE-40GB", 2, 500).verdict.find("impossible") != std::string::npos);  // more than the bridge has
}

TEST_CASE("bandwidth that collapses and stays low is loss, one that recovers is a switch point") {
  const Diagnosis loss =
      diagnosed(table("X", 3, 8, {{8 * MiB, 16}, {16 * MiB, 24}, {32 * MiB, 31}, {64 * MiB, 6}, {128 * MiB, 5.5}, {256 * MiB, 6}}));
  CHECK(names(loss, Cause::roce_untuned));
  const Diagnosis dip =
      diagnosed(table("X", 2, 8, {{8 * MiB, 16}, {16 * MiB, 24}, {32 * MiB, 31}, {64 * MiB, 17}, {128 * MiB, 33}, {256 * MiB, 44}}));
  CHECK(names(dip, Cause::algorithm_choice));
  const Diagnosis small = diagnosed(table("X", 3, 8, {{MiB / 8, 16}, {MiB / 4, 24}, {MiB / 2, 5}}));  // where latency matters
  CHECK_FALSE(names(small, Cause::roce_untuned));
  const Diagnosis rising =
      diagnosed(table("X", 2, 8, {{8 * MiB, 16}, {16 * MiB, 24}, {32 * MiB, 31}, {64 * MiB, 36}, {128 * MiB, 40}, {256 * MiB, 44}}));
  CHECK(rising.healthy);
}

TEST_CASE("two columns that differ at most sizes are loss or other traffic, not a switch point") {
  // size, type and both halves of a row: out of place, in place
  const auto log = [](const std::vector<std::pair<double, double>>& columns) {
    std::string out = table("NVIDIA H100 80GB HBM3", 2, 8, {});
    out.replace(out.find("#wrong"), 6, "#wrong     time   algbw   busbw #wrong");
    double bytes = 256 * MiB;
    for (const auto& [first, second] : columns) {
      const auto half = [&](double bus) {
        return fmt::format("{:.2f} {:.2f} {:.2f} 0", bytes / (bus / 1.875 * 1e9) * 1e6, bus / 1.875, bus);
      };
      out += fmt::format("{:.0f} {:.0f} float sum -1 {} {}\n", bytes, bytes / 4, half(first), half(second));
      bytes *= 2;
    }
    return diagnosed(out);
  };
  const Diagnosis noisy = log({{22, 36}, {13, 45}, {57, 20}, {28, 30}});
  INFO(causes_of(noisy));
  CHECK(names(noisy, Cause::roce_untuned));
  CHECK_FALSE(names(noisy, Cause::algorithm_choice));
  const Diagnosis steady = log({{22, 23}, {13, 13}, {24, 25}, {28, 29}});
  INFO(causes_of(steady));
  CHECK(names(steady, Cause::algorithm_choice));
  CHECK_FALSE(names(steady, Cause::roce_untuned));
}

TEST_CASE("GPUs connected directly are not copying through host memory, unless a variable sent them through the CPUs") {
  std::vector<std::pair<double, double>> rows{{16 * MiB, 2.0}, {64 * MiB, 2.0}, {256 * MiB, 2.1}, {1024 * MiB, 2.1}};
  const std::string flat = table("NVIDIA GeForce RTX 4090", 1, 4, rows),
                    direct = "a:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM\n";
  CHECK(names(diagnosed(flat), Cause::no_p2p_shm));
  CHECK_FALSE(names(diagnosed(direct + flat), Cause::no_p2p_shm));
  const Diagnosis forced = diagnosed("a:1:2 [0] NCCL INFO NCCL_P2P_LEVEL set by environment to SYS\n" + direct + flat);
  INFO(causes_of(forced));
  CHECK(names(forced, Cause::debug_env));
  const Diagnosis old = diagnosed("NCCL version 2.16.2+cuda11.8\n" + direct + flat);
  INFO(causes_of(old));
  CHECK(names(old, Cause::bug_in_version));
}

TEST_CASE("expectations are taken apart: directions, bits, line rates") {
  const std::string run = table_at("dgx-h100", "NVIDIA H100 80GB HBM3", 1, 8, 1);
  for (const char* expected : {"900 GB/s", "900 GB/s both directions", "450 GB/s", "7200 Gb/s", "600 GB/s busbw"}) {
    const Diagnosis d = diagnosed(run, {.system = {"dgx-h100"}, .expected = expected});
    INFO(expected << causes_of(d));
    CHECK(d.healthy);
    REQUIRE(d.causes.size() == 1);
    CHECK(d.causes.front().cause == Cause::expected_value_wrong);
  }
  const Diagnosis met = diagnosed(run, {.system = {"dgx-h100"}, .expected = "480GB/s"});
  CHECK(met.healthy);
  CHECK(met.causes.empty());
  const auto evidence = [&](const char* expected) {
    return diagnosed(run, {.system = {"dgx-h100"}, .expected = expected}).causes.at(0).evidence;
  };
  CHECK(evidence("900 GB/s").find("one way is 450 GB/s") != std::string::npos);
  CHECK(evidence("900 GB/s").find("a factor of 1.8") != std::string::npos);
  CHECK(evidence("450 GB/s").find("450 GB/s is the line rate one way") != std::string::npos);
  CHECK(evidence("7200 Gb/s").find("/ 8 = 900 GB/s") != std::string::npos);
  // 256 GB/s algorithm bandwidth on 8 ranks is 448 GB/s bus bandwidth
  CHECK(evidence("256 GB/s algbw").find("448 GB/s") != std::string::npos);
}

TEST_CASE("a right expectation does not excuse a slow run") {
  const Diagnosis d = diagnosed(table_at("dgx-h100", "NVIDIA H100", 1, 8, 0.3), {.system = {"dgx-h100"}, .expected = "470 GB/s"});
  CHECK_FALSE(d.healthy);
  CHECK_FALSE(names(d, Cause::expected_value_wrong));
}

TEST_CASE("bits taken for bytes are found without any machine") {
  const Diagnosis d = diagnosed(table("X", 2, 1, {{256 * MiB, 47}, {512 * MiB, 48}, {1024 * MiB, 48.5}}), {.expected = "400 GB/s"});
  INFO(causes_of(d));
  CHECK(d.healthy);
  CHECK(names(d, Cause::expected_value_wrong));
}

TEST_CASE("what is no rate is refused, saying what would do") {
  const std::string run = table("X", 1, 8, {{256 * MiB, 47}});
  for (const char* expected : {"900", "fast", "900 GB", "-1 GB/s", "0 GB/s", "900 GB/s sometimes", "1e30 GB/s", "nan GB/s", "900 GT/s"}) {
    INFO(expected);
    CHECK_THROWS_AS(diagnosed(run, {.expected = expected}), RequestError);
  }
}

TEST_CASE("files that say nothing about a run are refused with their line") {
  for (const char* text : {"", "\n\n", "hello\n", "name: x\nbandwidth: 450 GB/s per direction\n", "a,b,c\n1,2,3\n"}) {
    INFO(text);
    CHECK_THROWS_AS(diagnosed(text), SpecError);
  }
  try {
    (void)diagnosed("\nhello\n");
    FAIL("accepted");
  } catch (const SpecError& error) {
    CHECK(error.issues().front().line == 2);
    CHECK_FALSE(error.issues().front().remedy.empty());
  }
  const TemporaryLog document("NCCL_P2P_DISABLE=1 makes things slow, see ACS and the IOMMU\n", "log.md");
  CHECK_THROWS_AS(diagnose({document.path()}), SpecError);
}

TEST_CASE("an unknown system is refused, a log that fits none is diagnosed by its lines") {
  CHECK_THROWS_AS(diagnosed("a:1:2 [0] NCCL INFO hello\n", {.system = {"dgx-h10"}}), RequestError);
  const Diagnosis d = diagnosed(table("Unheard Of 9000", 2, 8, {{256 * MiB, 47}, {512 * MiB, 48}}));
  CHECK(d.healthy);
  CHECK(d.system.empty());
  CHECK_FALSE(d.notes.empty());
}

namespace {

/// A table from 8 bytes to 4 GiB at the predicted times, times a factor.
std::string whole_table(double factor) {
  const System machine = load_system("dgx-h100");
  std::vector<std::pair<double, double>> rows;
  for (double bytes = 8; bytes <= 4096 * MiB; bytes *= 2) {
    const Operation op = AllReduce{.bytes = Bytes::from_value(bytes), .ranks = 8, .nodes = 1, .dtype = DataType::single};
    rows.emplace_back(bytes, predict(machine, op).bus_bandwidth().value() / 1e9 / factor);
  }
  return table("NVIDIA H100 80GB HBM3", 1, 8, rows);
}

}  // namespace

TEST_CASE("times a hundredth of the true ones are impossible, not healthy") {
  for (const char* system : {"dgx-h100", ""}) {
    const Diagnosis d = diagnosed(whole_table(0.01), {.system = {system}});
    INFO(causes_of(d));
    CHECK_FALSE(d.healthy);
    CHECK(d.verdict.starts_with("nothing to judge: impossible"));
    REQUIRE(d.causes.size() == 1);
    CHECK(d.causes[0].cause == Cause::other);
    CHECK(d.causes[0].evidence.find("shorter than they can be") != std::string::npos);
    CHECK(d.causes[0].evidence.find("the wires of dgx-h100 allow") != std::string::npos);
  }
  CHECK(diagnosed(whole_table(1), {.system = {"dgx-h100"}}).healthy);
}

TEST_CASE("a table without one time above zero is no healthy run") {
  std::string zeros = table("NVIDIA H100 80GB HBM3", 1, 8, {});
  for (const char* row : {"1048576 262144 float sum -1 0.00 0.00 0.00 0", "2097152 524288 float sum -1 0.00 0.00 0.00 0"})
    zeros += std::string{row} + "\n";
  const Diagnosis d = diagnosed(zeros, {.system = {"dgx-h100"}});
  INFO(causes_of(d));
  CHECK_FALSE(d.healthy);
  REQUIRE(d.causes.size() == 1);
  CHECK(d.causes[0].evidence.find("holds a time above 0") != std::string::npos);
}

TEST_CASE("of a long log the first rows are compared, and the answer says so") {
  std::vector<std::pair<double, double>> rows;
  for (int i = 0; i < 70000; ++i) rows.emplace_back((16 + i % 9) * MiB, 400);
  const Diagnosis d = diagnosed(table("NVIDIA H100 80GB HBM3", 1, 8, rows), {.system = {"dgx-h100"}});
  CHECK(d.sizes.size() <= 65536);
  CHECK(std::any_of(d.notes.begin(), d.notes.end(), [](const std::string& note) { return note.find("65536") != std::string::npos; }));
}

namespace {

/// osu_bw's output, with one row per (bytes, MB/s).
std::string messages(const std::string& title, const std::vector<std::pair<double, double>>& rows) {
  std::string out = "# OSU " + title + " Bandwidth Test v7.3\n# Size      Bandwidth (MB/s)\n";
  for (const auto& [bytes, rate] : rows) out += fmt::format("{:.0f}  {:.2f}\n", bytes, rate);
  return out;
}

}  // namespace

TEST_CASE("messages between two ends that fall off or stay at the rate of copies are slow, others are not") {
  std::vector<std::pair<double, double>> rising, falling, flat;
  for (double bytes = 1024; bytes <= 4 * MiB; bytes *= 2) {
    rising.emplace_back(bytes, 24000 * bytes / (bytes + 65536));
    falling.emplace_back(bytes, bytes <= MiB / 4 ? 9500 * bytes / (bytes + 8192) : 4000);
    flat.emplace_back(bytes, 340 * bytes / (bytes + 512));
  }
  const Diagnosis fine = diagnosed(messages("MPI", rising));
  INFO(causes_of(fine));
  CHECK(fine.state == RunState::nothing_to_judge);
  const Diagnosis falls = diagnosed(messages("MPI", falling));
  INFO(causes_of(falls));
  CHECK((falls.state == RunState::slow && names(falls, Cause::algorithm_choice)));
  const Diagnosis staged = diagnosed(messages("MPI-CUDA", flat));
  INFO(causes_of(staged));
  CHECK((staged.state == RunState::slow && names(staged, Cause::gdr_off)));
  const Diagnosis sockets = diagnosed(messages("MPI", flat));
  INFO(causes_of(sockets));
  CHECK((sockets.state == RunState::slow && names(sockets, Cause::tcp_fallback)));
}

TEST_CASE("times of two ends that may share a node, or of ranks that nothing counts, are no all-clear until the nodes are named") {
  const std::string messages_at_nic = messages("MPI-CUDA", {{MiB, 41000}, {4 * MiB, 45000}, {256 * MiB, 47000}});
  const Diagnosis open = diagnosed(messages_at_nic, {.system = {"aws-p5"}});
  INFO(open.verdict);
  CHECK((open.state == RunState::nothing_to_judge && !open.healthy && open.verdict.find("--nodes") != std::string::npos));
  CHECK(diagnosed(messages_at_nic, {.system = {"aws-p5"}, .nodes = 2}).state == RunState::as_predicted);
  CHECK(diagnosed(messages_at_nic, {.system = {"aws-p5"}, .nodes = 1}).state == RunState::slow);
  const std::string reduced =
      "# OSU MPI-CUDA Allreduce Latency Test v7.3\n# Size       Avg Latency(us)\n16777216  220.1\n268435456  1800.2\n";
  const Diagnosis counted = diagnosed(reduced, {.system = {"aws-p5"}, .nodes = 2}), uncounted = diagnosed(reduced, {.system = {"aws-p5"}});
  INFO(uncounted.verdict);
  CHECK((!counted.sizes.empty() && uncounted.sizes.empty() && uncounted.state == RunState::nothing_to_judge && !uncounted.healthy));
  CHECK(uncounted.verdict == "nothing to judge: the log does not say how many ranks took part: add --ranks N (and --nodes N)");
  CHECK(diagnosed(reduced).verdict.find("nothing speaks against") == std::string::npos);
}

TEST_CASE("tables of messages below the names of two releases blame the newer one where it is slower") {
  const std::vector<std::pair<double, double>> fast{{1024, 900}, {MiB, 22000}, {4 * MiB, 22600}}, slow{{1024, 850}, {MiB, 4300}, {4 * MiB, 4400}};
  const Diagnosis lost = diagnosed("Open-MPI 4.1.2 + UCX 1.9.0\n" + messages("MPI", fast) + "Open-MPI 4.1.2 + UCX 1.10 (rc2)\n" + messages("MPI", slow));
  INFO(causes_of(lost));
  CHECK((lost.state == RunState::slow && names(lost, Cause::bug_in_version)));
  CHECK(diagnosed("UCX 1.9.0\n" + messages("MPI", slow) + "UCX 1.10.0\n" + messages("MPI", fast)).state == RunState::nothing_to_judge);
  CHECK(diagnosed("UCX 1.10.0\n" + messages("MPI", fast) + messages("MPI", slow)).state == RunState::nothing_to_judge);
}

TEST_CASE("a stream of ucx_perftest that is fast in one second and slow in the next is told from a steady one") {
  const auto stream = [](const std::vector<double>& windows, const std::string& end) {
    std::string out = "|              |              |       overhead (usec)        |   bandwidth (MB/s)  |  message rate (msg/s) |\n"
                      "|    Stage     | # iterations | 50.0%ile | average | overall |  average |  overall |  average  |  overall  |\n";
    for (const double rate : windows) out += fmt::format("[thread 0]  33  0.588 440383.181 440383.181  {:.2f}  9000.00  2  2\n", rate);
    return out + end;
  };
  const std::string end = "Final:  1000  0.25  903.1  898.2  10563.01  10609.38  1108  1112\n";
  CHECK(diagnosed(stream({42214, 11513, 11512, 11514, 11512, 11513}, end)).state == RunState::nothing_to_judge);  // the first is posted ahead
  CHECK(diagnosed(stream({11513, 11512, 900, 11512, 11513, 11511}, end)).state == RunState::nothing_to_judge);    // one stall
  CHECK(diagnosed(stream({}, end)).state == RunState::nothing_to_judge);
  for (const std::string& last : {end, std::string{"[thread 0]  53  0."}, std::string{"[thread 0]  nan\nFinal:\n"}}) {
    const Diagnosis jitters = diagnosed(stream({2325, 18942, 5567, 21526, 5289, 21404}, last));
    INFO(causes_of(jitters));
    CHECK((jitters.state == RunState::slow && names(jitters, Cause::roce_untuned)));
  }
}

TEST_CASE("steps of a training program that become slower, or stall, are told from steady ones") {
  const auto steps = [](const std::vector<double>& times) {
    std::string out;
    for (std::size_t i = 0; i < times.size(); ++i)
      out += fmt::format(" iteration {:8}/  5000 | elapsed time per iteration (ms): {:.1f} | lm loss: 2.1 |\n", i + 1, 1000 * times[i]);
    return out;
  };
  CHECK(diagnosed(steps(std::vector<double>(12, 5.2))).state == RunState::nothing_to_judge);
  const std::vector<double> slower{30, 6, 5, 5.1, 5, 5.2, 5, 8, 9, 9.1, 9, 9, 9.2, 9};
  CHECK((diagnosed(steps(slower)).state == RunState::slow && names(diagnosed(steps(slower)), Cause::stragglers)));
  const std::vector<double> stalls{30, 6, 5, 5, 5, 44, 5, 5, 5, 5, 39, 5, 5};
  CHECK((diagnosed(steps(stalls)).state == RunState::slow && names(diagnosed(steps(stalls)), Cause::stragglers)));
  const std::vector<double> once{30, 6, 5, 5, 5, 44, 5, 5, 5, 5, 5, 5};  // a checkpoint
  CHECK(diagnosed(steps(once)).state == RunState::nothing_to_judge);
  CHECK(diagnosed(steps(once)).verdict.find("one step takes 8.8 times as long as most") != std::string::npos);
  std::mt19937 made(7);
  const auto run = [&](double noise, const std::function<double(int)>& factor) {
    std::normal_distribution<double> around(1, noise);
    std::vector<double> times;
    for (int i = 0; i < 200; ++i) times.push_back(5 * factor(i) * std::max(0.5, around(made)));
    return diagnosed(steps(times));
  };
  for (const double noise : {0.01, 0.03, 0.1}) {
    CHECK(run(noise, [](int) { return 1.0; }).state == RunState::nothing_to_judge);
    CHECK(run(noise, [](int i) { return i % 20 == 0 ? 2.0 : 1.0; }).state == RunState::nothing_to_judge);
  }
  const Diagnosis lasting = run(0.02, [](int i) { return i < 120 ? 1 : 1.18; }), ramp = run(0.02, [](int i) { return 1 + 0.4 * i / 200; });
  INFO(causes_of(lasting) << causes_of(ramp));
  CHECK((lasting.state == RunState::slow && lasting.verdict.find("line 121: ") != std::string::npos));
  CHECK(lasting.verdict.find("from this step on 1.1") != std::string::npos);
  CHECK((ramp.state == RunState::slow && ramp.verdict.find("half-way, little by little, to 1.2") != std::string::npos));
  const auto meters = [](double each, double tenth) {
    std::string out;
    for (int i = 0; i < 30; ++i) {
      const double waited = i % 10 == 0 ? tenth : each;
      out += fmt::format("Epoch: [0][{}/500]\tTime {:.3f} (0.4)\tData {:.3f} (0.1)\tLoss 6.9 (6.9)\n", i, waited + 0.2, waited);
    }
    return out;
  };
  CHECK(diagnosed(meters(0.01, 4)).state == RunState::nothing_to_judge);  // the begin of an epoch
  const Diagnosis waits = diagnosed(meters(0.25, 0.25));
  CHECK((waits.state == RunState::slow && names(waits, Cause::other)));
}
