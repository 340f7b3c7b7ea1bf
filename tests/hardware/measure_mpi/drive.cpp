/// The MPI probe without the host logic: the work of every process of `mpirun -n N drive WHAT` on the device. Prints rank 0's results.
///
///   every      every collective, type, place and way to count, prepared (and so checked) and timed: one line each
///   wrong      results that were never computed are refused
///   mismatch   one process measures something else: all of them hear of it
///   memory     more than any machine has: all of them are told
///   stopped    the last process stands still between two measurements: the others stop waiting
///   stuck      the last process stands still inside a measurement: the others end themselves

#include "measure/mpi/mpi_device.hpp"
#include "measure/mpi/transfer.hpp"

#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>

#include <unistd.h>

namespace {

using namespace fabricost::probes;
using namespace fabricost::probes::measure;

/// Prints from the first process only, whole lines.
void say(const Device& device, const std::string& line) {
  if (device.process() != 0) return;
  fmt::print("{}\n", line);
  std::fflush(stdout);
}

int every(Device& device) {
  const Machine machine = device.describe();
  for (const std::string& remark : machine.remarks) say(device, "remark " + remark);
  say(device, fmt::format("library {} {} on {} units of {}", machine.library, machine.library_version, machine.units.size(), machine.host));
  for (std::size_t op = 0; op < collective_names.size(); ++op)
    for (const DataType type : {DataType::int8, DataType::half, DataType::single, DataType::double_precision})
      for (const std::uint64_t bytes : {8ULL, 3072ULL, 100000ULL, 1048576ULL})
        for (const bool in_place : {false, true}) {
          Case what{
              .kind = ProbeKind::collective, .bytes = bytes, .operation = static_cast<Collective>(op), .dtype = type, .in_place = in_place};
          const std::string called = fmt::format("{} {} {} {}", name(what.operation), name(type), bytes, in_place ? "in" : "out");
          try {
            const Timing t = device.prepare(what)->run(3);
            say(device, fmt::format("time {} {:.9g} {:.9g}", called, t.device, t.host));
          } catch (const Unsupported& e) {
            say(device, fmt::format("unsupported {}: {}", called, e.what()));
          }
        }
  for (const bool both : {false, true}) {
    Case what{.kind = ProbeKind::collective, .bytes = 4096, .operation = Collective::send_recv, .dtype = DataType::single};
    what.pairs = {{0, device.processes() - 1}};
    what.both_ways = both;
    for (const bool in_place : {false, true}) {
      what.in_place = in_place;
      say(device, fmt::format("time pair {} {} {:.9g}", both, in_place, device.prepare(what)->run(3).device));
    }
  }
  return 0;
}

int wrong(mpi::MpiDevice& device, const mpi::World& world) {
  int refused = 0, asked = 0;
  for (std::size_t op = 0; op < collective_names.size(); ++op)
    for (const bool in_place : {false, true}) {
      const Case what{.kind = ProbeKind::collective,
                      .bytes = 4096,
                      .operation = static_cast<Collective>(op),
                      .dtype = DataType::single,
                      .in_place = in_place};
      const bool on_root_alone = what.operation == Collective::broadcast;  // who has it already
      const bool only_root_has = what.operation == Collective::reduce;
      if ((on_root_alone && device.process() == 0) || (only_root_has && device.process() != 0)) continue;
      mpi::Transfer transfer(what, world);
      transfer.fill();
      ++asked;
      try {
        transfer.verify();
      } catch (const WrongResult&) {
        ++refused;
      }
    }
  const bool all = !device.any(asked == 0 || refused != asked);
  say(device, all ? "refused" : "accepted what nobody computed");
  return all ? 0 : 1;
}

int mismatch(Device& device) {
  const std::uint64_t mine = device.process() == 0 ? 4096 : 8192;
  try {
    (void)device.prepare({.kind = ProbeKind::collective, .bytes = mine, .dtype = DataType::single});
    return 1;
  } catch (const DeviceFault& e) {
    say(device, fmt::format("fault {}", e.what()));
  }
  auto job = device.prepare({.kind = ProbeKind::collective, .bytes = 4096, .dtype = DataType::single});
  try {
    (void)job->run(device.process() == 0 ? 1 : 2);
    return 1;
  } catch (const DeviceFault& e) {
    say(device, fmt::format("fault {}", e.what()));
  }
  const bool all = device.any(device.process() == device.processes() - 1);
  say(device, fmt::format("agreed {} {}", device.agreed(device.process() == 0 ? 42 : 7), all));
  return 0;
}

int memory(Device& device) {
  for (const std::uint64_t bytes : {std::uint64_t{1} << 44, std::uint64_t{1} << 62}) try {
      (void)device.prepare({.kind = ProbeKind::collective, .bytes = bytes, .dtype = DataType::single});
      return 1;
    } catch (const OutOfMemory& e) {
      say(device, fmt::format("memory {}", e.what()));
    } catch (const Unsupported& e) {
      say(device, fmt::format("memory {}", e.what()));
    }
  return 0;
}

int stopped(Device& device) {
  auto job = device.prepare({.kind = ProbeKind::collective, .bytes = 4096, .dtype = DataType::single});
  if (device.process() == device.processes() - 1) raise(SIGSTOP);
  try {
    (void)job->run(1);
    return 1;
  } catch (const DeviceLost& e) {
    say(device, fmt::format("lost {}", e.what()));
    return 2;
  }
}

// Large and late, so that the stop falls into the measurement, not into the agreement of the processes before and between: that has
// its own words.
int stuck(Device& device) {
  auto job = device.prepare({.kind = ProbeKind::collective, .bytes = 1 << 26, .dtype = DataType::single});
  if (device.process() == device.processes() - 1)
    std::thread([] {
      usleep(2'000'000);
      raise(SIGSTOP);
    }).detach();
  (void)job->run(1'000'000);
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  mpi::MpiOptions options;
  if (const char* limit = std::getenv("DRIVE_LIMIT")) options.limit = std::atof(limit);
  options.apart = std::getenv("DRIVE_APART") != nullptr;
  mpi::MpiDevice device(options);
  try {
    if (what == "every") return every(device);
    if (what == "wrong") return wrong(device, device.world());
    if (what == "mismatch") return mismatch(device);
    if (what == "memory") return memory(device);
    if (what == "stopped") return stopped(device);
    if (what == "stuck") return stuck(device);
  } catch (const std::exception& e) {
    fmt::print(stderr, "drive: {}\n", e.what());
    return 1;
  }
  fmt::print(stderr, "drive: write every, wrong, mismatch, memory, stopped or stuck\n");
  return 1;
}
