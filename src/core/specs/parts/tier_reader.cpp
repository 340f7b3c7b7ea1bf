/// Reads the keys of one tier; its links and switch provide what the tier leaves out; both are checked
/// against each other: rate, shape, edges, ports.

#include "specs/overrides.hpp"
#include "specs/store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace fabricost::core {

namespace {

constexpr std::size_t longest_tier_name = 15;  // the column width of tables
static_assert(longest_tier_name <= Label::capacity);

class TierReader {
 public:
  TierReader(const SpecNode& node, std::string path, bool is_below, SpecStore& library, Faults& faults)
      : node_(node), path_(std::move(path)), is_below_(is_below), library_(library), faults_(faults), in_(node, path_, faults) {}

  std::optional<Tier> read() {
    const std::size_t before = faults_.issues.size();
    tier_.role = in_.choice("role", tier_role_names, TierRole::scale_up, true, {TierRole::memory});
    if (faults_.issues.size() > before) return std::nullopt;  // what its other keys mean depends on it
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
    if (name.size() > longest_tier_name)
      in_.fault(*node_.find("name"), "name", fmt::format("\"{}\" is longer than {} characters", name, longest_tier_name), "shorten it");
    tier_.name = Label::cut(name);  // a longer one is a fault already
    tier_.kind = in_.choice("kind", tier_kind_names, TierKind::switched, true, {TierKind::memory});
    tier_.endpoints = in_.count("endpoints", 1, 1, 10000000, true);
    tier_.links = in_.count("links", 1, 1, 100000);
    tier_.hops = in_.count("hops", 1, 1, 64);
    tier_.first_stage = in_.count("first_stage", 0, 1, 10000000);
    tier_.shared_by = in_.count("shared_by", 1, 1, 100000);
    read_lost();
    if (const auto given = in_.quantity("oversubscription", QuantityKind::ratio)) tier_.oversubscription = given->number;
    if (tier_.oversubscription > 1 && tier_.role != TierRole::network && tier_.first_stage == 0 && node_.find("first_stage") == nullptr)
      in_.fault(*node_.find("oversubscription"), "oversubscription",
                fmt::format("belongs to a tier of switches, and this one has role {}", fabricost::core::name(tier_.role)),
                "write it at the network tier whose uplinks carry less than its downlinks, or leave it out");
    tier_.dims = in_.counts("dims");
    tier_.wrap = in_.flag("wrap", true);
    tier_.gpu_direct = in_.flag("gdr", true);
    tier_.sharp = in_.flag("sharp", false);
    tier_.peer_to_peer = in_.flag("peer_to_peer", false);
    tier_.per_socket = in_.count("per_socket", 4, 1, 100000);
    for (std::size_t i = 0; i < carried_keys.size(); ++i)
      if (const auto rate = in_.quantity(carried_keys[i], QuantityKind::link_rate)) tier_.carried[i] = Bandwidth::from_value(rate->number);
    read_copies();
    const bool nic = tier_.role == TierRole::nic;
    read_transport(nic);
    tier_.transport.plugin = in_.choice("tuner_plugin", tuner_plugin_names, tier_.transport.plugin);
    tier_.path = in_.choice("path", nic_path_names, NicPath::pxb);
    read_slot();
    tier_.notes = in_.text("notes");
    read_edges();
    if (const std::string link_name = in_.reference("link"); !link_name.empty()) {
      link_ = library_.link(*node_.find("link"), in_.path_of("link"), link_name, faults_);
      tier_.link = link_ != nullptr ? link_->name : link_name;
    }
    if (const std::string switch_name = in_.reference("switch"); !switch_name.empty()) {
      switch_ = library_.switch_spec(*node_.find("switch"), in_.path_of("switch"), switch_name, faults_);
      tier_.switch_name = switch_ != nullptr ? switch_->name : switch_name;
    }
    tier_.switches = in_.count("switches", switch_ != nullptr ? 1 : 0, 1, 10000000);
  }

  /// NICs of one node that are down: `endpoints` are those that are left.
  void read_lost() {
    tier_.lost = in_.count("lost", 0, 1, 10000000);
    const SpecNode* at = node_.find("lost");
    if (tier_.lost > 0 && tier_.role != TierRole::nic)
      in_.fault(*at, "lost", fmt::format("belongs to a tier of role nic, and this one has role {}", fabricost::core::name(tier_.role)),
                "leave it out");
    else if (tier_.lost >= tier_.endpoints && tier_.lost > 0)
      in_.fault(*at, "lost", fmt::format("{} of {} NICs of a node", tier_.lost, tier_.endpoints), "leave at least one");
    else
      tier_.endpoints -= tier_.lost;
  }

