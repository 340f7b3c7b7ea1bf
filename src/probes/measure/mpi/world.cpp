/// \file world.cpp
/// Starts and ends MPI, and communicates between processes outside of measurements.

#include "measure/mpi/world.hpp"

#include "measure/device.hpp"
#include "measure/mpi/host/clock.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <thread>

#include <dlfcn.h>
#include <sched.h>
#include <unistd.h>

namespace fabricost::probes::measure::mpi {

namespace {

constexpr std::size_t text_size = 256;

/// Makes a plugin's symbols global, where the components that MPI loads look for them.
void make_global() {
  Dl_info where{};
  if (dladdr(reinterpret_cast<const void*>(&MPI_Init_thread), &where) != 0 && where.dli_fname != nullptr)
    dlopen(where.dli_fname, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
}

[[nodiscard]] int processors() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  const int counted = sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 0;
  // mpirun's core binding shows only this process's share of the host, so all processors of the host count
  return std::max({1, counted, static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN))});
}

}  // namespace

World::World(double limit, bool apart) : watch_(limit) {
  int running = 0;
  MPI_Initialized(&running);
  if (running == 0) {
    make_global();
    watch_.name("MPI_Init");
    const Watched watched(watch_);
    int level = 0;
    check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &level), "MPI_Init_thread");
    ours_ = true;
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  check(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), "MPI_Comm_rank");
  check(MPI_Comm_size(MPI_COMM_WORLD, &ranks_), "MPI_Comm_size");
  for (MPI_Comm* comm : {&measured_, &control_}) {
    check(MPI_Comm_dup(MPI_COMM_WORLD, comm), "MPI_Comm_dup");
    MPI_Comm_set_errhandler(*comm, MPI_ERRORS_RETURN);
  }
  sharpen_timers();

  std::array<char, MPI_MAX_PROCESSOR_NAME + 1> name{};
  int length = 0;
  check(MPI_Get_processor_name(name.data(), &length), "MPI_Get_processor_name");
  hosts_ = gather(name.data());
  ranks_here_ = static_cast<int>(std::count(hosts_.begin(), hosts_.end(), hosts_[static_cast<std::size_t>(rank_)]));
  const std::vector<std::string> clocks = gather(clock_identity());
  one_clock_ = !clocks[0].empty() && std::all_of(clocks.begin(), clocks.end(), [&](const std::string& c) { return c == clocks[0]; });
  // several host names on one kernel (containers, namespaces) share its processors
  const int beside = one_clock_ ? ranks_ : ranks_here_;
  if (apart) one_clock_ = false;
  std::array<double, 1> load{0};
  if (getloadavg(load.data(), 1) != 1) load[0] = 0;
  crowded_ = any(beside > processors() || load[0] > processors());
}

World::~World() {
  if (lost_ || !ours_) return;
  int over = 0;
  MPI_Finalized(&over);
  if (over != 0) return;
  watch_.name("MPI_Finalize");
  const Watched watched(watch_);
  MPI_Comm_free(&control_);
  MPI_Comm_free(&measured_);
  MPI_Finalize();
}

void World::finish(MPI_Request request, const char* call) {
  const double deadline = now() + watch_.limit();
  for (int done = 0;;) {
    check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), call);
    if (done != 0) return;
    if (now() > deadline) {
      lost_ = true;
      throw DeviceLost(fmt::format("not all of the {} processes answered within {:g} s: one died, stands still or does something else",
                                   ranks_, watch_.limit()));
    }
    sched_yield();
  }
}

void World::max(std::span<double> values) {
  std::vector<double> mine(values.begin(), values.end());
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Iallreduce(mine.data(), values.data(), static_cast<int>(values.size()), MPI_DOUBLE, MPI_MAX, control_, &request),
        "MPI_Iallreduce");
  finish(request, "MPI_Iallreduce");
}

bool World::any(bool value) {
  std::array<double, 1> flag{value ? 1.0 : 0.0};
  max(flag);
  return flag[0] > 0;
}

void World::share(std::span<double> values, int from) {
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Ibcast(values.data(), static_cast<int>(values.size()), MPI_DOUBLE, from, control_, &request), "MPI_Ibcast");
  finish(request, "MPI_Ibcast");
}

std::string World::share(const std::string& text, int from) {
  std::array<double, 1> length{static_cast<double>(text.size())};
  share(length, from);
  std::string out = text;
  out.resize(static_cast<std::size_t>(length[0]));
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Ibcast(out.data(), static_cast<int>(out.size()), MPI_CHAR, from, control_, &request), "MPI_Ibcast");
  finish(request, "MPI_Ibcast");
  return out;
}

std::vector<std::string> World::gather(const std::string& text) {
  std::array<char, text_size> mine{};
  std::memcpy(mine.data(), text.data(), std::min(text.size(), text_size - 1));
  std::vector<char> all(text_size * static_cast<std::size_t>(ranks_));
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Iallgather(mine.data(), text_size, MPI_CHAR, all.data(), text_size, MPI_CHAR, control_, &request), "MPI_Iallgather");
  finish(request, "MPI_Iallgather");
  std::vector<std::string> out;
  for (std::size_t r = 0; r < static_cast<std::size_t>(ranks_); ++r) out.emplace_back(&all[r * text_size]);
  return out;
}

void World::meet() {
  const Watched watched(watch_);
  check(MPI_Barrier(control_), "MPI_Barrier");
}

}  // namespace fabricost::probes::measure::mpi
