#pragma once
/// \file rendezvous.hpp
/// Processes of several nodes meet without MPI: the first listens, the others connect to it over TCP, and all take the same steps in order.
/// It carries NCCL's unique ids, agreements and barriers, never anything that is timed.
///
/// Every message says which step it belongs to and of what kind it is, so that processes that fell out of step end with a reason.
///
/// Both sides prove that they hold the job's secret before anything else is said, by HMAC-SHA256 of numbers drawn for this connection:
///
///   first  -> other   our word, version, 32 random bytes a
///   other  -> first   our word, version, processes, rank, 32 random bytes b, HMAC(secret, "other" a b processes rank)
///   first  -> other   HMAC(secret, "first" b a processes rank)
///
/// Whoever cannot is dropped, and none of them holds up the others: all connections are read side by side, each for two seconds. What
/// follows is not encrypted. The first process listens on the address it was given and on no other; without a secret only on this host's
/// loopback.

#include "measure/gpu/processes/process_place.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace fabricost::measure::gpu {

/// Bytes of a greeting's random number.
inline constexpr std::size_t nonce_size = 32;

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
  struct Waiting;  ///< a connection that has not proved itself yet
  void listen_for_all(std::chrono::steady_clock::time_point until);
  /// Reads what has come. \returns false when the connection is to be dropped \throws RendezvousFault from a holder of the secret
  [[nodiscard]] bool hear(Waiting& one, int& came);
  /// The other side of it, in one of the other processes. \returns why not
  [[nodiscard]] std::string introduce(int socket, std::chrono::steady_clock::time_point until) const;
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
