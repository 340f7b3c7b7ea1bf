/// Times MPI's collectives between processes that read one clock:
///
///     collectives SECONDS OPERATION,... BYTES,...     seconds for each point; bytes as nccl-tests counts them
///
/// The first process prints a line `operation bytes microseconds` for each, the median of its repetitions. A repetition lasts from a
/// moment that all agreed on until the last process is done.

#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <sstream>
#include <string>
#include <vector>

/// An idle Open MPI process calls sched_yield in a loop. There are more processes than processors here, so it sleeps instead.
extern "C" int sched_yield() noexcept {
  const timespec nap{0, 50'000};
  nanosleep(&nap, nullptr);
  return 0;
}

namespace {

double now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double latest(double mine) {
  double out = 0;
  MPI_Allreduce(&mine, &out, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return out;
}

std::vector<std::string> parts(const char* text) {
  std::vector<std::string> out;
  std::istringstream in{text};
  for (std::string part; std::getline(in, part, ',');) out.push_back(part);
  return out;
}

void run(const std::string& operation, int floats, int ranks, std::vector<float>& in, std::vector<float>& out) {
  const int share = std::max(1, floats / ranks);
  if (operation == "all_reduce")
    MPI_Allreduce(in.data(), out.data(), floats, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  else if (operation == "all_gather")
    MPI_Allgather(in.data(), share, MPI_FLOAT, out.data(), share, MPI_FLOAT, MPI_COMM_WORLD);
  else if (operation == "all_to_all")
    MPI_Alltoall(in.data(), share, MPI_FLOAT, out.data(), share, MPI_FLOAT, MPI_COMM_WORLD);
  else if (operation == "broadcast")
    MPI_Bcast(in.data(), floats, MPI_FLOAT, 0, MPI_COMM_WORLD);
  else
    MPI_Abort(MPI_COMM_WORLD, 2);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc != 4) MPI_Abort(MPI_COMM_WORLD, 2);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (const std::string& operation : parts(argv[2]))
    for (const std::string& bytes : parts(argv[3])) {
      const int floats = std::atoi(bytes.c_str()) / 4;
      std::vector<float> in(static_cast<std::size_t>(floats + ranks), 1), out(in.size());
      run(operation, floats, ranks, in, out);  // connections are made
      std::vector<double> times;
      const double end = latest(now()) + std::atof(argv[1]);
      for (double begin = latest(now()); begin < end || times.size() < 3; begin = latest(now())) {
        const double moment = begin + 5e-3;  // when all processes know it
        while (now() < moment) sched_yield();
        run(operation, floats, ranks, in, out);
        times.push_back(latest(now()) - moment);
      }
      std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
      if (rank == 0) std::printf("%s %d %.3f\n", operation.c_str(), 4 * floats, 1e6 * times[times.size() / 2]);
    }
  MPI_Finalize();
}
