// Numbers and names read and print the same whatever locale the program has set.
#include "catch.hpp"

#include "answers.hpp"
#include "support/locales.hpp"
#include "support/skipped.hpp"

#include <clocale>
#include <locale>

using namespace process;
using namespace fabricost::test;

namespace {

/// 1.234,5 instead of 1234.5.
class Commas : public std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

void same_as(const std::vector<std::string>& plain) {
  const std::vector<std::string> other = answers();
  REQUIRE(plain.size() == other.size());
  for (std::size_t i = 0; i < plain.size(); ++i) CHECK(plain[i] == other[i]);
}

}  // namespace

TEST_CASE("answers are the same under a C++ locale with commas and grouped digits", "[process]") {
  const std::vector<std::string> plain = answers();
  const Restore restore;
  std::locale::global(std::locale(std::locale::classic(), new Commas));
  same_as(plain);
}

TEST_CASE("answers are the same under C locales with commas or other letters", "[process]") {
  const std::vector<std::string> plain = answers();
  const Locales locales;
  for (const char* language : languages) {
    const Restore restore;
    const std::string name = Locales::set(language);
    if (name.empty()) {
      skip_case(std::string("there is neither a locale ") + language + " nor localedef and its sources to make one");
      continue;
    }
    INFO(name);
    REQUIRE(std::string{std::localeconv()->decimal_point} == ",");
    std::locale::global(std::locale(name.c_str()));  // std::regex and streams ask this one
    same_as(plain);
  }
}
