/// \file test_rendezvous.cpp
/// Processes meet over the loopback device, agree, and end with a reason when one is missing, wrong or gone.

#include "catch.hpp"

#include "measure/gpu/rendezvous.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <thread>
#include <vector>

using namespace fabricost::measure::gpu;

namespace {

// A port nobody listens on now.
int free_port() {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  REQUIRE(bind(socket, reinterpret_cast<sockaddr*>(&address), size) == 0);
  REQUIRE(getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  close(socket);
  return ntohs(address.sin_port);
}

ProcessPlace place(int rank, int processes, int port) {
  ProcessPlace made;
  made.rank = rank;
  made.processes = processes;
  made.address = "127.0.0.1";
  made.port = port;
  made.launcher = "torchrun";
  return made;
}

// Runs `body(rank)` in a process each; true when all return true.
bool all_true(int processes, const std::function<bool(int)>& body) {
  std::vector<pid_t> children;
  for (int rank = 0; rank < processes; ++rank) {
    const pid_t child = fork();
    if (child == 0) {
      bool fine = false;
      try {
        fine = body(rank);
      } catch (const std::exception&) {
        fine = false;
      }
      _exit(fine ? 0 : 1);
    }
    children.push_back(child);
  }
  bool all = true;
  for (const pid_t child : children) {
    int status = 1;
    all = waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0 && all;
  }
  return all;
}

std::string fault_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const RendezvousFault& fault) {
    return fault.what();
  }
  return "";
}

constexpr auto short_while = std::chrono::milliseconds(600);

}  // namespace

TEST_CASE("processes agree on the first one's bytes and on the highest value, step after step") {
  const int port = free_port();
  CHECK(all_true(4, [port](int rank) {
    if (rank == 0) std::this_thread::sleep_for(std::chrono::milliseconds(200));  // the others come first and try again
    Rendezvous others(place(rank, 4, port));
    for (int step = 0; step < 50; ++step) {
      char id[128];
      std::memset(id, rank == 0 ? step : 99, sizeof id);
      others.broadcast(id, sizeof id);
      for (const char byte : id)
        if (byte != step) return false;
      if (others.highest(rank == step % 4 ? 7 : -1.0 * rank) != 7) return false;
    }
    others.barrier();
    return others.rank() == rank && others.processes() == 4;
  }));
}

TEST_CASE("a process that does not come is counted and the remedy named") {
  const std::string why = fault_of([] { Rendezvous others(place(0, 3, free_port()), short_while); });
  CHECK(why.find("1 of 3 processes came") != std::string::npos);
  CHECK(why.find("torchrun") != std::string::npos);
}

TEST_CASE("a first process that is not there is named with its address") {
  const int port = free_port();
  const std::string why = fault_of([port] { Rendezvous others(place(1, 2, port), short_while); });
  CHECK(why.find("127.0.0.1:" + std::to_string(port)) != std::string::npos);
}

TEST_CASE("two processes with the same rank are refused") {
  const int port = free_port();
  std::thread one([port] { static_cast<void>(fault_of([port] { Rendezvous others(place(1, 3, port), std::chrono::seconds(5)); })); });
  std::thread two([port] { static_cast<void>(fault_of([port] { Rendezvous others(place(1, 3, port), std::chrono::seconds(5)); })); });
  const std::string why = fault_of([port] { Rendezvous others(place(0, 3, port), std::chrono::seconds(5)); });
  one.join();
  two.join();
  CHECK(why.find("rank 1") != std::string::npos);
}

TEST_CASE("strangers that connect are turned away and the others still meet") {
  const int port = free_port();
  std::thread stranger([port] {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    for (int attempt = 0; attempt < 100; ++attempt) {
      const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
      if (connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) {
        const char said[] = "GET / HTTP/1.0\r\n\r\n and then some more words\r\n";
        static_cast<void>(send(socket, said, sizeof said, MSG_NOSIGNAL));
        close(socket);
        return;
      }
      close(socket);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  });
  double seen = 0;
  std::thread other([port, &seen] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    Rendezvous others(place(1, 2, port), std::chrono::seconds(10));
    seen = others.highest(5);
  });
  std::string why;
  double mine = 0;
  try {
    Rendezvous others(place(0, 2, port), std::chrono::seconds(10));
    mine = others.highest(3);
  } catch (const RendezvousFault& fault) {
    why = fault.what();
  }
  stranger.join();
  other.join();
  CHECK(why.empty());
  CHECK(mine == 5);
  CHECK(seen == 5);
}

TEST_CASE("a process that goes away is noticed by the one that waits for it") {
  const int port = free_port();
  CHECK(all_true(2, [port](int rank) {
    Rendezvous others(place(rank, 2, port));
    if (rank == 1) return true;  // ends here
    for (int i = 0; i < 200 && !others.broken(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return others.broken() && fault_of([&] { others.barrier(); }).find("gone") != std::string::npos;
  }));
}

TEST_CASE("processes that take different steps end with a reason") {
  const int port = free_port();
  CHECK(all_true(2, [port](int rank) {
    Rendezvous others(place(rank, 2, port));
    char word[8] = "first";
    const std::string why = fault_of([&] {
      if (rank == 0)
        others.broadcast(word, sizeof word);
      else
        static_cast<void>(others.highest(1));
    });
    return rank == 0 || why.find("out of step") != std::string::npos;
  }));
}
