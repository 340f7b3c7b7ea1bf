#pragma once
/// \file unmet.hpp
/// A plan that can be asked for but not had: why, as a value, so that a caller need not read the message.

#include <fabricost/refusal.hpp>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace fabricost {

enum class Unmet : unsigned char {
  memory,  ///< no layout or deployment fits the GPUs' memory
  limits   ///< some fit, none keeps the limits on time
};
inline constexpr std::array<std::string_view, 2> unmet_names{"memory", "limits"};
[[nodiscard]] constexpr std::string_view name(Unmet u) { return unmet_names[static_cast<std::size_t>(u)]; }

/// Its words name fields as a Refusal does. Everything else that cannot be answered, as sizes that do not divide, is a RequestError of no
/// such kind.
class UnmetError : public Refusal {
 public:
  UnmetError(Unmet why, const std::string& message) : Refusal(message), why_(why) {}
  [[nodiscard]] Unmet why() const { return why_; }

 private:
  Unmet why_;
};

}  // namespace fabricost
