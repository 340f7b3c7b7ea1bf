#pragma once
#if !defined(_MSVC_LANG) && __cplusplus < 202002L
#error "fabricost needs C++20: compile with -std=c++20 or later"
#endif
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
/// Boost.Units multiplies, scales and converts the units. A quantity and boost::units::quantity of the same unit convert
/// into each other: `Time t = 3.0 * si::seconds`.
/// The page units-mistakes of the documentation goes from a compiler's message to the mistake and its fix, and lists
/// mistakes that no compiler sees.
/// A quantity is as large as its double and is passed like one. Messages of the compiler name it by its powers:
/// `Quantity<byte<1>, second<-1>>` is a bandwidth.

#include <fabricost/request_error.hpp>

#include <boost/units/base_dimension.hpp>
#include <boost/units/base_unit.hpp>
#include <boost/units/base_units/information/byte.hpp>
#include <boost/units/base_units/si/kilogram.hpp>
#include <boost/units/base_units/si/meter.hpp>
#include <boost/units/base_units/si/second.hpp>
#include <boost/units/conversion.hpp>
#include <boost/units/get_dimension.hpp>
#include <boost/units/make_scaled_unit.hpp>
#include <boost/units/unit.hpp>
#include <boost/units/units_fwd.hpp>

#include <compare>
#include <concepts>
#include <cstdio>  // snprintf
#include <string>
#include <type_traits>

