// Real outputs of point-to-point benchmarks against others' conclusions from them, one value or cluster of values a row.
#include "files.hpp"
#include "support/measurements.hpp"

#include "text/csv.hpp"

#include <catch.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

using namespace fabricost::core;
using namespace fabricost::test;

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
