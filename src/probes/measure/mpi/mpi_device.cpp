/// Describes the run from MPI itself, /proc and /sys; prepares a case in step, where all processes throw the same exception or none does.

#include "measure/mpi/mpi_device.hpp"

#include "measure/mpi/host.hpp"
#include "measure/mpi/transfer.hpp"
#include "measure/mpi/world.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <utility>

#include <sched.h>
#include <sys/utsname.h>

namespace fabricost::probes::measure::mpi {

namespace {

// Lead of the start time: twice the time of an agreement, within these limits.
constexpr double min_lead = 10e-6, max_lead = 20e-3;
constexpr int tries = 4;  // of a repetition for which a process was late

}  // namespace

MpiJob::MpiJob(World& world, std::unique_ptr<Transfer> transfer, std::string called)
    : world_(world), transfer_(std::move(transfer)), called_(std::move(called)) {
  std::array<double, 1> longest{0};
  for (int i = 0; i < 3; ++i) {
    const double before = now();
    world_.max(longest);
    longest[0] = now() - before;
  }
  world_.max(longest);  // the maximum, the same in every process
  lead_ = std::clamp(2 * longest[0], min_lead, max_lead);
}

Timing MpiJob::run(int repetitions) {
  world_.watch().name(called_);
  std::array<double, 2> ends{static_cast<double>(repetitions), -static_cast<double>(repetitions)};
  world_.max(ends);
  if (repetitions < 1 || ends[0] != -ends[1])
    throw DeviceFault(fmt::format("{}: the processes were told to repeat it {:g} to {:g} times", called_, -ends[1], ends[0]));
  return world_.one_clock() ? from_a_moment(repetitions) : from_a_barrier(repetitions);
}

Timing MpiJob::from_a_moment(int repetitions) {
  Timing sum;
  std::array<double, 1> latest{now()};
  world_.max(latest);
  for (int i = 0, again = 0; i < repetitions;) {
    const double moment = latest[0] + lead_;
    const double late = std::max(0.0, now() - moment);
    wait_until(moment, world_.crowded());
    const double wall = MPI_Wtime(), begin = now();
    {
      const Watched watched(world_.watch());
      transfer_->run();
    }
    const double end = now();
    // the end of the last process by either clock; whether any was late; the earliest next start
    std::array<double, 4> max{end, MPI_Wtime() - wall + (begin - moment), late, now()};
    world_.max(max);
    latest[0] = max[3];
    if (max[2] > 0 && ++again < tries) {
      lead_ = std::min(2 * lead_, max_lead);
      continue;
    }
    sum.device += max[0] - moment;
    sum.host += max[1];
    again = 0;
    ++i;
  }
  const double each = transfer_->share() / repetitions;
  return {sum.device * each, sum.host * each};
}

Timing MpiJob::from_a_barrier(int repetitions) {
  Timing sum;
  for (int i = 0; i < repetitions; ++i) {
    world_.meet();
    const double wall = MPI_Wtime(), begin = now();
    {
      const Watched watched(world_.watch());
      transfer_->run();
    }
    const double end = now();
    std::array<double, 2> max{end - begin, MPI_Wtime() - wall};
    world_.max(max);
    sum.device += max[0];
    sum.host += max[1];
  }
  const double each = transfer_->share() / repetitions;
  return {sum.device * each, sum.host * each};
}

namespace {

std::string library_text() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING + 1> text{};
  int length = 0;
  check(MPI_Get_library_version(text.data(), &length), "MPI_Get_library_version");
  return text.data();
}

std::string processor_name() {
  std::ifstream in{"/proc/cpuinfo"};
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("model name"))
      if (const auto colon = line.find(": "); colon != line.npos) return line.substr(colon + 2);
  return {};
}

int sockets() {
  std::set<std::string> found;
  std::error_code none;
  for (const auto& cpu : std::filesystem::directory_iterator("/sys/devices/system/cpu", none)) {
    std::string package;
    if (std::ifstream in{cpu.path() / "topology/physical_package_id"}; in >> package) found.insert(package);
  }
  return static_cast<int>(found.size());
}

/// True if the host names, in rank order, form one contiguous block each.
bool in_blocks(const std::vector<std::string>& hosts) {
  std::set<std::string> seen;
  for (std::size_t r = 0; r < hosts.size(); ++r)
    if ((r == 0 || hosts[r] != hosts[r - 1]) && !seen.insert(hosts[r]).second) return false;
  return true;
}

}  // namespace

Machine describe(World& world, const std::vector<Forced>& forced) {
  Machine out;
  int major = 0, minor = 0;
  check(MPI_Get_version(&major, &minor), "MPI_Get_version");
  out.runtime = "MPI";
  out.runtime_version = fmt::format("{}.{}", major, minor);
  const LibraryName library = library_named(library_text());
  out.library = library.name;
  out.library_version = library.version;
  out.host = world.hosts().front();
  utsname kernel{};
  out.processor = world.share(processor_name());
  out.kernel = world.share(uname(&kernel) == 0 ? std::string{kernel.release} : std::string{});
  std::array<double, 1> packages{static_cast<double>(sockets())};
  world.share(packages);
  out.sockets = static_cast<int>(packages[0]);
  const std::vector<std::string> memory = world.gather(std::to_string(total_memory()));
  for (std::size_t r = 0; r < world.hosts().size(); ++r) {
    Unit unit;
    unit.name = fmt::format("rank {}", r);
    unit.host = world.hosts()[r];
    unit.memory = std::stoull(memory[r]);
    out.units.push_back(unit);
  }
  for (const Forced& f : forced)
    if (f.ours) out.forced.emplace_back(f.operation, *f.ours);

  out.remarks.push_back(world.one_clock()
                            ? "times: all processes read one clock and start at a moment set ahead; until the last is done"
                            : "times: a barrier, then every process's own clock; that of the slowest, up to the barrier's skew too long");
  if (world.crowded())
    out.remarks.push_back(
        "more processes, ours or others', than processors: times include waiting for one, and whoever waits for a start sleeps");
  if (!in_blocks(world.hosts()))
    out.remarks.push_back(
        "ranks of one host are not numbered one after the other: a ring of them crosses the network more often than once "
        "for each host");
  for (const Forced& f : forced)
    out.remarks.push_back(fmt::format("{} is forced by the environment{}", f.theirs,
                                      f.ours ? fmt::format(": {} here", name(*f.ours)) : ", which has no counterpart here"));
  return out;
}

State state_here() {
  State out;
  const int cpu = sched_getcpu();
  double kilohertz = 0;
  if (std::ifstream in{fmt::format("/sys/devices/system/cpu/cpu{}/cpufreq/scaling_cur_freq", cpu)}; in >> kilohertz)
    out.clock = 1e3 * kilohertz;
  return out;
}

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
