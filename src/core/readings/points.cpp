/// Selects the reader of a file by its content, and guesses the kind of one that no reader accepted.

#include <fabricost/readings/points.hpp>

#include "readings/logs/pair_points.hpp"
#include "readings/point_readers.hpp"
#include "text/csv.hpp"
#include "text/line_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace fabricost::core {

namespace {

enum class Format : unsigned char { points, moe, workload, json, text };

/// The format of a file by its first line that is neither empty nor a comment.
Format format_of(const std::filesystem::path& file) {
  LineReader reader(file);
  std::string line;
  bool anything = false;
  while (reader.next(line)) {
    const auto first = line.find_first_not_of(" \t");
    if (first == std::string::npos) continue;
    anything = true;
    if (line[first] == '#') continue;
    const auto second = line.find_first_not_of(" \t", first + 1);
    if (line[first] == '{' || (line[first] == '[' && (second == std::string::npos || line[second] == '{'))) return Format::json;
    std::vector<CsvCell> cells;
    if (line.find(',') == std::string::npos || split_csv(line, cells)) return Format::text;
    const auto has = [&](std::string_view name) {
      return std::any_of(cells.begin(), cells.end(), [&](const CsvCell& c) { return c.text == name; });
    };
    if (has("phase") && has("tokens_per_rank")) return Format::moe;
    if (has("operation") || (has("bytes") && has("time_us"))) return Format::points;
    if (has("id") && has("group") && has("source")) return Format::workload;
    return Format::text;
  }
  if (!anything)
    throw fault_of_file(file.string(), "is empty",
                        "give a point CSV (header source,system,nodes,...) or the output of a benchmark; docs/reading-logs.md lists them");
  return Format::text;
}

/// Tools whose output a few words identify; the remaining one is nccl-tests.
struct TextTool {
  std::array<std::string_view, 3> marks;  ///< any of them; empty: none
  std::string_view library;
  void (*read)(const std::filesystem::path&, PointMaker&);
};
constexpr std::array<TextTool, 4> text_tools{
    {{{"nvbandwidth Version", "memcpy CE ", "memcpy SM "}, "nvbandwidth", read_nvbandwidth},
     {{"D\\D", "P2P=Enabled", "P2P=Disabled"}, "p2pBandwidthLatencyTest", read_p2p_bandwidth_latency},
     {{"# OSU ", "# Size ", ""}, "osu", read_osu},
     {{"#iterations", "BW average[", "t_typical["}, "perftest", read_perftest}}};
/// Lines searched for these words.
constexpr int lines_that_tell = 20000;

/// The tools whose marks occur in a text, and whether those of nccl-tests do.
struct MarksFound {
  std::array<bool, text_tools.size()> tool{};
  bool nccl = false, whole = true;
  [[nodiscard]] bool any() const { return std::find(tool.begin(), tool.end(), true) != tool.end(); }
};
MarksFound marks_in(const std::filesystem::path& file) {
  MarksFound out;
  LineReader reader(file);
  std::string line;
  while (reader.next(line)) {
    if (reader.number() > lines_that_tell) {
      out.whole = false;
      break;
    }
    undecorate(line);
    squeeze(line);
    if (line.find("busbw") != std::string::npos) {
      out.nccl = true;
      if (!out.any()) return out;  // rows follow: other marks would have come before
    }
    for (std::size_t i = 0; i < text_tools.size(); ++i)
      for (const std::string_view mark : text_tools[i].marks)
        if (!mark.empty() && line.find(mark) != std::string::npos) out.tool[i] = true;
  }
  return out;
}

std::vector<Skipped> read_text(const std::filesystem::path& file, const PointDefaults& otherwise, const RunDescriptions& runs,
                               const PointSink& sink) {
  const MarksFound found = marks_in(file);
  std::vector<Skipped> skipped;
  bool anything = false;
  for (std::size_t i = 0; i < text_tools.size(); ++i) {
    if (!found.tool[i]) continue;
    PointMaker points(file, otherwise, runs, text_tools[i].library, sink);
    text_tools[i].read(file, points);
    anything = anything || points.anything();
    for (const Skipped& s : std::move(points).skipped()) count_skipped(skipped, s.reason, s.rows);
  }
  if (found.nccl || !anything)
    for (const Skipped& s : read_nccl_tests(file, otherwise, runs, sink)) count_skipped(skipped, s.reason, s.rows);
  return skipped;
}

/// nccl-tests and nvbandwidth both write JSON; nvbandwidth's first key is its name.
std::vector<Skipped> read_json_log(const std::filesystem::path& file, const PointDefaults& otherwise, const RunDescriptions& runs,
                                   const PointSink& sink) {
  LineReader reader(file);
  std::string line;
  while (reader.next(line) && reader.number() < 100) {
    if (line.find("\"nvbandwidth\"") != std::string::npos || line.find("\"testcases\"") != std::string::npos) {
      PointMaker points(file, otherwise, runs, "nvbandwidth", sink);
      read_nvbandwidth_json(file, points);
      if (!points.anything()) throw nothing_recognised(file);
      return std::move(points).skipped();
    }
  }
  return read_nccl_tests_json(file, otherwise, runs, sink);
}

}  // namespace

