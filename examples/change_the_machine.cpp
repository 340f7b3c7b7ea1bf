// Changes one value of a machine and asks the same question again; beside it the answer of dividing by the headline rate.
#include <fabricost/fabricost.hpp>
#include <fabricost/specs/load.hpp>

#include <array>
#include <cstdio>
#include <string>

using namespace fabricost;
using namespace fabricost::units;

int main() {
  const AllReduce question{.bytes = MiB(256), .ranks = 32};
  const System stock = load_system("dgx-h100");
  const std::array<std::string, 1> change{"nic.gdr=false"};
  const System changed = load_system("dgx-h100", change);

  const Prediction before = predict(stock, question);
  const Prediction after = predict(changed, question);
  std::printf("GPUDirect RDMA on:  %8.1f us (%s)\n", in(before.time(), us).value(), name(before.basis));
  std::printf("GPUDirect RDMA off: %8.1f us, %.0f %% slower\n", in(after.time(), us).value(), 100 * (after.seconds / before.seconds - 1));

  const Bandwidth nics = 8.0 * payload(Gbit_per_s(400), 1.0);
  const Time naive = bus_factor(Collective::all_reduce, 32) * question.bytes / nics;
  std::printf("ring volume over 8 x 400 Gbit/s: %.1f us: what bandwidth arithmetic alone expects\n", in(naive, us).value());
}
