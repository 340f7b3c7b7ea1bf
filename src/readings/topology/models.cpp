/// \file models.cpp
/// From clues to a GPU of data/gpus, the firm ones first: marketing name, PCI id, cloud instance, compute version, NVLink count.
/// Where data/ has no such GPU a near relative stands in, and the reason says so.

#include "readings/topology/models.hpp"

#include "readings/logs/log_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace fabricost::io {

namespace {

struct Named {
  std::string_view clue, gpu, stands_for{};
};

/// Parts of marketing names as nvidia-smi prints them, the longer first.
constexpr std::array names{
    Named{"GB300", "gb300"},
    Named{"GB200", "gb200"},
    Named{"GH200", "gh200"},
    Named{"GB10", "gb10"},
    Named{"B300", "b300-sxm"},
    Named{"B200", "b200-sxm"},
    Named{"H200", "h200-sxm"},
    Named{"H100 NVL", "h100-nvl"},
    Named{"H100 PCIe", "h100-pcie"},
    Named{"H100", "h100-sxm"},
    Named{"H800", "h800-sxm"},
    Named{"H20", "h20"},
    Named{"A800", "a800-sxm"},
    Named{"A100-SXM4-80GB", "a100-sxm-80"},
    Named{"A100-SXM4-40GB", "a100-sxm-40"},
    Named{"A100-PCIE-40GB", "a100-pcie-40"},
    Named{"A100 80GB PCIe", "a100-pcie-80"},
    Named{"A100-SXM", "a100-sxm-80"},
    Named{"A100", "a100-pcie-80"},
    Named{"V100-SXM2-16GB", "v100-sxm-16"},
    Named{"V100-SXM", "v100-sxm"},
    Named{"V100", "v100-pcie"},
    Named{"P100-SXM", "p100-sxm"},
    Named{"P100", "p100-sxm", "a P100 PCIe"},
    Named{"RTX PRO 6000", "rtx-pro-6000"},
    Named{"RTX 5090", "rtx-5090"},
    Named{"RTX 4090", "rtx-4090"},
    Named{"RTX 4070 Ti SUPER", "rtx-4070ti-super"},
    Named{"L40S", "l40s"},
    Named{"L40", "l40s", "an L40"},
    Named{"RTX 6000 Ada", "l40s", "an RTX 6000 Ada"},
    Named{"A10G", "a10g"},
    Named{"A6000", "a40", "an RTX A6000"},
    Named{"A40", "a40"},
    Named{"RTX 3090", "rtx-3090"},
    Named{"A30", "a100-pcie-40", "an A30"},
    Named{"A10", "a10g", "an A10"},
    Named{"L4", "l4"},
    Named{"T4", "t4"},
};

/// https://pci-ids.ucw.cz/read/PC/10de and .../1002
constexpr std::array pci_ids{
    Named{"10de:15f9", "p100-sxm"},
    Named{"10de:1db1", "v100-sxm-16"},
    Named{"10de:1db4", "v100-pcie"},
    Named{"10de:1db5", "v100-sxm"},
    Named{"10de:1db6", "v100-pcie"},
    Named{"10de:1db8", "v100-sxm"},
    Named{"10de:1eb8", "t4"},
    Named{"10de:20b0", "a100-sxm-40"},
    Named{"10de:20b1", "a100-pcie-40"},
    Named{"10de:20b2", "a100-sxm-80"},
    Named{"10de:20b5", "a100-pcie-80"},
    Named{"10de:20f1", "a100-pcie-40"},
    Named{"10de:20f3", "a800-sxm"},
    Named{"10de:2204", "rtx-3090"},
    Named{"10de:2235", "a40"},
    Named{"10de:2236", "a10g", "an A10"},
    Named{"10de:2237", "a10g"},
    Named{"10de:2324", "h800-sxm"},
    Named{"10de:2329", "h20"},
    Named{"10de:2330", "h100-sxm"},
    Named{"10de:2331", "h100-pcie"},
    Named{"10de:2335", "h200-sxm"},
    Named{"10de:2342", "gh200"},
    Named{"10de:26b9", "l40s"},
    Named{"10de:2684", "rtx-4090"},
    Named{"10de:27b8", "l4"},
    Named{"10de:2901", "b200-sxm"},
    Named{"1002:738c", "mi100"},
    Named{"1002:7408", "mi250x-gcd"},
    Named{"1002:740c", "mi250x-gcd"},
    Named{"1002:740f", "mi250x-gcd", "an MI210, which is one such die"},
    Named{"1002:74a0", "mi300a"},
    Named{"1002:74a1", "mi300x"},
    Named{"1002:74a5", "mi325x"},
};

constexpr std::array instances{
    CloudInstance{"g5.48xlarge", 8, 1, "a10g", "AWS, Amazon EC2 G5 instances: 8 A10G"},
    CloudInstance{"p3.16xlarge", 8, 1, "v100-sxm-16", "AWS, Amazon EC2 P3 instances: 8 V100"},
    CloudInstance{"p3dn.24xlarge", 8, 1, "v100-sxm", "AWS, Amazon EC2 P3 instances: 8 V100"},
    CloudInstance{"p4de.24xlarge", 8, 4, "a100-sxm-80", "AWS, Amazon EC2 P4 instances: 8 A100"},
    CloudInstance{"p4d.24xlarge", 8, 4, "a100-sxm-40", "AWS, Amazon EC2 P4 instances: 8 A100"},
    CloudInstance{"p5en.48xlarge", 8, 16, "h200-sxm", "AWS, Amazon EC2 P5 instances: 8 H200"},
    CloudInstance{"p5.48xlarge", 8, 32, "h100-sxm", "AWS, Amazon EC2 P5 instances: 8 H100"},
};

[[nodiscard]] std::string stand_in(const Named& found) {
  return found.stands_for.empty() ? "" : fmt::format("; stands in for {}, which data/gpus does not have", found.stands_for);
}

[[nodiscard]] ModelGuess by_compute(const DescribedTopology& t, int version) {
  const int links = t.links_per_gpu();
  const bool none = t.links_said && links == 0;
  const std::string reason = t.vendor == "amd" ? fmt::format("gfx version {}", version == 910 ? "90a" : std::to_string(version))
                                               : fmt::format("SM version {}", version);
  if (t.vendor == "amd") {
    if (version == 910) return {"mi250x-gcd", reason};
    if (version >= 940 && version < 950)
      return {t.gpus.size() == 4 ? "mi300a" : "mi300x", reason + (t.gpus.size() == 4 ? ", 4 of them" : "")};
    if (version >= 950) return {"mi355x", reason};
    if (version == 908) return {"mi100", reason};
    return {"mi100", reason + "; stands in for an older one (MI50), which data/gpus does not have"};
  }
  if (version >= 120) return {"rtx-pro-6000", reason};
  if (version == 103) return {"b300-sxm", reason};
  if (version >= 100) return {"b200-sxm", reason};
  if (version >= 90) return {none ? "h100-pcie" : links == 12 ? "h100-nvl" : "h100-sxm", reason + (none ? ", no NVLinks" : "")};
  if (version == 89) return {"l40s", reason};
  if (version == 86) return {none ? "a10g" : "a40", reason + ": GA102; A10, A40, RTX A6000 and RTX 3090 say the same"};
  if (version == 80) return {none ? "a100-pcie-80" : "a100-sxm-80", reason + (none ? ", no NVLinks" : "")};
  if (version == 75) return {"t4", reason};
  if (version >= 70) return {none ? "v100-pcie" : "v100-sxm", reason + (none ? ", no NVLinks" : "")};
  return {"p100-sxm", reason};
}

[[nodiscard]] ModelGuess by_xgmi(const DescribedTopology& t) {
  const int links = t.links_per_gpu();
  const auto gpus = static_cast<int>(t.gpus.size());
  if (links > 0 && links == gpus - 1) {
    if (gpus == 4 && t.sockets == 4) return {"mi300a", "4 GPUs in a full mesh of XGMI, each its own NUMA node"};
    if (gpus == 8) return {"mi300x", "8 GPUs in a full mesh of XGMI; MI325X and MI355X print the same"};
  }
  if (links > 0) return {"mi250x-gcd", fmt::format("XGMI to {} others of {}", links, gpus)};
  return {"mi250x-gcd", "no XGMI: MI50 to MI210 on PCIe; an MI210 is one such die"};
}

[[nodiscard]] ModelGuess by_nvlinks(const DescribedTopology& t) {
  const int links = t.links_per_gpu();
  const auto gpus = static_cast<int>(t.gpus.size());
  const std::string reason = fmt::format("{} NVLink{} per GPU", links, links == 1 ? "" : "s");
  if (std::any_of(t.gpus.begin(), t.gpus.end(), [](const TopologyDevice& g) { return g.own_memory_node; })) {
    if (t.sockets * 2 == gpus) return {"gb200", reason + ", two GPUs to a Grace"};
    return {"gh200", reason + ", GPU memory is a NUMA node (Grace)"};
  }
  if (links > 18) return {"rubin", reason};
  if (links > 12) return {"h100-sxm", reason + "; B200 has as many"};
  if (links > 8) {
    if (!t.switched && gpus == 2) return {"a100-pcie-80", reason + " between two GPUs: a bridge; H100 NVL prints the same"};
    return {gpus == 4 && !t.switched ? "a100-sxm-40" : "a100-sxm-80", reason};
  }
  if (links > 6) return {"a800-sxm", reason + "; H800 has as many"};
  if (links > 4) return {"v100-sxm", reason};
  if (links == 4 && !t.links.empty()) {
    const bool bridges =
        std::any_of(t.links.begin(), t.links.end(), [](const auto& row) { return std::count(row.begin(), row.end(), 4) == 1; });
    if (bridges) return {"a40", reason + ", all to one other: GA102; RTX A6000 and RTX 3090 print the same"};
    return {"p100-sxm", reason};
  }
  if (links > 0) return {"v100-sxm", reason + ": V100, of which not all links are used, or a Turing card with a bridge"};
  return {"l40s", t.links_said ? "no NVLinks: any PCIe card prints the same" : "nothing in the file says"};
}

}  // namespace

