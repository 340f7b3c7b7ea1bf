// Files that are no YAML, no file, too much of one, or YAML that the format leaves out.
#include "broken.hpp"

#include <sys/stat.h>

#include <fabricost/specs/data_directory.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>

using namespace specs;

namespace {

Broken yaml(std::string title, std::string text, std::vector<std::string> says) {
  return {std::move(title), Document::system, std::move(text), std::move(says)};
}
std::string repeated(std::string_view text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}
std::string bytes(std::initializer_list<int> values) {
  std::string out;
  for (const int v : values) out += static_cast<char>(v);
  return out;
}

}  // namespace

TEST_CASE("what is not YAML is refused where it stops being so", "[specs]") {
  check({
      yaml("a tab", "name: box\n^\tgpu: h100-sxm\n", {"not valid YAML", "tab", "indent with spaces"}),
      yaml("a tab in a list", "name: box\ntiers:\n  - name: nvlink\n^\trole: scale_up\n", {"not valid YAML: a tab", "indent with spaces"}),
      yaml("a tab behind a dash", "name: box\ntiers:\n  -^\tname: nvlink\n    role: scale_up\n", {"not valid YAML: a tab"}),
      yaml("an unclosed double quote", "name: box\ntitle: ^\"A box\ngpu: h100-sxm\n", {"a quote that is never closed", "close it with \""}),
      yaml("an unclosed single quote", "name: box\ntitle: ^'A ''box''\ngpu: h100-sxm\n",
           {"a quote that is never closed", "close it with '"}),
      yaml("an escaped closing quote", "title: ^\"A box\\\"\n", {"a quote that is never closed"}),
      yaml("an unclosed list", good_system + "    dims: [4, 4\n", {"not valid YAML", "a [ is not closed"}),
      yaml("an unclosed map", "name: {a: 1\n", {"not valid YAML", "a { is not closed"}),
      yaml("a comma before the first key", "^, name: box\ngpu: h100-sxm\n", {"not valid YAML: unexpected text"}),
      yaml("a missing colon", "name: box\ngpu h100-sxm\ngpus^: 8\n", {"not valid YAML", "the line before lacks its colon"}),
      yaml("a colon in a text", "title: a^: b\n", {"not valid YAML", "needs quotes"}),
      yaml("a list as a key", "? ^[a, b]\n: 1\n", {"a key must be plain text"}),
      yaml("a key without name", "^: 1\nname: box\n", {"a key is missing"}),
      yaml("an escape nobody knows", "title: \"\\q\"\n", {"not valid YAML"}),
  });
}

TEST_CASE("a link that contradicts the rate of the file it extends is named where it stands", "[specs]") {
  check({yaml("of a tier", "name: box\nextends: mi300x-8\ntiers:\n  - {name: nic, link: ^infiniband-hdr}\n",
              {"1 x infiniband-hdr is 25 GB/s per direction, but the file it extends says 50", "give the bandwidth beside it"})});
}

TEST_CASE("duplicate keys are refused at any depth", "[specs]") {
  check({
      yaml("at the top", good_system + "^gpu: h200-sxm\n", {"\"gpu\" is given twice", "keep one of them"}),
      yaml("in a tier", replaced(good_system, "    kind: switch\n", "    kind: switch\n    ^kind: ring\n"), {"\"kind\" is given twice"}),
      yaml("in a value", replaced(good_system, "links: 18", "links: {value: 18, ^value: 4}"), {"\"value\" is given twice"}),
      yaml("two tiers of one name", "name: box\nextends: dgx-h100\ntiers:\n  - {name: nvlink, links: 4}\n  - {name: ^nvlink, links: 5}\n",
           {"a second tier \"nvlink\"; the first is in line 4", "names are unique"}),
      yaml("three at once", replaced(good_system, "links: 18", "links: {value: 18, value: 4, value: 5}") + "gpu: b200-sxm\n",
           {":13:24: ", ":13:34: ", "\"gpu\" is given twice"}),
  });
}

TEST_CASE("anchors, aliases and tags are no part of the format", "[specs]") {
  std::string bomb = "a: &a [x, x, x, x, x, x, x, x, x]\n";
  for (char c = 'b'; c <= 'z'; ++c)
    bomb += std::string{c} + ": &" + c + " [" + repeated("*" + std::string(1, static_cast<char>(c - 1)) + ", ", 8) + "*a]\n";
  check({
      yaml("an anchor", "name: ^&n box\n", {"anchors (&name) are not part of the format", "write the value out"}),
      yaml("an alias", "name: &n box\ntitle: ^*n\n", {"aliases (*name) are not part of the format", "extends"}),
      yaml("an alias of nothing", "title: ^*n\n", {"not valid YAML", "anchor is not defined"}),
      yaml("a bomb of aliases", bomb, {"anchors", "aliases"}),
      yaml("a tag", "name: ^!!str box\n", {"tags (!name) are not part of the format", "leave it out"}),
      yaml("a tag on a map", "name: ^!!python/object:os.system {}\n", {"tags (!name)"}),
  });
}

