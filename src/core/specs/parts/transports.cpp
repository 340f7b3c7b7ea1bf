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

std::vector<std::string> plain_texts(MapReader& in, std::string_view key) {
  std::vector<std::string> out;
  for (const SpecNode* one : in.texts(key)) out.push_back(one->text);
  return out;
}

AdapterClue read_clue(const SpecNode& node, std::string path, const std::string& usual_reason, Faults& faults) {
  MapReader in(node, std::move(path), faults);
  AdapterClue out{.pci = plain_texts(in, "pci"), .names = plain_texts(in, "names"), .beside = plain_texts(in, "beside")};
  out.pci_class = in.text("class");
  out.gpus = in.text("gpus");
  out.instance = in.text("instance");
  out.nics = in.count("nics", 0, 1, 1024);
  out.weight = in.count("weight", 0, 0, 9, true);
  out.reason = in.text("reason");
  if (out.reason.empty()) out.reason = usual_reason;
  if (out.reason.empty()) in.fault(node, "reason", "is missing", "say here or for all clues why this transport is taken");
  in.finish();
  return out;
}

KnownAdapters read_adapters(const SpecNode& node, std::string_view transport, Faults& faults) {
  MapReader in(node, "adapters", faults);
  KnownAdapters out{.transport = std::string{transport}};
  const std::string reason = in.text("reason");
  for (const SpecNode* link : in.texts("links")) out.links.push_back(link->text);
  if (out.links.empty()) in.fault(node, "links", "is missing or empty", "name the links of data/links such an adapter has");
  out.rate = in.text("rate");
  out.one_rate = in.flag("one_rate", false);
  if (const SpecNode* list = in.take("clues", true)) {
    if (list->kind != SpecNode::Kind::list || list->items.empty())
      in.fault(*list, "clues", "is not a list", "write one `- {...}` for each");
    else
      for (std::size_t i = 0; i < list->items.size(); ++i)
        out.clues.push_back(read_clue(list->items[i], fmt::format("adapters.clues[{}]", i), reason, faults));
  }
  in.finish();
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
  if (const SpecNode* older = in.take("older")) {
    MapReader before(*older, "older", faults);
    t.older = Label::cut(before.name("transport", true));  // one that is cut is the name of none
    const std::string until = before.text("until");
    t.older_until = version_number(until) / 1000;
    if (t.older_until == 0) before.fault(*older, "until", fmt::format("\"{}\" is no release", until), "write it as in \"2.22\"");
    before.finish();
  }
  t.network = in.choice("network", network_kind_names, NetworkKind::other);
  t.sockets = in.flag("sockets", false);
  t.roce = in.flag("roce", false);
  constexpr std::array<std::string_view, 2> ports{"infiniband", "ethernet"};
  t.infiniband_ports = in.one_of("switch_ports", ports) == ports[0];
  t.plugin = in.choice("tuner_plugin", tuner_plugin_names, TunerPlugin::none);
  if (const SpecNode* protocols = in.take("protocols")) {
    MapReader runs(*protocols, "protocols", faults);
    t.ll128 = runs.flag("ll128", true);
    runs.finish();
  }
  if (const SpecNode* adapters = in.take("adapters")) (void)read_adapters(*adapters, t.name.view(), faults);
  return out;  // unknown keys are reported with those of the constants
}

std::vector<KnownAdapters> known_adapters() {
  std::vector<KnownAdapters> out;
  Faults faults;
  for (const std::string& name : names_in("transports")) {
    const SpecNode tree = parse_spec(data_directory() / "transports" / (name + ".yaml"));
    if (const SpecNode* adapters = tree.find("adapters")) out.push_back(read_adapters(*adapters, name, faults));
  }
  faults.raise();
  return out;
}

}  // namespace fabricost::core
