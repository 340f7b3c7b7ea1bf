// NCCL's topology XML: its content, the parts it may leave out, and refused files.
#include "unit/topology/topologies.hpp"

#include <fabricost/predict/predict.hpp>
#include <fabricost/specs/load.hpp>

#include <catch.hpp>

#include <algorithm>

using namespace fabricost::core::units;
using namespace fabricost::observe;
using namespace fabricost::test;

namespace {

/// Two GPUs with two links, a NIC on the first one's switch.
std::string two(const std::string& back = "2") {
  return R"(<system version="1">
  <cpu numaid="0" arch="x86_64" vendor="AuthenticAMD">
    <pci busid="0000:01:00.0" class="0x060400" link_speed="16.0 GT/s PCIe" link_width="16">
      <pci busid="0000:02:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16">
        <gpu dev="0" sm="80" rank="0" gdr="1"><nvlink target="0000:04:00.0" count="2" tclass="0x030200"/></gpu>
      </pci>
      <pci busid="0000:03:00.0" class="0x020000" vendor="0x15b3" device="0x101d">
        <nic><net name="mlx5_0" dev="0" speed="200000" port="1" gdr="1"/></nic>
      </pci>
    </pci>
    <pci busid="0000:04:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16">
      <gpu dev="1" sm="80" rank="1" gdr="1"><nvlink target="0000:02:00.0" count=")" +
         back + R"(" tclass="0x030200"/></gpu>
    </pci>
  </cpu>
</system>
)";
}

}  // namespace

TEST_CASE("links, places and rates are read from the XML", "[topology]") {
  const DescribedTopology t = topology_in(two());
  CHECK(t.gpus.size() == 2);
  CHECK(t.links[0][1] == 2);
  CHECK(t.links_per_gpu() == 2);
  CHECK(t.nic_path(0, 0) == NicPath::pix);
  CHECK(t.nic_path(1, 0) == NicPath::phb);
  CHECK(t.nics[0].line_rate == 200e9);
  CHECK(t.cpu == Cpu::amd);
  CHECK(t.gpus[0].slot.lane_rate == 16e9);
  const GuessedSystem guessed = system_from(t);
  CHECK(contains(guessed.yaml, "transport: roce"));  // an RDMA NIC of an Ethernet class
  CHECK(contains(guessed.yaml, "link: ethernet-200"));
  CHECK(contains(guessed.yaml, "gdr: true"));
}

TEST_CASE("faults of the XML name the line and the value", "[topology]") {
  CHECK(contains(topology_fault(two("3")).message, "GPU0"));
  const Issue count = topology_fault(two("two"));
  CHECK(count.line == 12);
  CHECK(contains(count.message, "count=\"two\""));
  CHECK(contains(topology_fault(replaced(two(), "16.0 GT/s PCIe", "fast")).message, "link_speed=\"fast\""));
  CHECK(contains(topology_fault(replaced(two(), "dev=\"1\"", "dev=\"0\"")).message, "there twice"));
  CHECK(contains(topology_fault(replaced(two(), "0000:04:00.0\" class", "0000:02:00.0\" class")).message, "there twice"));
  CHECK(contains(topology_fault(replaced(two(), "</pci>", "")).message, "breaks off"));
  CHECK(contains(topology_fault("<system version=\"1\"></system>").message, "no <cpu>"));
  CHECK(contains(topology_fault("<system><cpu numaid=\"0\"/></system>").message, "no GPU"));
  CHECK(contains(topology_fault("<topology/>").message, "begins with <system>"));
  CHECK(contains(topology_fault("<graphs version=\"1\"/>").message, "graph file"));
}

TEST_CASE("bombs are one clear error", "[topology]") {
  std::string deep = "<system><cpu numaid=\"0\">";
  for (int i = 0; i < 20000; ++i) deep += "<pci busid=\"" + std::to_string(i) + "\" class=\"0x060400\">\n";
  for (int i = 0; i < 20000; ++i) deep += "</pci>";
  CHECK(contains(topology_fault(deep + "</cpu></system>").message, "nested more than 64 deep"));
  // entities are not expanded at all
  const std::string laughs =
      "<!DOCTYPE s [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;\">]>\n" + replaced(two(), "mlx5_0", "&b;&b;");
  CHECK(topology_in(laughs).nics[0].device == "&b;&b;");
  std::string wide = "<system><cpu numaid=\"0\">";
  for (int i = 0; i < 5000; ++i) wide += "<pci busid=\"" + std::to_string(i) + "\" class=\"0x030200\"/>\n";
  CHECK(contains(topology_fault(wide + "</cpu></system>").message, "number 257"));
}

TEST_CASE("addresses alone are read only when the instance is known", "[topology]") {
  std::string text = "<system version=\"1\"><cpu numaid=\"0\">";
  for (int i = 0; i < 9; ++i) text += "<pci busid=\"0000:00:1" + std::to_string(i) + ".0\"/>\n";
  text += "</cpu></system>\n";
  CHECK(contains(topology_fault(text).message, "which are GPUs is not known"));
  const DescribedTopology t = topology_in("<!-- for `g5.48xlarge` -->\n" + text);
  CHECK(t.gpus.size() == 8);
  CHECK(t.nics.size() == 1);
  CHECK(!t.warnings.empty());
}

namespace {

/// A DGX H100: each GPU and its NIC on a switch of their own.
struct Hopper {
  std::string gpu_speed = "32.0", nic_speed = "32.0", line_rate = "400000", direct = "1", lanes = "16";
  int nics = 8;

