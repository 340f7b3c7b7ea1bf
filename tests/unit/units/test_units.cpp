#include <fabricost/units.hpp>

#include "catch.hpp"

#include <limits>
#include <stdexcept>
#include <string>
#include <type_traits>

using namespace fabricost;
using namespace fabricost::units;
using namespace fabricost::literals;

namespace {

// Results of arithmetic between the types. That there are no others is tested by tests/compile_fail.
template <class A, class B>
constexpr bool same = std::is_same_v<A, B>;

static_assert(same<decltype(Bytes{} / Time{}), Bandwidth>);
static_assert(same<decltype(Bandwidth{} * Time{}), Bytes>);
static_assert(same<decltype(Bytes{} / Bandwidth{}), Time>);
static_assert(same<decltype(WireBits{} / Time{}), LineRate>);
static_assert(same<decltype(LineRate{} * Time{}), WireBits>);
static_assert(same<decltype(WireBits{} / LineRate{}), Time>);
static_assert(same<decltype(Flops{} / Time{}), FlopRate>);
static_assert(same<decltype(Flops{} / FlopRate{}), Time>);
static_assert(same<decltype(Watts{} * Time{}), Joules>);
static_assert(same<decltype(Time{} * Watts{}), Joules>);
static_assert(same<decltype(Joules{} / Time{}), Watts>);
static_assert(same<decltype(Joules{} / Watts{}), Time>);
static_assert(same<decltype(DollarRate{} * Time{}), Dollars>);
static_assert(same<decltype(Dollars{} / Time{}), DollarRate>);
static_assert(same<decltype(Dollars{} / Joules{} * Joules{}), Dollars>);
static_assert(same<decltype(Flops{} / Bytes{} * Bandwidth{}), FlopRate>);
static_assert(same<decltype(2.0 * Time{}), Time> && same<decltype(Time{} / 2), Time>);
static_assert(same<decltype(Time{} / Time{}), double>);
static_assert(2 * us(5) == us(10) && us(5) * 2L == us(10) && 256 * MiB == MiB(256) && 0.5 * GB_per_s == GB_per_s(0.5));
static_assert(std::is_trivially_copyable_v<Bytes> && std::is_standard_layout_v<Bytes>);

// All twelve are different types.
static_assert(!same<Bytes, WireBits> && !same<Bandwidth, DuplexBandwidth> && !same<Bandwidth, LineRate>);
static_assert(!same<Flops, Bytes> && !same<FlopRate, Bandwidth> && !same<Watts, Joules> && !same<Dollars, DollarRate>);
static_assert(!same<Watts, FlopRate> && !same<Dollars, Joules> && !same<DollarRate, Watts>);

// A quantity is as large as its number, and is the number zero when nothing is said.
static_assert(sizeof(Bytes) == sizeof(double) && sizeof(DuplexBandwidth) == sizeof(double));
static_assert(Bytes{} == B(0) && DollarRate{} == USD_per_h(0));

// Everything but a refusal happens at compile time.
static_assert(one_way(GB_per_s_duplex(900)) == GB_per_s(450));
static_assert(payload(Gbit_per_s(400), 1.0) == GB_per_s(50));
static_assert(in(ms(1), us).value() == 1000);
static_assert(80_GiB == GiB(80) && 4.5_us == us(4.5));

// A count divided by a count is a count of the quotient's unit.
static_assert(same<decltype(in(Bytes{}, GB) / in(Time{}, s)), decltype(in(Bandwidth{}, GB_per_s))>);

/// The answer of payload() to an efficiency; "accepted" when it takes it.
std::string answer_to(double efficiency) {
  try {
    static_cast<void>(payload(Gbit_per_s(400), efficiency));
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "accepted";
}

/// There and back through the unit, and back through the conversion of a count, whose scale is in its type.
template <class Quantity, long Base, long Exponent>
void check_round_trip(detail::Unit<Quantity, Base, Exponent> unit) {
  for (const double count : {0.0, 1.0, 3.0, 0.1, 4.8, 1e-7, 989.4, -2.5}) {
    CAPTURE(Base, Exponent, count);
    const Quantity q = unit(count);
    CHECK(in(q, unit).value() == Approx(count).epsilon(1e-15));
    CHECK(Quantity{in(q, unit)}.value() == Approx(q.value()).epsilon(1e-14));
  }
}

}  // namespace

TEST_CASE("units: each unit is worth its golden value", "[units]") {
  CHECK(B(1).value() == 1.0);
  CHECK(kB(1).value() == 1'000.0);
  CHECK(MB(1).value() == 1'000'000.0);
  CHECK(GB(1).value() == 1'000'000'000.0);
  CHECK(TB(1).value() == 1'000'000'000'000.0);
  CHECK(PB(1).value() == 1'000'000'000'000'000.0);
  CHECK(KiB(1).value() == 1'024.0);
  CHECK(MiB(1).value() == 1'048'576.0);
  CHECK(GiB(1).value() == 1'073'741'824.0);
  CHECK(TiB(1).value() == 1'099'511'627'776.0);

  CHECK(bit(1).value() == 1.0);
  CHECK(Gbit(1).value() == 1e9);

  CHECK(s(1).value() == 1.0);
  CHECK(ms(1).value() == 1e-3);
  CHECK(us(1).value() == 1e-6);
  CHECK(ns(1).value() == 1e-9);
  CHECK(h(1).value() == 3600.0);

  CHECK(B_per_s(1).value() == 1.0);
  CHECK(MB_per_s(1).value() == 1e6);
  CHECK(GB_per_s(1).value() == 1e9);
  CHECK(TB_per_s(1).value() == 1e12);
  CHECK(GiB_per_s(1).value() == 1'073'741'824.0);

  CHECK(GB_per_s_duplex(1).value() == 1e9);
  CHECK(TB_per_s_duplex(1).value() == 1e12);

  CHECK(Mbit_per_s(1).value() == 1e6);
  CHECK(Gbit_per_s(1).value() == 1e9);
  CHECK(Tbit_per_s(1).value() == 1e12);

  CHECK(flop(1).value() == 1.0);
  CHECK(Gflop(1).value() == 1e9);
  CHECK(Tflop(1).value() == 1e12);
  CHECK(Pflop(1).value() == 1e15);
  CHECK(Gflop_per_s(1).value() == 1e9);
  CHECK(Tflop_per_s(1).value() == 1e12);
  CHECK(Pflop_per_s(1).value() == 1e15);

  CHECK(W(1).value() == 1.0);
  CHECK(kW(1).value() == 1e3);
  CHECK(MW(1).value() == 1e6);
  CHECK(J(1).value() == 1.0);
  CHECK(kWh(1).value() == 3.6e6);

  CHECK(USD(1).value() == 1.0);
  CHECK(USD_per_h(3600).value() == 1.0);
}

TEST_CASE("units: each literal is its unit", "[units]") {
  CHECK((3_B == B(3) && 3.5_B == B(3.5)));
  CHECK((3_kB == kB(3) && 3.5_kB == kB(3.5)));
  CHECK((3_MB == MB(3) && 3.5_MB == MB(3.5)));
  CHECK((3_GB == GB(3) && 3.5_GB == GB(3.5)));
  CHECK((3_TB == TB(3) && 3.5_TB == TB(3.5)));
  CHECK((3_PB == PB(3) && 3.5_PB == PB(3.5)));
  CHECK((3_KiB == KiB(3) && 3.5_KiB == KiB(3.5)));
  CHECK((3_MiB == MiB(3) && 3.5_MiB == MiB(3.5)));
  CHECK((3_GiB == GiB(3) && 3.5_GiB == GiB(3.5)));
  CHECK((3_TiB == TiB(3) && 3.5_TiB == TiB(3.5)));
  CHECK((3_bit == bit(3) && 3.5_Gbit == Gbit(3.5)));
  CHECK((3_s == s(3) && 3.5_ms == ms(3.5) && 3_us == us(3) && 3.5_ns == ns(3.5) && 3_h == h(3)));
  CHECK((3_B_per_s == B_per_s(3) && 3.5_MB_per_s == MB_per_s(3.5) && 3_GB_per_s == GB_per_s(3)));
  CHECK((3.35_TB_per_s == TB_per_s(3.35) && 3_GiB_per_s == GiB_per_s(3)));
  CHECK((900_GB_per_s_duplex == GB_per_s_duplex(900) && 1.8_TB_per_s_duplex == TB_per_s_duplex(1.8)));
  CHECK((200_Mbit_per_s == Mbit_per_s(200) && 400_Gbit_per_s == Gbit_per_s(400) && 1.6_Tbit_per_s == Tbit_per_s(1.6)));
  CHECK((3_flop == flop(3) && 3_Gflop == Gflop(3) && 3_Tflop == Tflop(3) && 3_Pflop == Pflop(3)));
  CHECK((3_Gflop_per_s == Gflop_per_s(3) && 989_Tflop_per_s == Tflop_per_s(989)));
  CHECK(2.5_Pflop_per_s == Pflop_per_s(2.5));
  CHECK((700_W == W(700) && 10.2_kW == kW(10.2) && 3_MW == MW(3) && 3_J == J(3) && 3.5_kWh == kWh(3.5)));
  CHECK((515000_USD == USD(515000) && 2.95_USD_per_h == USD_per_h(2.95)));
}

TEST_CASE("units: names of one size agree with each other", "[units]") {
  CHECK(us(5) == s(5e-6));  // of a whole count, the very double, not one beside it
  CHECK(ns(790) == s(7.9e-7));
  CHECK(ns(790).value() == Approx(us(0.79).value()).epsilon(1e-15));
  CHECK(TB_per_s(3.35) == GB_per_s(3350));
  CHECK(GiB(1) == MiB(1024));
  CHECK(GiB(80).value() / GB(80).value() == Approx(1.073741824));
  CHECK(Tbit_per_s(1.6) == Gbit_per_s(1600));
  CHECK(Pflop_per_s(1) == Gflop_per_s(1e6));
  CHECK(kW(10.2) == W(10200));
  CHECK(kWh(1) == J(3.6e6));
}

TEST_CASE("units: what a unit builds, it reads back", "[units]") {
  check_round_trip(B), check_round_trip(kB), check_round_trip(MB), check_round_trip(GB), check_round_trip(TB);
  check_round_trip(PB), check_round_trip(KiB), check_round_trip(MiB), check_round_trip(GiB), check_round_trip(TiB);
  check_round_trip(bit), check_round_trip(Gbit);
  check_round_trip(s), check_round_trip(ms), check_round_trip(us), check_round_trip(ns), check_round_trip(h);
  check_round_trip(B_per_s), check_round_trip(MB_per_s), check_round_trip(GB_per_s), check_round_trip(TB_per_s);
  check_round_trip(GiB_per_s), check_round_trip(GB_per_s_duplex), check_round_trip(TB_per_s_duplex);
  check_round_trip(Mbit_per_s), check_round_trip(Gbit_per_s), check_round_trip(Tbit_per_s);
  check_round_trip(flop), check_round_trip(Gflop), check_round_trip(Tflop), check_round_trip(Pflop);
  check_round_trip(Gflop_per_s), check_round_trip(Tflop_per_s), check_round_trip(Pflop_per_s);
  check_round_trip(W), check_round_trip(kW), check_round_trip(MW), check_round_trip(J), check_round_trip(kWh);
  check_round_trip(USD), check_round_trip(USD_per_h);
}

TEST_CASE("units: in counts in the unit it is given", "[units]") {
  CHECK(in(GiB(80), GB).value() == Approx(85.89934592));
  CHECK(in(GB(80), GiB).value() == Approx(74.50580596923828));
  CHECK(in(us(5), ns).value() == Approx(5000));
  CHECK(in(h(1), ms).value() == Approx(3.6e6));
  CHECK(in(GB_per_s(450), TB_per_s).value() == Approx(0.45));
  CHECK(in(USD_per_h(2.95), USD_per_h).value() == Approx(2.95));
  CHECK(in(kW(10.2) * h(24), kWh).value() == Approx(244.8));
}

TEST_CASE("units: one_way is half of both directions", "[units]") {
  CHECK(one_way(GB_per_s_duplex(900)) == GB_per_s(450));
  CHECK(one_way(TB_per_s_duplex(1.8)) == GB_per_s(900));
  CHECK(one_way(GB_per_s_duplex(0)) == GB_per_s(0));
  // A GB/s that one_way does not see would make this message arrive in half the time.
  CHECK(in(GB(9) / one_way(GB_per_s_duplex(900)), ms).value() == Approx(20));
}

TEST_CASE("units: payload is an eighth of the line rate times the efficiency", "[units]") {
  CHECK(payload(Gbit_per_s(400), 1.0) == GB_per_s(50));
  CHECK(in(payload(Gbit_per_s(400), 0.97), GB_per_s).value() == Approx(48.5));
  CHECK(in(payload(Tbit_per_s(1.6), 0.5), GB_per_s).value() == Approx(100));
  CHECK(payload(Gbit_per_s(0), 1.0) == GB_per_s(0));
}

TEST_CASE("units: payload refuses an efficiency outside (0, 1] and names it", "[units]") {
  const double min = std::numeric_limits<double>::denorm_min();
  const double infinite = std::numeric_limits<double>::infinity();

  CHECK(answer_to(1) == "accepted");
  CHECK(answer_to(min) == "accepted");

  CHECK(answer_to(0) == "payload: efficiency 0 is not in (0, 1]; write 97 % as 0.97");
  CHECK(answer_to(1.01) == "payload: efficiency 1.01 is not in (0, 1]; write 97 % as 0.97");
  CHECK(answer_to(97) == "payload: efficiency 97 is not in (0, 1]; write 97 % as 0.97");
  CHECK(answer_to(-0.5) == "payload: efficiency -0.5 is not in (0, 1]; write 97 % as 0.97");
  CHECK(answer_to(1 + 1e-15).find("efficiency 1.000000000000001 ") != std::string::npos);
  CHECK(answer_to(infinite).find("efficiency inf ") != std::string::npos);
  CHECK(answer_to(-infinite).find("efficiency -inf ") != std::string::npos);
  CHECK(answer_to(std::numeric_limits<double>::quiet_NaN()).find("efficiency nan ") != std::string::npos);
  CHECK(answer_to(-1.2345678901234567e-300).size() < 95);  // the longest there is fits the buffer
}

TEST_CASE("units: arithmetic follows the formula", "[units]") {
  CHECK(in(MiB(256) / GB_per_s(450), us).value() == Approx(596.52323555));
  CHECK(in(us(4.8) + MiB(256) / GB_per_s(450), us).value() == Approx(601.32323555));
  CHECK(in(GB(1) / ms(20), GB_per_s).value() == Approx(50));
  CHECK(in(GB_per_s(50) * ms(20), GB).value() == Approx(1));
  CHECK(in(Gbit(8) / Gbit_per_s(400), ms).value() == Approx(20));
  CHECK(in(Tflop(989) / Tflop_per_s(989), s).value() == Approx(1));
  CHECK(in(W(700) * h(1), kWh).value() == Approx(0.7));
  CHECK(in(kWh(1) / kW(2), h).value() == Approx(0.5));
  CHECK(in(USD_per_h(2.95) * h(720), USD).value() == Approx(2124));
  CHECK(in(USD(0.12) / kWh(1) * (kW(10.2) * h(24)), USD).value() == Approx(29.376));

  const double ratio = us(5) / ms(1);
  CHECK(ratio == Approx(0.005));
  const double share = GB_per_s(39) / payload(Gbit_per_s(400), 1.0);
  CHECK(share == Approx(0.78));

  Time t = us(5);
  t += ns(500);
  t *= 2.0;
  CHECK(in(t, us).value() == Approx(11));
  CHECK((MiB(1) > KiB(16) && us(999) < ms(1) && -us(1) < s(0)));
}
