#pragma once
/// \file nvidia_words.hpp
/// The words of `nvidia-smi topo -m`: cells, device names, headings and affinities.

#include "readings/topology/topology_text.hpp"

#include "readings/logs/log_text.hpp"
#include "readings/logs/matrix_words.hpp"
#include "text/ascii.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace fabricost::observe {

/// The headings that end a header: CPU Affinity, NUMA Affinity, GPU NUMA ID.
[[nodiscard]] bool is_affinity_heading(std::string_view word);

/// mlx5_0, NIC3, mlx5_bond_0, bnxt_re0, rocep12s0f0
[[nodiscard]] bool is_nic_name(std::string_view word);

/// Reads names of NICs from their legend, and of GPUs from nvidia-smi -L or its table in the same file.
void read_names(DescribedTopology& topology, const std::vector<std::string>& lines, const std::vector<Tokens>& words);

/// Appends 0-23,48-71 to `out`. \return false if the text is not such a list
[[nodiscard]] bool read_numbers(std::string_view text, std::vector<int>& out);

}  // namespace fabricost::observe
