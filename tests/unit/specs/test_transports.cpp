// Files of data/transports: properties and constants of a transport, and one that lies beside a system of one's own.
#include "files.hpp"

#include "support/systems.hpp"

#include "catch.hpp"

using namespace fabricost::plan;
using namespace specs;

namespace {

const std::string net = R"(name: net
title: A network
source: a test
confidence: assumed
network: cloud
sockets: true
protocols: {ll128: false, source: a log, confidence: measured}
constants: {tree_step: 31 us}
)";

std::string box_with(const std::string& transport) {
  return "name: box\nextends: dgx-h100\ntiers:\n  - name: nic\n    transport: " + transport + "\n";
}

}  // namespace

TEST_CASE("a transport of one's own is one file beside the system's", "[specs]") {
  const Folder folder;
  folder.write("net.yaml", net);
  const System own = load_system(folder.write("box.yaml", box_with("./net.yaml")));
  const Transport& t = own.tier("nic")->transport;
  CHECK((t.name == "net" && t.family() == "net" && t.relative.empty()));
  CHECK((t.network == NetworkKind::cloud && t.sockets && !t.ll128 && !t.roce && !t.infiniband_ports));
  CHECK(own.constants.transport_name == "transport-net");
  CHECK(own.constants.transport_source == "a test");
  CHECK((!own.constants.transport_known && own.constants.transport_basis == Basis::datasheet));
  CHECK(own.constants.transport.tree_step == Approx(31e-6));
  CHECK(own.constants.transport.exchange_peer == Approx(TransportConstants::from_tree_step(31e-6).exchange_peer));

  folder.write("net.yaml", "name: net\ntitle: A network\nextends: efa-v2\nsource: as EFA v2\nconfidence: relative\n");
  const System like = load_system(folder.path("box.yaml").string());
  const Constants efa = load_system("dgx-h100", std::vector<std::string>{"tiers.nic.transport=efa-v2"}).constants;
  CHECK(like.tier("nic")->transport.family() == "efa-v2");
  CHECK(like.tier("nic")->transport.network == NetworkKind::cloud);
  CHECK(like.constants.transport.tree_step == efa.transport.tree_step);
  CHECK((like.constants.transport_known && like.constants.transport_source == "as EFA v2"));
}

TEST_CASE("every shipped transport has constants, and says of whom where they are not its own", "[specs]") {
  const Folder folder;
  for (const std::string& name : names_in("transports")) {
    INFO(name);
    const System system = load_system(folder.write("box.yaml", box_with(name)));
    CHECK(system.tier("nic")->transport.name == name);
    CHECK(system.constants.transport_name == "transport-" + name);
    CHECK_FALSE(system.constants.transport_source.empty());
    const Transport t = load_transport(name);
    CHECK((t.relative.empty() || load_transport(t.relative.view()).name == t.relative));
    CHECK(load_transport(t.family().view()).family() == t.family());  // whoever is taken from takes from nobody
  }
  CHECK(load_transport("roce").relative == "infiniband");
  CHECK(load_transport("gib").relative == "roce");
  CHECK(load_transport("efa-v3").family() == "efa-v2");
  for (const char* name : {"efa-v4", "efa-host"}) CHECK(load_transport(name).relative == "efa-v2");
  CHECK(load_transport("efa-v1").relative.empty());
}

TEST_CASE("transports that tests write down are as their files say", "[specs]") {
  using namespace systems;
  for (const Transport& t : {infiniband, roce, efa_v1, slingshot, tcp, rccl_roce}) {
    const Transport file = load_transport(name(t));
    INFO(name(t));
    CHECK((t.ll128 == file.ll128 && t.sockets == file.sockets && t.roce == file.roce && t.infiniband_ports == file.infiniband_ports));
  }
}

TEST_CASE("a faulty transport is refused where it is wrong", "[specs]") {
  struct Case {
    std::string find, by;
    std::vector<std::string> says;
  };
  const std::vector<Case> table{
      {"network: cloud", "network: clouds", {"net.yaml:5:10: network: \"clouds\" is not known", "did you mean \"cloud\"?"}},
      {"sockets: true", "socket: true", {":6:1: socket: unknown key", "did you mean \"sockets\"?"}},
      {"ll128: false", "ll129: false", {"protocols.ll129: unknown key"}},
      {"constants: {tree_step: 31 us}", "", {"constants: is missing"}},
      {"tree_step: 31 us", "tree_step: 31", {"constants.tree_step: \"31\" has no unit"}},
      {"name: net", "name: a-network-of-a-name-too-long", {"is longer than 23 characters"}},
      {"network: cloud", "adapters: {links: [efa-v2], clues: [{weight: 1}]}", {"adapters.clues[0].reason: is missing"}},
      {"network: cloud", "adapters: {links: [efa-v2], reason: so, clues: [{weight: 10}]}", {"\"10\" is outside 0 to 9"}},
      {"network: cloud", "adapters: {reason: so, clues: [{weight: 1}]}", {"adapters.links: is missing"}},
  };
  const Folder folder;
  const std::string box = folder.write("box.yaml", box_with("./net.yaml"));
  for (const Case& c : table) {
    INFO(c.find << " -> " << c.by);
    folder.write("net.yaml", replaced(net, c.find, c.by));
    const Outcome outcome = outcome_of([&] { (void)load_system(box); });
    INFO(outcome.text);
    CHECK(outcome.kind == Outcome::Kind::spec_error);
    for (const std::string& words : c.says) {
      INFO("expected: " << words);
      CHECK(outcome.says(words));
    }
  }
  const Outcome outcome = outcome_of([&] { (void)load_system(folder.write("box.yaml", box_with("infinband"))); });
  CHECK(outcome.says("tiers[2].transport: \"infinband\" is not known"));
  CHECK(outcome.says("did you mean \"infiniband\"? write one of efa-host, efa-v1"));
}
