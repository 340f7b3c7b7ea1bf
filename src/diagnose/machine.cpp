/// \file machine.cpp
/// Which described machine a log was made on, told by what it lists: GPU names in nccl-tests' rank list, or "8x B200" in what people write.
/// One node is its GPUs' usual board. Several nodes need their adapters: Amazon's by the plugin's name, others by count and rate in NCCL's
/// own topology dump. What stays open is not guessed.

#include "diagnose/context.hpp"

#include "text/line_reader.hpp"

#include <array>
#include <set>
#include <string_view>

namespace fabricost::diagnosis {

namespace {

/// Words of a GPU's name, the machine of one node they usually sit in, and Amazon's cluster of them.
struct Board {
  std::array<std::string_view, 2> words;
  std::string_view without;
  std::string_view system, amazon;
};
constexpr std::array boards{
    Board{{"GB300", ""}, "", "gb300-nvl72", ""},
    Board{{"GB200", ""}, "", "gb200-nvl72", ""},
    Board{{"B300", ""}, "GB300", "dgx-b300", "aws-p6-b300"},
    Board{{"B200", ""}, "GB200", "dgx-b200", "aws-p6-b200"},
    Board{{"H200", ""}, "NVL", "dgx-h200", "aws-p5en"},
    Board{{"H100", "PCIe"}, "", "pcie5-8gpu", ""},
    Board{{"H100", ""}, "NVL", "dgx-h100", "aws-p5"},
    Board{{"H20", ""}, "H200", "hgx-h20", ""},
    Board{{"A100-SXM4-40GB", ""}, "", "dgx-a100", "aws-p4d"},
    Board{{"A100-SXM", ""}, "", "dgx-a100", "aws-p4de"},
    Board{{"A100-PCI", ""}, "", "pcie4-8gpu", ""},
    Board{{"L40S", ""}, "", "l40s-pcie", ""},
    Board{{"RTX PRO 6000", ""}, "", "rtx-pro-6000-pcie", ""},
    Board{{"MI300X", ""}, "", "mi300x-8", ""},
    Board{{"MI325X", ""}, "", "mi325x-8", ""},
    Board{{"MI355X", ""}, "", "mi355x-8", ""},
};

const Board* board_of(std::string_view text) {
  const auto has = [&](std::string_view word) { return text.find(word) != std::string_view::npos; };
  for (const Board& board : boards)
    if (has(board.words[0]) && (board.words[1].empty() || has(board.words[1])) && (board.without.empty() || !has(board.without)))
      return &board;
  return nullptr;
}

/// "8x B200", "8xH100" in a line that is not NCCL's.
const Board* board_in_words(const std::filesystem::path& file) {
  io::LineReader lines(file);
  std::string line;
  while (lines.next(line) && lines.number() < 200) {
    if (line.starts_with("#source") || line.find("NCCL INFO") != std::string::npos) continue;
    const auto at = line.find("8x");
    if (at == std::string::npos || (at > 0 && line[at - 1] >= '0' && line[at - 1] <= '9')) continue;
    const std::string_view rest = std::string_view{line}.substr(at + 2, 12);
    if (const Board* board = board_of(rest.substr(0, rest.find_first_of(",;:", 1)))) return board;
  }
  return nullptr;
}

}  // namespace

std::optional<Machine> guessed_machine(const io::NcclInfo& info, const std::filesystem::path& file) {
  std::set<std::string> names, hosts;
  for (const io::RankLine& one : info.rank_lines) {
    if (!one.gpu.empty()) names.insert(one.gpu);
    hosts.insert(one.host);
  }
  if (names.size() > 1) return std::nullopt;
  const Board* board = names.empty() ? board_in_words(file) : board_of(*names.begin());
  if (board == nullptr) return std::nullopt;
  const int nodes = info.node_count();
  if (nodes <= 1) {
    if (!info.net.empty() && names.empty()) return std::nullopt;
    return Machine{std::string{board->system}, 0, 0};
  }
  const bool amazon = info.network.find("Libfabric") != std::string::npos || info.net.contains("AWS Libfabric");
  if (amazon) return board->amazon.empty() ? std::nullopt : std::optional{Machine{std::string{board->amazon}, 0, 0}};
  std::set<std::string> adapters;
  double rate = 0;
  bool one_rate = true;
  for (const io::TopologyLink& link : info.topology)
    if (link.kind == "NET") {
      adapters.insert(link.to);
      one_rate = one_rate && (rate == 0 || rate == link.rate);
      rate = link.rate;
    }
  const bool equal_ports = info.fastest_port > 0 && info.fastest_port == info.slowest_port;
  if (adapters.empty() && equal_ports && info.adapters.size() >= 2)
    return Machine{std::string{board->system}, static_cast<int>(info.adapters.size()), info.fastest_port * 1.25e8};
  if (adapters.empty() || adapters.size() != info.adapters.size() || !one_rate || !(rate > 0)) return std::nullopt;
  return Machine{std::string{board->system}, static_cast<int>(adapters.size()), rate * 1e9};
}

}  // namespace fabricost::diagnosis
