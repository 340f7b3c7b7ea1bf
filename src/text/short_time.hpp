#pragma once
/// \file short_time.hpp
/// Times from microseconds to seconds as text: "30ms", "1 s", "250 us". Private to the sources.

#include <optional>
#include <string>
#include <string_view>

namespace fabricost::io {

/// Seconds; nothing for a negative time, or for a text other than a number with us, ms or s.
[[nodiscard]] std::optional<double> parse_duration(std::string_view text);
/// "250 us", "30 ms", "1.5 s": four digits.
[[nodiscard]] std::string short_time_text(double seconds);

}  // namespace fabricost::io
