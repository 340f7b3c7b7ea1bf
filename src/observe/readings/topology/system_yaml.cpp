/// Writes a topology as a system file: counts as read, other values guessed, with the reason.

#include "readings/topology/topology_text.hpp"
#include "specs/parts/gpu_index.hpp"
#include "specs/parts/transports.hpp"
#include "text/ascii.hpp"
#include "text/joined.hpp"
#include "text/yaml_text.hpp"

#include <fabricost/observe/readings/topology.hpp>
#include <fabricost/specs/data_directory.hpp>
#include <fabricost/specs/load.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

namespace fabricost::observe {

namespace {

struct ModelGuess {
  std::string gpu;     ///< name in data/gpus
  std::string reason;  ///< the clue that identified it
};

// Identifies a GPU of data/gpus by clues, the most reliable first: marketing name, PCI id, cloud instance,
// architecture, direct links, PCIe. The files of data/gpus list the clues (`identity:`). If data/ does not
// contain the GPU, a related one is used, and the reason says so.

[[nodiscard]] std::string stand_in(const KnownClue& found) {
  return found.stands_for.empty() ? "" : fmt::format("; stands in for {}, which data/gpus does not have", found.stands_for);
}

/// The properties that a topology shows besides names.
struct ShownModel {
  int links = -1;  ///< of one GPU; -1: unknown
  int gpus = 0, sockets = 0, per_processor = 0;
  bool switched = false, pairs = false;

