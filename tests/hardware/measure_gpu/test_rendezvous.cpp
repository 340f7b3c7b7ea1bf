/// Processes meet over the loopback device, agree, and end with a reason when one is missing, wrong or gone.

#include "catch.hpp"

#include "measure/gpu/processes/rendezvous.hpp"
#include "measure/gpu/processes/sha256.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

using namespace fabricost::probes::measure::gpu;

namespace {

// A port without a listener.
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

ProcessPlace place_with(int rank, int processes, int port, const std::string& secret) {
  ProcessPlace made = place(rank, processes, port);
  made.secret = secret;
  return made;
}

// Connects when a process listens; -1 if none ever does.
int connected_to(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  for (int attempt = 0; attempt < 100; ++attempt) {
    const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
    if (connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return socket;
    close(socket);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return -1;
}

/// What the first process makes of a meeting of two while a stranger is there: the highest of 1 and 5, or its fault.
struct Met {
  double highest = 0;
  std::string fault{};
};
Met met_beside(int port, const std::function<void()>& stranger) {
  std::thread beside(stranger);
  std::thread other([port] {
    std::this_thread::sleep_for(std::chrono::milliseconds(400));  // the stranger comes first
    Rendezvous others(place_with(1, 2, port, "a secret"), std::chrono::seconds(10));
    static_cast<void>(others.highest(5));
  });
  Met out;
  out.fault = fault_of([&] {
    Rendezvous others(place_with(0, 2, port, "a secret"), std::chrono::seconds(30));
    out.highest = others.highest(1);
  });
  beside.join();
  other.join();
  return out;
}

std::string hex(const Digest& digest) {
  std::string out;
  for (const unsigned char byte : digest) {
    out += "0123456789abcdef"[byte >> 4U];
    out += "0123456789abcdef"[byte & 15U];
  }
  return out;
}

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
  std::thread one([port] { static_cast<void>(fault_of([port] { Rendezvous others(place(1, 3, port), std::chrono::seconds(2)); })); });
  std::thread two([port] { static_cast<void>(fault_of([port] { Rendezvous others(place(1, 3, port), std::chrono::seconds(2)); })); });
  const std::string why = fault_of([port] { Rendezvous others(place(0, 3, port), std::chrono::seconds(2)); });
  one.join();
  two.join();
  CHECK(why.find("rank 1") != std::string::npos);
}

TEST_CASE("strangers that connect are turned away and the others still meet") {
  const int port = free_port();
  const Met met = met_beside(port, [port] {
    const int socket = connected_to(port);
    if (socket < 0) return;
    const char said[] = "GET / HTTP/1.0\r\n\r\n and then some more words\r\n";
    static_cast<void>(send(socket, said, sizeof said, MSG_NOSIGNAL));
    close(socket);
  });
  CHECK(met.fault.empty());
  CHECK(met.highest == 5);
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

TEST_CASE("SHA-256 and its HMAC give the published values") {
  // FIPS 180-4 examples (NIST), RFC 4231 cases 1, 2 and 6
  CHECK(hex(sha256("abc")) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(hex(sha256("")) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(hex(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")) ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(hex(hmac_sha256(std::string(20, '\x0b'), "Hi There")) == "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  CHECK(hex(hmac_sha256("Jefe", "what do ya want for nothing?")) == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  CHECK(hex(hmac_sha256(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First")) ==
        "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST_CASE("processes with one secret meet, and one with another is not let in") {
  const int port = free_port();
  std::string refused;
  const Met met = met_beside(
      port, [&] { refused = fault_of([port] { Rendezvous others(place_with(1, 2, port, "guessed"), std::chrono::milliseconds(800)); }); });
  CHECK(met.fault.empty());
  CHECK(met.highest == 5);
  CHECK(refused.find("FABRICOST_SECRET") != std::string::npos);
}

TEST_CASE("silent connections hold nobody up, however many come first") {
  const int port = free_port();
  std::vector<int> silent;
  const auto start = std::chrono::steady_clock::now();
  const Met met = met_beside(port, [&] {
    for (int i = 0; i < 40; ++i) silent.push_back(connected_to(port));
  });
  for (const int socket : silent) close(socket);
  CHECK(met.fault.empty());
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(20));  // one after the other they would take 80
}

TEST_CASE("a greeting without proof neither joins nor ends the job") {
  const int port = free_port();
  const Met met = met_beside(port, [port] {
    const int socket = connected_to(port);
    char question[40];
    static_cast<void>(recv(socket, question, sizeof question, MSG_WAITALL));
    std::uint32_t said[20] = {0x46434f53, 2, 7, 1};  // our word, another number of processes
    static_cast<void>(send(socket, said, sizeof said, MSG_NOSIGNAL));
    char byte = 0;
    CHECK(recv(socket, &byte, 1, 0) <= 0);  // hung up without a word
    close(socket);
  });
  CHECK(met.fault.empty());
  CHECK(met.highest == 5);
}

TEST_CASE("nodes do not meet without a secret, nor where the first process's host has no such address") {
  ProcessPlace elsewhere = place(0, 2, free_port());
  elsewhere.address = "192.0.2.1";  // reserved for documents (RFC 5737)
  CHECK(fault_of([&] { Rendezvous others(elsewhere, short_while); }).find("FABRICOST_SECRET") != std::string::npos);
  elsewhere.secret = "a secret";
  CHECK(fault_of([&] { Rendezvous others(elsewhere, short_while); }).find("MASTER_ADDR") != std::string::npos);
}