namespace fabricost::core {

template <class... Powers>
class Quantity;

namespace detail {

namespace bu = boost::units;

// Base units that Boost.Units lacks have a dimension each, so none converts into another. The number of a dimension and of a
// unit must differ from all others of a program; those of Boost are negative.
#define FABRICOST_BASE_UNIT(name, number)                                    \
  struct name##_dimension : bu::base_dimension<name##_dimension, number> {}; \
  struct name##_unit : bu::base_unit<name##_unit, name##_dimension::dimension_type, number> {};
FABRICOST_BASE_UNIT(wire_bit, 7002)         // Bits on a wire include encoding and headers, so no constant factor leads to payload.
FABRICOST_BASE_UNIT(both_directions, 7003)  // A rate that sums the two directions of a link has this unit as a factor.
FABRICOST_BASE_UNIT(flop, 7004)             // One floating-point operation is 1 flop.
FABRICOST_BASE_UNIT(joule, 7005)            // 1 J has a name in messages, where kg m^2 s^-2 would be three.
FABRICOST_BASE_UNIT(dollar, 7006)           // Money is counted in United States dollars.
#undef FABRICOST_BASE_UNIT

// Boost.Units keeps a unit as a list of powers of base units and a list of powers of scales.
template <class BaseUnit, long N>
using UnitPower = bu::heterogeneous_system_dim<BaseUnit, bu::static_rational<N>>;
template <long Base, long N>
using ScalePower = bu::scale_list_dim<bu::scale<Base, bu::static_rational<N>>>;
template <class Dimension, class UnitPowers, class ScalePowers>
using ListedUnit = bu::unit<Dimension, bu::heterogeneous_system<bu::heterogeneous_system_impl<UnitPowers, Dimension, ScalePowers>>>;
using NoUnit = ListedUnit<bu::dimensionless_type, bu::dimensionless_type, bu::no_scale>;

template <class BaseUnit, long N>
using unit_power = typename bu::power_typeof_helper<typename BaseUnit::unit_type, bu::static_rational<N>>::type;
template <long Base, long N>
using unit_scale = typename bu::make_scaled_unit<NoUnit, bu::scale<Base, bu::static_rational<N>>>::type;

}  // namespace detail

// Messages of compilers name a unit by the templates of namespace power: `power::NAME<N>` stands for the N-th power of a base unit
// or a scale of Boost.Units, and `power_name` leads back from Boost's list.
#define FABRICOST_POWER(name, base_unit)              \
  namespace power {                                   \
  template <long N>                                   \
  struct name {                                       \
    using unit = detail::unit_power<base_unit, N>;    \
  };                                                  \
  }                                                   \
  namespace detail {                                  \
  template <long N>                                   \
  power::name<N> power_name(UnitPower<base_unit, N>); \
  }
#define FABRICOST_SCALE(name, base, exponent)                  \
  namespace power {                                            \
  template <long N>                                            \
  struct name {                                                \
    using unit = detail::unit_scale<base, N*(exponent)>;       \
  };                                                           \
  }                                                            \
  namespace detail {                                           \
  template <long N>                                            \
  power::name<N / (exponent)> power_name(ScalePower<base, N>); \
  }
FABRICOST_POWER(byte, detail::bu::information::byte_base_unit)  // Payload, the content of a message or a memory, is counted in bytes.
FABRICOST_POWER(second, detail::bu::si::second_base_unit)
FABRICOST_POWER(wire_bit, detail::wire_bit_unit)
FABRICOST_POWER(both_directions, detail::both_directions_unit)
FABRICOST_POWER(flop, detail::flop_unit)
FABRICOST_POWER(joule, detail::joule_unit)
FABRICOST_POWER(dollar, detail::dollar_unit)
FABRICOST_SCALE(ten, 10, 1)
FABRICOST_SCALE(two, 2, 1)
FABRICOST_SCALE(hour, 60, 2)  // 3600 = 60^2, the scale of hours in Boost.Units
#undef FABRICOST_POWER
#undef FABRICOST_SCALE

namespace detail {

template <class T>
concept Number = std::is_arithmetic_v<T> && !std::same_as<T, bool>;

/// The unit of a quantity in Boost.Units: the product of its powers.
template <class Q>
struct UnitOf;
template <class... Powers>
struct UnitOf<Quantity<Powers...>> {
  using type = decltype((NoUnit{} * ... * typename Powers::unit{}));
};
template <class Q>
using unit_of = typename UnitOf<Q>::type;

/// The quantity of a unit of Boost.Units, from its lists: base units to powers above 0, base units to powers below, scales.
/// Where all of them cancel, the quantity is a plain double.
template <class UnitPowers, class ScalePowers, class Above, class Others>
struct FromLists;
template <class Base, long N, class Rest, class ScalePowers, class... A, class... O>
  requires(N > 0)
struct FromLists<bu::list<UnitPower<Base, N>, Rest>, ScalePowers, Quantity<A...>, Quantity<O...>>
    : FromLists<Rest, ScalePowers, Quantity<A..., decltype(power_name(UnitPower<Base, N>{}))>, Quantity<O...>> {};
template <class First, class Rest, class ScalePowers, class... A, class... O>
struct FromLists<bu::list<First, Rest>, ScalePowers, Quantity<A...>, Quantity<O...>>
    : FromLists<Rest, ScalePowers, Quantity<A...>, Quantity<O..., decltype(power_name(First{}))>> {};
template <class First, class Rest, class... A, class... O>
struct FromLists<bu::dimensionless_type, bu::list<First, Rest>, Quantity<A...>, Quantity<O...>>
    : FromLists<bu::list<First, Rest>, bu::dimensionless_type, Quantity<A...>, Quantity<O...>> {};
template <class... A, class... O>
struct FromLists<bu::dimensionless_type, bu::dimensionless_type, Quantity<A...>, Quantity<O...>> {
  using type = Quantity<A..., O...>;
};
template <>
struct FromLists<bu::dimensionless_type, bu::dimensionless_type, Quantity<>, Quantity<>> {
  using type = double;
};
template <class Unit>
struct QuantityOf;
template <class Dimension, class UnitPowers, class ScalePowers>
struct QuantityOf<ListedUnit<Dimension, UnitPowers, ScalePowers>> : FromLists<UnitPowers, ScalePowers, Quantity<>, Quantity<>> {};

template <class A, class B>
using Product = typename QuantityOf<decltype(unit_of<A>{} * unit_of<B>{})>::type;
template <class A, class B>
using Quotient = typename QuantityOf<decltype(unit_of<A>{} / unit_of<B>{})>::type;

/// A constant factor leads from one unit to another of the same dimension, as from GB to GiB.
template <class A, class B>
concept SameDimension = std::same_as<typename bu::get_dimension<A>::type, typename bu::get_dimension<B>::type>;
template <class From, class To>
inline constexpr double factor = bu::conversion_factor(From{}, To{});
template <class A, class B>
concept OtherScale = !std::same_as<A, B> && SameDimension<unit_of<A>, unit_of<B>>;

/// A count of From as one of To. Factors above 1 are exact, so a whole count is rounded once: `us(5)` equals `s(5e-6)`.
template <class From, class To>
[[nodiscard]] constexpr double converted(double count) {
  if constexpr (factor<From, To> < 1)
    return count / factor<To, From>;
  else
    return count * factor<From, To>;
}

/// The unit that a quantity has outside this library: quantities of boost::units::si count energy in kg m^2 s^-2.
template <class Power>
struct Outside : Power {};
template <long N>
struct Outside<power::joule<N>> {
  using unit = decltype(unit_power<bu::si::kilogram_base_unit, N>{} * unit_power<bu::si::meter_base_unit, 2 * N>{} /
                        unit_power<bu::si::second_base_unit, 2 * N>{});
};
template <class Q>
struct OutsideUnit;
template <class... Powers>
struct OutsideUnit<Quantity<Powers...>> {
  using type = decltype((NoUnit{} * ... * typename Outside<Powers>::unit{}));
};
/// The numbers of a boost::units::quantity of U and of a Q are equal for every amount.
template <class U, class Q>
concept CountedAlike = SameDimension<U, typename OutsideUnit<Q>::type> && factor<U, typename OutsideUnit<Q>::type> == 1;

/// A named unit, worth the product of its scales in coherent units of `Of`: builds a quantity from a count, and tags `in`.
template <class Of, class... Scales>
struct Unit {
  [[nodiscard]] constexpr Of operator()(double count) const {
    return Of::from_value(converted<unit_of<Quantity<Scales...>>, NoUnit>(count));
  }
  /// 256 * MiB
  template <Number N>
  [[nodiscard]] friend constexpr Of operator*(N count, Unit unit) {
    return unit(static_cast<double>(count));
  }
};

[[noreturn]] inline void throw_efficiency_out_of_range(double efficiency) {
  char text[32];
  const int length = std::snprintf(text, sizeof text, "%.16g", efficiency);
  std::string number;  // with a point in every locale
  for (int i = 0; i < length; ++i) {
    const bool point = text[i] == ',' || static_cast<unsigned char>(text[i]) > 0x7F;  // some locales' takes several bytes, all beyond ASCII
    if (!point) number += text[i];
    if (point && number.back() != '.') number += '.';
  }
  throw RequestError("payload: efficiency " + number + " is not in (0, 1]; write 97 % as 0.97");
}

}  // namespace detail

/// A quantity holds a double. Its unit lists base units to powers above 0 first, then those to powers below, then scales.
template <class... Powers>
class Quantity {
 public:
  constexpr Quantity() = default;
  // compilers show the line of what was deleted, with its remedy
  template <detail::Number N>
  Quantity(N) = delete;  // name the number's unit: MiB(256), B(n), 80 * GiB or 80_GiB
  template <class Of, class... Scales>
  Quantity(detail::Unit<Of, Scales...>) = delete;  // a unit without a count: MiB(256)
  template <class... Other>
    requires(!std::same_as<Quantity, Quantity<Other...>> && !detail::OtherScale<Quantity, Quantity<Other...>>)
  Quantity(Quantity<Other...>) = delete;  // another kind of quantity: bytes / rate is a time, rate * time are bytes
  /// The same amount in another scale: Bytes{in(memory, GiB)}.
  template <class... Other>
    requires detail::OtherScale<Quantity, Quantity<Other...>>
  explicit constexpr Quantity(Quantity<Other...> count)
      : value_{detail::converted<detail::unit_of<Quantity<Other...>>, detail::unit_of<Quantity>>(count.value())} {}

