#pragma once
/// \file fault.hpp
/// Converts a status of the GPU runtime to the exceptions of the engine.

#include "measure/device.hpp"
#include "measure/gpu/runtime.hpp"

#include <string>

namespace fabricost::probes::measure::gpu {

/// \throws OutOfMemory, Unsupported, DeviceLost, DeviceFault, naming the attempted call, unless it succeeded
inline void check(cudaError_t status, const std::string& attempted) {
  if (status == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());  // clears it, or the next launch would report it again
  const std::string said = attempted + ": " + cudaGetErrorString(status) + " (" + cudaGetErrorName(status) + ")";
  switch (status) {
    case cudaErrorMemoryAllocation: throw OutOfMemory(said);
    case cudaErrorNotSupported:
    case cudaErrorPeerAccessUnsupported:
#if !FABRICOST_HIP
    case cudaErrorStreamCaptureUnsupported:
    case cudaErrorStreamCaptureInvalidated:
#endif
      throw Unsupported(said);
    // after these, every later call on the device fails
    case cudaErrorNoDevice:
    case cudaErrorIllegalAddress:
    case cudaErrorECCUncorrectable:
    case cudaErrorLaunchFailure:
#if !FABRICOST_HIP
    case cudaErrorDevicesUnavailable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorAssert:
    case cudaErrorLaunchTimeout:
    case cudaErrorSystemNotReady:
    case cudaErrorMpsConnectionFailed:
    case cudaErrorMpsRpcFailure:
    case cudaErrorMpsServerNotReady:
#endif
    case cudaErrorUnknown: throw DeviceLost(said);
    default: throw DeviceFault(said);
  }
}

}  // namespace fabricost::probes::measure::gpu
