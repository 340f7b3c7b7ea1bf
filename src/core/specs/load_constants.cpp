/// Reads calibration files onto constants that hold the prior, and selects those for a system: of its GPU
/// generation and its transport, then one given by hand, which replaces only the sets it was fitted for.

#include "specs/store.hpp"
#include "text/joined.hpp"

#include <fabricost/choice/launch.hpp>
#include <fabricost/hardware/constants.hpp>
#include <fabricost/hardware/interval_widths.hpp>
#include <fabricost/parameters/fitted_on.hpp>
#include <fabricost/parameters/related.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>

namespace fabricost::core {

namespace {

/// Header of one part of a calibration file.
struct CalibratedPart {
  ConstantSet set = ConstantSet::scale_up;
  double smallest = 512, largest = 512 * mebibyte;
  int fewest_ranks = 2, most_ranks = 8, most_nodes = 1;
  std::vector<FittedOn> fitted_on;
  Library library = Library::other;  ///< library it was fitted to; other: not stated
  bool whole = true;                 ///< false: of compute only the memory rates; product rates are unchanged
};

/// One calibration file, read onto constants that hold the prior: one part, or several in `parts:`.
class CalibrationReader {
 public:
  CalibrationReader(const SpecNode& tree, Constants& constants, Faults& faults) : tree_(tree), c_(constants), faults_(faults) {}

  /// A file of data/transports: the constants of one transport; specs/parts/transports.cpp reads its other keys.
  void read_transport() {
    of_transport_ = true;
    read();
    name = "transport-" + name;
  }

  void read() {
    MapReader in(tree_, "", faults_);
    if (of_transport_)
      for (const std::string_view key : transport_keys) in.take(key);
    name = in.name("name", true);
    in.text("title");
    in.take("extends");
    in.text("date");
    systems = in.plain_texts("systems");
    in.text("notes");
    source = tree_.find("source") != nullptr ? tree_.find("source")->text : "";
    assumed = tree_.find("confidence") != nullptr && tree_.find("confidence")->text == "assumed";
    if (of_transport_ || !in.each_item("parts", [&](MapReader& part) { read_part(part); })) read_part(in);
    in.finish();
  }

  /// Whether a part, of that generation and transport, can be of the machine; empty: all can.
  std::function<bool(const CalibratedPart& part, std::string_view generation, std::string_view transport)> suits;

  std::string name, source;
  bool is_foreign = false;  ///< a part of it does not suit
  std::vector<std::string> systems;
  bool assumed = false;
  std::vector<CalibratedPart> parts;
  [[nodiscard]] double measured_rate() const { return reference_; }  ///< one-way rate of the measured machine's link

 private:
  using Kind = QuantityKind;

  void read_part(MapReader& in) {
    CalibratedPart part;
    constexpr auto place = static_cast<std::size_t>(ConstantSet::transport);
    const std::span<const std::string_view> all_kinds = constant_set_names;
    std::string kind = in.one_of("kind", of_transport_ ? all_kinds.subspan(place, 1) : all_kinds, !of_transport_);
    if (of_transport_) kind = all_kinds[place];
    const std::string library = in.one_of("library", std::span{library_names}.first(library_names.size() - 1));  // all but `other`
    for (std::size_t i = 0; i + 1 < library_names.size(); ++i)
      if (library_names[i] == library) part.library = static_cast<Library>(i);
    const std::string generation = in.one_of("generation", generation_names);
    const std::string transport = in.name("transport");
    for (const std::string_view key : {"residuals", "deviations"})  // for people
      if (const SpecNode* node = in.take(key); node != nullptr && node->kind != SpecNode::Kind::map)
        in.fault(*node, key, "is not a map", "write `key: value` lines, or leave it out");
    for (std::size_t i = 0; i < constant_set_names.size(); ++i)
      if (constant_set_names[i] == kind) part.set = static_cast<ConstantSet>(i);
    // rates of the constants are stored as shares of this one; a transport and the kernels only have shares
    const bool rated = part.set == ConstantSet::scale_up || part.set == ConstantSet::pcie;
    const bool needs_measured = rated || (part.set == ConstantSet::transport && !of_transport_);
    if (const SpecNode* measured = in.take("measured", needs_measured))
      read_measured(*measured, in.path_of("measured"), part, !kind.empty() && rated);
    if (const SpecNode* list = in.take("fitted_on")) read_fitted_on(*list, in, part);
    const SpecNode* constants = in.take("constants", true);
    const SpecNode* intervals = in.take("intervals");
    if (constants == nullptr || kind.empty()) return;
    if (suits && !suits(part, generation, transport)) {
      const Constants before = c_;
      read_constants(*constants, in.path_of("constants"), part.set);  // for its faults
      c_ = before;
      is_foreign = true;
      return;
    }
    read_constants(*constants, in.path_of("constants"), part.set);
    part.whole = part.set != ConstantSet::compute || constants->find("gemm") != nullptr;
    if (intervals != nullptr) {
      MapReader widths(*intervals, in.path_of("intervals"), faults_);
      for (const NamedWidth& width : interval_widths)
        if (width.set == part.set) read_width(widths, width);
      widths.finish();
    }
    parts.push_back(part);
  }

