/// Parses cells and names of GPUs.

#include "readings/logs/matrix_words.hpp"

#include "readings/logs/log_text.hpp"

#include <array>

namespace fabricost::observe {

std::string upper(std::string_view text) {
  std::string out{text};
  for (char& c : out) c = upper(c);
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
  const auto links = text.starts_with("NV") ? whole_number(std::string_view{text}.substr(2), 3) : std::nullopt;
  return links ? std::optional{Cell{.kind = Cell::Kind::links, .links = *links}} : std::nullopt;
}

bool is_gpu(std::string_view word) {
  return word.size() > 3 && word.size() <= 7 && upper(word.substr(0, 3)) == "GPU" && all_digits(word.substr(3));
}

}  // namespace fabricost::observe
