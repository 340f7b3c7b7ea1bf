// Numbers that are no numbers, units that are no units, names that are no names: each refused where it stands, with a remedy.
#include "broken.hpp"

using namespace specs;

namespace {

Broken gpu(std::string title, std::string_view find, std::string_view by, std::vector<std::string> says) {
  return {std::move(title), Document::gpu, replaced(good_gpu, find, by), std::move(says)};
}
Broken link(std::string title, std::string_view find, std::string_view by, std::vector<std::string> says) {
  return {std::move(title), Document::link, replaced(good_link, find, by), std::move(says)};
}
Broken box(std::string title, std::string_view find, std::string_view by, std::vector<std::string> says) {
  return {std::move(title), Document::switches, replaced(good_switch, find, by), std::move(says)};
}
/// `links: 18` of the scale-up tier and whatever else a case needs.
Broken tier(std::string title, std::string_view by, std::vector<std::string> says) {
  return sys(std::move(title), "    links: 18\n", by, std::move(says));
}

}  // namespace

TEST_CASE("a rate without its direction is refused in the words of the design", "[specs]") {
  const Folder folder;
  const Marked document = marked(replaced(good_system, "    links: 18\n", "    links: 18\n    bandwidth: ^900 GB/s\n"));
  const std::string file = folder.write("dgx-h100.yaml", document.text);
  const Outcome outcome = outcome_of([&] { load(Document::system, file); });
  CHECK(outcome.text == file +
                            ":14:16: tiers[0].bandwidth: \"900 GB/s\" does not say which direction\n"
                            "        bandwidth: 900 GB/s\n"
                            "                   ^ write \"900 GB/s per direction\" (one way) or \"900 GB/s both directions\" (their sum)");
  REQUIRE(outcome.issues.size() == 1);
  CHECK(outcome.issues[0].path == "tiers[0].bandwidth");
  CHECK(outcome.issues[0].line == 14);
  CHECK(outcome.issues[0].column == 16);
}

TEST_CASE("a tier whose only rate is wrong has one fault, and is not also called without a rate", "[specs]") {
  const Folder folder;
  const auto issues_of = [&](std::string_view rate) {
    const std::string text = replaced(good_system, "    link: nvlink-4\n    links: 18\n", rate);
    return outcome_of([&] { load(Document::system, folder.write("dgx-h100.yaml", text)); }).issues;
  };
  for (const std::string_view rate : {"    bandwidth: 900 GB/s\n", "    link: nosuch\n"}) {
    INFO(rate);
    CHECK(issues_of(rate).size() == 1);
  }
  for (const std::string_view rate : {"", "    bandwidth: {a: 1}\n", "    bandwidth:\n", "    bandwidth: ~\n", "    bandwidth: \"\"\n", "    link:\n", "    link: \"\"\n"}) {
    INFO(rate);
    CHECK_FALSE(issues_of(rate).empty());
  }
}

