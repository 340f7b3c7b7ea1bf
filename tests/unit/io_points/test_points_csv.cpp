#include "files.hpp"

#include <catch.hpp>

using namespace fabricost::core;
using namespace fabricost::test;

namespace {

const std::string csv_header =
    "source,system,nodes,gpus_per_node,operation,dtype,bytes,time_us,in_place,library,library_version,algorithm,protocol,notes\n";

}  // namespace

TEST_CASE("a point CSV gives back what its cells say") {
  const Points read = points_in(csv_header + "run,dgx-h100,2,8,all_gather,bfloat16,1048576,52.5,1,nccl,2.27.3,ring,LL128,a note\n");
  REQUIRE(read.points.size() == 1);
  const Point& p = read.points.front();
  CHECK(p.source == "run");
  CHECK(p.system == "dgx-h100");
  CHECK(p.nodes == 2);
  CHECK(p.ranks() == 16);
  CHECK(p.collective == Collective::all_gather);
  CHECK(p.dtype == DataType::bfloat16);
  CHECK(p.bytes == 1048576);
  CHECK(p.seconds == Approx(52.5e-6));
  CHECK(p.in_place == true);
  CHECK(p.library == "nccl");
  CHECK(p.library_version == "2.27.3");
  CHECK(p.algorithm == Algorithm::ring);
  CHECK(p.protocol == Protocol::ll128);
  CHECK(p.notes == "a note");
  CHECK(read.skipped.empty());
}

TEST_CASE("columns come in any order, lines end either way, cells may be quoted, comments are passed over") {
  const Points read =
      points_in("# made by hand\r\ntime_us,bytes,operation,system,notes,extra\r\n\r\n12,1e6, AllReduce ,dgx-h100,\"a, \"\"b\"\"\",x\r\n",
                {.ranks = 8});
  REQUIRE(read.points.size() == 1);
  CHECK(read.points[0].notes == "a, \"b\"");
  CHECK(read.points[0].bytes == 1e6);
  CHECK(read.points[0].ranks() == 8);
  CHECK_FALSE(read.points[0].in_place.has_value());
  CHECK_FALSE(read.points[0].algorithm.has_value());
}

TEST_CASE("a row may say its ranks and how its calls were launched") {
  const Points read = points_in(
      "operation,system,nodes,ranks,bytes,time_us,launch\nall_reduce,dgx-h100,,4,8,1,xla\nall_reduce,dgx-h100,2,16,8,1,\n", {.ranks = 8});
  REQUIRE(read.points.size() == 2);
  CHECK(read.points[0].ranks() == 4);
  CHECK(read.points[0].launch.mode == LaunchMode::xla);
  CHECK(read.points[1].gpus_per_node == 8);
  CHECK(read.points[1].launch == CallLaunch{});
  const Points racks = points_in("operation,system,ranks,bytes,time_us\nall_reduce,gb200-nvl72,72,8,1\nall_reduce,gb200-nvl72,18,8,1\n");
  REQUIRE(racks.points.size() == 2);
  CHECK((racks.points[0].nodes == 18 && racks.points[0].gpus_per_node == 4));
  CHECK((racks.points[1].nodes == 6 && racks.points[1].gpus_per_node == 3));
  CHECK_THROWS_WITH(points_in("operation,system,nodes,ranks,bytes,time_us\nall_reduce,dgx-h100,3,16,8,1\n"),
                    Catch::Contains("16 ranks do not spread evenly over 3 nodes"));
  CHECK_THROWS_WITH(points_in("operation,system,nodes,gpus_per_node,ranks,bytes,time_us\nall_reduce,dgx-h100,2,4,16,8,1\n"),
                    Catch::Contains("2 nodes with 4 GPUs are not 16 ranks"));
  CHECK_THROWS_WITH(points_in("operation,system,ranks,bytes,time_us,launch\nall_reduce,dgx-h100,8,8,1,slowly\n"),
                    Catch::Contains("unknown launch \"slowly\""));
}

