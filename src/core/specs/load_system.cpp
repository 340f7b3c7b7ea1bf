/// System and cluster files: a GPU, its memories and the tiers around it.

#include "specs/overrides.hpp"
#include "specs/parts/design_parameters.hpp"
#include "specs/store.hpp"

#include <fabricost/hardware/check.hpp>
#include <fabricost/specs/load.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

namespace fabricost::core {

namespace {

Tier memory_tier(std::string_view tier_name, const Sourced<Bandwidth>& bandwidth, const Sourced<Time>& latency) {
  Tier tier;
  tier.name = tier_name;
  tier.role = TierRole::memory;
  tier.kind = TierKind::memory;
  tier.bandwidth = bandwidth;
  tier.latency = latency;
  tier.nominal_latency = latency.value;
  return tier;
}

constexpr std::size_t max_tiers = 64;

constexpr bool is_name_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; }

Library collectives_of(const Gpu& gpu) {
  if (gpu.vendor == "nvidia") return Library::nccl;
  if (gpu.vendor == "amd") return Library::rccl;
  if (gpu.vendor == "intel" && gpu.generation != Generation::gaudi) return Library::oneccl;
  return Library::other;
}

/// The tree of a system's GPU, with overrides of the form gpu.KEY applied.
Gpu read_system_gpu(const SpecNode& at, const std::string& name, SpecStore& library,
                    std::span<const std::pair<std::string, std::string>> overrides, OverriddenParts& altered, Faults& faults) {
  const auto of_gpu = [](const auto& one) {
    std::string path = one.first;
    return is_gpu_path(path);
  };
  if (std::none_of(overrides.begin(), overrides.end(), of_gpu)) {
    const Gpu* const gpu = library.gpu(at, "gpu", name, faults);
    return gpu != nullptr ? *gpu : Gpu{};
  }
  if (is_missing_file(at, "gpu", name, faults)) return {};
  try {
    SpecNode tree = library.resolve("gpus", name);
    for (const auto& [path, value] : overrides) {
      std::string inside = path;
      if (!is_gpu_path(inside)) continue;
      apply_override(tree, inside, value);
      altered.inside = true;
    }
    return read_gpu(tree, faults);
  } catch (const RequestError& error) {
    faults.add(issue_at(at.mark, "gpu", error.what(), ""));
  } catch (const SpecError& error) {
    for (const Issue& issue : error.issues()) faults.add(issue);
  }
  return {};
}

bool by_hand(const SpecNode& value) { return value.mark.file && value.mark.file->name.starts_with(override_mark); }

/// A tier's keys without the values given by hand: what they replaced, or nothing.
SpecNode without_hand(SpecNode node) {
  std::erase_if(node.entries, [](const SpecNode::Entry& entry) {
    return by_hand(entry.value) && (entry.value.replaced == nullptr || entry.value.replaced->kind == SpecNode::Kind::null);
  });
  for (SpecNode::Entry& entry : node.entries)
    if (by_hand(entry.value)) entry.value = SpecNode{*entry.value.replaced};
  return node;
}

/// Whether a value given by hand is the one that the tier had: a rate as far as it is printed, others as they are written.
bool restates(const SpecNode::Entry& entry, const Tier& now, const std::optional<Tier>& before) {
  if (entry.key == "bandwidth") return before && is_same_as_printed(now.bandwidth.value.value(), before->bandwidth.value.value());
  if (entry.key == "latency") return before && is_same_as_printed(now.latency.value.value(), before->latency.value.value());
  const auto text = [](const SpecNode& node) { return node.find("value") != nullptr ? node.find("value")->text : node.text; };
  return entry.value.replaced != nullptr && !text(entry.value).empty() && text(entry.value) == text(*entry.value.replaced);
}

bool is_of_network(const SpecNode& tier) {
  const SpecNode* role = tier.find("role");
  return role != nullptr && role->text == name(TierRole::network);
}

/// Refuses overrides of a tier that do not affect its price.
void refuse_without_effect(const SpecNode& node, const Tier& tier, const std::string& path, Faults& faults) {
  const bool joins_over_host = tier.role == TierRole::scale_up && tier.kind == TierKind::host;
  const bool closes = tier.kind == TierKind::torus || tier.kind == TierKind::ring;
  for (const SpecNode::Entry& entry : node.entries) {
    if (!by_hand(entry.value)) continue;
    const std::string_view key = entry.key;
    const char* whose = nullptr;
    if ((key == "transport" || key == "path" || key == "gdr" || key == "sharp" || key == "tuner_plugin") && tier.role != TierRole::nic)
      whose = "a tier with role nic";
    else if ((key == "peer_to_peer" || key == "per_socket" || std::count(carried_keys.begin(), carried_keys.end(), key) > 0) &&
             !joins_over_host)
      whose = "a scale_up tier of kind host (PCIe)";
    else if (key == "wrap" && !closes)
      whose = "a tier of kind torus or ring";
    if (whose != nullptr)
      faults.add(issue_at(entry.value.mark, path + "." + entry.key, fmt::format("changes nothing of tier \"{}\"", tier.name.view()),
                          fmt::format("{} belongs to {}; `fabricost machine` prints the tiers", key, whose)));
  }
}

/// The uppermost network tier has no uplinks. (Older files gave a tier the oversubscription of its
/// downlinks.)
void check_uplinks(const System& system, const SpecNode& tiers, Faults& faults) {
  const Tier *top = nullptr, *below = nullptr;
  for (const Tier& tier : system.tiers) {
    if (tier.role != TierRole::network) continue;
    below = top;
    top = &tier;
  }
  if (top == nullptr || !(top->oversubscription > 1)) return;
  for (std::size_t i = 0; i < std::min(tiers.items.size(), max_tiers); ++i) {
    const SpecNode *called = tiers.items[i].find("name"), *given = tiers.items[i].find("oversubscription");
    if (called == nullptr || given == nullptr || called->text != top->name.view()) continue;
    faults.add(issue_at(
        given->mark, fmt::format("tiers[{}].oversubscription", i),
        fmt::format("{} is the uppermost tier and has no uplinks", top->name.view()),
        below != nullptr ? fmt::format("it is a switch's downlinks over its uplinks: where {} takes in 1/{:.6g} of what comes from below, "
                                       "write `oversubscription: {:.6g}` at {}",
                                       top->name.view(), top->oversubscription, top->oversubscription, below->name.view())
                         : std::string{"leave it out: inside one tier of switches nothing is held back"}));
  }
}

/// All nodes of a machine meet below its uppermost network tier.
void check_places(const System& system, const SpecNode& tiers, Faults& faults) {
  long long places = 1;
  std::string product;
  Label uppermost;
  for (const Tier& tier : system.tiers) {
    if (tier.role != TierRole::network) continue;
    uppermost = tier.name;
    places = std::min(places * std::max(1, tier.endpoints), 1LL << 40);
    product += fmt::format("{}{} of {}", product.empty() ? "" : " x ", tier.endpoints, tier.name.view());
  }
  if (product.empty() || places >= system.nodes) return;
  const auto is_it = [&](const SpecNode& one) { return one.find("name") != nullptr && one.find("name")->text == uppermost.view(); };
  const auto at = std::find_if(tiers.items.begin(), tiers.items.end(), is_it);
  const SpecNode* endpoints = at->find("endpoints");
  faults.add(issue_at(endpoints != nullptr ? endpoints->mark : at->mark, fmt::format("tiers[{}].endpoints", at - tiers.items.begin()),
                      fmt::format("the network joins {} nodes ({}), and the machine has {}", places, product, system.nodes),
                      "endpoints of a network tier are the children below one of its switches: raise those of the uppermost tier"));
}

/// A dragonfly's switches take all NICs of a node alike: it has no rails, on which NIC i of every node meets on a switch of its own.
void check_dragonfly(const System& system, const SpecNode& tiers, Faults& faults) {
  const auto is = [&](TierKind kind) {
    return std::find_if(system.tiers.begin(), system.tiers.end(),
                        [&](const Tier& t) { return (t.role == TierRole::nic || t.role == TierRole::network) && t.kind == kind; });
  };
  const auto dragonfly = is(TierKind::dragonfly), rails = is(TierKind::rails);
  if (dragonfly == system.tiers.end() || rails == system.tiers.end()) return;
  for (std::size_t i = 0; i < std::min(tiers.items.size(), max_tiers); ++i) {
    const SpecNode *called = tiers.items[i].find("name"), *kind = tiers.items[i].find("kind");
    if (called == nullptr || called->text != dragonfly->name.view()) continue;
    faults.add(issue_at(kind != nullptr ? kind->mark : tiers.items[i].mark, fmt::format("tiers[{}].kind", i),
                        fmt::format("a dragonfly, and {} is of kind rails", rails->name.view()),
                        fmt::format("a dragonfly has no rails: write `kind: dragonfly` at {}, too", rails->name.view())));
  }
}

/// Reads the part of the file before its tiers: names and counts.
void read_outline(MapReader& in, const SpecNode& tree, System& system) {
  system.name = in.name("name", true);
  system.title = in.text("title");
  system.gpus_per_node = in.count("gpus", 1, 1, 100000, true);
  system.domain = in.count("domain", system.gpus_per_node, 1, 10000000);
  system.pod = in.count("pod", 0, 1, 10000000);
  system.nodes = in.count("nodes", std::max(1, system.domain / system.gpus_per_node), 1, 10000000);
  if (system.domain % system.gpus_per_node != 0)
    in.fault(*tree.find("domain"), "domain", fmt::format("{} is no multiple of {} GPUs per node", system.domain, system.gpus_per_node),
             "correct domain or gpus");
  if (const SpecNode* nodes = tree.find("nodes"); nodes != nullptr && static_cast<double>(system.nodes) * system.gpus_per_node < system.domain)
    in.fault(*nodes, "nodes", fmt::format("{} nodes of {} GPUs do not fill the domain of {}", system.nodes, system.gpus_per_node, system.domain),
             fmt::format("write at least {}, or correct domain", (system.domain + system.gpus_per_node - 1) / system.gpus_per_node));
  if (system.pod > 0 && system.pod % system.domain != 0)
    in.fault(*tree.find("pod"), "pod", fmt::format("{} is no multiple of the domain's {} GPUs", system.pod, system.domain),
             "correct pod or domain");
  if (static_cast<double>(system.gpus_per_node) * system.nodes > 1e9)
    in.fault(tree, "nodes", fmt::format("{} nodes of {} GPUs are more than a billion GPUs", system.nodes, system.gpus_per_node),
             "correct nodes or gpus");
}

System read_system(const SpecNode& tree, SpecStore& library, std::span<const std::pair<std::string, std::string>> overrides,
                   OverriddenParts& altered, Faults& faults) {
  const bool altered_by_file = altered.inside && altered.outside;
  MapReader in(tree, "", faults);
  System system;
  in.take("extends");
  in.take("design");
  (void)read_declared_parameters(tree, faults);
  read_outline(in, tree, system);
  system.notes = in.text("notes");
  system.provenance = in.provenance(tree);
  // looked up across all files by specs/parts/identities.hpp
  for (const std::string_view key : {"aliases", "usual_for", "bridge_of"})
    for (const SpecNode* one : in.texts(key))
      if (one->text.empty() || !std::all_of(one->text.begin(), one->text.end(), is_name_letter))
        in.fault(*one, key, fmt::format("\"{}\" is no name", clipped(one->text)), "names are lower case with digits and dashes");
  in.texts("runs");
  const std::string gpu = in.reference("gpu", true);
  if (!gpu.empty()) system.gpu = read_system_gpu(*tree.find("gpu"), gpu, library, overrides, altered, faults);
  system.library = collectives_of(system.gpu);
  system.cpu = in.choice("cpu", cpu_names, Cpu::any);
  in.quantity("power", QuantityKind::power, system.power);
  in.quantity("price", QuantityKind::money, system.price);
  system.price_is = in.text("price_is");
  in.quantity("host_memory_rate", QuantityKind::memory_rate, system.host_memory_rate);
  in.quantity("host_launch", QuantityKind::time, system.host_launch);
  in.quantity("host_memory", QuantityKind::size, system.host_memory);
  system.seller = in.text("seller");
  system.rented_by = in.count("rented_by", 0, 1, 100000);
  if (system.rented_by % std::max(1, system.gpus_per_node) != 0)
    in.fault(*tree.find("rented_by"), "rented_by",
             fmt::format("{} GPUs are no whole nodes of {}", system.rented_by, system.gpus_per_node), "correct it, or leave it out");

  if (system.gpu.l2_bandwidth.value.value() > 0) system.tiers.push_back(memory_tier("l2", system.gpu.l2_bandwidth, system.gpu.l2_latency));
  if (system.gpu.hbm_bandwidth.value.value() > 0)
    system.tiers.push_back(memory_tier("hbm", system.gpu.hbm_bandwidth, system.gpu.hbm_latency));
  const SpecNode* tiers = in.take("tiers", true);
  if (tiers != nullptr && tiers->kind != SpecNode::Kind::list)
    in.fault(*tiers, "tiers", "is not a list", "write one `- name: ...` per tier");
  else if (tiers != nullptr && (tiers->items.empty() || tiers->items.size() > max_tiers))
    in.fault(*tiers, "tiers", fmt::format("has {} tiers", tiers->items.size()), fmt::format("write 1 to {}", max_tiers));
  for (const SpecNode::Entry& entry : tree.entries)
    if (by_hand(entry.value) && (entry.key == "gpu" || entry.key == "gpus" || entry.key == "domain" || entry.key == "cpu"))
      altered.inside = true;
  std::set<std::string> names{"l2", "hbm"};
  bool has_all = true;
  if (tiers != nullptr) {
    for (std::size_t i = 0; i < std::min(tiers->items.size(), max_tiers); ++i) {
      const SpecNode& node = tiers->items[i];
      const bool is_below = std::any_of(tiers->items.begin() + static_cast<std::ptrdiff_t>(i) + 1, tiers->items.end(), is_of_network);
      std::optional<Tier> read = read_tier(node, fmt::format("tiers[{}]", i), is_below, library, faults);
      has_all = has_all && read;
      if (!read) continue;
      Tier& tier = *read;
      const auto mark_of = [&](std::string_view key) { return node.find(key) != nullptr ? node.find(key)->mark : node.mark; };
      if (!tier.name.empty() && !names.insert(std::string{tier.name.view()}).second)
        faults.add(issue_at(mark_of("name"), fmt::format("tiers[{}].name", i), fmt::format("a second tier \"{}\"", tier.name.view()),
                            "names are unique; l2 and hbm come from the GPU"));
      const bool counted = node.find("endpoints") != nullptr;  // otherwise already reported
      if (counted && tier.role == TierRole::scale_up && tier.endpoints != system.domain)
        faults.add(issue_at(mark_of("endpoints"), fmt::format("tiers[{}].endpoints", i),
                            fmt::format("joins {} GPUs, but the domain has {}", tier.endpoints, system.domain),
                            "make `domain:` (or `gpus:`) and the scale-up tier's endpoints agree, or turn both: --set design.domain=N"));
      refuse_without_effect(node, tier, fmt::format("tiers[{}]", i), faults);
      std::optional<Tier> before;
      if (std::any_of(node.entries.begin(), node.entries.end(), [](const SpecNode::Entry& entry) { return by_hand(entry.value); })) {
        Faults earlier;
        before = read_tier(without_hand(node), fmt::format("tiers[{}]", i), is_below, library, earlier);
      }
      for (const SpecNode::Entry& entry : node.entries) {
        if (by_hand(entry.value) && restates(entry, tier, before)) continue;
        const bool carries = std::count(carried_keys.begin(), carried_keys.end(), std::string_view{entry.key}) > 0;
        if (carries && (by_hand(entry.value) || (altered_by_file && entry.value.replaced != nullptr))) altered.board = true;
        if (!by_hand(entry.value) || entry.key == "notes" || entry.key == "source" || entry.key == "confidence") continue;
        if (tier.role == TierRole::scale_up) altered.inside = true;
        if (tier.role == TierRole::nic || tier.role == TierRole::network) altered.outside = true;
      }
      system.tiers.push_back(std::move(tier));
    }
  }
  if (tiers != nullptr && has_all) {
    check_uplinks(system, *tiers, faults);
    check_places(system, *tiers, faults);
    check_dragonfly(system, *tiers, faults);
  }
  if (const Tier* joins = system.tier(TierRole::scale_up); system.pod > 0 && (joins == nullptr || joins->kind != TierKind::torus))
    in.fault(*tree.find("pod"), "pod", "is of a machine whose scale-up tier is a torus", "leave it out");
  in.finish();
  return system;
}

}  // namespace
}  // namespace fabricost::core