  /// Copies between a GPU and its host, which only its tier has.
  void read_copies() {
    std::optional<Confidence> least;
    const auto given = [&](std::string_view key, const auto& quantity) {
      const Confidence is = quantity->provenance.confidence;
      least = least ? std::max(*least, is) : is;
      const bool to_host = tier_.role == TierRole::host || tier_.role == TierRole::c2c || tier_.kind == TierKind::host;
      if (!to_host) in_.fault(*quantity->node, key, "belongs to a tier with role host or c2c, or of kind host", "leave it out");
      return quantity->number;
    };
    for (std::size_t i = 0; i < copy_keys.size(); ++i)
      if (const auto rate = in_.quantity(copy_keys[i], QuantityKind::link_rate)) tier_.copies[i] = Bandwidth::from_value(given(copy_keys[i], rate));
    for (std::size_t i = 0; i < copy_start_keys.size(); ++i)
      if (const auto time = in_.quantity(copy_start_keys[i], QuantityKind::time)) tier_.copy_starts[i] = Time::from_value(given(copy_start_keys[i], time));
    if (least) tier_.copies_confidence = *least;
  }

  void read_transport(bool required) {
    const SpecNode* value = node_.find("transport");
    if (value == nullptr && !required) return static_cast<void>(in_.take("transport"));
    const bool scalar = value != nullptr && value->kind == SpecNode::Kind::scalar;
    if (!scalar || (!is_path(value->text) && library_.find("transports", value->text).empty())) {
      const std::vector<std::string> names = names_in("transports");
      in_.one_of("transport", std::vector<std::string_view>(names.begin(), names.end()), required);  // the fault lists the known names
      return;
    }
    const std::string given = in_.reference("transport");
    if (const TransportSpec* spec = library_.transport(*value, in_.path_of("transport"), given, faults_)) tier_.transport = spec->transport;
  }

  /// The slot of the NICs' cards, if it differs from the GPUs'.
  void read_slot() {
    const std::string slot = in_.reference("slot");
    if (slot.empty()) return;
    const SpecNode& at = *node_.find("slot");
    if (tier_.role != TierRole::nic) {
      in_.fault(at, "slot", fmt::format("belongs to a tier of role nic, and this one has role {}", fabricost::core::name(tier_.role)),
                "leave it out");
      return;
    }
    tier_.slot = slot;
    tier_.on_gpu = slot == "none";
    if (tier_.on_gpu) return;
    if (const std::string pcie = fmt::format("pcie-{}", slot.back()); !is_path(slot) && library_.find("links", slot).empty())
      return in_.fault(
          at, "slot", fmt::format("no link named \"{}\"", clipped(slot)),
          library_.find("links", pcie).empty() ? "name a PCIe link, as pcie-5, or none" : fmt::format("did you mean \"{}\"?", pcie));
    const Link* link = library_.link(at, in_.path_of("slot"), slot, faults_);
    if (link == nullptr) return;
    tier_.slot = link->name;
    tier_.slot_bandwidth = link->bandwidth.value * link->efficiency();
    if (link->family != "pcie")
      in_.fault(at, "slot", fmt::format("{} is no slot for a card", link->name), "name a PCIe link, as pcie-5, or none");
  }

  void read_edges() {
    const SpecNode* list = in_.take("edges");
    if (list == nullptr) return;
    if (list->kind != SpecNode::Kind::list) in_.fault(*list, "edges", "is not a list", "write [[0, 1, 1], ...]: endpoint, endpoint, links");
    for (const SpecNode& item : list->items) {
      std::vector<int> numbers;
      for (const SpecNode& part : item.items)
        if (const ParsedQuantity parsed = parse_quantity(part.text, QuantityKind::count); std::holds_alternative<double>(parsed))
          numbers.push_back(static_cast<int>(std::get<double>(parsed)));
      const bool fine = item.items.size() == 3 && numbers.size() == 3 && numbers[0] < tier_.endpoints && numbers[1] < tier_.endpoints &&
                        numbers[0] != numbers[1] && numbers[2] > 0 && numbers[2] <= 100000;
      if (!fine) {
        std::string given;
        for (const SpecNode& part : item.items) given += (given.empty() ? "" : ", ") + part.text;
        in_.fault(item, "edges", fmt::format("\"{}\" is no edge", item.kind == SpecNode::Kind::list ? "[" + given + "]" : item.text),
                  fmt::format("an edge is [endpoint, endpoint, links]: two different endpoints of 0 to {}", tier_.endpoints - 1));
        return;
      }
      const auto between = std::minmax(numbers[0], numbers[1]);
      const auto before =
          std::find_if(tier_.edges.begin(), tier_.edges.end(), [&](const Edge& e) { return std::minmax(e.from, e.to) == between; });
      if (before != tier_.edges.end()) {
        in_.fault(
            item, "edges", fmt::format("a second edge between {} and {}", between.first, between.second),
            fmt::format("write one of all their links: [{}, {}, {}] if they add up", before->from, before->to, before->links + numbers[2]));
        return;
      }
      tier_.edges.push_back({numbers[0], numbers[1], numbers[2]});
    }
  }

