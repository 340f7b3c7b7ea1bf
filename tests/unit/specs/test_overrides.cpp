// One value replaced by hand: the values it changes and leaves, and its effect on the trust in the answer.
#include "files.hpp"

#include "catch.hpp"

#include <fabricost/predict/predict.hpp>

#include <fmt/format.h>

using namespace fabricost::observe;
using namespace specs;
using units::GB_per_s;

namespace {

System with(std::vector<std::string> overrides, std::string_view name = "dgx-h100") { return load_system(name, overrides); }
double rate(const System& s, std::string_view tier) { return in(s.tier(tier)->bandwidth.value, GB_per_s).value(); }
double seconds(const System& s, double bytes, int ranks, int nodes = 0, Collective op = Collective::all_reduce) {
  return predict(s, {.collective = op, .bytes = Bytes::from_value(bytes), .ranks = ranks, .nodes = nodes}).seconds;
}

}  // namespace

TEST_CASE("a value is reached by tier name, by index and without `tiers`", "[specs]") {
  for (const char* path : {"tiers.nvlink.bandwidth", "tiers[0].bandwidth", "nvlink.bandwidth", " nvlink.bandwidth "}) {
    INFO(path);
    const System s = with({std::string{path} + "=900 GB/s per direction"});
    CHECK(rate(s, "nvlink") == Approx(900));
    CHECK(s.tier("nvlink")->link_bandwidth.value() == Approx(50e9));  // its 18 links alike
    CHECK(s.tier("nvlink")->bandwidth.provenance.source.find("overrides: ") == 0);
    CHECK(s.tier("nvlink")->bandwidth.provenance.confidence == Confidence::assumed);
    CHECK(rate(s, "nic") == Approx(50));
  }
  CHECK(rate(with({"nvlink.bandwidth=900 GB/s both directions"}), "nvlink") == Approx(450));
  CHECK(rate(with({"nvlink.bandwidth=3600 Gbps per direction"}), "nvlink") == Approx(450));
  CHECK(rate(with({"nvlink.bandwidth=3600 Gbit/s per direction"}), "nvlink") == Approx(450));
  CHECK(rate(with({"nvlink.bandwidth={value: 400 GB/s per direction, source: me, confidence: measured}"}), "nvlink") == Approx(400));
  CHECK(rate(with({"nvlink.bandwidth=1 GB/s per direction", "nvlink.bandwidth=2 GB/s per direction"}), "nvlink") == Approx(2));
}

TEST_CASE("a value that is replaced by itself moves no time, and a faster tier slows nothing that runs the fastest", "[specs]") {
  for (const SystemName& entry : system_names()) {
    const std::string& name = entry.name;
    const System own = load_system(name);
    for (const Tier& tier : own.tiers) {
      if (tier.role == TierRole::memory || tier.role == TierRole::network) continue;
      const std::string path = std::string{tier.name.view()};
      const auto with_rate = [&](double factor) {
        return fmt::format("{}.bandwidth={:.17g} GB/s per direction", path, factor * in(tier.bandwidth.value, GB_per_s).value());
      };
      const auto check = [&](const std::string& change, bool same) {
        const System again = load_system(name, std::vector{change});
        CAPTURE(name, change);
        if (same) CHECK((again.constants.basis == own.constants.basis && again.constants.transport_basis == own.constants.transport_basis));
        for (const Collective op : {Collective::all_reduce, Collective::all_to_all, Collective::reduce_scatter})
          for (const int nodes : {1, 2})
            for (const double bytes : {4096., 1e6, 1e9})
              for (const Choice::Rule rule : {Choice::Rule::nccl, Choice::Rule::fastest}) {
                const Operation asked{.collective = op, .bytes = Bytes::from_value(bytes), .ranks = nodes * own.gpus_per_node, .nodes = nodes};
                if (!same && rule != Choice::Rule::fastest) continue;
                if (nodes > 1 && (nodes > own.nodes && own.tier(TierRole::nic) == nullptr)) continue;
                CAPTURE(fabricost::core::name(op), nodes, bytes, rule_names[static_cast<std::size_t>(rule)]);
                const double now = predict(again, asked, {.rule = rule}).seconds, before = predict(own, asked, {.rule = rule}).seconds;
                CHECK((now <= before * (1 + (same ? 1e-9 : 1e-4)) && (!same || now >= before * (1 - 1e-9))));
              }
      };
      check(fmt::format("{}.latency={:.17g} us", path, in(tier.latency.value, units::us).value()), true);
      check(with_rate(1), true);
      if (tier.role != TierRole::host && tier.role != TierRole::c2c) check(with_rate(1.5), false);
    }
  }
}

