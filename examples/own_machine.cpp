// A machine described in code instead of a file: eight GPUs on a switch, four such nodes on one NIC a GPU. No file is read.
#include <fabricost/fabricost.hpp>
#include <fabricost/hardware/check.hpp>

#include <cstdio>

using namespace fabricost;
using namespace fabricost::units;

int main() {
  Tier links;
  links.name = "nvlink";
  links.role = TierRole::scale_up;
  links.kind = TierKind::switched;
  links.endpoints = 8;
  links.links = 18;
  links.bandwidth.value = one_way(GB_per_s_duplex(900));
  links.link_bandwidth = links.bandwidth.value / links.links;

  Tier nics;
  nics.name = "nic";
  nics.role = TierRole::nic;
  nics.kind = TierKind::rails;
  nics.endpoints = 8;
  nics.bandwidth.value = payload(Gbit_per_s(400), 1.0);
  nics.link_bandwidth = nics.bandwidth.value;
  nics.latency.value = us(2.8);
  nics.on_gpu = true;  // no PCIe in between

  System machine;
  machine.name = "four-boxes";
  machine.gpus_per_node = machine.domain = 8;
  machine.nodes = 4;
  machine.tiers = {links, nics};
  check(machine);  // says which field is wrong, if one is

  for (const int ranks : {8, 32}) {
    const Prediction p = predict(machine, AllReduce{.bytes = 256 * MiB, .ranks = ranks}, {.rule = Choice::Rule::fastest});
    std::printf("%2d ranks: %s, %.0f us, busbw %.0f GB/s (%s: nothing of it was measured)\n", ranks, p.algorithm.c_str(),
                in(p.time(), us).value(), in(p.bus_bandwidth(), GB_per_s).value(), name(p.basis));
  }
}
