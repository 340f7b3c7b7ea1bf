#pragma once
/// \file short_time.hpp
/// Times from microseconds to seconds as people write them: "30ms", "1 s", "250 us". Private to the sources.

#include <optional>
#include <string>
#include <string_view>

namespace fabricost::io {

/// Seconds; nothing for a text that is no number with us, ms or s behind it, or is negative.
[[nodiscard]] std::optional<double> parse_duration(std::string_view text);
/// "250 us", "30 ms", "1.5 s": four digits.
[[nodiscard]] std::string short_time_text(double seconds);

}  // namespace fabricost::io
