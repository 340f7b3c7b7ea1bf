// Point-to-point benchmarks as they survive in logs, on numbers written here.
#include "files.hpp"

#include <fabricost/predict/predict.hpp>
#include <fabricost/specs/load.hpp>
#include <fabricost/validation/validate.hpp>

#include <catch.hpp>

#include <fmt/format.h>

using namespace fabricost::core;
using namespace fabricost::test;

namespace {

double rate(const Point& p) { return p.bytes / p.seconds / 1e9; }

const std::string p2p =
    "Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)\n"
    "   D\\D     0      1 \n"
    "     0 2494.51 364.13 \n"
    "     1 375.18 2533.95 \n"
    "Bidirectional P2P=Enabled Bandwidth Matrix (GB/s)\n"
    "   D\\D     0      1 \n"
    "     0 2494.51 700.00 \n"
    "     1 704.00 2533.95 \n"
    "P2P=Enabled Latency (P2P Writes) Matrix (us)\n"
    "   GPU     0      1 \n"
    "     0   2.18   2.50 \n"
    "     1   2.52   2.20 \n"
    "\n"
    "   CPU     0      1 \n"
    "     0   1.85   1.43 \n"
    "     1   1.48   1.79 \n";

const std::string bw_header = " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n";

}  // namespace

TEST_CASE("p2pBandwidthLatencyTest: one way, half of both ways, latency; diagonals and CPU times are left out") {
  const Points read = points_in(p2p, h100);
  REQUIRE(read.points.size() == 6);
  CHECK(rate(read.points[0]) == Approx(364.13));
  CHECK_FALSE(read.points[0].both_ways);
  CHECK(read.points[0].bytes == 160e6);
  CHECK(rate(read.points[2]) == Approx(350));
  CHECK(read.points[2].both_ways);
  CHECK(contains(read.points[2].notes, "halved"));
  CHECK(read.points[4].seconds == Approx(2.5e-6));
  CHECK(read.points[4].bytes == 16);
  CHECK(skipped_rows(read, "diagonal") == 8);
  CHECK(skipped_rows(read, "on the CPU") == 2);
  for (const Point& p : read.points) {
    CHECK(p.path == Path::gpu_gpu);
    CHECK(p.library == "p2pBandwidthLatencyTest");
    CHECK(p.ranks() == 2);
  }
}

TEST_CASE("a sum of directions that differ cannot be halved") {
  const Points read =
      points_in("Bidirectional P2P=Enabled Bandwidth Matrix (GB/s)\n   D\\D     0      1 \n     0 900.0 50.0 \n     1 80.0 900.0 \n", h100);
  CHECK(read.points.empty());
  CHECK(skipped_rows(read, "differ by more than 10 %") == 2);
}

TEST_CASE("pairs without peer access say that their copies are staged") {
  const Points read = points_in("Device=0 CANNOT Access Peer Device=1\nDevice=1 CAN Access Peer Device=0\n" + p2p, h100);
  REQUIRE(read.points.size() == 6);
  CHECK(contains(read.points[0].notes, "no peer access"));
  CHECK_FALSE(contains(read.points[1].notes, "no peer access"));
}

TEST_CASE("nvbandwidth: direction and path are those of the test, bidirectional figures of the measured stream are not halved") {
  const Points read = points_in(
      "nvbandwidth Version: v0.8\n\nRunning host_to_device_memcpy_ce.\nmemcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)\n"
      "           0         1\n 0     55.28     55.30\n\nSUM host_to_device_memcpy_ce 110.58\n\n"
      "Running device_to_device_bidirectional_memcpy_write_sm.\n"
      "memcpy SM CPU(row) <-> GPU(column) Write1 bandwidth (GB/s)\n           0         1\n 0       N/A    170.54\n 1    171.00       "
      "N/A\n\n"
      "memcpy SM CPU(row) <-> GPU(column) Total bandwidth (GB/s)\n           0         1\n 0       N/A    340.54\n 1    341.00       "
      "N/A\n\n"
      "Running device_local_copy.\nmemcpy local GPU(column) bandwidth (GB/s)\n           0         1\n 0    1500.1    1500.2\n\n"
      "Running device_to_device_latency_sm.\nDevice to Device Latency SM GPU(row) <-> GPU(column) (ns)\n           0         1\n"
      " 0       N/A    600.54\n 1    601.00       N/A\n",
      h100);
  REQUIRE(read.points.size() == 4);
  CHECK(read.points[0].path == Path::to_gpu);
  CHECK(rate(read.points[0]) == Approx(55.28));
  CHECK(read.points[0].bytes == 512.0 * 1024 * 1024);
  CHECK(read.points[0].library_version == "0.8");
  CHECK(read.points[2].path == Path::gpu_gpu);
  CHECK(read.points[2].both_ways);
  CHECK(rate(read.points[2]) == Approx(170.54));
  CHECK(skipped_rows(read, "printed one by one") == 2);
  CHECK(skipped_rows(read, "inside one GPU") == 2);
  CHECK(skipped_rows(read, "dependent loads") == 2);
}

