#pragma once
/// The bytes of a file or of standard input in blocks, unpacked while they are read if the first ones say gzip or zstd.
/// The page has no unpackers (src/web/left_out.cpp).

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace fabricost::observe {

class ByteSource {
 public:
  /// \param file "-" for standard input \throws SpecError when it cannot be read
  explicit ByteSource(const std::filesystem::path& file);
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;
  ~ByteSource();

  /// Up to `size` bytes; 0 after the last. \throws SpecError when it cannot be read, or is damaged from the start
  [[nodiscard]] std::size_t read(char* to, std::size_t size);
  [[nodiscard]] bool packed() const { return unpacker_ != nullptr; }
  /// The packed file ends too early, or is damaged after a part that could be read.
  [[nodiscard]] bool cut() const { return cut_; }
  [[nodiscard]] const std::string& name() const { return name_; }

  class Unpacker;

  /// Logs are packed 5 to 50 to 1; a file that unpacks to more than 16 MiB, and to 250 times what was read of it, is refused.
  static constexpr std::uintmax_t unpacked_freely = std::uintmax_t{16} << 20U, most_packed = 250;

 private:
  [[nodiscard]] std::size_t raw(char* to, std::size_t size);

  std::string name_;
  int file_ = -1;
  std::array<char, 4> head_{};
  std::size_t head_size_ = 0, head_at_ = 0;
  std::unique_ptr<Unpacker> unpacker_;
  bool cut_ = false;
  std::uintmax_t packed_ = 0, unpacked_ = 0;
};

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
