#pragma once
/// What the host says without MPI: its monotonic clock, its memory, the library's name, and the algorithms that the environment forces on
/// Open MPI (OMPI_MCA_coll_tuned_*_algorithm, which mpirun --mca sets, with coll_tuned_use_dynamic_rules). Names and numbers of algorithms are
/// those of ompi/mca/coll/tuned, Open MPI 4.1 (`ompi_info --param coll tuned --level 9`).

#include <fabricost/algorithms/registry.hpp>
#include <fabricost/collective.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost::probes::measure::mpi {

/// Seconds of CLOCK_MONOTONIC.
[[nodiscard]] double now();

/// Returns at `moment`. `patient`: sleeps all the time, since others need the processor; else spins during
/// the last 200 us.
void wait_until(double moment, bool patient);

/// Disables the slack of up to 50 us that the kernel adds to a sleep.
void sharpen_timers();

/// Equal in two processes with the same clock: the kernel's boot id and the time namespace. Empty: unknown.
[[nodiscard]] std::string clock_identity();

struct LibraryName {
  std::string name{}, version{};  ///< "openmpi" "4.1.4"; "mpi" and empty for an unknown library
};

[[nodiscard]] LibraryName library_named(std::string_view text);

/// Available bytes of this process's host or container. 0: unknown.
[[nodiscard]] std::uint64_t available_memory();

/// Bytes of the host. 0: unknown.
[[nodiscard]] std::uint64_t total_memory();

class Buffer {
 public:
  Buffer() = default;
  /// \throws OutOfMemory
  explicit Buffer(std::uint64_t bytes);
  [[nodiscard]] std::byte* data() const { return bytes_.get(); }
  [[nodiscard]] std::uint64_t size() const { return size_; }

 private:
  struct Free {
    void operator()(std::byte* p) const;
  };
  std::unique_ptr<std::byte[], Free> bytes_;
  std::uint64_t size_ = 0;
};

/// One algorithm of Open MPI that is forced on a collective.
struct Forced {
  Collective operation;
  std::string theirs;               ///< "allreduce/ring"
  std::optional<Algorithm> ours{};  ///< the algorithm with the same schedule; empty: there is none
};

/// Reads an environment variable; empty if it is not set.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;
[[nodiscard]] std::optional<std::string> environment_variable(const std::string& name);

/// Values that Open MPI does not understand force nothing.
[[nodiscard]] std::vector<Forced> forced_algorithms(const Environment& variable);

}  // namespace fabricost::probes::measure::mpi
