/// Files and standard input in blocks.

#include "readings/dumps/byte_source.hpp"

#include "text/files_read.hpp"
#include "text/line_reader.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

namespace fabricost::observe {

ByteSource::ByteSource(const std::filesystem::path& file) : name_(file == "-" ? "standard input" : file.string()) {
  if (file == "-") {
    if (isatty(STDIN_FILENO) == 1)
      throw fault_of_file(name_, "is a terminal", "pipe a log into it: kubectl logs ... | fabricost diagnose -");
    file_ = STDIN_FILENO;
  } else {
    note_regular_file(file);  // a pipe without a writer would be waited for
    file_ = open(file.c_str(), O_RDONLY | O_CLOEXEC);
    if (file_ < 0) throw fault_of_file(name_, std::string{"cannot be read: "} + std::strerror(errno), "name a file that you may read");
  }
  while (head_size_ < head_.size()) {
    const std::size_t count = raw(head_.data() + head_size_, head_.size() - head_size_);
    if (count == 0) break;
    head_size_ += count;
  }
  const std::string_view head{head_.data(), head_size_};
  if (head.starts_with("\x1F\x8B"))
    unpacker_ = gzip_unpacker();
  else if (head == "\x28\xB5\x2F\xFD")
    unpacker_ = zstd_unpacker();
}

ByteSource::~ByteSource() {
  if (file_ > STDIN_FILENO) close(file_);
}

std::size_t ByteSource::raw(char* to, std::size_t size) {
  for (;;) {
    const ssize_t count = ::read(file_, to, size);
    if (count >= 0) {
      packed_ += static_cast<std::uintmax_t>(count);
      return static_cast<std::size_t>(count);
    }
    if (errno != EINTR)
      throw fault_of_file(name_, std::string{"cannot be read: "} + std::strerror(errno), "name a file that you may read");
  }
}

std::size_t ByteSource::read(char* to, std::size_t size) {
  const Unpacker::Refill refill = [&](char* into, std::size_t most) {
    if (head_at_ == head_size_) return raw(into, most);
    const std::size_t count = std::min(most, head_size_ - head_at_);
    std::memcpy(into, head_.data() + head_at_, count);
    head_at_ += count;
    return count;
  };
  if (!unpacker_) return refill(to, size);
  if (cut_) return 0;
  const std::size_t count = unpacker_->read(to, size, refill, cut_);
  unpacked_ += count;
  if (unpacked_ > unpacked_freely && unpacked_ / most_packed > packed_)
    throw fault_of_file(name_, "is packed more than 250 to 1, and unpacks to more than 16 MiB",
                        "if it is a log, unpack it by hand and keep the lines that differ");
  return count;
}

}  // namespace fabricost::observe
