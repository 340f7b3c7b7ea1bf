#include "files.hpp"

#include <catch.hpp>

#include <fmt/format.h>

using namespace fabricost::core;
using namespace fabricost::test;

namespace {

/// \param each whether a rank is a process of its own, as under mpirun
std::string devices(int ranks, int per_host, bool each = true) {
  std::string out = "# Using devices\n";
  for (int i = 0; i < ranks; ++i)
    out += fmt::format("#  Rank {:2d} Group  0 Pid  {} on      host{} device  {} [0x07] NVIDIA H100 80GB HBM3\n", i,
                       61241 + (each ? i : 0), i / per_host, i % per_host);
  return out;
}

const std::string header =
    "#                                                              out-of-place                       in-place          \n"
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)       \n";
const std::string row_1m =
    "     1048576        262144     float     sum      -1    27.37   38.31   67.04      0    26.93   38.94   68.14      0\n";
const std::string row_1g =
    "  1073741824     268435456     float     sum      -1   4029.4  266.48  466.33      0   4016.4  267.34  467.85      0\n";
const std::string started = "# Collective test starting: all_reduce_perf\n";

}  // namespace

TEST_CASE("a log of today: both halves of a row are points, ranks and nodes are those of the device lines") {
  const Points read = points_in("# nccl-tests version 2.19.6 nccl-headers=22501 nccl-library=22501\n" + started + devices(16, 8) + header +
                                    row_1m + "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 159.151\n",
                                h100, "a_run.log");
  REQUIRE(read.points.size() == 2);
  const Point& p = read.points[0];
  CHECK(p.source == "a_run");
  CHECK(p.system == "dgx-h100");
  CHECK(p.collective == Collective::all_reduce);
  CHECK(p.dtype == DataType::single);
  CHECK(p.bytes == 1048576);
  CHECK(p.seconds == Approx(27.37e-6));
  CHECK(p.in_place == false);
  CHECK(p.nodes == 2);
  CHECK(p.gpus_per_node == 8);
  CHECK(p.library == "nccl");
  CHECK(p.library_version == "2.25.1");
  CHECK(read.points[1].seconds == Approx(26.93e-6));
  CHECK(read.points[1].in_place == true);
  CHECK(read.skipped.empty());
}

TEST_CASE("NCCL's own messages say whether GPUDirect ran, where they agree") {
  const std::string direct = "host0:1:2 [0] NCCL INFO Channel 00/0 : 15[7] -> 0[0] [receive] via NET/IB/0/GDRDMA\n";
  const std::string staged = "host0:1:2 [0] NCCL INFO Channel 01/0 : 15[7] -> 0[0] [receive] via NET/IB/1\n";
  const auto gpu_direct = [&](const std::string& messages, int ranks = 16) {
    const Points read = points_in(messages + started + devices(ranks, 8) + header + row_1m, h100);
    REQUIRE(read.points.size() == 2);
    CHECK(read.points[0].gpu_direct == read.points[1].gpu_direct);
    return read.points[0].gpu_direct;
  };
  CHECK(gpu_direct(direct + direct) == true);
  CHECK(gpu_direct(staged) == false);
  CHECK_FALSE(gpu_direct(direct + staged).has_value());
  CHECK_FALSE(gpu_direct("").has_value());
  CHECK_FALSE(gpu_direct(staged, 8).has_value());  // inside one node it is no matter of the points
}