TEST_CASE("broken rates are refused", "[specs]") {
  check({
      tier("no unit", "    bandwidth: ^450\n", {"tiers[0].bandwidth", "\"450\" has no unit", "450 GB/s per direction"}),
      tier("a size for a rate", "    bandwidth: ^450 GB per direction\n", {"\"GB\", which is no rate", "write GB/s"}),
      tier("a unit in the wrong case", "    bandwidth: ^450 gb/s per direction\n", {"\"gb/s\", which is no rate", "GB/s"}),
      tier("a small b", "    bandwidth: ^450 Gb/s per direction\n",
           {"\"Gb/s\", which is easily misread", "write Gbit/s for bits, GB/s for bytes"}),
      tier("transfers for bits", "    bandwidth: ^32 GT/s per direction\n", {"\"GT/s\", which is easily misread"}),
      tier("no direction on bits", "    bandwidth: ^3600 Gbit/s\n",
           {"does not say which direction", "\"3600 Gbit/s per direction\" (one way) or \"3600 Gbit/s both directions\""}),
      tier("a direction nobody knows", "    bandwidth: ^450 GB/s one way\n", {"\"one way\" is no direction", "per direction"}),
      tier("zero", "    bandwidth: ^0 GB/s per direction\n", {"\"0 GB/s per direction\" is impossible", "above zero"}),
      tier("negative", "    bandwidth: ^-450 GB/s per direction\n", {"\"-450 GB/s per direction\" is impossible", "above zero"}),
      tier("not a number", "    bandwidth: ^nan GB/s per direction\n",
           {"\"nan GB/s per direction\" is not a number", "numbers are written like"}),
      tier("1e400", "    bandwidth: ^1e400 GB/s per direction\n", {"1e400", "is not a number"}),
      tier("1e-30", "    bandwidth: ^1e-30 GB/s per direction\n", {"is impossible"}),
      tier("a decimal comma", "    bandwidth: ^\"450,5 GB/s per direction\"\n", {"450,5", "which is no rate"}),
      tier("a list", "    bandwidth: ^[450 GB/s per direction]\n",
           {"tiers[0].bandwidth", "is not a value", "write a number with its unit"}),
      tier("nothing", "    ^bandwidth:\n", {"tiers[0].bandwidth", "has no value", "give one or leave the key out"}),
      tier("both directions taken for one", "    links: 18\n    bandwidth: ^900 GB/s per direction\n",
           {"900 GB/s per direction, but 18 x nvlink-4 is 450", "correct the bandwidth or the links"}),
      gpu("a direction on a memory", "3350 GB/s", "^3350 GB/s per direction",
          {"hbm.bandwidth", "a memory has no direction", "write \"3350 GB/s\""}),
      gpu("bits per second of a memory", "3350 GB/s", "^3350 Gbit/s", {"\"Gbit/s\"", "GB/s"}),
      link("bytes on a lane", "100 Gbit/s per direction", "^12.5 GB/s per direction",
           {"lane_rate", "counts bytes", "write \"100 Gbit/s per direction\""}),
      link("a lane without direction", "100 Gbit/s per direction", "^100 Gbit/s", {"does not say which direction"}),
      link("lanes and rate that do not make the bandwidth", "25 GB/s per direction", "^50 GB/s per direction",
           {"2 lanes x 100 Gbit/s x 1 / 8 = 25 GB/s", "correct the lanes"}),
      link("ndr with 800 Gbit/s",
           "lanes: 2\nlane_rate: 100 Gbit/s per direction\nencoding: 1\nbandwidth: 25 GB/s per direction\nusable: 20 GB/s per direction",
           "lanes: 4\nlane_rate: 100 Gbit/s per direction\nbandwidth: ^800 Gbit/s per direction",
           {"100 GB/s per direction, but 4 lanes x 100 Gbit/s x 1 / 8 = 50 GB/s"}),
      link("more usable than there is", "usable: 20 GB/s", "usable: ^26 GB/s", {"more than the link carries", "at most 25 GB/s"}),
  });
}

