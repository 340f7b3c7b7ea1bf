/// Files are told apart by device and inode: links and other spellings of a path are the same file.

#include "text/files_read.hpp"

#include <sys/stat.h>
#include <map>
#include <mutex>
#include <system_error>
#include <utility>

namespace fabricost::core {

namespace {

using Identity = std::pair<dev_t, ino_t>;
Identity identity_of(const struct stat& about) { return {about.st_dev, about.st_ino}; }

/// The size and time of a file as this process left it.
using Version = std::pair<off_t, time_t>;
Version version_of(const struct stat& about) { return {about.st_size, about.st_mtime}; }

struct Register {
  std::mutex mutex;
  std::map<Identity, std::filesystem::path> read;
  std::map<Identity, Version> written;
};
Register& files() {
  static Register out;
  return out;
}

}  // namespace

void note_read(const std::filesystem::path& file, const struct stat& about) {
  std::error_code error;
  const std::filesystem::path whole = std::filesystem::absolute(file, error);  // the current folder may change
  Register& all = files();
  const std::lock_guard lock(all.mutex);
  all.read.try_emplace(identity_of(about), error ? file : whole);
}

void note_written(const struct stat& about) {
  Register& all = files();
  const std::lock_guard lock(all.mutex);
  all.written.insert_or_assign(identity_of(about), version_of(about));
  all.read.erase(identity_of(about));
}

std::string path_read(const struct stat& about) {
  Register& all = files();
  const std::lock_guard lock(all.mutex);
  const auto found = all.read.find(identity_of(about));
  if (found == all.read.end()) return {};
  const auto own = all.written.find(identity_of(about));
  if (own != all.written.end() && own->second == version_of(about)) return {};
  struct stat now {};
  const bool same = ::stat(found->second.c_str(), &now) == 0 && identity_of(now) == identity_of(about);
  return same ? found->second.string() : std::string{};  // else it was removed, and its number belongs to another file
}

}  // namespace fabricost::core