TEST_CASE("the JSON of nvbandwidth is the same, and a cell that is no number is a fault with its line") {
  const auto json = [](const std::string& cell) {
    return "{\n\t\"nvbandwidth\" : \n\t{\n\t\t\"git_version\" : \"v0.8\",\n\t\t\"testcases\" : \n\t\t[\n\t\t\t{\n"
           "\t\t\t\t\"bandwidth_description\" : \"memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)\",\n"
           "\t\t\t\t\"bandwidth_matrix\" : \n\t\t\t\t[\n\t\t\t\t\t[\n\"N/A\",\n\"" +
           cell +
           "\"\n],[\"276.5\", \"N/A\"]\n],\n\t\t\t\t\"name\" : \"device_to_device_memcpy_read_ce\",\n\t\t\t\t\"status\" : \"Passed\",\n"
           "\t\t\t\t\"sum\" : 552.5\n\t\t\t},\n{\"name\": \"x_ce\", \"status\": \"Waived\"}]}}\n";
  };
  const Points read = points_in(json("276.0"), h100);
  REQUIRE(read.points.size() == 2);
  CHECK(rate(read.points[0]) == Approx(276));
  CHECK(read.points[0].path == Path::gpu_gpu);
  CHECK(skipped_rows(read, "Waived") == 1);
  CHECK(contains(refusal(json("fast"), h100), "file.txt:13:"));
  CHECK(contains(refusal(json("fast"), h100), "\"fast\" is not a number"));
  const std::string whole = json("276.0");
  CHECK(contains(refusal(whole.substr(0, whole.size() / 2), h100), "file.txt:"));
}

TEST_CASE("perftest: MB/sec are 2^20 bytes, Gb/sec 10^9 bits, the average counts, both ways are halved") {
  const std::string mb = " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n";
  const Points one = points_in(
      "                    RDMA_Write BW Test\n" + mb + " 65536      5000             11800.00            11000.00            0.176000\n",
      h100);
  REQUIRE(one.points.size() == 1);
  CHECK(rate(one.points[0]) == Approx(11000 * 1.048576e-3));
  CHECK(one.points[0].path == Path::nic);
  CHECK(one.points[0].streamed);
  CHECK_FALSE(one.points[0].contradicts_itself);
  const Points gb = points_in(
      "                    RDMA_Read BW Test\n" + bw_header + " 65536      5000             92.57            92.40   0.176240\n", h100);
  REQUIRE(gb.points.size() == 1);
  CHECK(rate(gb.points[0]) == Approx(92.4 / 8));
  const Points both =
      points_in("                    Send Bidirectional BW Test\n" + bw_header + " 65536      5000    0.00   184.80   0.352478\n", h100);
  REQUIRE(both.points.size() == 1);
  CHECK(both.points[0].both_ways);
  CHECK(rate(both.points[0]) == Approx(92.4 / 8));
  CHECK(contains(refusal("RDMA_Write BW Test\n" + std::string(" #bytes     #iterations    BW peak[kB/sec]    BW average[kB/sec]\n"), h100),
                 "unit nobody here knows"));
}

TEST_CASE("perftest: the typical latency counts, and a row cut before it is none") {
  const std::string header =
      " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   99% percentile[usec]   99.9% "
      "percentile[usec]\n";
  const std::string row = " 2       1000          1.42           1.93         1.47                1.48             0.00            1.57\n";
  const Points read = points_in("RDMA_Write Latency Test\n" + header + row, h100);
  REQUIRE(read.points.size() == 1);
  CHECK(read.points[0].seconds == Approx(1.47e-6));
  CHECK_FALSE(read.points[0].streamed);
  const Points cut = points_in("RDMA_Write Latency Test\n" + header + row.substr(0, row.find("1.47") + 3), h100);
  CHECK(cut.points.empty());
  CHECK(skipped_rows(cut, "cut short") == 1);
  const Points reading = points_in("RDMA_Read Latency Test\n" + header + row, h100);
  CHECK(contains(reading.points.at(0).notes, "request out, data back"));
}

