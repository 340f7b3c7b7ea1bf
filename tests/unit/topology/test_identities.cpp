// Which GPU has a name, a PCI id or an architecture, and which machine is usual for it: the identities of data/.

#include "specs/parts/gpu_index.hpp"

#include "support/message_of.hpp"
#include "unit/specs/files.hpp"

#include <fabricost/specs/data_directory.hpp>
#include <fabricost/specs/load.hpp>

#include <catch.hpp>

#include <algorithm>
#include <set>

using namespace fabricost::observe;

namespace {

/// The message with which the index over a data directory refuses it; empty: it accepts it.
std::string stated_of(const specs::Folder& data) {
  try {
    (void)GpuIdentities(data.path("."));
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("a driver's name means the GPU with the longest part of it", "[specs]") {
  const GpuIdentities known(data_directory());
  for (const auto& [name, gpu] : {std::pair{"NVIDIA H100 80GB HBM3", "h100-sxm"},
                                  {"NVIDIA H100 PCIe", "h100-pcie"},
                                  {"NVIDIA H100 NVL", "h100-nvl"},
                                  {"NVIDIA GH200 480GB", "gh200"},
                                  {"NVIDIA H20", "h20"},
                                  {"NVIDIA A100-SXM4-40GB", "a100-sxm-40"},
                                  {"NVIDIA A100-SXM4-80GB", "a100-sxm-80"},
                                  {"NVIDIA A10G", "a10g"},
                                  {"NVIDIA GB300", "gb300"},
                                  {"NVIDIA B300 SXM6 AC", "b300-sxm"},
                                  {"Tesla V100-SXM2-32GB", "v100-sxm"},
                                  {"Tesla T4", "t4"},
                                  {"AMD Instinct MI300X", "mi300x"},
                                  {"AMD Instinct MI250X / MI250", "mi250x-gcd"},
                                  {"NVIDIA L40", ""},        // an L40S stands in
                                  {"NVIDIA RTX A6000", ""},  // an A40
                                  {"NVIDIA H200 NVL", "h200-nvl"},
                                  {"NVIDIA RTX 6000D", "rtx-pro-6000d"},
                                  {"Moore Threads S4000", ""}}) {
    INFO(name);
    CHECK(known.gpu_named(name) == gpu);
  }
  REQUIRE(known.named("NVIDIA L40") != nullptr);
  CHECK(known.named("NVIDIA L40")->gpu == "l40s");
  CHECK(known.named("NVIDIA L40")->stands_for == "an L40");
  CHECK(known.named("Moore Threads S4000") == nullptr);
}

TEST_CASE("every PCI id and every name leads to a GPU that loads, and one with an architecture", "[specs]") {
  const GpuIdentities known(data_directory());
  CHECK(known.with_pci_id("10de:2330")->gpu == "h100-sxm");
  CHECK(known.with_pci_id("1002:740f")->stands_for == "an MI210, which is one such die");
  CHECK(known.with_pci_id("10de:0000") == nullptr);
  for (const std::string& name : names_in("gpus")) {
    INFO(name);
    const Gpu gpu = load_gpu(name);
    const bool sold = parse_spec(data_directory() / "gpus" / (name + ".yaml")).find("confidence")->text != "announced";
    INFO("`identity:` says the `arch:` of each GPU of NVIDIA and AMD that is sold, and of no other vendor's");
    const bool has_one = gpu.vendor == "nvidia" || gpu.vendor == "amd";
    CHECK((has_one ? !sold || !gpu.arch.empty() : gpu.arch.empty()));
  }
  CHECK(is_blackwell_ultra(load_gpu("b300-sxm")));
  CHECK(is_blackwell_ultra(load_gpu("gb300")));
  CHECK_FALSE(is_blackwell_ultra(load_gpu("b200-sxm")));
}

TEST_CASE("a GPU of one's own is known by its file alone", "[specs]") {
  const specs::Folder folder;
  const auto gpu = [&](const std::string& name, const std::string& identity) {
    folder.write("gpus/" + name + ".yaml", "name: " + name + "\nvendor: nvidia\nidentity: " + identity + "\n");
  };
  gpu("x1", "{arch: sm_140, names: [X1], pci: [\"10de:4000\"], clues: [{arch: sm_140}], instances: [{name: x.big, gpus: 4, nics: 2}]}");
  {
    const GpuIdentities known(folder.path("."));
    CHECK(known.gpu_named("NVIDIA X1 192GB") == "x1");
    CHECK(known.with_pci_id("10de:4000")->gpu == "x1");
    CHECK(known.instance_in("for x.big machines")->nics == 2);
    CHECK(known.clues().size() == 1);
  }
  gpu("x2", "{names: [X1]}");
  CHECK(support::contains(stated_of(folder), "x1 and x2 both have the name \"X1\""));
  for (const auto& [identity, said] : {std::pair{"{pci: [H100]}", "is no PCI id"},
                                       {"{names: [X]}", "is part of too many names"},
                                       {"{arch: hopper}", "is no architecture"},
                                       {"{clues: [{gpus: 8}]}", "says nothing a machine shows"},
                                       {"{clues: [{links: [5, 3]}]}", "is no range"},
                                       {"{clues: 7}", "is not a list"},
                                       {"{instances: [{gpus: 8}]}", "is missing"},
                                       {"{marketing: X}", "unknown key"}}) {
    INFO(identity);
    gpu("x2", identity);
    CHECK(support::contains(stated_of(folder), said));
  }
}