TEST_CASE("what a board carries counts where it is stated by hand", "[specs]") {
  const System own = load_system("rtx-pro-6000-pcie");
  CHECK(seconds(with({"pcie.sockets_rate=11.25 GB/s per direction"}, "rtx-pro-6000-pcie"), 1e9, 8, 1, Collective::all_gather) >
        1.9 * seconds(own, 1e9, 8, 1, Collective::all_gather));
}

TEST_CASE("flags, links and keys at the top can be overridden", "[specs]") {
  CHECK(load_system("dgx-h100").tier("nic")->gpu_direct);
  CHECK_FALSE(with({"nic.gdr=false"}).tier("nic")->gpu_direct);
  CHECK(rate(with({"nvlink.links=9"}), "nvlink") == Approx(225));
  CHECK(rate(with({"nvlink.link=nvlink-5"}), "nvlink") == Approx(900));
  CHECK(with({"nodes=32"}).nodes == 32);
  CHECK(with({"gpu=h200-sxm"}).gpu.name == "h200-sxm");
  CHECK(with({"power=11 kW"}).power.value.value() == Approx(11000));
  CHECK(with({"power.value=11 kW"}).power.value.value() == Approx(11000));
  CHECK(with({"title='a: b'"}).title == "a: b");
}

TEST_CASE("an oversubscription is a number or downlinks to uplinks", "[specs]") {
  for (const char* value : {"2", "2:1", "\"2:1\"", "4:2"}) {
    INFO(value);
    const System s = with({std::string{"leaf.oversubscription="} + value}, "superpod-h100");
    CHECK(s.tier("leaf")->oversubscription == 2);
  }
}

TEST_CASE("memories are overridden on their GPU", "[specs]") {
  for (const char* path : {"hbm.bandwidth", "gpu.hbm.bandwidth", "tiers.hbm.bandwidth"}) {
    const System s = with({std::string{path} + "=4000 GB/s"});
    CHECK(rate(s, "hbm") == Approx(4000));
    CHECK(s.gpu.hbm_bandwidth.value == GB_per_s(4000));
  }
  CHECK(rate(with({"l2.bandwidth=7 TB/s"}), "l2") == Approx(7000));
  CHECK(with({"gpu.memory=141 GB"}).memory() == units::GB(141));
  CHECK(with({"gpu.compute.fp16=1 PFLOP/s"}).gpu.fp16.value.value() == Approx(1e15));
}

TEST_CASE("a machine altered by hand is no longer the one that was measured", "[specs]") {
  CHECK(load_system("dgx-h100").constants.basis == Basis::calibrated);
  for (const char* change : {"nvlink.bandwidth=400 GB/s per direction", "nvlink.links=12", "nvlink.latency=1 us", "nvlink.efficiency=0.9",
                             "gpu=h200-sxm", "hbm.bandwidth=4000 GB/s"}) {
    INFO(change);
    CHECK(with({change}).constants.basis == Basis::sibling);
  }
  for (const char* change : {"nic.gdr=false", "nodes=4", "nvlink.notes=mine", "power=1 kW"}) {
    INFO(change);
    CHECK(with({change}).constants.basis == Basis::calibrated);
  }
  CHECK(load_system("dgx-a100-hdr").constants.transport_basis == Basis::calibrated);
  CHECK(with({"nic.gdr=false"}, "dgx-a100-hdr").constants.transport_basis == Basis::sibling);
  CHECK(with({"nic.bandwidth=12 GB/s per direction"}, "dgx-a100-hdr").constants.transport_basis == Basis::sibling);
  // a file without a name of its own is that machine, altered
  const Folder folder;
  CHECK(load_system(folder.write("mine.yaml", "extends: dgx-h100\ntiers: [{name: nvlink, bandwidth: 400 GB/s per direction}]\n"))
            .constants.basis == Basis::sibling);
  CHECK(load_system(folder.write("mine.yaml", "name: mine\nextends: dgx-h100\n")).constants.basis == Basis::sibling);
}

