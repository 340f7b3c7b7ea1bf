#pragma once
/// \file agreement.hpp
/// When one process fails, all throw: otherwise the others would wait for it inside MPI.

#include "measure/mpi/world.hpp"

#include "measure/device.hpp"

#include <string>

namespace fabricost::measure::mpi {

/// What went wrong in this process, mildest first; the gravest of all processes is what everybody throws.
struct Failure {
  enum class Kind : unsigned char { none, unsupported, out_of_memory, wrong_result, fault };
  Kind kind = Kind::none;
  std::string text{};
};

/// What `work` throws, as Failure. DeviceLost passes: who has lost the others cannot ask them.
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

/// Asks everybody; every process throws the same, or none does.
/// \throws Unsupported, OutOfMemory, WrongResult, DeviceFault, DeviceLost
void fail_alike(World& world, const Failure& mine);

/// Every process must be about to do the same. \throws DeviceFault in all of them where one is not
void agree_on(World& world, const Case& what);

}  // namespace fabricost::measure::mpi
