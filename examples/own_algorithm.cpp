// An algorithm that the library does not have: its messages, as a struct like those of fabricost/algorithms, and its price on a machine.
// With one more line in registry.hpp it would be a choice of every prediction, have a name for the command, and be tested with the others.
#include <fabricost/fabricost.hpp>
#include <fabricost/predict/fabric_of.hpp>
#include <fabricost/price/generic.hpp>
#include <fabricost/specs/load.hpp>

#include <cstdio>

using namespace fabricost;
using namespace fabricost::units;

/// Everybody adds its buffer to that of the rank before and passes the sum on; the last one's way back takes as long: 2(n-1) messages
/// of S one after another, which no chunk shortens.
struct Chain : algorithms::Defaults {
  static constexpr std::string_view name = "chain";
  [[nodiscard]] static constexpr const char* not_for(Collective op) {
    return op == Collective::all_reduce ? nullptr : "a chain reduces and sends back";
  }
  static void add_phases(Schedule& out, const Connectivity& at) {
    double groups = 1;  // of the level above: the chain passes through all of them
    for (int level = at.levels.count - 1; level >= 0; --level) {
      const double steps = 2 * (at.levels.size(level) - 1) * groups;
      groups *= at.levels.size(level);
      if (steps > 0) out.add({.level = level, .steps = steps, .bytes = steps, .message = 1, .forwards = steps / 2, .reduces = steps / 2});
    }
  }
};

int main() {
  const System system = load_system("dgx-h100");
  const AllReduce question{.bytes = MiB(1), .ranks = 8};
  const Fabric fabric = fabric_of(system, question);
  Schedule schedule{Algorithm::ring, Collective::all_reduce, fabric.levels};  // neighbours send to neighbours, as in a ring
  Chain::add_phases(schedule, fabric);
  const Line chain = price_generic(schedule, fabric, system.constants, Protocol::simple);
  const Curve chosen = compile(system, question);
  for (const Bytes& size : powers_of_two(KiB(64), MiB(16)))
    std::printf("%8.0f KiB  chain %9.1f us  what NCCL runs %7.1f us\n", in(size, KiB).value(), 1e6 * chain(size.value()),
                in(chosen(size), us).value());
}
