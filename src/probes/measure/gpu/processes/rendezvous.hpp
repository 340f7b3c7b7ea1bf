#pragma once
/// Connects processes of several nodes without MPI: the first listens, the others connect to it over TCP, and
/// all take the same steps in order. It carries NCCL's unique ids, agreements and barriers, never timed data.
///
/// Every message names its step and kind, so that processes that are out of step end with a reason.
///
/// Both sides first prove that they know the job's secret, by HMAC-SHA256 of random numbers:
///
///   first  -> other   magic word, version, 32 random bytes a
///   other  -> first   magic word, version, processes, rank, 32 random bytes b, HMAC(secret, "other" a b processes rank)
///   first  -> other   HMAC(secret, "first" b a processes rank)
///
/// Connections without a valid proof are dropped and do not delay others: all are read concurrently, for two
/// seconds each. Later messages are not encrypted. The first process listens only on the given address, and
/// without a secret only on this host's loopback.

#include "measure/gpu/processes/process_place.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace fabricost::probes::measure::gpu {

/// Bytes of the random number in a greeting.
inline constexpr std::size_t nonce_size = 32;

/// A process did not connect, disconnected or is out of step.
class RendezvousFault : public std::runtime_error {
 public:
  using runtime_error::runtime_error;
};

class Rendezvous {
 public:
  /// Waits until all processes are connected. \throws RendezvousFault with the number connected after
  /// `patience`
  explicit Rendezvous(const ProcessPlace& place, std::chrono::milliseconds patience = std::chrono::seconds(60));
  ~Rendezvous();
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;

  [[nodiscard]] int rank() const { return place_.rank; }
  [[nodiscard]] int processes() const { return place_.processes; }

  /// Copies the first process's bytes to every process; sizes must be equal everywhere.
  /// \throws RendezvousFault
  void broadcast(void* bytes, std::size_t size);
  /// The maximum over all processes. \throws RendezvousFault
  [[nodiscard]] double highest(double value);
  void barrier() { static_cast<void>(highest(0)); }
  /// True if the other side has closed a connection; checked while a collective hangs. Reads nothing.
  [[nodiscard]] bool broken() const;

 private:
  struct Header {
    std::uint32_t word, kind, step, size;
  };
  struct Waiting;  ///< an unauthenticated connection
  void listen_for_all(std::chrono::steady_clock::time_point until);
  /// Reads the available bytes. \returns false if the connection must be dropped \throws RendezvousFault for
  /// an authenticated process that is invalid
  [[nodiscard]] bool hear(Waiting& one, int& came);
  /// The handshake in a process other than the first. \returns the reason for a failure
  [[nodiscard]] std::string introduce(int socket, std::chrono::steady_clock::time_point until) const;
  void connect_to_first(std::chrono::steady_clock::time_point until);
  void send(int socket, std::uint32_t kind, const void* bytes, std::size_t size) const;
  void receive(int socket, std::uint32_t kind, void* bytes, std::size_t size) const;
  void close_all();

  ProcessPlace place_;
  std::chrono::milliseconds patience_;
  std::vector<int> sockets_;  ///< of the first process: one per other rank; of the others: one
  std::uint32_t step_ = 0;
};

}  // namespace fabricost::probes::measure::gpu
