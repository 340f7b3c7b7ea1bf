/// \file published_machine.cpp
/// Identifies the machines of published rows.

#include "evaluation/published_machine.hpp"

#include "evaluation/cells.hpp"
#include "text/ascii.hpp"
#include "text/csv.hpp"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <regex>

namespace fabricost::plan {

namespace {

/// True if `word` occurs as a separate word: "b200" does not in "gb200" nor "h200" in "gh200"; "a100" does in
/// "a100-40g" and "dgx_a100".
bool names(std::string_view text, std::string_view word) {
  const auto letter = [&](std::size_t i) { return i < text.size() && std::isalnum(static_cast<unsigned char>(text[i])) != 0; };
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1))
    if ((at == 0 || !letter(at - 1)) && !letter(at + word.size())) return true;
  return false;
}

/// The machine for a GPU's name, and the peak that published MFUs are relative to, in 16, 8 and 4 bit
/// (TFLOP/s; 0: none published)
struct NamedMachine {
  std::string_view gpu, system;
  double peak16, peak8, peak4;
  int gpus;  ///< of a node
};
constexpr std::array machines{
    NamedMachine{"a100", "dgx-a100", 312, 312, 312, 8},
    NamedMachine{"h100", "dgx-h100", 989.5, 1979, 1979, 8},
    NamedMachine{"h200", "dgx-h200", 989.5, 1979, 1979, 8},
    NamedMachine{"h800", "deepseek-v3-h800", 989.5, 1979, 1979, 8},
    NamedMachine{"gb200", "gb200-nvl72", 2500, 5000, 10000, 4},
    NamedMachine{"gb300", "gb300-nvl72", 2500, 5000, 15000, 4},
    NamedMachine{"b200", "dgx-b200", 2250, 4500, 9000, 8},
    NamedMachine{"b300", "dgx-b300", 2250, 4500, 14000, 8},
    NamedMachine{"mi300x", "mi300x-8", 1307.4, 2614.9, 2614.9, 8},
    NamedMachine{"mi325x", "mi325x-8", 1307.4, 2614.9, 2614.9, 8},
    NamedMachine{"mi350x", "mi350x-8", 2306.9, 4613.7, 9227.5, 8},
    NamedMachine{"mi355x", "mi355x-8", 2516.6, 5033.2, 10066.3, 8},
    NamedMachine{"h20", "hgx-h20", 0, 0, 0, 8},
    NamedMachine{"l40s", "l40s-pcie", 0, 0, 0, 8},
    NamedMachine{"t4", "aws-g4dn", 0, 0, 0, 8},
    NamedMachine{"gaudi2", "gaudi-2", 432, 865, 865, 8},
    NamedMachine{"tpuv4", "tpu-v4-cube", 275, 275, 275, 4},
    NamedMachine{"v5e", "tpu-v5e-pod", 197, 394, 394, 4},
    NamedMachine{"v5p", "tpu-v5p-cube", 459, 918, 918, 4},
    NamedMachine{"v6e", "tpu-v6e-pod", 918, 1836, 1836, 4},
};

const NamedMachine* machine_with(std::string_view gpu) {
  for (const NamedMachine& m : machines)
    if (names(gpu, m.gpu)) return &m;
  return nullptr;
}

/// The port for a rate in Gbit/s on the named fabric; empty: the system's own.
std::string_view port(std::string_view wires, std::string_view rate) {
  if (has(wires, "Omni-Path")) return "omnipath-100";
  if (has(wires, "EFA")) return rate == "100" ? "efa-v2" : rate == "200" ? "efa-v3" : rate == "400" ? "efa-v4" : "";
  return rate == "100"   ? "infiniband-edr"
         : rate == "200" ? "infiniband-hdr"
         : rate == "400" ? "infiniband-ndr"
         : rate == "800" ? "infiniband-xdr"
                         : "";
}

}  // namespace

PublishedMachine published_machine(std::string_view gpu, const std::string& wires, int gpus_per_node) {
  const std::string name = folded(std::string{gpu});
  PublishedMachine out;
  const NamedMachine* found = machine_with(name);
  if (found == nullptr) return out;
  out.system = found->system;
  if (found->gpu == "a100" && has(name, "40g")) out.overrides.emplace_back("gpu=a100-sxm-40");
  std::smatch match;
  static const std::regex memory("([0-9]{1,3}(?:\\.[0-9]{1,3})?)tb/s");
  if (std::regex_search(name, match, memory)) out.memory_rate = 1e12 * *parse_number(match[1].str());
  // nvidia-smi shows 97,871 MiB on parts sold with 96 GB (data/gpus/gh200.yaml)
  if (has(name, "96gb")) out.overrides.emplace_back("gpu.memory=97871 MiB");
  static const std::regex watts("(\\d{2,4})w\\b");
  if (std::regex_search(name, match, watts)) out.overrides.push_back(fmt::format("gpu.power={} W", match[1].str()));
  int gpus = found->gpus;
  if (gpus == 8 && gpus_per_node > 0 && gpus_per_node < 8 && found->system.starts_with("dgx-")) {
    gpus = gpus_per_node;
    out.overrides.push_back(fmt::format("gpus={}", gpus));
    for (const char* tier : {"nvlink", "pcie", "nic"}) out.overrides.push_back(fmt::format("tiers.{}.endpoints={}", tier, gpus));
  }
  // "8x400G": Gbit/s of ports; rates in bytes and of links inside the domain are written as GB/s. At most
  // four ports per GPU of a node (32 x 100G on a p5).
  static const std::regex ports("(\\d{1,3}) ?x ?(\\d{2,4}) ?G(?!B|iB|T)");
  if (std::regex_search(wires, match, ports)) {
    const int count = std::stoi(match[1]);
    const std::string_view link = port(wires, match[2].str());
    if (count >= 1 && count <= 4 * gpus) {
      out.overrides.push_back(fmt::format("tiers.nic.endpoints={}", count));
      if (!link.empty()) out.overrides.push_back(fmt::format("tiers.nic.link={}", link));
      if (link.starts_with("efa")) out.overrides.push_back(fmt::format("tiers.nic.transport={}", link));
    }
  }
  if (has(wires, "RoCE")) out.overrides.emplace_back("tiers.nic.transport=roce");
  return out;
}

double published_peak(std::string_view system, int bits) {
  for (const NamedMachine& m : machines)
    if (system == m.system) return 1e12 * (bits == 16 ? m.peak16 : bits == 8 ? m.peak8 : m.peak4);
  return 0;
}

}  // namespace fabricost::plan
