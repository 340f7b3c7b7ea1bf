// System and cluster files: tiers from links and switches, checked against the hardware they are made of.
#include "io/calibration.hpp"
#include "io/spec_store.hpp"
#include "io/overrides.hpp"

#include <fabricost/io/load.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace fabricost::io {

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

class TierReader {
 public:
  TierReader(const SpecNode& node, std::string path, SpecStore& library, Faults& faults)
      : node_(node), path_(std::move(path)), library_(library), faults_(faults), in_(node, path_, faults) {}

  Tier read() {
    read_keys();
    read_rates();
    check_shape();
    check_switch();
    in_.finish();
    return tier_;
  }

 private:
  void read_keys() {
    const std::string name = in_.name("name", true);
    if (name.size() > Label::capacity) in_.fault(*node_.find("name"), "name", fmt::format("\"{}\" is longer than {} characters", name, Label::capacity), "shorten it");
    tier_.name = Label{name};
    tier_.role = in_.choice("role", tier_role_names, TierRole::scale_up, true);
    tier_.kind = in_.choice("kind", tier_kind_names, TierKind::switched, true);
    tier_.endpoints = in_.count("endpoints", 1, 1, 10000000, true);
    tier_.links = in_.count("links", 1, 1, 100000);
    tier_.hops = in_.count("hops", 1, 1, 64);
    tier_.shared_by = in_.count("shared_by", 1, 1, 100000);
    tier_.oversubscription = in_.number("oversubscription", 1, 1, 1000);
    tier_.dims = in_.counts("dims");
    tier_.wrap = in_.flag("wrap", true);
    tier_.gpu_direct = in_.flag("gdr", true);
    tier_.sharp = in_.flag("sharp", false);
    const bool nic = tier_.role == TierRole::nic;
    tier_.transport = in_.choice("transport", transport_names, Transport::unknown, nic);
    tier_.path = in_.choice("path", nic_path_names, NicPath::pxb);
    if (const SpecNode* notes = node_.find("notes")) tier_.notes = notes->text;
    read_edges();
    if (const std::string link_name = in_.name("link"); !link_name.empty()) {
      link_ = library_.link(*node_.find("link"), in_.path_of("link"), link_name, faults_);
      tier_.link = link_name;
    }
    if (const std::string switch_name = in_.name("switch"); !switch_name.empty()) {
      switch_ = library_.switch_spec(*node_.find("switch"), in_.path_of("switch"), switch_name, faults_);
      tier_.switch_name = switch_name;
    }
    tier_.switches = in_.count("switches", switch_ != nullptr ? 1 : 0, 1, 10000000);
  }

  void read_edges() {
    const SpecNode* list = in_.take("edges");
    if (list == nullptr) return;
    for (const SpecNode& item : list->items) {
      std::vector<int> numbers;
      for (const SpecNode& part : item.items)
        if (const Parsed parsed = parse_quantity(part.text, QuantityKind::count); std::holds_alternative<double>(parsed))
          numbers.push_back(static_cast<int>(std::get<double>(parsed)));
      const bool fine = numbers.size() == 3 && numbers[0] < tier_.endpoints && numbers[1] < tier_.endpoints && numbers[0] != numbers[1] && numbers[2] > 0;
      if (!fine || tier_.edges.size() > 100000) {
        in_.fault(item, "edges", "an edge is [endpoint, endpoint, links] with endpoints counted from 0", fmt::format("endpoints here: 0 to {}", tier_.endpoints - 1));
        return;
      }
      tier_.edges.push_back({numbers[0], numbers[1], numbers[2]});
    }
  }

  void read_rates() {
    const auto given = in_.quantity("bandwidth", QuantityKind::link_rate);
    if (link_ != nullptr) {
      tier_.link_bandwidth = link_->bandwidth.value;
      tier_.link_usable = link_->usable.value;
      const double derived = tier_.links * link_->bandwidth.value.value();
      tier_.bandwidth = {Bandwidth::from_value(derived), link_->bandwidth.provenance};
      if (tier_.links > 1) tier_.bandwidth.provenance = {fmt::format("{} x {}: {}", tier_.links, link_->name, link_->bandwidth.provenance.source), link_->bandwidth.provenance.confidence};
      tier_.efficiency = link_->efficiency();
      if (given && given->node->replaced == nullptr && std::fabs(given->number / derived - 1) > 0.05 && !overridden("bandwidth"))
        in_.fault(*given->node, "bandwidth",
                  fmt::format("{:.5g} GB/s per direction, but {} x {} is {:.5g}", given->number * 1e-9, tier_.links, link_->name, derived * 1e-9),
                  "correct the bandwidth or the links, or leave the bandwidth out");
    }
    if (given) {
      const double factor = tier_.bandwidth.value.value() > 0 ? given->number / tier_.bandwidth.value.value() : 1;
      tier_.bandwidth = {Bandwidth::from_value(given->number), given->provenance};
      if (link_ == nullptr) {
        tier_.link_bandwidth = Bandwidth::from_value(given->number / tier_.links);
      } else {  // an overridden total changes its links alike
        tier_.link_bandwidth *= factor;
        tier_.link_usable *= factor;
      }
    }
    if (link_ == nullptr && !given) in_.fault(node_, "bandwidth", "is missing, and no link to derive it from", "add `link:` or `bandwidth: ... per direction`");
    tier_.efficiency = in_.fraction("efficiency", tier_.efficiency);
    read_latency();
  }

