/// NCCL's and RCCL's topology XML (NCCL_TOPO_FILE, NCCL_TOPO_DUMP_FILE; written and read by NCCL, graph/xml.cc): <system> of <cpu numaid>,
/// in each the PCI tree <pci busid class link_speed link_width>, with <gpu dev sm gcn> and its <nvlink> or <xgmi target count tclass>, and
/// <nic> with a <net name speed> for each port. Hand-written files may lack all but addresses and PCI
/// classes; NCCL then queries the machine.
///
/// PCI classes: 0x0604 bridge, 0x02 network (0x0207 InfiniBand), 0x03 and 0x12 GPU, 0x0680 NVSwitch, 0x068001 a POWER processor's NVLink.
/// Two bridges of one chip (upstream and downstream port, same vendor and device) count as one switch.

#include "readings/topology/topology_text.hpp"

#include "readings/logs/log_text.hpp"
#include "specs/parts/gpu_index.hpp"
#include "text/csv.hpp"

#include <fmt/format.h>
#include <pugixml.hpp>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

namespace fabricost::observe {

namespace {

constexpr int deepest_element = 64;  ///< nesting; real files have about 10 levels

/// One PCI function with its attributes.
struct Function {
  std::size_t cpu = 0;
  std::vector<std::string> switches;  ///< switch chips, from the processor downwards
  pugi::xml_node node;
};

class NcclXml {
 public:
  explicit NcclXml(const TopologyFile& file) : file_(file) {
    for (const std::string& line : file.lines) {
      starts_.push_back(text_.size());
      text_ += line;
      text_ += '\n';
    }
  }

  DescribedTopology read() {
    const pugi::xml_parse_result parsed = document_.load_buffer(text_.data(), text_.size(), pugi::parse_default | pugi::parse_comments);
    if (!parsed) {
      const auto [line, column] = place(parsed.offset);
      file_.fault(line, column, fmt::format("the XML breaks off here: {}", decapitalised(parsed.description())),
                  "give the whole file, as NCCL wrote it");
    }
    check_depth();
    const pugi::xml_node system = document_.child("system");
    if (!system) refuse(document_.document_element());
    t_.file = file_.name;
    t_.format = "NCCL topology XML";
    t_.links_stated = false;
    for (const pugi::xml_node& child : document_.children())
      if (child.type() == pugi::node_comment)
        if (const CloudInstance* known = known_->instance_in(child.value()); known != nullptr && t_.instance.empty())
          t_.instance = known->name;
    for (const pugi::xml_node& child : system.children()) {
      if (child.type() != pugi::node_element) continue;
      if (std::string_view{child.name()} != "cpu") {
        warn(child, fmt::format("<{}> below <system> is not known; left out", shortened(child.name())));
        continue;
      }
      read_cpu(child);
    }
    if (cpus_.empty()) fault(system, "has no <cpu>", "give the file that NCCL_TOPO_DUMP_FILE names");
    sort_unclassified();
    if (t_.gpus.empty())
      fault(system, "has no GPU: neither a <gpu> nor a PCI function of class 0x03",
            "dump the topology with NCCL_TOPO_DUMP_FILE in a job that uses all GPUs of the node");
    size_matrices(t_);
    read_links();
    set_paths();
    count_sockets();
    return std::move(t_);
  }

 private:
  [[nodiscard]] std::pair<std::size_t, std::size_t> place(std::ptrdiff_t offset) const {
    const auto at = static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(offset, 0, static_cast<std::ptrdiff_t>(text_.size())));
    const auto next = std::upper_bound(starts_.begin(), starts_.end(), at);
    const auto line = static_cast<std::size_t>(next - starts_.begin()) - 1;
    return {line, std::min(at - starts_[line], file_.lines[line].size())};
  }
  [[nodiscard]] static std::string decapitalised(std::string text) {
    if (!text.empty() && text[0] >= 'A' && text[0] <= 'Z') text[0] = static_cast<char>(text[0] - 'A' + 'a');
    return text;
  }
  [[nodiscard]] static std::string shortened(std::string_view text) {
    std::string out;
    for (const char c : text.substr(0, 60)) out += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
    return out;
  }
  [[noreturn]] void fault(const pugi::xml_node& node, std::string message, std::string remedy) const {
    const auto [line, column] = place(node.offset_debug());
    file_.fault(line, column, fmt::format("<{}> {}", shortened(node.name()), message), std::move(remedy));
  }
  void warn(const pugi::xml_node& node, std::string_view what) {
    t_.warnings.push_back(file_.warning(place(node.offset_debug()).first, what));
  }

