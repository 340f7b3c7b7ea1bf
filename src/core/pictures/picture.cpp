/// Layout of a machine: one band per tier, the network at the top, the GPUs of one node (or the first of a
/// rack) in the middle, their scale-up links below. Words are in a column at the left; the gaps between bands
/// hold the links, with their rate at the left.

#include <fabricost/pictures/picture.hpp>

#include "pictures/svg.hpp"

#include <fabricost/text/quantity.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace fabricost::core {

namespace {

constexpr double page_width = 1000, page_margin = 16, column = 30, column_width = 346, drawing = 386, drawing_width = 590;
constexpr double band_height = 88, gap = 34, box_height = 36, line_height = 17;
constexpr int max_boxes = 16;
constexpr const char* link_colour = "#5b7083";

/// Share of the time a tier takes, and its wires alone.
struct Load {
  double share = 0, wire = 0;
};

[[nodiscard]] Load load_of(const Prediction* p, std::string_view tier) {
  Load out;
  if (p == nullptr || p->seconds <= 0) return out;
  for (const Term& term : p->terms) {
    if (!(term.tier == tier)) continue;
    out.share += term.time.value() / p->seconds;
    if (is_transfer(term.name.view())) out.wire += term.time.value() / p->seconds;
  }
  return out;
}

/// From nearly white to orange: dark text stays readable on all of it.
[[nodiscard]] std::string heat(double share) {
  const double s = std::clamp(share, 0.0, 1.0);
  const auto mix = [&](int from, int to) { return static_cast<int>(std::lround(from + s * (to - from))); };
  return fmt::format("#{:02x}{:02x}{:02x}", mix(0xf4, 0xf5), mix(0xf7, 0x9a), mix(0xfa, 0x4e));
}

/// Contents of a row of boxes: all, or the first ones and the number of the others.
struct Row {
  int total = 0, shown = 0;
  double width = 0, step = 0, left = 0;
  [[nodiscard]] double centre(int i) const { return left + (std::min(i, shown - 1) + 0.5) * step; }
};
[[nodiscard]] Row row_of(int total) {
  Row r;
  r.total = std::max(1, total);
  r.shown = r.total <= max_boxes ? r.total : 12;
  const int slots = r.total > r.shown ? r.shown + 3 : r.shown;  // three for "and 60 more"
  r.step = std::min(120.0, drawing_width / slots);
  r.width = std::min(96.0, r.step * 0.84);
  r.left = drawing + (drawing_width - r.step * slots) / 2;
  return r;
}

class Picture {
 public:
  Picture(const System& system, const Prediction* prediction, std::string question)
      : system_(system), prediction_(prediction), question_(std::move(question)) {}

  std::string draw() {
    heading();
    for (auto tier = system_.tiers.rbegin(); tier != system_.tiers.rend(); ++tier)
      if (tier->role == TierRole::network) network(*tier);
    for (const Tier& tier : system_.tiers)
      if (tier.role == TierRole::nic) nics(tier);
    for (const Tier& tier : system_.tiers)
      if (tier.role == TierRole::host || tier.role == TierRole::c2c) host(tier);
    gpus();
    for (const Tier& tier : system_.tiers)
      if (tier.role == TierRole::scale_up) scale_up(tier);
    legend();
    return svg_.document(page_width, y_ + page_margin, fmt::format("{}: its tiers and links", system_.name));
  }

