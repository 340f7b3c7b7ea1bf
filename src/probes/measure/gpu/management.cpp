/// Loads NVML with dlopen.

#include "measure/gpu/management.hpp"

#include <dlfcn.h>

#include <array>
#include <optional>
#include <type_traits>
#include <utility>

namespace fabricost::probes::measure::gpu {
namespace {

using Handle = void*;
constexpr int success = 0;                          // NVML_SUCCESS
constexpr unsigned clock_sm = 1, clock_memory = 2;  // nvmlClockType_t
constexpr unsigned temperature_gpu = 0, on = 1;     // nvmlTemperatureSensors_t, nvmlEnableState_t
constexpr unsigned max_links = 36;                  // NVML_NVLINK_MAX_LINKS is 18 at present; queries beyond it fail harmlessly

}  // namespace

struct Management::Functions {
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*driver)(char*, unsigned) = nullptr;
  int (*by_bus)(const char*, Handle*) = nullptr;
  int (*vbios)(Handle, char*, unsigned) = nullptr;
  int (*generation)(Handle, unsigned*) = nullptr;
  int (*width)(Handle, unsigned*) = nullptr;
  int (*generation_most)(Handle, unsigned*) = nullptr;
  int (*width_max)(Handle, unsigned*) = nullptr;
  int (*clock)(Handle, unsigned, unsigned*) = nullptr;
  int (*clock_max)(Handle, unsigned, unsigned*) = nullptr;
  int (*temperature)(Handle, unsigned, unsigned*) = nullptr;
  int (*power)(Handle, unsigned*) = nullptr;
  int (*power_limit)(Handle, unsigned*) = nullptr;
  int (*ecc)(Handle, unsigned*, unsigned*) = nullptr;
  int (*mig)(Handle, unsigned*, unsigned*) = nullptr;
  int (*link)(Handle, unsigned, unsigned*) = nullptr;
  int (*reasons)(Handle, unsigned long long*) = nullptr;

  [[nodiscard]] std::optional<Handle> find(const std::string& bus) const {
    Handle found = nullptr;
    if (by_bus == nullptr || by_bus(bus.c_str(), &found) != success) return std::nullopt;
    return found;
  }
};

namespace {

// The value of a query; 0 if it is missing or not supported.
unsigned query(int (*function)(Handle, unsigned*), Handle gpu) {
  unsigned value = 0;
  return function != nullptr && function(gpu, &value) == success ? value : 0;
}
unsigned query(int (*function)(Handle, unsigned, unsigned*), Handle gpu, unsigned which) {
  unsigned value = 0;
  return function != nullptr && function(gpu, which, &value) == success ? value : 0;
}
std::optional<bool> is_on(int (*function)(Handle, unsigned*, unsigned*), Handle gpu) {
  unsigned now = 0, later = 0;
  if (function == nullptr || function(gpu, &now, &later) != success) return std::nullopt;
  return now == on;
}
std::string text(int (*function)(Handle, char*, unsigned), Handle gpu) {
  std::array<char, 128> said{};
  return function != nullptr && function(gpu, said.data(), said.size()) == success ? said.data() : "";
}
constexpr double megahertz = 1e6, milliwatts = 1e-3;

}  // namespace

Management::Management() {
#if defined(__HIP_PLATFORM_AMD__)
  why_not_ = "clocks, PCIe links and throttling are read on NVIDIA GPUs only";
#else
  handle_ = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (handle_ == nullptr) {
    const char* said = dlerror();
    why_not_ = std::string("clocks, PCIe links and throttling are unknown: NVML was not found: ") + (said != nullptr ? said : "");
    return;
  }
  functions_ = new Functions;
  const auto find = [this](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)> >(dlsym(handle_, name));
  };
  find(functions_->init, "nvmlInit_v2");
  find(functions_->shutdown, "nvmlShutdown");
  find(functions_->driver, "nvmlSystemGetDriverVersion");
  find(functions_->by_bus, "nvmlDeviceGetHandleByPciBusId_v2");
  find(functions_->vbios, "nvmlDeviceGetVbiosVersion");
  find(functions_->generation, "nvmlDeviceGetCurrPcieLinkGeneration");
  find(functions_->width, "nvmlDeviceGetCurrPcieLinkWidth");
  find(functions_->generation_most, "nvmlDeviceGetMaxPcieLinkGeneration");
  find(functions_->width_max, "nvmlDeviceGetMaxPcieLinkWidth");
  find(functions_->clock, "nvmlDeviceGetClockInfo");
  find(functions_->clock_max, "nvmlDeviceGetMaxClockInfo");
  find(functions_->temperature, "nvmlDeviceGetTemperature");
  find(functions_->power, "nvmlDeviceGetPowerUsage");
  find(functions_->power_limit, "nvmlDeviceGetEnforcedPowerLimit");
  find(functions_->ecc, "nvmlDeviceGetEccMode");
  find(functions_->mig, "nvmlDeviceGetMigMode");
  find(functions_->link, "nvmlDeviceGetNvLinkState");
  find(functions_->reasons, "nvmlDeviceGetCurrentClocksThrottleReasons");  // the newer name is missing before driver 535
  if (functions_->reasons == nullptr) find(functions_->reasons, "nvmlDeviceGetCurrentClocksEventReasons");
  if (functions_->init == nullptr || functions_->init() != success)
    why_not_ = "clocks, PCIe links and throttling are unknown: NVML did not start";
