/// \file nvidia_words.cpp
/// Cells, names and affinities.

#include "readings/topology/nvidia_words.hpp"

#include "readings/logs/log_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace fabricost::io {

std::string upper(std::string_view text) {
  std::string out{text};
  for (char& c : out) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return out;
}

std::optional<Cell> cell_of(std::string_view word) {
  const std::string text = upper(word);
  if (text == "X") return Cell{.kind = Cell::Kind::self};
  if (text == "N/A" || text == "?") return Cell{};
  if (text == "SOC" || text == "SYS") return Cell{.kind = Cell::Kind::path, .path = NicPath::sys};
  constexpr std::array<std::pair<std::string_view, NicPath>, 4> paths{
      {{"PIX", NicPath::pix}, {"PXB", NicPath::pxb}, {"PHB", NicPath::phb}, {"NODE", NicPath::node}}};
  for (const auto& [name, path] : paths)
    if (text == name) return Cell{.kind = Cell::Kind::path, .path = path};
  if (text.starts_with("NV") && all_digits(std::string_view{text}.substr(2)) && text.size() <= 5) {
    int links = 0;
    std::from_chars(text.data() + 2, text.data() + text.size(), links);
    return Cell{.kind = Cell::Kind::links, .links = links};
  }
  return std::nullopt;
}

bool is_gpu(std::string_view word) {
  return word.size() > 3 && word.size() <= 7 && upper(word.substr(0, 3)) == "GPU" && all_digits(word.substr(3));
}

bool is_affinity_heading(std::string_view word) {
  const std::string text = upper(word);
  return text == "CPU" || text == "NUMA" || text == "AFFINITY" || text == "GPU" || text == "ID";
}

bool is_nic_name(std::string_view word) {
  if (word.empty() || word.size() > 32 || is_gpu(word) || cell_of(word) || is_affinity_heading(word)) return false;
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  if (!letter(word.front())) return false;
  const bool plain =
      std::all_of(word.begin(), word.end(), [&](char c) { return letter(c) || is_digit(c) || c == '_' || c == '-' || c == '.'; });
  return plain && std::any_of(word.begin(), word.end(), is_digit);
}

bool read_numbers(std::string_view text, std::vector<int>& out) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    const std::string_view part = text.substr(0, end);
    const std::size_t dash = part.find('-');
    const std::string_view first = part.substr(0, dash), last = dash == std::string_view::npos ? first : part.substr(dash + 1);
    if (!all_digits(first) || !all_digits(last) || first.size() > 5 || last.size() > 5) return false;
    int a = 0, b = 0;
    std::from_chars(first.data(), first.data() + first.size(), a);
    std::from_chars(last.data(), last.data() + last.size(), b);
    if (b < a) return false;
    for (int n = a; n <= b; ++n) out.push_back(n);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return true;
}

}  // namespace fabricost::io
