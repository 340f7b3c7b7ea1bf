/// \file rendezvous.cpp
/// A star of TCP connections around the first process.

#include "measure/gpu/rendezvous.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>

namespace fabricost::measure::gpu {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::uint32_t our_word = 0x46434f53;  // "FCOS"
constexpr std::uint32_t version = 1;
enum Kind : std::uint32_t { greeting, value, result, data };

struct Greeting {
  std::uint32_t version, processes, rank;
};

int milliseconds_until(Clock::time_point until) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
  return static_cast<int>(std::clamp<long long>(left, 0, 1 << 30));
}

// Moves all bytes or says why not; `until` bounds the wait for each part.
template <bool sending>
std::string transfer(int socket, void* bytes, std::size_t size, Clock::time_point until) {
  auto* at = static_cast<char*>(bytes);
  while (size > 0) {
    pollfd ready{socket, static_cast<short>(sending ? POLLOUT : POLLIN), 0};
    const int found = poll(&ready, 1, milliseconds_until(until));
    if (found == 0) return "no answer in time";
    if (found < 0 && errno == EINTR) continue;
    if (found < 0) return std::strerror(errno);
    const ssize_t moved = sending ? ::send(socket, at, size, MSG_NOSIGNAL) : ::recv(socket, at, size, 0);
    if (moved == 0) return "it closed the connection";
    if (moved < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (moved < 0) return std::strerror(errno);
    at += moved;
    size -= static_cast<std::size_t>(moved);
  }
  return "";
}

struct Addresses {
  addrinfo* first = nullptr;
  Addresses(const std::string& host, int port, bool passive) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = passive ? AI_PASSIVE : 0;
    const int error = getaddrinfo(passive ? nullptr : host.c_str(), std::to_string(port).c_str(), &hints, &first);
    if (error != 0) throw RendezvousFault("the address \"" + host + "\" of the first process was not found: " + gai_strerror(error));
  }
  ~Addresses() {
    if (first != nullptr) freeaddrinfo(first);
  }
  Addresses(const Addresses&) = delete;
  Addresses& operator=(const Addresses&) = delete;
};

void answer_at_once(int socket) {
  const int on = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
}

// Closes what is not handed on.
struct Socket {
  int number = -1;
  ~Socket() {
    if (number >= 0) close(number);
  }
  int release() { return std::exchange(number, -1); }
};

int listening_socket(const std::string& host, int port) {
  // the named address where it is one of ours, else all of them: a launcher may name an address that only others can reach
  for (const bool any : {false, true}) {
    std::unique_ptr<Addresses> addresses;
    try {
      addresses = std::make_unique<Addresses>(host, port, any);
    } catch (const RendezvousFault&) {
      if (any) throw;
      continue;
    }
    for (const addrinfo* a = addresses->first; a != nullptr; a = a->ai_next) {
      Socket socket{::socket(a->ai_family, a->ai_socktype, a->ai_protocol)};
      const int on = 1;
      if (socket.number < 0) continue;
      setsockopt(socket.number, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
      if (bind(socket.number, a->ai_addr, a->ai_addrlen) == 0 && listen(socket.number, 128) == 0) return socket.release();
      if (errno == EADDRINUSE)
        throw RendezvousFault("port " + std::to_string(port) +
                              " is in use on the first process's host; set FABRICOST_PORT to a free one for all processes");
    }
  }
  throw RendezvousFault("cannot listen on port " + std::to_string(port) + ": " + std::strerror(errno));
}

}  // namespace

Rendezvous::Rendezvous(const ProcessPlace& place, std::chrono::milliseconds patience) : place_(place), patience_(patience) {
  const auto until = Clock::now() + patience;
  try {
    if (place.rank == 0)
      listen_for_all(until);
    else
      connect_to_first(until);
  } catch (...) {
    close_all();
    throw;
  }
  patience_ = std::chrono::minutes(30);  // one process may measure alone for long while the others wait for it
}

Rendezvous::~Rendezvous() { close_all(); }

void Rendezvous::close_all() {
  for (const int socket : sockets_)
    if (socket >= 0) close(socket);
  sockets_.clear();
}