TEST_CASE("older columns: no root, or neither operation nor root, and the largest error instead of a count") {
  const Points with_op = points_in(
      "#       size         count    type   redop     time   algbw   busbw  error     time   algbw   busbw  error\n"
      "#        (B)    (elements)                     (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n"
      "     1048576        262144   float     sum    307.5    3.41    6.39  5e-07    225.1    4.66    8.74  5e-07\n",
      {.system = "dgx-1v", .nodes = 2, .ranks = 16});
  REQUIRE(with_op.points.size() == 2);
  CHECK(with_op.points[1].seconds == Approx(225.1e-6));
  CHECK(with_op.points[1].ranks() == 16);

  const Points bare = points_in("Running: LD_PRELOAD=libnccl.so.2 ./build/all_gather_perf -b 8 -e 10240M -f 2 -g 8\n" + devices(8, 8) +
                                    "#       size         count    type     time   algbw   busbw  error     time   algbw   busbw  error\n"
                                    "#        (B)    (elements)             (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n"
                                    "         128             4   float    57.46    0.01    0.01  0e+00    57.40    0.01    0.01  0e+00\n",
                                h100);
  REQUIRE(bare.points.size() == 2);
  CHECK(bare.points[0].collective == Collective::all_gather);
  CHECK(bare.points[0].seconds == Approx(57.46e-6));
}

TEST_CASE("version 1 printed milliseconds, which its bandwidths give away") {
  const Points read = points_in(
      "# NCCL Tests compiled with NCCL 2.4\n# Rank 0 on one device 0 [0x00] Tesla V100-SXM2-16GB\n# out-of-place in-place\n"
      "# bytes N type op time algbw busbw res time algbw busbw res\n# Rank 1 on other device 0 [0x00] Tesla V100-SXM2-16GB\n"
      "1048576 262144 float sum 2.059 0.51 0.51 N/A 3.314 0.32 0.32 N/A\n4194304 1048576 float sum 5.074 0.83 0.83 N/A 5.525 0.76 0.76 "
      "N/A\n",
      {.system = "gcp-v100-tcp"});
  REQUIRE(read.points.size() == 4);
  CHECK(read.points[0].seconds == Approx(2.059e-3));
  CHECK(read.points[0].nodes == 2);
  CHECK(read.points[0].gpus_per_node == 1);
}

TEST_CASE("lines of NCCL and line ends of Windows in between are passed over") {
  std::string text = started + devices(8, 8) +
                     "node0:61241:61300 [0] NCCL INFO Connected all rings\nnode0:1:2 [0] NCCL INFO NCCL version 2.21.5+cuda12.4\n" +
                     header + "node0:61241:61300 [0] NCCL INFO 24 coll channels, 16 nvls channels, 32 p2p channels\n" + row_1m +
                     "# Out of bounds values : 0 OK\n";
  for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 2) text.replace(at, 1, "\r\n");
  const Points read = points_in(text, h100);
  REQUIRE(read.points.size() == 2);
  CHECK(read.points[0].library_version == "2.21.5+cuda12.4");
  CHECK(read.skipped.empty());
}

TEST_CASE("a log may end anywhere: what is whole counts, what is cut is counted as that") {
  const std::string text = started + devices(8, 8) + header + row_1m + row_1g;
  for (std::size_t cut = row_1g.size(); cut > 0; --cut) {
    const std::string shorter = text.substr(0, text.size() - cut);
    INFO(shorter.substr(shorter.rfind('\n') + 1));
    const Points read = points_in(shorter, h100);
    REQUIRE(read.points.size() >= 2);
    REQUIRE(read.points.size() <= 4);
    if (read.points.size() > 2) {
      CHECK(read.points[2].seconds == Approx(4029.4e-6));
      CHECK((read.points.size() == 4 || skipped_rows(read, "cut short") == 1));
    }
    if (read.points.size() > 3) CHECK(read.points[3].seconds == Approx(4016.4e-6));
  }
}

TEST_CASE("a row that other output broke is counted, not read as numbers") {
  const Points read = points_in(started + devices(8, 8) + header + row_1m +
                                    "     2097152        524288     float     sum      -1 node0:1:2 [0] NCCL INFO hello world 1 2 3\n",
                                h100);
  CHECK(read.points.size() == 2);
  CHECK(skipped_rows(read, "broken by other output") >= 1);
}

TEST_CASE("a header that lost its count and type is none: rows are read by what stands in them") {
  const std::string lost = "#       size   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n";
  const Points read = points_in(started + devices(8, 8) + lost + row_1m + row_1g, h100);
  const Points whole = points_in(started + devices(8, 8) + header + row_1m + row_1g, h100);
  REQUIRE(read.points.size() == whole.points.size());
  for (std::size_t i = 0; i < read.points.size(); ++i) CHECK(read.points[i].seconds == whole.points[i].seconds);
}