  [[noreturn]] void refuse(const pugi::xml_node& root) const {
    if (std::string_view{root.name()} == "graphs")
      fault(root, "is an NCCL graph file: it holds the rings and trees NCCL chose (NCCL_GRAPH_DUMP_FILE), not the machine",
            "give the topology file: NCCL_TOPO_FILE, or what NCCL_TOPO_DUMP_FILE writes");
    if (!root) throw fault_of_file(file_.name, "holds no XML element", "give the file that NCCL_TOPO_DUMP_FILE names");
    fault(root, "is no topology: NCCL's begins with <system>", "give the file that NCCL_TOPO_DUMP_FILE names");
  }

  void check_depth() const {
    int depth = 0;
    for (pugi::xml_node node = document_.first_child(); node;) {
      if (depth > deepest_element)
        fault(node, fmt::format("is nested more than {} deep", deepest_element), "real topologies have some 10 levels");
      if (node.first_child()) {
        node = node.first_child();
        ++depth;
        continue;
      }
      while (node && !node.next_sibling()) {
        node = node.parent();
        --depth;
      }
      if (!node || depth < 0) return;
      node = node.next_sibling();
    }
  }

  /// A whole number in an attribute; `otherwise` if it is missing or empty.
  [[nodiscard]] int whole(const pugi::xml_node& node, const char* attribute, int min, int max, int otherwise) const {
    const std::string_view text = node.attribute(attribute).value();
    if (text.empty()) return otherwise;
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || value < min || value > max)
      fault(node, fmt::format("{}=\"{}\" is no whole number from {} to {}", attribute, shortened(text), min, max),
            "the file was edited or damaged");
    return value;
  }
  /// The hexadecimal digits of 0x020700 in lower case; empty if there are none.
  [[nodiscard]] static std::string hex(std::string_view text) {
    if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
    std::string out;
    for (const char c : text) {
      const char low = c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c;
      if (!(is_digit(low) || (low >= 'a' && low <= 'f'))) return {};
      out += low;
    }
    return out;
  }

  void read_cpu(const pugi::xml_node& cpu) {
    const int numa = whole(cpu, "numaid", -1, 4096, -1);
    const std::string host = cpu.attribute("host_hash").value();
    for (const auto& [other_host, other] : cpus_)
      if (other_host == host && other == numa && numa >= 0) fault(cpu, fmt::format("numaid=\"{}\" is there twice", numa), "keep one");
    if (!cpus_.empty() && cpus_.front().first != host)
      fault(cpu, "belongs to another host than the first: the file joins several nodes", "give one node's topology");
    cpus_.emplace_back(host, numa);
    const std::string_view vendor = cpu.attribute("vendor").value(), arch = cpu.attribute("arch").value();
    if (vendor == "GenuineIntel") t_.cpu = Cpu::intel;
    if (vendor == "AuthenticAMD") t_.cpu = Cpu::amd;
    if (arch == "arm64" || arch == "aarch64") t_.cpu = Cpu::arm;
    if (arch.starts_with("ppc64")) t_.cpu = Cpu::power;
    Function at;
    at.cpu = cpus_.size() - 1;
    read_children(cpu, at, {});
  }

  void read_children(const pugi::xml_node& parent, const Function& above, const PcieLink& way_above) {
    for (const pugi::xml_node& child : parent.children()) {
      if (child.type() != pugi::node_element) continue;
      const std::string_view name = child.name();
      if (name == "pci")
        read_pci(child, above, way_above);
      else if (name == "nic")
        read_nic(child, above, {});
      else if (name != "nvlink" && name != "c2c")
        warn(child, fmt::format("<{}> below <{}> is not known; left out", shortened(name), shortened(parent.name())));
    }
  }