TEST_CASE("a calibration can be left out or given", "[specs]") {
  const System none = load_system("dgx-h100", {}, "none");
  CHECK(none.constants.basis == Basis::datasheet);
  CHECK(none.constants.name == "prior");
  const System own = load_system("dgx-h100", {}, "scale-up-hopper");
  CHECK(own.constants.basis == Basis::calibrated);
  const System given = load_system("dgx-b200", {}, "scale-up-hopper");
  CHECK(given.constants.basis == Basis::sibling);  // the file names the machine it applies to
  CHECK(given.constants.scale_up.launch == own.constants.scale_up.launch);
  CHECK(given.constants.scale_up.launch != load_system("dgx-b200").constants.scale_up.launch);
  const Outcome outcome = outcome_of([] { (void)load_system("dgx-h100", {}, "scale-up-hoper"); });
  CHECK(outcome.says("no calibration named \"scale-up-hoper\"; did you mean scale-up-hopper"));
}

TEST_CASE("latency is felt where it is overridden, and the constants stay with the value they were fitted with", "[specs]") {
  const System base = load_system("dgx-h100");
  const double nominal = base.tier("nvlink")->latency.value.value();
  double before = 0;
  for (const double microseconds : {0.0, 0.2, nominal * 1e6, 1.0, 2.0, 10.0, 100.0}) {
    const System s = with({"nvlink.latency=" + std::to_string(microseconds) + " us"});
    INFO(microseconds);
    CHECK(s.tier("nvlink")->nominal_latency.value() == Approx(nominal));
    CHECK(s.tier("nvlink")->latency.value.value() == Approx(microseconds * 1e-6).margin(1e-12));
    const double now = seconds(s, 1024, 8);
    CHECK(now > before);
    if (microseconds * 1e-6 < nominal * 0.99) CHECK(now < seconds(base, 1024, 8));
    if (microseconds * 1e-6 > nominal * 1.01) CHECK(now > seconds(base, 1024, 8));
    before = now;
  }
  // twice replaced: the first value counts
  CHECK(with({"nvlink.latency=1 us", "nvlink.latency=2 us"}).tier("nvlink")->nominal_latency.value() == Approx(nominal));
  // a value that the file itself gives, with a source, is the nominal one
  const System deepseek = load_system("deepseek-v3-h800", std::vector<std::string>{"nic.latency=9 us"});
  CHECK(deepseek.tier("nic")->nominal_latency.value() == Approx(2.8e-6));
  const System inside = load_system("deepseek-v3-h800", std::vector<std::string>{"nic.latency.value=9 us"});
  CHECK(inside.tier("nic")->latency.value.value() == Approx(9e-6));
  CHECK(inside.tier("nic")->nominal_latency.value() == Approx(2.8e-6));
  CHECK(inside.tier("nic")->latency.provenance.source.starts_with("overrides: "));
}

TEST_CASE("latency and rate of the NICs are felt between nodes only", "[specs]") {
  const System base = load_system("dgx-h100");
  double before = 0;
  for (const char* latency : {"1 us", "2.8 us", "5 us", "50 us"}) {
    const System s = with({std::string{"nic.latency="} + latency});
    CHECK(seconds(s, 1024, 32, 4) > before);
    CHECK(seconds(s, 1024, 8) == seconds(base, 1024, 8));
    before = seconds(s, 1024, 32, 4);
  }
  CHECK(seconds(with({"nic.bandwidth=25 GB/s per direction"}), 1e9, 32, 4) > 1.5 * seconds(base, 1e9, 32, 4));
  CHECK(seconds(with({"nic.gdr=false"}), 1e9, 32, 4) > seconds(base, 1e9, 32, 4));
}

TEST_CASE("more bandwidth is never slower", "[specs]") {
  double before = 1e9;
  for (const int gigabytes : {100, 200, 400, 450, 600, 900, 2000}) {
    const double now = seconds(with({"nvlink.bandwidth=" + std::to_string(gigabytes) + " GB/s per direction"}), 1e9, 8);
    CHECK(now < before);
    before = now;
  }
}

