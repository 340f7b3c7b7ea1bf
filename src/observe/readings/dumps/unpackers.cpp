/// gzip by zlib, zstd by libzstd.

#include "readings/dumps/byte_source.hpp"

#include <zlib.h>
#include <zstd.h>

namespace fabricost::observe {

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

std::unique_ptr<ByteSource::Unpacker> gzip_unpacker() { return std::make_unique<Gzip>(); }
std::unique_ptr<ByteSource::Unpacker> zstd_unpacker() { return std::make_unique<Zstd>(); }

}  // namespace fabricost::observe
