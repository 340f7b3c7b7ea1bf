#pragma once
/// What is read of data/ once for each folder that it is, and kept while the process runs.

#include <fabricost/specs/data_directory.hpp>

#include <map>
#include <mutex>
#include <type_traits>
#include <utility>

namespace fabricost::core {

/// The value that `read` makes of the data folder. \param read a lambda, each of which has values of its own
template <class Read>
[[nodiscard]] const std::invoke_result_t<Read, const std::filesystem::path&>& read_once(const Read& read) {
  static std::mutex guard;
  static std::map<std::filesystem::path, std::invoke_result_t<Read, const std::filesystem::path&>> known;
  std::filesystem::path data = data_directory();
  const std::lock_guard lock(guard);
  const auto at = known.find(data);
  if (at != known.end()) return at->second;
  auto value = read(std::as_const(data));
  return known.emplace(std::move(data), std::move(value)).first->second;
}

}  // namespace fabricost::core
