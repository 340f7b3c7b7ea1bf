#pragma once
/// Quantities as text, and in streams: `out << time`. Units are case sensitive where case carries meaning (Gbit/GB); numbers always use a
/// decimal point, in every locale.

#include <fabricost/compiled_part.hpp>
#include <fabricost/units.hpp>

#include <concepts>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost::core {

/// "256MiB", "1 GB", "4096" (bytes); "64k" is refused. \throws RequestError naming valid spellings
[[nodiscard]] Bytes parse_size(std::string_view text);

/// "1KiB:8GiB:x2" (times 2), "1MiB:16MiB:+1MiB" (steps), "4KiB,64KiB,1MiB" (a list), "256MiB" (one). \throws RequestError
[[nodiscard]] std::vector<Bytes> parse_sizes(std::string_view text);

/// "256 MiB", "4 KiB", "1.5 GB", "100 B": exact binary sizes in binary units, others decimal.
[[nodiscard]] std::string size_text(Bytes bytes);
/// "12.3 us", "4.56 ms"
[[nodiscard]] std::string time_text(Time time);
/// "450 GB/s"
[[nodiscard]] std::string rate_text(Bandwidth bandwidth);

/// "256 MiB" and "12.3 us" as size_text and time_text write them; others with four digits and a decimal prefix: "400 Gbit/s",
/// "989.4 Tflop/s", "900 GB/s both directions", "2.95 USD/h".
[[nodiscard]] std::string text_of(Bytes size);
[[nodiscard]] std::string text_of(Time time);
[[nodiscard]] std::string text_of(Bandwidth rate);
[[nodiscard]] std::string text_of(DuplexBandwidth rate);
[[nodiscard]] std::string text_of(WireBits bits);
[[nodiscard]] std::string text_of(LineRate rate);
[[nodiscard]] std::string text_of(Flops work);
[[nodiscard]] std::string text_of(FlopRate rate);
[[nodiscard]] std::string text_of(Joules energy);
[[nodiscard]] std::string text_of(Watts power);
[[nodiscard]] std::string text_of(Dollars money);
[[nodiscard]] std::string text_of(DollarRate rent);

/// A quantity that text_of writes: sizes, times, rates, work, energy, power and money.
template <class Q>
concept Printed = requires(Q q) {
  q.value();
  { text_of(q) } -> std::same_as<std::string>;
};

template <Printed Q>
std::ostream& operator<<(std::ostream& out, const Q& quantity) {
  return out << text_of(quantity);
}

}  // namespace fabricost::core

namespace fabricost {
using core::parse_size;
using core::parse_sizes;
using core::rate_text;
using core::size_text;
using core::time_text;
}  // namespace fabricost
