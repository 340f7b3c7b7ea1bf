// NCCL's topology XML: its content, the parts it may leave out, and refused files.
#include "unit/topology/topologies.hpp"

#include <fabricost/specs/load.hpp>

#include <catch.hpp>

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
  CHECK(t.pcie_lane_rate == 16e9);
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