void count_skipped(std::vector<Skipped>& skipped, const std::string& reason, int rows) {
  const auto same = std::find_if(skipped.begin(), skipped.end(), [&](const Skipped& s) { return s.reason == reason; });
  if (same != skipped.end())
    same->rows += rows;
  else
    skipped.push_back({reason, rows});
}

void Points::append(Points&& other) {
  points.insert(points.end(), std::make_move_iterator(other.points.begin()), std::make_move_iterator(other.points.end()));
  for (const Skipped& s : other.skipped) skip(s.reason, s.rows);
}

bool is_benchmark_output(const std::filesystem::path& file) { return format_of(file) == Format::text; }

void fill_in(Point& point, const PointDefaults& otherwise) {
  if (otherwise.launch && point.launched == 0 && point.launch.mode == LaunchMode::graph) {
    point.launch.mode = *otherwise.launch;
    point.launched = 1U << static_cast<unsigned>(*otherwise.launch);
  }
  const bool same = point.library.empty() || point.library == otherwise.library;
  if (otherwise.library.empty() || !same || !point.library_version.empty()) return;
  point.library = otherwise.library;
  point.library_version = otherwise.library_version;
}

std::vector<Skipped> read_points(const std::filesystem::path& file, const PointDefaults& otherwise, const PointSink& given) {
  const PointSink sink = [&](Point&& point) {
    fill_in(point, otherwise);
    given(std::move(point));
  };
  const Format format = format_of(file);
  switch (format) {
    case Format::moe:
      throw fault_of_file(file.string(), "is a table of MoE dispatch and combine, not of collectives",
                          "give a point CSV (source,system,nodes,...) or the output of nccl-tests");
    case Format::workload:
      throw fault_of_file(file.string(), "is a table of workloads, not of collectives",
                          "give a point CSV (source,system,nodes,...) or the output of nccl-tests");
    default: break;
  }
  const RunDescriptions runs = read_sources(file);
  if (format == Format::points) return read_point_csv(file, otherwise, runs, sink);
  return format == Format::json ? read_json_log(file, otherwise, runs, sink) : read_text(file, otherwise, runs, sink);
}

Points read_points(const std::filesystem::path& file, const PointDefaults& otherwise) {
  Points out;
  out.skipped = read_points(file, otherwise, [&out](Point&& point) { out.points.push_back(std::move(point)); });
  return out;
}

namespace {

[[nodiscard]] JobFiles& usable_job_files() {
  static JobFiles readers{.is_trace = [](const std::filesystem::path&) { return false; },
                          .points_of = [](const std::vector<std::filesystem::path>&, const PointDefaults&) { return Points{}; },
                          .contradiction = [](const std::filesystem::path&, const System&) { return std::string{}; },
                          .usual_system = [](const std::filesystem::path&) { return std::string{}; }};
  return readers;
}

}  // namespace

const JobFiles& job_files() { return usable_job_files(); }

void use_job_files(const JobFiles& readers) { usable_job_files() = readers; }

namespace {

/// The tool that a log without a table resembles, for the message.
std::string resembles(const std::filesystem::path& file) {
  static constexpr std::array<std::array<std::string_view, 2>, 8> marks{{{"nvbandwidth", "nvbandwidth"},
                                                                         {"P2P (Peer-to-Peer)", "p2pBandwidthLatencyTest"},
                                                                         {"# OSU MPI", "the OSU benchmarks"},
                                                                         {" BW Test", "perftest"},
                                                                         {" Latency Test", "perftest"},
                                                                         {"Intel(R) MPI Benchmarks", "the Intel MPI benchmarks"},
                                                                         {"Legend:", "a topology matrix"},
                                                                         {"NCCL INFO", "NCCL's own messages"}}};
  LineReader reader(file);
  std::string line;
  while (reader.next(line) && reader.number() < 2000)
    for (const auto& [mark, what] : marks)
      if (line.find(mark) != std::string::npos) return std::string{what};
  return "";
}

}  // namespace

SpecError nothing_recognised(const std::filesystem::path& file) {
  const std::string looks = resembles(file);
  LineReader reader(file);
  std::string line;
  while (reader.next(line) && line.find_first_not_of(" \t") == std::string::npos) {}
  return SpecError(
      {fault_in_line(file.string(), std::max(1, reader.number()), 1, line,
                     looks.empty() ? "no measurement was recognised in this file"
                                   : fmt::format("this is output of {}, without a table of measurements", looks),
                     "expected a point CSV (header source,system,nodes,...), nccl-tests (rows below \"# size count type ... time "
                     "algbw busbw\"), nvbandwidth, p2pBandwidthLatencyTest, OSU or perftest")});
}

}  // namespace fabricost::core
