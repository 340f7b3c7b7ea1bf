/// \file identities.cpp
/// Reads `identity:` of GPU files, and builds the index over data/ that finds a GPU by name, PCI id or other
/// properties of a machine.

#include "specs/parts/identities.hpp"

#include "specs/data_directory.hpp"

#include <fabricost/specs/data_directory.hpp>
#include <fabricost/specs/load.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <mutex>

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

GpuClue read_clue(const SpecNode& node, const std::string& path, std::string_view gpu, std::string_view vendor, Faults& faults) {
  MapReader in(node, path, faults);
  GpuClue out{.gpu = std::string{gpu}, .vendor = std::string{vendor}};
  out.arch = arch_number(read_arch(in));
  if (in.has("links")) {
    const std::vector<int> links = in.counts("links");
    if (links.size() == 2 && links[0] <= links[1])
      out.links = {links[0], links[1]};
    else if (!links.empty())
      in.fault(*node.find("links"), "links", "is no range", "write the fewest and the most, as [13, 18]");
  }
  out.gpus = in.count("gpus", 0, 1, max_direct_links);
  out.sockets = in.count("sockets", 0, 1, max_direct_links);
  out.per_processor = in.count("per_processor", 0, 1, max_direct_links);
  out.pcie = in.count("pcie", 0, 1, 99);
  constexpr std::array<std::string_view, 3> wirings{"any", "direct", "pairs"};
  out.wiring = in.choice("wiring", wirings, GpuClue::Wiring::any);
  out.remark = in.text("remark");
  in.finish();
  if (node.kind == SpecNode::Kind::map && out.arch == 0 && out.pcie == 0 && out.per_processor == 0 && !out.links)
    in.fault(node, "", "says nothing a machine shows", "give arch, links, per_processor or pcie");
  return out;
}

/// The entries of a list of maps.
template <class Visit>
void each(MapReader& in, std::string_view key, Visit&& visit) {
  const SpecNode* list = in.take(key);
  if (list == nullptr) return;
  if (list->kind != SpecNode::Kind::list) return in.fault(*list, key, "is not a list", "write one `- {...}` for each");
  for (std::size_t i = 0; i < list->items.size(); ++i) visit(list->items[i], fmt::format("{}[{}]", in.path_of(key), i));
}

/// The text of a scalar, or of a value map; empty: none.
std::string_view plain(const SpecNode* node) {
  if (node != nullptr && node->kind == SpecNode::Kind::map) node = node->find("value");
  return node != nullptr && node->kind == SpecNode::Kind::scalar ? std::string_view{node->text} : std::string_view{};
}
int whole(std::string_view text) {
  int out = 0;
  std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}
/// 5 of "pcie-5"; 0: another link.
int pcie_of(std::string_view link) { return link.starts_with("pcie-") ? whole(link.substr(5)) : 0; }

/// Refuses a clue shared by two GPUs, then sorts longer ones first.
void resolve(std::vector<KnownClue>& clues, std::string_view what, const fs::path& data) {
  std::stable_sort(clues.begin(), clues.end(), [](const KnownClue& a, const KnownClue& b) {
    return a.clue.size() != b.clue.size() ? a.clue.size() > b.clue.size() : a.clue < b.clue;
  });
  for (std::size_t i = 1; i < clues.size(); ++i)
    if (clues[i].clue == clues[i - 1].clue)
      throw RequestError(fmt::format("{}: {} and {} both have the {} \"{}\"; take it out of one", (data / "gpus").string(),
                                     clues[i - 1].gpu, clues[i].gpu, what, clues[i].clue));
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
  each(in, "stands_in_for", [&](const SpecNode& node, const std::string& path) {
    MapReader one(node, path, faults);
    const std::string what = one.text("what", true);
    read_clues(one, out, gpu, what.empty() ? "another" : what);
    one.finish();
  });
  each(in, "clues",
       [&](const SpecNode& node, const std::string& path) { out.clues.push_back(read_clue(node, path, gpu, vendor, faults)); });
  each(in, "instances", [&](const SpecNode& node, const std::string& path) {
    MapReader one(node, path, faults);
    CloudInstance made;
    made.name = one.text("name", true);
    made.gpu = gpu;
    made.gpus = one.count("gpus", 1, 1, 1024, true);
    made.nics = one.count("nics", 1, 1, 1024, true);
    made.source = one.provenance(node).source;
    one.finish();
    if (!made.name.empty()) out.instances.push_back(std::move(made));
  });
  in.finish();
  return out;
}