TEST_CASE("OSU: MB/s are 10^6 bytes, bidirectional rates are halved, --nodes 1 means inside a node") {
  const std::string rows = "# Size      Bandwidth (MB/s)\n1                       1.19\n4194304             24000.00\n";
  const Points bw = points_in("# OSU MPI Bandwidth Test v7.5\n# Datatype: MPI_CHAR.\n" + rows, h100);
  REQUIRE(bw.points.size() == 2);
  CHECK(rate(bw.points[1]) == Approx(24));
  CHECK(bw.points[1].path == Path::nic);
  CHECK(bw.points[1].library_version == "7.5");
  const Points inside = points_in("# OSU MPI-CUDA Bandwidth Test v7.5\n" + rows, {.system = "dgx-h100", .nodes = 1});
  CHECK(inside.points.at(1).path == Path::gpu_gpu);
  const Points pair = points_in("export HIP_VISIBLE_DEVICES=0,2\n# OSU MPI-ROCM Bandwidth Test v7.0\n" + rows, h100);
  CHECK(pair.points.at(1).path == Path::gpu_gpu);
  const Points both = points_in("# OSU MPI Bi-Directional Bandwidth Test v5.9\n" + rows, h100);
  CHECK(rate(both.points.at(1)) == Approx(12));
  CHECK(both.points.at(1).both_ways);
  const Points latency =
      points_in("# OSU MPI Latency Test v5.9\n# Size          Latency (us)\n0                       1.19\n8     1.25\n", h100);
  REQUIRE(latency.points.size() == 1);
  CHECK(latency.points[0].seconds == Approx(1.25e-6));
  CHECK(skipped_rows(latency, "bytes is 0") == 1);
}

TEST_CASE("OSU: a table whose title is lost is read when its command is there, and skipped when nothing names it") {
  const std::string rows = "# Size      Bandwidth (MB/s)\n4194304             24000.00\n";
  CHECK(rate(points_in("$ srun -n2 -N2 ./osu_bibw D D\n" + rows, h100).points.at(0)) == Approx(12));
  CHECK(rate(points_in("--- osu_bw (D D) ---\n" + rows, h100).points.at(0)) == Approx(24));
  CHECK(points_in("mpirun -np 2 osu_allreduce\n# Size       Avg Latency(us)\n1024   12.50\n", h100).points.at(0).collective ==
        Collective::all_reduce);
  const Points alone = points_in(rows, h100);
  CHECK(alone.points.empty());
  CHECK(skipped_rows(alone, "without its title") == 1);
}

TEST_CASE("OSU's collectives: sizes of one rank's message become sizes of nccl-tests, with one column or many") {
  struct Row {
    const char *title, *columns;
    Collective collective;
    double times;
  };
  const std::string many = "# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations\n";
  const std::string one = "# Size       Avg Latency(us)\n";
  const std::vector<Row> rows{{"Allreduce", many.c_str(), Collective::all_reduce, 1},
                              {"Allgather", one.c_str(), Collective::all_gather, 16},
                              {"All-to-All Personalized Exchange", many.c_str(), Collective::all_to_all, 16},
                              {"Reduce_scatter", one.c_str(), Collective::reduce_scatter, 1},
                              {"Broadcast", one.c_str(), Collective::broadcast, 1},
                              {"Reduce", many.c_str(), Collective::reduce, 1}};
  for (const Row& r : rows) {
    INFO(r.title);
    const std::string cells = std::string(r.columns) == many ? "1024   12.50    11.00   14.00   1000\n" : "1024   12.50\n";
    const Points read = points_in(fmt::format("# OSU MPI-CUDA {} Latency Test v7.0\n{}{}", r.title, r.columns, cells),
                                  {.system = "dgx-h100", .nodes = 2, .ranks = 16});
    REQUIRE(read.points.size() == 1);
    CHECK(read.points[0].collective == r.collective);
    CHECK(read.points[0].bytes == 1024 * r.times);
    CHECK(read.points[0].seconds == Approx(12.5e-6));
    CHECK(read.points[0].nodes == 2);
    CHECK(read.points[0].gpus_per_node == 8);
  }
  const Points other = points_in("# OSU MPI Gather Latency Test v7.0\n" + one + "1024   12.50\n", h100);
  CHECK(other.points.empty());
  CHECK(skipped_rows(other, "not modelled") == 1);
}

TEST_CASE("a log with tables of two tools gives the points of both") {
  const Points read = points_in(p2p +
                                    "# Collective test starting: all_reduce_perf\n#       size         count      type   redop    root     "
                                    "time   algbw   busbw #wrong\n"
                                    "     1048576        262144     float     sum      -1    27.37   38.31   67.04      0\n",
                                h100);
  CHECK(read.points.size() == 7);
  CHECK(read.points.back().collective == Collective::all_reduce);
}

TEST_CASE("transfers are predicted over the path they took") {
  Points points = points_in(p2p, h100);
  Point host = points.points[0], nic = points.points[0];
  host.path = Path::gpu_host;
  host.gpus_per_node = 1;
  nic.path = Path::nic;
  nic.nodes = 2;
  nic.gpus_per_node = 1;
  points.points = {points.points[0], host, nic};
  const ValidationReport report = validate(points);
  REQUIRE(report.points.size() == 3);
  const System system = load_system("dgx-h100");
  for (const ComparedPoint& p : report.points) {
    System without = system;
    if (p.point.path == Path::nic) without.constants.transport.send_channel = 1e12;  // no library is named: its messages need no channels of NCCL
    CHECK(p.prediction.seconds == predict(without, SendRecv{.bytes = Bytes::from_value(160e6), .path = *p.point.path}).seconds);
  }
}