  void read_rates() {
    const auto given = in_.quantity("bandwidth", QuantityKind::link_rate);
    if (link_ != nullptr) {
      tier_.link_bandwidth = link_->bandwidth.value;
      tier_.planning_rate = link_->usable.value;
      const double derived = tier_.links * link_->bandwidth.value.value();
      tier_.bandwidth = {Bandwidth::from_value(derived), link_->bandwidth.provenance};
      if (tier_.links > 1)
        tier_.bandwidth.provenance = {fmt::format("{} x {}: {}", tier_.links, link_->name, link_->bandwidth.provenance.source),
                                      link_->bandwidth.provenance.confidence};
      tier_.efficiency = link_->efficiency();
      if (given) check_rate(*given->node, given->number / derived);
    }
    if (given) {
      const double factor = tier_.bandwidth.value.value() > 0 ? given->number / tier_.bandwidth.value.value() : 1;
      tier_.bandwidth = {Bandwidth::from_value(given->number), given->provenance};
      if (link_ == nullptr) {
        tier_.link_bandwidth = Bandwidth::from_value(given->number / tier_.links);
      } else {  // an overridden total also changes its links
        tier_.link_bandwidth *= factor;
        tier_.planning_rate *= factor;
      }
    }
    const bool has_own_fault = (in_.has("link") || in_.has("bandwidth")) && !faults_.issues.empty();
    if (link_ == nullptr && !given && !has_own_fault)
      in_.fault(node_, "bandwidth", "is missing, and no link to derive it from", "add `link:` or `bandwidth: ... per direction`");
    tier_.efficiency = in_.fraction("efficiency", tier_.efficiency);
    read_latency();
  }

  /// A rate may replace that of the file before it, but not contradict the link of its own file, nor be the link's with bits taken for
  /// bytes.
  void check_rate(const SpecNode& given, double times) {
    const SpecNode* value = node_.find("bandwidth");
    const bool own = value->replaced == nullptr && given.replaced == nullptr;
    const bool together = given.mark.file == node_.find("link")->mark.file;
    const bool in_file = given.mark.file && !given.mark.file->name.starts_with(override_mark);
    const bool bits = in_file && std::fabs(times / 8 - 1) < 0.05;
    if (!bits && (!(own || together) || std::fabs(times - 1) <= 0.05)) return;
    const double rate = tier_.bandwidth.value.value() * 1e-9;
    if (const SpecNode& link = *node_.find("link"); !together && link.replaced != nullptr)
      return in_.fault(link, "link",
                       fmt::format("{} x {} is {:.5g} GB/s per direction, but the file it extends says {:.5g}", tier_.links, link_->name, rate,
                                   rate * times),
                       fmt::format("give the bandwidth beside it: `bandwidth: {:.5g} GB/s per direction`", rate));
    in_.fault(given, "bandwidth",
              fmt::format("{:.5g} GB/s per direction, but {} x {} is {:.5g}", rate * times, tier_.links, link_->name, rate),
              bits ? "did you mean Gbit/s?" : "correct the bandwidth or the links, or leave the bandwidth out");
  }

  /// The time that a switch of one's own takes beyond the slowest of data/switches with its link: as much of a switch is in the latency of
  /// a network's link, which was measured below one.
  Time beyond_usual_switch() {
    const SpecNode* given = node_.find("switch");
    if (switch_ == nullptr || !is_path(given->text)) return {};
    Time usual{};
    for (const std::string& name : names_in("switches"))
      if (const SwitchSpec* one = library_.switch_spec(*given, in_.path_of("switch"), name, faults_);
          one != nullptr && one->link == switch_->link)
        usual = std::max(usual, one->latency.value);
    return std::max(Time{}, switch_->latency.value - usual);
  }