TEST_CASE("a malformed cell is a fault with its line and column") {
  struct Case {
    std::string row, message;
    int column;
  };
  for (const Case& c : {Case{"r,dgx-h100,1,8,all_reduce,half,8,fast,0,nccl,,,,", "time_us is \"fast\", not a number", 34},
                        Case{"r,dgx-h100,1,8,all_reduce,half,8,-1,0,nccl,,,,", "time_us is negative", 34},
                        Case{"r,dgx-h100,1,8,all_reduce,half,nan,1,0,nccl,,,,", "bytes is \"nan\", not a number", 32},
                        Case{"r,dgx-h100,1,8,all_reduce,half,8 KiB,1,0,nccl,,,,", "not a number", 32},
                        Case{"r,dgx-h100,1,8,all_reduce,half,8.5,1,0,nccl,,,,", "bytes is 8.5, not a whole number", 32},
                        Case{"r,dgx-h100,1,8,allreduse,half,8,1,0,nccl,,,,", "unknown operation \"allreduse\"", 16},
                        Case{"r,dgx-h100,1,8,all_reduce,halve,8,1,0,nccl,,,,", "unknown dtype \"halve\"", 27},
                        Case{"r,dgx-h100,1.5,8,all_reduce,half,8,1,0,nccl,,,,", "nodes is 1.5, not a whole number", 12},
                        Case{"r,dgx-h100,1,8,all_reduce,half,8,1,maybe,nccl,,,,", "in_place is \"maybe\"", 36},
                        Case{"r,dgx-h100,1,8,all_reduce,half,8,1,0,nccl,,rings,,", "unknown algorithm \"rings\"", 44},
                        Case{"r,dgx-h100,1,8,all_reduce,half,8,1,0,nccl,,,LL64,", "unknown protocol \"LL64\"", 45}}) {
    INFO(c.row);
    const Issue fault = first_fault(csv_header + "r,dgx-h100,1,8,all_reduce,half,8,1,0,nccl,,,,\n" + c.row + "\n");
    CHECK(contains(fault.message, c.message));
    CHECK(fault.line == 3);
    CHECK(fault.column == c.column);
    CHECK_FALSE(fault.remedy.empty());
  }
}

TEST_CASE("all faults of a file are reported together, twenty at most") {
  std::string rows;
  for (int i = 0; i < 100; ++i) rows += "r,dgx-h100,1,8,all_reduce,half,8,fast,0,nccl,,,,\n";
  const Folder folder;
  try {
    (void)read_points(folder.write("file.csv", csv_header + rows));
    FAIL("not refused");
  } catch (const SpecError& error) {
    CHECK(error.issues().size() == 20);
  }
}

TEST_CASE("a well-formed row that cannot be priced is counted, not refused") {
  const Points read = points_in(csv_header +
                                "r,dgx-h100,1,8,all_reduce,half,8,0,0,nccl,,,,\n"
                                "r,dgx-h100,1,8,all_reduce,half,8,1e12,0,nccl,,,,\n"
                                "r,dgx-h100,1,8,all_reduce,half,8,=G2*2,0,nccl,,,,\n"
                                "r,dgx-h100,1,8,all_reduce,half,=2^10,1,0,nccl,,,,\n"
                                "r,dgx-h100,1,8,all_reduce,half,8,,0,nccl,,,,\n"
                                "r,dgx-h100,1,8,gather,half,8,1,0,nccl,,,,\n"
                                "r,dgx-h100,1,8,scatter,half,8,1,0,nccl,,,,\n"
                                "r,dgx-h100,1,8,barrier,half,8,1,0,nccl,,,,\n"
                                "r,dgx-h100,1,8,barrier,half,8,1,0,nccl,,,,\n"
                                "r,dgx-h100,1,8,all_reduce,half,0,1,0,nccl,,,,\n"
                                "r,dgx-h100,1,8,all_reduce,half,8,1,0,nccl,,,,\n");
  CHECK(read.points.size() == 1);
  CHECK(skipped_rows(read, "time_us is 0") == 1);
  CHECK(skipped_rows(read, "time_us is more than a day") == 1);
  CHECK(skipped_rows(read, "time_us is a formula") == 1);
  CHECK(skipped_rows(read, "bytes is a formula") == 1);
  CHECK(skipped_rows(read, "time_us is empty") == 1);
  CHECK(skipped_rows(read, "not modelled: gather") == 1);
  CHECK(skipped_rows(read, "not modelled: barrier") == 2);
  CHECK(skipped_rows(read, "bytes is 0") == 1);
}