 private:
  void heading() {
    svg_.text(page_margin, 34, fmt::format("{}{}", system_.name, system_.title.empty() ? "" : ": " + system_.title), 19, Svg::Anchor::start,
              true, page_width - 2 * page_margin);
    const std::string nodes =
        system_.domain > system_.gpus_per_node
            ? fmt::format("{} GPUs in one domain, {} in a node", system_.domain, system_.gpus_per_node)
            : fmt::format("{} of {} GPU{}", system_.nodes == 1 ? "one node" : fmt::format("one of {} nodes", system_.nodes),
                          system_.gpus_per_node, system_.gpus_per_node == 1 ? "" : "s");
    svg_.text(page_margin, 56, fmt::format("{}. Rates are one way.", nodes), 13, Svg::Anchor::start, false, page_width - 2 * page_margin);
    y_ = 72;
    if (prediction_ != nullptr) {
      const Prediction& p = *prediction_;
      svg_.text(page_margin, 78,
                fmt::format("{}: {}, bus bandwidth {}, {} {}.", question_, time_text(p.time()), rate_text(p.bus_bandwidth()),
                            p.algorithm.view(), p.protocol.view()),
                13, Svg::Anchor::start, true, page_width - 2 * page_margin);
      y_ = 94;
    }
  }

  /// A band with its words; \return its upper edge. `above`: capacity of its links to the band above; may be
  /// empty.
  double band(const std::vector<std::string>& words, Load load, std::string_view tier, double height = band_height) {
    const double top = y_;
    svg_.panel(page_margin, top, page_width - 2 * page_margin, height, prediction_ != nullptr ? heat(load.share) : "#f4f7fa", "#c5d0da");
    std::vector<std::string> lines = words;
    if (prediction_ != nullptr) {
      std::string text = fmt::format("{:.0f} % of the time", 100 * load.share);
      if (load.wire > 0.005) text += fmt::format(", wires {:.0f} %", 100 * load.wire);
      if (load.share < 0.005) text = load.share > 0 ? "under 1 % of the time" : fmt::format("no time in {}", tier);
      lines.push_back(text);
    }
    double at = top + 20;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const bool bold = i == 0 || (prediction_ != nullptr && i + 1 == lines.size());
      svg_.text(column, at, lines[i], i == 0 ? 14 : 12, Svg::Anchor::start, bold, column_width);
      at += line_height;
    }
    y_ += height;
    return top;
  }
  /// Space for links below the band just drawn, with their rate.
  void rate_of_links(const std::string& text) {
    svg_.text(column, y_ + gap / 2 + 4, text, 12, Svg::Anchor::start, false, column_width, "#33475b");
    y_ += gap;
  }

  [[nodiscard]] static std::string title_of(const Tier& tier) { return fmt::format("{} ({})", tier.name.view(), name(tier.kind)); }
  [[nodiscard]] static std::string latency_of(const Tier& tier) {
    return tier.latency.value.value() > 0 ? fmt::format(", {} a hop", time_text(tier.latency.value)) : "";
  }
  [[nodiscard]] static std::string link_of(const Tier& tier) {
    if (tier.link.empty()) return fmt::format("{} link{}", tier.links, tier.links == 1 ? "" : "s");
    return tier.links > 1 ? fmt::format("{} x {} of {}", tier.links, tier.link, rate_text(tier.link_bandwidth)) : tier.link;
  }

  void boxes(const Row& row, double top, double height, std::string_view label, std::string_view fill) {
    for (int i = 0; i < row.shown; ++i) {
      const double x = row.centre(i) - row.width / 2;
      svg_.box(x, top, row.width, height, fill, "#8aa0b3");
      std::string text = fmt::format("{} {}", label, i);
      if (picture_text_width(text, 11) > row.width - 4) text = std::to_string(i);
      svg_.text(row.centre(i), top + height / 2 + 4, text, 11, Svg::Anchor::middle, false, row.width - 2);
    }
    if (row.total > row.shown)
      svg_.text(row.left + row.step * (row.shown + 1.5), top + height / 2 + 4, fmt::format("and {} more", row.total - row.shown), 12,
                Svg::Anchor::middle, false, row.step * 3 - 4);
  }

