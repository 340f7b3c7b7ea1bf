/// \file samples.cpp
/// Reads measured points from files and from memory. Traces are those of one job.

#include <fabricost/fields/samples.hpp>
#include <fabricost/readings/job_files.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace fabricost::core {

Points read(const std::vector<Sample>& samples, const PointDefaults& otherwise, bool merged) {
  const auto is_file = [](const Sample& sample) { return !sample.file.empty(); };
  std::vector<std::filesystem::path> traces;
  std::vector<Sample> rest;
  for (const Sample& sample : samples)
    if (is_file(sample) && job_files().is_trace(sample.file))
      traces.emplace_back(sample.file);
    else
      rest.push_back(sample);
  if (!traces.empty()) {
    Points out = rest.empty() ? Points{} : read(rest, otherwise, merged);
    out.append(job_files().points_of(traces, otherwise));
    return out;
  }
  if (merged && std::all_of(samples.begin(), samples.end(), is_file)) {
    std::vector<std::filesystem::path> files;
    for (const Sample& sample : samples) files.emplace_back(sample.file);
    return read_merged(files, otherwise);
  }
  Points out;
  for (const Sample& sample : samples) {
    if (is_file(sample)) {
      out.append(merged ? read_merged({sample.file}, otherwise) : read_points(sample.file, otherwise));
      continue;
    }
    for (Point p : sample.points) {
      if (p.system.empty()) p.system = otherwise.system;
      fill_in(p, otherwise);
      if (p.gpus_per_node == 0 && otherwise.ranks > 0) p.gpus_per_node = otherwise.ranks / p.nodes;
      out.points.push_back(std::move(p));
    }
  }
  return out;
}

std::string files_text(const std::vector<Sample>& samples) {
  std::string out;
  for (const Sample& sample : samples)
    if (!sample.file.empty()) out += fmt::format("{}{}", out.empty() ? "" : ", ", std::filesystem::path(sample.file).filename().string());
  return out.empty() ? "samples given in memory" : out;
}

}  // namespace fabricost::core