  /// A boost::units::quantity that counts in the same unit converts from and to this one: `Time t = 3.0 * si::seconds`.
  template <class U, detail::Number N>
    requires detail::CountedAlike<U, Quantity>
  constexpr Quantity(const boost::units::quantity<U, N>& q) : value_{static_cast<double>(q.value())} {}
  template <class U>
    requires detail::CountedAlike<U, Quantity>
  constexpr operator boost::units::quantity<U>() const { return boost::units::quantity<U>::from_value(value_); }
  /// Boost.Units converts to or from another unit of the same dimension: `Time{boost::units::quantity<si::time>{hours}}`.
  template <class U, class N>
    requires(!detail::CountedAlike<U, Quantity>)
  Quantity(const boost::units::quantity<U, N>&) = delete;
  template <class U>
    requires(!detail::CountedAlike<U, Quantity>)
  operator boost::units::quantity<U>() const = delete;

  /// From a number in the coherent unit: byte, s, byte/s, ...
  [[nodiscard]] static constexpr Quantity from_value(double value) {
    Quantity out;
    out.value_ = value;
    return out;
  }
  /// The number in the coherent unit.
  [[nodiscard]] constexpr double value() const { return value_; }

  [[nodiscard]] friend constexpr bool operator==(Quantity, Quantity) = default;
  [[nodiscard]] friend constexpr std::partial_ordering operator<=>(Quantity, Quantity) = default;  // NOLINT(modernize-use-nullptr): a fault of clang-tidy 14
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
  if constexpr (std::same_as<Out, double>)
    return a.value() * b.value();
  else
    return Out::from_value(a.value() * b.value());
}
template <class... A, class... B>
[[nodiscard]] constexpr detail::Quotient<Quantity<A...>, Quantity<B...>> operator/(Quantity<A...> a, Quantity<B...> b) {
  using Out = detail::Quotient<Quantity<A...>, Quantity<B...>>;
  if constexpr (std::same_as<Out, double>)
    return a.value() / b.value();
  else
    return Out::from_value(a.value() / b.value());
}
template <detail::Number N, class... B>
[[nodiscard]] constexpr auto operator/(N number, Quantity<B...> b) {
  return detail::Quotient<Quantity<>, Quantity<B...>>::from_value(static_cast<double>(number) / b.value());
}

/// Different kinds of quantities are neither added nor compared.
template <class... A, class... B>
  requires(!std::same_as<Quantity<A...>, Quantity<B...>>)
void operator+(Quantity<A...>, Quantity<B...>) = delete;  // different kinds: bring both to one, as bytes / rate is a time
template <class... A, class... B>
  requires(!std::same_as<Quantity<A...>, Quantity<B...>>)
void operator-(Quantity<A...>, Quantity<B...>) = delete;  // different kinds: bring both to one, as bytes / rate is a time
template <class... A, class... B>
  requires(!std::same_as<Quantity<A...>, Quantity<B...>>)
bool operator==(Quantity<A...>, Quantity<B...>) = delete;  // different kinds: compare times with times
template <class... A, class... B>
  requires(!std::same_as<Quantity<A...>, Quantity<B...>>)
std::partial_ordering operator<=>(Quantity<A...>, Quantity<B...>) = delete;  // different kinds: compare times with times

using Bytes = Quantity<power::byte<1>>;                            ///< payload, in byte
using WireBits = Quantity<power::wire_bit<1>>;                     ///< size on a wire, in bit
using Flops = Quantity<power::flop<1>>;                            ///< work, in floating-point operations
using Joules = Quantity<power::joule<1>>;                          ///< energy, in J
using Dollars = Quantity<power::dollar<1>>;                        ///< money, in USD
using Time = Quantity<power::second<1>>;                           ///< elapsed time, in s
using Bandwidth = Quantity<power::byte<1>, power::second<-1>>;     ///< payload in ONE direction, in byte/s
using LineRate = Quantity<power::wire_bit<1>, power::second<-1>>;  ///< WireBits / Time, ONE direction
using FlopRate = Quantity<power::flop<1>, power::second<-1>>;      ///< Flops / Time, in flop/s
using Watts = Quantity<power::joule<1>, power::second<-1>>;        ///< power, Joules / Time, in W
using DollarRate = Quantity<power::dollar<1>, power::second<-1>>;  ///< rent, Dollars / Time, in USD/s
/// Payload of the two directions of a link added up, in byte/s: the headline figure of a datasheet.
using DuplexBandwidth = Quantity<power::byte<1>, power::both_directions<1>, power::second<-1>>;

/// The names of the units. `Unit<Bytes, ten<9>>` is worth 10^9 bytes.
namespace units {
// clang-format off
inline constexpr detail::Unit<Bytes> B{};
inline constexpr detail::Unit<Bytes, power::ten<3>> kB{};
inline constexpr detail::Unit<Bytes, power::ten<6>> MB{};
inline constexpr detail::Unit<Bytes, power::ten<9>> GB{};
inline constexpr detail::Unit<Bytes, power::ten<12>> TB{};
inline constexpr detail::Unit<Bytes, power::ten<15>> PB{};
inline constexpr detail::Unit<Bytes, power::two<10>> KiB{};
inline constexpr detail::Unit<Bytes, power::two<20>> MiB{};
inline constexpr detail::Unit<Bytes, power::two<30>> GiB{};
inline constexpr detail::Unit<Bytes, power::two<40>> TiB{};

inline constexpr detail::Unit<WireBits> bit{};
inline constexpr detail::Unit<WireBits, power::ten<9>> Gbit{};

inline constexpr detail::Unit<Time> s{};
inline constexpr detail::Unit<Time, power::ten<-3>> ms{};
inline constexpr detail::Unit<Time, power::ten<-6>> us{};
inline constexpr detail::Unit<Time, power::ten<-9>> ns{};
inline constexpr detail::Unit<Time, power::hour<1>> h{};

inline constexpr detail::Unit<Bandwidth> B_per_s{};
inline constexpr detail::Unit<Bandwidth, power::ten<6>> MB_per_s{};
inline constexpr detail::Unit<Bandwidth, power::ten<9>> GB_per_s{};
inline constexpr detail::Unit<Bandwidth, power::ten<12>> TB_per_s{};
inline constexpr detail::Unit<Bandwidth, power::two<30>> GiB_per_s{};

inline constexpr detail::Unit<DuplexBandwidth, power::ten<9>> GB_per_s_duplex{};
inline constexpr detail::Unit<DuplexBandwidth, power::ten<12>> TB_per_s_duplex{};

inline constexpr detail::Unit<LineRate, power::ten<6>> Mbit_per_s{};
inline constexpr detail::Unit<LineRate, power::ten<9>> Gbit_per_s{};
inline constexpr detail::Unit<LineRate, power::ten<12>> Tbit_per_s{};

inline constexpr detail::Unit<Flops> flop{};
inline constexpr detail::Unit<Flops, power::ten<9>> Gflop{};
inline constexpr detail::Unit<Flops, power::ten<12>> Tflop{};
inline constexpr detail::Unit<Flops, power::ten<15>> Pflop{};

inline constexpr detail::Unit<FlopRate, power::ten<9>> Gflop_per_s{};
inline constexpr detail::Unit<FlopRate, power::ten<12>> Tflop_per_s{};
inline constexpr detail::Unit<FlopRate, power::ten<15>> Pflop_per_s{};

inline constexpr detail::Unit<Watts> W{};
inline constexpr detail::Unit<Watts, power::ten<3>> kW{};
inline constexpr detail::Unit<Watts, power::ten<6>> MW{};

inline constexpr detail::Unit<Joules> J{};
inline constexpr detail::Unit<Joules, power::ten<3>, power::hour<1>> kWh{};

inline constexpr detail::Unit<Dollars> USD{};
inline constexpr detail::Unit<DollarRate, power::hour<-1>> USD_per_h{};
// clang-format on
}  // namespace units

/// `q` as a count of `unit`: in(us(5), ns).value() is 5000. The count keeps its unit until `.value()` takes it off,
/// and `Bytes{in(m, GiB)}` undoes it. Take `.value()` directly after `in` only: elsewhere it can hide a unit.
template <class Q, class... Scales>
[[nodiscard]] constexpr auto in(Q q, detail::Unit<Q, Scales...>) {
  using Scale = Quantity<Scales...>;
  return detail::Product<Q, Scale>::from_value(detail::converted<detail::NoUnit, detail::unit_of<Scale>>(q.value()));
}

/// total / 2: one direction of a link that is equally fast both ways, from the sum of both.
[[nodiscard]] constexpr Bandwidth one_way(DuplexBandwidth total) { return Bandwidth::from_value(total.value() / 2); }

/// line / 8 * efficiency, in byte/s: the payload that a line rate carries. `efficiency` is payload bits over all bits
/// on the wire (encoding, headers), in (0, 1].
/// \throws RequestError naming the efficiency when it is not in (0, 1], NaN included.
[[nodiscard]] constexpr Bandwidth payload(LineRate line, double efficiency) {
  if (!(efficiency > 0 && efficiency <= 1)) detail::throw_efficiency_out_of_range(efficiency);
  return Bandwidth::from_value(line.value() / 8 * efficiency);
}

/// `80_GiB` is `units::GiB(80)`, `4.8_us` is `units::us(4.8)`: one suffix for each name in `units`.
namespace literals {
#define FABRICOST_LITERAL(unit)                                                                                        \
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

}  // namespace fabricost::core

namespace fabricost {
namespace units = core::units;
namespace literals = core::literals;
using core::Bandwidth;
using core::Bytes;
using core::DollarRate;
using core::Dollars;
using core::DuplexBandwidth;
using core::FlopRate;
using core::Flops;
using core::Joules;
using core::LineRate;
using core::Quantity;
using core::Time;
using core::Watts;
using core::WireBits;
using core::one_way;
using core::payload;
}  // namespace fabricost
