// The table of probes, and the page that is made from it: `test_measure "[write]"` writes the page's tables again.
#include "readings/probe_table.hpp"

#include <fmt/format.h>

#include "catch.hpp"

using namespace fabricost::probes::measure;

namespace {

const std::string page = std::string{FABRICOST_SOURCE_DIR} + "/docs/reference/probes.md";
constexpr std::string_view begin = "<!-- probes: ", end = "<!-- end of probes -->";

std::string text_of(const std::string& file) {
  std::ostringstream out;
  out << std::ifstream(file).rdbuf();
  return out.str();
}

std::string table_of(std::string_view groups) {
  std::string out = "\n| probe | timed | `bytes` | left out, or good to know |\n|---|---|---|---|\n";
  for (const ProbeType& probe : probe_table)
    if (groups.find(name(probe.group)) != std::string_view::npos)
      out += fmt::format("| `{}` | {} | {} | {} |\n", probe.word, probe.timed, probe.bytes, probe.remark);
  return out + "\n";
}

/// The page with the tables as the rows say.
std::string written(const std::string& old) {
  std::string out;
  std::size_t at = 0;
  for (std::size_t mark = old.find(begin); mark != std::string::npos; mark = old.find(begin, at)) {
    const std::size_t from = old.find('\n', mark) + 1, to = old.find(end, from);
    const std::string groups = old.substr(mark + begin.size(), from - mark - begin.size());
    out += old.substr(at, from - at) + table_of(groups);
    at = to;
  }
  return out + old.substr(at);
}

}  // namespace

TEST_CASE("every probe has a word of its own and says what it times") {
  std::set<std::string_view> words;
  for (const ProbeType& probe : probe_table) {
    INFO(probe.word);
    CHECK(words.insert(probe.word).second);
    CHECK_FALSE(probe.timed.empty());
    CHECK(probe_named(probe.word) == &probe);
    CHECK((probe.mover.empty() || probe.traffic > 0));
  }
  CHECK(probe_named("Memory-Read") == &type_of(ProbeKind::memory_read));
  CHECK(probe_named("all_reduce") == nullptr);
}

TEST_CASE("docs/reference/probes.md has the table's rows; test_measure [write] writes them") {
  const bool as_the_table_says = written(text_of(page)) == text_of(page);  // not compared in CHECK, which would print both pages
  INFO("write its tables again: test_measure \"[write]\"");
  CHECK(as_the_table_says);
}

TEST_CASE("write docs/reference/probes.md", "[.write]") {
  const std::string text = written(text_of(page));
  std::ofstream(page) << text;
}
