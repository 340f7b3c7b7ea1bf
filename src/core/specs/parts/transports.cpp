/// Reads data/transports.

#include "specs/parts/transports.hpp"

#include "specs/store.hpp"

#include <fabricost/choice/engine_kernels.hpp>
#include <fabricost/hardware/kinds.hpp>
#include <fabricost/specs/data_directory.hpp>
#include <fabricost/specs/load.hpp>

#include <fmt/format.h>

namespace fabricost::core {

namespace {

AdapterClue read_clue(MapReader& in, const std::string& usual_reason) {
  AdapterClue out{.pci = in.plain_texts("pci"), .names = in.plain_texts("names"), .beside = in.plain_texts("beside")};
  out.pci_class = in.text("class");
  out.gpus = in.text("gpus");
  out.instance = in.text("instance");
  out.nics = in.count("nics", 0, 1, 1024);
  out.weight = in.count("weight", 0, 0, 9, true);
  out.reason = in.text("reason");
  if (out.reason.empty()) out.reason = usual_reason;
  if (out.reason.empty()) in.fault(in.node(), "reason", "is missing", "say here or for all clues why this transport is taken");
  return out;
}

KnownAdapters read_adapters(MapReader& in, std::string_view transport) {
  KnownAdapters out{.transport = std::string{transport}};
  const std::string reason = in.text("reason");
  out.links = in.plain_texts("links");
  if (out.links.empty()) in.fault(in.node(), "links", "is missing or empty", "name the links of data/links such an adapter has");
  out.rate = in.text("rate");
  out.one_rate = in.flag("one_rate", false);
  in.each_item(
      "clues", [&](MapReader& clue) { out.clues.push_back(read_clue(clue, reason)); }, true);
  return out;
}

}  // namespace

TransportSpec read_transport(const SpecNode& tree, Faults& faults) {
  MapReader in(tree, "", faults);
  TransportSpec out{.transport = {}, .tree = tree};
  Transport& t = out.transport;
  const auto label = [&](std::string_view key, bool required) {
    const std::string given = in.name(key, required);
    if (given.size() > Label::capacity)
      in.fault(*tree.find(key), key, fmt::format("\"{}\" is longer than {} characters", given, Label::capacity), "shorten it");
    return Label::cut(given);
  };
  t.name = label("name", true);
  t.shares = label("transport", false);  // of the calibration it extends
  t.relative = label("relative", false);
  in.section("older", [&](MapReader& before) {
    t.older = Label::cut(before.name("transport", true));  // one that is cut is the name of none
    const std::string until = before.text("until");
    t.older_until = version_number(until) / 1000;
    if (t.older_until == 0) before.fault(before.node(), "until", fmt::format("\"{}\" is no release", until), "write it as in \"2.22\"");
  });
  t.network = in.choice("network", network_kind_names, NetworkKind::other);
  t.sockets = in.flag("sockets", false);
  t.roce = in.flag("roce", false);
  constexpr std::array<std::string_view, 2> ports{"infiniband", "ethernet"};
  t.infiniband_ports = in.one_of("switch_ports", ports) == ports[0];
  t.plugin = in.choice("tuner_plugin", tuner_plugin_names, TunerPlugin::none);
  in.section("protocols", [&](MapReader& runs) { t.ll128 = runs.flag("ll128", true); });
  in.section("adapters", [&](MapReader& adapters) { (void)read_adapters(adapters, t.name.view()); });
  return out;  // unknown keys are reported with those of the constants
}

std::vector<KnownAdapters> known_adapters() {
  std::vector<KnownAdapters> out;
  Faults faults;
  for (const std::string& name : names_in("transports")) {
    const SpecNode tree = parse_spec(data_directory() / "transports" / (name + ".yaml"));
    MapReader(tree, "", faults).section("adapters", [&](MapReader& adapters) { out.push_back(read_adapters(adapters, name)); });
  }
  faults.raise();
  return out;
}

}  // namespace fabricost::core
