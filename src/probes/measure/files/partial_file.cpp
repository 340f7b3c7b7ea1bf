/// \file partial_file.cpp
/// Writes one line at a time and flushes it.

#include "measure/files/partial_file.hpp"

#include <fabricost/error.hpp>

#include <fmt/format.h>

#include <fcntl.h>
#include <unistd.h>
#include <cerrno>
#include <cstring>

namespace fabricost::probes::measure {

PartialFile::PartialFile(const std::filesystem::path& target) {
  std::error_code error;
  if (std::filesystem::exists(target, error) && !std::filesystem::is_regular_file(target, error))
    throw RequestError(fmt::format("-o {}: is not a regular file", target.string()));
  constexpr int max_left = 100;  // partial files of dead runs with our process id
  int number = -1;
  for (int i = 0; i < max_left && number < 0 && (i == 0 || errno == EEXIST || errno == ELOOP); ++i) {
    path_ = target;
    path_ += fmt::format(".{}{}.partial", getpid(), i == 0 ? "" : fmt::format("-{}", i));
    number = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  }
  if (number >= 0) {
    file_ = ::fdopen(number, "wb");
    if (file_ == nullptr) (void)::close(number);
  }
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

}  // namespace fabricost::probes::measure