  explicit ShownModel(const DescribedTopology& t)
      : links(t.links_stated ? t.links_per_gpu() : -1), gpus(static_cast<int>(t.gpus.size())), sockets(t.sockets), switched(t.switched) {
    if (std::any_of(t.gpus.begin(), t.gpus.end(), [](const TopologyDevice& g) { return g.own_memory_node; }))
      per_processor = sockets * 2 == gpus ? 2 : 1;
    pairs = links > 0 &&
            std::any_of(t.links.begin(), t.links.end(), [&](const auto& row) { return std::count(row.begin(), row.end(), links) == 1; });
  }
  [[nodiscard]] bool fits(const GpuClue& clue) const {
    const auto same = [](int wanted, int seen) { return wanted == 0 || wanted == seen; };
    const bool wired = clue.wiring == GpuClue::Wiring::any || (clue.wiring == GpuClue::Wiring::pairs ? pairs : !switched);
    return wired && same(clue.gpus, gpus) && same(clue.sockets, sockets) && same(clue.per_processor, per_processor) &&
           (!clue.links || (links >= clue.links->first && links <= clue.links->second));
  }
};

/// The matching clue accepted by `counts` with the most conditions; nullptr: none.
template <class Counts>
[[nodiscard]] const GpuClue* narrowest(const GpuIdentities& known, const ShownModel& shown, Counts&& counts) {
  const GpuClue* best = nullptr;
  for (const GpuClue& clue : known.clues())
    if (counts(clue) && shown.fits(clue) && (best == nullptr || clue.conditions() > best->conditions())) best = &clue;
  return best;
}

[[nodiscard]] ModelGuess taken(const GpuClue* clue, const std::string& seen) {
  if (clue == nullptr)
    throw RequestError(fmt::format("{}: no GPU of data/gpus is taken for that; give the one it is a clue (docs/spec-format.md)", seen));
  return {clue->gpu, seen + clue->remark};
}

/// The last value of an ascending scale that `at` reaches, else the first.
template <class Value>
[[nodiscard]] int step_below(const GpuIdentities& known, std::string_view vendor, int at, Value&& value) {
  int below = 0, lowest = 0;
  for (const GpuClue& clue : known.clues()) {
    const int step = value(clue);
    if (step == 0 || (!vendor.empty() && clue.vendor != vendor)) continue;
    if (step <= at) below = std::max(below, step);
    lowest = lowest == 0 ? step : std::min(lowest, step);
  }
  return below > 0 ? below : lowest;
}

[[nodiscard]] ModelGuess by_architecture(const GpuIdentities& known, const DescribedTopology& t, int version) {
  const bool amd = t.vendor == "amd";
  const std::string_view vendor = amd ? "amd" : "nvidia";
  const std::string seen =
      amd ? fmt::format("gfx version {}", version == 910 ? "90a" : std::to_string(version)) : fmt::format("SM version {}", version);
  const int arch = step_below(known, vendor, version, [](const GpuClue& clue) { return clue.arch; });
  return taken(narrowest(known, ShownModel{t}, [&](const GpuClue& clue) { return clue.arch == arch && clue.vendor == vendor; }), seen);
}

[[nodiscard]] ModelGuess by_xgmi(const GpuIdentities& known, const DescribedTopology& t) {
  ShownModel shown{t};
  shown.links = t.links_per_gpu();
  const std::string seen = shown.links <= 0 ? "no XGMI"
                           : shown.links == shown.gpus - 1 && shown.gpus > 2
                               ? fmt::format("{} GPUs in a full mesh of XGMI", shown.gpus)
                               : fmt::format("XGMI to {} others of {}", shown.links, shown.gpus);
  return taken(narrowest(known, shown, [](const GpuClue& clue) { return clue.arch == 0 && clue.links && clue.vendor == "amd"; }), seen);
}

[[nodiscard]] ModelGuess by_nvlinks(const GpuIdentities& known, const DescribedTopology& t) {
  ShownModel shown{t};
  shown.links = t.links_per_gpu();
  const std::string seen = shown.links > 0 || shown.per_processor > 0
                               ? fmt::format("{} NVLink{} per GPU", shown.links, shown.links == 1 ? "" : "s")
                               : "no NVLinks";
  const GpuClue* found = narrowest(known, shown, [&](const GpuClue& clue) {
    return clue.arch == 0 && clue.vendor == "nvidia" && (shown.per_processor > 0 ? clue.per_processor > 0 : clue.links.has_value());
  });
  if (found != nullptr && shown.links <= 0 && !t.links_stated) return {found->gpu, "nothing in the file says"};
  return taken(found, seen);
}

/// \throws RequestError if no file of data/gpus matches
[[nodiscard]] ModelGuess guess_model(const DescribedTopology& t) {
  const auto shipped = GpuIdentities::shipped();
  const GpuIdentities& known = *shipped;
  for (const TopologyDevice& gpu : t.gpus)
    if (const KnownClue* found = known.named(gpu.model))
      return {found->gpu, fmt::format("{} is named {}{}", gpu.name, gpu.model, stand_in(*found))};
  for (const TopologyDevice& gpu : t.gpus)
    if (const KnownClue* found = known.with_pci_id(gpu.pci_id))
      return {found->gpu, fmt::format("PCI id {} (pci-ids.ucw.cz){}", gpu.pci_id, stand_in(*found))};
  if (const CloudInstance* found = known.instance(t.instance)) return {found->gpu, fmt::format("{} ({})", found->name, found->source)};
  for (const TopologyDevice& gpu : t.gpus)
    if (gpu.compute > 0) return by_architecture(known, t, gpu.compute);
  if (t.vendor == "amd") return by_xgmi(known, t);
  double lane_rate = 0;
  for (const TopologyDevice& gpu : t.gpus) lane_rate = std::max(lane_rate, gpu.slot.lane_rate);
  if (t.links_stated || !(lane_rate > 0)) return by_nvlinks(known, t);
  const int slot = std::max(known.slot_generation(lane_rate), known.slowest_slot());
  const int pcie = step_below(known, "", slot, [](const GpuClue& clue) { return clue.pcie; });
  return taken(narrowest(known, ShownModel{t}, [&](const GpuClue& clue) { return clue.pcie == pcie && pcie > 0; }),
               fmt::format("PCIe {} and nothing else", slot));
}

[[nodiscard]] std::string name_from(std::string_view stem) {
  std::string out;
  for (const char c : stem) {
    if (is_letter(c) || is_digit(c))
      out += lower(c);
    else if (!out.empty() && out.back() != '-')
      out += '-';
  }
  while (!out.empty() && out.back() == '-') out.pop_back();
  return out.empty() ? "machine" : out.substr(0, 60);
}

struct NicGuess {
  std::string link, transport, link_reason, transport_reason;
  double rate = 0;          ///< bits per second; written if no link of data/links has it
  bool rate_known = false;  ///< stated by the topology, or common to all such adapters
};

class SystemText {
 public:
  SystemText(const DescribedTopology& t, std::string_view name, const System* likely) : t_(t), likely_(likely) {
    out_.name = name_from(name.empty() ? std::filesystem::path(t.file).stem().string() : std::string{name});
  }