  /// \param odd the values of one GPU and its NIC; -1: of all
  [[nodiscard]] std::string xml(const Hopper& usual, int odd) const {
    std::string out = "<system version=\"1\">\n";
    for (int g = 0; g < 8; ++g) {
      const Hopper& h = odd < 0 || odd == g ? *this : usual;
      const auto pci = [&](char digit, const char* kind, const char* ids, const std::string& speed) {
        return fmt::format("<pci busid=\"0000:{}{}:00.0\" class=\"{}\" {} link_speed=\"{} GT/s PCIe\" link_width=\"{}\">", g, digit, kind, ids,
                           speed, h.lanes);
      };
      if (g % 4 == 0) out += fmt::format("<cpu numaid=\"{}\" arch=\"x86_64\" vendor=\"GenuineIntel\">\n", g / 4);
      out += pci('0', "0x060400", "", "32.0") + pci('1', "0x030200", "vendor=\"0x10de\" device=\"0x2330\"", h.gpu_speed);
      out += fmt::format("<gpu dev=\"{}\" sm=\"90\" gdr=\"{}\"><nvlink target=\"0000:f0:00.0\" count=\"18\" tclass=\"0x068000\"/></gpu></pci>\n", g,
                         h.direct);
      if (g < nics)
        out += pci('2', "0x020700", "", h.nic_speed) +
               fmt::format("<nic><net name=\"mlx5_{}\" speed=\"{}\" gdr=\"{}\"/></nic></pci>\n", g, h.line_rate, h.direct);
      out += "</pci>\n";
      if (g % 4 == 3) out += "</cpu>\n";
    }
    return out + "</system>\n";
  }
};

double seconds_on(const System& system, Collective op) {
  return predict(system, Operation{.collective = op, .bytes = GiB(8), .nodes = 8}).seconds;
}

}  // namespace

TEST_CASE("a slow slot, NIC or GPU, and GPUDirect off, are named and as slow as the same change of the stock machine", "[topology]") {
  const System stock = load_system("dgx-h100");
  const Folder made;
  const auto check = [&](const Hopper& odd, const char* change, const std::string& one, const std::string& all) {
    const double want = seconds_on(change == std::string{} ? stock : load_system("dgx-h100", std::vector<std::string>{change}), Collective::all_reduce);
    for (const int which : {3, -1}) {
      CAPTURE(change, which);
      const DescribedTopology t = topology_in(odd.xml({}, which), "topo.xml");
      const GuessedSystem guessed = system_from(t, "made");
      CHECK(seconds_on(load_system(made.write("made.yaml", guessed.yaml)), Collective::all_reduce) == Approx(want).epsilon(0.01));
      const std::vector<std::string> lines = differences(t, guessed, stock);
      const std::string& text = which < 0 ? all : one;
      CHECK(lines.empty() == text.empty());
      if (!text.empty()) CHECK(std::find(lines.begin(), lines.end(), text) != lines.end());
    }
  };
  check({}, "", "", "");
  check({.nic_speed = "8.0"}, "nic.slot=pcie-3", "mlx5_3: a slot of 8 GT/s x16; dgx-h100 has 32 GT/s x16",
        "all 8 NICs: a slot of 8 GT/s x16; dgx-h100 has 32 GT/s x16");
  check({.gpu_speed = "8.0"}, "pcie.link=pcie-3", "GPU3: PCIe of 8 GT/s x16; dgx-h100 has 32 GT/s x16",
        "all 8 GPUs: PCIe of 8 GT/s x16; dgx-h100 has 32 GT/s x16");
  check({.lanes = "4"}, "pcie.link=pcie-3", "GPU3: PCIe of 32 GT/s x4; dgx-h100 has 32 GT/s x16",
        "all 8 NICs: a slot of 32 GT/s x4; dgx-h100 has 32 GT/s x16");
  check({.line_rate = "100000"}, "nic.link=infiniband-edr", "mlx5_3: 100 Gbit/s; dgx-h100 has 400", "all 8 NICs: 100 Gbit/s; dgx-h100 has 400");
  check({.direct = "0"}, "nic.gdr=false", "mlx5_3: GPUDirect RDMA off; dgx-h100 has it on",
        "all 8 GPUs: GPUDirect RDMA off; dgx-h100 has it on");
}

TEST_CASE("the speed of a host bridge or of an idle GPU is not that of a slot", "[topology]") {
  const System stock = load_system("dgx-h100");
  for (const auto& [from, to] : {std::pair{"class=\"0x060400\"  link_speed=\"32.0", "class=\"0x060400\"  link_speed=\"5.0"},
                                 {"device=\"0x2330\" link_speed=\"32.0", "device=\"0x2330\" link_speed=\"2.5"}}) {
    const DescribedTopology t = topology_in(replaced(Hopper{}.xml({}, -1), from, to), "topo.xml");
    CHECK(differences(t, system_from(t), stock).empty());
  }
}

TEST_CASE("a missing rail is as slow as a lost one", "[topology]") {
  const Folder made;
  const DescribedTopology t = topology_in(Hopper{.nics = 7}.xml({}, -1), "topo.xml");
  const System read = load_system(made.write("made.yaml", system_from(t, "made").yaml));
  const System lost = load_system("dgx-h100", std::vector<std::string>{"nic.lost=1"});
  CHECK(read.tier(TierRole::nic)->lost == 1);
  for (const Collective op : {Collective::all_reduce, Collective::all_to_all})
    CHECK(seconds_on(read, op) == Approx(seconds_on(lost, op)).epsilon(0.01));
}
