#pragma once
/// \file agreement.hpp
/// If one process fails, all throw; otherwise the others would wait for it inside MPI.

#include "measure/mpi/world.hpp"

#include "measure/device.hpp"

#include <string>

namespace fabricost::probes::measure::mpi {

/// The failure of this process, in order of severity; all throw the most severe one.
struct Failure {
  enum class Kind : unsigned char { none, unsupported, out_of_memory, wrong_result, fault };
  Kind kind = Kind::none;
  std::string text{};
};

/// The exception of `work` as a Failure. DeviceLost is passed on, since lost processes cannot be asked.
template <class Work>
[[nodiscard]] Failure failure_of(Work&& work) {
  try {
    work();
  } catch (const Unsupported& e) {
    return {Failure::Kind::unsupported, e.what()};
  } catch (const OutOfMemory& e) {
    return {Failure::Kind::out_of_memory, e.what()};
  } catch (const WrongResult& e) {
    return {Failure::Kind::wrong_result, e.what()};
  } catch (const DeviceFault& e) {
    return {Failure::Kind::fault, e.what()};
  }
  return {};
}

/// Collects failures; either all processes throw the same exception or none throws.
/// \throws Unsupported, OutOfMemory, WrongResult, DeviceFault, DeviceLost
void fail_alike(World& world, const Failure& mine);

/// Checks that all processes are about to run the same case. \throws DeviceFault in all when one is not
void agree_on(World& world, const Case& what);

}  // namespace fabricost::probes::measure::mpi