  void read_latency() {
    Sourced<Time> derived;
    if (link_ != nullptr && link_->latency.value.value() > 0) {
      derived = link_->latency;
      if (switch_ != nullptr && tier_.role == TierRole::scale_up) derived.value += switch_->latency.value;
    }
    tier_.latency = derived;
    const auto given = in_.quantity("latency", QuantityKind::time);
    if (given) tier_.latency = {Time::from_value(given->number), given->provenance};
    // what the constants were fitted with is the value before anybody overrode it
    tier_.nominal_latency = tier_.latency.value;
    const SpecNode* first = node_.find("latency");
    if (first == nullptr || first->replaced == nullptr) return;
    while (first->replaced != nullptr) first = first->replaced.get();
    const SpecNode* scalar = first->kind == SpecNode::Kind::map ? first->find("value") : first;
    tier_.nominal_latency = derived.value;
    if (scalar == nullptr || scalar->kind != SpecNode::Kind::scalar) return;
    if (const Parsed parsed = parse_quantity(scalar->text, QuantityKind::time); std::holds_alternative<double>(parsed))
      tier_.nominal_latency = Time::from_value(std::get<double>(parsed));
  }

  [[nodiscard]] bool overridden(std::string_view key) const {
    const SpecNode* value = node_.find(key);
    return value != nullptr && value->replaced != nullptr;
  }

  void check_shape() {
    const auto need = [&](bool fine, std::string_view key, const std::string& message, const std::string& remedy) {
      const SpecNode* at = node_.find(key);
      if (!fine) in_.fault(at != nullptr ? *at : node_, key, message, remedy);
    };
    if (tier_.kind == TierKind::full_mesh)
      need(tier_.endpoints > 1 && tier_.links % (tier_.endpoints - 1) == 0, "links",
           fmt::format("{} links do not spread over {} peers", tier_.links, tier_.endpoints - 1), "links of a full mesh are counted per endpoint in total");
    if (tier_.kind == TierKind::torus) {
      double all = 1;
      for (const int d : tier_.dims) all *= d;
      need(!tier_.dims.empty() && tier_.dims.size() <= 3, "dims", "a torus needs one to three dims", "write for example [4, 4, 4]");
      if (!tier_.dims.empty())
        need(all == tier_.endpoints, "dims", fmt::format("make {} endpoints, not {}", all, tier_.endpoints), "correct dims or endpoints");
    }
    if (tier_.kind == TierKind::mesh_graph) need(!tier_.edges.empty(), "edges", "a mesh_graph needs its edges", "write [[0, 1, 1], ...]: endpoint, endpoint, links");
    if (tier_.role == TierRole::nic && switch_ != nullptr && switch_->multicasts)
      need(false, "switch", fmt::format("a NIC never hangs on an NVSwitch ({})", switch_->name), "name the network's switch on a network tier");
  }

  void check_switch() {
    if (switch_ != nullptr) {
      tier_.reduces_in_network = switch_->reduces;
      tier_.multicasts = switch_->multicasts;
      const long need = static_cast<long>(tier_.endpoints) * tier_.links;
      const long have = static_cast<long>(tier_.switches) * switch_->ports;
      if (tier_.role == TierRole::scale_up && need > have) {
        const SpecNode* at = node_.find("switches");
        in_.fault(at != nullptr ? *at : node_, "switches",
                  fmt::format("{} endpoints x {} links need {} ports, {} x {} has {}", tier_.endpoints, tier_.links, need, tier_.switches, switch_->name, have),
                  "more switches, or fewer links");
      }
    }
    if (const SpecNode* list = in_.take("in_network")) {
      tier_.reduces_in_network = tier_.multicasts = false;
      for (const SpecNode& item : list->items) {
        if (item.text == "reduction") tier_.reduces_in_network = true;
        else if (item.text == "multicast") tier_.multicasts = true;
        else in_.fault(item, "in_network", fmt::format("\"{}\" is not known", item.text), "write reduction or multicast");
      }
    }
  }

  const SpecNode& node_;
  std::string path_;
  SpecStore& library_;
  Faults& faults_;
  MapReader in_;
  const Link* link_ = nullptr;
  const SwitchSpec* switch_ = nullptr;
  Tier tier_;
};


Library collectives_of(const Gpu& gpu) {
  if (gpu.vendor == "nvidia") return Library::nccl;
  if (gpu.vendor == "amd") return Library::rccl;
  if (gpu.vendor == "intel" && gpu.generation == Generation::other) return Library::oneccl;
  return Library::other;
}

