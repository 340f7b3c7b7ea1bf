#include "io/calibration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace fabricost::io {

namespace {

constexpr std::array<std::string_view, 3> kinds{"scale_up", "pcie", "transport"};

/// One calibration file, read onto constants that already hold the prior.
class CalibrationReader {
 public:
  CalibrationReader(const SpecNode& tree, Constants& constants, Faults& faults) : tree_(tree), c_(constants), faults_(faults) {}

  void read() {
    MapReader in(tree_, "", faults_);
    name = in.name("name", true);
    in.text("title");
    in.take("extends");
    in.text("library");
    in.text("date");
    const std::string kind = in.one_of("kind", kinds, true);
    in.text("generation");
    in.text("transport");
    for (const SpecNode* item : in.texts("systems")) systems.push_back(item->text);
    in.text("notes");
    in.take("residuals");
    source = tree_.find("source") != nullptr ? tree_.find("source")->text : "";
    assumed = tree_.find("confidence") != nullptr && tree_.find("confidence")->text == "assumed";
    // rates of the constants are kept as shares of this one, except for a transport, which has shares only
    if (const SpecNode* measured = in.take("measured", true)) read_measured(*measured, kind == "scale_up" || kind == "pcie");
    const SpecNode* constants = in.take("constants", true);
    const SpecNode* intervals = in.take("intervals");
    in.finish();
    if (constants == nullptr || kind.empty()) return;
    if (kind == "scale_up") read_scale_up(*constants);
    if (kind == "pcie") read_pcie(*constants);
    if (kind == "transport") read_transport(*constants);
    if (intervals != nullptr) read_intervals(*intervals);
    is_transport = kind == "transport";
    is_pcie = kind == "pcie";
  }

  std::string name, source;
  std::vector<std::string> systems;
  bool assumed = false;
  bool is_transport = false;
  bool is_pcie = false;
  double smallest = 512, largest = 512 * mebibyte;
  int fewest_ranks = 2, most_ranks = 8, most_nodes = 1;

 private:
  using Kind = QuantityKind;

  void number_into(MapReader& in, std::string_view key, double& into, double least, double most) {
    into = in.number(key, into, least, most);
  }
  void time_into(MapReader& in, std::string_view key, double& into) {
    if (const auto value = in.quantity(key, Kind::time)) into = value->number;
  }
  void size_into(MapReader& in, std::string_view key, double& into) {
    if (const auto value = in.quantity(key, Kind::size)) into = value->number;
  }
  /// A rate, kept as its share of the one-way rate it was measured on.
  void share_into(MapReader& in, std::string_view key, double& into, double most = 1.1) {
    const auto value = in.quantity(key, Kind::link_rate);
    if (!value) return;
    into = value->number / reference_;
    if (!(into > 0 && into <= most))
      in.fault(*value->node, key, fmt::format("is {:.3g} of the measured system's one-way rate", into), "no more than the link carries");
  }
  template <class Body>
  void section(MapReader& in, std::string_view key, Body&& body) {
    if (const SpecNode* node = in.take(key)) {
      MapReader at(*node, in.path_of(key), faults_);
      body(at);
      at.finish();
    }
  }

  void read_measured(const SpecNode& node, bool rated) {
    MapReader in(node, "measured", faults_);
    if (const auto rate = in.quantity("bandwidth", Kind::link_rate, rated)) reference_ = rate->number;
    size_into(in, "smallest", smallest);
    size_into(in, "largest", largest);
    fewest_ranks = in.count("fewest_ranks", fewest_ranks, 1, 1000000);
    most_ranks = in.count("most_ranks", most_ranks, 1, 1000000);
    most_nodes = in.count("most_nodes", most_nodes, 1, 1000000);
    in.finish();
  }

