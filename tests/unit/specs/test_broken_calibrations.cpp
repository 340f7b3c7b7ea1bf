// Calibration files that cannot be meant, and data folders that are none.
#include "files.hpp"

#include <fabricost/predict/predict.hpp>

#include "catch.hpp"

using namespace fabricost::core;
using namespace specs;

namespace {

const std::string good =
    "name: mine\ntitle: My machine\nkind: scale_up\nlibrary: nccl\nsystems: [dgx-h100]\nsource: a test\nconfidence: measured\n"
    "measured: {bandwidth: 450 GB/s per direction, smallest: 512 B, largest: 512 MiB, fewest_ranks: 2, most_ranks: 8}\n"
    "constants:\n  launch: 4 us\n  simple: {rate: 389 GB/s per direction, overlap: 1.5}\n  nvls: {rate: 473 GB/s per "
    "direction}\nintervals: {ring_ll: 0.05}\n";

/// $FABRICOST_DATA for the length of a test.
class DataFolder {
 public:
  explicit DataFolder(const std::string& path) {
    if (const char* now = std::getenv("FABRICOST_DATA")) before_ = now;
    setenv("FABRICOST_DATA", path.c_str(), 1);
  }
  ~DataFolder() {
    if (before_.empty())
      unsetenv("FABRICOST_DATA");
    else
      setenv("FABRICOST_DATA", before_.c_str(), 1);
  }
  DataFolder(const DataFolder&) = delete;
  DataFolder& operator=(const DataFolder&) = delete;

 private:
  std::string before_;
};

}  // namespace

TEST_CASE("a calibration of one's own replaces the shipped one", "[specs]") {
  const Folder folder;
  const Constants c = load_system("dgx-h100", {}, folder.write("mine.yaml", good)).constants;
  CHECK(c.name == "mine");
  CHECK(c.source == "a test");
  CHECK(c.basis == Basis::calibrated);
  CHECK(c.scale_up.launch == Approx(4e-6));
  CHECK(c.scale_up.simple.rate_share == Approx(389.0 / 450));
  CHECK(c.scale_up.nvls.rate_share == Approx(473.0 / 450));
  CHECK(c.interval.ring_ll == Approx(0.05));
}

TEST_CASE("a calibration applies to the operations it was fitted on, on the machines it names", "[specs]") {
  const Folder folder;
  const std::string two =
      "fitted_on:\n  - {system: dgx-h100, domain: 8, operations: [all_reduce]}\n"
      "  - {system: hgx-h20, domain: 8, operations: [all_gather]}\nconstants:\n";
  const std::string file = folder.write("mine.yaml", replaced(replaced(good, "constants:\n", two), "[dgx-h100]", "[dgx-h100, hgx-h20]"));
  const System s = load_system("dgx-h100", {}, file);
  const auto basis = [&](const System& on, Collective op) {
    return predict(on, Operation{.collective = op, .bytes = units::MiB(64), .ranks = 8}).basis;
  };
  CHECK(basis(s, Collective::all_reduce) == Basis::calibrated);
  CHECK(basis(s, Collective::all_gather) == Basis::sibling);
  CHECK(basis(s, Collective::broadcast) == Basis::sibling);
  CHECK(basis(load_system("hgx-h20", {}, file), Collective::all_gather) == Basis::calibrated);
  CHECK(basis(load_system("hgx-h20", {}, file), Collective::all_reduce) == Basis::sibling);
  // a file that does not say is believed for all
  const System all = load_system("dgx-h100", {}, folder.write("all.yaml", good));
  CHECK(basis(all, Collective::broadcast) == Basis::calibrated);
  // constants of another library are none of this machine's
  const std::string other = folder.write("other.yaml", replaced(good, "library: nccl", "library: rccl"));
  CHECK(outcome_of([&] { (void)load_system("dgx-h100", {}, other); }).says("nothing of it can be of dgx-h100 (hopper GPUs, nccl)"));
}

