// Point-to-point benchmarks as they survive in logs, on numbers written here.
#include "files.hpp"
#include "text/csv.hpp"

#include <fabricost/predict/predict.hpp>
#include <fabricost/specs/load.hpp>
#include <fabricost/validation/validate.hpp>

#include "support/measurements.hpp"

#include <catch.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
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

TEST_CASE("rows that other output broke are counted together, with the line of the first") {
  const std::string head = "# OSU MPI Bandwidth Test v7.5\n# Size      Bandwidth (MB/s)\n";
  const Points read = points_in(head + "1024   100.5\n2048   20[0.1\n4096   30x0.1\n8192   400.2\n", h100);
  REQUIRE((read.points.size() == 2 && read.skipped.size() == 1));
  CHECK((read.skipped.front().rows == 2 && contains(read.skipped.front().reason, "first in line 4")));
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

// Real outputs of point-to-point benchmarks against others' conclusions from them, one value or cluster of values a row.

namespace {

struct Conclusion {
  std::string system, kind, unit, tool, notes;
  bool both = false;
  double value = 0, bytes = 0;
};

std::vector<Conclusion> conclusions(const std::filesystem::path& folder) {
  CsvTable table(folder / "points.csv");
  const auto cell = [&](const char* name) { return table.cell(table.column(name)); };
  std::vector<Conclusion> out;
  while (table.next())
    out.push_back({cell("system"), cell("pair_kind"), cell("unit"), cell("tool"), cell("notes"), cell("direction") == "both",
                   parse_number(cell("value")).value_or(0), parse_number(cell("bytes")).value_or(0)});
  table.finish();
  return out;
}

std::vector<Conclusion> of(const std::vector<Conclusion>& all, const std::string& system, const std::string& tool) {
  std::vector<Conclusion> out;
  std::copy_if(all.begin(), all.end(), std::back_inserter(out),
               [&](const Conclusion& c) { return c.system == system && c.tool.find(tool) != std::string::npos; });
  return out;
}

Points points_of(const std::filesystem::path& file) { return read_points(file, {.system = "dgx-h100"}); }

/// The number that the tool printed for a point: GB/s (of both directions together where it adds them) or us.
double printed(const Point& p, bool latency, bool sum) { return latency ? p.seconds * 1e6 : p.bytes / p.seconds / 1e9 * (sum ? 2 : 1); }

/// The path that the name of a test of nvbandwidth says.
Path path_of(const std::string& test) {
  const auto says = [&](const char* word) { return test.find(word) != std::string::npos; };
  if (says("device_to_device")) return Path::gpu_gpu;
  if (says("bidirectional")) return Path::both_ways;
  return says("host_to_device") ? Path::to_gpu : Path::from_gpu;
}

int staged_rows(const Points& read) { return skipped_rows(read, "P2P disabled"); }

}  // namespace

TEST_CASE("matrices of p2pBandwidthLatencyTest give the pair values others read in them", "[measurements]") {
  const auto folder = measurements();
  if (folder.empty()) return;
  const auto all = conclusions(folder / "multinode" / "p2p");
  const std::array<std::pair<const char*, const char*>, 9> files{
      {{"p2pbw_01_4x_rtx6000ada_esc8000a", "ASUS ESC8000A-E12 4x RTX 6000 Ada"},
       {"p2pbw_03_rtx6kpro_pcie_full", "RTX PRO 6000 PCIe5"},
       {"p2pbw_06_dgx1_v100_partial", "NVIDIA DGX-1 V100 (row 0 of each matrix only)"},
       {"p2pbw_08_2x_rtx4090_nop2p", "2x RTX 4090 (no P2P, stock driver)"},
       {"p2pbw_09_p9_4x_v100_nv3", "IBM POWER9 AC922 4x V100 (NV3 pairs; SYS across)"},
       {"p2pbw_11_3x_rtx4090_p2pdriver", "3x RTX 4090 (PCIe4 x16, P2P driver)"},
       {"p2pbw_12_8x_h100_partial", "8x H100 SXM HGX (NV18), truncated"},
       {"p2pbw_20_ml_engineering", "8x A100 NV12"},
       {"p2pbw_21_ml_engineering", "8x H100 NV18"}}};
  for (const auto& [file, system] : files) {
    INFO(file);
    const Points read = points_of(folder / "multinode" / "p2p" / (std::string(file) + ".txt"));
    const auto wanted = of(all, system, "p2pBandwidthLatencyTest");
    REQUIRE_FALSE(wanted.empty());
    int staged = 0, explained = 0;
    for (const Conclusion& c : wanted) {
      int pairs = 0;
      double low = 0, high = 0;
      REQUIRE(std::sscanf(c.notes.c_str() + c.notes.find("median of ") + 10, "%d", &pairs) == 1);
      REQUIRE(std::sscanf(c.notes.c_str() + c.notes.find("range ") + 6, "%lf-%lf", &low, &high) == 2);
      if (c.kind == "host-staged") {
        staged += pairs;
        continue;
      }
      INFO(c.notes);
      const bool latency = c.unit == "us";
      const auto inside = std::count_if(read.points.begin(), read.points.end(), [&](const Point& p) {
        if (p.both_ways != c.both || (p.bytes == 16) != latency) return false;
        const double value = printed(p, latency, c.both);
        return value > low - 0.006 && value < high + 0.006;
      });
      // a number at the very end of a cut file may have lost digits and is left out
      const int cut = skipped_rows(read, "cut short");
      CHECK(inside >= pairs - cut);
      CHECK(inside <= pairs);
      explained += static_cast<int>(inside);
    }
    CHECK(staged_rows(read) == staged);
    CHECK(explained == static_cast<int>(read.points.size()));
    for (const Point& p : read.points) {
      CHECK(p.collective == Collective::send_recv);
      CHECK(p.path == Path::gpu_gpu);
    }
  }
}

TEST_CASE("tests of nvbandwidth give the values others read in them", "[measurements]") {
  const auto folder = measurements();
  if (folder.empty()) return;
  const auto all = conclusions(folder / "multinode" / "p2p");
  const std::array<std::pair<const char*, const char*>, 4> files{{{"nvbandwidth_01_dgxstation_gb300.txt", "DGX Station (half GB300) C2C"},
                                                                  {"nvbandwidth_03_8x_h800.txt", "8x H800 (x86)"},
                                                                  {"nvbandwidth_04_4x_rtx5090.json", "4x RTX 5090 Inspur NF5468-M7"},
                                                                  {"nvbandwidth_06_readme_h2d_multinode.txt", "README example"}}};
  for (const auto& [file, system] : files) {
    INFO(file);
    const Points read = points_of(folder / "multinode" / "p2p" / file);
    CHECK_FALSE(read.points.empty());
    for (const Conclusion& c : of(all, system, "nvbandwidth")) {
      // the test's name stands in the notes of the text's rows and as the kind of the JSON's
      const std::string test = c.notes.rfind("median", 0) == 0 ? c.kind : c.notes.substr(0, c.notes.find(' '));
      if (std::string(file).find("_06_") != std::string::npos && test != "host_to_device_memcpy_ce") continue;  // of another excerpt
      INFO(test);
      std::vector<double> values;
      for (const Point& p : read.points)
        if (p.notes.str().rfind(test + ";", 0) == 0) {
          values.push_back(printed(p, false, contains(p.notes, "halved")));
          CHECK(p.both_ways == c.both);
          CHECK(p.path == path_of(test));
        }
      // several GPUs at once, dependent loads (nanoseconds, read as GB/s there) and copies inside one GPU are no transfers between two ends
      if (test.find("all") != std::string::npos || test.find("one_to") != std::string::npos || test.find("latency") != std::string::npos ||
          test.find("local") != std::string::npos) {
        CHECK(values.empty());
        continue;
      }
      REQUIRE_FALSE(values.empty());
      std::sort(values.begin(), values.end());
      const std::size_t n = values.size();
      const double median = n % 2 == 1 ? values[n / 2] : 0.5 * (values[n / 2 - 1] + values[n / 2]);
      CHECK(median == Approx(c.value).margin(0.011));
      int count = 0;
      REQUIRE(std::sscanf(c.notes.c_str() + c.notes.find("median of ") + 10, "%d", &count) == 1);
      CHECK(static_cast<int>(n) == count);
    }
  }
}

TEST_CASE("copies by kernels both ways between GPUs, printed as a sum, are halved", "[measurements]") {
  const auto folder = measurements();
  if (folder.empty()) return;
  const Points read = points_of(folder / "multinode" / "p2p" / "nvbandwidth_03_8x_h800.txt");
  int found = 0;
  for (const Point& p : read.points)
    if (p.notes.str().rfind("device_to_device_bidirectional_memcpy_read_sm;", 0) == 0) {
      ++found;
      CHECK(p.both_ways);
      CHECK(p.bytes == 64.0 * 1024 * 1024);                      // version 0.2
      CHECK(printed(p, false, false) == Approx(151).margin(1));  // of a link of 200 GB/s one way: 302 can only be a sum
    }
  CHECK(found == 56);
}

TEST_CASE("rows of perftest and OSU give the rates and times others read in them", "[measurements]") {
  const auto folder = measurements();
  if (folder.empty()) return;
  const auto all = conclusions(folder / "multinode" / "p2p");
  struct Source {
    const char *file, *system, *tool;
    std::size_t rows;
  };
  const std::array<Source, 12> files{{{"ib_read_lat_01_azure_ndv4", "Azure ND A100 v4 HDR IB", "ib_read_lat", 1},
                                      {"ib_write_bw_01_azure_ndv4", "Azure ND A100 v4 HDR IB", "ib_write_bw", 23},
                                      {"ib_write_bw_03_dgx1_roce100", "DGX-1 ConnectX-5 RoCE 100G", "ib_write_bw", 1},
                                      {"ib_write_bw_04_dgxspark_a", "2x DGX Spark RoCE (port 1 of 2)", "ib_write_bw", 5},
                                      {"ib_write_bw_06_oci_100g", "OCI RDMA 100G (A100 shape)", "ib_write_bw", 1},
                                      {"ib_write_bw_07_superbench_loopback_hdr", "Azure NDv4 HDR loopback all sizes", "ib_write_bw", 24},
                                      {"ib_write_lat_03_dgxspark", "2x DGX Spark ConnectX-7 RoCE", "ib_write_lat", 1},
                                      {"osu_01_alps_mpich_bw", "osu_01_alps_mpich_bw.txt", "osu_bw", 23},
                                      {"osu_03_alps_mpich_bw", "osu_03_alps_mpich_bw.txt", "osu_bw", 23},
                                      {"osu_04_alps_mpich_bw", "osu_04_alps_mpich_bw.txt", "osu_bw", 23},
                                      {"osu_20_kaust_ibex_bibw", "osu_20_kaust_ibex_bibw.txt", "osu_bibw", 23},
                                      {"osu_21_kaust_ibex_bibw", "osu_21_kaust_ibex_bibw.txt", "osu_bibw", 23}}};
  for (const Source& source : files) {
    INFO(source.file);
    const Points read = points_of(folder / "multinode" / "p2p" / (std::string(source.file) + ".txt"));
    std::vector<Conclusion> wanted;
    for (const Conclusion& c : all)
      if (c.tool == source.tool && (c.system == source.system || c.notes == source.system)) wanted.push_back(c);
    REQUIRE(wanted.size() == source.rows);
    REQUIRE(read.points.size() == source.rows);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const Point& p = read.points[i];
      const Conclusion& c = wanted[i];
      INFO(c.bytes);
      CHECK(p.bytes == c.bytes);
      // one of them ran with -N1 between two GPUs of a node: 115 GB/s is no NIC's, whatever the collection calls it
      const bool inside = std::string(source.file).find("osu_03") != std::string::npos;
      CHECK(p.path == (inside ? Path::gpu_gpu : Path::nic));
      CHECK(p.both_ways == c.both);
      CHECK(p.nodes == (inside ? 1 : 2));
      CHECK_FALSE(p.contradicts_itself);
      // the conclusions keep three digits after the point
      CHECK(printed(p, c.unit == "us", c.both) == Approx(c.value).margin(0.00051));
    }
  }
}