namespace fabricost::core {

namespace {

System load(std::string_view name_or_path, std::span<const std::string> overrides, std::string_view calibration, KernelSets kernels,
            int depth, SpecStore& library) {
  if (const auto saved = read_saved_system(name_or_path)) {
    constexpr int deepest = 8;
    if (depth == deepest) throw RequestError(fmt::format("{}: saved machines extend each other more than {} times", name_or_path, deepest));
    std::vector<std::string> all = saved->set;
    all.insert(all.end(), overrides.begin(), overrides.end());
    return load(saved->extends, all, calibration.empty() ? saved->calibration : calibration, kernels, depth + 1, library);
  }
  std::vector<std::string> chain;
  SpecNode tree = library.resolve("systems", name_or_path, &chain);
  auto split = split_overrides(overrides);
  spell_out_parameters(tree, split);
  const auto parameters = take_parameters(split);
  for (const auto& [path, value] : split) {
    std::string inside = path;
    if (!is_gpu_path(inside)) apply_override(tree, path, value);
  }
  Faults faults;
  // a file that extends a machine without a name of its own is that machine, altered
  const bool nameless = chain.size() > 1 && chain[chain.size() - 2] == chain.back();
  OverriddenParts altered{.inside = nameless, .outside = nameless};
  System system = read_system(tree, library, split, altered, faults);
  faults.raise();
  turn(system, parameters, altered);
  load_constants(system, library, calibration, kernels, altered, chain, faults);
  faults.raise();
  check(system);
  return system;
}

}  // namespace

System load_system(std::string_view name_or_path, std::span<const std::string> overrides, std::string_view calibration,
                   KernelSets kernels) {
  SpecStore library;
  return load(name_or_path, overrides, calibration, kernels, 0, library);
}

System load_outline(SpecStore& library, std::string_view name) {
  const SpecNode tree = library.resolve("systems", name);
  Faults faults;
  MapReader in(tree, "", faults);
  System out;
  read_outline(in, tree, out);
  if (const std::string gpu = in.reference("gpu", true); !gpu.empty()) out.gpu.vendor = library.vendor(gpu);
  if (const SpecNode* tiers = in.take("tiers", true); tiers != nullptr && tiers->kind == SpecNode::Kind::list)
    for (std::size_t i = 0; i < std::min(tiers->items.size(), max_tiers); ++i) {
      MapReader one(tiers->items[i], fmt::format("tiers[{}]", i), faults);
      Tier& tier = out.tiers.emplace_back();
      tier.role = one.choice("role", tier_role_names, TierRole::scale_up, true, {TierRole::memory});
      tier.kind = one.choice("kind", tier_kind_names, TierKind::switched, true, {TierKind::memory});
    }
  faults.raise();
  return out;
}

}  // namespace fabricost::core
