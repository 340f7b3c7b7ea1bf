#pragma once
/// The words of a matrix of `nvidia-smi topo -m`: cells, and names of GPUs.

#include "text/ascii.hpp"

#include <fabricost/hardware/kinds.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace fabricost::observe {

/// One cell of the matrix.
struct Cell {
  enum class Kind : unsigned char { self, unknown, links, path };  ///< X; N/A; NV#; others
  Kind kind = Kind::unknown;
  int links = 0;
  NicPath path = NicPath::pix;

  [[nodiscard]] bool self() const { return kind == Kind::self; }
  [[nodiscard]] bool unknown() const { return kind == Kind::unknown; }
  friend bool operator==(const Cell&, const Cell&) = default;
};

using core::upper;  // of one letter
[[nodiscard]] std::string upper(std::string_view text);

/// Empty if the word is not a cell.
[[nodiscard]] std::optional<Cell> cell_of(std::string_view word);

/// GPU0, gpu12.
[[nodiscard]] bool is_gpu(std::string_view word);

}  // namespace fabricost::observe
