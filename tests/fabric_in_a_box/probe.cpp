/// \file probe.cpp
/// One rank of a measurement over MPI: a list of (operation, sizes), each timed some times, medians printed as measured points.
///
///   mpirun ... probe SYSTEM REPEATS OPERATION=LABEL:BYTES,BYTES...  [OPERATION=LABEL:...]...
///
/// OPERATION is all_reduce, all_gather, all_to_all or broadcast, or one of two that take a link's measure: `ping_pong` between the
/// first and the last rank, `pairs` between the two halves of the ranks, all of them at once, both printed as send_recv. LABEL names the
/// algorithm in the `algorithm` cell (`-`: empty); which one runs is the library's business (OMPI_MCA_coll_tuned_* in the environment).
/// BYTES are counted as nccl-tests does: what one rank ends up with (all_gather) or holds for all (all_to_all).
///
/// All ranks share one kernel, hence one monotonic clock: rank 0 sets a moment, everybody starts then, and a repeat takes until the last
/// rank is done. `notes` has the spread, (largest - smallest of the middle half) / median. Arguments that cannot be served: exit 2.

#define OMPI_SKIP_MPICXX 1  // the C++ bindings warn
#include <mpi.h>

#include <ctime>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include <sys/prctl.h>

/// An idle Open MPI process yields in a loop (mpi_yield_when_idle). Sleeping there instead leaves the processor to those who carry the
/// packets, so that more ranks than cores do not disturb what is measured. Takes precedence over the C library's.
extern "C" int sched_yield() noexcept {
  const timespec nap{0, 50'000};
  nanosleep(&nap, nullptr);
  return 0;
}

namespace {

double now() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

void sleep_until(double moment) {
  const auto whole = static_cast<time_t>(moment);
  const timespec t{whole, static_cast<long>((moment - static_cast<double>(whole)) * 1e9)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, nullptr) != 0) {}
}

struct Request {
  std::string operation, label;
  std::vector<long> sizes;
};

/// \throws std::string saying what is wrong with the argument and what to write.
Request parse(std::string_view text) {
  const auto equals = text.find('=');
  const auto colon = text.find(':');
  if (equals == text.npos || colon == text.npos || colon < equals)
    throw "\"" + std::string(text) + "\": write OPERATION=LABEL:BYTES,BYTES...";
  Request out{std::string(text.substr(0, equals)), std::string(text.substr(equals + 1, colon - equals - 1)), {}};
  constexpr std::string_view known[] = {"all_reduce", "all_gather", "all_to_all", "broadcast", "ping_pong", "pairs"};
  if (std::find(std::begin(known), std::end(known), out.operation) == std::end(known))
    throw "\"" + out.operation + "\" is no operation: write all_reduce, all_gather, all_to_all, broadcast, ping_pong or pairs";
  std::string_view rest = text.substr(colon + 1);
  while (true) {
    const auto comma = rest.find(',');
    const std::string_view item = rest.substr(0, comma);
    long size = 0;
    const auto [end, fault] = std::from_chars(item.data(), item.data() + item.size(), size);
    if (fault != std::errc{} || end != item.data() + item.size() || size < 4 || size > (1L << 30) || size % 4 != 0)
      throw "\"" + std::string(item) + "\" is no size: write bytes, a multiple of 4 up to 1073741824";
    out.sizes.push_back(size);
    if (comma == rest.npos) return out;
    rest = rest.substr(comma + 1);
  }
}

class Probe {
 public:
  Probe() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
  }

  void measure(const Request& request, const std::string& system, int repeats) {
    for (const long size : request.sizes) {
      const bool shared = request.operation == "all_gather" || request.operation == "all_to_all";
      if (shared && size % (4L * ranks_) != 0) throw std::to_string(size) + " bytes do not split over the ranks in whole floats";
      in_.assign(static_cast<std::size_t>(size / 4), static_cast<float>(rank_));
      out_.assign(in_.size(), 0.0F);
      once(request.operation, size);  // connections, windows, pages
      std::vector<double> times;
      for (int i = 0; i < repeats; ++i) times.push_back(once(request.operation, size));
      if (rank_ != 0) continue;
      std::sort(times.begin(), times.end());
      const std::size_t n = times.size();
      const double median = n % 2 == 1 ? times[n / 2] : 0.5 * (times[n / 2 - 1] + times[n / 2]);
      const double spread = (times[n - 1 - n / 4] - times[n / 4]) / median;
      const bool link = request.operation == "ping_pong" || request.operation == "pairs";
      std::printf("fabric-in-a-box,%s,%d,1,%s,float,%ld,%.3f,0,openmpi,%d.%d.%d,%s,,%sspread %.3f\n", system.c_str(), ranks_,
                  link ? "send_recv" : request.operation.c_str(), size, 1e6 * median, OMPI_MAJOR_VERSION, OMPI_MINOR_VERSION,
                  OMPI_RELEASE_VERSION, request.label == "-" ? "" : request.label.c_str(), link ? (request.operation + "; ").c_str() : "",
                  spread);
      std::fflush(stdout);
    }
  }

 private:
  /// Seconds of one repeat until the last rank is done; a ping-pong counts as half of its round trip.
  double once(const std::string& operation, long size) {
    double start = now();  // of the slowest; the moment lies far enough ahead for the news to reach everybody, and queues to drain
    MPI_Allreduce(MPI_IN_PLACE, &start, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    start += 0.01;
    sleep_until(start);
    run(operation, size);
    double end = now();
    MPI_Allreduce(MPI_IN_PLACE, &end, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return (end - start) * (operation == "ping_pong" || operation == "pairs" ? 0.5 : 1);
  }

  void run(const std::string& operation, long size) {
    const int count = static_cast<int>(size / 4);
    const int part = count / ranks_;
    if (operation == "all_reduce") {
      MPI_Allreduce(in_.data(), out_.data(), count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    } else if (operation == "all_gather") {
      MPI_Allgather(in_.data(), part, MPI_FLOAT, out_.data(), part, MPI_FLOAT, MPI_COMM_WORLD);
    } else if (operation == "all_to_all") {
      MPI_Alltoall(in_.data(), part, MPI_FLOAT, out_.data(), part, MPI_FLOAT, MPI_COMM_WORLD);
    } else if (operation == "broadcast") {
      MPI_Bcast(in_.data(), count, MPI_FLOAT, 0, MPI_COMM_WORLD);
    } else if (operation == "ping_pong") {
      if (rank_ == 0 || rank_ == ranks_ - 1) there_and_back(count, rank_ == 0, rank_ == 0 ? ranks_ - 1 : 0);
    } else {
      const int half = ranks_ / 2;
      if (rank_ < 2 * half) there_and_back(count, rank_ < half, rank_ < half ? rank_ + half : rank_ - half);
    }
  }

  void there_and_back(int count, bool first, int peer) {
    if (first) MPI_Send(in_.data(), count, MPI_FLOAT, peer, 1, MPI_COMM_WORLD);
    MPI_Recv(out_.data(), count, MPI_FLOAT, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (!first) MPI_Send(in_.data(), count, MPI_FLOAT, peer, 1, MPI_COMM_WORLD);
  }

  int rank_ = 0, ranks_ = 1;
  std::vector<float> in_, out_;
};

}  // namespace

int main(int argc, char** argv) {
  std::vector<Request> requests;
  const int repeats = argc > 2 ? std::atoi(argv[2]) : 0;
  try {
    if (argc < 4) throw std::string("write SYSTEM REPEATS OPERATION=LABEL:BYTES,BYTES...");
    if (repeats < 1 || repeats > 1000) throw "\"" + std::string(argv[2]) + "\" repeats: write 1 to 1000";
    for (int i = 3; i < argc; ++i) requests.push_back(parse(argv[i]));
  } catch (const std::string& fault) {
    std::fprintf(stderr, "probe: %s\n", fault.c_str());
    return 2;
  }
  prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
  MPI_Init(&argc, &argv);
  int status = 0;
  try {
    Probe probe;
    for (const Request& request : requests) probe.measure(request, argv[1], repeats);
  } catch (const std::string& fault) {
    std::fprintf(stderr, "probe: %s\n", fault.c_str());
    status = 2;
  }
  MPI_Finalize();
  return status;
}
