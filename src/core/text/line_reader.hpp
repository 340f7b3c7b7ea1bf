#pragma once
/// A text file line by line in constant memory. Refused with a reason: anything but a regular file, more than
/// 2 GiB, lines beyond 1 MiB, zero bytes, UTF-16. Line ends may be LF or CRLF; a byte order mark is dropped;
/// bytes that are not UTF-8 (Latin-1, a cut character) become U+FFFD, so that quoted lines are text.

#include <fabricost/error.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost::core {

/// A line of this form gives the next one its number and says how many like it were left out with it: "#fabricost-line 120 17"
/// (diagnose/inputs/condense.hpp).
inline constexpr std::string_view line_mark = "#fabricost-line ";

class LineReader {
 public:
  static constexpr std::uintmax_t largest_file = std::uintmax_t{2} << 30U;
  static constexpr std::size_t longest_line = std::size_t{1} << 20U;
  /// Where the state begins that a line shows last which writes over itself with CR, as progress bars do; 0: it does not.
  [[nodiscard]] static std::size_t last_state(std::string_view line) {
    return line.size() < 2 ? 0 : line.rfind('\r', line.size() - 2) + 1;  // the last letter may be the CR of a line end
  }

  /// \throws SpecError when the file cannot be read as text
  explicit LineReader(const std::filesystem::path& file);

  /// The next line without its end; false after the last. \throws SpecError
  [[nodiscard]] bool next(std::string& line);
  /// Number of the last line read, from 1.
  [[nodiscard]] int number() const { return number_; }
  /// The number of lines that the last one read stands for.
  [[nodiscard]] int times() const { return times_; }
  /// False if the last line read ended the file without a line end: it may be cut.
  [[nodiscard]] bool ended() const { return ended_; }
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  [[nodiscard]] bool fill();
  [[nodiscard]] bool read(std::string& line);
  [[nodiscard]] bool marked(const std::string& line);

  std::string name_;
  std::ifstream stream_;
  std::vector<char> block_;
  std::size_t at_ = 0, size_ = 0;
  int number_ = 0, times_ = 1;
  bool ended_ = true;
};

/// A fault at a place of a file, shown with its line. \param column 0: the whole line
[[nodiscard]] Issue fault_in_line(const std::string& file, int number, int column, const std::string& line, std::string message,
                                  std::string remedy);

/// A fault of a whole file.
[[nodiscard]] SpecError fault_of_file(const std::string& file, std::string message, std::string remedy);

}  // namespace fabricost::core
