/// \file topology_text.cpp
/// Reads a topology file into memory and detects its format.

#include "readings/topology/topology_text.hpp"

#include "readings/logs/log_text.hpp"
#include "readings/topology/shape.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace fabricost::observe {

TopologyFile::TopologyFile(const std::filesystem::path& file) : name(file.string()) {
  LineReader reader(file);
  std::size_t bytes = 0;
  std::string line;
  while (reader.next(line)) {
    bytes += line.size() + 1;
    if (bytes > largest_topology)
      throw fault_of_file(name, fmt::format("is larger than {} MiB", largest_topology >> 20U),
                          "keep the table itself; a real one has some 100 KB");
    lines.push_back(std::move(line));
    ended = reader.ended();
    undecorate(lines.back());
    line.clear();
  }
}

void TopologyFile::fault(std::size_t line, std::size_t column, std::string message, std::string remedy) const {
  const std::string none;
  const std::string& text = line < lines.size() ? lines[line] : none;
  throw SpecError(
      {fault_in_line(name, static_cast<int>(line) + 1, static_cast<int>(column) + 1, text, std::move(message), std::move(remedy))});
}

void TopologyFile::fault_at(std::size_t line, std::string_view word, std::string message, std::string remedy) const {
  fault(line, static_cast<std::size_t>(word.data() - lines[line].data()), std::move(message), std::move(remedy));
}

std::string TopologyFile::warning(std::size_t line, std::string_view what) const { return fmt::format("{}:{}: {}", name, line + 1, what); }

void size_matrices(DescribedTopology& t) {
  const std::size_t gpus = t.gpus.size();
  const std::size_t all = gpus + t.nics.size();
  t.links.assign(gpus, std::vector<int>(gpus, 0));
  t.paths.assign(all, std::vector<std::optional<NicPath>>(all));
  t.links_of.assign(gpus, 0);
}

}  // namespace fabricost::observe

namespace fabricost::observe {

int DescribedTopology::links_per_gpu() const { return commonest(links_of).value_or(0); }

DescribedTopology read_topology(const std::filesystem::path& path) {
  const TopologyFile file(path);
  const auto has = [&](std::string_view text) {
    return std::any_of(file.lines.begin(), file.lines.end(), [&](const std::string& line) { return line.find(text) != std::string::npos; });
  };
  std::size_t first = 0;
  while (first < file.lines.size() && file.lines[first].find_first_not_of(" \t") == std::string::npos) ++first;
  if (first == file.lines.size())
    throw fault_of_file(file.name, "is empty", "write nvidia-smi topo -m, rocm-smi --showtopo or NCCL_TOPO_DUMP_FILE to it");
  const std::string& opening = file.lines[first];
  if (opening[opening.find_first_not_of(" \t")] == '<' || has("<system ") || has("<graphs")) return read_nccl_xml(file);
  if (has("between two GPUs") || has("ROCm System Management Interface")) return read_rocm_smi(file);
  return read_nvidia_smi(file);
}

}  // namespace fabricost::observe