  void read_scale_up(const SpecNode& node) {
    MapReader in(node, "constants", faults_);
    auto& c = c_.scale_up;
    time_into(in, "launch", c.launch);
    time_into(in, "tree_hop", c.tree_hop);
    number_into(in, "int8_volume", c.int8_volume, 0, 1);
    section(in, "ll", [&](MapReader& at) {
      time_into(at, "hop", c.ll.hop);
      if (const auto rate = at.quantity("channel_rate", Kind::link_rate)) c.ll.channel_rate = rate->number;
      time_into(at, "channels_cost", c.ll.channels_cost);
      time_into(at, "full_threads", c.ll.full_threads);
      time_into(at, "forward", c.ll.forward);
      time_into(at, "reduce", c.ll.reduce);
      time_into(at, "reduce_int8", c.ll.reduce_int8);
      number_into(at, "chunk_share", c.ll.chunk_share, 0, 1);
    });
    section(in, "ll128", [&](MapReader& at) {
      time_into(at, "floor", c.ll128.floor);
      number_into(at, "rate_share", c.ll128.rate_share, 0.01, 1);
      number_into(at, "drain", c.ll128.drain, 0, 10);
      number_into(at, "overlap", c.ll128.overlap, 1, 12);
    });
    section(in, "simple", [&](MapReader& at) {
      auto& s = c.simple;
      time_into(at, "floor", s.floor);
      time_into(at, "hop", s.hop);
      number_into(at, "overlap", s.overlap, 1, 12);
      share_into(at, "rate", s.rate_share);
      number_into(at, "drain", s.drain, 0, 10);
      number_into(at, "cold_copy", s.cold_copy, 0, 10);
      number_into(at, "reduce_scatter_rate", s.reduce_scatter_rate, 0.1, 2);
      number_into(at, "all_reduce_rate", s.all_reduce_rate, 0.1, 2);
      number_into(at, "reduce_latency", s.reduce_latency, 0, 1);
    });
    section(in, "nvls", [&](MapReader& at) {
      time_into(at, "floor", c.nvls.floor);
      number_into(at, "growth", c.nvls.growth, 0, 100);
      size_into(at, "growth_size", c.nvls.growth_size);
      share_into(at, "rate", c.nvls.rate_share, 1.6);  // in terms of bus bandwidth, at most 2(n-1)/(n+1)
    });
    section(in, "all_to_all", [&](MapReader& at) {
      auto& x = c.all_to_all;
      time_into(at, "base", x.base);
      time_into(at, "hop", x.hop);
      time_into(at, "ll_ramp", x.ll_ramp);
      time_into(at, "floor", x.floor);
      time_into(at, "ramp", x.ramp);
      share_into(at, "rate", x.rate_share);
      number_into(at, "self_copy", x.self_copy, 0, 10);
      number_into(at, "cold_copy", x.cold_copy, 0, 10);
      number_into(at, "overlap", x.overlap, 1, 12);
    });
    in.finish();
  }

  void read_pcie(const SpecNode& node) {
    MapReader in(node, "constants", faults_);
    auto& c = c_.pcie;
    const auto reach = [&](std::string_view key, std::array<double, 3>& into) {
      section(in, key, [&](MapReader& at) {
        share_into(at, "pair", into[0]);
        share_into(at, "socket", into[1]);
        share_into(at, "two_sockets", into[2]);
      });
    };
    reach("ll_rate", c.ll_share);
    reach("simple_rate", c.simple_share);
    time_into(in, "launch", c.launch);
    time_into(in, "ll_hop", c.ll_hop);
    number_into(in, "ll_overlap", c.ll_overlap, 1, 12);
    number_into(in, "drain", c.drain, 0, 10);
    number_into(in, "ll_all_reduce_rate", c.ll_all_reduce_rate, 0.1, 3);
    time_into(in, "simple_floor", c.simple_floor);
    time_into(in, "simple_hop", c.simple_hop);
    number_into(in, "simple_overlap", c.simple_overlap, 1, 12);
    number_into(in, "warm_rate", c.warm_rate, 1, 3);
    size_into(in, "warm_bytes", c.warm_bytes);
    number_into(in, "reduce_scatter_rate", c.reduce_scatter_rate, 0.1, 3);
    number_into(in, "reduce_scatter_rate_two_sockets", c.reduce_scatter_rate_two_sockets, 0.1, 3);
    number_into(in, "exchange_pair_rate", c.exchange_pair_rate, 0.1, 3);
    time_into(in, "exchange_base", c.exchange_base);
    time_into(in, "exchange_hop", c.exchange_hop);
    number_into(in, "exchange_ll_share", c.exchange_ll_share, 0.01, 3);
    time_into(in, "exchange_floor", c.exchange_floor);
    in.finish();
  }

  void read_transport(const SpecNode& node) {
    MapReader in(node, "constants", faults_);
    auto& t = c_.transport;
    if (const auto step = in.quantity("tree_step", Kind::time, true)) t = TransportConstants::from_tree_step(step->number);
    time_into(in, "tree_growth", t.tree_growth);
    time_into(in, "ring_ll_step", t.ring_ll_step);
    time_into(in, "ll128_step", t.ll128_step);
    time_into(in, "ring_simple_step", t.ring_simple_step);
    time_into(in, "nvls_step", t.nvls_step);
    time_into(in, "tree_simple_step", t.tree_simple_step);
    number_into(in, "efficiency", t.efficiency, 0.01, 1);
    number_into(in, "host_bridge", t.host_bridge, 0.01, 1);
    number_into(in, "ll_share", t.ll_share, 0.001, 1);
    number_into(in, "exchange_share", t.exchange_share, 0.01, 1);
    number_into(in, "no_gdr_rate", t.no_gdr_rate, 0.01, 1);
    number_into(in, "no_gdr_step", t.no_gdr_step, 1, 100);
    time_into(in, "nvls_floor", t.nvls_floor);
    in.finish();
  }