TEST_CASE("broken calibrations are refused where they are broken", "[specs]") {
  struct Case {
    std::string find, by;
    std::vector<std::string> says;
  };
  const std::vector<Case> table{
      {"kind: scale_up\n", "", {":1:1: kind: is missing"}},
      {"kind: scale_up", "kind: ring", {":3:7: kind: \"ring\" is not known", "write one of scale_up, pcie, transport"}},
      {"bandwidth: 450 GB/s per direction, ", "", {"measured.bandwidth: is missing"}},
      {"launch: 4 us", "launch: 4", {":10:11: constants.launch: \"4\" has no unit"}},
      {"launch: 4 us", "lunch: 4 us", {":10:3: constants.lunch: unknown key", "did you mean \"launch\"?"}},
      {"launch: 4 us", "launch: 4 s", {"between 0 and 10 ms"}},
      {"389 GB/s", "900 GB/s", {":11:18: constants.simple.rate", "of the measured system's one-way rate"}},
      {"473 GB/s", "900 GB/s", {":12:16: constants.nvls.rate", "of the measured system's one-way rate"}},
      {"overlap: 1.5", "overlap: 0", {"constants.simple.overlap", "\"0\" is outside 1 to 12"}},
      {"ring_ll: 0.05", "ring_ll: -1", {"intervals.ring_ll", "\"-1\" is outside"}},
      {"ring_ll: 0.05", "ring_l: 1", {"intervals.ring_l: unknown key", "did you mean \"ring_ll\"?"}},
      {"[dgx-h100]", "dgx-h100", {":5:10: systems: is not a list"}},
      {"most_ranks: 8", "most_ranks: 0", {"measured.most_ranks", "\"0\" is outside 1 to 1000000"}},
      {"constants:\n", "constant:\n", {"constants: is missing", "constant: unknown key", "did you mean \"constants\"?"}},
      {"simple: {rate: 389 GB/s per direction, overlap: 1.5}", "simple: 5", {":11:11: constants.simple: is not a map"}},
      {"constants:\n", "fitted_on: dgx-h100\nconstants:\n", {"fitted_on: is not a list", "operations: [...]"}},
      {"constants:\n", "fitted_on: [{system: dgx-h100}]\nconstants:\n", {"fitted_on[0].domain: is missing"}},
      {"constants:\n",
       "fitted_on: [{system: dgx-h100, domain: 8, operations: [al_reduce]}]\nconstants:\n",
       {":9:56: fitted_on[0].operations: \"al_reduce\" is not known", "one of all_reduce, all_gather"}},
      {"constants:\n",
       "fitted_on: [{system: dgx-h100, domain: 8, kernels: [multicast]}]\nconstants:\n",
       {"fitted_on[0].kernels: unknown key"}},
      {good, "", {"is empty"}},
      {good, "- a\n", {"is not a map"}},
      {"kind: scale_up", "kind: transport", {"constants.tree_step: is missing", "constants.launch: unknown key"}},
  };
  const Folder folder;
  for (const Case& c : table) {
    INFO(c.find << " -> " << c.by);
    const std::string file = folder.write("mine.yaml", replaced(good, c.find, c.by));
    const Outcome outcome = outcome_of([&] { (void)load_system("dgx-h100", {}, file); });
    INFO(outcome.text);
    CHECK(outcome.kind == Outcome::Kind::spec_error);
    CHECK(outcome.says(file));
    for (const std::string& words : c.says) {
      INFO("expected: " << words);
      CHECK(outcome.says(words));
    }
  }
}

TEST_CASE("a data folder that is none is refused by its name", "[specs]") {
  const Folder folder;
  {
    const DataFolder nowhere(folder.path("nowhere").string());
    const Outcome outcome = outcome_of([] { (void)load_system("dgx-h100"); });
    CHECK(outcome.kind == Outcome::Kind::request_error);
    CHECK(outcome.says("FABRICOST_DATA is " + folder.path("nowhere").string()));
  }
  folder.write("data/systems/box.yaml", good_system);
  const DataFolder small(folder.path("data").string());
  const Outcome outcome = outcome_of([] { (void)load_system("boxx"); });
  CHECK(outcome.says("no system named \"boxx\"; did you mean box?"));  // although there are no aliases
  CHECK(outcome_of([] { (void)load_system("box"); }).says("no gpu named \"h100-sxm\""));
}
