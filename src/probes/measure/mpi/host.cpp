/// Reads CLOCK_MONOTONIC, /proc, the limits of control groups (version 2) and the environment.

#include "measure/mpi/host.hpp"

#include "measure/device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <span>
#include <string>
#include <string_view>

#include <sys/prctl.h>
#include <unistd.h>

namespace fabricost::probes::measure::mpi {

double now() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

void wait_until(double moment, bool patient) {
  const double asleep = patient ? moment : moment - 200e-6;
  if (asleep > now()) {
    const auto whole = static_cast<time_t>(asleep);
    const timespec t{whole, static_cast<long>((asleep - static_cast<double>(whole)) * 1e9)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, nullptr) != 0) {}
  }
  while (now() < moment) {}
}

void sharpen_timers() { prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL); }

std::string clock_identity() {
  std::string boot;
  std::ifstream{"/proc/sys/kernel/random/boot_id"} >> boot;
  std::array<char, 64> space{};
  const ssize_t length = readlink("/proc/self/ns/time", space.data(), space.size() - 1);
  return boot.empty() ? "" : boot + (length > 0 ? space.data() : "");
}

namespace {

/// The first word of digits and dots after `from`, without a leading v.
std::string version_after(std::string_view text, std::size_t from) {
  const auto start = text.find_first_of("0123456789", from);
  if (start == text.npos) return {};
  auto end = start;
  while (end < text.size() && ((text[end] >= '0' && text[end] <= '9') || text[end] == '.')) ++end;
  return std::string{text.substr(start, end - start)};
}

struct Mark {
  std::string_view said, name;
};
// The most specific first: Intel MPI, Cray MPICH and MVAPICH are derived from MPICH, and some mention it.
constexpr std::array<Mark, 6> marks{{{"Open MPI", "openmpi"},
                                     {"Intel(R) MPI Library", "intelmpi"},
                                     {"CRAY MPICH version", "craympich"},
                                     {"MVAPICH", "mvapich"},
                                     {"MPICH Version", "mpich"},
                                     {"MPICH", "mpich"}}};

}  // namespace

LibraryName library_named(std::string_view text) {
  for (const Mark& mark : marks)
    if (const auto at = text.find(mark.said); at != text.npos) {
      // the version follows a blank, so the 2 of MVAPICH2 is not one
      const auto blank = text.find_first_of(" \t", at + mark.said.size());
      return {std::string{mark.name}, version_after(text, blank == text.npos ? text.size() : blank)};
    }
  return {"mpi", ""};
}

namespace {

std::uint64_t meminfo(std::string_view key) {
  std::ifstream in{"/proc/meminfo"};
  std::string word;
  for (std::uint64_t kilobytes = 0; in >> word; std::getline(in, word))
    if (word == key && in >> kilobytes) return kilobytes * 1024;
  return 0;
}

/// Remaining memory of its own control group; the largest number if unknown.
std::uint64_t left_in_group() {
  std::uint64_t max = 0, used = 0;
  std::ifstream limit{"/sys/fs/cgroup/memory.max"}, current{"/sys/fs/cgroup/memory.current"};
  if (!(limit >> max) || !(current >> used)) return ~std::uint64_t{0};  // "max", or no group of its own
  return max > used ? max - used : 0;
}

}  // namespace

std::uint64_t available_memory() {
  const std::uint64_t host = meminfo("MemAvailable:");
  return host == 0 ? 0 : std::min(host, left_in_group());
}

std::uint64_t total_memory() { return meminfo("MemTotal:"); }

Buffer::Buffer(std::uint64_t bytes) : size_(bytes) {
  constexpr std::uint64_t page = 4096;
  const std::uint64_t whole = (std::max<std::uint64_t>(bytes, 1) + page - 1) / page * page;
  bytes_.reset(static_cast<std::byte*>(std::aligned_alloc(page, whole)));
  if (!bytes_) throw OutOfMemory(fmt::format("no {} B of host memory", whole));
}

void Buffer::Free::operator()(std::byte* p) const { std::free(p); }

