#pragma once
/// Locales with a decimal comma and different capitalisation, created on machines that do not have them
/// installed.

#include <unistd.h>

#include <array>
#include <clocale>
#include <cstdlib>
#include <filesystem>
#include <locale>
#include <string>

namespace fabricost::test {

inline constexpr std::array<const char*, 2> languages{"de_DE", "tr_TR"};

/// C locales of these languages, compiled if possible. Created before anything else, because the C library
/// remembers failed look-ups; otherwise the installed ones are used.
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

  /// The name under which `language` is now set; empty if it is not available.
  [[nodiscard]] static std::string set(const std::string& language) {
    for (const char* suffix : {".UTF-8", ".utf8", ""})
      if (std::setlocale(LC_ALL, (language + suffix).c_str()) != nullptr) return language + suffix;
    return "";
  }

 private:
  std::filesystem::path folder_;
};

/// Restores the previous locale.
struct Restore {
  std::string before = std::setlocale(LC_ALL, nullptr);
  std::locale global;
  ~Restore() {
    std::locale::global(global);
    std::setlocale(LC_ALL, before.c_str());
  }
};

}  // namespace fabricost::test
