#pragma once
/// Queries the driver's management library (NVML), loaded at run time. Functions keep their arguments under
/// their versioned names (NVML API reference), so no header of the toolkit is needed. Without the library,
/// the fields stay unknown.

#include "measure/device.hpp"

#include <string>

namespace fabricost::probes::measure::gpu {

class Management {
 public:
  Management();
  ~Management();
  Management(const Management&) = delete;
  Management& operator=(const Management&) = delete;

  /// The reason why the library is not available; empty if it is.
  [[nodiscard]] const std::string& why_not() const { return why_not_; }
  /// Version of the driver; empty: unknown.
  [[nodiscard]] std::string driver() const;
  /// Fills in the properties of the GPU at this bus address.
  void describe(Unit& unit) const;
  [[nodiscard]] State state(const std::string& bus) const;

 private:
  struct Functions;
  void* handle_ = nullptr;
  Functions* functions_ = nullptr;
  std::string why_not_{};
};

/// Clock reasons that slow a GPU down, as text; idle and the user's own clock settings are not included.
[[nodiscard]] std::string throttle_words(unsigned long long reasons);

}  // namespace fabricost::probes::measure::gpu
