#pragma once
/// Ranks of a communicator, in one process or several: files in memory that all of them map, and a table of how far each is.

#include "stand_in.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>

namespace stand_in {

inline constexpr int max_ranks = 64;

// A file in memory that all ranks of a communicator can map.
class Shared {
 public:
  /// \param mine another rank's file exists, or is gone with its rank
  Shared(const std::string& name, std::size_t bytes, bool mine) : bytes_(bytes) {
    const std::string folder = settings().folder.empty() ? "/dev/shm" : settings().folder;
    path_ = folder + "/stand-in." + name;
    const int file = open(path_.c_str(), O_RDWR | O_CLOEXEC | (mine ? O_CREAT : 0), 0600);
    if (file < 0 && !mine) return;
    struct stat now {};
    if (file < 0 || fstat(file, &now) != 0) std::abort();
    if (static_cast<std::size_t>(now.st_size) < bytes && ftruncate(file, static_cast<off_t>(bytes)) != 0) std::abort();
    if (bytes > 0) at_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
  }
  ~Shared() {
    if (at_ != nullptr) munmap(at_, bytes_);
  }
  Shared(Shared&& other) noexcept : at_(std::exchange(other.at_, nullptr)), bytes_(other.bytes_), path_(std::move(other.path_)) {}
  Shared& operator=(Shared&&) = delete;
  [[nodiscard]] char* at() const { return static_cast<char*>(at_); }
  void forget() const { unlink(path_.c_str()); }

 private:
  void* at_ = nullptr;
  std::size_t bytes_;
  std::string path_;
};

// The messages between the ranks of a communicator.
struct Table {
  std::atomic<int> born;
  struct Rank {
    std::atomic<std::uint64_t> offered, finished, bytes, call;  // steps, and what is offered
    std::atomic<std::uint64_t> windows;                         // registered so far by all together
  } ranks[max_ranks];
};

class State {
 public:
  int rank, ranks, device;
  std::string id;
  Shared shared;
  std::uint64_t step = 0;
  std::atomic<bool> aborted{false};

  State(int rank_of_it, int ranks_of_all, int on, const std::string& name)
      : rank(rank_of_it), ranks(ranks_of_all), device(on), id(name), shared(name, sizeof(Table), true) {
    ++table().born;
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  [[nodiscard]] Table& table() const { return *reinterpret_cast<Table*>(shared.at()); }
  [[nodiscard]] std::string file(int of) const { return id + "." + std::to_string(of); }
  [[nodiscard]] Shared shared_file_of(int of, std::size_t bytes = 0) const { return Shared(file(of), bytes, of == rank); }
  ~State() {
    shared_file_of(rank).forget();
  }
};

// Waits until `reached` holds for every rank. False if the communicator was aborted.
template <class Reached>
bool all_ranks(const State& state, Reached reached) {
  for (int rank = 0; rank < state.ranks; ++rank)
    while (!reached(state.table().ranks[rank])) {
      if (state.aborted) return false;
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
  return true;
}

}  // namespace stand_in
