#pragma once
/// \file unpackers.hpp
/// Unpackers of files while they are read. The page has none (src/web/left_out.cpp).

#include "readings/dumps/byte_source.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

namespace fabricost::observe {

class ByteSource::Unpacker {
 public:
  using Refill = std::function<std::size_t(char*, std::size_t)>;

  Unpacker() = default;
  Unpacker(const Unpacker&) = delete;
  Unpacker& operator=(const Unpacker&) = delete;
  virtual ~Unpacker() = default;
  /// \param broken set where the packed bytes end too early or make no sense
  virtual std::size_t read(char* to, std::size_t size, const Refill& refill, bool& broken) = 0;

 protected:
  std::vector<char> in_ = std::vector<char>(std::size_t{1} << 16U);
};

/// Several packed parts may follow each other, as `cat` makes them.
[[nodiscard]] std::unique_ptr<ByteSource::Unpacker> gzip_unpacker();
[[nodiscard]] std::unique_ptr<ByteSource::Unpacker> zstd_unpacker();

}  // namespace fabricost::observe
