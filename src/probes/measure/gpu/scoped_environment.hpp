#pragma once
/// Sets environment variables for a scope and restores them at its end. Not thread-safe.

#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace fabricost::probes::measure::gpu {

class ScopedEnvironment {
 public:
  explicit ScopedEnvironment(const std::vector<std::pair<std::string, std::string>>& set) {
    for (const auto& [variable, value] : set) {
      const char* before = std::getenv(variable.c_str());
      before_.emplace_back(variable, before != nullptr ? std::optional<std::string>(before) : std::nullopt);
      setenv(variable.c_str(), value.c_str(), 1);
    }
  }
  ~ScopedEnvironment() {
    for (auto entry = before_.rbegin(); entry != before_.rend(); ++entry) {
      if (entry->second)
        setenv(entry->first.c_str(), entry->second->c_str(), 1);
      else
        unsetenv(entry->first.c_str());
    }
  }
  ScopedEnvironment(const ScopedEnvironment&) = delete;
  ScopedEnvironment& operator=(const ScopedEnvironment&) = delete;

 private:
  std::vector<std::pair<std::string, std::optional<std::string>>> before_;
};

}  // namespace fabricost::probes::measure::gpu
