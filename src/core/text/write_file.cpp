/// Writes a temporary file in the target's folder, then renames it.

#include "text/write_file.hpp"

#include "text/files_read.hpp"
#include "text/plain_text.hpp"

#include <fabricost/error.hpp>

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

namespace fabricost::core {

namespace {

/// Creates a new file, never overwriting or following a link, with the mode and owner of the file it
/// replaces.
[[nodiscard]] std::FILE* created(const std::filesystem::path& path, const struct stat* replaced) {
  const int number = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, replaced != nullptr ? 0600 : 0666);
  if (number < 0) return nullptr;
  if (replaced != nullptr) {
    if (replaced->st_uid != ::geteuid() || replaced->st_gid != ::getegid()) (void)!::fchown(number, replaced->st_uid, replaced->st_gid);
    (void)::fchmod(number, replaced->st_mode & 0777U);
  }
  std::FILE* file = ::fdopen(number, "wb");
  if (file == nullptr) (void)::close(number);
  return file;
}

/// \param over_read whether a file that was read may be replaced
void put_file(const std::string& target, const std::string& text, std::string_view named, bool over_read) {
  if (target.empty()) throw RequestError(fmt::format("{}: names no file", named));
  std::error_code error;
  std::filesystem::path path = target;
  struct stat replaced {};
  bool there = false;
  if (std::filesystem::exists(path, error)) {
    path = std::filesystem::canonical(path, error);  // keeps a link
    if (error || !std::filesystem::is_regular_file(path))
      throw RequestError(fmt::format("{} {}: is not a regular file; name one, or a path that is free", named, target));
    there = ::stat(path.c_str(), &replaced) == 0;
    if (there && !over_read)
      if (const std::string read = path_read(replaced); !read.empty())
        throw RequestError(fmt::format("{} {}: is also read{}, and would be lost; write to another file", named, target,
                                       read == path ? "" : fmt::format(" (as {})", read)));
  }
  static std::atomic<unsigned> written_before{0};  // two threads may write the same file; the later one wins
  const std::filesystem::path temporary = path.parent_path() / fmt::format(".fabricost-{}-{}.tmp", getpid(), written_before++);
  std::FILE* file = created(temporary, there ? &replaced : nullptr);
  if (file == nullptr)
    throw RequestError(fmt::format("{} {}: cannot be written there; name a file in a folder that is there and yours", named, target));
  const std::string shown = plain_text(text);
  errno = 0;
  struct stat about {};
  const bool whole = std::fwrite(shown.data(), 1, shown.size(), file) == shown.size() && std::fflush(file) == 0 &&
                     ::fsync(::fileno(file)) == 0 && ::fstat(::fileno(file), &about) == 0;
  int why = whole ? 0 : errno;
  if (std::fclose(file) != 0 && why == 0) why = errno;
  if (whole && why == 0 && ::rename(temporary.c_str(), path.c_str()) == 0) return note_written(about);
  if (why == 0) why = errno;
  std::filesystem::remove(temporary, error);
  throw RequestError(fmt::format("{} {}: could not be written: {}", named, target, std::strerror(why)));
}

}  // namespace

void write_file(const std::string& target, const std::string& text, std::string_view named) { put_file(target, text, named, false); }

void write_fitted(const std::string& target, const std::string& text, std::string_view named) { put_file(target, text, named, true); }

}  // namespace fabricost::core
