#pragma once
/// Bodies of launch.hpp.

#include <fabricost/choice/launch.hpp>
#include <fabricost/compiled_once.hpp>

namespace fabricost::core {

FABRICOST_BODY double messages_of(const Fabric& f, Collective op) {
  return op == Collective::send_recv ? 2 : is_exchange(op) ? 2 * f.ranks() : 0;
}

FABRICOST_BODY HostTime host_time(const ScaleUpForm& form, double own, const Fabric& f, Collective op, CallLaunch launch) {
  const bool known = f.library == Library::nccl || f.library == Library::rccl;
  if (!is_launched_by_host(launch) || !known || f.ranks() <= 1) return {};
  const double taking = std::max<double>(f.ranks(), f.communicator);  // a send_recv: all of its communicator launch
  const double local = f.nodes > 0 ? taking / f.nodes : f.local();
  HostTime out;
  out.gpus = launch.mode == LaunchMode::process ? 1 : std::max(1.0, launch.gpus > 0 ? launch.gpus : local);
  if (f.domains() > 1 && out.gpus <= 1) return {};
  out.messages = messages_of(f, op);
  out.per_gpu = (own > 0 ? own : f.library == Library::rccl ? form.rccl_host_gpu : form.host_gpu) + out.messages * form.host_peer;
  out.share = launch.mode == LaunchMode::threads ? form.host_threads : 1;
  return out;
}

FABRICOST_BODY double rccl_call(const ScaleUpForm& form, const Fabric& f, Collective op, CallLaunch launch) {
  const bool counts = launch.mode == LaunchMode::eager && f.library == Library::rccl && f.ranks() > 1;
  return counts ? form.rccl_call + messages_of(f, op) * form.host_peer : 0;
}

FABRICOST_BODY double rccl_module(const ScaleUpForm& form, const Fabric& f, Collective op) {
  if (f.library != Library::rccl) return 0;
  const double messages = op == Collective::all_to_all ? 2 * f.ranks() : 0;
  return form.rccl_module + f.ranks() * form.rccl_module_rank + messages * form.rccl_module_peer;
}

}  // namespace fabricost::core
