#pragma once
/// \file rendezvous.hpp
/// Processes of several nodes meet without MPI: the first listens, the others connect to it over TCP, and all take the same steps in order.
/// It carries NCCL's unique ids, agreements and barriers, never anything that is timed.
///
/// Every message says which step it belongs to and of what kind it is, so that processes that fell out of step end with a reason.
/// Connections that do not greet with our word, version and number of processes are turned away.

#include "measure/gpu/process_place.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace fabricost::measure::gpu {

/// A process did not come, went away or fell out of step.
class RendezvousFault : public std::runtime_error {
 public:
  using runtime_error::runtime_error;
};

class Rendezvous {
 public:
  /// Waits until all have come. \throws RendezvousFault, with how many came, after `patience`
  explicit Rendezvous(const ProcessPlace& place, std::chrono::milliseconds patience = std::chrono::seconds(60));
  ~Rendezvous();
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;

  [[nodiscard]] int rank() const { return place_.rank; }
  [[nodiscard]] int processes() const { return place_.processes; }

  /// The first process's bytes, in every process; sizes are equal everywhere. \throws RendezvousFault
  void broadcast(void* bytes, std::size_t size);
  /// The largest of all. \throws RendezvousFault
  [[nodiscard]] double highest(double value);
  void barrier() { static_cast<void>(highest(0)); }
  /// True when a connection was closed by the other side: looked at while a collective hangs. Reads nothing.
  [[nodiscard]] bool broken() const;

 private:
  struct Header {
    std::uint32_t word, kind, step, size;
  };
  void listen_for_all(std::chrono::steady_clock::time_point until);
  void connect_to_first(std::chrono::steady_clock::time_point until);
  void send(int socket, std::uint32_t kind, const void* bytes, std::size_t size) const;
  void receive(int socket, std::uint32_t kind, void* bytes, std::size_t size) const;
  void close_all();

  ProcessPlace place_;
  std::chrono::milliseconds patience_;
  std::vector<int> sockets_;  ///< of the first: one per other rank; of the others: one
  std::uint32_t step_ = 0;
};

}  // namespace fabricost::measure::gpu
