#pragma once
/// \file units.hpp
/// Types for the quantities of public signatures: `Bytes`, `Time`, `Bandwidth`, ... instead of `double`.
///
/// A quantity holds one double in its coherent unit (byte, second, byte per second, joule, dollar, ...). Numbers enter
/// through a named unit, `GiB(80)` or `80_GiB`, and leave through `in(memory, GiB).value()`. Prefixes k M G T P are
/// powers of ten, Ki Mi Gi Ti powers of two, everywhere. Mistakes that a plain double would let through do not compile:
///
///   bits on the wire as bytes    Bandwidth b = Gbit_per_s(400);         write payload(Gbit_per_s(400), 0.97)
///   both directions as one       Bandwidth b = GB_per_s_duplex(900);    write one_way(GB_per_s_duplex(900))
///   GB mixed with GiB            in(a, GB) + in(b, GiB)                 write in(a, GB) + in(b, GB)
///   a number without a unit      Bytes n = 4096;                        write B(4096)
///   power taken for energy       Joules e = kW(10.2);                   write kW(10.2) * h(24)
///
/// docs/units-mistakes.md goes from a compiler's message to the mistake and its fix, and lists mistakes that no compiler sees.
/// A quantity is as large as its double and is passed like one. Messages of the compiler name it by its powers:
/// `Quantity<byte<1>, second<-1>>` is a bandwidth.

#include <compare>
#include <concepts>
#include <cstdio>     // snprintf
#include <stdexcept>  // invalid_argument
#include <string>
#include <type_traits>
#include <utility>  // pair

