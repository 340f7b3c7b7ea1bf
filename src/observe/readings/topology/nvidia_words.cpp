/// \file nvidia_words.cpp
/// Parses names and affinities.

#include "readings/topology/nvidia_words.hpp"

#include "readings/logs/log_text.hpp"

#include <algorithm>

namespace fabricost::observe {

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
