/// The part of NVML that the probes use, under its names and with its numbers (NVML API reference).

#include "stand_in.hpp"

#include <cstdio>
#include <cstdlib>

namespace {

using stand_in::Failure;
constexpr int success = 0, not_supported = 3, no_permission = 4, not_found = 6, gpu_is_lost = 15, no_memory = 20, unknown = 999;
constexpr unsigned links = 18;

int code_of(Failure failure) {
  switch (failure) {
    case Failure::none: return success;
    case Failure::out_of_memory: return no_memory;
    case Failure::unsupported: return not_supported;
    case Failure::fault: return unknown;
    case Failure::lost: break;
  }
  return gpu_is_lost;
}

int text(const char* call, char* to, unsigned size, const char* said) {
  if (const Failure failure = stand_in::failure_of(call); failure != Failure::none) return code_of(failure);
  std::snprintf(to, size, "%s", said);
  return success;
}
int number(const char* call, unsigned* to, unsigned value) {
  if (const Failure failure = stand_in::failure_of(call); failure != Failure::none) return code_of(failure);
  if (!stand_in::settings().permission) return no_permission;
  *to = value;
  return success;
}

}  // namespace

extern "C" {

STAND_IN_API int nvmlInit_v2() {
  if (const Failure failure = stand_in::failure_of(__func__); failure != Failure::none) return code_of(failure);
  return success;
}
STAND_IN_API int nvmlShutdown() { return code_of(stand_in::failure_of(__func__)); }
STAND_IN_API int nvmlSystemGetDriverVersion(char* to, unsigned size) { return text(__func__, to, size, "580.95.05"); }
STAND_IN_API int nvmlDeviceGetHandleByPciBusId_v2(const char* bus, void** device) {
  if (const Failure failure = stand_in::failure_of(__func__); failure != Failure::none) return code_of(failure);
  const long number = std::strtol(bus + 5, nullptr, 16) - 0x10;
  if (number < 0 || number >= stand_in::settings().devices) return not_found;
  *device = reinterpret_cast<void*>(number + 1);
  return success;
}
STAND_IN_API int nvmlDeviceGetVbiosVersion(void*, char* to, unsigned size) { return text(__func__, to, size, "96.00.99.00.01"); }
STAND_IN_API int nvmlDeviceGetCurrPcieLinkGeneration(void*, unsigned* to) { return number(__func__, to, 5); }
STAND_IN_API int nvmlDeviceGetCurrPcieLinkWidth(void*, unsigned* to) { return number(__func__, to, 16); }
STAND_IN_API int nvmlDeviceGetMaxPcieLinkGeneration(void*, unsigned* to) { return number(__func__, to, 5); }
STAND_IN_API int nvmlDeviceGetMaxPcieLinkWidth(void*, unsigned* to) { return number(__func__, to, 16); }
STAND_IN_API int nvmlDeviceGetClockInfo(void* device, unsigned which, unsigned* to) {
  const bool last = reinterpret_cast<long>(device) == stand_in::settings().devices;  // the last device is the slowest
  return number(__func__, to, which == 2 ? 2619 : last && stand_in::settings().devices > 1 ? 1755 : 1980);
}
STAND_IN_API int nvmlDeviceGetMaxClockInfo(void*, unsigned, unsigned* to) { return number(__func__, to, 1980); }
STAND_IN_API int nvmlDeviceGetTemperature(void*, unsigned, unsigned* to) { return number(__func__, to, 45); }
STAND_IN_API int nvmlDeviceGetPowerUsage(void*, unsigned* to) { return number(__func__, to, 300000); }
STAND_IN_API int nvmlDeviceGetEnforcedPowerLimit(void*, unsigned* to) { return number(__func__, to, 700000); }
STAND_IN_API int nvmlDeviceGetEccMode(void*, unsigned* now, unsigned* later) {
  *later = 1;
  return number(__func__, now, 1);
}
STAND_IN_API int nvmlDeviceGetMigMode(void*, unsigned* now, unsigned* later) {
  *later = stand_in::settings().mig ? 1 : 0;
  return number(__func__, now, *later);
}
STAND_IN_API int nvmlDeviceGetNvLinkState(void*, unsigned link, unsigned* to) {
  return link < links ? number(__func__, to, stand_in::settings().peers ? 1 : 0) : not_supported;
}
STAND_IN_API int nvmlDeviceGetCurrentClocksThrottleReasons(void* device, unsigned long long* to) {
  unsigned value = 0;
  const bool last = reinterpret_cast<long>(device) == stand_in::settings().devices;
  const int status = number(__func__, &value, last ? stand_in::settings().throttled : 0);
  *to = value;
  return status;
}

}  // extern "C"