TEST_CASE("extra columns of newer versions do not shift the others") {
  const Points read = points_in(started + devices(8, 8) +
                                    "#       size         count      type   redop    root     time   algbw   busbw  #wrong    i_min   "
                                    "i_max   i_p99   i_cv%     time   algbw   busbw  #wrong    "
                                    "i_min   i_max   i_p99   i_cv%           timestamp\n"
                                    "     1048576        262144     float     sum      -1    27.37   38.31   67.04       0     26.1    "
                                    "29.0    28.9     1.2    26.93   38.94   68.14       0     "
                                    "26.1    29.0    28.9     1.2  2025-01-01 10:00:00\n",
                                h100);
  REQUIRE(read.points.size() == 2);
  CHECK(read.points[1].seconds == Approx(26.93e-6));
  CHECK(read.points[1].in_place == true);
}

TEST_CASE("several runs in one file keep their own operation and ranks") {
  const std::string gather =
      "    33554432       1048576     float    none      -1   109.62  306.10  267.83      0   107.36  312.55  273.48      0\n";
  const Points read = points_in(started + devices(8, 8) + header + row_1m +
                                    "# Collective test concluded: all_reduce_perf\n# Collective test starting: all_gather_perf\n" +
                                    devices(8, 4) + header + gather,
                                h100);
  REQUIRE(read.points.size() == 4);
  CHECK(read.points[0].collective == Collective::all_reduce);
  CHECK(read.points[0].nodes == 1);
  CHECK(read.points[2].collective == Collective::all_gather);
  CHECK(read.points[2].nodes == 2);
}

TEST_CASE("without a name the numbers say which operation on how many ranks it was") {
  // busbw / algbw is 1.75, that of an all-reduce over 8
  const Points reduce = points_in(header + row_1g, h100);
  REQUIRE(reduce.points.size() == 2);
  CHECK(reduce.points[0].collective == Collective::all_reduce);
  CHECK(reduce.points[0].ranks() == 8);
  CHECK(reduce.points[0].nodes == 1);
  // count x 4 bytes is an eighth of the size: reduce_scatter, since values are summed
  const std::string scatter =
      "      524288         16384     float     sum      -1    62.66    8.37    7.32      0    61.61    8.51    7.45      0\n";
  CHECK(points_in(scatter, h100).points.at(0).collective == Collective::reduce_scatter);
  // nothing is summed: all_gather or all_to_all, which only the file's name tells
  const std::string moved =
      "      524288         16384     float    none      -1    62.66    8.37    7.32      0    61.61    8.51    7.45      0\n";
  CHECK(contains(refusal(header + moved, h100), "fit more than one"));
  CHECK(points_in(header + moved, h100, "alltoall_8.log").points.at(0).collective == Collective::all_to_all);
  CHECK(points_in(header + moved, h100, "run_ag_8.log").points.at(0).collective == Collective::all_gather);
  // all-to-all is not checked in place
  const std::string exchanged =
      "      524288         16384     float    none      -1    62.66    8.37    7.32      0    61.61    8.51    7.45    N/A\n";
  CHECK(points_in(header + exchanged, h100).points.at(0).collective == Collective::all_to_all);
  // a root: broadcast
  const std::string rooted =
      "      524288        131072     float    none       0    62.66    8.37    8.37      0    61.61    8.51    8.51      0\n";
  CHECK(points_in(header + rooted, h100).points.at(0).collective == Collective::broadcast);
}