TEST_CASE("broken sizes, times and other quantities are refused", "[specs]") {
  check({
      gpu("memory without unit", "80 GB", "^80", {"memory", "\"80\" has no unit", "KiB"}),
      gpu("memory in bits", "80 GB", "^80 Gbit", {"\"Gbit\"", "GB"}),
      gpu("no memory at all", "80 GB", "^0 GB", {"is impossible", "at least one byte"}),
      gpu("something behind a size", "80 GB", "^80 GB each", {"\"each\" does not belong here"}),
      gpu("a latency of seconds", "560 ns", "^3 s", {"hbm.latency", "\"3 s\" is impossible", "between 0 and 10 ms"}),
      gpu("a negative latency", "560 ns", "^-1 us", {"\"-1 us\" is impossible"}),
      gpu("a latency without unit", "560 ns", "^560", {"\"560\" has no unit", "us, ns"}),
      gpu("a time per direction", "560 ns", "^560 ns per direction", {"does not belong here"}),
      gpu("a rate of compute in FLOPS", "989 TFLOP/s", "^989 TFLOPS", {"compute.fp16", "\"TFLOPS\"", "TFLOP/s"}),
      gpu("a clock in bytes", "1830 MHz", "^1830 MB", {"clock", "\"MB\"", "MHz"}),
      gpu("a clock of 1830 Hz", "1830 MHz", "^1830 Hz", {"is impossible", "1 MHz"}),
      gpu("power in horses", "700 W", "^1 hp", {"power", "\"hp\"", "kW"}),
      gpu("no power", "700 W", "^0 W", {"is impossible", "above zero"}),
      gpu("a price in euros", "2.95 USD/h", "^2.95 EUR/h", {"price", "\"EUR/h\"", "USD/h"}),
      gpu("a rent without hours", "2.95 USD/h", "^2.95 USD", {"USD/h"}),
      gpu("a negative price", "2.95 USD/h", "^-1 USD/h", {"not negative"}),
      gpu("half a unit", "units: 132", "units: ^131.5", {"\"131.5\" is not a whole number"}),
      gpu("units with a unit", "units: 132", "units: ^132 SMs", {"\"132 SMs\" is not a whole number", "counts have no unit"}),
      gpu("no units", "units: 132", "units: ^0", {"\"0\" is outside 1 to 100000"}),
      gpu("hexadecimal", "units: 132", "units: ^0x84", {"\"0x84\" is not a whole number"}),
      link("an encoding above 1", "encoding: 1", "encoding: ^130/128", {"encoding", "\"130/128\" is outside (0, 1]", "at most 1"}),
      link("an encoding of 0", "encoding: 1", "encoding: ^0", {"\"0\" is outside (0, 1]"}),
      link("an encoding divided by 0", "encoding: 1", "encoding: ^1/0", {"\"1/0\" is no fraction", "write 128/130"}),
      link("an encoding of words", "encoding: 1", "encoding: ^8b/10b", {"8b/10b", "is no fraction"}),
      link("a packet without header", "header: 24 B", "header: ^0 B", {"packet.header", "is impossible"}),
      tier("a payload share above 1", "    links: 18\n    efficiency: ^1.07\n", {"tiers[0].efficiency", "\"1.07\" is outside (0, 1]"}),
      tier("a payload share in percent without sign", "    links: 18\n    efficiency: ^97\n",
           {"\"97\" is outside (0, 1]", "write 0.97 or \"97 %\""}),
      tier("an oversubscription below 1", "    links: 18\n    oversubscription: ^0.5\n",
           {"\"0.5\" is outside 1 to 1000", "write 2:1 or 2"}),
      tier("an oversubscription the wrong way round", "    links: 18\n    oversubscription: ^\"1:2\"\n",
           {"\"1:2\" is outside 1 to 1000", "downlinks over uplinks"}),
      tier("an oversubscription as 7/1", "    links: 18\n    oversubscription: ^7/1\n", {"\"7/1\" is no ratio", "write 2:1 or 2"}),
      sys("a rent for a machine", "gpus: 8\n", "gpus: 8\nprice: ^98 USD/h\n", {"price", "USD"}),
  });
}