  void network(const Tier& tier) {
    std::vector<std::string> words{title_of(tier), fmt::format("joins {} below each switch{}", tier.endpoints, latency_of(tier))};
    if (tier.oversubscription > 1)
      words.push_back(fmt::format("uplinks carry 1/{:.3g} of what comes from below", tier.oversubscription));
    else
      words.push_back(fmt::format("{} a NIC, not oversubscribed", rate_text(tier.bandwidth.value)));
    const double top = band(words, load_of(prediction_, tier.name.view()), tier.name.view());
    const Tier* nic = system_.tier(TierRole::nic);
    const bool lowest = system_.tier(TierRole::network) == &tier;
    const bool rails = lowest && nic != nullptr && nic->kind == TierKind::rails && nic->endpoints > 1;
    const Row row = row_of(rails ? nic->endpoints : 1);
    const double box_top = top + (band_height - box_height) / 2;
    if (rails) {
      boxes(row, box_top, box_height, tier.name.view(), "#dfe9d9");
    } else {
      svg_.box(drawing, box_top, drawing_width, box_height, "#dfe9d9", "#8aa0b3");
      svg_.text(drawing + drawing_width / 2, box_top + box_height / 2 + 4,
                fmt::format("{}: {}", tier.name.view(), tier.switch_name.empty() ? "switches" : tier.switch_name), 12, Svg::Anchor::middle,
                false, drawing_width - 8);
    }
    // to the band below
    const double from = box_top + box_height, to = y_ + gap;
    if (lowest && nic != nullptr) {
      const Row below = row_of(nic->endpoints);
      for (int i = 0; i < below.shown; ++i)
        svg_.line(rails ? row.centre(i) : below.centre(i), from, below.centre(i), to + box_offset(), link_colour, 1.4);
      rate_of_links(fmt::format("{} each", rate_text(nic->bandwidth.value)));
    } else {
      for (int i = 0; i < 8; ++i) {
        const double x = drawing + drawing_width * (i + 0.5) / 8;
        svg_.line(x, from, x, to + box_offset(), link_colour, 1.4);
      }
      rate_of_links(fmt::format("{:.3g} : 1", network_below(tier).oversubscription));
    }
  }
  /// The network tier below one that has another below it: its uplinks are drawn between the two.
  [[nodiscard]] const Tier& network_below(const Tier& tier) const {
    const Tier* out = &tier;
    for (const Tier& each : system_.tiers) {
      if (&each == &tier) break;
      if (each.role == TierRole::network) out = &each;
    }
    return *out;
  }
  [[nodiscard]] static constexpr double box_offset() { return (band_height - box_height) / 2; }

  void nics(const Tier& tier) {
    std::vector<std::string> words{
        title_of(tier),
        fmt::format("{} a NIC, {}{}", rate_text(tier.bandwidth.value), tier.link.empty() ? "" : tier.link, latency_of(tier)),
        fmt::format("{}, {} to the GPU, GPUDirect {}", name(tier.transport), name(tier.path), tier.gpu_direct ? "on" : "off")};
    const double top = band(words, load_of(prediction_, tier.name.view()), tier.name.view());
    const Row row = row_of(tier.endpoints);
    boxes(row, top + box_offset(), box_height, "NIC", "#e4dcef");
    const Row below = middle_row();
    const double from = top + box_offset() + box_height, to = y_ + gap + box_offset();
    // for a rack, the first node's
    const int nodes = std::max(1, system_.domain / std::max(1, system_.gpus_per_node));
    const int mine = std::clamp(below.total / nodes, 1, below.shown);
    const int lines = std::max(row.shown, mine);
    for (int i = 0; i < lines; ++i)
      svg_.line(row.centre(i * row.shown / lines), from, below.centre(i * mine / lines), to, link_colour, 1.4);
    const Tier* host = system_.tier(TierRole::host);
    rate_of_links((host != nullptr ? fmt::format("{} a slot, {}", rate_text(host->bandwidth.value), host->link)
                                   : fmt::format("{} each", rate_text(tier.bandwidth.value))) +
                  (nodes > 1 ? ", NICs of the first node" : ""));
  }
  /// The row that NICs are attached to: PCIe if it is described, else the GPUs.
  [[nodiscard]] Row middle_row() const {
    for (const Tier& tier : system_.tiers)
      if (tier.role == TierRole::host || tier.role == TierRole::c2c) return host_row(tier);
    return gpu_row();
  }
  [[nodiscard]] Row host_row(const Tier& tier) const { return row_of((gpu_row().total + tier.shared_by - 1) / tier.shared_by); }
  [[nodiscard]] Row gpu_row() const { return row_of(std::max(system_.gpus_per_node, std::min(system_.domain, 1'000'000))); }

