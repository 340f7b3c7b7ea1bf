#pragma once
/// \file nvidia_words.hpp
/// The words of `nvidia-smi topo -m`: cells, device names, headings and affinities.

#include "readings/topology/topology_text.hpp"

#include "readings/logs/log_text.hpp"
#include "text/ascii.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost::io {

/// One cell of the matrix.
struct Cell {
  enum class Kind : unsigned char { self, unknown, links, path };  ///< X; N/A; NV#; the rest
  Kind kind = Kind::unknown;
  int links = 0;
  NicPath path = NicPath::pix;

  [[nodiscard]] bool self() const { return kind == Kind::self; }
  [[nodiscard]] bool unknown() const { return kind == Kind::unknown; }
  friend bool operator==(const Cell&, const Cell&) = default;
};

[[nodiscard]] std::string upper(std::string_view text);

/// Nothing when the word is no cell.
[[nodiscard]] std::optional<Cell> cell_of(std::string_view word);

/// GPU0, gpu12.
[[nodiscard]] bool is_gpu(std::string_view word);

/// The words that end a header: CPU Affinity, NUMA Affinity, GPU NUMA ID.
[[nodiscard]] bool is_affinity_heading(std::string_view word);

/// mlx5_0, NIC3, mlx5_bond_0, bnxt_re0, rocep12s0f0
[[nodiscard]] bool is_nic_name(std::string_view word);

/// Names of NICs from their legend, of GPUs from nvidia-smi -L or the table of nvidia-smi in the same file.
void read_names(DescribedTopology& topology, const std::vector<std::string>& lines, const std::vector<Tokens>& words);

/// 0-23,48-71 appended to `out`. \return false when the text is no such list
[[nodiscard]] bool read_numbers(std::string_view text, std::vector<int>& out);

}  // namespace fabricost::io
