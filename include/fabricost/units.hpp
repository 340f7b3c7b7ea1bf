#pragma once
/// \file units.hpp
/// What a number in a public signature means: `Bytes`, `Time`, `Bandwidth`, ... instead of `double`.
///
/// A quantity holds one double in its coherent unit (byte, second, byte per second, joule, dollar, ...). Numbers enter
/// through a named unit, `GiB(80)` or `80_GiB`, and leave through `in(memory, GiB).value()`. Prefixes k M G T P are
/// powers of ten, Ki Mi Gi Ti powers of two, everywhere. What a plain double would let through does not compile:
///
///   bits on the wire as bytes    Bandwidth b = Gbit_per_s(400);         write payload(Gbit_per_s(400), 0.97)
///   both directions as one       Bandwidth b = GB_per_s_duplex(900);    write one_way(GB_per_s_duplex(900))
///   GB mixed with GiB            in(a, GB) + in(b, GiB)                 write in(a, GB) + in(b, GB)
///   a number without a unit      Bytes n = 4096;                        write B(4096)
///   power taken for energy       Joules e = kW(10.2);                   write kW(10.2) * h(24)
///
/// docs/units-mistakes.md goes from a compiler's message to the mistake and its fix, and lists what no compiler sees.
/// A scalar factor must be floating point (`2.0 * t`), and a quantity is not trivially copyable: hot loops run on
/// plain doubles in coherent units and wrap the result once.

#include <boost/units/base_dimension.hpp>
#include <boost/units/base_unit.hpp>
#include <boost/units/base_units/si/second.hpp>
#include <boost/units/make_scaled_unit.hpp>
#include <boost/units/quantity.hpp>
#include <boost/units/unit.hpp>

#include <cstdio>     // snprintf
#include <stdexcept>  // invalid_argument
#include <string>