TEST_CASE("overrides that lead nowhere are refused", "[specs]") {
  struct Case {
    std::string override;
    std::vector<std::string> says;
  };
  const std::vector<Case> table{
      {"nvlink.bandwidth", {"overrides nvlink.bandwidth: write PATH=VALUE", "nic.gdr=false"}},
      {"", {"write PATH=VALUE"}},
      {"  =1", {"overrides: ", "the path is empty"}},
      {"nvlnk.bandwidth=900 GB/s per direction",
       {"overrides: nvlnk.bandwidth", "no tier \"nvlnk\"", "did you mean \"nvlink\"?", "tiers here: nvlink pcie nic"}},
      {"tiers.zzz.bandwidth=1 GB/s per direction", {"no tier \"zzz\"", "tiers here: nvlink pcie nic"}},
      {"tiers[9].bandwidth=1 GB/s per direction", {"no tier \"[9]\"", "tiers here:"}},
      {"tiers[0x].bandwidth=1 GB/s per direction", {"no tier \"[0x]\""}},
      {"tiers[99999999999999999999].bandwidth=1 GB/s per direction", {"no tier"}},
      {"tiers[0]=5", {"does not end at a key", "write TIER.KEY=VALUE"}},
      {"nvlink.bandwith=900 GB/s per direction",
       {"overrides: nvlink.bandwith:1:1: tiers[0].bandwith: unknown key", "did you mean \"bandwidth\"?"}},
      {"gdr=false", {"overrides: gdr:1:1: gdr: unknown key"}},
      {"nvlink.bandwidth=", {"overrides: nvlink.bandwidth=", "has no value"}},
      {"nvlink.bandwidth=   ", {"has no value"}},
      {"nvlink.bandwidth=900 GB/s",
       {"overrides: nvlink.bandwidth:1:1: tiers[0].bandwidth: \"900 GB/s\" does not say which direction", "900 GB/s per direction"}},
      {"nvlink.latency=5 GB", {"overrides: nvlink.latency:1:1", "\"GB\"", "us, ns"}},
      {"nic.gdr=perhaps", {"neither true nor false"}},
      {"name.first=x", {"\"name\" leads nowhere", "name a key of the file, or TIER.KEY"}},
      {"nvlink.links.x.y=1", {"\"links\" leads nowhere"}},
      {"nvlink.bandwidth.value=1 GB/s per direction", {"\"bandwidth\" leads nowhere"}},
      {"hbm.bandwidth=4000 GB/s per direction",
       {"overrides: hbm.bandwidth:1:1: hbm.bandwidth", "a memory has no direction", "write \"4000 GB/s\""}},
      {"hbm.x.y=1", {"leads nowhere"}},
      {"gpu=h1000", {"overrides: gpu:1:1: gpu: no gpu named \"h1000\""}},
      {"nvlink.links=[1, 2", {"overrides: nvlink.links:1:1", "close the [ or {"}},
      {"nvlink.links=[1, 2]", {"overrides: nvlink.links:1:1: tiers[0].links: is not a value"}},
      {"title=a: b", {"title: is a map, not plain text"}},
      {"nvlink.links=&a 18", {"anchors (&name)"}},
      {"nvlink.links=\"18", {"overrides: nvlink.links:1:", "not valid YAML"}},
      {std::string{"title=a\0b", 9}, {"byte 0x00 is not text"}},
      {"nvlink.endpoints=4", {"overrides: nvlink.endpoints:1:1: tiers[0].endpoints", "joins 4 GPUs, but the domain has 8"}},
      {"nvlink.switches=1", {"need 144 ports, 1 x nvswitch-3 has 64"}},
      {"pcie.name=nic", {"a second tier \"nic\""}},
      {"tiers=5", {"tiers: is not a list"}},
      {"tiers=[]", {"changes nothing"}},
      {"tiers=[{name: nvlink}]", {"changes nothing"}},
      {"extends=dgx-a100", {"read before any override", "system = dgx-h200"}},
      {"nvlink.gdr=false", {"overrides: nvlink.gdr:1:1: tiers[0].gdr: changes nothing of tier \"nvlink\"", "role nic"}},
      {"nvlink.per_socket=2", {"changes nothing of tier", "PCIe"}},
  };
  for (const Case& c : table) {
    INFO("overrides: " << c.override.c_str());
    const Outcome outcome = outcome_of([&] { load(Document::system, "dgx-h100", {c.override}); });
    INFO(outcome.text);
    CHECK(outcome.refused());
    CHECK(outcome.seconds < 1);
    for (const std::string& words : c.says) {
      INFO("expected: " << words);
      CHECK(outcome.says(words));
    }
  }
}