  void read_width(MapReader& in, const NamedWidth& width) {
    double& into = c_.interval.*width.of;
    into = in.number(width.key, into, 0.001, 5);
  }

  /// The machines a set was fitted on, and the operations measured on each.
  void read_fitted_on(const SpecNode& list, MapReader& in, CalibratedPart& part) {
    const std::span<const std::string_view> names = measured_names(part.set);
    const std::string_view key = measured_key(part.set);
    if (list.kind != SpecNode::Kind::list || names.empty())
      return in.fault(list, "fitted_on", names.empty() ? "belongs to sets of operations or kernels" : "is not a list",
                      names.empty() ? "leave it out" : fmt::format("write `- {{system: NAME, domain: N, {}: [...]}}`", key));
    for (std::size_t i = 0; i < list.items.size(); ++i) {
      MapReader one(list.items[i], in.path_of(fmt::format("fitted_on[{}]", i)), faults_);
      FittedOn on{.system = one.name("system", true), .domain = one.count("domain", 1, 1, 10000000, true)};
      if (const auto rate = one.quantity("bandwidth", Kind::link_rate)) on.rate = rate->number;
      for (const SpecNode* item : one.texts(key)) {
        const auto place = static_cast<std::size_t>(std::find(names.begin(), names.end(), item->text) - names.begin());
        if (place < names.size())
          on.measured |= 1U << place;
        else
          one.fault(*item, key, fmt::format("\"{}\" is not known", item->text), fmt::format("one of {}", joined(names)));
      }
      one.finish();
      part.fitted_on.push_back(std::move(on));
    }
  }

  void read_measured(const SpecNode& node, std::string path, CalibratedPart& part, bool rated) {
    MapReader in(node, std::move(path), faults_);
    if (const auto rate = in.quantity("bandwidth", Kind::link_rate, rated)) reference_ = rate->number;
    if (const auto size = in.quantity("smallest", Kind::size)) part.smallest = size->number;
    if (const auto size = in.quantity("largest", Kind::size)) part.largest = size->number;
    part.fewest_ranks = in.count("fewest_ranks", part.fewest_ranks, 1, 1000000);
    part.most_ranks = in.count("most_ranks", part.most_ranks, 1, 1000000);
    part.most_nodes = in.count("most_nodes", part.most_nodes, 1, 1000000);
    const auto& known = launch_mode_names;
    for (const SpecNode* item : in.texts("launches"))  // for people, as the next
      if (item->text != "unstated" && std::find(known.begin(), known.end(), item->text) == known.end())
        in.fault(*item, "launches", fmt::format("\"{}\" is not known", item->text), fmt::format("one of {}", joined(known)));
    in.texts("libraries");
    in.finish();
  }

  /// One constant: a time, a size, a rate, a share written as the rate it was measured as, a number.
  void read_constant(MapReader& in, std::string_view key, const Parameter& parameter) {
    double& into = parameter.of(c_);
    switch (parameter.measure()) {
      case Measure::time:
        if (const auto value = in.quantity(key, Kind::time)) into = value->number;
        return;
      case Measure::size:
        if (const auto value = in.quantity(key, Kind::size)) into = value->number;
        return;
      case Measure::number: into = in.number(key, into, parameter.min, parameter.max); return;
      case Measure::share: break;
    }
    const auto value = in.quantity(key, Kind::link_rate);
    if (!value) return;
    into = value->number / reference_;
    if (!(into > 0 && into <= parameter.max))
      in.fault(*value->node, key, fmt::format("is {:.3g} of the measured system's one-way rate", into), "no more than the link carries");
  }

  void read_constants(const SpecNode& node, const std::string& path, ConstantSet set) {
    if (set == ConstantSet::transport) {
      MapReader in(node, path, faults_);
      if (const auto step = in.quantity("tree_step", Kind::time, true)) c_.transport = TransportConstants::from_tree_step(step->number);
    }
    read_rows(node, path, set);
  }