const CloudInstance* cloud_instance(std::string_view name) {
  for (const CloudInstance& one : instances)
    if (one.name == name) return &one;
  return nullptr;
}

const CloudInstance* cloud_instance_in(std::string_view text) {
  for (const CloudInstance& one : instances)
    if (text.find(one.name) != std::string_view::npos) return &one;
  return nullptr;
}

std::optional<std::string_view> gpu_named(std::string_view marketing) {
  for (const Named& known : names)
    if (marketing.find(known.clue) != std::string_view::npos) return known.stands_for.empty() ? known.gpu : std::string_view{};
  return std::nullopt;
}

ModelGuess guess_model(const DescribedTopology& t) {
  for (const TopologyDevice& gpu : t.gpus)
    for (const Named& known : names)
      if (gpu.model.find(known.clue) != std::string::npos)
        return {std::string{known.gpu}, fmt::format("{} is named {}{}", gpu.name, gpu.model, stand_in(known))};
  for (const TopologyDevice& gpu : t.gpus)
    for (const Named& known : pci_ids)
      if (gpu.pci_id == known.clue)
        return {std::string{known.gpu}, fmt::format("PCI id {} (pci-ids.ucw.cz){}", gpu.pci_id, stand_in(known))};
  if (const CloudInstance* known = cloud_instance(t.instance))
    return {std::string{known->gpu}, fmt::format("{} ({})", known->name, known->source)};
  for (const TopologyDevice& gpu : t.gpus)
    if (gpu.compute > 0) return by_compute(t, gpu.compute);
  if (t.vendor == "amd") return by_xgmi(t);
  if (t.links_said) return by_nvlinks(t);
  const double lane = t.pcie_lane_rate;
  if (lane >= 60e9) return {"b300-sxm", "PCIe 6 and nothing else"};
  if (lane >= 30e9) return {"h100-sxm", "PCIe 5 and nothing else; H200 and B200 look the same"};
  if (lane >= 15e9) return {"a100-sxm-80", "PCIe 4 and nothing else"};
  if (lane > 0) return {"v100-sxm", "PCIe 3 and nothing else"};
  return by_nvlinks(t);
}

}  // namespace fabricost::io