  GuessedSystem build() {
    if (t_.gpus.empty()) throw RequestError(t_.file + ": no GPU to build a system on");
    const ModelGuess model = guess_model();
    gpu_ = load_gpu(model.gpu);
    link_ = gpu_.scale_up_link;
    out_.gpu = model.gpu;
    guess("GPU", model.gpu, model.reason);
    unknown("which variant of the GPU it is (memory, clocks): the file does not name it; put what nvidia-smi -L prints before it",
            t_.vendor == "nvidia" && is_unnamed());
    unknown("which variant of the GPU it is (memory, clocks): the file does not name it", t_.vendor != "nvidia" && is_unnamed());
    unknown("the processor (append the output of lscpu): NCCL's choice depends on it", t_.cpu == Cpu::any && !grace());
    alike_ = machine_alike();
    head();
    scale_up();
    nics();
    if (t_.partitioned) unknown("how the GPUs are partitioned (MIG): whole ones are taken, and MIG devices use no NVLink", true);
    std::string text = fmt::format("name: {}\ntitle: {}\nsource: {}\nconfidence: assumed\n", out_.name,
                                   in_quotes(fmt::format("{} GPUs, read from {}", t_.gpus.size(), t_.format)),
                                   in_quotes(fmt::format("{} ({})", std::filesystem::path(t_.file).filename().string(), t_.format)));
    std::string notes;
    for (const std::string& one : out_.unknown) notes += (notes.empty() ? "Not known: " : "; ") + one;
    if (!remark_.empty()) notes += (notes.empty() ? "" : ". ") + remark_;
    while (notes.ends_with(' ') || notes.ends_with('.')) notes.pop_back();
    if (!notes.empty()) text += "notes: " + in_quotes(notes + ".") + "\n";
    out_.yaml = text + body_;
    return out_;
  }

 private:
  [[nodiscard]] bool is_unnamed() const { return t_.gpus.front().model.empty() && t_.gpus.front().pci_id.empty(); }
  /// The model; where links alone tell it, that of the likely machine if it has as many.
  [[nodiscard]] ModelGuess guess_model() const {
    ModelGuess model = observe::guess_model(t_);
    const bool by_links = is_unnamed() && t_.instance.empty() && t_.gpus.front().compute == 0 && t_.links_stated;
    if (!by_links || likely_ == nullptr || likely_->gpu.name == model.gpu || likely_->gpu.vendor != t_.vendor) return model;
    const int links = t_.links_per_gpu();
    const Tier* joins = likely_->tier(TierRole::scale_up);
    const auto seen = static_cast<int>(t_.gpus.size());
    if (joins != nullptr && joins->kind == TierKind::full_mesh && links == seen - 1 && seen > 1 && seen < likely_->gpus_per_node)
      return {likely_->gpu.name, fmt::format("a full mesh of {} GPUs, as a part of {} has", seen, likely_->name)};
    if (links == 0 || likely_->gpu.scale_up_links != links) return model;
    return {likely_->gpu.name, fmt::format("{} direct links per GPU, as those of {} have, and {} too", links, likely_->name, model.gpu)};
  }
  void guess(std::string what, std::string taken, std::string reason) {
    out_.guesses.push_back({std::move(what), std::move(taken), std::move(reason)});
  }
  void unknown(std::string what, bool really = true) {
    if (really) out_.unknown.push_back(std::move(what));
  }
  void line(std::string_view text) { body_ += fmt::format("    {}\n", text); }
  /// Writes a rate that rests on a guessed link, marked so that it is not taken for the link's datasheet.
  void assumed_rate(std::string_view link, int links, const std::string& reason) {
    const double rate = load_link(link).bandwidth.value.value() * links;
    line(fmt::format("bandwidth: {{value: {:.6g} GB/s per direction, source: {}, confidence: assumed}}", rate * 1e-9,
                     in_quotes(fmt::format("{}{}: {}", links > 1 ? fmt::format("{} x ", links) : "", link, reason))));
  }
  void sourced(const std::string& reason) { body_ += fmt::format("    source: {}\n    confidence: assumed\n", in_quotes(reason)); }

