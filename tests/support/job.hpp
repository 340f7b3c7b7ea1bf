#pragma once
/// A question about one training job on one machine.

#include <string>

namespace support {

/// \tparam Request  of plan, compare, project, explore: any with a machine, a model, GPUs and a batch
template <class Request>
Request job(const std::string& machine, const std::string& model, int gpus, int global_batch) {
  Request r;
  if constexpr (requires { r.systems.all; })
    r.systems.all = {machine};
  else if constexpr (requires { r.systems; })
    r.systems = {machine};
  else
    r.system.name = machine;
  r.model.name = model;
  r.gpus = gpus;
  r.global_batch = global_batch;
  return r;
}

}  // namespace support