TEST_CASE("kernels of engines go by the names that tables give them, machines by their words") {
  const Points read =
      points_in(csv_header +
                "r,\"8x B300 node, 6 of 8 GPUs\",1,6,all_reduce,half,8,1,0,vllm custom_all_reduce,vLLM of March 2026,1-stage,,\n"
                "r,dgx-h100,1,8,all_reduce,half,8,1,0,torch symmetric memory,,multimem,,\n"
                "r,GB300 NVL72,1,4,all_reduce,half,8,1,0,flashinfer,0.6.15,auto,,\n"
                "r,dgx-h100,1,8,all_reduce,half,8,1,0,nccl,,symmetric window,,\n"
                "r,dgx-h100,1,8,all_reduce,half,8,1,0,nccl,,,,\n"
                "r,GB300 NVL72,1,4,all_reduce,half,16,1,0,nccl (symmetric memory where eligible),2.30.7,fallback,,\n");
  REQUIRE(read.points.size() == 6);
  CHECK(read.points[0].kernel == CollectiveKernel::pull_one_shot);
  CHECK(read.points[0].system == "8x-b300-node");
  CHECK(read.points[1].kernel == CollectiveKernel::multicast);
  CHECK(read.points[2].system == "gb300-nvl72");
  CHECK_FALSE(read.points[2].kernel);
  CHECK(read.points[3].windows);
  CHECK_FALSE(read.points[4].windows);
  CHECK(read.points[5].windows);
  CHECK(merge_repeats(read.points).size() == 6);
  CHECK_THROWS_WITH(points_in(csv_header + "r,dgx-h100,1,8,all_reduce,half,8,1,0,vllm,,3-stage,,\n"),
                    Catch::Contains("unknown algorithm \"3-stage\""));
}

TEST_CASE("where the time is left out a bandwidth will do") {
  const Points read =
      points_in("nodes,gpus_per_node,operation,dtype,bytes,time_us,busbw\n1,8,all_reduce,float,1000000000,,175\n", {.system = "dgx-h100"});
  REQUIRE(read.points.size() == 1);
  CHECK(read.points[0].seconds == Approx(0.01));
}

TEST_CASE("sources.csv beside a point file says how the runs were made") {
  const Folder folder;
  (void)folder.write("sources.csv",
                     "id,url,gdr,sharp,nics_per_node,nic_gbps,algorithm_forced,protocol_forced,health,notes\n"
                     "a,x,no,yes,4,200,tree,,complaint,\"two, words\"\nb,x,unknown,unknown,,,,,healthy,\n");
  const Points read = read_points(folder.write(
      "points.csv", csv_header + "a,dgx-h100,2,8,all_reduce,half,8,1,0,nccl,,,,\nb,dgx-h100,2,8,all_reduce,half,8,1,0,nccl,,,,\n"
                                 "c,dgx-h100,2,8,all_reduce,half,8,1,0,nccl,,,,\na,dgx-h100,2,8,all_reduce,half,8,1,0,nccl,,ring,ll,\n"));
  REQUIRE(read.points.size() == 4);
  CHECK(read.points[0].gpu_direct == false);
  CHECK(read.points[0].sharp == true);
  CHECK(read.points[0].nics_per_node == 4);
  CHECK(read.points[0].nic_rate == units::Gbit_per_s(200));
  CHECK(read.points[0].algorithm == Algorithm::tree);
  CHECK(read.points[0].health == "complaint");
  CHECK_FALSE(read.points[1].gpu_direct.has_value());
  CHECK(read.points[1].health == "healthy");
  CHECK(read.points[2].health.empty());
  CHECK(read.points[3].algorithm == Algorithm::ring);  // the point's own cell wins
  CHECK(read.points[3].protocol == Protocol::ll);
}

