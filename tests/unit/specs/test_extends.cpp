// Files that extend others: merged keys, resolved names, and circles.
#include "files.hpp"

#include "catch.hpp"

using namespace fabricost::observe;
using namespace specs;

namespace {

double rate(const System& system, std::string_view tier) { return in(system.tier(tier)->bandwidth.value, units::GB_per_s).value(); }
double microseconds(const System& system, std::string_view tier) { return in(system.tier(tier)->latency.value, units::us).value(); }

}  // namespace

TEST_CASE("a file may extend a shipped system by name", "[specs]") {
  const Folder folder;
  const System mine =
      load_system(folder.write("mine.yaml", "name: mine\nextends: dgx-h100\nnodes: 4\ntiers:\n  - name: nic\n    gdr: false\n"));
  const System base = load_system("dgx-h100");
  CHECK(mine.name == "mine");
  CHECK(mine.nodes == 4);
  CHECK(mine.tiers.size() == base.tiers.size());
  CHECK_FALSE(mine.tier("nic")->gpu_direct);
  CHECK(mine.tier("nic")->transport.name == "infiniband");
  CHECK(rate(mine, "nvlink") == Approx(450));
}

TEST_CASE("a file may extend another relative to its own place", "[specs]") {
  const Folder folder;
  folder.write("base/box.yaml", good_system);
  const System up =
      load_system(folder.write("mine/big.yaml",
                               "name: big\nextends: ../base/box.yaml\ntiers:\n  - name: spine\n    role: network\n    kind: "
                               "fat_tree\n    endpoints: 4\n    link: infiniband-ndr\n    oversubscription: 3\n"
                               "  - name: core\n    role: network\n    kind: fat_tree\n    endpoints: 2\n    link: infiniband-ndr\n"));
  CHECK(up.tier("spine")->oversubscription == 3);
  CHECK(up.tiers.back().name == "core");
  const System third =
      load_system(folder.write("base/third.yaml", "name: third\nextends: ../mine/big.yaml\ntiers: [{name: spine, oversubscription: 5}]\n"));
  CHECK(third.tier("spine")->oversubscription == 5);
  CHECK(third.tier("spine")->endpoints == 4);
}

TEST_CASE("a spec names no file that is no spec: a message would show its lines", "[specs]") {
  const Folder folder;
  const std::string secret = folder.write("secret.txt", "the first line\n");
  for (const std::string& text : {std::string{"name: mine\nextends: ./secret.txt\n"}, replaced(good_system, "h100-sxm", "./secret.txt"),
                                  replaced(good_system, "nvlink-4", secret)}) {
    INFO(text);
    try {
      (void)load_system(folder.write("mine.yaml", text));
      FAIL("it was read");
    } catch (const SpecError& error) {
      CHECK(std::string{error.what()}.find("no YAML file by its name") != std::string::npos);
      CHECK(std::string{error.what()}.find("the first line") == std::string::npos);
    }
  }
}

TEST_CASE("any name that load_system takes may be extended", "[specs]") {
  const Folder folder;
  for (const std::string name : {"dgx-h100", "superpod-h100", "hgx-h100", "DGX_H100"}) {
    INFO(name);
    CHECK(load_system(folder.write("mine.yaml", "name: mine\nextends: " + name + "\n")).gpu.name == "h100-sxm");
  }
}

TEST_CASE("gpus, links and switches may stand beside the system that names them", "[specs]") {
  const Folder folder;
  folder.write("parts/card.yaml", good_gpu);
  folder.write("parts/wire.yaml", good_link);
  folder.write("box/chip.yaml", "name: chip\nextends: nvswitch-3\nports: 72\n");
  std::string text = replaced(good_system, "h100-sxm", "../parts/card.yaml");
  text = replaced(text, "nvlink-4", "../parts/wire.yaml");
  text = replaced(text, "nvswitch-3", "chip.yaml");
  const System system = load_system(folder.write("box/box.yaml", text));
  CHECK(system.gpu.name == "card");
  CHECK(system.tier("nvlink")->link == "wire");
  CHECK(system.tier("nvlink")->switch_name == "chip");
  CHECK(system.tier("nvlink")->efficiency == Approx(256.0 / 280));
}