  void read_latency() {
    Sourced<Time> derived;
    if (link_ != nullptr && link_->latency.value.value() > 0) {
      derived = link_->latency;
      if (switch_ != nullptr && tier_.role == TierRole::scale_up) derived.value += switch_->latency.value;
    }
    tier_.latency = derived;
    if (tier_.role == TierRole::network) tier_.latency.value += beyond_usual_switch();
    const auto given = in_.quantity("latency", QuantityKind::time);
    if (given) tier_.latency = {Time::from_value(given->number), given->provenance};
    // The calibration was fitted with the latency from before any override; only the difference to it is
    // charged. Exception: a *measured* scale-up latency describes the same hardware more precisely, so it is
    // not a difference.
    tier_.nominal_latency = given ? tier_.latency.value : derived.value;
    const SpecNode* first = node_.find("latency");
    if (first == nullptr || first->replaced == nullptr) return;
    const bool said = first->kind == SpecNode::Kind::map && first->find("confidence") != nullptr;
    if (tier_.role == TierRole::scale_up && given && said && given->provenance.confidence == Confidence::measured) return;
    while (first->replaced != nullptr) first = first->replaced.get();
    const SpecNode* scalar = first->kind == SpecNode::Kind::map ? first->find("value") : first;
    tier_.nominal_latency = derived.value;
    if (scalar == nullptr || scalar->kind != SpecNode::Kind::scalar) return;
    if (const ParsedQuantity parsed = parse_quantity(scalar->text, QuantityKind::time); std::holds_alternative<double>(parsed))
      tier_.nominal_latency = Time::from_value(std::get<double>(parsed));
  }

  void check_shape() {
    const auto need = [&](bool fine, std::string_view key, const std::string& message, const std::string& remedy) {
      const SpecNode* at = node_.find(key);
      if (!fine) in_.fault(at != nullptr ? *at : node_, key, message, remedy);
    };
    if (tier_.kind == TierKind::full_mesh)
      need(tier_.endpoints > 1 && tier_.links % (tier_.endpoints - 1) == 0, "links",
           fmt::format("{} links do not spread over {} peers", tier_.links, tier_.endpoints - 1),
           "links of a full mesh are counted per endpoint in total");
    if (tier_.kind == TierKind::torus) {
      double all = 1;
      for (const int d : tier_.dims) all *= d;
      const SpecNode* given = node_.find("dims");
      const bool said = given != nullptr && tier_.dims.empty();  // already reported
      if (!said)
        need(!tier_.dims.empty() && tier_.dims.size() <= 3, "dims", "a torus needs one to three dims", "write for example [4, 4, 4]");
      if (!tier_.dims.empty())
        need(all == tier_.endpoints, "dims", fmt::format("make {} endpoints, not {}", all, tier_.endpoints), "correct dims or endpoints");
    }
    if (tier_.kind == TierKind::torus && !tier_.dims.empty()) {
      const auto ways = 2 * static_cast<int>(tier_.dims.size());
      need(tier_.links % ways == 0, "links",
           fmt::format("{} links do not spread over the {} ways of {} dims", tier_.links, ways, tier_.dims.size()),
           "links of a torus are counted per endpoint in total");
    }
    if (tier_.first_stage > 0) {
      need(tier_.role == TierRole::scale_up && tier_.kind == TierKind::switched, "first_stage", "belongs to a scale_up tier of kind switch",
           "leave it out");
      need(tier_.endpoints % tier_.first_stage == 0 && tier_.first_stage < tier_.endpoints, "first_stage",
           fmt::format("{} endpoints do not divide into groups of {}", tier_.endpoints, tier_.first_stage),
           "count the endpoints below one board or rack");
    }
    if (tier_.kind == TierKind::mesh_graph) check_edges();
    if (tier_.kind != TierKind::mesh_graph)
      need(tier_.edges.empty(), "edges", fmt::format("belong to a mesh_graph, and this is a {}", fabricost::core::name(tier_.kind)),
           "correct the kind, or leave them out");
    if (tier_.kind != TierKind::torus)
      need(tier_.dims.empty(), "dims", fmt::format("belong to a torus, and this is a {}", fabricost::core::name(tier_.kind)),
           "correct the kind, or leave them out");
    const bool nvswitch = switch_ != nullptr && (switch_->multicasts || switch_->link.starts_with("nvlink"));
    if (tier_.role == TierRole::nic && link_ != nullptr && link_->family == "nvlink")
      in_.fault(*node_.find("link"), "link", fmt::format("a NIC has no NVLink ({})", link_->name), "name the link of its network");
    if (tier_.role == TierRole::nic && nvswitch)
      in_.fault(*node_.find("switch"), "switch", fmt::format("a NIC never hangs on an NVSwitch ({})", switch_->name),
                "name the network's switch on a network tier");
  }