#endif
}

Management::~Management() {
  if (functions_ != nullptr && why_not_.empty() && functions_->shutdown != nullptr) functions_->shutdown();
  delete functions_;
  if (handle_ != nullptr) dlclose(handle_);
}

std::string Management::driver() const {
  std::array<char, 128> said{};
  if (functions_ == nullptr || !why_not_.empty() || functions_->driver == nullptr ||
      functions_->driver(said.data(), said.size()) != success)
    return "";
  return said.data();
}

void Management::describe(Unit& unit) const {
  if (functions_ == nullptr || !why_not_.empty()) return;
  const Functions& f = *functions_;
  const auto gpu = f.find(unit.bus);
  if (!gpu) return;
  // first the properties that need a busy link
  unit.pcie_generation = static_cast<int>(query(f.generation, *gpu));
  unit.pcie_lanes = static_cast<int>(query(f.width, *gpu));
  unit.vbios = text(f.vbios, *gpu);
  unit.pcie_generation_max = static_cast<int>(query(f.generation_most, *gpu));
  unit.pcie_lanes_max = static_cast<int>(query(f.width_max, *gpu));
  unit.clock = megahertz * query(f.clock, *gpu, clock_sm);
  // the runtime's own figures stay where a user may not ask for these
  if (const unsigned clock = query(f.clock_max, *gpu, clock_sm); clock > 0) unit.clock_max = megahertz * clock;
  if (const unsigned clock = query(f.clock, *gpu, clock_memory); clock > 0) unit.memory_clock = megahertz * clock;
  unit.power_limit = milliwatts * query(f.power_limit, *gpu);
  unit.ecc = is_on(f.ecc, *gpu);
  unit.mig = is_on(f.mig, *gpu);
  unit.nvlinks = 0;
  for (unsigned link = 0; link < max_links; ++link) unit.nvlinks += query(f.link, *gpu, link) == on ? 1 : 0;
}

State Management::state(const std::string& bus) const {
  State now;
  if (functions_ == nullptr || !why_not_.empty()) return now;
  const Functions& f = *functions_;
  const auto gpu = f.find(bus);
  if (!gpu) return now;
  now.clock = megahertz * query(f.clock, *gpu, clock_sm);
  now.memory_clock = megahertz * query(f.clock, *gpu, clock_memory);
  now.temperature = query(f.temperature, *gpu, temperature_gpu);
  now.power = milliwatts * query(f.power, *gpu);
  unsigned long long reasons = 0;
  if (f.reasons != nullptr && f.reasons(*gpu, &reasons) == success) now.throttled = throttle_words(reasons);
  return now;
}

std::string throttle_words(unsigned long long reasons) {
  // nvmlClocksEventReason*: 1 idle, 2 application clocks and 0x100 display clocks are not slow-downs
  constexpr std::array<std::pair<unsigned long long, const char*>, 6> words{{{0x4, "power cap"},
                                                                             {0x8, "hardware slowdown"},
                                                                             {0x10, "sync boost"},
                                                                             {0x20, "thermal"},
                                                                             {0x40, "thermal (hardware)"},
                                                                             {0x80, "power brake"}}};
  std::string said;
  for (const auto& [bit, word] : words)
    if ((reasons & bit) != 0) said += (said.empty() ? "" : ", ") + std::string(word);
  return said;
}

}  // namespace fabricost::probes::measure::gpu
