#pragma once
/// \file short_text.hpp
/// Times and sizes in few characters: "30ms", "250 us", "1.8 MiB".

#include <fabricost/namespaces.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace fabricost::core {

/// Seconds; nothing for a negative time, or for a text other than a number with us, ms or s.
[[nodiscard]] std::optional<double> parse_duration(std::string_view text);
/// "1.234", "12340": the given number of digits, without an exponent but for what is below 0.0001.
[[nodiscard]] std::string figure(double value, int digits = 4);
/// "250 us", "30 ms", "1.5 s": four digits.
[[nodiscard]] std::string short_time_text(double seconds);

}  // namespace fabricost::core

namespace fabricost::core {

/// "1.8 MiB", "219 KiB": binary units, one decimal below ten.
[[nodiscard]] std::string rough_size(double bytes);

}  // namespace fabricost::core
