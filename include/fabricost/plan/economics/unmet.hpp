#pragma once
/// The error for a valid request that no plan meets, with the reason as a value.

#include <fabricost/error.hpp>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace fabricost::plan {

enum class Unmet : unsigned char {
  memory,  ///< no layout or deployment fits the GPUs' memory
  limits   ///< some fit, but none meets the limits on time
};
inline constexpr std::array<std::string_view, 2> unmet_names{"memory", "limits"};
[[nodiscard]] constexpr std::string_view name(Unmet u) { return unmet_names[static_cast<std::size_t>(u)]; }

/// Its text names fields, as a Refusal's does. Requests that are invalid, such as sizes that do not divide,
/// are RequestErrors without a reason.
class UnmetError : public Refusal {
 public:
  UnmetError(Unmet why, const std::string& message) : Refusal(message), why_(why) {}
  [[nodiscard]] Unmet why() const { return why_; }

 private:
  Unmet why_;
};

}  // namespace fabricost::plan