TEST_CASE("ranks by hand must not contradict the log, nodes by hand are believed") {
  const std::string text = started + devices(8, 8) + header + row_1g;
  CHECK(contains(refusal(text, {.system = "dgx-h100", .nodes = 0, .ranks = 4}), "lists 8 ranks, ranks says 4"));
  CHECK(contains(refusal(header + row_1g, {.system = "dgx-h100", .nodes = 2, .ranks = 16}), "busbw / algbw is 1.75"));
  CHECK(points_in(text, {.system = "dgx-h100", .nodes = 2, .ranks = 8}).points.at(0).nodes == 2);
  // containers: a host name each
  CHECK(points_in(started + devices(8, 1) + header + row_1g, {.system = "dgx-h100", .nodes = 1}).points.at(0).nodes == 1);
}

TEST_CASE("a log of unknown machine or size names the option that helps") {
  CHECK(contains(refusal(started + devices(8, 8) + header + row_1m), "system = NAME"));
  const std::string tiny =
      "           8             2     float     sum      -1    50.58    0.00    0.00      0    54.46    0.00    0.00      0\n";
  CHECK(contains(refusal(header + tiny, {.system = "polaris-a100"}), "ranks = N"));
  CHECK(points_in(header + tiny, h100).points.at(0).ranks() == 8);  // one node: all of it
}

TEST_CASE("settings forced by the environment are forced in the points") {
  const Points read = points_in(
      started + devices(8, 8) +
          "node0:1:2 [0] NCCL INFO NCCL_ALGO set by environment to Tree\nnode0:1:2 [0] NCCL INFO NCCL_PROTO set by environment to LL128\n" +
          header + row_1m,
      h100);
  CHECK(read.points.at(0).algorithm == Algorithm::tree);
  CHECK(read.points.at(0).protocol == Protocol::ll128);
}

TEST_CASE("NVLS and PXN that the environment turns off are off in the points") {
  const auto read = [](const std::string& setting) {
    return points_in(started + devices(8, 8) + "node0:1:2 [0] NCCL INFO " + setting + "\n" + header + row_1m, h100).points.at(0);
  };
  CHECK_FALSE(read("NCCL_NVLS_ENABLE set by environment to 0.").nvls);
  CHECK(read("NCCL_NVLS_ENABLE set by environment to 2.").nvls);
  CHECK_FALSE(read("NCCL_PXN_DISABLE set by environment to 1.").pxn);
  CHECK(read("NCCL_BUFFSIZE set by environment to 0.").pxn);
}

TEST_CASE("groups of ranks that run at once share links and are not priced") {
  std::string two = devices(8, 8);
  for (std::size_t at = two.find("Rank  4"); at < two.size() && at != std::string::npos; at = two.find("Rank", at + 1))
    two.replace(two.find("Group  0", at), 8, "Group  1");
  const Points read = points_in(started + two + header + row_1m, h100);
  CHECK(read.points.empty());
  CHECK(skipped_rows(read, "several groups") == 2);
}

TEST_CASE("the JSON of nccl-tests is the same run with more digits") {
  const std::string json = R"({"version":2,"args":[".\/build\/all_reduce_perf","-b","1M"],"env":["A=b\"c"],"nccl_version":22703,
"config":{"nthreads":1,"ngpus":1,"devices":[{"rank":0,"group":0,"hostname":"a","device":0},{"rank":1,"group":0,"hostname":"b","device":0}]},
"results":[{"size":1048576,"count":262144,"type":"float","redop":"sum","root":"    -1",
"out_of_place":{"time":27.371234,"alg_bw":38.310001,"bus_bw":38.310001,"nwrong":0.000000},
"in_place":{"time":26.931234,"alg_bw":38.940001,"bus_bw":38.940001,"nwrong":null}}],"end_time":"x"})";
  const Points read = points_in(json, h100, "run.json");
  REQUIRE(read.points.size() == 2);
  CHECK(read.points[0].seconds == Approx(27.371234e-6));
  CHECK(read.points[0].collective == Collective::all_reduce);
  CHECK(read.points[0].nodes == 2);
  CHECK(read.points[0].gpus_per_node == 1);
  CHECK(read.points[0].library_version == "2.27.3");
  CHECK(read.points[1].in_place == true);
  CHECK(contains(refusal("{\"stream\": 1}\n", h100), "no \"results\" list"));
  CHECK_FALSE(refusal(json.substr(0, json.size() / 2), h100).empty());
}

