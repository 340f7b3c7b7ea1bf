// The precompiled form of data/: the same trees as the parser's, and no say over a file that reads otherwise.
#include "catch.hpp"

#include "catalogue/shipped_specs.hpp"
#include "files.hpp"
#include "specs/catalogue.hpp"
#include "support/skipped.hpp"

#include <fabricost/pictures/picture.hpp>
#include <fabricost/specs/data_directory.hpp>

#include <algorithm>
#include <iterator>
#include <random>

namespace {

using namespace fabricost::core;

using namespace specs;

/// The catalogue in use for as long as this lives.
class Using {
 public:
  explicit Using(std::string bytes) : bytes_(std::move(bytes)), view_(bytes_) { use_catalogue(view_); }
  ~Using() { use_catalogue(none_); }
  Using(const Using&) = delete;
  Using& operator=(const Using&) = delete;

 private:
  static constexpr std::string_view none_{};
  std::string bytes_;
  std::string_view view_;
};

std::vector<fs::path> shipped_files() {
  std::vector<fs::path> out;
  for (const auto& entry : fs::recursive_directory_iterator(data_directory()))
    if (entry.path().extension() == ".yaml") out.push_back(entry.path());
  std::sort(out.begin(), out.end());
  return out;
}

/// The first place where two trees differ; empty: none.
std::string difference(const SpecNode& a, const SpecNode& b, const std::string& path = "root") {
  if (a.kind != b.kind) return path + ": kind";
  if (a.text != b.text) return path + ": \"" + a.text + "\" and \"" + b.text + '"';
  if (a.mark.line != b.mark.line || a.mark.column != b.mark.column) return path + ": mark";
  if (a.items.size() != b.items.size() || a.entries.size() != b.entries.size()) return path + ": size";
  for (std::size_t i = 0; i < a.items.size(); ++i)
    if (std::string inside = difference(a.items[i], b.items[i], path + '[' + std::to_string(i) + ']'); !inside.empty()) return inside;
  for (std::size_t i = 0; i < a.entries.size(); ++i) {
    const SpecNode::Entry &mine = a.entries[i], &other = b.entries[i];
    if (mine.key != other.key || mine.mark.line != other.mark.line || mine.mark.column != other.mark.column)
      return path + ": key " + mine.key + " and " + other.key;
    if (std::string inside = difference(mine.value, other.value, path + '.' + mine.key); !inside.empty()) return inside;
  }
  return {};
}

/// The tree that a catalogue holds for `text`; empty if it holds none.
std::optional<SpecNode> held(std::string_view catalogue, const std::string& text) {
  auto file = std::make_shared<SpecFile>();
  file->text = text;
  return tree_in(catalogue, text, file);
}

std::string catalogue_with(const std::string& text) {
  return catalogue_of(std::vector<ParsedDocument>{{text, parse_spec_text(text, "t")}});
}

const std::string odd =
    "# a comment\nname: box\ntitle: \"quoted \\\"twice\\\"\"\nnotes: |\n  two\n  lines\nsingle: 'it''s'\nempty:\nlist: [1, two, {three: "
    "[\"3\"]}]\n"
    "caf\u00e9: \u00e9t\u00e9\nfolded: >\n  a\n  b\n? key\n: value\n";

}  // namespace

TEST_CASE("the command's catalogue holds every file of data/ as the parser reads it", "[specs]") {
  const std::vector<fs::path> files = shipped_files();
  REQUIRE(files.size() > 300);
  if (shipped_specs.empty()) {
    fabricost::test::skip_case("this build cannot run what it builds, so its catalogue is empty");
    return;
  }
  for (const fs::path& file : files) {
    INFO(file.string());
    const SpecNode parsed = parse_spec(file);
    const std::optional<SpecNode> precompiled = held(shipped_specs, parsed.mark.file->text);
    REQUIRE(precompiled.has_value());
    CHECK(difference(parsed, *precompiled) == "");
  }
}

TEST_CASE("systems and the errors of --set are the same with and without a catalogue", "[specs]") {
  const auto all = [] {
    std::vector<std::string> out;
    for (const SystemName& one : system_names()) out.push_back(picture(load_system(one.name)));
    out.push_back(outcome_of([] { (void)load_system("dgx-h100", std::vector<std::string>{"nvlink.links=99"}); }).text);
    return out;
  };
  const std::vector<std::string> parsed = all();
  const Using shipped{std::string{shipped_specs}};
  const std::vector<std::string> precompiled = all();
  REQUIRE(parsed.size() == precompiled.size());
  for (std::size_t i = 0; i < parsed.size(); ++i) CHECK(parsed[i] == precompiled[i]);
  CHECK(parsed.back().find("dgx-h100.yaml") != std::string::npos);
}

TEST_CASE("a tree comes back from bytes with every text and place", "[specs]") {
  for (const std::string& text : {odd, good_system, good_gpu, good_link, good_switch, std::string{"[]"}, std::string{"a"}, std::string{}}) {
    INFO(text);
    const std::optional<SpecNode> back = held(catalogue_with(text), text);
    REQUIRE(back.has_value());
    CHECK(difference(parse_spec_text(text, "t"), *back) == "");
  }
}

TEST_CASE("a file edited after the catalogue was made says what it says now", "[specs]") {
  const Folder folder;
  const Using catalogue{catalogue_with(good_link)};
  const std::string file = folder.write("wire.yaml", good_link);
  CHECK(load_link(file).lanes == 2);
  folder.write("wire.yaml", replaced(good_link, "latency: 150 ns", "latency: 151 ns"));  // as long as before
  CHECK(load_link(file).latency.value.value() == Approx(151e-9));
  folder.write("wire.yaml", replaced(good_link, "latency: 150 ns", "latency: 150 xs"));
  const Outcome outcome = outcome_of([&] { (void)load_link(file); });
  CHECK(outcome.says("wire.yaml:12:10: latency: \"150 xs\""));
}

TEST_CASE("errors of a file in the catalogue name its own path, line and column", "[specs]") {
  const Folder folder;
  const std::string text = replaced(good_link, "lanes: 2", "lanes: two");
  const std::string file = folder.write("wire.yaml", text);
  const std::string parsed = outcome_of([&] { (void)load_link(file); }).text;
  const Using catalogue{catalogue_with(text)};
  CHECK(outcome_of([&] { (void)load_link(file); }).text == parsed);
  CHECK(parsed.find("wire.yaml:6:8: lanes: \"two\"") != std::string::npos);
}

TEST_CASE("a cut or damaged catalogue is as good as none", "[specs]") {
  const std::string whole =
      catalogue_of(std::vector<ParsedDocument>{{odd, parse_spec_text(odd, "t")}, {good_gpu, parse_spec_text(good_gpu, "t")}});
  const SpecNode parsed = parse_spec_text(odd, "t");
  const auto harmless = [&](const std::string& bytes) {
    const std::optional<SpecNode> found = held(bytes, odd);
    return !found || difference(parsed, *found).empty();
  };
  REQUIRE(held(whole, odd).has_value());
  for (std::size_t size = 0; size < whole.size(); ++size) REQUIRE(harmless(whole.substr(0, size)));
  std::mt19937 random(7);
  int lost = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string damaged = whole;
    for (auto n = 1 + random() % 3; n > 0; --n) damaged[random() % damaged.size()] = static_cast<char>(random());
    REQUIRE(harmless(damaged));
    lost += held(damaged, odd) ? 0 : 1;
  }
  CHECK(lost > 1000);
}