TEST_CASE("a switch of one's own adds to the network what it takes beyond those of its kind", "[specs]") {
  const Folder folder;
  const auto box = [&](const std::string& latency) {
    folder.write("own.yaml", "name: own\nlink: infiniband-ndr\nports: 64\nlatency: " + latency + "\n");
    return load_system(folder.write(
        "box.yaml", good_system + "  - {name: leaf, role: network, kind: rails, endpoints: 64, link: infiniband-ndr, switch: own.yaml}\n"));
  };
  const double usual = load_switch("quantum-2").latency.value.value();
  for (const auto& [latency, beyond] : {std::pair{"50 us", 50e-6 - usual}, std::pair{"100 ns", 0.0}}) {
    const System system = box(latency);
    const Tier& leaf = *system.tier("leaf");
    CHECK(leaf.latency.value.value() == Approx(load_link("infiniband-ndr").latency.value.value() + beyond));
    CHECK(leaf.latency.value.value() - leaf.nominal_latency.value() == Approx(beyond).margin(1e-12));
  }
}

TEST_CASE("a number keeps the source of the file it was written in", "[specs]") {
  const Folder folder;
  folder.write("base.yaml", replaced(good_system, "    gdr: true\n",
                                     "    gdr: true\n    latency: 3 us\n    bandwidth: {value: 50 GB/s per direction, source: its own, "
                                     "confidence: press}\n    source: the tier\n    confidence: measured\n"));
  const System base = load_system(folder.path("base.yaml").string());
  CHECK(base.tier("nic")->latency.provenance.source == "the tier");
  CHECK(base.tier("nic")->latency.provenance.confidence == Confidence::measured);
  CHECK(base.tier("nic")->bandwidth.provenance.source == "its own");
  CHECK(base.tier("nic")->bandwidth.provenance.confidence == Confidence::press);
  // another file touches the tier: what it does not change keeps its source, what it changes has the new one
  const System child = load_system(folder.write("child.yaml",
                                                "name: child\nextends: ./base.yaml\nsource: the child\nconfidence: announced\ntiers:\n  - "
                                                "name: nic\n    bandwidth: 49 GB/s per direction\n"));
  CHECK(child.tier("nic")->latency.provenance.source == "the tier");
  CHECK(child.tier("nic")->latency.provenance.confidence == Confidence::measured);
  CHECK(child.tier("nic")->bandwidth.provenance.source == "the child");
  CHECK(child.tier("nic")->bandwidth.provenance.confidence == Confidence::announced);
  // a file that names no source is one itself
  const System silent =
      load_system(folder.write("silent.yaml", "name: silent\nextends: ./base.yaml\ntiers:\n  - name: nic\n    latency: 4 us\n"));
  CHECK(silent.tier("nic")->latency.provenance.source.find("silent.yaml") != std::string::npos);
  CHECK(silent.tier("nic")->latency.provenance.confidence == Confidence::assumed);
}

TEST_CASE("a value with its source is replaced whole", "[specs]") {
  const Folder folder;
  folder.write("base.yaml",
               replaced(good_system, "    gdr: true\n", "    latency: {value: 3 us, source: somebody, confidence: measured}\n"));
  const System child = load_system(folder.write(
      "child.yaml",
      "name: child\nextends: ./base.yaml\nsource: the child\nconfidence: press\ntiers:\n  - name: nic\n    latency: {value: 2 us}\n"));
  CHECK(microseconds(child, "nic") == Approx(2));
  CHECK(child.tier("nic")->latency.provenance.source == "the child");
}