TEST_CASE("unknown keys and names are refused with those near to them", "[specs]") {
  check({
      gpu("a misspelt key", "memory:", "^memry:", {"memry: unknown key", "did you mean \"memory\"?"}),
      gpu("notes in a section", "size: 50 MB", "size: 50 MB, ^notes: hm", {"l2.notes: unknown key"}),
      gpu("a key far from all", "units: 132", "^colour: green", {"colour: unknown key", "known here:", "memory"}),
      gpu("a vendor nobody knows", "vendor: nvidia", "vendor: ^nvidea", {"\"nvidea\" is not known", "did you mean \"nvidia\"?"}),
      gpu("a generation nobody knows", "hopper", "^hoper", {"generation", "\"hoper\" is not known", "did you mean \"hopper\"?"}),
      link("a family nobody knows", "family: nvlink", "family: ^nvlinks",
           {"family", "\"nvlinks\" is not known", "did you mean \"nvlink\"?"}),
      link("a key that was never documented", "latency:", "^adapter:", {"adapter: unknown key"}),
      box("an in-network ability nobody has", "multicast]", "^broadcast]",
          {"in_network", "\"broadcast\" is not known", "write reduction or multicast"}),
      box("in_network without list", "[reduction, multicast]", "^reduction", {"in_network", "is not a list", "write `in_network: [...]`"}),
      box("half a port", "64", "^63.5", {"ports", "\"63.5\" is not a whole number"}),
      sys("a merge key", "gpus: 8\n", "gpus: 8\n^<<: {domain: 8}\n", {"<<: unknown key"}),
      sys("a GPU that is near", "h100-sxm", "^h100-sxn", {"no gpu named \"h100-sxn\"", "did you mean h100-sxm"}),
      sys("a GPU that is nowhere", "h100-sxm", "^zzzzzzzzzzzz", {"no gpu named \"zzzzzzzzzzzz\"", "data/gpus has"}),
      sys("a GPU in capitals", "h100-sxm", "^H100", {"\"H100\" is no name", "lower case"}),
      sys("a GPU by a path that leads nowhere", "h100-sxm", "^../nowhere/card.yaml",
          {"gpu: no file", "nowhere/card.yaml", "relative to the file"}),
      sys("a link that is near", "nvlink-4\n", "^nvlink-44\n", {"tiers[0].link", "no link named \"nvlink-44\"", "did you mean nvlink-4"}),
      sys("an unknown kind", "kind: switch", "kind: ^star", {"tiers[0].kind", "\"star\" is not known", "write one of switch, full_mesh"}),
      sys("a kind of ours", "kind: switch", "kind: ^memory", {"tiers[0].kind", "\"memory\" is not known"}),
      sys("an unknown role", "role: scale_up", "role: ^scaleup",
          {"tiers[0].role", "\"scaleup\" is not known", "did you mean \"scale_up\"?"}),
      sys("a role of ours", "role: scale_up", "role: ^memory", {"tiers[0].role", "\"memory\" is not known"}),
      sys("an unknown transport", "transport: infiniband", "transport: ^infinband", {"tiers[1].transport", "did you mean \"infiniband\"?"}),
      sys("a transport of ours", "transport: infiniband", "transport: ^unknown",
          {"\"unknown\" is not known", "write one of efa-host, efa-v1"}),
      sys("a transport by two letters", "transport: infiniband", "transport: ^ib", {"did you mean \"infiniband\"?"}),
      sys("a slot by its generation", "path: pxb\n", "path: pxb\n    slot: ^gen4\n",
          {"no link named \"gen4\"", "did you mean \"pcie-4\"?"}),
      sys("a rate in bits taken for bytes", "path: pxb\n", "path: pxb\n    bandwidth: ^400 GB/s per direction\n",
          {"400 GB/s per direction, but 1 x infiniband-ndr is 50", "did you mean Gbit/s?"}),
      sys("an unknown path", "path: pxb", "path: ^pxp", {"tiers[1].path", "\"pxp\" is not known", "did you mean"}),
      sys("an unknown processor", "gpus: 8\n", "gpus: 8\ncpu: ^zen\n", {"cpu", "\"zen\" is not known", "write one of intel, amd"}),
      sys("a flag that is neither", "gdr: true", "gdr: ^maybe",
          {"tiers[1].gdr", "\"maybe\" is neither true nor false", "write true or false"}),
  });
}