namespace fabricost {

template <class... Powers>
class Quantity;
namespace detail {
template <class Of, long Base, long Exponent>
struct Unit;
}

/// The base units of quantities, to a power. None of them converts into another.
namespace power {
template <int N>
struct byte;  ///< payload: the content of a message or a memory
template <int N>
struct wire_bit;  ///< bits on a wire include encoding and headers, so no constant factor leads from them to payload
template <int N>
struct flop;  ///< floating-point operations
template <int N>
struct joule;
template <int N>
struct dollar;  ///< United States dollars
template <int N>
struct both_directions;  ///< of a rate that sums the two directions of a link
template <int N>
struct second;
template <int N>
struct ten;  ///< this and the next two: the scale of a count, as `in` makes it
template <int N>
struct two;
template <int N>
struct hour;  ///< 3600
}  // namespace power

namespace detail {

template <class T>
concept Number = std::is_arithmetic_v<T> && !std::same_as<T, bool>;

template <template <int> class Base, class Power>
inline constexpr int exponent = 0;
template <template <int> class Base, int N>
inline constexpr int exponent<Base, Base<N>> = N;

/// The quantity of these powers without those to the power 0; a plain double if nothing is left.
template <class Kept, class... Powers>
struct Reduced;
template <>
struct Reduced<Quantity<>> {
  using type = double;
};
template <class Power, class... Kept>
struct Reduced<Quantity<Power, Kept...>> {
  using type = Quantity<Power, Kept...>;
};
template <class... Kept, template <int> class Base, class... Rest>
struct Reduced<Quantity<Kept...>, Base<0>, Rest...> : Reduced<Quantity<Kept...>, Rest...> {};
template <class... Kept, template <int> class Base, int N, class... Rest>
struct Reduced<Quantity<Kept...>, Base<N>, Rest...> : Reduced<Quantity<Kept..., Base<N>>, Rest...> {};

/// Powers in their one order, those of A plus Sign times those of B.
template <class A, class B, int Sign>
struct Combined;
template <class... A, class... B, int Sign>
struct Combined<Quantity<A...>, Quantity<B...>, Sign> {
  template <template <int> class Base>
  using Power = Base<(0 + ... + exponent<Base, A>)+Sign*(0 + ... + exponent<Base, B>)>;
  using type = typename Reduced<Quantity<>, Power<power::byte>, Power<power::wire_bit>, Power<power::flop>, Power<power::joule>,
                                Power<power::dollar>, Power<power::both_directions>, Power<power::second>, Power<power::ten>,
                                Power<power::two>, Power<power::hour>>::type;
};
template <class A, class B>
using Product = typename Combined<A, B, 1>::type;
template <class A, class B>
using Quotient = typename Combined<A, B, -1>::type;

/// base^|exponent|. Exact for every unit of this file, so a whole count is rounded once: `us(5)` equals `s(5e-6)`.
[[nodiscard]] constexpr double magnitude(long base, long exponent) {
  double result = 1;
  for (long i = exponent < 0 ? -exponent : exponent; i > 0; --i) result *= static_cast<double>(base);
  return result;
}

/// The value of a pure scale: 10^9 for Quantity<ten<9>>.
template <class Scale>
inline constexpr double worth = -1;  // no pure scale
template <>
inline constexpr double worth<double> = 1;
template <class... Powers>
  requires((exponent<power::ten, Powers> + exponent<power::two, Powers> + exponent<power::hour, Powers> != 0) && ...)
inline constexpr double worth<Quantity<Powers...>> = [] {
  constexpr int tens = (0 + ... + exponent<power::ten, Powers>), twos = (0 + ... + exponent<power::two, Powers>),
                hours = (0 + ... + exponent<power::hour, Powers>);
  double result = 1;
  for (const auto& [base, times] : {std::pair{10L, tens}, {2L, twos}, {3600L, hours}})
    result = times < 0 ? result / magnitude(base, times) : result * magnitude(base, times);
  return result;
}();

/// Quantities that differ in their scale alone, as a count of GB and one of GiB.
template <class A, class B>
concept OtherScale = !std::same_as<A, B> && (worth<Quotient<A, B>> > 0);

/// A named unit of `Of`, worth Base^Exponent coherent units: builds a quantity from a count, and tags `in`.
template <class Of, long Base, long Exponent>
struct Unit {
  [[nodiscard]] constexpr Of operator()(double count) const {
    const double m = magnitude(Base, Exponent);
    return Of::from_value(Exponent < 0 ? count / m : count * m);
  }
  /// 256 * MiB
  template <Number N>
  [[nodiscard]] friend constexpr Of operator*(N count, Unit unit) {
    return unit(static_cast<double>(count));
  }
};

/// A count of that unit. The scale is part of its type, so a count of GB does not mix with a count of GiB.
template <class Of, long Base, long Exponent>
struct Counted;
template <class Of, long Exponent>
struct Counted<Of, 10, Exponent> {
  using type = Quotient<Of, Quantity<power::ten<-static_cast<int>(Exponent)>>>;
};
template <class Of, long Exponent>
struct Counted<Of, 2, Exponent> {
  using type = Quotient<Of, Quantity<power::two<-static_cast<int>(Exponent)>>>;
};
template <class Of, long Exponent>
struct Counted<Of, 3600, Exponent> {
  using type = Quotient<Of, Quantity<power::hour<-static_cast<int>(Exponent)>>>;
};
template <class Of>
struct Counted<Of, 3600000, 1> {
  using type = Quotient<Of, Quantity<power::ten<-3>, power::hour<-1>>>;
};
template <class Of, long Base, long Exponent>
using counted_in = typename Counted<Of, Base, Exponent>::type;

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

/// A double with its unit. The powers of its unit are in the order of namespace power; those to the power 0 are left out.
template <class... Powers>
class Quantity {
 public:
  constexpr Quantity() = default;
  /// A number says nothing about its unit: GiB(80), 80 * GiB or 80_GiB.
  template <detail::Number N>
  Quantity(N) = delete;
  /// A unit without a count.
  template <class Of, long Base, long Exponent>
  Quantity(detail::Unit<Of, Base, Exponent>) = delete;
  /// Another kind of quantity.
  template <class... Other>
    requires(!std::same_as<Quantity, Quantity<Other...>> && !detail::OtherScale<Quantity, Quantity<Other...>>)
  Quantity(Quantity<Other...>) = delete;
  /// The same amount in another scale: Bytes{in(memory, GiB)}.
  template <class... Other>
    requires detail::OtherScale<Quantity, Quantity<Other...>>
  explicit constexpr Quantity(Quantity<Other...> count)
      : value_{count.value() * detail::worth<detail::Quotient<Quantity<Other...>, Quantity>>} {}

  /// From a number in the coherent unit: byte, s, byte/s, ...
  [[nodiscard]] static constexpr Quantity from_value(double value) {
    Quantity out;
    out.value_ = value;
    return out;
  }
  /// The number in the coherent unit.
  [[nodiscard]] constexpr double value() const { return value_; }