/// The tree of the GPU a system names, with overrides of the form gpu.KEY applied.
Gpu read_system_gpu(const SpecNode& at, const std::string& name, SpecStore& library, std::span<const std::pair<std::string, std::string>> overrides, bool& altered, Faults& faults) {
  try {
    SpecNode tree = library.resolve("gpus", name);
    for (const auto& [path, value] : overrides) {
      std::string inside = path;
      if (!is_gpu_path(inside)) continue;
      apply_override(tree, inside, value);
      altered = true;
    }
    return read_gpu(tree, faults);
  } catch (const RequestError& error) {
    faults.add(issue_at(at.mark, "gpu", error.what(), ""));
  }
  return {};
}

System read_system(const SpecNode& tree, SpecStore& library, std::span<const std::pair<std::string, std::string>> overrides, bool& altered, Faults& faults) {
  MapReader in(tree, "", faults);
  System system;
  in.take("extends");
  system.name = in.name("name", true);
  system.title = in.text("title");
  if (const SpecNode* notes = tree.find("notes")) system.notes = notes->text;
  if (const SpecNode* source = tree.find("source")) system.provenance.source = source->text;
  const std::string gpu = in.name("gpu", true);
  if (!gpu.empty()) system.gpu = read_system_gpu(*tree.find("gpu"), gpu, library, overrides, altered, faults);
  system.library = collectives_of(system.gpu);
  system.gpus_per_node = in.count("gpus", 1, 1, 100000, true);
  system.domain = in.count("domain", system.gpus_per_node, 1, 10000000);
  system.nodes = in.count("nodes", std::max(1, system.domain / system.gpus_per_node), 1, 10000000);
  if (system.domain % system.gpus_per_node != 0)
    in.fault(*tree.find("domain"), "domain", fmt::format("{} is no multiple of {} GPUs per node", system.domain, system.gpus_per_node), "");
  system.cpu = in.choice("cpu", cpu_names, Cpu::any);
  in.quantity("power", QuantityKind::power, system.power);
  in.quantity("price", QuantityKind::money, system.price);

  if (system.gpu.l2_bandwidth.value.value() > 0) system.tiers.push_back(memory_tier("l2", system.gpu.l2_bandwidth, system.gpu.l2_latency));
  if (system.gpu.hbm_bandwidth.value.value() > 0) system.tiers.push_back(memory_tier("hbm", system.gpu.hbm_bandwidth, system.gpu.hbm_latency));
  const SpecNode* tiers = in.take("tiers", true);
  if (tiers != nullptr && tiers->kind != SpecNode::Kind::list) in.fault(*tiers, "tiers", "is not a list", "write one `- name: ...` per tier");
  std::set<std::string> names{"l2", "hbm"};
  if (tiers != nullptr) {
    for (std::size_t i = 0; i < tiers->items.size() && i < 64; ++i) {
      const SpecNode& node = tiers->items[i];
      Tier tier = TierReader(node, fmt::format("tiers[{}]", i), library, faults).read();
      if (!names.insert(std::string{tier.name.view()}).second)
        faults.add(issue_at(node.mark, fmt::format("tiers[{}].name", i), fmt::format("a second tier \"{}\"", tier.name.view()), "names are unique; l2 and hbm come from the GPU"));
      if (tier.role == TierRole::scale_up && tier.endpoints != system.domain)
        faults.add(issue_at(node.mark, fmt::format("tiers[{}].endpoints", i), fmt::format("joins {} GPUs, but the domain has {}", tier.endpoints, system.domain),
                            "make `domain:` (or `gpus:`) and the scale-up tier's endpoints agree"));
      for (const char* key : {"bandwidth", "links", "link", "latency", "kind", "switch"})
        if (const SpecNode* value = node.find(key); tier.role == TierRole::scale_up && value != nullptr && value->replaced != nullptr && value->mark.file &&
                                                    value->mark.file->name.starts_with("--set"))
          altered = true;
      system.tiers.push_back(std::move(tier));
    }
  }
  in.finish();
  return system;
}

}  // namespace
}  // namespace fabricost::io

namespace fabricost {

System load_system(std::string_view name_or_path, std::span<const std::string> overrides, std::string_view calibration) {
  io::SpecStore library;
  std::vector<std::string> chain;
  io::SpecNode tree = library.resolve("systems", name_or_path, &chain);
  const auto split = io::split_overrides(overrides);
  for (const auto& [path, value] : split) {
    std::string inside = path;
    if (!io::is_gpu_path(inside)) io::apply_override(tree, path, value);
  }
  io::Faults faults;
  bool altered = false;
  System system = io::read_system(tree, library, split, altered, faults);
  faults.raise();
  io::calibrate_system(system, library, calibration, chain, altered, faults);
  faults.raise();
  return system;
}

}  // namespace fabricost
