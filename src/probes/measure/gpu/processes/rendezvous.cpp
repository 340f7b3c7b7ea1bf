/// A star of TCP connections with the first process in the centre.

#include "measure/gpu/processes/rendezvous.hpp"

#include "measure/gpu/processes/sha256.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>

namespace fabricost::probes::measure::gpu {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::uint32_t our_word = 0x46434f53;  // "FCOS"
constexpr std::uint32_t version = 2;
enum Kind : std::uint32_t { value, result, data };
constexpr auto patience_for_strangers = std::chrono::seconds(2);
constexpr std::size_t max_waiting = 256;  // simultaneous connections that are not yet authenticated

using Nonce = std::array<unsigned char, nonce_size>;

/// The message of the first process to each connection.
struct Question {
  std::uint32_t word = our_word, version_of_first = version;
  Nonce first{};
};
/// The reply; its proof covers all of it and the question.
struct Answer {
  std::uint32_t word = our_word, version_of_other = version, processes = 0, rank = 0;
  Nonce other{};
  Digest proof{};
};
static_assert(sizeof(Question) == 8 + nonce_size && sizeof(Answer) == 16 + nonce_size + 32);

[[nodiscard]] Nonce drawn() {
  Nonce out{};
  if (getentropy(out.data(), out.size()) != 0) throw RendezvousFault(std::string{"no random numbers: "} + std::strerror(errno));
  return out;
}

[[nodiscard]] Digest proof_of(const std::string& secret, const char* whose, const Nonce& a, const Nonce& b, std::uint32_t processes,
                              std::uint32_t rank) {
  std::string message = whose;
  message.append(a.begin(), a.end()).append(b.begin(), b.end());
  return hmac_sha256(secret, message + " " + std::to_string(processes) + " " + std::to_string(rank));
}

int milliseconds_until(Clock::time_point until) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
  return static_cast<int>(std::clamp<long long>(left, 0, 1 << 30));
}

// Transfers all bytes, or returns the reason for a failure; `until` bounds the wait for each part.
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
  Addresses(const std::string& host, int port) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    const int error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &first);
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

// Closes the socket unless it was handed on.
struct Socket {
  int number = -1;
  ~Socket() {
    if (number >= 0) close(number);
  }
  int release() { return std::exchange(number, -1); }
};

[[nodiscard]] bool is_loopback(const addrinfo* a) {
  if (a->ai_family == AF_INET) {
    sockaddr_in address{};
    std::memcpy(&address, a->ai_addr, sizeof address);
    return (ntohl(address.sin_addr.s_addr) >> 24U) == 127;
  }
  if (a->ai_family != AF_INET6) return false;
  sockaddr_in6 address{};
  std::memcpy(&address, a->ai_addr, sizeof address);
  return IN6_IS_ADDR_LOOPBACK(&address.sin6_addr) != 0;
}

int listening_socket(const std::string& host, int port) {
  const Addresses addresses(host, port);
  int why = EADDRNOTAVAIL;
  for (const addrinfo* a = addresses.first; a != nullptr; a = a->ai_next) {
    Socket socket{::socket(a->ai_family, a->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, a->ai_protocol)};
    const int on = 1;
    if (socket.number < 0) continue;
    setsockopt(socket.number, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(socket.number, a->ai_addr, a->ai_addrlen) == 0 && listen(socket.number, 128) == 0) return socket.release();
    why = errno;
    if (why == EADDRINUSE)
      throw RendezvousFault("port " + std::to_string(port) +
                            " is in use on the first process's host; set FABRICOST_PORT to a free one for all processes");
  }
  throw RendezvousFault("cannot listen on " + host + ":" + std::to_string(port) + ": " + std::strerror(why) +
                        "; MASTER_ADDR must be an address of the first process's own host");
}

}  // namespace

Rendezvous::Rendezvous(const ProcessPlace& place, std::chrono::milliseconds patience) : place_(place), patience_(patience) {
  const auto until = Clock::now() + patience;
  if (place.secret.empty()) {
    const Addresses addresses(place.address, place.port);
    for (const addrinfo* a = addresses.first; a != nullptr; a = a->ai_next)
      if (!is_loopback(a))
        throw RendezvousFault("processes of several nodes meet at " + place.address +
                              ", where anybody could join them: set FABRICOST_SECRET to one random word for all of them, for example with "
                              "export FABRICOST_SECRET=$(openssl rand -hex 16) before " +
                              place.launcher + " starts them");
  }
  try {
    if (place.rank == 0)
      listen_for_all(until);
    else
      connect_to_first(until);
  } catch (...) {
    close_all();
    throw;
  }
  patience_ = std::chrono::minutes(30);  // one process may measure alone for a long time while the others wait
}

Rendezvous::~Rendezvous() { close_all(); }

void Rendezvous::close_all() {
  for (const int socket : sockets_)
    if (socket >= 0) close(socket);
  sockets_.clear();
}

/// A connection, and the part of its reply received so far.
struct Rendezvous::Waiting {
  Socket socket;
  Clock::time_point until;
  Question question;
  Answer answer;
  std::size_t heard = 0;
};