  [[nodiscard]] friend constexpr bool operator==(Quantity, Quantity) = default;
  [[nodiscard]] friend constexpr std::partial_ordering operator<=>(Quantity, Quantity) = default;
  [[nodiscard]] friend constexpr Quantity operator+(Quantity a, Quantity b) { return from_value(a.value_ + b.value_); }
  [[nodiscard]] friend constexpr Quantity operator-(Quantity a, Quantity b) { return from_value(a.value_ - b.value_); }
  [[nodiscard]] constexpr Quantity operator-() const { return from_value(-value_); }
  constexpr Quantity& operator+=(Quantity other) { return *this = *this + other; }
  constexpr Quantity& operator-=(Quantity other) { return *this = *this - other; }

  template <detail::Number N>
  [[nodiscard]] friend constexpr Quantity operator*(N factor, Quantity q) {
    return from_value(static_cast<double>(factor) * q.value_);
  }
  template <detail::Number N>
  [[nodiscard]] friend constexpr Quantity operator*(Quantity q, N factor) {
    return from_value(q.value_ * static_cast<double>(factor));
  }
  template <detail::Number N>
  [[nodiscard]] friend constexpr Quantity operator/(Quantity q, N divisor) {
    return from_value(q.value_ / static_cast<double>(divisor));
  }
  template <detail::Number N>
  constexpr Quantity& operator*=(N factor) {
    return *this = *this * factor;
  }
  template <detail::Number N>
  constexpr Quantity& operator/=(N divisor) {
    return *this = *this / divisor;
  }

 private:
  double value_ = 0;
};

/// Products and quotients have the unit that follows: Bytes / Time is a Bandwidth, Bytes / Bytes a double.
template <class... A, class... B>
[[nodiscard]] constexpr detail::Product<Quantity<A...>, Quantity<B...>> operator*(Quantity<A...> a, Quantity<B...> b) {
  using Out = detail::Product<Quantity<A...>, Quantity<B...>>;
  if constexpr (std::same_as<Out, double>) return a.value() * b.value();
  else return Out::from_value(a.value() * b.value());
}
template <class... A, class... B>
[[nodiscard]] constexpr detail::Quotient<Quantity<A...>, Quantity<B...>> operator/(Quantity<A...> a, Quantity<B...> b) {
  using Out = detail::Quotient<Quantity<A...>, Quantity<B...>>;
  if constexpr (std::same_as<Out, double>) return a.value() / b.value();
  else return Out::from_value(a.value() / b.value());
}
template <detail::Number N, class... B>
[[nodiscard]] constexpr auto operator/(N number, Quantity<B...> b) {
  return detail::Quotient<Quantity<>, Quantity<B...>>::from_value(static_cast<double>(number) / b.value());
}

/// Different kinds of quantities are neither added nor compared.
template <class... A, class... B>
  requires(!std::same_as<Quantity<A...>, Quantity<B...>>)
void operator+(Quantity<A...>, Quantity<B...>) = delete;
template <class... A, class... B>
  requires(!std::same_as<Quantity<A...>, Quantity<B...>>)
void operator-(Quantity<A...>, Quantity<B...>) = delete;
template <class... A, class... B>
  requires(!std::same_as<Quantity<A...>, Quantity<B...>>)
bool operator==(Quantity<A...>, Quantity<B...>) = delete;
template <class... A, class... B>
  requires(!std::same_as<Quantity<A...>, Quantity<B...>>)
std::partial_ordering operator<=>(Quantity<A...>, Quantity<B...>) = delete;

using Bytes = Quantity<power::byte<1>>;                              ///< payload, in byte
using WireBits = Quantity<power::wire_bit<1>>;                       ///< size on a wire, in bit
using Flops = Quantity<power::flop<1>>;                              ///< work, in floating-point operations
using Joules = Quantity<power::joule<1>>;                            ///< energy, in J
using Dollars = Quantity<power::dollar<1>>;                          ///< money, in USD
using Time = Quantity<power::second<1>>;                             ///< elapsed time, in s
using Bandwidth = Quantity<power::byte<1>, power::second<-1>>;       ///< payload in ONE direction, in byte/s
using LineRate = Quantity<power::wire_bit<1>, power::second<-1>>;    ///< WireBits / Time, ONE direction
using FlopRate = Quantity<power::flop<1>, power::second<-1>>;        ///< Flops / Time, in flop/s
using Watts = Quantity<power::joule<1>, power::second<-1>>;          ///< power, Joules / Time, in W
using DollarRate = Quantity<power::dollar<1>, power::second<-1>>;    ///< rent, Dollars / Time, in USD/s
/// Payload of the two directions of a link added up, in byte/s: the headline figure of a datasheet.
using DuplexBandwidth = Quantity<power::byte<1>, power::both_directions<1>, power::second<-1>>;

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