GpuIdentities::GpuIdentities(const fs::path& data) {
  Faults faults;
  int slowest = 0;
  for (const std::string& name : yaml_names(data / "gpus")) {
    const SpecNode tree = parse_spec(data / "gpus" / (name + ".yaml"));
    const std::string_view vendor = plain(tree.find("vendor"));
    if (const SpecNode* identity = tree.find("identity")) {
      GpuIdentity one = read_identity(*identity, name, vendor, faults);
      std::move(one.names.begin(), one.names.end(), std::back_inserter(names_));
      std::move(one.pci.begin(), one.pci.end(), std::back_inserter(pci_));
      std::move(one.clues.begin(), one.clues.end(), std::back_inserter(clues_));
      std::move(one.instances.begin(), one.instances.end(), std::back_inserter(instances_));
    }
    if (const SpecNode* links = tree.find("scale_up"); links != nullptr && vendor == "nvidia") {
      const int count = whole(plain(links->find("links")));
      if (plain(tree.find("confidence")) == "announced")
        announced_nvlinks_.push_back(count);
      else
        max_nvlinks_ = std::max(max_nvlinks_, count);
    }
    if (const SpecNode* host = tree.find("host"))
      if (const int slot = pcie_of(plain(host->find("link"))); slot > 0) slowest = slowest == 0 ? slot : std::min(slowest, slot);
  }
  faults.raise();
  std::sort(announced_nvlinks_.begin(), announced_nvlinks_.end());
  announced_nvlinks_.erase(std::unique(announced_nvlinks_.begin(), announced_nvlinks_.end()), announced_nvlinks_.end());
  resolve(names_, "name", data);
  resolve(pci_, "PCI id", data);
  std::stable_sort(instances_.begin(), instances_.end(),
                   [](const CloudInstance& a, const CloudInstance& b) { return a.name.size() > b.name.size(); });
  for (const std::string& name : yaml_names(data / "links"))
    if (const int generation = pcie_of(name); generation >= slowest && slowest > 0)
      slots_[generation] = load_link((data / "links" / (name + ".yaml")).string()).lane_rate.value.value();
}

std::shared_ptr<const GpuIdentities> GpuIdentities::shipped() {
  static std::mutex guard;
  static fs::path read_from;
  static std::shared_ptr<const GpuIdentities> known;
  const fs::path data = data_directory();
  const std::lock_guard lock(guard);
  if (!known || read_from != data) {
    known = std::make_shared<const GpuIdentities>(data);
    read_from = data;
  }
  return known;
}

const KnownClue* GpuIdentities::named(std::string_view marketing) const {
  for (const KnownClue& one : names_)
    if (marketing.find(one.clue) != std::string_view::npos) return &one;
  return nullptr;
}

std::string GpuIdentities::gpu_named(std::string_view marketing) const {
  const KnownClue* known = named(marketing);
  return known != nullptr && known->stands_for.empty() ? known->gpu : std::string{};
}

const KnownClue* GpuIdentities::with_pci_id(std::string_view id) const {
  const auto found = std::find_if(pci_.begin(), pci_.end(), [&](const KnownClue& one) { return one.clue == id; });
  return found == pci_.end() ? nullptr : &*found;
}

const CloudInstance* GpuIdentities::instance(std::string_view name) const {
  const auto found = std::find_if(instances_.begin(), instances_.end(), [&](const CloudInstance& one) { return one.name == name; });
  return found == instances_.end() ? nullptr : &*found;
}

const CloudInstance* GpuIdentities::instance_in(std::string_view text) const {
  const auto found = std::find_if(instances_.begin(), instances_.end(),
                                  [&](const CloudInstance& one) { return text.find(one.name) != std::string_view::npos; });
  return found == instances_.end() ? nullptr : &*found;
}

int GpuIdentities::slot_generation(double lane_rate) const {
  constexpr double as_written = 0.9;  // tolerance for "32 GT/s", "31.5 Gbit/s": line and payload rates are both in use
  int out = 0;
  for (const auto& [generation, rate] : slots_)
    if (lane_rate >= as_written * rate) out = generation;
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

bool sold_joined(const System& pair, int ranks) { return !pair.gpu.scale_up_bridge && ranks <= pair.domain; }

std::string usual_nic(std::string_view generation) {
  const fs::path links = data_directory() / "links";
  for (const std::string& link : yaml_names(links)) {
    const SpecNode tree = parse_spec(links / (link + ".yaml"));
    if (const SpecNode* beside = tree.find("usual_beside"))
      for (const SpecNode& one : beside->items)
        if (one.text == generation) return link;
  }
  if (generation != name(Generation::other)) return usual_nic(name(Generation::other));
  throw RequestError(fmt::format("{}: no link is `usual_beside: [{}]`; say so in the file of one", links.string(), generation));
}

}  // namespace fabricost::core