  void read_pci(const pugi::xml_node& pci, Function at, const PcieLink& way_above) {
    const std::string_view bus = pci.attribute("busid").value();
    if (bus.empty() || bus.size() > 32) fault(pci, "has no busid", "every PCI function has its address, as 0000:0f:00.0");
    if (!buses_.insert(std::string{bus}).second) fault(pci, fmt::format("busid=\"{}\" is there twice", shortened(bus)), "keep one");
    const std::string kind = hex(pci.attribute("class").value());
    const PcieLink own{lane_rate_of(pci), whole(pci, "link_width", 0, 64, 0)};
    const PcieLink way = slower(way_above, own);
    at.node = pci;
    const bool holds_nic = pci.child("nic"), holds_gpu = pci.child("gpu"), holds_pci = pci.child("pci");
    if (holds_gpu || kind.starts_with("03") || kind.starts_with("12")) {
      if (holds_pci) fault(pci, "is a GPU, yet other PCI functions hang below it", "the file was edited or damaged");
      add_gpu(pci, at, way);
    } else if (holds_nic || kind.starts_with("02")) {
      if (holds_pci) fault(pci, "is a NIC, yet other PCI functions hang below it", "the file was edited or damaged");
      if (holds_nic)
        for (const pugi::xml_node& nic : pci.children("nic")) read_nic(nic, at, own);
      else
        add_port(pci, at, pci, {}, own);
    } else if (holds_pci || kind.starts_with("0604")) {
      const std::string chip = chip_of(pci);
      const bool same_chip = !chip.empty() && !at.switches.empty() && at.switches.back().starts_with(chip + "@");
      if (!same_chip) at.switches.push_back(fmt::format("{}@{}", chip, bus));
      read_children(pci, at, way);
    } else if (kind.empty()) {
      unclassified_.push_back(at);
    }
  }
  /// The slower of two links in a row. Rates below every GPU's slot are those of idle links and of host bridges (5 GT/s), and do not count
  /// beside another.
  [[nodiscard]] PcieLink slower(const PcieLink& a, const PcieLink& b) const {
    const bool a_counts = known_->slot_generation(a.lane_rate) > 0, b_counts = known_->slot_generation(b.lane_rate) > 0;
    if (a_counts != b_counts) return a_counts ? a : b;
    return (a.rate() < b.rate()) == a_counts ? a : b;
  }
  [[nodiscard]] static std::string chip_of(const pugi::xml_node& pci) {
    const std::string vendor = hex(pci.attribute("vendor").value()), device = hex(pci.attribute("device").value());
    return vendor.empty() || vendor == "ffff" || vendor == "0000" ? "" : vendor + ":" + device;
  }
  /// The rate of a lane in bits per second, from "32.0 GT/s PCIe".
  [[nodiscard]] double lane_rate_of(const pugi::xml_node& pci) const {
    const std::string_view text = pci.attribute("link_speed").value();
    if (text.empty() || text.starts_with("Unknown")) return 0;
    const auto rate = parse_number(text.substr(0, text.find(' ')));
    if (!rate || *rate <= 0 || *rate > 1000 || text.find("GT/s") == std::string_view::npos)
      fault(pci, fmt::format("link_speed=\"{}\" is no rate", shortened(text)), "write it as \"32.0 GT/s PCIe\"");
    return *rate * 1e9;
  }

