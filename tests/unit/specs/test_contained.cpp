// The page's form of data/: the same trees as the parser's, without their places.
#include "catch.hpp"

#include "specs/sources/contained.hpp"
#include "web/host/contained_text.hpp"

#include <fabricost/specs/data_directory.hpp>

namespace {

using namespace fabricost::core;

/// The first place where two trees differ; empty: none.
std::string difference(const SpecNode& a, const SpecNode& b, const std::string& path = "root") {
  if (a.kind != b.kind) return path + ": kind";
  if (a.text != b.text) return path + ": \"" + a.text + "\" and \"" + b.text + '"';
  if (a.items.size() != b.items.size() || a.entries.size() != b.entries.size()) return path + ": size";
  for (std::size_t i = 0; i < a.items.size(); ++i)
    if (std::string inside = difference(a.items[i], b.items[i], path + '[' + std::to_string(i) + ']'); !inside.empty()) return inside;
  for (std::size_t i = 0; i < a.entries.size(); ++i) {
    const SpecNode::Entry &mine = a.entries[i], &other = b.entries[i];
    if (mine.key != other.key) return path + ": key " + mine.key + " and " + other.key;
    if (std::string inside = difference(mine.value, other.value, path + '.' + mine.key); !inside.empty()) return inside;
  }
  return {};
}

}  // namespace

TEST_CASE("every file of data/ comes back from what a program contains of it", "[specs]") {
  const std::filesystem::path data = data_directory();
  std::vector<std::string> folders;
  for (const auto& entry : std::filesystem::directory_iterator(data))
    if (entry.is_directory()) folders.push_back(entry.path().filename().string());
  const std::vector<std::string> lines = fabricost::web::contained_lines(data, folders);
  std::string all;
  for (const std::string& line : lines) all += line;
  use_contained(all);
  for (const std::string& line : lines) {
    const std::string name = line.substr(0, line.find(' '));
    INFO(name);
    const std::string path = std::string{contained_data} + "/" + name;
    CHECK(is_contained(path));
    const std::optional<SpecNode> back = contained_tree(path, std::make_shared<SpecFile>());
    REQUIRE(back.has_value());
    CHECK(difference(parse_spec(data / name), *back) == "");
  }
  CHECK(lines.size() > 300);
  CHECK(is_contained(std::string{contained_data} + "/systems"));
  CHECK_FALSE(is_contained(std::string{contained_data} + "/system"));
  CHECK(contained_names(std::string{contained_data} + "/links").size() > 5);
  use_contained({});
  CHECK_FALSE(has_contained());
}