TEST_CASE("circles and chains of files are refused where they close", "[specs]") {
  const Folder folder;
  struct Case {
    std::string title, file, says;
  };
  folder.write("self.yaml", "name: self\nextends: ./self.yaml\n");
  folder.write("a.yaml", "name: a\nextends: ./b.yaml\n");
  folder.write("b.yaml", "name: b\nextends: c.yaml\n");
  folder.write("c.yaml", "name: c\nextends: ../" + folder.path("a.yaml").parent_path().filename().string() + "/a.yaml\n");
  folder.write("f0.yaml", "name: f0\nextends: dgx-h100\n");
  for (int i = 1; i <= 9; ++i) folder.write("f" + std::to_string(i) + ".yaml", "name: f\nextends: ./f" + std::to_string(i - 1) + ".yaml\n");
  for (const Case& c : {Case{"itself", "self.yaml", "self.yaml:2:10: extends: a circle: self.yaml -> self.yaml"},
                        Case{"three", "a.yaml", "c.yaml:2:10: extends: a circle: a.yaml -> b.yaml -> c.yaml -> a.yaml"},
                        Case{"a chain of ten and dgx-h100", "f9.yaml", "more than 8 files extend each other"}}) {
    INFO(c.title);
    const Outcome outcome = outcome_of([&] { load(Document::system, folder.path(c.file).string()); });
    INFO(outcome.text);
    CHECK(outcome.kind == Outcome::Kind::spec_error);
    CHECK(outcome.says(c.says));
    CHECK(outcome.seconds < 1);
  }
  CHECK_NOTHROW(load_system(folder.path("f7.yaml").string()));
}

TEST_CASE("what is extended must be there and be a name", "[specs]") {
  const Folder folder;
  struct Case {
    std::string extends, says;
  };
  for (const Case& c : {Case{"dgx-h1000", "no system named \"dgx-h1000\"; did you mean dgx-h100"},
                        Case{"zzzzzz", "no system named \"zzzzzz\""}, Case{"5", "no system named \"5\""}, Case{"./gone.yaml", "no file \""},
                        Case{"[dgx-h100]", "is not the name of a spec"}, Case{"{name: dgx-h100}", "is not the name of a spec"},
                        Case{"\"\"", "is not the name of a spec"}, Case{"", "is not the name of a spec"}}) {
    INFO("extends: " << c.extends);
    const std::string file = folder.write("mine.yaml", "name: mine\nextends: " + c.extends + "\n");
    const Outcome outcome = outcome_of([&] { load(Document::system, file); });
    INFO(outcome.text);
    CHECK(outcome.refused());
    CHECK(outcome.says(c.says));
    CHECK(outcome.says(file + ":2:"));
  }
}

TEST_CASE("names that are nowhere are refused with those near to them", "[specs]") {
  struct Case {
    Document kind;
    std::string name, says;
  };
  for (const Case& c :
       {Case{Document::system, "dgx-h10", "no system named \"dgx-h10\"; did you mean dgx-h100"},
        Case{Document::system, "xyzxyzxyzxyz", "`fabricost machine` lists them"}, Case{Document::system, "", "no system named \"\""},
        Case{Document::gpu, "h100", "did you mean h100-"},
        Case{Document::link, "nvlink-9", "no link named \"nvlink-9\"; did you mean nvlink-"},
        Case{Document::switches, "nvswitch-9", "no switch named \"nvswitch-9\"; did you mean nvswitch-"},
        Case{Document::gpu, "..", "no gpu named"}, Case{Document::system, std::string(100000, 'a'), "no system named \"aaa"}}) {
    INFO(c.name.substr(0, 40));
    const Outcome outcome = outcome_of([&] { load(c.kind, c.name); });
    INFO(outcome.text);
    CHECK(outcome.kind == Outcome::Kind::request_error);
    CHECK(outcome.says(c.says));
    CHECK(outcome.seconds < 1);
  }
}