void Rendezvous::listen_for_all(Clock::time_point until) {
  const int others = place_.processes - 1;
  sockets_.assign(static_cast<std::size_t>(others), -1);
  const Socket listener{listening_socket(place_.address, place_.port)};
  int came = 0;
  while (came < others) {
    pollfd ready{listener.number, POLLIN, 0};
    const int found = poll(&ready, 1, milliseconds_until(until));
    if (found < 0 && errno == EINTR) continue;
    if (found <= 0)
      throw RendezvousFault(std::to_string(came + 1) + " of " + std::to_string(place_.processes) + " processes came to " + place_.address +
                            ":" + std::to_string(place_.port) + " in time; unset WORLD_SIZE (or what " + place_.launcher +
                            " sets) to measure this node alone");
    Socket socket{accept(listener.number, nullptr, nullptr)};
    if (socket.number < 0) continue;
    answer_at_once(socket.number);
    // a stranger gets two seconds and is turned away without a word
    Header header{};
    Greeting said{};
    const auto soon = std::min(until, Clock::now() + std::chrono::seconds(2));
    if (!transfer<false>(socket.number, &header, sizeof header, soon).empty() || header.word != our_word || header.kind != greeting ||
        header.size != sizeof said)
      continue;
    if (!transfer<false>(socket.number, &said, sizeof said, soon).empty()) continue;
    if (said.version != version || said.processes != static_cast<std::uint32_t>(place_.processes))
      throw RendezvousFault("a process came that was started with another number of processes or another fabricost");
    if (said.rank == 0 || said.rank > static_cast<std::uint32_t>(others) || sockets_[said.rank - 1] >= 0)
      throw RendezvousFault("two processes came as rank " + std::to_string(said.rank) + " of " + std::to_string(place_.processes));
    sockets_[said.rank - 1] = socket.release();
    ++came;
  }
  barrier();
}

void Rendezvous::connect_to_first(Clock::time_point until) {
  std::string last = "nobody listens";
  while (Clock::now() < until) {
    Addresses addresses(place_.address, place_.port, false);
    for (const addrinfo* a = addresses.first; a != nullptr; a = a->ai_next) {
      Socket socket{::socket(a->ai_family, a->ai_socktype, a->ai_protocol)};
      if (socket.number < 0) continue;
      if (connect(socket.number, a->ai_addr, a->ai_addrlen) != 0) {
        last = std::strerror(errno);
        continue;
      }
      answer_at_once(socket.number);
      sockets_.assign(1, socket.release());
      const Greeting me{version, static_cast<std::uint32_t>(place_.processes), static_cast<std::uint32_t>(place_.rank)};
      send(sockets_[0], greeting, &me, sizeof me);
      barrier();
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));  // the first process may not have started yet
  }
  throw RendezvousFault("the first process was not reached at " + place_.address + ":" + std::to_string(place_.port) + ": " + last);
}

void Rendezvous::send(int socket, std::uint32_t kind, const void* bytes, std::size_t size) const {
  const Header header{our_word, kind, step_, static_cast<std::uint32_t>(size)};
  const auto* const head = reinterpret_cast<const char*>(&header);
  const auto* const body = static_cast<const char*>(bytes);
  std::vector<char> message(head, head + sizeof header);
  message.insert(message.end(), body, body + size);
  const std::string fault = transfer<true>(socket, message.data(), message.size(), Clock::now() + patience_);
  if (!fault.empty()) throw RendezvousFault("another process is gone: " + fault);
}

void Rendezvous::receive(int socket, std::uint32_t kind, void* bytes, std::size_t size) const {
  Header header{};
  const auto until = Clock::now() + patience_;
  std::string fault = transfer<false>(socket, &header, sizeof header, until);
  if (fault.empty() && (header.word != our_word || header.kind != kind || header.step != step_ || header.size != size))
    throw RendezvousFault("the processes fell out of step at step " + std::to_string(step_));
  if (fault.empty()) fault = transfer<false>(socket, bytes, size, until);
  if (!fault.empty()) throw RendezvousFault("another process is gone: " + fault);
}

void Rendezvous::broadcast(void* bytes, std::size_t size) {
  if (place_.rank == 0)
    for (const int socket : sockets_) send(socket, data, bytes, size);
  else
    receive(sockets_.at(0), data, bytes, size);
  ++step_;
}

double Rendezvous::highest(double mine) {
  double all = mine;
  if (place_.rank == 0) {
    for (const int socket : sockets_) {
      double theirs = 0;
      receive(socket, value, &theirs, sizeof theirs);
      all = std::max(all, theirs);
    }
    for (const int socket : sockets_) send(socket, result, &all, sizeof all);
  } else {
    send(sockets_.at(0), value, &mine, sizeof mine);
    receive(sockets_.at(0), result, &all, sizeof all);
  }
  ++step_;
  return all;
}

bool Rendezvous::broken() const {
  for (const int socket : sockets_) {
    char byte = 0;
    const ssize_t found = recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (found == 0 || (found < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)) return true;
  }
  return false;
}

}  // namespace fabricost::measure::gpu