  void add_gpu(const pugi::xml_node& pci, const Function& at, const PcieLink& way) {
    const pugi::xml_node gpu = pci.child("gpu");
    TopologyDevice d;
    d.name = fmt::format("GPU{}", t_.gpus.size());
    d.bus = pci.attribute("busid").value();
    d.pci_class = hex(pci.attribute("class").value());
    if (const std::string chip = chip_of(pci); !chip.empty()) d.pci_id = chip;
    if (gpu) {
      const int dev = whole(gpu, "dev", 0, 4096, -1);
      if (dev >= 0 && !devs_.insert(dev).second) fault(gpu, fmt::format("dev=\"{}\" is there twice", dev), "keep one");
      d.device = fmt::format("dev {}", dev);
      std::string gcn = gpu.attribute("gcn").value();
      if (gcn.starts_with("gfx")) gcn = gcn == "gfx90a" ? "910" : gcn.substr(3);
      int version = 0;
      std::from_chars(gcn.data(), gcn.data() + gcn.size(), version);
      const int sm = whole(gpu, "sm", 0, 1000, 0);
      d.compute = gcn.empty() ? sm : version;
      const std::string vendor = gcn.empty() ? "nvidia" : "amd";
      if (t_.vendor.empty()) t_.vendor = vendor;
      if (t_.vendor != vendor) fault(gpu, "is of another maker than the GPUs before it", "the file was edited or damaged");
      if (gpu.attribute("gdr")) d.gpu_direct = whole(gpu, "gdr", 0, 1, 1) == 1;
    }
    if (t_.vendor.empty() && d.pci_id.starts_with("10de")) t_.vendor = "nvidia";
    if (t_.vendor.empty() && d.pci_id.starts_with("1002")) t_.vendor = "amd";
    d.line = static_cast<int>(place(pci.offset_debug()).first) + 1;
    d.numa = {std::max(0, cpus_[at.cpu].second)};
    d.slot = way;
    t_.gpus.push_back(std::move(d));
    gpu_at_.push_back(at);
    if (t_.gpus.size() > max_devices) fault(pci, fmt::format("is GPU number {}", t_.gpus.size()), "give one node's topology");
  }

