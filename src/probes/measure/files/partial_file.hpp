#pragma once
/// \file partial_file.hpp
/// The points on disk during a measurement, so that they survive a crash. The finished file replaces this one
/// atomically (cli/write_file.hpp).

#include <cstdio>
#include <filesystem>
#include <string_view>

namespace fabricost::probes::measure {

/// `TARGET.PID.partial` beside the target (`TARGET.PID-1.partial` if a dead run left that file). Always a new
/// file: it neither overwrites one nor follows a link.
class PartialFile {
 public:
  /// \throws RequestError when no file can be created there, or the target exists and is not a regular file
  explicit PartialFile(const std::filesystem::path& target);
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;
  /// Does not delete the file: only `remove` is called after the points are stored elsewhere.
  ~PartialFile();

  /// Writes a line and passes it to the operating system, so that it survives a crash. A full disk is
  /// reported when the finished file is written.
  void line(std::string_view text);
  void remove();
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  std::FILE* file_ = nullptr;
};

}  // namespace fabricost::probes::measure