  void check_edges() {
    const SpecNode* at = node_.find("edges");
    if (at == nullptr) {
      in_.fault(node_, "edges", "is missing: a mesh_graph needs its edges", "write [[0, 1, 1], ...]: endpoint, endpoint, links");
      return;
    }
    if (at->kind != SpecNode::Kind::list || (tier_.edges.empty() && !at->items.empty())) return;  // already reported
    std::vector<int> links(static_cast<std::size_t>(tier_.endpoints), 0);
    for (const Edge& edge : tier_.edges) {
      links[static_cast<std::size_t>(edge.from)] += edge.links;
      links[static_cast<std::size_t>(edge.to)] += edge.links;
    }
    const auto [min, max] = std::minmax_element(links.begin(), links.end());
    if (*min == 0)
      in_.fault(*at, "edges", fmt::format("leave endpoint {} without a link", min - links.begin()),
                "every endpoint needs at least one edge");
    else if (tier_.links < *min || tier_.links > *max)  // if endpoints differ, `links` is the count of one of them
      in_.fault(*at, "edges", fmt::format("give every endpoint {} to {} links, but `links` says {}", *min, *max, tier_.links),
                "correct the edges or `links`");
  }

  void check_switch() {
    if (switch_ != nullptr) {
      tier_.reduces_in_network = switch_->reduces;
      tier_.multicasts = switch_->multicasts;
      long long need = static_cast<long long>(tier_.endpoints) * tier_.links;
      if (tier_.first_stage > 0) {  // both ends of a trunk; two groups are joined directly, more of them by a second stage
        const int groups = tier_.endpoints / tier_.first_stage;
        need += std::llround(2.0 * (groups == 2 ? 1 : groups) * tier_.first_stage * tier_.links / tier_.oversubscription);
      }
      const long long have = static_cast<long long>(tier_.switches) * switch_->ports;
      if (tier_.role == TierRole::scale_up && need > have) {
        const SpecNode* at = node_.find("switches");
        in_.fault(at != nullptr ? *at : node_, "switches",
                  fmt::format("{} endpoints x {} links need {} ports, {} x {} has {}", tier_.endpoints, tier_.links, need, tier_.switches,
                              switch_->name, have),
                  "more switches, or fewer links");
      }
      check_network_ports(need, have);
    }
    if (node_.find("in_network") != nullptr) tier_.reduces_in_network = tier_.multicasts = false;
    for (const SpecNode* item : in_.texts("in_network")) {
      if (item->text == "reduction")
        tier_.reduces_in_network = true;
      else if (item->text == "multicast")
        tier_.multicasts = true;
      else
        in_.fault(*item, "in_network", fmt::format("\"{}\" is not known", item->text), "write reduction or multicast");
    }
  }

  /// Children and uplinks of a switch of the network, a port for each at the least. A port of 800 Gbit/s splits into two of 400.
  void check_network_ports(long long down, long long have) {
    if (tier_.role != TierRole::network || (tier_.kind != TierKind::rails && tier_.kind != TierKind::fat_tree)) return;
    if (const Link* port = library_.link(*node_.find("switch"), in_.path_of("switch"), switch_->link, faults_);
        port != nullptr && link_ != nullptr)
      have *= std::max(1LL, std::llround(std::floor(1.05 * port->bandwidth.value.value() / link_->bandwidth.value.value())));
    const long long up = is_below_ ? std::llround(std::ceil(static_cast<double>(down) / tier_.oversubscription)) : 0;
    if (down + up > have)
      in_.fault(*node_.find("switch"), "switch",
                fmt::format("{} ports down and {} up, and {} x {} has {}", down, up, tier_.switches, switch_->name, have),
                "fewer endpoints, more oversubscription, or count the `switches` that stand for one of this tier");
  }

  const SpecNode& node_;
  std::string path_;
  bool is_below_;  ///< a network tier: its switches are children of another's
  SpecStore& library_;
  Faults& faults_;
  MapReader in_;
  const Link* link_ = nullptr;
  const SwitchSpec* switch_ = nullptr;
  Tier tier_;
};

}  // namespace

std::optional<Tier> read_tier(const SpecNode& node, std::string path, bool is_below, SpecStore& library, Faults& faults) {
  return TierReader(node, std::move(path), is_below, library, faults).read();
}

}  // namespace fabricost::core