  void read_nic(const pugi::xml_node& nic, const Function& at, const PcieLink& slot) {
    int ports = 0;
    for (const pugi::xml_node& net : nic.children("net")) {
      add_port(net, at, at.node, net.attribute("name").value(), slot);
      TopologyDevice& d = t_.nics.back();
      d.line_rate = whole(net, "speed", 0, 2'000'000'000, 0) * 1e6;
      if (net.attribute("gdr")) d.gpu_direct = whole(net, "gdr", 0, 1, 0) == 1;
      ++ports;
    }
    if (ports == 0) add_port(nic, at, at.node, {}, slot);
  }
  void add_port(const pugi::xml_node& here, const Function& at, const pugi::xml_node& pci, const std::string& name,
                const PcieLink& slot) {
    TopologyDevice d;
    d.name = fmt::format("NIC{}", t_.nics.size());
    d.device = shortened(name);
    d.bus = pci.attribute("busid").value();
    d.pci_class = hex(pci.attribute("class").value());
    d.pci_id = chip_of(pci);
    d.slot = slot;
    d.line = static_cast<int>(place(here.offset_debug()).first) + 1;
    d.numa = {std::max(0, cpus_[at.cpu].second)};
    t_.nics.push_back(std::move(d));
    nic_at_.push_back(at);
    if (t_.nics.size() > max_devices) fault(here, fmt::format("is NIC port number {}", t_.nics.size()), "give one node's topology");
  }

  /// Identifies GPUs among PCI functions without a class, by the cloud instance named in a comment.
  void sort_unclassified() {
    if (unclassified_.empty() || !t_.gpus.empty()) return;
    const CloudInstance* known = known_->instance(t_.instance);
    if (known == nullptr || static_cast<int>(unclassified_.size()) != known->gpus + known->nics)
      fault(unclassified_.front().node,
            fmt::format("and {} others are PCI functions without a class and without <gpu> or <nic>: which are GPUs is not known",
                        unclassified_.size() - 1),
            "dump the topology of a running job with NCCL_TOPO_DUMP_FILE");
    for (std::size_t i = 0; i < unclassified_.size(); ++i) {
      const Function& at = unclassified_[i];
      if (static_cast<int>(i) < known->gpus)
        add_gpu(at.node, at, {});
      else
        add_port(at.node, at, at.node, {}, {});
    }
    t_.vendor = "nvidia";
    warn(unclassified_.front().node,
         fmt::format("the PCI functions have no class; {} has {} GPUs and {} NIC{} ({}), so the first {} are taken for GPUs", known->name,
                     known->gpus, known->nics, known->nics == 1 ? "" : "s", known->source, known->gpus));
  }

  void read_links() {
    const int max = known_->max_nvlinks_announced();
    std::map<std::string, std::size_t> by_bus;
    for (std::size_t i = 0; i < t_.gpus.size(); ++i) by_bus[t_.gpus[i].bus] = i;
    std::map<std::pair<std::size_t, std::size_t>, pugi::xml_node> said;
    for (std::size_t i = 0; i < t_.gpus.size(); ++i) {
      std::vector<pugi::xml_node> all;
      for (const pugi::xml_node& parent : {gpu_at_[i].node, gpu_at_[i].node.child("gpu")})
        for (const pugi::xml_node& child : parent.children())
          if (std::string_view{child.name()} == "nvlink" || std::string_view{child.name()} == "xgmi") all.push_back(child);
      for (const pugi::xml_node& link : all) {
        t_.links_stated = true;
        const int count = whole(link, "count", 1, max, 1);
        const std::string kind = hex(link.attribute("tclass").value());
        const std::string target = link.attribute("target").value();
        t_.links_of[i] += count;
        if (t_.links_of[i] > max)
          fault(link, fmt::format("makes {} links of one GPU", t_.links_of[i]), fmt::format("no GPU has more than {}", max));
        const auto peer = by_bus.find(target);
        if (kind == "068000") t_.switched = true;
        if (peer == by_bus.end()) {
          if (!kind.starts_with("0680")) warn(link, fmt::format("target=\"{}\" is no GPU of this file", shortened(target)));
        } else if (peer->second == i) {
          warn(link, fmt::format("GPU{} names itself as the target of its {} links: counted, but to whom they go is not said", i, count));
        } else {
          t_.links[i][peer->second] += count;
          said[{i, peer->second}] = link;
        }
      }
    }
    for (const auto& [pair, link] : said) {
      const auto [i, j] = pair;
      if (t_.links[i][j] != t_.links[j][i])
        fault(link, fmt::format("joins GPU{} to GPU{} by {}, and GPU{} names {} back", i, j, t_.links[i][j], j, t_.links[j][i]),
              "links are the same both ways; the file was edited or damaged");
    }
    if (!t_.links_stated) return;
    const int usual = t_.links_per_gpu();
    for (std::size_t i = 0; i < t_.gpus.size(); ++i)
      if (t_.links_of[i] != usual)
        warn(gpu_at_[i].node, fmt::format("GPU{} has {} direct links where most have {}", i, t_.links_of[i], usual));
    if (t_.switched)  // every pair has the smaller count of its two ends
      for (std::size_t i = 0; i < t_.gpus.size(); ++i)
        for (std::size_t j = 0; j < t_.gpus.size(); ++j)
          if (i != j) t_.links[i][j] = std::min(t_.links_of[i], t_.links_of[j]);
  }

  void set_paths() {
    const auto at = [&](std::size_t i) -> const Function& { return i < gpu_at_.size() ? gpu_at_[i] : nic_at_[i - gpu_at_.size()]; };
    for (std::size_t i = 0; i < t_.paths.size(); ++i)
      for (std::size_t j = 0; j < t_.paths.size(); ++j)
        if (i != j) t_.paths[i][j] = meeting(at(i), at(j));
  }
  [[nodiscard]] static NicPath meeting(const Function& a, const Function& b) {
    if (a.cpu != b.cpu) return NicPath::sys;
    if (a.node && a.node == b.node) return NicPath::pix;  // ports of one card
    std::size_t common = 0;
    while (common < a.switches.size() && common < b.switches.size() && a.switches[common] == b.switches[common]) ++common;
    if (common == 0) return NicPath::phb;
    return a.switches.size() == common && b.switches.size() == common ? NicPath::pix : NicPath::pxb;
  }

  void count_sockets() {
    t_.sockets = static_cast<int>(cpus_.size());
    t_.numa_nodes = t_.sockets;
    if (t_.sockets > 2)
      t_.doubts.push_back(fmt::format("{} sockets: the file's cpu elements; NCCL writes one for each NUMA node", t_.sockets));
  }

  const TopologyFile& file_;
  std::shared_ptr<const GpuIdentities> known_ = GpuIdentities::shipped();
  std::string text_;
  std::vector<std::size_t> starts_;  ///< offset of each line
  pugi::xml_document document_;
  DescribedTopology t_;
  std::vector<std::pair<std::string, int>> cpus_;  ///< host and NUMA number
  std::set<std::string> buses_;
  std::set<int> devs_;
  std::vector<Function> gpu_at_, nic_at_, unclassified_;
};

}  // namespace

DescribedTopology read_nccl_xml(const TopologyFile& file) { return NcclXml(file).read(); }

}  // namespace fabricost::observe