TEST_CASE("documents too deep or too large are refused at once", "[specs]") {
  std::string keys;
  for (int i = 0; i < 60000; ++i) keys += "k" + std::to_string(i) + ": 1\n";
  check({
      yaml("1000 lists", "a: " + repeated("[", 1000) + repeated("]", 1000) + "\n", {"nested more than 24 deep"}),
      yaml("1000 maps", "a: " + repeated("{a: ", 1000) + "1" + repeated("}", 1000) + "\n", {"nested more than 24 deep"}),
      yaml("1000 dashes", repeated("- ", 1000) + "a\n", {"nested more than 24 deep"}),
      yaml("half a million brackets", repeated("[", 500000), {}),
      yaml("60,000 unknown keys", keys, {"more than 10000 values"}),
      yaml("a million numbers", "tiers: [" + repeated("1,", 500000) + "1]\n", {"more than 10000 values"}),
      yaml("a name of a million letters", "name: box\ngpu: ^" + std::string(1000000, 'a') + "\n", {"no gpu named \"aaaa", "..."}),
      yaml("a key of a thousand letters", "name: box\n^" + std::string(1000, 'k') + ": 1\n", {"unknown key", "kkk..."}),
      yaml("a key of a million letters", std::string(1000000, 'k') + ": 1\n", {"not valid YAML"}),
      yaml("more than 1 MiB", "notes: " + repeated("a b c d\n  ", 200000), {"are too many", "at most 1048576 bytes"}),
      yaml("a thousand faults", "tiers: [" + repeated("{role: nic, a: 1},", 1000) + "]\n", {"unknown key"}),
  });
}

TEST_CASE("bytes that are no text are refused", "[specs]") {
  check({
      yaml("a zero byte", "name: bo" + std::string(1, '\0') + "x\n", {":1:9: ", "byte 0x00 is not text"}),
      yaml("a control byte", "name: box\ntitle: \x1b[31mred\n", {":2:8: ", "byte 0x1b is not text"}),
      yaml("a zero byte in an escape", "title: ^\"a\\0b\"\n", {"characters that are no text", "leave the escapes"}),
      yaml("a terminal escape in an escape", "title: ^\"\\e[31m\"\n", {"characters that are no text"}),
      yaml("half a character", "title: caf" + bytes({0xc3}) + "\n", {":1:11: ", "byte 0xc3 is not text", "UTF-8"}),
      yaml("latin-1", "title: caf" + bytes({0xe9}) + " x\n", {"byte 0xe9 is not text"}),
      yaml("a slash written long", "title: " + bytes({0xc0, 0xaf}) + "\n", {"byte 0xc0 is not text"}),
      yaml("a surrogate", "title: " + bytes({0xed, 0xa0, 0x80}) + "\n", {"byte 0xed is not text"}),
      yaml("beyond Unicode", "title: " + bytes({0xf4, 0x90, 0x80, 0x80}) + "\n", {"byte 0xf4 is not text"}),
      yaml("UTF-16", bytes({0xff, 0xfe, 'n', 0, 'a', 0}), {":1:1: ", "byte 0xff is not text"}),
  });
}

TEST_CASE("only regular files are read", "[specs]") {
  const Folder folder;
  fs::create_directories(folder.path("folder.yaml"));
  REQUIRE(mkfifo(folder.path("pipe.yaml").c_str(), 0600) == 0);
  fs::create_symlink(folder.path("loop.yaml"), folder.path("loop.yaml"));
  fs::create_symlink("/dev/zero", folder.path("zero.yaml"));
  folder.write("sparse.yaml", "name: box\n");
  fs::resize_file(folder.path("sparse.yaml"), 50'000'000);
  struct Case {
    std::string file, says;
  };
  for (const Case& c :
       {Case{folder.path("folder.yaml").string(), "not a regular file"}, Case{folder.path("pipe.yaml").string(), "not a regular file"},
        Case{folder.path("zero.yaml").string(), "not a regular file"}, Case{"/dev/zero", "not a regular file"},
        Case{"/dev/null", "not a regular file"}, Case{"/", "not a regular file"}, Case{folder.path("loop.yaml").string(), "no such file"},
        Case{folder.path("nowhere.yaml").string(), "no such file"}, Case{folder.path("nowhere/at/all.yaml").string(), "no such file"},
        Case{folder.path("sparse.yaml").string(), "50000000 bytes are too many"},
        Case{folder.path(std::string(5000, 'x') + ".yaml").string(), "no such file"}}) {
    INFO(c.file.substr(0, 80));
    for (const Document kind : {Document::gpu, Document::link, Document::switches, Document::system}) {
      const Outcome outcome = outcome_of([&] { load(kind, c.file); });
      INFO(outcome.text);
      CHECK(outcome.kind == Outcome::Kind::spec_error);
      CHECK(outcome.says(c.file));
      CHECK(outcome.says(c.says));
      CHECK(outcome.seconds < 1);
    }
  }
}

