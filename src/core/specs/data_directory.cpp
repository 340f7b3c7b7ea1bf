/// Finds data/ relative to the program and the library, so that an installed tree can be moved: no path of
/// the build machine is compiled in, except for parts of a build tree that are not installed.

#include "specs/data_directory.hpp"

#include "compiled_part.hpp"
#include "specs/sources/contained.hpp"

#include <fabricost/error.hpp>
#include <fabricost/specs/data_directory.hpp>
#include <fabricost/specs/load.hpp>

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <utility>

namespace fabricost::core {

namespace fs = std::filesystem;

namespace {

/// The folder given to use_data_directory; empty: none. Thread-safe.
struct NamedDirectory {
  std::mutex guard;
  fs::path path;
};
NamedDirectory& named_directory() {
  static NamedDirectory directory;
  return directory;
}

fs::path this_program() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error);
}

/// The file that holds this function: a shared library, a Python module, or the program itself. dladdr searches all symbols of the
/// process, some 100 us.
fs::path this_library() {
  static const fs::path file = [] {
    Dl_info info{};
    if (dladdr(reinterpret_cast<const void*>(&FABRICOST_COMPILED_PART), &info) == 0 || info.dli_fname == nullptr) return fs::path{};
    return fs::path{info.dli_fname};
  }();
  return file;
}

}  // namespace

bool is_there(const fs::path& path) {
  std::error_code error;
  return is_contained(path) || fs::exists(path, error);
}

bool has_data(const fs::path& folder) {
  return is_there(folder / "systems");
}

namespace {
/// Whether a folder is like /tmp, where strangers may write.
bool open_to_all(const fs::path& folder) {
  std::error_code error;
  constexpr fs::perms shared = fs::perms::others_write | fs::perms::sticky_bit;
  return (fs::status(folder, error).permissions() & shared) == shared;
}
}  // namespace

fs::path data_beside(const fs::path& program) {
  if (!program.is_absolute()) return {};
  fs::path folder = program.parent_path();
  std::error_code error;
  if (fs::path wheel = folder.parent_path() / "data"; has_data(wheel)) return wheel;
  for (;; folder = folder.parent_path()) {
    if (const fs::path share = folder / "share" / "fabricost" / "data"; !open_to_all(folder) && has_data(share))
      return fs::is_symlink(share, error) ? fs::canonical(share, error) : share;
    if (folder == folder.parent_path()) return {};
  }
}

bool is_name(std::string_view text) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_' || c == '+';
  };
  return !text.empty() && text.front() != '.' && text.front() != '-' && std::all_of(text.begin(), text.end(), fits);
}

std::vector<std::string> yaml_names(const fs::path& folder) {
  if (is_contained(folder)) return contained_names(folder);
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error))
    if (std::string name = entry.path().stem().string(); entry.path().extension() == ".yaml" && is_name(name))
      names.push_back(std::move(name));
  std::sort(names.begin(), names.end());
  return names;
}

void use_data_directory(fs::path directory) {
  const std::lock_guard lock(named_directory().guard);
  named_directory().path = std::move(directory);
}

fs::path data_directory() {
  if (has_contained()) return contained_data;
  if (const char* given = std::getenv("FABRICOST_DATA"); given != nullptr && *given != '\0') {
    if (!has_data(given))
      throw RequestError(fmt::format("FABRICOST_DATA is {}, which holds no systems/; name the data folder of fabricost", given));
    return given;
  }
  fs::path named = [] {
    const std::lock_guard lock(named_directory().guard);
    return named_directory().path;
  }();
  if (!named.empty() && has_data(named)) return named;
  for (fs::path (*place)() : {this_program, this_library})
    if (fs::path beside = data_beside(place()); !beside.empty()) return beside;
  if (const char* known = package_data(); known != nullptr)
    if (fs::path package = fs::path{known}.lexically_normal(); package.is_absolute() && has_data(package)) return package;
#ifdef FABRICOST_SOURCE_DATA
  if (has_data(FABRICOST_SOURCE_DATA)) return FABRICOST_SOURCE_DATA;
#endif
  for (const char* usual : {"/usr/local/share/fabricost/data", "/usr/share/fabricost/data"})
    if (has_data(usual)) return usual;
  throw RequestError("the hardware specs are nowhere to be found; set FABRICOST_DATA to the data folder of fabricost");
}

}  // namespace fabricost::core