TEST_CASE("the head of a log says how its calls were launched") {
  const auto launch = [&](const std::string& head) {
    return points_in(head + started + devices(8, 8) + header + row_1m, h100).points.at(0).launch;
  };
  const std::string rest = " minBytes 8 maxBytes 1048576 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1";
  CHECK(launch("# nThread 1 nGpus 8" + rest + " graph: 0\n") == CallLaunch{LaunchMode::one_process, 8});
  CHECK(launch("# nThread 8 nGpus 1" + rest + " graph: 0\n") == CallLaunch{LaunchMode::threads, 8});
  CHECK(launch("# nThread 1 nGpus 1" + rest + "\n") == CallLaunch{LaunchMode::process, 1});
  CHECK(launch("# nThread 1 nGpus 1" + rest + " graph: 20\n") == CallLaunch{LaunchMode::queued, 0});
  CHECK(launch("") == CallLaunch{});
}

TEST_CASE("ranks of one process were launched by it, where the head that says so was cut off") {
  const auto launch = [&](const std::string& ranks) { return points_in(started + ranks + header + row_1m, h100).points.at(0).launch; };
  CHECK(launch(devices(8, 8, false)) == CallLaunch{LaunchMode::one_process, 8});
  CHECK(launch(devices(8, 8)) == CallLaunch{});
  CHECK(launch(devices(16, 8, false)) == CallLaunch{});  // one number on two hosts is two processes
  CHECK(launch("# nThread 8 nGpus 1 minBytes 8 graph: 0\n" + devices(8, 8, false)) == CallLaunch{LaunchMode::threads, 8});
}

TEST_CASE("a log without a version, with bus numbers of two digits and no word of what starts is an early one") {
  const auto era = [&](const std::string& bus, const std::string& version = "") {
    std::string devices_of = devices(8, 8);
    for (std::size_t at = devices_of.find("[0x07]"); at != std::string::npos; at = devices_of.find("[0x07]", at + 1))
      devices_of.replace(at, 6, bus);
    return era_of(points_in(version + devices_of + header + row_1m, {.system = "dgx-h100", .nodes = 1}, "all_reduce.txt").points.at(0));
  };
  CHECK(name(era("[0x07]").tuner) == "nccl-2.12");
  CHECK(era("[0x07]").assumed);
  CHECK(era("[0000:07:00]").tuner == newest_tuner);
  CHECK(era("[0000:07:00]").assumed);
  CHECK(era("[0x07]", started).tuner == newest_tuner);
  CHECK(name(era("[0x07]", "NCCL version 2.22.3+cuda12.6\n").tuner) == "nccl-2.25");
  CHECK(era("[0x07]", "NCCL version 2.22.3+cuda12.6\n").release == 22);
  CHECK_FALSE(era("[0x07]", "NCCL version 2.22.3+cuda12.6\n").assumed);
  CHECK(name(era("[0000:07:00]", "NCCL version 2.18.3\n").tuner) == "nccl-2.12");
}

TEST_CASE("a point file takes launches from the logs beside its sources.csv") {
  const Folder folder;
  std::filesystem::create_directories(folder.path() / "logs");
  (void)folder.write("sources.csv", "id,system,nodes,gpus_per_node\nrun_1,dgx-h100,1,8\n");
  (void)folder.write("logs/run_1.txt", "# nThread 1 nGpus 8 minBytes 8 graph: 0\n" + devices(8, 8) + header + row_1m);
  const std::string table = "source,operation,bytes,time_us\nrun_1,all_reduce,1048576,27\nother,all_reduce,8,9\n";
  const Points read = read_points(folder.write("points.csv", table), {.system = "dgx-h100"});
  REQUIRE(read.points.size() == 2);
  CHECK(read.points[0].launch == CallLaunch{LaunchMode::one_process, 8});
  CHECK(read.points[0].early_tests);
  CHECK(read.points[1].launch == CallLaunch{});
}
