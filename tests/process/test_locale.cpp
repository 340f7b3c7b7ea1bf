// Numbers and names read and print the same whatever locale the program has set.
#include "catch.hpp"

#include "answers.hpp"

#include <unistd.h>

#include <array>
#include <clocale>
#include <cstdlib>
#include <locale>

using namespace process;

namespace {

/// 1.234,5 instead of 1234.5.
class Commas : public std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

constexpr std::array<const char*, 2> languages{"de_DE", "tr_TR"};

/// C locales of these languages, compiled where the machine can. Made at once and first, because the C library remembers what it did not
/// find; where they cannot be made, those that are installed will do.
class Locales {
 public:
  Locales() : folder_(std::filesystem::temp_directory_path() / ("fabricost-locales-" + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_);
    bool made = true;
    for (const std::string language : languages) {
      const std::filesystem::path target = folder_ / (language + ".UTF-8");
      const std::string compile = "localedef -c -i " + language + " -f UTF-8 " + target.string() + " >/dev/null 2>&1";
      (void)std::system(compile.c_str());  // NOLINT(cert-env33-c,concurrency-mt-unsafe): its warnings count as a failure
      made = made && std::filesystem::exists(target / "LC_NUMERIC");
    }
    if (made) setenv("LOCPATH", folder_.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
  }
  ~Locales() {
    unsetenv("LOCPATH");  // NOLINT(concurrency-mt-unsafe)
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  Locales(const Locales&) = delete;
  Locales& operator=(const Locales&) = delete;

  /// The name under which `language` is now set; empty when it cannot be had.
  [[nodiscard]] static std::string set(const std::string& language) {
    for (const char* suffix : {".UTF-8", ".utf8", ""})
      if (std::setlocale(LC_ALL, (language + suffix).c_str()) != nullptr) return language + suffix;
    return "";
  }

 private:
  std::filesystem::path folder_;
};

/// Back to how it was.
struct Restore {
  std::string before = std::setlocale(LC_ALL, nullptr);
  std::locale global;
  ~Restore() {
    std::locale::global(global);
    std::setlocale(LC_ALL, before.c_str());
  }
};

}  // namespace

TEST_CASE("answers are the same under a C++ locale with commas and grouped digits", "[process]") {
  const std::vector<std::string> plain = answers();
  const Restore restore;
  std::locale::global(std::locale(std::locale::classic(), new Commas));
  const std::vector<std::string> other = answers();
  REQUIRE(plain.size() == other.size());
  for (std::size_t i = 0; i < plain.size(); ++i) CHECK(plain[i] == other[i]);
}

TEST_CASE("answers are the same under C locales with commas or other letters", "[process]") {
  const std::vector<std::string> plain = answers();
  const Locales locales;
  for (const char* language : languages) {
    const Restore restore;
    const std::string name = Locales::set(language);
    if (name.empty()) {
      WARN("skipped: there is neither a locale " << language << " nor localedef and its sources to make one");
      continue;
    }
    INFO(name);
    REQUIRE(std::string{std::localeconv()->decimal_point} == ",");
    std::locale::global(std::locale(name.c_str()));  // std::regex and streams ask this one
    const std::vector<std::string> other = answers();
    REQUIRE(plain.size() == other.size());
    for (std::size_t i = 0; i < plain.size(); ++i) CHECK(plain[i] == other[i]);
  }
}