  void head() {
    body_ += fmt::format("gpu: {}  # {}\ngpus: {}\ncpu: {}\n", out_.gpu, out_.guesses.front().reason, t_.gpus.size(),
                         name(grace() ? Cpu::arm : t_.cpu));
    if (const double rate = alike_ ? alike_->host_memory_rate.value.value() : 0; rate > 0)
      body_ += fmt::format("host_memory_rate: {{value: {:g} GB/s, source: {}, confidence: assumed}}\n", rate * 1e-9,
                           in_quotes("as " + alike_->name));
    body_ += "tiers:\n";
  }
  [[nodiscard]] std::optional<System> machine_alike() const {
    const auto fits = [&](const System& s) { return s.gpu.name == out_.gpu && s.gpus_per_node == static_cast<int>(t_.gpus.size()); };
    if (likely_ != nullptr && fits(*likely_)) return *likely_;
    const auto machines = machine_identities(data_directory());
    for (const auto* usual : {&machines.systems, &machines.clusters}) {
      const auto [from, to] = usual->equal_range(out_.gpu);
      for (auto one = from; one != to; ++one)
        if (System s = load_system(one->second, {}, "none", KernelSets::none()); fits(s)) return s;
    }
    return std::nullopt;
  }

  /// " of mlx5_3, for which all wait"; empty if all have it.
  template <class Has>
  [[nodiscard]] static std::string slowest_of(const std::vector<TopologyDevice>& devices, bool nics, Has&& has) {
    std::vector<std::string> names;
    for (const TopologyDevice& d : devices)
      if (has(d)) names.push_back(device_name(d, nics));
    return names.size() == devices.size() ? "" : fmt::format(" of {}, for which all wait", joined_with_and(names));
  }
  [[nodiscard]] static std::string slot_reason(const PcieLink& slot, const std::vector<TopologyDevice>& devices, bool nics) {
    const std::string narrow = slot.lanes > 0 && slot.lanes < 16 ? fmt::format(" x{}", slot.lanes) : "";
    return fmt::format("link_speed of {:g} GT/s{}{}", slot.lane_rate * 1e-9, narrow,
                       slowest_of(devices, nics, [&](const TopologyDevice& d) { return d.slot.lane_rate > 0 && d.slot.rate() <= slot.rate(); }));
  }

