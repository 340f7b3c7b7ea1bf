/// \file description.cpp
/// Describes an MPI run from MPI itself, /proc and /sys.

#include "measure/mpi/host/description.hpp"

#include "measure/mpi/host/library.hpp"
#include "measure/mpi/host/memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include <sched.h>
#include <sys/utsname.h>

namespace fabricost::probes::measure::mpi {

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

}  // namespace fabricost::probes::measure::mpi
