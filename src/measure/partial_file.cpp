/// \file partial_file.cpp
/// One line at a time, flushed.

#include "measure/partial_file.hpp"

#include <fabricost/error.hpp>

#include <fmt/format.h>

#include <unistd.h>
#include <cerrno>
#include <cstring>

namespace fabricost::measure {

PartialFile::PartialFile(const std::filesystem::path& target) {
  std::error_code error;
  if (std::filesystem::exists(target, error) && !std::filesystem::is_regular_file(target, error))
    throw RequestError(fmt::format("-o {}: is not a regular file", target.string()));
  path_ = target;
  path_ += fmt::format(".{}.partial", getpid());
  file_ = std::fopen(path_.c_str(), "wb");
  if (file_ == nullptr) throw RequestError(fmt::format("-o {}: cannot be written there: {}", target.string(), std::strerror(errno)));
}

PartialFile::~PartialFile() {
  if (file_ != nullptr) (void)std::fclose(file_);
}

void PartialFile::line(std::string_view text) {
  if (file_ == nullptr) return;
  (void)std::fwrite(text.data(), 1, text.size(), file_);
  (void)std::fflush(file_);
}

void PartialFile::remove() {
  if (file_ != nullptr) (void)std::fclose(file_);
  file_ = nullptr;
  std::error_code error;
  std::filesystem::remove(path_, error);
}

}  // namespace fabricost::measure
