#pragma once
/// \file partial_file.hpp
/// Points on disk while they are measured, so that a crash leaves them. The finished file takes its place in one step afterwards
/// (text/write_file.hpp), and this one goes.

#include <cstdio>
#include <filesystem>
#include <string_view>

namespace fabricost::measure {

/// `TARGET.PID.partial` beside the target (`TARGET.PID-1.partial` where a dead run left that): a file of ours, never one that is there nor
/// where a link leads.
class PartialFile {
 public:
  /// \throws RequestError when nothing can be written there, or the target is there and no regular file
  explicit PartialFile(const std::filesystem::path& target);
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;
  /// Leaves the file where it is: only `remove` knows that the points are elsewhere.
  ~PartialFile();

  /// Writes and hands over to the operating system, which keeps it should we crash. A full disk shows when the finished file is written.
  void line(std::string_view text);
  void remove();
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  std::FILE* file_ = nullptr;
};

}  // namespace fabricost::measure