void Rendezvous::listen_for_all(Clock::time_point until) {
  const int others = place_.processes - 1;
  sockets_.assign(static_cast<std::size_t>(others), -1);
  const Socket listener{listening_socket(place_.address, place_.port)};
  std::vector<std::unique_ptr<Waiting>> waiting;
  int came = 0, dropped = 0;
  while (came < others) {
    std::vector<pollfd> ready{{listener.number, static_cast<short>(waiting.size() < max_waiting ? POLLIN : 0), 0}};
    auto next = until;
    for (const auto& one : waiting) {
      ready.push_back({one->socket.number, POLLIN, 0});
      next = std::min(next, one->until);
    }
    if (poll(ready.data(), ready.size(), milliseconds_until(next) + 1) < 0 && errno != EINTR)
      throw RendezvousFault(std::string{"waiting for the other processes: "} + std::strerror(errno));
    const auto now = Clock::now();
    if (now >= until)
      throw RendezvousFault(std::to_string(came + 1) + " of " + std::to_string(place_.processes) + " processes came to " + place_.address +
                            ":" + std::to_string(place_.port) + " in time" +
                            (dropped > 0 ? ", " + std::to_string(dropped) + " connections were dropped (another FABRICOST_SECRET?)" : "") +
                            "; unset WORLD_SIZE (or what " + place_.launcher + " sets) to measure this node alone");
    for (std::size_t i = waiting.size(); i-- > 0;) {
      const bool more = ready[i + 1].revents == 0 ? waiting[i]->until > now : hear(*waiting[i], came);
      if (more && waiting[i]->socket.number >= 0) continue;
      dropped += more ? 0 : 1;
      waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(i));
    }
    if ((ready[0].revents & POLLIN) == 0) continue;
    auto one = std::make_unique<Waiting>();
    one->socket.number = accept4(listener.number, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (one->socket.number < 0) continue;
    answer_at_once(one->socket.number);
    one->until = std::min(until, now + patience_for_strangers);
    one->question.first = drawn();
    const ssize_t sent =
        ::send(one->socket.number, &one->question, sizeof one->question, MSG_NOSIGNAL);  // fits into the buffer of any socket
    if (sent == static_cast<ssize_t>(sizeof one->question)) waiting.push_back(std::move(one));
  }
  barrier();
}

bool Rendezvous::hear(Waiting& one, int& came) {
  auto* const at = reinterpret_cast<char*>(&one.answer);
  const ssize_t moved = recv(one.socket.number, at + one.heard, sizeof one.answer - one.heard, 0);
  if (moved < 0) return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
  if (moved == 0) return false;
  one.heard += static_cast<std::size_t>(moved);
  const Answer& said = one.answer;
  if (one.heard >= sizeof said.word && said.word != our_word) return false;
  if (one.heard < sizeof said) return true;
  const Digest expected = proof_of(place_.secret, "other", one.question.first, said.other, said.processes, said.rank);
  if (!equal_in_constant_time(said.proof, expected)) return false;
  const auto others = static_cast<std::uint32_t>(place_.processes - 1);
  if (said.version_of_other != version || said.processes != others + 1)
    throw RendezvousFault("a process came that was started with another number of processes or another fabricost");
  if (said.rank == 0 || said.rank > others || sockets_[said.rank - 1] >= 0)
    throw RendezvousFault("two processes came as rank " + std::to_string(said.rank) + " of " + std::to_string(place_.processes));
  const Digest mine = proof_of(place_.secret, "first", said.other, one.question.first, said.processes, said.rank);
  if (::send(one.socket.number, mine.data(), mine.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(mine.size())) return false;
  sockets_[said.rank - 1] = one.socket.release();
  ++came;
  return true;
}

std::string Rendezvous::introduce(int socket, Clock::time_point until) const {
  const auto soon = std::min(until, Clock::now() + 5 * patience_for_strangers);
  Question asked;
  if (std::string fault = transfer<false>(socket, &asked, sizeof asked, soon); !fault.empty()) return fault;
  if (asked.word != our_word || asked.version_of_first != version) return "what listens there is no process of this fabricost";
  Answer answer;
  answer.processes = static_cast<std::uint32_t>(place_.processes);
  answer.rank = static_cast<std::uint32_t>(place_.rank);
  answer.other = drawn();
  answer.proof = proof_of(place_.secret, "other", asked.first, answer.other, answer.processes, answer.rank);
  if (std::string fault = transfer<true>(socket, &answer, sizeof answer, soon); !fault.empty()) return fault;
  Digest proof{};
  if (!transfer<false>(socket, proof.data(), proof.size(), soon).empty())
    return "it turned this process away: has it another FABRICOST_SECRET?";
  if (!equal_in_constant_time(proof, proof_of(place_.secret, "first", answer.other, asked.first, answer.processes, answer.rank)))
    return "what listens there does not hold this job's FABRICOST_SECRET";
  return "";
}

void Rendezvous::connect_to_first(Clock::time_point until) {
  std::string last = "nobody listens", refused;
  while (Clock::now() < until) {
    Addresses addresses(place_.address, place_.port);
    for (const addrinfo* a = addresses.first; a != nullptr; a = a->ai_next) {
      Socket socket{::socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol)};
      if (socket.number < 0) continue;
      if (connect(socket.number, a->ai_addr, a->ai_addrlen) != 0) {
        last = std::strerror(errno);
        continue;
      }
      answer_at_once(socket.number);
      if (const std::string fault = introduce(socket.number, until); !fault.empty()) {
        refused = fault;
        continue;
      }
      sockets_.assign(1, socket.release());
      barrier();
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));  // the first process may not have started yet
  }
  throw RendezvousFault("the first process was not reached at " + place_.address + ":" + std::to_string(place_.port) + ": " +
                        (refused.empty() ? last : refused));
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

}  // namespace fabricost::probes::measure::gpu
