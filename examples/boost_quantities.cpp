// A planner's tool that computes in quantities of Boost.Units and includes only units.hpp of fabricost: sizes, rates and times are
// handed over and taken back, and units that do not fit do not compile.
#include <fabricost/units.hpp>

#include <boost/units/quantity.hpp>
#include <boost/units/systems/information.hpp>
#include <boost/units/systems/si.hpp>

#include <cstdio>

namespace tool {

namespace bu = boost::units;
using Seconds = bu::quantity<bu::si::time>;
using Bytes = bu::quantity<bu::information::hu::byte::info>;
using BytesPerSecond = bu::quantity<bu::divide_typeof_helper<bu::information::hu::byte::info, bu::si::time>::type>;

/// The time that a job waits for its checkpoint, of which `hidden` runs beside the next step.
Seconds stall(const Bytes& checkpoint, const BytesPerSecond& storage, const Seconds& hidden) {
  const Seconds writing = checkpoint / storage;
  return writing > hidden ? writing - hidden : 0.0 * bu::si::seconds;
}

}  // namespace tool

int main() {
  using namespace fabricost;
  using namespace fabricost::units;

  // Quantities of fabricost are arguments of the tool, and its result is a time of fabricost.
  const Time stalled = tool::stall(GB(560), GB_per_s(40), s(2));
  std::printf("a checkpoint of 560 GB stalls the job for %g s\n", in(stalled, s).value());

  // Quantities of Boost enter formulas of fabricost.
  const tool::Seconds step = 1.5 * boost::units::si::seconds;
  const tool::Bytes message = 262144.0 * boost::units::information::bytes;
  const Time between = 200 * Time(step);
  std::printf("of 200 steps and a checkpoint, %.2f %% of the time is lost\n", 100 * (stalled / (stalled + between)));
  std::printf("a message of %g KiB takes %.3f us at 50 GB/s\n", in(Bytes(message), KiB).value(),
              in(Bytes(message) / GB_per_s(50), us).value());

  // The tool takes the time back as its own; a test runs the program and expects 0.
  const tool::Seconds back = Bytes(message) / GB_per_s(50);
  return stalled == s(12) && between == s(300) && Bytes(message) == KiB(256) && back.value() == 262144 / 50e9 ? 0 : 1;
}
