// Saved files are read again: machines as they were requested, with any text in their values.
#include "files.hpp"

#include "catch.hpp"

#include <fabricost/specs/load.hpp>

using namespace fabricost::core;
using namespace specs;

namespace {

class RandomTexts {
 public:
  explicit RandomTexts(unsigned seed) : random_(seed) {}

  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  /// Words that contain characters with a meaning in YAML.
  std::string line() {
    static const std::vector<std::string> pieces{"nic", ".",  "gdr=", "900 GB/s per direction",
                                                 "\"",  "\\", "'",    ": ",
                                                 "#",   " #", "- ",   "null",
                                                 "~",   "[",  "]",    "{a: 1}",
                                                 "&a",  "*",  "!",    "%",
                                                 "|",   "é",  "true", "1",
                                                 "1e5", ",",  "?",    "@",
                                                 "`",   ">",  "x",    "--- "};
    std::string out = "x";
    for (int i = below(8); i > 0; --i) out += pieces[static_cast<std::size_t>(below(static_cast<int>(pieces.size())))];
    return out + "y";
  }

 private:
  std::mt19937 random_;
};

}  // namespace

TEST_CASE("a saved system is read as it was saved, whatever its texts hold", "[specs][property]") {
  const Folder folder;
  RandomTexts random(20261120);
  for (int i = 0; i < 500; ++i) {
    SavedSystem saved{.extends = "dgx-h100", .set = {}, .calibration = {}};
    for (int n = random.below(4); n > 0; --n) saved.set.push_back(random.line());
    if (random.below(3) == 0) saved.calibration = "none";
    if (random.below(3) == 0)  // the text of a file
      for (int n = 2 + random.below(4); n > 0; --n) saved.calibration += random.line() + "\n";
    const std::string text = saved_system_yaml(saved, random.line());
    INFO("case " << i << ":\n" << text);
    const auto read = read_saved_system(folder.write("saved.yaml", text));
    REQUIRE(read);
    CHECK(read->extends == saved.extends);
    CHECK(read->set == saved.set);
    CHECK(read->calibration == saved.calibration);
  }
}

TEST_CASE("a saved machine is the machine that was saved", "[specs]") {
  const Folder folder;
  const SavedSystem saved{
      .extends = "aws-p5", .set = {"nic.gdr=false", "tiers.nvlink.bandwidth=400 GB/s per direction"}, .calibration = {}};
  const System again = load_system(folder.write("saved.yaml", saved_system_yaml(saved, "again")));
  const System asked = load_system(saved.extends, saved.set);
  REQUIRE(again.tiers.size() == asked.tiers.size());
  for (std::size_t i = 0; i < asked.tiers.size(); ++i) {
    CHECK(again.tiers[i].name == asked.tiers[i].name);
    CHECK(again.tiers[i].bandwidth.value == asked.tiers[i].bandwidth.value);
    CHECK(again.tiers[i].latency.value == asked.tiers[i].latency.value);
    CHECK(again.tiers[i].gpu_direct == asked.tiers[i].gpu_direct);
  }
  CHECK(again.domain == asked.domain);
  CHECK(again.gpus_per_node == asked.gpus_per_node);
}
