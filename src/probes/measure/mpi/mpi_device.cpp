/// \file mpi_device.cpp
/// Prepares a case in step: either all processes throw the same exception or none throws.

#include "measure/mpi/mpi_device.hpp"

#include "measure/mpi/agreement.hpp"
#include "measure/mpi/host/description.hpp"
#include "measure/mpi/job.hpp"
#include "measure/mpi/transfer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace fabricost::probes::measure::mpi {

MpiDevice::MpiDevice(const MpiOptions& options)
    : options_(options), world_(options.limit, options.apart), forced_(forced_algorithms(&environment_variable)) {}

Machine MpiDevice::describe() { return mpi::describe(world_, forced_); }

State MpiDevice::state(int unit) { return unit == world_.rank() ? state_here() : State{}; }

double MpiDevice::agreed(double value) {
  std::array<double, 1> values{value};
  world_.share(values);
  return values[0];
}

void MpiDevice::check_algorithm(const Case& what) const {
  if (!what.algorithm) return;
  const auto forced = std::find_if(forced_.begin(), forced_.end(), [&](const Forced& f) { return f.operation == what.operation; });
  if (forced == forced_.end() || forced->ours != what.algorithm)
    throw Unsupported(
        fmt::format("{} cannot be asked for once MPI runs; Open MPI: start with mpirun --mca coll_tuned_use_dynamic_rules 1 "
                    "--mca coll_tuned_OPERATION_algorithm NAME",
                    name(*what.algorithm)));
}

std::unique_ptr<Job> MpiDevice::prepare(const Case& what) {
  agree_on(world_, what);
  world_.watch().name(fmt::format("{}, the first time,", described(what)));
  std::unique_ptr<Transfer> transfer;
  fail_alike(world_, failure_of([&] {
               check_algorithm(what);
               transfer = std::make_unique<Transfer>(what, world_);
               transfer->fill();
             }));
  fail_alike(world_, failure_of([&] {
               {
                 const Watched watched(world_.watch());
                 transfer->run();
               }
               transfer->verify();
               transfer->zero_sums();
             }));
  return std::make_unique<MpiJob>(world_, std::move(transfer), described(what));
}

}  // namespace fabricost::probes::measure::mpi
