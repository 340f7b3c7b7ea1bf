#include <fabricost/plan/economics/power.hpp>

namespace fabricost::plan {

Sourced<Watts> rated_power_per_gpu(const System& system, const PowerUse& use) {
  if (system.power.value > Watts{}) return {system.power.value / static_cast<double>(machine_gpus(system)), system.power.provenance};
  if (system.gpu.power.value > Watts{})
    return {system.gpu.power.value * use.node_over_gpus.value,
            {system.gpu.power.provenance.source + ", times " + use.node_over_gpus.provenance.source, Confidence::assumed}};
  return {};
}

double machines_of_a_rack(const System& system, const PowerUse& use) {
  const Watts each = rated_power_per_gpu(system, use).value * static_cast<double>(machine_gpus(system));
  if (!(each > Watts{} && use.rack.value > Watts{})) return 1;
  return std::clamp(std::floor(static_cast<double>(use.rack.value / each)), 1.0, use.machines_of_a_rack);
}

bool is_rack(const System& system, const PowerUse& use) {
  return system.domain > system.gpus_per_node && system.domain <= use.gpus_of_a_rack;
}

double racks_of(const System& system, double gpus, const PowerUse& use) {
  const bool rack = system.domain > system.gpus_per_node;
  if (!(use.rack.value > Watts{}) || (rack && system.domain > use.gpus_of_a_rack)) return 0;
  if (!rack && !(rated_power_per_gpu(system, use).value > Watts{})) return 0;
  return std::ceil(std::ceil(gpus / machine_gpus(system)) / machines_of_a_rack(system, use));
}

NetworkSize network_of(const System& system, double gpus, const PowerUse& use) {
  return network_size(system, gpus,
                      {.kind = use.network,
                       .radix = use.switch_radix,
                       .machines_of_a_rack = machines_of_a_rack(system, use),
                       .spare_gpus = use.spare_gpus});
}

Power power_of(const System& system, double gpus, const PowerUse& use) {
  if (!(gpus >= 1)) throw RequestError("power is that of at least 1 GPU");
  check_parts(system, {.gpu = true});
  const Sourced<Watts> each = rated_power_per_gpu(system, use);
  if (!(each.value > Watts{}))
    throw RequestError("no power is known of " + system.name + " nor of its GPU; add `power:` to a YAML file that extends it");
  Power out;
  out.basis = each.provenance;
  out.rated = each.value * gpus;
  out.racks = out.rated * use.load.value;
  const NetworkSize net = network_of(system, gpus, use);
  out.switches = use.switch_port.value * (net.ports * net.rate);
  out.site = (out.racks + out.switches) * use.pue.value;
  return out;
}

}  // namespace fabricost::plan
