/// Starts and ends MPI, and communicates between processes outside of measurements.

#include "measure/mpi/world.hpp"

#include "measure/device.hpp"
#include "measure/mpi/host.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <utility>

#include <dlfcn.h>
#include <sched.h>
#include <unistd.h>

#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

namespace fabricost::probes::measure::mpi {

void check(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  if (MPI_Error_string(code, text.data(), &length) != MPI_SUCCESS) length = 0;
  const std::string said = std::string{call} + ": " + (length > 0 ? std::string{text.data()} : "error " + std::to_string(code));
  int kind = MPI_ERR_UNKNOWN;
  MPI_Error_class(code, &kind);
#ifdef MPIX_ERR_PROC_FAILED
  if (kind == MPIX_ERR_PROC_FAILED || kind == MPIX_ERR_REVOKED) throw DeviceLost("a process is gone: " + said);
#endif
  if (kind == MPI_ERR_NO_MEM) throw OutOfMemory(said);
  throw DeviceFault(said);
}

Watch::Watch(double limit) : limit_(limit), thread_([this] { look(); }) {}

Watch::~Watch() {
  {
    const std::lock_guard lock(mutex_);
    end_ = true;
  }
  ended_.notify_all();
  thread_.join();
}

void Watch::name(std::string what) {
  const std::lock_guard lock(mutex_);
  what_ = std::move(what);
}

void Watch::start() { deadline_.store(now() + limit_, std::memory_order_relaxed); }

void Watch::look() {
  std::unique_lock lock(mutex_);
  while (!ended_.wait_for(lock, std::chrono::milliseconds{200}, [this] { return end_; })) {
    const double deadline = deadline_.load(std::memory_order_relaxed);
    if (deadline <= 0 || now() < deadline) continue;
    fmt::print(stderr, "fabricost: {} is not done after {:g} s: a process died, stands still or does something else\n",
               what_.empty() ? "a call of MPI" : what_, limit_);
    std::fflush(stderr);
    std::_Exit(2);  // without clean-up, since the thread that would do it is inside MPI
  }
}

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

namespace {

/// FNV-1a hash of a case, in 52 bits, which a double represents exactly.
double fingerprint(const Case& what) {
  std::uint64_t hash = 14695981039346656037ULL;
  const auto mix = [&](std::uint64_t value) { hash = (hash ^ value) * 1099511628211ULL; };
  mix(static_cast<std::uint64_t>(what.kind));
  mix(what.bytes);
  mix(static_cast<std::uint64_t>(what.operation));
  mix(static_cast<std::uint64_t>(what.dtype));
  mix(what.in_place ? 1 : 0);
  mix(what.both_ways ? 1 : 0);
  mix(what.algorithm ? static_cast<std::uint64_t>(*what.algorithm) + 1 : 0);
  for (const auto& [from, to] : what.pairs) {
    mix(static_cast<std::uint64_t>(from));
    mix(static_cast<std::uint64_t>(to));
  }
  return static_cast<double>(hash >> 12);
}

}  // namespace

void fail_alike(World& world, const Failure& mine) {
  // the most severe failure, of the first process that has it
  std::array<double, 1> gravest{static_cast<double>(mine.kind)};
  world.max(gravest);
  if (gravest[0] <= 0) return;
  std::array<double, 1> who{static_cast<double>(mine.kind) >= gravest[0] ? -static_cast<double>(world.rank()) : -1e9};
  world.max(who);
  const std::string text = world.share(mine.text, static_cast<int>(-who[0]));
  switch (static_cast<Failure::Kind>(gravest[0])) {
    case Failure::Kind::none: return;
    case Failure::Kind::unsupported: throw Unsupported(text);
    case Failure::Kind::out_of_memory: throw OutOfMemory(text);
    case Failure::Kind::wrong_result: throw WrongResult(text);
    case Failure::Kind::fault: throw DeviceFault(text);
  }
}

void agree_on(World& world, const Case& what) {
  const double mine = fingerprint(what);
  std::array<double, 2> ends{mine, -mine};
  world.max(ends);
  if (ends[0] != -ends[1])
    throw DeviceFault("the processes are not about to measure the same: are they one build, started with the same words?");
}

}  // namespace fabricost::probes::measure::mpi
