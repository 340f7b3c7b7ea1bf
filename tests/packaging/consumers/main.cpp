// A planner's own tool in short: load a machine, ask, print.
#include <fabricost/fabricost.hpp>
#include <fabricost/specs/load.hpp>

#include <cstdio>

int main() {
  using namespace fabricost::core;
  using namespace fabricost::units;
  const System system = load_system("dgx-h100");
  const Prediction p = predict(system, AllReduce{.bytes = MiB(256), .ranks = 8});
  std::printf("%s %.1f us\n", p.algorithm.c_str(), in(p.time(), us).value());
  return p.seconds > 0 ? 0 : 1;
}
