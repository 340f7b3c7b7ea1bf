/// Reads `identity:` of GPU files, and what identifies the machines of data/.

#include "specs/parts/identities.hpp"

#include "specs/data_directory.hpp"

#include <fabricost/specs/data_directory.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace fabricost::core {

namespace fs = std::filesystem;

namespace {

constexpr int max_direct_links = 1000;

bool is_pci_id(std::string_view text) {
  const auto hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return text.size() == 9 && text[4] == ':' && std::all_of(text.begin(), text.begin() + 4, hex) &&
         std::all_of(text.begin() + 5, text.end(), hex);
}

/// Reads `names:` and `pci:` of a map.
void read_clues(MapReader& in, GpuIdentity& into, std::string_view gpu, const std::string& stands_for) {
  for (const SpecNode* one : in.texts("names")) {
    if (one->text.size() < 2) in.fault(*one, "names", fmt::format("\"{}\" is part of too many names", one->text), "write more of it");
    into.names.push_back({one->text, std::string{gpu}, stands_for});
  }
  for (const SpecNode* one : in.texts("pci")) {
    if (!is_pci_id(one->text))
      in.fault(*one, "pci", fmt::format("\"{}\" is no PCI id", clipped(one->text)), "write vendor and device as \"10de:2330\"");
    into.pci.push_back({one->text, std::string{gpu}, stands_for});
  }
}

std::string read_arch(MapReader& in) {
  const SpecNode* value = in.node().find("arch");
  std::string arch = in.text("arch");
  if (!arch.empty() && arch_number(arch) == 0)
    in.fault(*value, "arch", fmt::format("\"{}\" is no architecture", clipped(arch)), "write it as compilers take it: sm_90, gfx942");
  return arch;
}

GpuClue read_clue(MapReader& in, std::string_view gpu, std::string_view vendor) {
  GpuClue out{.gpu = std::string{gpu}, .vendor = std::string{vendor}};
  out.arch = arch_number(read_arch(in));
  if (in.has("links")) {
    const std::vector<int> links = in.counts("links");
    if (links.size() == 2 && links[0] <= links[1])
      out.links = {links[0], links[1]};
    else if (!links.empty())
      in.fault(*in.node().find("links"), "links", "is no range", "write the fewest and the most, as [13, 18]");
  }
  out.gpus = in.count("gpus", 0, 1, max_direct_links);
  out.sockets = in.count("sockets", 0, 1, max_direct_links);
  out.per_processor = in.count("per_processor", 0, 1, max_direct_links);
  out.pcie = in.count("pcie", 0, 1, 99);
  constexpr std::array<std::string_view, 3> wirings{"any", "direct", "pairs"};
  out.wiring = in.choice("wiring", wirings, GpuClue::Wiring::any);
  out.remark = in.text("remark");
  if (in.node().kind == SpecNode::Kind::map && out.arch == 0 && out.pcie == 0 && out.per_processor == 0 && !out.links)
    in.fault(in.node(), "", "says nothing a machine shows", "give arch, links, per_processor or pcie");
  return out;
}

}  // namespace

int arch_number(std::string_view arch) {
  if (arch == "gfx90a") return 910;
  const std::string_view digits = arch.substr(std::min<std::size_t>(arch.size(), 3));
  if (!(arch.starts_with("sm_") || arch.starts_with("gfx")) || digits.empty() || digits.size() > 4) return 0;
  int out = 0;
  const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), out);
  return end.ptr == digits.data() + digits.size() && out > 0 ? out : 0;
}

GpuIdentity read_identity(const SpecNode& identity, std::string_view gpu, std::string_view vendor, Faults& faults) {
  MapReader in(identity, "identity", faults);
  GpuIdentity out;
  out.arch = read_arch(in);
  read_clues(in, out, gpu, "");
  in.each_item("stands_in_for", [&](MapReader& one) {
    const std::string what = one.text("what", true);
    read_clues(one, out, gpu, what.empty() ? "another" : what);
  });
  in.each_item("clues", [&](MapReader& one) { out.clues.push_back(read_clue(one, gpu, vendor)); });
  in.each_item("instances", [&](MapReader& one) {
    CloudInstance made;
    made.name = one.text("name", true);
    made.gpu = gpu;
    made.gpus = one.count("gpus", 1, 1, 1024, true);
    made.nics = one.count("nics", 1, 1, 1024, true);
    made.source = one.provenance(one.node()).source;
    if (!made.name.empty()) out.instances.push_back(std::move(made));
  });
  in.finish();
  return out;
}

MachineIdentities machine_identities(const fs::path& data) {
  MachineIdentities out;
  for (const std::string_view folder : {"systems", "clusters"})
    for (const std::string& name : yaml_names(data / folder)) {
      const SpecNode tree = parse_spec(data / folder / (name + ".yaml"));
      if (const SpecNode* aliases = tree.find("aliases"))
        for (const SpecNode& alias : aliases->items)
          if (const auto [at, fresh] = out.aliases.emplace(alias.text, name); !fresh)
            throw SpecError({issue_at(alias.mark, "aliases", fmt::format("\"{}\" means {} already", clipped(alias.text), at->second),
                                      "let one of them go by another name")});
      if (const SpecNode* gpus = tree.find("usual_for"))
        for (const SpecNode& gpu : gpus->items) (folder == "systems" ? out.systems : out.clusters).emplace(gpu.text, name);
      if (const SpecNode* gpus = tree.find("bridge_of"))
        for (const SpecNode& gpu : gpus->items) out.bridges.emplace(gpu.text, name);
      if (const SpecNode *runs = tree.find("runs"), *usual = tree.find("extends"); runs != nullptr && usual != nullptr)
        for (const SpecNode& source : runs->items) out.runs.emplace(std::pair{source.text, usual->text}, name);
    }
  return out;
}

}  // namespace fabricost::core
