/// Fills Machine and its Units.

#include "measure/gpu/gpus.hpp"

#include "measure/gpu/numa.hpp"

#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>

namespace fabricost::probes::measure::gpu {
namespace {

// 13000 -> "13.0"
std::string version_text(int version) { return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10); }
// NCCL: 22809 -> "2.28.9", before 2.9 2708 -> "2.7.8"
std::string library_text(int version) {
  const int major = version >= 10000 ? 10000 : 1000;
  return std::to_string(version / major) + "." + std::to_string(version % major / 100) + "." + std::to_string(version % 100);
}

std::string uuid_text(const unsigned char* bytes) {
  std::string text = "GPU";
  for (int i = 0; i < 16; ++i) {
    std::array<char, 3> two{};
    std::snprintf(two.data(), two.size(), "%02x", bytes[i]);
    text += (i == 0 || i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "") + std::string(two.data());
  }
  return text;
}

// Keeps copies running during its lifetime.
class PcieLoad {
 public:
  /// \param available memory of the device
  PcieLoad(int ordinal, std::uint64_t available)
      : device_(ordinal, std::min(std::uint64_t{32} << 20U, available / 64)), host_(pinned_memory(device_.bytes())), stream_(make_stream()) {
    for (int i = 0; i < 16; ++i)
      check(cudaMemcpyAsync(device_.as<void>(), host_.as<void>(), device_.bytes(), cudaMemcpyHostToDevice, stream_.handle()),
            "copying to the device");
  }
  ~PcieLoad() { ignore(cudaStreamSynchronize(stream_.handle())); }
  PcieLoad(const PcieLoad&) = delete;
  PcieLoad& operator=(const PcieLoad&) = delete;

 private:
  Buffer device_;
  Memory host_;
  Stream stream_;
};

Unit unit_of(Gpus& gpus, int gpu, std::vector<std::string>& remarks) {
  const int ordinal = gpus.ordinal(gpu);
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, ordinal), "reading properties of GPU " + std::to_string(gpu));
  Unit unit;
  unit.name = properties.name;
  unit.bus = bus_of(gpus, gpu);
#if FABRICOST_HIP
  unit.compute = properties.gcnArch;
#else
  unit.uuid = uuid_text(reinterpret_cast<const unsigned char*>(properties.uuid.bytes));
  unit.compute = gpus.compute(gpu);
#endif
  unit.multiprocessors = gpus.multiprocessors(gpu);
  unit.l2 = gpus.l2_bytes(gpu);
  unit.mig_instance = unit.name.find(" MIG ") != std::string::npos;
  unit.numa_node = numa_node_of(unit.bus);
  // kHz; some MIG slices do not report it
  int kilohertz = 0;
  if (cudaDeviceGetAttribute(&kilohertz, cudaDevAttrClockRate, ordinal) == cudaSuccess) unit.clock_max = 1e3 * kilohertz;
  if (cudaDeviceGetAttribute(&kilohertz, cudaDevAttrMemoryClockRate, ordinal) == cudaSuccess) unit.memory_clock = 1e3 * kilohertz;
  static_cast<void>(cudaGetLastError());
  std::size_t available = 0, all = 0;
  use(ordinal);
  check(cudaMemGetInfo(&available, &all), "asking for the memory of GPU " + std::to_string(gpu));
  unit.free_memory = available;
  unit.memory = all;
  try {
    const PcieLoad load(ordinal, available);
    gpus.management().describe(unit);
  } catch (const OutOfMemory& fault) {
    remarks.push_back("GPU " + std::to_string(gpu) + ": its PCIe link was read while idle: " + fault.what());
    gpus.management().describe(unit);
  }
  if (unit.mig_instance)
    remarks.push_back("GPU " + std::to_string(gpu) + " is a MIG slice: rates are of the slice, clocks and links of the whole GPU");
  return unit;
}

void describe_host(Machine& machine) {
  utsname names{};
  if (uname(&names) == 0) {
    machine.host = names.nodename;
    machine.kernel = std::string(names.sysname) + " " + names.release;
  }
  std::ifstream processors("/proc/cpuinfo");
  std::set<std::string> packages;
  for (std::string line; std::getline(processors, line);) {
    const std::size_t colon = line.find(": ");
    if (colon == std::string::npos) continue;
    if (line.starts_with("model name")) machine.processor = line.substr(colon + 2);
    if (line.starts_with("physical id")) packages.insert(line.substr(colon + 2));
  }
  machine.sockets = static_cast<int>(packages.size());
}

}  // namespace

std::string bus_of(const Gpus& gpus, int gpu) {
  std::array<char, 32> text{};
  check(cudaDeviceGetPCIBusId(text.data(), static_cast<int>(text.size()), gpus.ordinal(gpu)), "asking for a bus address");
  return text.data();
}

Machine describe_machine(Gpus& gpus) {
  Machine machine;
  machine.runtime = runtime_name;
  machine.nodes = gpus.nodes();
  int version = 0;
  check(cudaRuntimeGetVersion(&version), "asking for the runtime's version");
  machine.runtime_version = version_text(version);
  machine.driver = gpus.management().driver();
  if (machine.driver.empty()) {
    check(cudaDriverGetVersion(&version), "asking for the driver's version");
    machine.driver = std::string(runtime_name) + " " + version_text(version);
  }
  if (!gpus.management().why_not().empty()) machine.remarks.push_back(gpus.management().why_not());
  try {
    machine.library_version = library_text(gpus.nccl().library(std::nullopt).version);
    machine.library = collectives_name;
  } catch (const Unsupported& why) {
    machine.remarks.emplace_back(why.what());
  }
  for (const char* variable : {"NCCL_ALGO", "NCCL_PROTO", "NCCL_NVLS_ENABLE"})
    if (const char* value = std::getenv(variable); value != nullptr)
      machine.remarks.push_back(std::string(variable) + "=" + value + " is set: collectives that force no choice of their own run with it");
  describe_host(machine);
  const auto count = static_cast<std::size_t>(gpus.count());
  machine.peer_access.assign(count, std::vector<bool>(count, false));
  for (int gpu = 0; gpu < gpus.count(); ++gpu) {
    machine.units.push_back(unit_of(gpus, gpu, machine.remarks));
    machine.units.back().host = machine.host;
    for (int other = 0; other < gpus.count(); ++other)
      machine.peer_access[static_cast<std::size_t>(gpu)][static_cast<std::size_t>(other)] = other != gpu && gpus.can_reach(gpu, other);
  }
  return machine;
}

}  // namespace fabricost::probes::measure::gpu