  void read_rows(const SpecNode& node, const std::string& path, ConstantSet set) {
    MapReader in(node, path, faults_);
    std::map<std::string, std::unique_ptr<MapReader>, std::less<>> sections;  // by name; null: not in the file
    for (const Parameter& parameter : parameters_of(set)) {
      const auto point = parameter.key.find('.');
      if (point == std::string_view::npos) {
        read_constant(in, parameter.key, parameter);
        continue;
      }
      const std::string section{parameter.key.substr(0, point)};
      auto [at, fresh] = sections.try_emplace(section);
      if (fresh)
        if (const SpecNode* inner = in.take(section)) at->second = std::make_unique<MapReader>(*inner, in.path_of(section), faults_);
      if (at->second) read_constant(*at->second, parameter.key.substr(point + 1), parameter);
    }
    for (const auto& [section, reader] : sections)
      if (reader) reader->finish();
    in.finish();
  }

  const SpecNode& tree_;
  Constants& c_;
  Faults& faults_;
  double reference_ = 1e12;
  bool of_transport_ = false;
};

bool among(const std::vector<std::string>& names, const std::vector<std::string>& wanted) {
  return std::any_of(wanted.begin(), wanted.end(),
                     [&](const std::string& name) { return std::find(names.begin(), names.end(), name) != names.end(); });
}

/// The text under keys of a file, one below the other; empty: none.
std::string text_at(const SpecNode& root, std::initializer_list<std::string_view> keys) {
  const SpecNode* node = &root;
  for (const std::string_view key : keys) node = node != nullptr ? node->find(key) : nullptr;
  return node != nullptr ? node->text : std::string{};
}
/// Whether constants come from relatives alone: no machine among `systems` has this GPU or one of its architecture.
bool are_only_relatives(const Gpu& gpu, const std::vector<std::string>& systems, SpecStore& library) {
  const auto arch_of = [&](const std::string& name) { return text_at(library.resolve("gpus", name), {"identity", "arch"}); };
  const std::string own = library.find("gpus", gpu.name).empty() ? std::string{} : arch_of(gpu.name);
  return !systems.empty() && std::none_of(systems.begin(), systems.end(), [&](const std::string& system) {
    if (library.find("systems", system).empty()) return false;
    const std::string other = text_at(library.resolve("systems", system), {"gpu"});
    return other == gpu.name || (!own.empty() && !other.empty() && arch_of(other) == own);
  });
}

/// Hardware that was not measured through NCCL: a step costs the tier's own latency, protocols add nothing. Dataflow launches no kernels;
/// an exchange starts with one step's latency there.
void use_datasheet(System& system) {
  const Tier* tier = system.tier(TierRole::scale_up);
  const double hop = tier != nullptr && tier->latency.value.value() > 0 ? tier->latency.value.value() : 1 * microsecond;
  auto& c = system.constants.scale_up;
  c.ll.hop = hop;
  c.simple.hop = hop;
  c.simple.floor = 0;
  c.ll128.floor = 0;
  c.all_to_all.hop = hop;
  if (system.gpu.dataflow) {
    c.launch = hop;
    system.constants.compute.gemm_start = system.constants.compute.layer_floor = 0;
  }
  system.constants.name = "datasheet";
  system.constants.source = "steps cost the tier's own latency, rates the share of the datasheet that NVLink systems reach";
}

/// What belongs to a board, as usual ones have it: the library's constants hold on other boards, the rates of the board that was measured
/// do not. Over slower links than those of the board whose GPUs write to each other, that board's bytes a second are within reach, over
/// faster ones its share, and a usual share beyond is not believed. Staging through host memory is in nothing faster than such GPUs.
void take_usual_board(PcieConstants& c, const Tier& tier, SpecStore& library, const std::vector<std::string>& chain, Faults& faults) {
  const PcieConstants& usual = pcie_prior;
  c.ll_share = usual.ll_share;
  c.simple_share = usual.simple_share;
  c.reduce_scatter_rate_two_sockets = usual.reduce_scatter_rate_two_sockets;
  c.exchange_two_sockets_rate = usual.exchange_two_sockets_rate;
  if (library.find("calibrations", "pcie-peers").empty()) return;
  Constants measured;
  const SpecNode tree = library.resolve("calibrations", "pcie-peers");
  CalibrationReader reader(tree, measured, faults);
  reader.read();
  const PcieConstants& peers = measured.pcie;
  // a board that was measured with its peers on has its own rate as the limit
  const double link = tier.link_bandwidth.value();
  const double scale = among(reader.systems, chain) || link <= 0 ? 1 : std::max(1.0, reader.measured_rate() / link);
  const auto limit = [](double& own, double most) { own = std::min(own, most); };
  for (std::size_t i = 0; i < c.ll_share.size(); ++i) limit(c.ll_share[i], scale * peers.ll_share[i]);
  for (std::size_t i = 0; i < c.simple_share.size(); ++i) limit(c.simple_share[i], scale * peers.simple_share[i]);
  limit(c.reduce_scatter_rate_two_sockets, peers.reduce_scatter_rate_two_sockets);
  limit(c.exchange_two_sockets_rate, peers.exchange_two_sockets_rate);
  if (tier.peer_to_peer) return;
  c.ll_share[2] *= c.form.peers_ll_share;  // what price_pcie leaves of LL where GPUs write to each other
  for (double PcieConstants::*rate : {&PcieConstants::ll_overlap, &PcieConstants::simple_overlap, &PcieConstants::ll_all_reduce_rate,
                                      &PcieConstants::reduce_scatter_rate, &PcieConstants::exchange_pair_rate, &PcieConstants::exchange_ll_share,
                                      &PcieConstants::warm_rate, &PcieConstants::warm_bytes})
    limit(c.*rate, peers.*rate);
  for (double PcieConstants::*time : {&PcieConstants::launch, &PcieConstants::ll_hop, &PcieConstants::drain, &PcieConstants::simple_floor,
                                      &PcieConstants::simple_hop, &PcieConstants::exchange_base, &PcieConstants::exchange_hop,
                                      &PcieConstants::exchange_floor})
    c.*time = std::max(c.*time, peers.*time);
}

}  // namespace

void load_constants(System& system, SpecStore& library, std::string_view calibration, KernelSets kernels, OverriddenParts altered,
                      const std::vector<std::string>& chain, Faults& faults) {
  Constants& c = system.constants;
  c = {};
  const std::vector<std::string> self{system.name};
  const bool measured_library = system.library != Library::other;
  if (!measured_library) use_datasheet(system);
  if (calibration == "none") return;

  bool own_board = false;    // the PCIe box is the measured one, or extends it
  bool known_board = false;  // the measured one itself, its board's rates as they were
  const bool over_pcie = is_over_pcie(system);
  // a shipped one is asked for by the name of what it is of
  const bool own_file = is_path(calibration) || calibration.find('\n') != std::string_view::npos;
  const auto suits = [&](const CalibratedPart& part, std::string_view generation, std::string_view transport) {
    if (part.library != Library::other && part.library != system.library) return false;
    if (part.set == ConstantSet::pcie) return over_pcie;
    if (part.set != ConstantSet::transport)
      return (part.set != ConstantSet::scale_up || !over_pcie) && (generation.empty() || generation == name(system.gpu.generation));
    const Tier* const nic = system.tier(TierRole::nic);
    if (nic == nullptr || transport.empty()) return nic != nullptr;
    const Transport& own = nic->transport;
    const std::string other{transport};
    if (own.family() == transport || own.relative == transport || own.older == transport || library.find("transports", other).empty()) return true;
    const Transport its = load_transport(other);
    return its.relative == own.family() || its.older == own.family();
  };
  const auto apply = [&](const SpecNode& tree, bool by_hand, bool of_transport = false) {
    CalibrationReader reader(tree, c, faults);
    if (by_hand && own_file) reader.suits = suits;
    of_transport ? reader.read_transport() : reader.read();
    // a file given by hand applies to this machine unless it names others
    const bool named = among(reader.systems, self) || (by_hand && reader.systems.empty());
    if (reader.parts.empty() && reader.is_foreign && !altered.inside && !altered.outside)
      throw RequestError(fmt::format("calibration {}: it was fitted to {}, and nothing of it can be of {} ({} GPUs, {})", reader.name,
                                     reader.systems.empty() ? "other machines" : joined(reader.systems), system.name,
                                     name(system.gpu.generation), name(system.library)));
    for (const CalibratedPart& part : reader.parts) {
      const MeasuredOperations shown = measured_operations_of(part.fitted_on, system, by_hand && reader.systems.empty());
      const auto read_into = [&](std::string& its_name, std::string& its_source, Basis& its_basis, bool measured_here) {
        its_name = reader.name;
        its_source = reader.source;
        its_basis = reader.assumed ? Basis::datasheet : measured_here ? Basis::calibrated : Basis::sibling;
      };
      switch (part.set) {
        case ConstantSet::transport:
          c.transport_operations =
              with_earlier_measurements(shown, part.fitted_on.size(), c.transport_operations, c.transport_known ? c.transport_basis : Basis::datasheet);
          read_into(c.transport_name, c.transport_source, c.transport_basis, named && (by_hand || !altered.outside));
          c.transport_known = !reader.assumed;
          c.most_nodes = part.most_nodes;
          c.transport_smallest = part.smallest;
          c.transport_largest = part.largest;
          continue;
        case ConstantSet::compute:
          if (part.whole) {
            read_into(c.compute_name, c.compute_source, c.compute_basis, by_hand && named);
            c.compute_related = !by_hand && are_only_relatives(system.gpu, reader.systems, library);
          }
          continue;
        case ConstantSet::custom:
          read_into(c.custom_name, c.custom_source, c.custom_basis, named);
          c.custom_kernels = shown;
          continue;
        case ConstantSet::moe:
          read_into(c.moe_name, c.moe_source, c.moe_basis, named);
          c.moe_kernels = shown;
          c.moe_max_ranks = part.most_ranks;
          continue;
        case ConstantSet::scale_up:
        case ConstantSet::pcie: break;
      }
      c.name = reader.name;
      c.source = reader.source;
      c.operations = with_earlier_measurements(shown, part.fitted_on.size(), c.operations, c.basis);
      c.smallest = part.smallest;
      c.largest = part.largest;
      c.fewest_ranks = part.fewest_ranks;
      c.most_ranks = part.most_ranks;
      const bool own_library = part.library == Library::other || part.library == system.library;
      const bool same = named && own_library && (by_hand || !altered.inside);
      c.basis = same ? Basis::calibrated : reader.assumed ? Basis::datasheet : Basis::sibling;
      known_board = part.set == ConstantSet::pcie && named && own_library && !altered.board;
      own_board = part.set == ConstantSet::pcie && among(reader.systems, chain);
    }
  };

  const auto of_transport = [](const SpecNode& tree, const Transport& transport) {
    const SpecNode* its = tree.find("transport");
    return its != nullptr && its->text == transport.family().view();
  };
  const auto shipped = [&](const std::string& name) {
    if (library.find("calibrations", name).empty()) return;
    apply(library.resolve("calibrations", name), false);
  };
  if (measured_library) {
    shipped(fmt::format("scale-up-{}", name(system.gpu.generation)));
    if (!over_pcie) shipped(fmt::format("scale-up-{}", system.gpu.name));  // a GPU that was measured beside its generation's
    if (over_pcie) {
      c.basis = Basis::datasheet;
      const Tier& tier = *system.tier(TierRole::scale_up);
      if (system.library == Library::oneccl) {
        shipped("pcie-oneccl");
      } else {
        shipped(tier.peer_to_peer ? "pcie-peers" : "pcie");
        if (!own_board) take_usual_board(c.pcie, tier, library, chain, faults);
      }
    }
  }
  for (const auto& [wanted, set] : {std::pair{kernels.compute, "compute"}, {kernels.custom, "custom"}, {kernels.moe, "moe"}})
    if (wanted) shipped(fmt::format("{}-{}", set, name(system.gpu.generation)));
  for (const auto& [wanted, set] : {std::pair{kernels.custom, ConstantSet::custom}, {kernels.moe, ConstantSet::moe}})
    if (wanted && (set == ConstantSet::custom ? c.custom_name : c.moe_name) == "prior") stretch_prior(set, c);  // generation not measured
  if (const Tier* nic = system.tier(TierRole::nic))
    if (const TransportSpec* transport = library.known_transport(nic->transport.name)) {
      apply(transport->tree, false, true);
      const std::string own = fmt::format("cluster-{}", system.name);  // a cluster that was measured beside its transport's others
      if (!library.find("calibrations", own).empty() && of_transport(library.resolve("calibrations", own), nic->transport)) shipped(own);
    }
  // a file given by hand replaces only the sets it was fitted for; the rest stays as shipped
  if (calibration.find('\n') != std::string_view::npos)
    apply(parse_spec_text(std::string{calibration}, "calibration"), true);
  else if (!calibration.empty())
    apply(library.resolve("calibrations", calibration), true);
  if (!known_board || c.basis == Basis::calibrated) return;
  // altered by hand, it keeps the board that its constants were fitted on
  for (Tier& tier : system.tiers) {
    if (tier.role != TierRole::scale_up) continue;
    tier.carried = {};
    for (std::size_t i = 0; i < c.pcie.simple_share.size(); ++i) tier.carried[i] = tier.bandwidth.value * c.pcie.simple_share[i];
  }
}

}  // namespace fabricost::core