TEST_CASE("missing and misplaced keys are refused", "[specs]") {
  check({
      sys("no name", "name: box\n", "", {":1:1: ", "name: is missing", "add `name:`"}),
      sys("no GPU", "gpu: h100-sxm\n", "", {":1:1: ", "gpu: is missing", "add `gpu:`"}),
      sys("no number of GPUs", "gpus: 8\n", "", {"gpus: is missing", "add `gpus:`"}),
      sys("an empty GPU", "h100-sxm", "^\"\"", {"gpu: is empty"}),
      sys("a tier without name", "  - name: nvlink\n    role", "  - ^role", {"tiers[0].name: is missing", "add `name:`"}),
      sys("a tier without role", "    role: scale_up\n", "", {"tiers[0].role: is missing"}),
      sys("a tier without kind", "    kind: switch\n", "", {"tiers[0].kind: is missing"}),
      sys("a tier without endpoints", "    endpoints: 8\n", "", {"tiers[0].endpoints: is missing"}),
      sys("a NIC without transport", "    transport: infiniband\n", "", {"tiers[1].transport: is missing"}),
      sys("a tier without link and rate", "    link: infiniband-ndr\n", "",
          {"tiers[1].bandwidth", "is missing, and no link to derive it from", "add `link:`"}),
      sys("a tier that is text", "  - name: nic\n    role: nic\n", "  - ^nic\n  - name: nic\n    role: nic\n",
          {"tiers[1]", "is not a map", "write `key: value` lines"}),
      sys("a name that is a map", "name: box", "name: ^{a: 1}", {"name: is a map, not plain text"}),
      sys("a name with blanks", "name: box", "name: ^my box", {"\"my box\" is no name", "lower case"}),
      sys("a title that is a list", "title: A box", "title: ^[A, box]", {"title: is a list, not plain text"}),
      sys("GPUs that are a map", "gpus: 8", "gpus: ^{a: 8}", {"gpus"}),
      {"tiers as a map",
       Document::system,
       "name: box\ngpu: h100-sxm\ngpus: 8\ntiers:\n  ^nvlink: {role: scale_up}\n",
       {"tiers: is not a list", "write one `- name: ...` per tier"}},
      {"no tiers", Document::system, "name: box\ngpu: h100-sxm\ngpus: 8\n", {"tiers: is missing"}},
      {"an empty list of tiers",
       Document::system,
       "name: box\ngpu: h100-sxm\ngpus: 8\ntiers: ^[]\n",
       {"tiers: has 0 tiers", "write 1 to 64"}},
      gpu("a GPU without memory", "memory: 80 GB\n", "", {"memory: is missing"}),
      gpu("a GPU without hbm", "hbm: {bandwidth: 3350 GB/s, latency: 560 ns}\n", "", {"hbm: is missing"}),
      gpu("hbm without bandwidth", "bandwidth: 3350 GB/s, ", "", {"hbm.bandwidth: is missing"}),
      gpu("hbm as a number", "{bandwidth: 3350 GB/s, latency: 560 ns}", "^3350 GB/s", {"hbm: is not a map"}),
      gpu("compute without fp16", "fp16:", "fp32:", {"compute.fp16: is missing"}),
      gpu("a link without number", "links: 18}", "}", {"scale_up.links: is missing"}),
      link("a link without lanes", "lanes: 2\n", "", {"lanes: is missing"}),
      box("a switch without ports", "ports: 64\n", "", {"ports: is missing"}),
  });
}

TEST_CASE("near names are those that a slip of the hand makes, not words of alike letters", "[specs]") {
  const std::vector<std::string> commands{"calibrate", "compare", "import-trace", "need", "plan", "predict", "report", "sweep", "topo"};
  const auto near = [&](std::string_view wanted) { return near_names(wanted, commands); };
  using Names = std::vector<std::string>;
  CHECK(near("prdict") == Names{"predict"});
  CHECK(near("perdict") == Names{"predict"});
  CHECK(near("PREDICT") == Names{"predict"});
  CHECK(near("redict") == Names{"predict"});
  CHECK(near("sweeps") == Names{"sweep"});
  CHECK(near("calib") == Names{"calibrate"});
  CHECK(near("toop") == Names{"topo"});
  CHECK(near("read").empty());
  CHECK(near("rapport") == Names{"report"});
  CHECK(near("import") == Names{"import-trace"});
  CHECK(near("important").empty());
  CHECK(near_names("--jsn", Names{"--json", "--isl"}) == Names{"--json"});
  CHECK(near_names("--csv", Names{"--isl", "--osl"}).empty());
  // a whole word of a name is nearer than a name with another letter, and half of what was written no name of it
  CHECK(near_names("gh200", Names{"gb200", "h200", "alps-gh200"}).front() == "alps-gh200");
  CHECK(near_names("--max-model-len", Names{"--model"}).empty());
  CHECK(near("").empty());
  CHECK(near("--").empty());
  CHECK(near("x").empty());
}
