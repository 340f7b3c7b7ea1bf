// Quantities to and from those of Boost.Units, as a tool that already uses Boost.Units writes them.
#include <fabricost/units.hpp>

#include "catch.hpp"

#include <boost/units/base_units/metric/hour.hpp>
#include <boost/units/quantity.hpp>
#include <boost/units/systems/cgs.hpp>
#include <boost/units/systems/information.hpp>
#include <boost/units/systems/si.hpp>
#include <boost/units/systems/si/prefixes.hpp>

#include <type_traits>

namespace bu = boost::units;
namespace si = boost::units::si;
using namespace fabricost::plan;
using namespace fabricost::core::units;

namespace {

using Byte = bu::information::byte_base_unit::unit_type;
using Bit = bu::information::bit_base_unit::unit_type;
using Hour = bu::metric::hour_base_unit::unit_type;
using BoostSeconds = bu::quantity<si::time>;
using BoostHours = bu::quantity<Hour>;
using BoostBytes = bu::quantity<Byte>;
using BoostBits = bu::quantity<Bit>;
using BoostBytesPerSecond = bu::quantity<bu::divide_typeof_helper<Byte, si::time>::type>;
using BoostJoules = bu::quantity<si::energy>;
using BoostWatts = bu::quantity<si::power>;

// The conversion is implicit where both count in the same unit.
template <class Boost, class Ours>
constexpr bool both_ways = std::is_convertible_v<Boost, Ours> && std::is_convertible_v<Ours, Boost>;
static_assert(both_ways<BoostSeconds, Time> && both_ways<BoostBytes, Bytes> && both_ways<BoostBytesPerSecond, Bandwidth>);
static_assert(both_ways<BoostJoules, Joules> && both_ways<BoostWatts, Watts>);
static_assert(both_ways<bu::quantity<bu::divide_typeof_helper<si::dimensionless, si::time>::type>, decltype(1 / Time{})>);

// No other conversion exists, not even a spelled one: Boost.Units converts another unit of the dimension before.
template <class Boost, class Ours>
constexpr bool neither_way = !std::is_constructible_v<Ours, Boost> && !std::is_constructible_v<Boost, Ours>;
static_assert(neither_way<BoostHours, Time> && neither_way<BoostBits, Bytes> && neither_way<bu::quantity<bu::cgs::energy>, Joules>);
static_assert(neither_way<BoostBits, WireBits> && neither_way<BoostBytesPerSecond, DuplexBandwidth>);
static_assert(neither_way<BoostBytesPerSecond, LineRate> && neither_way<BoostSeconds, Bytes> && neither_way<BoostWatts, Joules>);
static_assert(neither_way<BoostBytes, decltype(in(Bytes{}, GiB))> && neither_way<BoostSeconds, Dollars>);

// A quantity is passed in a register, which one of Boost is not.
static_assert(sizeof(Time) == 8 && std::is_trivially_copyable_v<Time> && !std::is_trivially_copyable_v<BoostSeconds>);

static_assert(Time(BoostSeconds::from_value(3)) == s(3));
static_assert(BoostBytes(KiB(4)).value() == 4096);

}  // namespace

TEST_CASE("units: a quantity of Boost converts into one of the same unit and back") {
  const Time t = 3.0 * si::seconds;
  CHECK(t == s(3));
  CHECK(Time(bu::quantity<si::time, int>(3 * si::seconds)) == s(3));
  const BoostSeconds back = us(5);
  CHECK(back.value() == 5e-6);
  CHECK(Watts(BoostWatts(3.0 * si::kilo * si::watts)) == kW(3));
  const BoostJoules energy = kWh(1);
  CHECK(energy.value() == 3.6e6);
  CHECK(Joules(energy) == kWh(1));
}

TEST_CASE("units: Boost converts other units of a dimension") {
  CHECK(Time(BoostSeconds(2.0 * Hour())) == h(2));
  CHECK(BoostHours(BoostSeconds(h(2))).value() == 2);
  CHECK(Bytes(BoostBytes(BoostBits::from_value(80))) == B(10));
  CHECK(BoostBits(BoostBytes(B(10))).value() == 80);
}

TEST_CASE("units: a formula in quantities of Boost takes quantities and gives them") {
  const BoostBytes moved = BoostBytesPerSecond(GB_per_s(450)) * BoostSeconds(s(2));
  CHECK(Bytes(moved) == GB(900));
  CHECK(us(5) + Time(5e-6 * si::seconds) == us(10));
  CHECK(us(5) < BoostSeconds(1.0 * si::seconds));
}