  /// PCIe between GPU and host, or between the GPUs themselves.
  void pcie(const char* role) {
    if (grace() && std::string_view{role} == "host") return c2c();
    std::string link = gpu_.host_link.empty() ? "pcie-5" : gpu_.host_link;
    std::string reason = gpu_.host_link.empty() ? "nothing known" : "the slot of data/gpus/" + out_.gpu;
    const PcieLink slowest = slowest_slot(t_.gpus);
    const std::string said = slot_name(slowest);
    if (said.empty()) {
      unknown("the PCIe generation and width of the slots");
      if (slowest.lane_rate > 0) reason += fmt::format("; link_speed of {:g} GT/s is that of an idle link", slowest.lane_rate * 1e-9);
    } else if (!gpu_.host_link.empty() && said > link) {
      reason += fmt::format("; link_speed of {:g} GT/s is more than it takes", slowest.lane_rate * 1e-9);
    } else {
      link = said;
      reason = slot_reason(slowest, t_.gpus, false);
    }
    guess("PCIe", link, reason);
    host_slot_ = link;
    const int shared = std::max(1, std::min(gpus_per_switch(t_), static_cast<int>(t_.gpus.size())));
    body_ += fmt::format("  - name: pcie\n    role: {}\n    kind: host\n    endpoints: {}\n    link: {}\n", role, t_.gpus.size(), link);
    assumed_rate(link, 1, reason);
    line(fmt::format("shared_by: {}", shared));
    std::string why = reason;
    if (shared > 1) why += fmt::format("; {} GPUs meet below one PCIe switch", shared);
    if (std::string_view{role} == "scale_up") {
      bool below_switches = t_.gpus.size() > 1;
      for (std::size_t i = 0; i < t_.gpus.size(); ++i)
        for (std::size_t j = i + 1; j < t_.gpus.size(); ++j)
          below_switches = below_switches && t_.paths[i][j] && *t_.paths[i][j] <= NicPath::pxb;
      line(fmt::format("peer_to_peer: {}", below_switches ? "true" : "false"));
      why += below_switches ? "; all GPUs meet below PCIe switches, where NCCL lets them write to each other (graph/paths.cc)"
                            : "; some GPUs meet at a processor, where NCCL stages through host memory by default (graph/paths.cc)";
      unknown("whether the driver lets the GPUs write into each other's memory (nvidia-smi topo -p2p w)");
    }
    sourced(why);
  }

  /// Whether GPUs are beside Grace processors: a GPU's own memory is then a NUMA node.
  [[nodiscard]] bool grace() const {
    return gpu_.c2c_link == "nvlink-c2c" &&
           std::any_of(t_.gpus.begin(), t_.gpus.end(), [](const TopologyDevice& d) { return d.own_memory_node; });
  }
  void c2c() {
    const int shared = std::max(1, static_cast<int>(t_.gpus.size()) / std::max(1, t_.sockets));
    body_ += fmt::format(
        "  - name: c2c\n    role: c2c\n    kind: point_to_point\n    endpoints: {}\n    link: nvlink-c2c\n    links: 10\n    shared_by: "
        "{}\n",
        t_.gpus.size(), shared);
    guess("GPU to processor", "10 nvlink-c2c", "as data/gpus/" + out_.gpu + " has");
    sourced("the memories of the GPUs are NUMA nodes of the host, so that processor is a Grace");
  }

  void scale_up() {
    LinkShape shape = link_shape(t_);
    std::string why = fmt::format("direct links as in {}", t_.format);
    const auto gpus = static_cast<int>(t_.gpus.size());
    if (!t_.links_stated && gpu_.scale_up_links > 0 && gpus > 1 && !gpu_.scale_up_bridge) {
      const bool mesh = gpu_.scale_up_links % (gpus - 1) == 0 && gpus <= 4;
      shape = {.kind = mesh ? TierKind::full_mesh : TierKind::switched, .links = gpu_.scale_up_links, .edges = {}, .remark = {}};
      why = fmt::format("the file says nothing of direct links; {} has {}", out_.gpu, gpu_.scale_up_links);
      unknown("how many NVLinks are there, and between whom");
      guess("direct links", fmt::format("{} per GPU", shape.links), why);
    }
    if (gpus < 2) return pcie("host");
    if (shape.kind != TierKind::host && link_.empty()) {
      shape.remark = fmt::format("{} has no direct links in data/gpus, so PCIe is taken", out_.gpu);
      shape.kind = TierKind::host;
    }
    if (shape.kind == TierKind::host && !shape.edges.empty()) {
      const auto bridges = machine_identities(data_directory()).bridges;
      if (const auto pair = bridges.find(out_.gpu); pair != bridges.end())
        shape.remark += fmt::format("; two on one bridge alone are {}", pair->second);
      guess("GPU to GPU", "PCIe", shape.remark);
    }
    if (!shape.remark.empty()) remark_ += shape.remark + ". ";
    if (t_.links_stated && shape.kind == TierKind::host && t_.links_per_gpu() > 0 && shape.edges.empty())
      remark_ += fmt::format("Each GPU has {} NVLinks, but the file does not say to whom, so PCIe is taken. ", t_.links_per_gpu());
    if (shape.kind == TierKind::host) return pcie("scale_up");
    const bool xgmi = t_.vendor == "amd";
    body_ += fmt::format("  - name: {}\n    role: scale_up\n    kind: {}\n    endpoints: {}\n    link: {}\n    links: {}\n",
                         xgmi ? "xgmi" : "nvlink", name(shape.kind), gpus, link_, shape.links);
    guess(xgmi ? "XGMI" : "NVLink", link_, "the links of data/gpus/" + out_.gpu);
    assumed_rate(link_, shape.links, why);
    if (shape.kind == TierKind::switched) switches(shape.links, gpus, why);
    if (shape.kind == TierKind::mesh_graph) {
      line("edges:");
      for (const Edge& e : shape.edges) body_ += fmt::format("      - [{}, {}, {}]\n", e.from, e.to, e.links);
    }
    if (std::any_of(t_.links_of.begin(), t_.links_of.end(), [&](int links) { return links != t_.links_of.front(); }))
      why += "; of GPUs with different counts the fewest";
    sourced(why);
    pcie("host");
  }

