// One question, its answer and the parts of the answer.
#include <fabricost/explain/explain.hpp>
#include <fabricost/fabricost.hpp>

#include <cstdio>
#include <iostream>

using namespace fabricost;
using namespace fabricost::units;

int main() {
  const System system = load_system("dgx-h100");
  const Prediction p = predict(system, AllReduce{.bytes = MiB(256), .ranks = 64});

  std::printf("%s %s: %.1f us, busbw %.1f GB/s\n", p.algorithm.c_str(), p.protocol.c_str(), in(p.time(), us).value(),
              in(p.bus_bandwidth(), GB_per_s).value());
  for (const Term& term : p.terms) {
    const double share = term.time / p.time();
    std::printf("  %-15s %-8s %9.1f us  %4.0f %%\n", term.name.c_str(), term.tier.c_str(), in(term.time, us).value(), 100 * share);
  }
  std::printf("bottleneck: %s\n\n", p.bottleneck().tier.c_str());
  std::cout << explain(p);  // the same as a table, with how sure it is
}
