// The page's form of data/: the same trees as the parser's.
#include "catch.hpp"

#include "files.hpp"
#include "specs/sources/packed_tree.hpp"

#include <fabricost/specs/data_directory.hpp>

#include <random>

namespace {

using namespace fabricost::core;

using namespace specs;

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

std::optional<SpecNode> unpacked(std::string_view bytes) { return unpacked_tree(bytes, std::make_shared<SpecFile>()); }

const std::string odd =
    "# a comment\nname: box\ntitle: \"quoted \\\"twice\\\"\"\nnotes: |\n  two\n  lines\nsingle: 'it''s'\nempty:\nlist: [1, two, {three: "
    "[\"3\"]}]\n"
    "caf\u00e9: \u00e9t\u00e9\nfolded: >\n  a\n  b\n? key\n: value\n";

}  // namespace

TEST_CASE("a tree comes back from bytes with every text and place", "[specs]") {
  for (const std::string& text : {odd, good_system, good_gpu, good_link, good_switch, std::string{"[]"}, std::string{"a"}, std::string{}}) {
    INFO(text);
    const SpecNode parsed = parse_spec_text(text, "t");
    const std::optional<SpecNode> back = unpacked(packed_tree(parsed));
    REQUIRE(back.has_value());
    CHECK(difference(parsed, *back) == "");
  }
  int files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(data_directory())) {
    if (entry.path().extension() != ".yaml") continue;
    INFO(entry.path().string());
    const SpecNode parsed = parse_spec(entry.path());
    const std::optional<SpecNode> back = unpacked(packed_tree(parsed));
    REQUIRE(back.has_value());
    CHECK(difference(parsed, *back) == "");
    ++files;
  }
  CHECK(files > 300);
}

TEST_CASE("cut or damaged bytes give no tree, or one of other words", "[specs]") {
  const std::string whole = packed_tree(parse_spec_text(odd, "t"));
  for (std::size_t size = 0; size < whole.size(); ++size) CHECK_FALSE(unpacked(whole.substr(0, size)).has_value());
  std::mt19937 random(7);
  int lost = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string damaged = whole;
    for (auto n = 1 + random() % 3; n > 0; --n) damaged[random() % damaged.size()] = static_cast<char>(random());
    lost += unpacked(damaged) ? 0 : 1;
  }
  CHECK(lost > 1000);
}