TEST_CASE("all faults of a file are reported at once, each at its line", "[specs]") {
  const Folder folder;
  std::string text = good_system;
  text = replaced(text, "title: A box", "titel: A box");              // 2
  text = replaced(text, "gpu: h100-sxm", "gpu: h100-sxn");            // 5
  text = replaced(text, "gpus: 8", "gpus: eight");                    // 6
  text = replaced(text, "kind: switch", "kind: star");                // 10
  text = replaced(text, "links: 18", "links: -18");                   // 13
  text = replaced(text, "nvswitch-3", "nvswitch-33");                 // 14
  text = replaced(text, "infiniband-ndr", "infiniband-nrd");          // 20
  text = replaced(text, "transport: infiniband", "transport: wlan");  // 21
  text = replaced(text, "gdr: true", "gdr: 7");                       // 23
  const Outcome outcome = outcome_of([&] { load(Document::system, folder.write("many.yaml", text)); });
  INFO(outcome.text);
  std::vector<int> lines;
  for (const fabricost::core::Issue& issue : outcome.issues) lines.push_back(issue.line);
  std::sort(lines.begin(), lines.end());
  // one GPU less than the tier joins follows from line 6, a NIC tier without rate from line 20
  lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
  for (const int line : {2, 5, 6, 10, 13, 14, 20, 21, 23}) {
    INFO(line);
    CHECK(std::find(lines.begin(), lines.end(), line) != lines.end());
  }
  for (const fabricost::core::Issue& issue : outcome.issues) CHECK_FALSE(issue.message.empty());
}

TEST_CASE("a tier without its role has that fault alone", "[specs]") {
  const Folder folder;
  const std::string text = replaced(good_system, "gpus: 8\n", "gpus: 8\nnodes: 4\n") +
                           "  - {name: leaf, kind: rails, endpoints: 4, link: infiniband-ndr, oversubscription: 2}\n";
  const Outcome outcome = outcome_of([&] { load(Document::system, folder.write("box.yaml", text)); });
  INFO(outcome.text);
  CHECK(outcome.issues.size() == 1);
  CHECK(outcome.says("tiers[2].role: is missing"));
}

TEST_CASE("faults of the parts are reported with those of the system that names them", "[specs]") {
  const Folder folder;
  folder.write("gpu.yaml", replaced(good_gpu, "80 GB", "80"));
  folder.write("link.yaml", replaced(good_link, "25 GB/s", "50 GB/s"));
  folder.write("switch.yaml", "name: [box\n");
  std::string text = replaced(good_system, "h100-sxm", "./gpu.yaml");
  text = replaced(text, "nvlink-4", "link.yaml");
  text = replaced(text, "nvswitch-3", "switch.yaml");
  text = replaced(text, "gdr: true", "gdr: 7");
  text += "  - {name: ring, role: network, kind: fat_tree, endpoints: 2, link: infiniband-ndr, switch: switch.yaml}\n";  // said once
  const Outcome outcome = outcome_of([&] { load(Document::system, folder.write("box.yaml", text)); });
  INFO(outcome.text);
  CHECK(outcome.issues.size() == 4);
  CHECK(outcome.says("gpu.yaml:7:9: memory: \"80\" has no unit"));
  CHECK(outcome.says("link.yaml:9:12: bandwidth"));
  CHECK(outcome.says("switch.yaml:"));
  CHECK(outcome.says("box.yaml:23:10: tiers[1].gdr"));
}

TEST_CASE("a file of another kind is refused in one line that says what it is", "[specs]") {
  const auto refused = [](std::string_view folder, std::string_view key, std::string_view option) {
    for (const std::string& name : fabricost::core::names_in(folder)) {
      INFO(name);
      const std::string file = (fabricost::core::data_directory() / folder / (name + ".yaml")).string();
      std::ifstream in(file);
      const std::string text{std::istreambuf_iterator<char>(in), {}};
      if (text.find(fmt::format("\n{}:", key)) == std::string::npos) continue;  // it says less than its kind
      const Outcome outcome = outcome_of([&] { load(Document::system, file); });
      CHECK(outcome.issues.size() == 1);
      CHECK((outcome.says("not a machine") && outcome.says(option)));
    }
  };
  refused("calibrations", "constants", "--calibration FILE");
  refused("models", "layers", "--model FILE");
  refused("gpus", "hbm", "the file of a machine");
}