namespace fabricost {
namespace detail {

namespace bu = boost::units;

// Each dimension below converts into no other one. Ordinals only have to differ from those of every other dimension
// in the program; Boost's own are negative.

/// Payload bytes: what a message or a memory holds. Our own and not Boost's byte, which would convert to and from bits.
struct byte_dimension : bu::base_dimension<byte_dimension, 7001> {};
struct byte_base_unit : bu::base_unit<byte_base_unit, byte_dimension::dimension_type, 7001> {};
/// Bits on a wire include encoding and headers, so no constant factor leads from them to payload.
struct wire_bit_dimension : bu::base_dimension<wire_bit_dimension, 7002> {};
struct wire_bit_base_unit : bu::base_unit<wire_bit_base_unit, wire_bit_dimension::dimension_type, 7002> {};
/// Tags a rate that sums the two directions of a link.
struct both_directions_dimension : bu::base_dimension<both_directions_dimension, 7003> {};
struct both_directions_base_unit
    : bu::base_unit<both_directions_base_unit, both_directions_dimension::dimension_type, 7003> {};
/// Floating-point operations.
struct flop_dimension : bu::base_dimension<flop_dimension, 7004> {};
struct flop_base_unit : bu::base_unit<flop_base_unit, flop_dimension::dimension_type, 7004> {};
/// Energy is a base here, because nothing in this library has a mass; the watt is derived from it.
struct joule_dimension : bu::base_dimension<joule_dimension, 7005> {};
struct joule_base_unit : bu::base_unit<joule_base_unit, joule_dimension::dimension_type, 7005> {};
/// United States dollars.
struct dollar_dimension : bu::base_dimension<dollar_dimension, 7006> {};
struct dollar_base_unit : bu::base_unit<dollar_base_unit, dollar_dimension::dimension_type, 7006> {};

using byte = byte_base_unit::unit_type;
using wire_bit = wire_bit_base_unit::unit_type;
using flop = flop_base_unit::unit_type;
using joule = joule_base_unit::unit_type;
using dollar = dollar_base_unit::unit_type;
using second = bu::si::second_base_unit::unit_type;

template <class U> using per_second = typename bu::divide_typeof_helper<U, second>::type;
template <class U> using both_directions =
    typename bu::multiply_typeof_helper<U, both_directions_base_unit::unit_type>::type;

/// base^|exponent|. Exact for every unit of this file, so a whole count is rounded once: `us(5)` equals `s(5e-6)`.
[[nodiscard]] constexpr double magnitude(long base, long exponent) {
  double result = 1;
  for (long i = exponent < 0 ? -exponent : exponent; i > 0; --i) result *= static_cast<double>(base);
  return result;
}

/// A named unit of `Quantity`, worth Base^Exponent coherent units: builds a quantity from a count, and tags `in`.
template <class Quantity, long Base, long Exponent>
struct Unit {
  [[nodiscard]] constexpr Quantity operator()(double count) const {
    const double m = magnitude(Base, Exponent);
    return Quantity::from_value(Exponent < 0 ? count / m : count * m);
  }
};

/// A count of that unit. The scale is part of its type, so a count of GB does not mix with a count of GiB.
template <class Quantity, long Base, long Exponent>
using counted_in = bu::quantity<
    typename bu::make_scaled_unit<typename Quantity::unit_type, bu::scale<Base, bu::static_rational<Exponent>>>::type>;

[[noreturn]] inline void throw_efficiency_out_of_range(double efficiency) {
  char text[32];
  const int length = std::snprintf(text, sizeof text, "%.16g", efficiency);
  std::string number;  // with a point in every locale
  for (int i = 0; i < length; ++i) {
    const bool point = text[i] == ',' || static_cast<unsigned char>(text[i]) > 0x7F;  // some locales' takes several bytes, all beyond ASCII
    if (!point) number += text[i];
    if (point && number.back() != '.') number += '.';
  }
  throw std::invalid_argument("payload: efficiency " + number + " is not in (0, 1]; write 97 % as 0.97");
}

}  // namespace detail

using Bytes = detail::bu::quantity<detail::byte>;                          ///< payload, in byte
using WireBits = detail::bu::quantity<detail::wire_bit>;                   ///< size on a wire, in bit
using Flops = detail::bu::quantity<detail::flop>;                          ///< work, in floating-point operations
using Joules = detail::bu::quantity<detail::joule>;                        ///< energy, in J
using Dollars = detail::bu::quantity<detail::dollar>;                      ///< money, in USD
using Time = detail::bu::quantity<detail::second>;                         ///< elapsed time, in s
using Bandwidth = detail::bu::quantity<detail::per_second<detail::byte>>;  ///< payload in ONE direction, in byte/s
using LineRate = detail::bu::quantity<detail::per_second<detail::wire_bit>>;  ///< WireBits / Time, ONE direction
using FlopRate = detail::bu::quantity<detail::per_second<detail::flop>>;      ///< Flops / Time, in flop/s
using Watts = detail::bu::quantity<detail::per_second<detail::joule>>;        ///< power, Joules / Time, in W
using DollarRate = detail::bu::quantity<detail::per_second<detail::dollar>>;  ///< rent, Dollars / Time, in USD/s
/// Payload of the two directions of a link added up, in byte/s: the headline figure of a datasheet.
using DuplexBandwidth = detail::bu::quantity<detail::both_directions<detail::per_second<detail::byte>>>;

/// The names of the units. `Unit<Q, 10, 9>` is worth 10^9 of the coherent unit of Q.
namespace units {
// clang-format off
inline constexpr detail::Unit<Bytes, 10,  0> B{};
inline constexpr detail::Unit<Bytes, 10,  3> kB{};
inline constexpr detail::Unit<Bytes, 10,  6> MB{};
inline constexpr detail::Unit<Bytes, 10,  9> GB{};
inline constexpr detail::Unit<Bytes, 10, 12> TB{};
inline constexpr detail::Unit<Bytes, 10, 15> PB{};
inline constexpr detail::Unit<Bytes,  2, 10> KiB{};
inline constexpr detail::Unit<Bytes,  2, 20> MiB{};
inline constexpr detail::Unit<Bytes,  2, 30> GiB{};
inline constexpr detail::Unit<Bytes,  2, 40> TiB{};

inline constexpr detail::Unit<WireBits, 10, 0> bit{};
inline constexpr detail::Unit<WireBits, 10, 9> Gbit{};

inline constexpr detail::Unit<Time,   10,  0> s{};
inline constexpr detail::Unit<Time,   10, -3> ms{};
inline constexpr detail::Unit<Time,   10, -6> us{};
inline constexpr detail::Unit<Time,   10, -9> ns{};
inline constexpr detail::Unit<Time, 3600,  1> h{};

inline constexpr detail::Unit<Bandwidth, 10,  0> B_per_s{};
inline constexpr detail::Unit<Bandwidth, 10,  6> MB_per_s{};
inline constexpr detail::Unit<Bandwidth, 10,  9> GB_per_s{};
inline constexpr detail::Unit<Bandwidth, 10, 12> TB_per_s{};
inline constexpr detail::Unit<Bandwidth,  2, 30> GiB_per_s{};

inline constexpr detail::Unit<DuplexBandwidth, 10,  9> GB_per_s_duplex{};
inline constexpr detail::Unit<DuplexBandwidth, 10, 12> TB_per_s_duplex{};

inline constexpr detail::Unit<LineRate, 10,  6> Mbit_per_s{};
inline constexpr detail::Unit<LineRate, 10,  9> Gbit_per_s{};
inline constexpr detail::Unit<LineRate, 10, 12> Tbit_per_s{};

inline constexpr detail::Unit<Flops, 10,  0> flop{};
inline constexpr detail::Unit<Flops, 10,  9> Gflop{};
inline constexpr detail::Unit<Flops, 10, 12> Tflop{};
inline constexpr detail::Unit<Flops, 10, 15> Pflop{};

inline constexpr detail::Unit<FlopRate, 10,  9> Gflop_per_s{};
inline constexpr detail::Unit<FlopRate, 10, 12> Tflop_per_s{};
inline constexpr detail::Unit<FlopRate, 10, 15> Pflop_per_s{};

inline constexpr detail::Unit<Watts, 10, 0> W{};
inline constexpr detail::Unit<Watts, 10, 3> kW{};
inline constexpr detail::Unit<Watts, 10, 6> MW{};

inline constexpr detail::Unit<Joules,      10, 0> J{};
inline constexpr detail::Unit<Joules, 3600000, 1> kWh{};

inline constexpr detail::Unit<Dollars,      10,  0> USD{};
inline constexpr detail::Unit<DollarRate, 3600, -1> USD_per_h{};
// clang-format on
}  // namespace units

/// `q` as a count of `unit`: in(us(5), ns).value() is 5000. The count keeps its unit until `.value()` takes it off,
/// and `Bytes{in(m, GiB)}` undoes it. Take `.value()` directly after `in` only: elsewhere it can hide a unit.
template <class Q, long Base, long Exponent>
[[nodiscard]] constexpr auto in(Q q, detail::Unit<Q, Base, Exponent>) {
  const double m = detail::magnitude(Base, Exponent);
  return detail::counted_in<Q, Base, Exponent>::from_value(Exponent < 0 ? q.value() * m : q.value() / m);
}

/// total / 2: one direction of a link that is equally fast both ways, from the sum of both.
[[nodiscard]] constexpr Bandwidth one_way(DuplexBandwidth total) { return Bandwidth::from_value(total.value() / 2); }

/// line / 8 * efficiency, in byte/s: the payload that a line rate carries. `efficiency` is payload bits over all bits
/// on the wire (encoding, headers), in (0, 1].
/// \throws std::invalid_argument naming the efficiency when it is not in (0, 1], NaN included.
[[nodiscard]] constexpr Bandwidth payload(LineRate line, double efficiency) {
  if (!(efficiency > 0 && efficiency <= 1)) detail::throw_efficiency_out_of_range(efficiency);
  return Bandwidth::from_value(line.value() / 8 * efficiency);
}

/// `80_GiB` is `units::GiB(80)`, `4.8_us` is `units::us(4.8)`: one suffix for each name in `units`.
namespace literals {
#define FABRICOST_LITERAL(unit)                                                                                 \
  [[nodiscard]] constexpr auto operator""_##unit(unsigned long long n) { return units::unit(static_cast<double>(n)); } \
  [[nodiscard]] constexpr auto operator""_##unit(long double n) { return units::unit(static_cast<double>(n)); }
// clang-format off
FABRICOST_LITERAL(B) FABRICOST_LITERAL(kB) FABRICOST_LITERAL(MB) FABRICOST_LITERAL(GB) FABRICOST_LITERAL(TB)
FABRICOST_LITERAL(PB) FABRICOST_LITERAL(KiB) FABRICOST_LITERAL(MiB) FABRICOST_LITERAL(GiB) FABRICOST_LITERAL(TiB)
FABRICOST_LITERAL(bit) FABRICOST_LITERAL(Gbit)
FABRICOST_LITERAL(s) FABRICOST_LITERAL(ms) FABRICOST_LITERAL(us) FABRICOST_LITERAL(ns) FABRICOST_LITERAL(h)
FABRICOST_LITERAL(B_per_s) FABRICOST_LITERAL(MB_per_s) FABRICOST_LITERAL(GB_per_s) FABRICOST_LITERAL(TB_per_s)
FABRICOST_LITERAL(GiB_per_s) FABRICOST_LITERAL(GB_per_s_duplex) FABRICOST_LITERAL(TB_per_s_duplex)
FABRICOST_LITERAL(Mbit_per_s) FABRICOST_LITERAL(Gbit_per_s) FABRICOST_LITERAL(Tbit_per_s)
FABRICOST_LITERAL(flop) FABRICOST_LITERAL(Gflop) FABRICOST_LITERAL(Tflop) FABRICOST_LITERAL(Pflop)
FABRICOST_LITERAL(Gflop_per_s) FABRICOST_LITERAL(Tflop_per_s) FABRICOST_LITERAL(Pflop_per_s)
FABRICOST_LITERAL(W) FABRICOST_LITERAL(kW) FABRICOST_LITERAL(MW) FABRICOST_LITERAL(J) FABRICOST_LITERAL(kWh)
FABRICOST_LITERAL(USD) FABRICOST_LITERAL(USD_per_h)
// clang-format on
#undef FABRICOST_LITERAL
}  // namespace literals

}  // namespace fabricost
