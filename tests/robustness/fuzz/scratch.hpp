#pragma once
/// Files of one fuzz input, in memory if the machine has such a folder; removed when the program ends.

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>

namespace fuzz {

class Scratch {
 public:
  /// The folder of this process, created on first use.
  [[nodiscard]] static Scratch& folder();

  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch();

  /// Path of a file with those bytes, replacing any file of that name.
  std::filesystem::path write(std::string_view name, std::string_view bytes) const;
  void remove(std::string_view name) const;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  Scratch();
  std::filesystem::path path_;
};

/// Text up to a line that holds only `mark`, and the text after it; the whole text and nothing if there is
/// none.
struct Halves {
  std::string_view first, second;
};
[[nodiscard]] Halves halves(std::string_view bytes, std::string_view mark = "=====");

/// Calls `take` with every line.
template <class Take>
void each_line(std::string_view bytes, Take&& take) {
  while (!bytes.empty()) {
    const std::size_t end = std::min(bytes.find('\n'), bytes.size());
    take(bytes.substr(0, end));
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
  }
}

}  // namespace fuzz
