/// \file byte_source.cpp
/// gzip by zlib, zstd by libzstd: several packed parts may follow each other, as `cat` makes them.

#include "readings/dumps/byte_source.hpp"

#include "text/line_reader.hpp"

#include <zlib.h>
#include <zstd.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <string_view>
#include <vector>

namespace fabricost::io {

using Refill = std::function<std::size_t(char*, std::size_t)>;

class ByteSource::Unpacker {
 public:
  Unpacker() = default;
  Unpacker(const Unpacker&) = delete;
  Unpacker& operator=(const Unpacker&) = delete;
  virtual ~Unpacker() = default;
  /// \param broken set where the packed bytes end too early or make no sense
  virtual std::size_t read(char* to, std::size_t size, const Refill& refill, bool& broken) = 0;

 protected:
  std::vector<char> in_ = std::vector<char>(std::size_t{1} << 16U);
};

namespace {

class Gzip : public ByteSource::Unpacker {
 public:
  Gzip() {
    constexpr int gzip_only = 16 + MAX_WBITS;
    (void)inflateInit2(&stream_, gzip_only);
  }
  ~Gzip() override { inflateEnd(&stream_); }

  std::size_t read(char* to, std::size_t size, const Refill& refill, bool& broken) override {
    stream_.next_out = reinterpret_cast<Bytef*>(to);
    stream_.avail_out = static_cast<uInt>(size);
    while (stream_.avail_out == size && !broken) {
      if (stream_.avail_in == 0) {
        stream_.next_in = reinterpret_cast<Bytef*>(in_.data());
        stream_.avail_in = static_cast<uInt>(refill(in_.data(), in_.size()));
        if (stream_.avail_in == 0) {
          broken = !whole_;
          break;
        }
      }
      if (whole_) {
        if (*stream_.next_in != 0x1F) break;  // padding after the last part
        (void)inflateReset(&stream_);
      }
      const int state = inflate(&stream_, Z_NO_FLUSH);
      whole_ = state == Z_STREAM_END;
      broken = state != Z_OK && state != Z_STREAM_END && state != Z_BUF_ERROR;
    }
    return size - stream_.avail_out;
  }

 private:
  z_stream stream_{};
  bool whole_ = false;
};

class Zstd : public ByteSource::Unpacker {
 public:
  Zstd() : stream_(ZSTD_createDStream()) {}
  ~Zstd() override { ZSTD_freeDStream(stream_); }

  std::size_t read(char* to, std::size_t size, const Refill& refill, bool& broken) override {
    ZSTD_outBuffer out{to, size, 0};
    while (out.pos == 0 && !broken) {
      if (input_.pos == input_.size) {
        input_ = {in_.data(), refill(in_.data(), in_.size()), 0};
        if (input_.size == 0) {
          broken = wanted_ != 0;
          break;
        }
      }
      wanted_ = ZSTD_decompressStream(stream_, &out, &input_);
      broken = ZSTD_isError(wanted_) != 0;
    }
    return out.pos;
  }

 private:
  ZSTD_DStream* stream_;
  ZSTD_inBuffer input_{nullptr, 0, 0};
  std::size_t wanted_ = 0;
};

}  // namespace

ByteSource::ByteSource(const std::filesystem::path& file) : name_(file == "-" ? "standard input" : file.string()) {
  if (file == "-") {
    if (isatty(STDIN_FILENO) == 1)
      throw fault_of_file(name_, "is a terminal", "pipe a log into it: kubectl logs ... | fabricost diagnose -");
    file_ = STDIN_FILENO;
  } else {
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
    unpacker_ = std::make_unique<Gzip>();
  else if (head == "\x28\xB5\x2F\xFD")
    unpacker_ = std::make_unique<Zstd>();
}

ByteSource::~ByteSource() {
  if (file_ > STDIN_FILENO) close(file_);
}

std::size_t ByteSource::raw(char* to, std::size_t size) {
  for (;;) {
    const ssize_t count = ::read(file_, to, size);
    if (count >= 0) return static_cast<std::size_t>(count);
    if (errno != EINTR)
      throw fault_of_file(name_, std::string{"cannot be read: "} + std::strerror(errno), "name a file that you may read");
  }
}

std::size_t ByteSource::read(char* to, std::size_t size) {
  const Refill refill = [&](char* into, std::size_t most) {
    if (head_at_ == head_size_) return raw(into, most);
    const std::size_t count = std::min(most, head_size_ - head_at_);
    std::memcpy(into, head_.data() + head_at_, count);
    head_at_ += count;
    return count;
  };
  return unpacker_ && !cut_ ? unpacker_->read(to, size, refill, cut_) : unpacker_ ? 0 : refill(to, size);
}

}  // namespace fabricost::io