  void host(const Tier& tier) {
    std::vector<std::string> words{
        title_of(tier), fmt::format("{} a link, {}", rate_text(tier.bandwidth.value), link_of(tier)),
        (tier.shared_by > 1 ? fmt::format("{} GPUs share one link upward", tier.shared_by) : "each GPU has its own") + latency_of(tier)};
    const double top = band(words, load_of(prediction_, tier.name.view()), tier.name.view());
    const Row row = host_row(tier), below = gpu_row();
    boxes(row, top + box_offset(), box_height, tier.role == TierRole::c2c ? "CPU" : "PCIe", "#f3e6c8");
    const double from = top + box_offset() + box_height, to = y_ + gap + box_offset();
    for (int i = 0; i < below.shown; ++i) svg_.line(row.centre(i / tier.shared_by), from, below.centre(i), to, link_colour, 1.4);
    rate_of_links(fmt::format("{} each", rate_text(tier.bandwidth.value)));
  }

  void gpus() {
    std::vector<std::string> words{fmt::format("GPUs: {}", system_.gpu.name)};
    for (const Tier& tier : system_.tiers)
      if (tier.role == TierRole::memory)
        words.push_back(fmt::format("{}: {}, reads and writes together", tier.name.view(), rate_text(tier.bandwidth.value)));
    const double top = band(words, load_of(prediction_, "gpu"), "launching");
    gpu_bottom_ = top + box_offset() + box_height;
    boxes(gpu_row(), top + box_offset(), box_height, "GPU", "#cfe0f1");
  }

  void scale_up(const Tier& tier) {
    const Row row = gpu_row();
    const bool mesh = tier.kind == TierKind::full_mesh || tier.kind == TierKind::mesh_graph || tier.kind == TierKind::ring ||
                      tier.kind == TierKind::point_to_point;
    const double height = mesh ? 132 : band_height;
    rate_of_links(fmt::format("{} a GPU: {}", rate_text(tier.bandwidth.value), link_of(tier)));
    std::vector<std::string> words{title_of(tier),
                                   fmt::format("{} all GPUs, {} across halves", rate_text(tier.aggregate()), rate_text(tier.bisection()))};
    if (tier.kind == TierKind::host)
      words.push_back(fmt::format("peer to peer {}{}", tier.peer_to_peer ? "on" : "off, through host memory", latency_of(tier)));
    else if (mesh)
      words.push_back(pair_rates(tier));
    else if (tier.switches > 0)
      words.push_back(fmt::format("{} {}{}{}", tier.switches, tier.switch_name, tier.reduces_in_network ? ", reduce in network" : "",
                                  latency_of(tier)));
    else
      words.push_back(fmt::format("{} endpoints{}", tier.endpoints, latency_of(tier)));
    const double top = band(words, load_of(prediction_, tier.name.view()), tier.name.view(), height);
    if (mesh) return arcs(tier, row, top);
    const double box_top = top + box_offset();
    if (tier.kind == TierKind::switched && tier.switches > 0) {
      const Row switches = row_of(tier.switches);
      for (int g = 0; g < row.shown; ++g)
        for (int s = 0; s < switches.shown; ++s) svg_.line(row.centre(g), gpu_bottom_, switches.centre(s), box_top, link_colour, 0.8, 0.55);
      boxes(switches, box_top, box_height, "switch", "#dfe9d9");
      return;
    }
    for (int g = 0; g < row.shown; ++g) svg_.line(row.centre(g), gpu_bottom_, row.centre(g), box_top, link_colour, 1.4);
    svg_.box(drawing, box_top, drawing_width, box_height, "#f3e6c8", "#8aa0b3");
    std::string label{name(tier.kind)};
    if (tier.kind == TierKind::host) label = "host: PCIe switches, host bridges, memory";
    if (tier.kind == TierKind::torus) {
      label = "torus of";
      for (std::size_t i = 0; i < tier.dims.size(); ++i) label += fmt::format("{}{}", i == 0 ? " " : " x ", tier.dims[i]);
      label += !tier.wrap ? ", ends open" : tier.open_axes != 0 ? ", ends of the longer joined" : ", ends joined";
    }
    svg_.text(drawing + drawing_width / 2, box_top + box_height / 2 + 4, label, 12, Svg::Anchor::middle, false, drawing_width - 8);
  }

