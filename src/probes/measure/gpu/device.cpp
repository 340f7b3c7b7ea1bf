/// The plugin: opens the GPUs of this process, connects to other processes, and passes cases to the probes.

#include "measure/gpu/gpus.hpp"
#include "measure/gpu/probes/probes.hpp"
#include "measure/gpu/processes/process_place.hpp"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>
#include <utility>

namespace fabricost::probes::measure::gpu {
namespace {

class GpuDevice : public Device {
 public:
  explicit GpuDevice(std::unique_ptr<Gpus> gpus) : gpus_(std::move(gpus)) {}

  Machine describe() override { return describe_machine(*gpus_); }
  State state(int unit) override { return gpus_->management().state(bus_of(*gpus_, unit)); }

  std::unique_ptr<Job> prepare(const Case& what) override {
    try {
      return prepared(what);
    } catch (const std::bad_alloc&) {
      throw OutOfMemory("host memory");
    }
  }

  int process() const override { return gpus_->process(); }
  int processes() const override { return gpus_->processes(); }
  double agreed(double value) override { return gpus_->agreed(value); }
  bool any(bool value) override { return gpus_->highest(value ? 1 : 0) > 0; }

 private:
  std::unique_ptr<Job> prepared(const Case& what) {
    if (const Prepare prepare = Prepares::of(what.kind)) return prepare(*gpus_, what);
    throw DeviceFault("no source of the GPU probes registers " + std::string(word(what.kind)));
  }

  std::unique_ptr<Gpus> gpus_;
};

// The GPUs of the node for this process: all, or an equal share per process that the launcher started here.
std::pair<int, int> share_of(int found, const ProcessPlace& place) {
  if (place.local_processes == 1) return {0, found};
  if (found == 1) return {0, 1};  // the launcher shows each process only its own
  if (found % place.local_processes != 0)
    throw std::invalid_argument(std::to_string(found) + " GPUs cannot be dealt out to " + std::to_string(place.local_processes) +
                                " processes of this host; start one for each GPU, or one for all");
  const int each = found / place.local_processes;
  return {place.local_rank * each, each};
}

std::unique_ptr<Device> open(std::string& why) {
  // one hardware queue per stream up to 32, so that concurrent streams do not wait for each other; a user's
  // setting takes precedence
  setenv(FABRICOST_HIP ? "GPU_MAX_HW_QUEUES" : "CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  int found = 0;
  const cudaError_t status = cudaGetDeviceCount(&found);
  if (status != cudaSuccess || found == 0) {
    int runtime = 0;
    static_cast<void>(cudaRuntimeGetVersion(&runtime));
    why = std::string(runtime_name) + " found no GPU";
    if (status != cudaSuccess) why += std::string(": ") + cudaGetErrorString(status);
    if (status == cudaErrorInsufficientDriver)
      why += FABRICOST_HIP ? "; install the amdgpu driver"
                           : "; the NVIDIA driver is missing or older than CUDA " + std::to_string(runtime / 1000) + " needs";
    return nullptr;
  }
  const ProcessPlace place = process_place();
  const auto [first, count] = share_of(found, place);
  use(first);
  auto others = place.processes > 1 ? std::make_unique<Rendezvous>(place) : nullptr;
  return std::make_unique<GpuDevice>(
      std::make_unique<Gpus>(first, count, std::max(1, place.processes / place.local_processes), std::move(others)));
}

}  // namespace
}  // namespace fabricost::probes::measure::gpu

extern "C" __attribute__((visibility("default"))) fabricost::probes::measure::Device* fabricost_device(int interface, std::string& why) {
  using namespace fabricost::probes::measure;
  if (interface != device_interface) {
    why = "the GPU probes were built for interface " + std::to_string(device_interface) + ", the command for " + std::to_string(interface) +
          "; build them together";
    return nullptr;
  }
  try {
    return gpu::open(why).release();
  } catch (const std::exception& fault) {
    why = std::string("the GPUs (") + gpu::runtime_name + ") cannot be used: " + fault.what();
    return nullptr;
  }
}
