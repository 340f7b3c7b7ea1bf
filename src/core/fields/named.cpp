/// Loads named values, and reads measured points from files and from memory. Traces are those of one job.

#include <fabricost/fields/named.hpp>

#include "text/csv.hpp"

#include <fabricost/readings/points.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

namespace fabricost::core {

namespace {

/// A System in memory has no file to read again with other values.
void need_name(const Machine& machine, const std::vector<std::string>& overrides, std::string_view calibration) {
  if (machine.name.empty() && !(overrides.empty() && calibration.empty()))
    throw Refusal(fmt::format("overrides and calibration are of machines given by name, and {} is a System: give them to load_system", machine.value->name));
}

}  // namespace

System Machine::load(const std::vector<std::string>& more_overrides, KernelSets kernels, std::string_view other_calibration) const {
  if (value != nullptr) return *get(more_overrides, kernels, other_calibration);
  std::vector<std::string> all = overrides;
  all.insert(all.end(), more_overrides.begin(), more_overrides.end());
  return load_system(name, all, other_calibration.empty() ? calibration : other_calibration, kernels);
}

std::shared_ptr<const System> Machine::get(const std::vector<std::string>& more_overrides, KernelSets kernels,
                                           std::string_view other_calibration) const {
  if (value == nullptr) return std::make_shared<const System>(load(more_overrides, kernels, other_calibration));
  need_name(*this, more_overrides, other_calibration);
  return value;
}

void need_machine(const Machine& machine) {
  if (!machine) throw Refusal("which machine? Add <system=NAME>; fabricost machine lists the names", true);
}

std::optional<Routing> routing_named(std::string_view text, std::string_view named) {
  constexpr std::string_view zipf = "zipf:";
  for (const RoutingKind kind : {RoutingKind::balanced, RoutingKind::uniform, RoutingKind::zipf})
    if (text == name(kind)) return Routing{.kind = kind};
  if (!text.starts_with(zipf)) return std::nullopt;
  const auto exponent = parse_number(text.substr(zipf.size()));
  if (!exponent || !(*exponent >= 0 && *exponent <= steepest_zipf))
    throw RequestError(fmt::format("{}: \"{}\" has no exponent from 0 to {}; write zipf: and one, as in zipf:1.2", named,
                                   text.substr(0, 40), steepest_zipf));
  return Routing{.kind = RoutingKind::zipf, .exponent = *exponent};
}

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
  std::vector<std::pair<std::string, int>> files;  // with how many have that name, in different folders
  for (const Sample& sample : samples) {
    if (sample.file.empty()) continue;
    const std::string name = std::filesystem::path(sample.file).filename().string();
    const auto same = std::find_if(files.begin(), files.end(), [&](const auto& file) { return file.first == name; });
    if (same == files.end())
      files.emplace_back(name, 1);
    else
      ++same->second;
  }
  std::string out;
  for (const auto& [name, count] : files)
    out += fmt::format("{}{}{}", out.empty() ? "" : ", ", count > 1 ? fmt::format("{} files ", count) : std::string{}, name);
  return out.empty() ? "samples given in memory" : out;
}

}  // namespace fabricost::core
