// Many sizes of one question: compile once, evaluate often. The curve never allocates and takes nanoseconds a size.
#include <fabricost/fabricost.hpp>
#include <fabricost/specs/load.hpp>

#include <cstdio>

using namespace fabricost;
using namespace fabricost::units;

int main() {
  const System system = load_system("dgx-a100");
  const AllGather question{.bytes = {}, .ranks = 4};

  const Curve curve = compile(system, question);
  std::printf("what NCCL runs, and from which size on\n");
  for (int i = 0; i < curve.pieces(); ++i) {
    const Candidate ran = curve.ran(curve.threshold(i));
    std::printf("  from %12.0f B  %s %s\n", in(curve.threshold(i), B).value(), name(ran.algorithm).data(), name(ran.protocol).data());
  }
  // the step at a change of protocol is real: NCCL's choice is not always the fastest
  for (const Bytes& size : powers_of_two(KiB(256), MiB(8)))
    std::printf("  %9.0f KiB  %8.1f us\n", in(size, KiB).value(), in(curve(size), us).value());
}
