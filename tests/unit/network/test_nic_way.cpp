// From a GPU to the network: the least rate along the way.
#include "machines.hpp"

#include <fabricost/explain/explain.hpp>
#include <fabricost/plan/network/load_store.hpp>
#include <fabricost/predict/fabric_of.hpp>
#include <fabricost/predict/predict.hpp>
#include <fabricost/specs/load.hpp>

#include "support/message_of.hpp"

#include "catch.hpp"

#include <set>

using namespace fabricost::plan;

namespace {

Fabric across(const System& s, int ranks = 0, int nodes = 4) {
  return fabric_of(s, Operation{.collective = Collective::all_gather, .ranks = ranks, .nodes = nodes});
}

}  // namespace

TEST_CASE("a NIC sends no faster than the slot it sits in") {
  const System before = load_system("dgx-a100"), s = load_system("dgx-a100", std::vector<std::string>{"nic.link=infiniband-xdr"});
  const Tier* pcie = s.tier("pcie");
  const double slot = pcie->bandwidth.value.value() * pcie->efficiency;
  CHECK(slot == Approx(31.508e9 * 256 / 280).epsilon(1e-4));
  CHECK(across(before).outer_rate == Approx(8 * 25e9));
  CHECK(across(before).nic_limit_tier.empty());
  CHECK(across(s).outer_rate == Approx(8 * slot));
  CHECK(across(s, 4).outer_rate == Approx(slot));  // a GPU of each node
  CHECK(across(s).nic_limit_tier == "pcie");
  for (const Collective op : {Collective::all_gather, Collective::all_to_all}) {
    const Prediction p = predict(s, Operation{.collective = op, .bytes = units::GiB(4), .nodes = 4});
    CHECK(p.bus_bandwidth().value() <= (op == Collective::all_gather ? 8 : 31.0 / 24) * slot);
  }
  const Operation exchange{.collective = Collective::all_to_all, .bytes = units::GiB(4), .nodes = 4};
  CHECK(predict(s, exchange).bottleneck().tier == "pcie");
  CHECK(support::contains(explain(s, exchange), "The 8 NICs of a domain could send 800 GB/s one way"));
  // one message, and the share of collectives at once
  CHECK(rdma_line(s).rate == Approx(slot));
  const Topology t = topology_of(s, 4);
  CHECK(t.capacity(t.link(t.nic_out, 0)) == Approx(slot));
}

TEST_CASE("a wider slot helps no further than the GPU's own link, a NIC of the package needs neither") {
  const auto with = [](const std::string& slot) {
    return across(load_system("dgx-a100", std::vector<std::string>{"nic.link=infiniband-xdr", "nic.slot=" + slot}));
  };
  const double own = 31.508e9 * 256 / 280;
  CHECK(with("pcie-6").outer_rate == Approx(8 * own).epsilon(1e-4));
  CHECK(with("pcie-3").outer_rate == Approx(8 * own / 2).epsilon(1e-3));
  CHECK(with("none").outer_rate == Approx(8 * 100e9));
  CHECK(with("none").nic_limit_tier.empty());
}

TEST_CASE("beyond the PCIe switch NICs share the ports to the processor, and C2C is a link as any") {
  const std::vector<std::string> far{"nic.link=infiniband-hdr", "nic.path=phb"};
  // two GPUs of a DGX A100 share a port
  CHECK(across(load_system("dgx-a100", far)).outer_rate == Approx(4 * 31.508e9 * 256 / 280).epsilon(1e-4));
  CHECK(across(load_system("dgx-a100", far)).nic_limit_tier == "pcie");
  const System grace = load_system("alps-gh200", std::vector<std::string>{"c2c.bandwidth=20 GB/s per direction", "c2c.links=1"});
  CHECK(across(grace).outer_rate == Approx(4 * 20e9 * grace.tier("c2c")->efficiency));
  CHECK(across(grace).nic_limit_tier == "c2c");
}

TEST_CASE("of the shipped machines only those whose NICs exceed their slots are held by them") {
  std::set<std::string> held;
  for (const SystemName& listed : system_names()) {
    const std::string name = listed.name;
    const System s = load_system(name);
    if (s.tier(TierRole::nic) == nullptr) continue;
    try {
      const int nodes = static_cast<int>(2 * std::max(1.0, s.nodes_per_domain()));
      if (!across(s, 0, nodes).nic_limit_tier.empty()) held.insert(name);
    } catch (const RequestError&) {
      continue;  // a machine without NICs for so many
    }
  }
  CHECK(held == std::set<std::string>{"l40s-aiconfigurator", "l40s-pcie", "ualink-pod"});
}
