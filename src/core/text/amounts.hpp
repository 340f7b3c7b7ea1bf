#pragma once
/// Amounts with units as users type them, 30s, 10min, 15T tokens, 2TB/s, 1 %, 2.50, and as they are printed.

#include <fabricost/namespaces.hpp>
#include <fabricost/units.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost::core {

/// Seconds of "30s", "1.5ms", "10min", "4h", "54d". \throws RequestError naming the option, for any other
/// text and for negative times
[[nodiscard]] double duration_of(const std::string& text, std::string_view option);

/// parse_size and parse_sizes with the option's name in the message. \throws RequestError
[[nodiscard]] Bytes size_of(const std::string& text, std::string_view option);
[[nodiscard]] std::vector<Bytes> sizes_of(const std::string& text, std::string_view option);

/// Bytes of a text that says its unit, as in files: "288 GB". \throws RequestError
[[nodiscard]] double stated_size_of(const std::string& text, std::string_view option);

/// A whole number in a range; 0 for an empty text. \throws RequestError
[[nodiscard]] int count_of(const std::string& text, std::string_view option, int min = 1, int max = 10'000'000);

/// Tokens that a suffix stands for: k or K 1024 and M 1024 k, as context lengths are named; 0: no such suffix.
[[nodiscard]] double length_unit(std::string_view suffix);
/// A whole number of tokens within a range, with a suffix or without: "4096", "128k", "1M". \throws RequestError
[[nodiscard]] int length_of(const std::string& text, std::string_view option, int min = 1, int max = 10'000'000);

/// A positive count with an optional k, M, B (or G) or T: "15T" tokens. \throws RequestError
[[nodiscard]] double large_count_of(const std::string& text, std::string_view option);

/// A share as "0.01" or "1%", from 0 to 1. \throws RequestError
[[nodiscard]] double share_of(const std::string& text, std::string_view option);

/// A plain number in a range. \throws RequestError
[[nodiscard]] double number_from(const std::string& text, std::string_view option, double min, double max);
/// The same for whole numbers; "1.5" and "1e3" are refused. \throws RequestError
[[nodiscard]] int whole_number_from(const std::string& text, std::string_view option, int min, int max);

/// Bytes per second of a storage system: "2TB/s". \throws RequestError
[[nodiscard]] double storage_rate_of(const std::string& text, std::string_view option);
/// Bytes per second of what goes one way by its nature, as reads do: "25 GB/s" or "200 Gbit/s". \throws RequestError
[[nodiscard]] double one_way_rate_of(const std::string& text, std::string_view option);
/// One-way bytes per second of a link, whose rate says its direction, as in files: "50 GB/s per direction". \throws RequestError
[[nodiscard]] double link_rate_of(const std::string& text, std::string_view option);

/// "3.09 h", "2.4 days", "41 s": two to four digits in the largest unit that is at least one.
[[nodiscard]] std::string duration_text(double seconds);
[[nodiscard]] inline std::string duration_text(Time time) { return duration_text(time.value()); }
/// One that was given, in the largest unit that says it exactly: "106.5 days", "100 s".
[[nodiscard]] std::string given_time_text(double seconds);
[[nodiscard]] inline std::string given_time_text(Time time) { return given_time_text(time.value()); }

/// "11,796 USD", "1.77 M USD", "0.0123 USD": at least three digits.
[[nodiscard]] std::string dollars_text(double dollars);
[[nodiscard]] inline std::string dollars_text(Dollars price) { return dollars_text(price.value()); }

/// "405.9 B", "1.808 T", "12.3 k": a count, as of parameters, in four digits.
[[nodiscard]] std::string count_text(double n);

/// "20.89 MW", "15.6 T": four digits with a decimal prefix in front of the unit.
[[nodiscard]] std::string large_text(double value, std::string_view unit = "");

/// Seconds; nothing for a negative time, or for a text other than a number with us, ms or s.
[[nodiscard]] std::optional<double> parse_duration(std::string_view text);
/// "1.234", "12340": the given number of digits, without an exponent but for what is below 0.0001.
[[nodiscard]] std::string figure(double value, int digits = 4);
/// "250 us", "30 ms", "1.5 s": four digits.
[[nodiscard]] std::string short_time_text(double seconds);

/// "1.8 MiB", "219 KiB": binary units, one decimal below ten.
[[nodiscard]] std::string rough_size(double bytes);

/// "12.34 %"
[[nodiscard]] std::string percent(double share, int decimals);
/// In the fewest digits: "31.8", "32768".
[[nodiscard]] std::string min_text(double value);
[[nodiscard]] std::string with_unit(double value, const std::string& unit);

}  // namespace fabricost::core