TEST_CASE("settings of NCCL's environment that notes state are those of the point, and such runs do not merge with others") {
  const Folder folder;
  (void)folder.write("sources.csv", "id,algorithm_forced,notes\na,,\"old nodes, NCCL_NVLS_ENABLE=0\"\nb,tree,NCCL_ALGO=Ring\n");
  const std::string row = ",dgx-h100,2,8,all_reduce,half,8,1,0,nccl,,,,";
  const Points read = read_points(folder.write(
      "points.csv", csv_header + "a" + row + "\nb" + row + "\nc" + row + "one process; NVLS off\nc" + row +
                        "NCCL_ALGO=Ring NCCL_PROTO=LL128; NCCL_PXN_DISABLE=1\nc" + row + "NCCL_NVLS_ENABLE=1\n"));
  REQUIRE(read.points.size() == 5);
  CHECK_FALSE(read.points[0].nvls);
  CHECK(read.points[1].algorithm == Algorithm::tree);  // the column wins over the notes
  CHECK_FALSE(read.points[2].nvls);
  CHECK(read.points[3].algorithm == Algorithm::ring);
  CHECK(read.points[3].protocol == Protocol::ll128);
  CHECK_FALSE(read.points[3].pxn);
  CHECK(read.points[4].nvls);
  CHECK(merge_repeats(read.points).size() == 4);  // of the first and third
}

TEST_CASE("calls that sources.csv says were event-timed waited for their launch, each by itself") {
  const Folder folder;
  (void)folder.write("sources.csv", "id,notes\na,\"best of N, event-timed\"\nb,\"events, timed\"\n");
  const Points read = read_points(folder.write("points.csv", csv_header + "a,mi350x-8,1,8,all_reduce,half,8,1,0,rccl,,,,\n"
                                                                          "b,mi350x-8,1,8,all_reduce,half,8,1,0,rccl,,,,\n"));
  REQUIRE(read.points.size() == 2);
  CHECK(read.points[0].launch == CallLaunch{LaunchMode::eager});
  CHECK(read.points[1].launch == CallLaunch{});
}

TEST_CASE("only regular text files are read") {
  const Folder folder;
  const auto refused = [](const std::filesystem::path& path) -> std::string {
    try {
      (void)read_points(path);
    } catch (const SpecError& error) {
      return error.what();
    }
    return "";
  };
  CHECK(contains(refused(folder.path()), "is a directory"));
  CHECK(contains(refused("/dev/null"), "is a device"));
  CHECK(contains(refused(folder.path() / "absent"), "no such file"));
  CHECK(contains(refused(folder.write("empty", "")), "is empty"));
  CHECK(contains(refused(folder.write("blank", "\n\n")), "is empty"));
  CHECK(contains(refused(folder.write("binary", std::string("ELF\0\1\2", 6))), "zero byte"));
  CHECK(contains(refused(folder.write("utf16", std::string("\xFF\xFEo\0p\0", 6))), "UTF-16"));
  CHECK(contains(refused(folder.write("long", std::string(3U << 20U, 'x'))), "longer than 1 MiB"));
}