  void read_intervals(const SpecNode& node) {
    MapReader in(node, "intervals", faults_);
    IntervalWidths& w = c_.interval;
    struct Entry {
      std::string_view key;
      double* into;
    };
    for (const Entry& e : {Entry{"ring_ll", &w.ring_ll}, Entry{"ring_ll128", &w.ring_ll128}, Entry{"ring_simple", &w.ring_simple},
                           Entry{"nvls", &w.nvls}, Entry{"exchange_ll", &w.exchange_ll}, Entry{"exchange_simple", &w.exchange_simple},
                           Entry{"pcie_ll", &w.pcie_ll}, Entry{"pcie_simple", &w.pcie_simple},
                           Entry{"pcie_exchange_ll", &w.pcie_exchange_ll}, Entry{"pcie_exchange_simple", &w.pcie_exchange_simple}})
      number_into(in, e.key, *e.into, 0.001, 5);
    in.finish();
  }

  const SpecNode& tree_;
  Constants& c_;
  Faults& faults_;
  double reference_ = 1e12;
};

bool among(const std::vector<std::string>& names, const std::vector<std::string>& wanted) {
  return std::any_of(wanted.begin(), wanted.end(),
                     [&](const std::string& name) { return std::find(names.begin(), names.end(), name) != names.end(); });
}

/// Hardware nobody here measured through NCCL: a step costs the tier's own latency, nothing is added by a protocol.
void use_datasheet(System& system) {
  const Tier* tier = system.tier(TierRole::scale_up);
  const double hop = tier != nullptr && tier->latency.value.value() > 0 ? tier->latency.value.value() : 1 * microsecond;
  auto& c = system.constants.scale_up;
  c.ll.hop = hop;
  c.simple.hop = hop;
  c.simple.floor = 0;
  c.ll128.floor = 0;
  c.all_to_all.hop = hop;
  system.constants.name = "datasheet";
  system.constants.source = "steps cost the tier's own latency, rates the share of the datasheet that NVLink systems reach";
}

}  // namespace

void calibrate_system(System& system, SpecStore& library, std::string_view calibration, const std::vector<std::string>& chain,
                      Altered altered, Faults& faults) {
  Constants& c = system.constants;
  const std::vector<std::string> self{system.name};
  const bool measured_library = system.library != Library::other;
  if (!measured_library) use_datasheet(system);
  if (calibration == "none") return;

  const auto apply = [&](const SpecNode& tree, bool by_hand) {
    CalibrationReader reader(tree, c, faults);
    reader.read();
    if (reader.is_transport) {
      c.transport_known = true;
      c.transport_basis = by_hand || (among(reader.systems, self) && !altered.outside) ? Basis::calibrated : Basis::sibling;
      c.transport_name = reader.name;
      c.transport_source = reader.source;
      c.most_nodes = reader.most_nodes;
      return;
    }
    c.name = reader.name;
    c.source = reader.source;
    c.smallest = reader.smallest;
    c.largest = reader.largest;
    c.fewest_ranks = reader.fewest_ranks;
    c.most_ranks = reader.most_ranks;
    const bool same = among(reader.systems, self) && !altered.inside;
    const bool like = among(reader.systems, chain) || !reader.is_pcie;
    c.basis = by_hand || same ? Basis::calibrated : reader.assumed || !like ? Basis::datasheet : Basis::sibling;
  };

  const Tier* scale_up = system.tier(TierRole::scale_up);
  const bool over_pcie = scale_up != nullptr && scale_up->kind == TierKind::host;
  const auto shipped = [&](const std::string& name) {
    if (library.find("calibrations", name).empty()) return;
    apply(library.resolve("calibrations", name), false);
  };
  if (measured_library) {
    shipped(fmt::format("scale-up-{}", name(system.gpu.generation)));
    if (over_pcie) {
      c.basis = Basis::datasheet;
      shipped("pcie");
    }
  }
  if (const Tier* nic = system.tier(TierRole::nic)) shipped(fmt::format("transport-{}", name(nic->transport)));
  // a file given by hand speaks for what it fits; the rest stays as shipped
  if (!calibration.empty()) apply(library.resolve("calibrations", calibration), true);
}

}  // namespace fabricost::io