  [[nodiscard]] static std::string pair_rates(const Tier& tier) {
    if (tier.kind == TierKind::full_mesh)
      return fmt::format("{} a pair{}", rate_text(tier.bandwidth.value * (1.0 / std::max(1, tier.endpoints - 1))), latency_of(tier));
    if (tier.kind != TierKind::mesh_graph) return fmt::format("{} to each neighbour", rate_text(tier.link_bandwidth));
    int min = 1 << 20, max = 0;
    for (const Edge& e : tier.edges) {
      min = std::min(min, e.links);
      max = std::max(max, e.links);
    }
    if (min == max) return fmt::format("{} a pair", rate_text(tier.link_bandwidth * static_cast<double>(max)));
    return fmt::format("thin {} link{}, {}; thick {}, {}", min, min == 1 ? "" : "s",
                       rate_text(tier.link_bandwidth * static_cast<double>(min)), max,
                       rate_text(tier.link_bandwidth * static_cast<double>(max)));
  }

  /// Arcs from GPU to GPU, deeper with distance.
  void arcs(const Tier& tier, const Row& row, double top) {
    std::vector<Edge> edges = tier.edges;
    const int n = std::min(tier.endpoints, row.shown);
    if (tier.kind == TierKind::full_mesh)
      for (int i = 0; i < n; ++i)
        for (int j = i + 1; j < n; ++j) edges.push_back({i, j, 1});
    if (tier.kind == TierKind::ring || tier.kind == TierKind::point_to_point)
      for (int i = 0; i < n && n > 1; ++i)
        if (i + 1 < n || n > 2) edges.push_back({i, (i + 1) % n, 1});
    int longest = 1;
    for (const Edge& e : edges) longest = std::max(longest, std::abs(e.to - e.from));
    for (int g = 0; g < n; ++g) svg_.line(row.centre(g), gpu_bottom_, row.centre(g), top + 8, link_colour, 1.2);
    for (const Edge& e : edges)
      if (e.from < n && e.to < n)
        svg_.arc(row.centre(e.from), row.centre(e.to), top + 8, 14 + 96.0 * std::abs(e.to - e.from) / longest, link_colour,
                 0.4 + 0.9 * std::min(e.links, 4));
  }

  void legend() {
    if (prediction_ == nullptr) return;
    y_ += 12;
    svg_.text(column, y_ + 14, "share of the predicted time", 12, Svg::Anchor::start, false, column_width);
    for (int i = 0; i <= 4; ++i) {
      const double x = drawing + i * drawing_width / 5;
      svg_.box(x, y_, 28, 18, heat(i / 4.0), "#c5d0da", 3);
      svg_.text(x + 34, y_ + 13, fmt::format("{} %", 25 * i), 12);
    }
    y_ += 18;
  }

  const System& system_;
  const Prediction* prediction_;
  std::string question_;
  Svg svg_;
  double y_ = 0;
  double gpu_bottom_ = 0;
};

}  // namespace

std::string picture(const System& system, const Prediction* prediction, const std::string& question) {
  return Picture(system, prediction, question).draw();
}

}  // namespace fabricost::core