TEST_CASE("repeats are merged by their median, whatever their version and place") {
  Points read = points_in(csv_header +
                          "a,dgx-h100,1,8,all_reduce,half,8,10,0,nccl,2.1,,,\n"
                          "b,dgx-h100,1,8,all_reduce,half,8,14,1,nccl,2.2,,,\n"
                          "c,dgx-h100,1,8,all_reduce,half,8,90,1,nccl,2.2,,,\n"
                          "c,dgx-h100,1,8,all_reduce,half,16,1,0,nccl,2.1,,,\n"
                          "c,dgx-h100,1,8,all_reduce,half,16,3,0,nccl,2.1,,,\n"
                          "a,dgx-h100,1,8,all_reduce,half,8,1,0,nccl,2.1,ring,,\n"
                          "a,dgx-h100,1,8,all_reduce,half,8,2,0,rccl,2.1,,,\n"
                          "a,dgx-h100,1,4,all_reduce,half,8,3,0,nccl,2.1,,,\n");
  read.points.push_back(read.points.front());
  read.points.back().gpu_direct = false;
  const std::vector<Point> merged = merge_repeats(read.points);
  REQUIRE(merged.size() == 6);
  CHECK(merged[0].seconds == Approx(14e-6));
  CHECK(merged[0].repeats == 3);
  CHECK_FALSE(merged[0].in_place.has_value());
  CHECK(merged[1].seconds == Approx(2e-6));
  CHECK(merged[1].repeats == 2);
  CHECK(merged[5].gpu_direct == false);
}

TEST_CASE("bytes that are no UTF-8 become characters that say so, and what follows keeps its place") {
  const Points read = points_in(csv_header + "caf\xe9,dgx-h100,1,8,all_reduce,half,1048576,52.5,1,nccl,2.2\xff\xfe,,,Z\xc3\xbcrich \xc3\n");
  REQUIRE(read.points.size() == 1);
  CHECK(read.points[0].source == "caf\xef\xbf\xbd");
  CHECK(read.points[0].library_version == "2.2\xef\xbf\xbd\xef\xbf\xbd");
  CHECK(read.points[0].notes == "Z\xc3\xbcrich \xef\xbf\xbd");
  CHECK(read.points[0].bytes == 1048576);
}

TEST_CASE("points of a run that names the usual machine are of the one that its file says it ran on") {
  const auto of = [](const std::string& source, const std::string& system) {
    return points_in(csv_header + source + "," + system + ",1,8,all_reduce,half,1048576,400,,nccl,2.27.3,,,\n").points.at(0).system.str();
  };
  CHECK(of("aiconfigurator/l40s/nccl/2.27.3", "l40s-pcie") == "l40s-aiconfigurator");
  CHECK(of("aiconfigurator/l40s/sglang/0.5.12", "l40s-pcie") == "l40s-pcie");  // another board
  CHECK(of("my own run", "l40s-pcie") == "l40s-pcie");
  CHECK(of("aiconfigurator/l40s/nccl/2.27.3", "dgx-h100") == "dgx-h100");
}

TEST_CASE("rows that name the machine of a file, by its name in there or by the file's, are of that file") {
  const Folder folder;
  const std::string own = folder.write("tree.yaml", "name: my-tree\ntitle: a tree\nextends: dgx-h100\n");
  const auto of = [&](const std::string& system) {
    return points_in(csv_header + "a," + system + ",1,8,all_reduce,half,1048576,400,,nccl,2.27.3,,,\n", {.system = own})
        .points.at(0)
        .system.str();
  };
  for (const char* name : {"tree", "my-tree", ""}) CHECK(of(name) == own);
  CHECK(of("dgx-h100") == "dgx-h100");
  CHECK(of("my") == "my");
}

TEST_CASE("copies between a GPU and its host have the direction that their probe had") {
  const auto path = [](const std::string& notes, const char* both) {
    return points_in("operation,system,nodes,gpus_per_node,bytes,time_us,notes,path,both_ways\nsend_recv,dgx-h100,1,1,4096,2.5," + notes +
                     ",gpu-host," + both + "\n").points.at(0).path;
  };
  CHECK(path("probe host_to_device; pinned yes", "0") == Path::to_gpu);
  CHECK(path("probe device_to_host; pinned yes", "0") == Path::from_gpu);
  CHECK(path("probe host_both_ways; pinned yes", "1") == Path::both_ways);
  CHECK(path("", "") == Path::gpu_host);
}
