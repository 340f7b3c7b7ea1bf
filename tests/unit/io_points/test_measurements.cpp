// Logs and tables of the shared measurements: the points taken from them, how well they are predicted, and what may stand around their
// lines.
#include "files.hpp"

#include <fabricost/readings/points.hpp>
#include <fabricost/specs/data_directory.hpp>
#include <fabricost/specs/load.hpp>
#include <fabricost/validation/validate.hpp>

#include "support/measurements.hpp"

#include <catch.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <sstream>
#include <tuple>

using namespace fabricost::plan;
using namespace fabricost::test;
using namespace fabricost::observe;

TEST_CASE("copies of two GPUs of our own are predicted within 10 % median and 15 % mean, 85 % inside") {
  for (const char* gpu : {"h100", "h200"}) {
    INFO(gpu);
    const ValidationReport report = validate(read_points(data_directory() / "measurements" / (std::string{gpu} + ".csv")));
    CHECK(report.total.points >= 30);
    CHECK(report.total.median_ape <= 10);
    CHECK(report.total.mape <= 15);
    CHECK(report.total.interval_coverage >= 0.85);
    for (const ErrorGroup& size : report.by_size) CHECK(size.errors.median_ape <= 10);
  }
}

// Text that launchers, collectors and terminals add around a log's lines does not change what is read.

namespace {

using LineChange = std::function<std::string(const std::string& line, int number)>;

struct Decoration {
  const char* name;
  LineChange change;
};

std::vector<Decoration> decorations() {
  return {{"mpirun --tag-output", [](const std::string& l, int n) { return "[1," + std::to_string(n % 7) + "]<stdout>:" + l; }},
          {"mpirun 5", [](const std::string& l, int) { return "[1,0]<stdout>: " + l; }},
          {"srun --label", [](const std::string& l, int) { return "0: " + l; }},
          {"pdsh", [](const std::string& l, int) { return "node1: " + l; }},
          {"kubectl logs --prefix", [](const std::string& l, int) { return "[pod/nccl-launcher-x7x2b/launcher] " + l; }},
          {"kubectl logs --timestamps", [](const std::string& l, int) { return "2025-03-01T10:11:12.345678901Z " + l; }},
          {"syslog", [](const std::string& l, int) { return "Mar  1 10:11:12 host slurm[4242]: " + l; }},
          {"colours", [](const std::string& l, int) { return "\x1B[1;32m" + l + "\x1B[0m"; }},
          {"CRLF", [](const std::string& l, int) { return l + "\r"; }},
          {"tabs for blanks",
           [](std::string l, int) {
             for (char& c : l)
               if (c == ' ') c = '\t';
             return l;
           }},
          {"trailing blanks", [](const std::string& l, int) { return l + "   "; }},
          {"NCCL's own lines between",
           [](const std::string& l, int n) {
             return n % 2 == 0 ? l + "\nhost0:4180122:4180165 [0] NCCL INFO Channel 00/24 : 0[0] -> 1[1] via P2P/CUMEM/read" : l;
           }},
          {"warnings between", [](const std::string& l, int n) {
             return n % 3 == 0 ? l + "\n\nWarning: Permanently added '10.0.0.7' (ED25519) to the list of known hosts." : l;
           }}};
}

std::string decorated(const std::filesystem::path& file, const LineChange& change) {
  std::ifstream in(file, std::ios::binary);
  std::string out, line;
  int number = 0;
  while (std::getline(in, line)) out += change(line, number++) + "\n";
  return out;
}

/// Some of the collection are tables made from JSON, no logs.
bool is_table(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::string line;
  while (std::getline(in, line))
    if (line.rfind("nodes,", 0) == 0) return true;
  return false;
}

/// The points in a form to compare: operation, bytes, time, place, ranks.
std::string listed(const Points& read) {
  std::ostringstream out;
  out.precision(12);
  for (const Point& p : read.points)
    out << name(p.collective) << ' ' << p.bytes << ' ' << p.seconds << ' ' << (p.in_place ? *p.in_place ? "in" : "out" : "") << ' '
        << p.nodes << 'x' << p.gpus_per_node << ' ' << (p.path ? name(*p.path) : "") << p.both_ways << p.library_version << '\n';
  for (const Skipped& s : read.skipped) out << s.rows << ' ' << s.reason << '\n';
  return out.str();
}

std::string read_as(const Folder& folder, const std::string& stem, const std::string& text) {
  try {
    return listed(read_points(folder.write(stem, text), {.system = "dgx-h100"}));
  } catch (const Error&) {
    return "refused";
  }
}

}  // namespace

TEST_CASE("decorated logs give the points of plain ones", "[measurements]") {
  const auto folder = measurements();
  if (folder.empty()) return;
  std::vector<std::filesystem::path> files;
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "multinode" / "logs"))
    if (++count % 9 == 0 && !is_table(entry.path())) files.push_back(entry.path());
  for (const auto& entry : std::filesystem::directory_iterator(folder / "multinode" / "p2p"))
    if (entry.path().extension() == ".txt") files.push_back(entry.path());
  const Folder scratch;
  int compared = 0;
  for (const auto& file : files) {
    const std::string plain = read_as(scratch, file.filename().string(), decorated(file, [](const std::string& l, int) { return l; }));
    for (const Decoration& d : decorations()) {
      INFO(file.filename().string() << ", " << d.name);
      CHECK(read_as(scratch, file.filename().string(), decorated(file, d.change)) == plain);
      ++compared;
    }
  }
  CHECK(compared > 500);
}