  void switches(int links, int gpus, std::string& why) {
    constexpr int board_gpus = 8;
    for (const std::string& chip : names_in("switches")) {
      const SwitchSpec spec = load_switch(chip);
      if (spec.link != link_ || spec.per_board == 0) continue;
      const int need = (gpus * links + spec.ports - 1) / spec.ports;
      const int count = std::max(spec.per_board * ((gpus + board_gpus - 1) / board_gpus), need);
      line(fmt::format("switch: {}", chip));
      line(fmt::format("switches: {}", count));
      guess("switches", fmt::format("{} {}", count, chip), "as on an HGX board of that generation");
      why += "; switches as on an HGX board";
      return;
    }
  }

  /// Whether one of these NICs matches a clue.
  [[nodiscard]] bool holds(const AdapterClue& clue, const std::vector<std::size_t>& used) const {
    const auto starts = [](std::string_view text, const std::vector<std::string>& with) {
      return std::any_of(with.begin(), with.end(), [&](const std::string& one) { return text.starts_with(one); });
    };
    if (!clue.gpus.empty() && clue.gpus != gpu_.vendor) return false;
    if (!clue.beside.empty() && !starts(name(gpu_.generation), clue.beside)) return false;
    if (!t_.instance.ends_with(clue.instance) || static_cast<int>(t_.nics.size()) < clue.nics) return false;
    return std::any_of(used.begin(), used.end(), [&](std::size_t n) {
      const TopologyDevice& nic = t_.nics[n];
      return (clue.pci.empty() || starts(nic.pci_id, clue.pci)) && nic.pci_class.starts_with(clue.pci_class) &&
             (clue.names.empty() || starts(nic.device, clue.names) || starts(nic.name, clue.names));
    });
  }

