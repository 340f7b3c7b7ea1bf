/// \file write_file.cpp
/// A temporary file in the target's folder, then a rename.

#include "write_file.hpp"

#include <fabricost/error.hpp>

#include <fmt/format.h>

#include <unistd.h>
#include <atomic>
#include <cstdio>
#include <filesystem>

namespace fabricost::cli {

void write_file(const std::string& target, const std::string& text, std::string_view option) {
  std::error_code error;
  std::filesystem::path path = target;
  if (std::filesystem::exists(path, error)) {
    path = std::filesystem::canonical(path, error);  // a link stays one
    if (error || !std::filesystem::is_regular_file(path))
      throw RequestError(fmt::format("{} {}: is not a regular file; name one, or a path that is free", option, target));
  }
  static std::atomic<unsigned> written_before{0};  // two threads may write one file, the later wins
  const std::filesystem::path temporary =
      path.parent_path() / fmt::format(".{}.{}-{}.tmp", path.filename().string(), getpid(), written_before++);
  std::FILE* file = std::fopen(temporary.c_str(), "wbx");
  if (file == nullptr)
    throw RequestError(fmt::format("{} {}: cannot be written there; name a file in a folder that is there and yours", option, target));
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const bool closed = std::fclose(file) == 0;
  if (written && closed) std::filesystem::rename(temporary, path, error);
  if (!written || !closed || error) {
    std::filesystem::remove(temporary, error);
    throw RequestError(fmt::format("{} {}: could not be written", option, target));
  }
}

}  // namespace fabricost::cli
