/// Reads topology files, and names and affinities in them.

#include "readings/topology/topology_text.hpp"

#include "readings/logs/log_text.hpp"

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

bool is_affinity_heading(std::string_view word) {
  const std::string text = upper(word);
  return text == "CPU" || text == "NUMA" || text == "AFFINITY" || text == "GPU" || text == "ID";
}

bool is_nic_name(std::string_view word) {
  if (word.empty() || word.size() > 32 || is_gpu(word) || cell_of(word) || is_affinity_heading(word)) return false;
  if (!is_letter(word.front())) return false;
  const bool plain =
      std::all_of(word.begin(), word.end(), [&](char c) { return is_letter(c) || is_digit(c) || c == '_' || c == '-' || c == '.'; });
  return plain && std::any_of(word.begin(), word.end(), is_digit);
}

namespace {

/// What lscpu and ibstat say, where their output stands in the same file.
void read_states(DescribedTopology& t, const std::vector<Tokens>& all) {
  TopologyDevice* nic = nullptr;
  for (const Tokens& words : all) {
    if (words.size() < 2) continue;
    const std::string_view first = words[0], second = words[1];
    if (first == "Architecture:" && second == "aarch64") t.cpu = Cpu::arm;
    if (first == "Vendor" && second == "ID:" && words.size() > 2 && t.cpu == Cpu::any)
      t.cpu = words[2] == "GenuineIntel" ? Cpu::intel : words[2] == "AuthenticAMD" ? Cpu::amd : Cpu::any;
    if (first == "CA" && words.size() == 2) {
      const auto named = std::find_if(t.nics.begin(), t.nics.end(), [&](const TopologyDevice& d) { return d.device == second; });
      nic = named != t.nics.end() ? &*named : nullptr;
    }
    if (nic == nullptr) continue;
    if (first == "State:") nic->down = second != "Active";
    if (first == "Rate:" && !nic->down) nic->line_rate = 1e9 * whole_number(second, 5).value_or(0);
    if (first == "Link" && second == "layer:" && words.size() > 2) {
      nic->pci_class = words[2] == "InfiniBand" ? "0207" : "0200";
      if (nic->pci_id.empty() && nic->device.starts_with("mlx")) nic->pci_id = "15b3";
    }
  }
}

void name_gpu(DescribedTopology& t, std::string_view index, std::string_view name) {
  const auto gpu = static_cast<std::size_t>(whole_number(index).value_or(-1));  // a longer number is not a GPU's
  const std::size_t from = name.find_first_not_of(' ');
  if (gpu < t.gpus.size() && from != std::string_view::npos) t.gpus[gpu].model = name.substr(from, name.find_last_not_of(' ') - from + 1);
}

}  // namespace

void read_names(DescribedTopology& t, const std::vector<std::string>& lines, const std::vector<Tokens>& all) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Tokens& words = all[i];
    const std::string_view line = lines[i], first = words.empty() ? "" : words[0];
    if (words.size() == 2 && first.ends_with(':'))
      for (TopologyDevice& nic : t.nics)
        if (first.substr(0, first.size() - 1) == nic.name) nic.device = words[1];
    if (words.size() > 2 && first == "GPU" && words[1].ends_with(':')) {
      const std::size_t from = line.find(':') + 1;
      name_gpu(t, words[1].substr(0, words[1].size() - 1), line.substr(from, line.find("(UUID") - from));
    } else if (words.size() > 3 && (words[1] == "NVIDIA" || words[1] == "Tesla" || words[1] == "GeForce")) {
      std::string name;
      for (std::size_t k = 1; k < words.size() && words[k] != "On" && words[k] != "Off"; ++k) name += std::string{words[k]} + " ";
      name_gpu(t, first, name);
    }
    if (words.size() > 2 && first == "MIG" && has(line, "Device")) t.partitioned = true;
  }
  for (TopologyDevice& nic : t.nics)
    if (nic.device.empty() && !nic.name.starts_with("NIC")) nic.device = nic.name;
  read_states(t, all);
}

bool read_numbers(std::string_view text, std::vector<int>& out) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    const std::string_view part = text.substr(0, end);
    const std::size_t dash = part.find('-');
    const std::string_view first = part.substr(0, dash), last = dash == std::string_view::npos ? first : part.substr(dash + 1);
    const auto from = whole_number(first, 5), to = whole_number(last, 5);
    if (!from || !to || *to < *from) return false;
    for (int n = *from; n <= *to; ++n) out.push_back(n);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return true;
}

}  // namespace fabricost::observe
