// Everything that is shipped loads, says where its numbers come from, and agrees with itself.
#include "files.hpp"

#include "catch.hpp"

#include <fabricost/specs/data_directory.hpp>
#include <fabricost/specs/load.hpp>

#include <regex>

using namespace fabricost::observe;
using namespace specs;

namespace {

template <class Quantity>
void check_origin(const Sourced<Quantity>& number, std::string_view what) {
  if (number.value.value() == 0) return;  // not given
  INFO(what);
  CHECK_FALSE(number.provenance.source.empty());
  CHECK_FALSE(number.provenance.source.starts_with(data_directory().string()));  // the fallback of a file that names none
}

std::string text_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

TEST_CASE("every shipped gpu loads and says where its numbers come from", "[specs]") {
  for (const std::string& name : names_in("gpus")) {
    INFO(name);
    const Gpu gpu = load_gpu(name);
    CHECK(gpu.name == name);
    CHECK_FALSE(gpu.title.empty());
    CHECK(gpu.memory.value > units::MiB(400));  // a chip of SRAM alone
    CHECK(gpu.hbm_bandwidth.value > units::GB_per_s(100));
    check_origin(gpu.memory, "memory");
    check_origin(gpu.hbm_bandwidth, "hbm.bandwidth");
    check_origin(gpu.hbm_latency, "hbm.latency");
    check_origin(gpu.l2_bandwidth, "l2.bandwidth");
    check_origin(gpu.fp16, "compute.fp16");
    check_origin(gpu.power, "power");
    check_origin(gpu.price, "price");
    CHECK((gpu.bf16.value.value() > 0) == (gpu.fp16.value.value() > 0));
    if (!gpu.scale_up_link.empty()) CHECK_NOTHROW(load_link(gpu.scale_up_link));
    if (!gpu.host_link.empty()) CHECK_NOTHROW(load_link(gpu.host_link));
    if (!gpu.c2c_link.empty()) CHECK_NOTHROW(load_link(gpu.c2c_link));
  }
}

TEST_CASE("memory of every shipped gpu is what its driver shows, in MiB or GiB, with a source of its own", "[specs]") {
  const std::regex convention{R"re((^|\n)memory: \{value: [0-9.]+ [MG]iB, source: ".+", confidence: [a-z-]+\}\n)re"};
  for (const std::string& name : names_in("gpus")) {
    INFO(name);
    CHECK(std::regex_search(text_of(data_directory() / "gpus" / (name + ".yaml")), convention));
  }
  // nvidia-smi memory.total, rocm-smi VRAM Total Memory; MiB
  const std::vector<std::pair<std::string, double>> shown{
      {"h100-sxm", 81559},  {"a100-sxm-80", 81920}, {"a100-sxm-40", 40960}, {"h200-sxm", 143771}, {"b200-sxm", 183359},
      {"gb200", 189471},    {"b300-sxm", 275040},   {"gb300", 284208},      {"l40s", 46068},      {"mi300x", 196592},
      {"mi355x", 294896}};
  for (const auto& [name, mebibytes] : shown) {
    INFO(name);
    CHECK(load_gpu(name).memory.value == units::MiB(mebibytes));
  }
}

TEST_CASE("every shipped link carries lanes x rate x encoding / 8", "[specs]") {
  for (const std::string& name : names_in("links")) {
    INFO(name);
    const Link link = load_link(name);
    CHECK(link.name == name);
    CHECK(link.bandwidth.value.value() == Approx(link.lanes * link.lane_rate.value.value() * link.encoding / 8).epsilon(1e-3));
    CHECK(link.usable.value <= link.bandwidth.value);
    CHECK(link.efficiency() > 0.8);
    CHECK(link.efficiency() <= 1);
    CHECK(link.latency.value.value() > 0);
    check_origin(link.lane_rate, "lane_rate");
    check_origin(link.bandwidth, "bandwidth");
    check_origin(link.usable, "usable");
    check_origin(link.latency, "latency");
  }
}

TEST_CASE("every shipped switch has ports of a link that exists", "[specs]") {
  for (const std::string& name : names_in("switches")) {
    INFO(name);
    const SwitchSpec chip = load_switch(name);
    CHECK(chip.name == name);
    CHECK(chip.ports >= 2);
    CHECK_NOTHROW(load_link(chip.link));
    check_origin(chip.latency, "latency");
  }
}

TEST_CASE("every shipped system and cluster loads with and without its calibration", "[specs]") {
  for (const SystemName& entry : system_names()) {
    INFO(entry.name);
    const System system = load_system(entry.name);
    CHECK(system.name == entry.name);
    CHECK_FALSE(system.title.empty());
    CHECK_FALSE(system.provenance.source.empty());
    CHECK(system.domain % system.gpus_per_node == 0);
    check_origin(system.power, "power");
    check_origin(system.price, "price");
    for (const Tier& tier : system.tiers) {
      check_origin(tier.bandwidth, tier.name.view());
      check_origin(tier.latency, tier.name.view());
      CHECK(tier.bandwidth.value.value() > 0);
      CHECK(tier.bisection() <= tier.aggregate());
      CHECK(tier.nominal_latency == tier.latency.value);
      CHECK(tier.efficiency > 0);
      CHECK(tier.efficiency <= 1);
      CHECK(tier.oversubscription >= 1);
    }
    const System bare = load_system(entry.name, {}, "none");
    CHECK(bare.constants.basis == Basis::datasheet);
    CHECK(bare.constants.transport_basis == Basis::datasheet);
    CHECK(bare.tiers.size() == system.tiers.size());
  }
}

TEST_CASE("every shipped calibration can be asked for by name", "[specs]") {
  for (const std::string& name : names_in("calibrations")) {
    INFO(name);
    const System system = load_system("dgx-h100", {}, name);
    const Constants& c = system.constants;
    CHECK((c.name == name || c.transport_name == name || c.compute_name == name || c.custom_name == name || c.moe_name == name));
    CHECK((c.basis != Basis::datasheet || c.transport_basis != Basis::datasheet));
    CHECK(c.smallest < c.largest);
    const std::string path = (data_directory() / "calibrations" / (name + ".yaml")).string();
    std::string called;
    const Outcome by_path = outcome_of([&] { called = load_system("dgx-h100", {}, path).constants.name; });
    CHECK((called == c.name || by_path.says("nothing of it can be of dgx-h100")));  // a file of other machines
  }
}

TEST_CASE("every machine a calibration applies to exists and is calibrated by it", "[specs]") {
  int found = 0;
  for (const SystemName& entry : system_names()) {
    const Constants c = load_system(entry.name).constants;
    if (c.basis == Basis::calibrated) ++found;
    CHECK((c.basis == Basis::calibrated) <= (c.name != "prior"));
  }
  CHECK(found >= 3);
  CHECK(load_system("dgx-h100").constants.basis == Basis::calibrated);
  CHECK(load_system("dgx-h200").constants.basis == Basis::calibrated);
  CHECK(load_system("aws-p5en").constants.basis == Basis::sibling);
  CHECK(load_system("l40s-pcie").constants.basis == Basis::sibling);  // the usual server; one run is l40s-aiconfigurator
  CHECK(load_system("l40s-aiconfigurator").constants.basis == Basis::calibrated);
}

TEST_CASE("every shipped file names its source and its confidence", "[specs]") {
  for (const std::string folder : {"gpus", "links", "switches", "systems", "clusters", "calibrations"})
    for (const std::string& name : names_in(folder)) {
      INFO(folder << "/" << name);
      const std::string text = "\n" + text_of(data_directory() / folder / (name + ".yaml"));
      CHECK(text.find("\nname: " + name + "\n") != std::string::npos);
      CHECK(text.find("\nsource: ") != std::string::npos);
      CHECK(text.find("\nconfidence: ") != std::string::npos);
    }
}

TEST_CASE("a name of a system exists once", "[specs]") {
  std::set<std::string> names;
  for (const SystemName& entry : system_names()) CHECK(names.insert(entry.name).second);
}

TEST_CASE("what was loaded before makes no difference", "[specs]") {
  const auto numbers = [](const System& s) {
    std::vector<double> out{s.gpu.memory.value.value(), s.constants.scale_up.launch, s.constants.transport.tree_step};
    for (const Tier& t : s.tiers) out.insert(out.end(), {t.bandwidth.value.value(), t.latency.value.value(), t.efficiency});
    return out;
  };
  const auto first = numbers(load_system("dgx-h100"));
  std::vector<SystemName> order = system_names();
  for (auto entry = order.rbegin(); entry != order.rend(); ++entry) (void)load_system(entry->name);
  (void)load_system("dgx-h100", std::vector<std::string>{"nvlink.latency=5 us", "hbm.bandwidth=1 TB/s"}, "none");
  CHECK(numbers(load_system("dgx-h100")) == first);
}
