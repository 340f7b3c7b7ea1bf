/// \file points.cpp
/// Which reader a file needs, told by its content, and the merging of repeats.

#include <fabricost/io/points.hpp>

#include "io/csv.hpp"
#include "io/point_readers.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace fabricost {

namespace {

enum class Format : unsigned char { points, moe, workload, json, text };

/// The format of a file by its first line that is neither empty nor a comment.
Format format_of(const std::filesystem::path& file) {
  io::LineReader reader(file);
  std::string line;
  bool anything = false;
  while (reader.next(line)) {
    const auto first = line.find_first_not_of(" \t");
    if (first == std::string::npos) continue;
    anything = true;
    if (line[first] == '#') continue;
    const auto second = line.find_first_not_of(" \t", first + 1);
    if (line[first] == '{' || (line[first] == '[' && (second == std::string::npos || line[second] == '{'))) return Format::json;
    std::vector<io::CsvCell> cells;
    if (line.find(',') == std::string::npos || io::split_csv(line, cells)) return Format::text;
    const auto has = [&](std::string_view name) {
      return std::any_of(cells.begin(), cells.end(), [&](const io::CsvCell& c) { return c.text == name; });
    };
    if (has("phase") && has("tokens_per_rank")) return Format::moe;
    if (has("operation") || (has("bytes") && has("time_us"))) return Format::points;
    if (has("id") && has("group") && has("source")) return Format::workload;
    return Format::text;
  }
  if (!anything) throw io::fault_of_file(file.string(), "is empty", "");
  return Format::text;
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

Points read_points(const std::filesystem::path& file, const PointSource& otherwise) {
  const Format format = format_of(file);
  switch (format) {
    case Format::moe:
      throw io::fault_of_file(file.string(), "is a table of MoE dispatch and combine, not of collectives",
                              "give a point CSV (source,system,nodes,...) or the output of nccl-tests");
    case Format::workload:
      throw io::fault_of_file(file.string(), "is a table of workloads, not of collectives",
                              "give a point CSV (source,system,nodes,...) or the output of nccl-tests");
    default: break;
  }
  const io::RunDescriptions runs = io::read_sources(file);
  if (format == Format::points) return io::read_point_csv(file, otherwise, runs);
  return format == Format::json ? io::read_nccl_tests_json(file, otherwise, runs) : io::read_nccl_tests(file, otherwise, runs);
}

std::vector<Point> merge_repeats(const std::vector<Point>& points) {
  using Key = std::tuple<std::string, int, int, Collective, DataType, double, std::string, std::optional<bool>, std::optional<Algorithm>,
                         std::optional<Protocol>>;
  std::map<Key, std::size_t> index;
  std::vector<Point> out;
  std::vector<std::vector<double>> times;
  for (const Point& p : points) {
    const Key key{p.system, p.nodes, p.gpus_per_node, p.collective, p.dtype, p.bytes, p.library, p.gpu_direct, p.algorithm, p.protocol};
    const auto [at, fresh] = index.try_emplace(key, out.size());
    if (fresh) {
      out.push_back(p);
      times.emplace_back();
    } else {
      Point& kept = out[at->second];
      kept.repeats += p.repeats;
      if (kept.in_place != p.in_place) kept.in_place.reset();
      if (kept.library_version != p.library_version) kept.library_version.clear();
      if (kept.source != p.source) kept.source.clear();
      if (kept.notes != p.notes) kept.notes.clear();
      if (kept.health != p.health) kept.health.clear();
    }
    times[at->second].push_back(p.seconds);
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    std::vector<double>& t = times[i];
    std::sort(t.begin(), t.end());
    out[i].seconds = t.size() % 2 == 1 ? t[t.size() / 2] : 0.5 * (t[t.size() / 2 - 1] + t[t.size() / 2]);
  }
  return out;
}

}  // namespace fabricost
