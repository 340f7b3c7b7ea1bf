/// Reads in blocks, so that neither a long file nor an endless line takes memory.

#include "text/line_reader.hpp"

#include "text/files_read.hpp"
#include "text/plain_text.hpp"

#include <fabricost/progress.hpp>

#include <sys/stat.h>
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <limits>
#include <system_error>

namespace fabricost::core {

namespace {

constexpr std::size_t block_size = std::size_t{1} << 16U;
constexpr std::size_t longest_excerpt = 200;

/// On one line.
std::string shown(std::string text) {
  std::replace_if(text.begin(), text.end(), [](char c) { return c == '\n' || c == '\t'; }, ' ');
  return plain_text(std::move(text));
}

/// True if every byte is ASCII, as in nearly all logs; eight bytes per step.
bool is_ascii(const std::string& text) {
  constexpr std::uint64_t high_bits = 0x8080808080808080ULL;
  std::size_t i = 0;
  for (; i + sizeof(std::uint64_t) <= text.size(); i += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + i, sizeof word);
    if ((word & high_bits) != 0) return false;
  }
  for (; i < text.size(); ++i)
    if (static_cast<unsigned char>(text[i]) >= 0x80) return false;
  return true;
}

/// The kind of a path that is not a regular file.
const char* kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISCHR(mode) || S_ISBLK(mode)) return "a device";
  if (S_ISFIFO(mode)) return "a pipe";
  return S_ISSOCK(mode) ? "a socket" : "no regular file";
}

}  // namespace

void note_regular_file(const std::filesystem::path& file) {
  struct stat about {};
  if (::stat(file.c_str(), &about) != 0) {
    if (errno == ENOENT || errno == ENOTDIR)
      throw fault_of_file(file.string(), "there is no such file", "a path counts from the current folder");
    throw fault_of_file(file.string(), "cannot be read: " + std::generic_category().message(errno), "name a file that you may read");
  }
  if (!S_ISREG(about.st_mode)) throw fault_of_file(file.string(), std::string{"is "} + kind_of(about.st_mode), "name a regular file");
  note_read(file, about);
}

Issue fault_in_line(const std::string& file, int number, int column, const std::string& line, std::string message, std::string remedy) {
  std::string excerpt;
  if (line.size() <= longest_excerpt) excerpt = shown(line);
  return {.file = plain_text(file),
          .line = number,
          .column = column,
          .path = "",
          .message = shown(std::move(message)),
          .remedy = shown(std::move(remedy)),
          .excerpt = std::move(excerpt)};
}

SpecError fault_of_file(const std::string& file, std::string message, std::string remedy) {
  return SpecError({{.file = plain_text(file),
                     .line = 0,
                     .column = 0,
                     .path = "",
                     .message = std::move(message),
                     .remedy = std::move(remedy),
                     .excerpt = ""}});
}

LineReader::LineReader(const std::filesystem::path& file) : name_(file.string()), block_(block_size) {
  note_regular_file(file);
  std::error_code error;
  const auto size = std::filesystem::file_size(file, error);
  if (error) throw fault_of_file(name_, "cannot be read: " + error.message(), "name a file that you may read");
  if (size > largest_file) throw fault_of_file(name_, "is larger than 2 GiB", "keep the lines with measurements, for example with grep");
  errno = 0;
  stream_.open(file, std::ios::binary);
  if (!stream_) throw fault_of_file(name_, std::string{"cannot be read: "} + std::strerror(errno), "name a file that you may read");
}

bool LineReader::fill() {
  ask_to_go_on();
  stream_.read(block_.data(), static_cast<std::streamsize>(block_.size()));
  if (stream_.bad()) throw fault_of_file(name_, "cannot be read to its end", "");
  size_ = static_cast<std::size_t>(stream_.gcount());
  at_ = 0;
  return size_ > 0;
}

bool LineReader::marked(const std::string& line) {
  if (line.size() < line_mark.size() || line.front() != '#' || !line.starts_with(line_mark)) return false;
  constexpr long long most = 2'000'000'000;
  long long number = 0, times = 0;
  const char* const end = line.data() + line.size();
  const auto first = std::from_chars(line.data() + line_mark.size(), end, number);
  if (first.ec != std::errc{} || first.ptr == end || std::from_chars(first.ptr + 1, end, times).ec != std::errc{}) return false;
  number_ = static_cast<int>(std::clamp(number, 1LL, most)) - 1;
  times_ = static_cast<int>(std::clamp(times, 1LL, most));
  return true;
}

bool LineReader::next(std::string& line) {
  times_ = 1;
  while (read(line))
    if (!marked(line)) return true;
  return false;
}

bool LineReader::read(std::string& line) {
  line.clear();
  if (at_ == size_ && !fill()) return false;
  if (number_ < std::numeric_limits<int>::max()) ++number_;
  ended_ = false;
  while (!ended_) {
    if (at_ == size_ && !fill()) break;
    const char* from = block_.data() + at_;
    const auto* end = static_cast<const char*>(std::memchr(from, '\n', size_ - at_));
    const std::size_t length = end != nullptr ? static_cast<std::size_t>(end - from) : size_ - at_;
    line.append(from, length);
    if (line.size() > longest_line) {
      const std::size_t shown = last_state(line);
      if (shown == 0)
        throw SpecError({fault_in_line(name_, number_, 1, "", "the line is longer than 1 MiB", "this is neither a table nor a log")});
      line.erase(0, shown);
    }
    at_ += length;
    if (end != nullptr) {
      ++at_;
      ended_ = true;
    }
  }
  if (!line.empty() && line.back() == '\r') line.pop_back();
  if (number_ == 1) {
    if (line.starts_with("\xFF\xFE") || line.starts_with("\xFE\xFF"))
      throw SpecError({fault_in_line(name_, 1, 1, "", "the file is UTF-16", "write it as UTF-8: iconv -f UTF-16 -t UTF-8 FILE")});
    if (line.starts_with("\xEF\xBB\xBF")) line.erase(0, 3);
  }
  if (const auto zero = line.find('\0'); zero != std::string::npos)
    throw SpecError({fault_in_line(name_, number_, static_cast<int>(zero) + 1, "", "there is a zero byte: the file is not text",
                                   "unpack or export it first")});
  if (!is_ascii(line)) make_utf8(line);
  return true;
}

}  // namespace fabricost::core