namespace {

struct Named {
  std::string_view theirs;
  std::optional<Algorithm> ours{};
};

// By Open MPI's numbers, from 1 on. A row with one of our algorithms moves the same bytes in the same steps.
constexpr std::array all_reduce{Named{"basic_linear"},
                                Named{"nonoverlapping"},
                                Named{"recursive_doubling", Algorithm::recursive_doubling},
                                Named{"ring", Algorithm::ring},
                                Named{"segmented_ring", Algorithm::ring},
                                Named{"rabenseifner", Algorithm::rabenseifner}};
constexpr std::array all_gather{Named{"linear"},
                                Named{"bruck", Algorithm::bruck},
                                Named{"recursive_doubling", Algorithm::halving_doubling},
                                Named{"ring", Algorithm::ring},
                                Named{"neighbor"},
                                Named{"two_proc"}};
constexpr std::array all_to_all{Named{"linear", Algorithm::direct}, Named{"pairwise", Algorithm::pairwise},
                                Named{"modified_bruck", Algorithm::bruck}, Named{"linear_sync", Algorithm::direct}, Named{"two_proc"}};
constexpr std::array broadcast{Named{"basic_linear"},
                               Named{"chain", Algorithm::ring},
                               Named{"pipeline", Algorithm::ring},
                               Named{"split_binary_tree"},
                               Named{"binary_tree"},
                               Named{"binomial"},
                               Named{"knomial"},
                               Named{"scatter_allgather"},
                               Named{"scatter_allgather_ring"}};
constexpr std::array reduce{Named{"linear"},
                            Named{"chain", Algorithm::ring},
                            Named{"pipeline", Algorithm::ring},
                            Named{"binary"},
                            Named{"binomial"},
                            Named{"in-order_binary"},
                            Named{"rabenseifner"}};
constexpr std::array reduce_scatter{Named{"basic_linear"}, Named{"recursive_doubling"},
                                    Named{"recursive_halving", Algorithm::halving_doubling}, Named{"butterfly"}};

struct Table {
  Collective operation;
  std::string_view called;  ///< in the parameters' names
  std::span<const Named> algorithms;
};
constexpr std::array<Table, 6> tables{{{Collective::all_reduce, "allreduce", all_reduce},
                                       {Collective::all_gather, "allgather", all_gather},
                                       {Collective::reduce_scatter, "reduce_scatter_block", reduce_scatter},
                                       {Collective::broadcast, "bcast", broadcast},
                                       {Collective::reduce, "reduce", reduce},
                                       {Collective::all_to_all, "alltoall", all_to_all}}};

std::optional<std::string> parameter(const Environment& variable, std::string_view rest) {
  return variable("OMPI_MCA_coll_tuned_" + std::string{rest});
}

bool is_true(const std::optional<std::string>& text) {
  return text && (*text == "1" || *text == "true" || *text == "yes" || *text == "enabled" || *text == "t" || *text == "y");
}

/// An algorithm by its name or number from 1 on; 0 and "ignore" force nothing.
const Named* find(std::span<const Named> among, const std::string& text) {
  std::size_t number = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (fault == std::errc{} && end == text.data() + text.size()) return number >= 1 && number <= among.size() ? &among[number - 1] : nullptr;
  for (const Named& named : among)
    if (named.theirs == text) return &named;
  return nullptr;
}

}  // namespace

std::optional<std::string> environment_variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>{value};
}

std::vector<Forced> forced_algorithms(const Environment& variable) {
  std::vector<Forced> out;
  if (!is_true(parameter(variable, "use_dynamic_rules"))) return out;
  for (const Table& table : tables) {
    const std::string called{table.called};
    const auto value = parameter(variable, called + "_algorithm");
    const Named* named = value ? find(table.algorithms, *value) : nullptr;
    if (named == nullptr) continue;
    std::optional<Algorithm> ours = named->ours;
    // a chain has a ring's order only without a fork at the root; by default it has four branches
    if (named->theirs == "chain" && parameter(variable, called + "_algorithm_chain_fanout") != "1") ours.reset();
    out.push_back({table.operation, called + "/" + std::string{named->theirs}, ours});
  }
  return out;
}

}  // namespace fabricost::probes::measure::mpi