  [[nodiscard]] NicGuess nic_guess(const std::vector<std::size_t>& used, const std::vector<TopologyDevice>& ports) const {
    NicGuess g;
    const TopologyDevice& first = ports.front();
    std::vector<double> rates;
    for (const TopologyDevice& port : ports)
      if (port.line_rate > 0) rates.push_back(port.line_rate);
    const bool said = !rates.empty();
    // a slow NIC that is beside no GPU may be there for management
    if (said) g.rate = nics_beside_gpus(t_) ? *std::min_element(rates.begin(), rates.end()) : *std::max_element(rates.begin(), rates.end());
    const std::vector<KnownAdapters> all = known_adapters();
    const KnownAdapters* adapters = nullptr;
    const AdapterClue* best = nullptr;
    for (const KnownAdapters& one : all)
      for (const AdapterClue& clue : one.clues)
        if ((best == nullptr || clue.weight > best->weight) && holds(clue, used)) best = &clue, adapters = &one;
    if (best == nullptr) throw RequestError(t_.file + ": no file of data/transports knows adapters like " + first.name);
    g.transport = adapters->transport;
    g.transport_reason = best->reason;
    constexpr std::string_view device = "{device}";
    if (const auto at = g.transport_reason.find(device); at != std::string::npos)
      g.transport_reason.replace(at, device.size(), first.device.empty() ? first.name : first.device);
    const auto rate_of = [](const std::string& link) { return 8 * load_link(link).bandwidth.value.value(); };
    if (!said) g.rate = rate_of(adapters->rate.empty() ? usual_nic(name(gpu_.generation)) : adapters->links.front());
    const Tier* const usual = alike_ ? alike_->tier(TierRole::nic) : nullptr;
    const bool as_usual = !said && adapters->rate.empty() && usual != nullptr && usual->transport.name == g.transport;
    // ports of one card share it
    if (as_usual) g.rate = 8 * usual->bandwidth.value.value() / std::max(1.0, static_cast<double>(used.size()) / usual->endpoints);
    g.rate_known = said || adapters->one_rate;
    const auto as_slow = [&](const TopologyDevice& port) { return port.line_rate > 0 && port.line_rate <= g.rate; };
    g.link_reason = said ? fmt::format("speed of {:g} Gbit/s{}", g.rate * 1e-9, nics_beside_gpus(t_) ? slowest_of(ports, true, as_slow) : "")
                    : !adapters->rate.empty() ? adapters->rate
                    : as_usual ? fmt::format("rate not said; as {} ports of {} have together", used.size(), alike_->name)
                               : fmt::format("rate not said; {:g} Gbit/s was usual beside {}", g.rate * 1e-9, out_.gpu);
    double nearest = 0;
    for (const std::string& link : adapters->links)
      if (const double off = std::fabs(std::log(rate_of(link) / g.rate)); g.link.empty() || off < nearest) g.link = link, nearest = off;
    return g;
  }

  void nics() {
    if (t_.nics.empty()) {
      unknown(t_.format == "rocm-smi --showtopo" ? "NICs: rocm-smi does not list them"
                                                 : "NICs: the file lists none, so nothing leaves the node");
      return;
    }
    const std::vector<std::size_t> used = fabric_nics(t_);
    std::vector<TopologyDevice> ports;
    for (const std::size_t n : used) ports.push_back(t_.nics[n]);
    const NicGuess g = nic_guess(used, ports);
    const auto path = usual_nearest(t_);
    // beside a Grace, a NIC is attached to the processor that the GPU reaches over C2C
    const NicPath seen = path.value_or(NicPath::phb);
    const Tier* const usual = alike_ ? alike_->tier(TierRole::nic) : nullptr;
    const bool one_memory = usual != nullptr && usual->path == NicPath::c2c;  // of processor and GPU
    const NicPath taken = (grace() || one_memory) && seen != NicPath::sys ? NicPath::c2c : seen;
    if (!path) unknown("how far the NICs are from the GPUs");
    guess("transport", g.transport, g.transport_reason);
    guess("NIC link", g.link, g.link_reason);
    unknown("the rate of the NICs", !g.rate_known);
    if (g.transport_reason.find("does not say") != std::string::npos || g.transport_reason.find("not said") != std::string::npos)
      unknown("whether the NICs run InfiniBand or Ethernet (append the output of ibstat)");
    std::optional<bool> said;
    for (const std::vector<TopologyDevice>* devices : {&std::as_const(ports), &t_.gpus})
      for (const TopologyDevice& d : *devices)
        if (d.gpu_direct) said = *d.gpu_direct && said.value_or(true);
    const bool direct = said.value_or(!load_transport(g.transport).sockets &&
                                       (taken <= NicPath::pxb || (taken == NicPath::c2c && (!one_memory || usual->gpu_direct))));
    if (!said) unknown("whether GPUDirect RDMA is on (nvidia-peermem, dma-buf)");
    unknown("the network beyond the NICs");
    const int gpus = static_cast<int>(t_.gpus.size()), found = static_cast<int>(used.size());
    const Tier* whole = alike_ ? alike_->tier(TierRole::nic) : nullptr;
    // a machine made with fewer NICs has as many for each GPU
    const bool lost = whole != nullptr && whole->kind == TierKind::rails && whole->endpoints == gpus && found < gpus && gpus % found != 0;
    const bool rails = found == gpus || lost;
    body_ += fmt::format("  - name: nic\n    role: nic\n    kind: {}\n    endpoints: {}\n", rails ? "rails" : "fat_tree", lost ? gpus : found);
    if (lost) {
      line(fmt::format("lost: {}", gpus - found));
      guess("lost NICs", std::to_string(gpus - found), fmt::format("{} has {}, this file {}", alike_->name, gpus, found));
    }
    const double known = load_link(g.link).bandwidth.value.value() * 8;
    const bool fits = std::fabs(g.rate / known - 1) < 0.15;  // NCCL writes 180 for two ports that share 400, minus overhead
    if (fits) {
      line(fmt::format("link: {}", g.link));
      assumed_rate(g.link, 1, g.link_reason);
    } else
      line(fmt::format("bandwidth: {{value: {:g} Gbit/s per direction, source: {}, confidence: assumed}}", g.rate * 1e-9,
                       in_quotes(g.link_reason)));
    line(fmt::format("transport: {}", g.transport));
    line(fmt::format("path: {}", name(taken)));
    const PcieLink slot = slowest_slot(ports);
    const std::string said_slot = taken <= NicPath::pxb || nics_beside_gpus(t_) ? slot_name(slot) : "";
    if (!said_slot.empty() && said_slot != host_slot_) {
      line(fmt::format("slot: {}", said_slot));
      guess("NIC slot", said_slot, slot_reason(slot, ports, true));
    }
    line(fmt::format("gdr: {}", direct ? "true" : "false"));
    const auto nearest = nearest_nics(t_);
    const auto there = std::count(nearest.begin(), nearest.end(), std::optional{seen});
    std::string why = fmt::format("{}; {}; the nearest NIC of {} is {}", g.transport_reason, g.link_reason,
                                  2 * there > gpus || !path ? "most GPUs" : fmt::format("{} of {} GPUs", there, gpus), path_word(seen));
    why += said ? "; gdr as said" : direct ? "; GPUDirect RDMA taken to be on" : "; GPUDirect RDMA taken to be off there";
    if (used.size() < t_.nics.size()) {
      std::vector<std::string> left, down;
      for (std::size_t n = 0; n < t_.nics.size(); ++n)
        if (std::find(used.begin(), used.end(), n) == used.end()) (t_.nics[n].down ? down : left).push_back(t_.nics[n].name);
      std::string unused = left.empty() ? "" : joined_with_and(left) + " beside no GPU";
      if (!left.empty()) why += "; " + unused + ", taken for storage or management";
      if (!down.empty()) why += "; " + joined_with_and(down) + " down", unused += (unused.empty() ? "" : ", ") + joined_with_and(down) + " down";
      guess("NICs for the GPUs", fmt::format("{} of {}", used.size(), t_.nics.size()), unused);
    }
    sourced(why);
  }

  const DescribedTopology& t_;
  const System* likely_;
  GuessedSystem out_;
  Gpu gpu_;
  std::string link_;    ///< scale-up link
  std::string host_slot_;  ///< link of the tier of the GPUs' slots
  std::optional<System> alike_;  ///< the likely machine or the usual one of that GPU, if it has as many in a node
  std::string body_;    ///< from `gpu:` on
  std::string remark_;  ///< for the notes
};

}  // namespace

GuessedSystem system_from(const DescribedTopology& topology, std::string_view name, const System* likely) {
  return SystemText(topology, name, likely).build();
}

}  // namespace fabricost::observe
