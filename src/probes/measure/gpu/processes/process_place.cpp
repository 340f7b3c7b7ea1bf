/// Launchers and their environment variables.

#include "measure/gpu/processes/process_place.hpp"

#include <array>
#include <charconv>
#include <cstdlib>
#include <stdexcept>

namespace fabricost::probes::measure::gpu {
namespace {

struct Launcher {
  const char *name, *rank, *processes, *local_rank, *local_processes;
};
// torchrun first, since scripts set its variables by hand under other launchers. SLURM_STEP_NUM_TASKS is set
// only inside srun, unlike SLURM_NTASKS, which a batch script without srun has, too.
constexpr std::array<Launcher, 4> launchers{
    {{"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"},
     {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"},
     {"MPICH", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
     {"SLURM", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", ""}}};

int whole_number(const std::string& variable, const std::string& text, int min, int max) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < min || value > max)
    throw std::invalid_argument(variable + " is \"" + text + "\"; it must be a whole number from " + std::to_string(min) + " to " +
                                std::to_string(max));
  return value;
}

// Parses SLURM_STEP_TASKS_PER_NODE, "8(x2),4" by node; returns the entry of this node
int slurm_local_processes(const ReadVariable& read) {
  const std::string list = read("SLURM_STEP_TASKS_PER_NODE").value_or(""), node_text = read("SLURM_NODEID").value_or("0");
  int node = whole_number("SLURM_NODEID", node_text, 0, 1 << 20);
  std::size_t at = 0;
  while (at < list.size()) {
    std::size_t end = list.find(',', at);
    if (end == std::string::npos) end = list.size();
    const std::string entry = list.substr(at, end - at);
    const std::size_t times = entry.find("(x");
    const int tasks = whole_number("SLURM_STEP_TASKS_PER_NODE", entry.substr(0, times), 1, 1 << 20);
    const int nodes = times == std::string::npos
                          ? 1
                          : whole_number("SLURM_STEP_TASKS_PER_NODE", entry.substr(times + 2, entry.size() - times - 3), 1, 1 << 20);
    if (node < nodes) return tasks;
    node -= nodes;
    at = end + 1;
  }
  return 1;
}

}  // namespace

std::string first_host(const std::string& list) {
  const std::size_t bracket = list.find('['), comma = list.find(',');
  if (bracket == std::string::npos || comma < bracket) return list.substr(0, comma);
  const std::size_t end = list.find_first_of(",-]", bracket);
  return list.substr(0, bracket) + list.substr(bracket + 1, end == std::string::npos ? end : end - bracket - 1);
}

ProcessPlace process_place(const ReadVariable& read) {
  constexpr int max = 1 << 20;
  ProcessPlace place;
  for (int i = 0; i < 2 * static_cast<int>(launchers.size()); ++i) {
    const Launcher& launcher = launchers[static_cast<std::size_t>(i) % launchers.size()];
    const auto rank = read(launcher.rank), processes = read(launcher.processes), local = read(launcher.local_rank);
    const bool first_round = i < static_cast<int>(launchers.size());
    if (!rank || !processes || (first_round && !local)) continue;  // launchers that also state the local rank take precedence
    place.processes = whole_number(launcher.processes, *processes, 1, max);
    place.rank = whole_number(launcher.rank, *rank, 0, place.processes - 1);
    const bool slurm = launcher.local_processes[0] == '\0';
    const auto local_processes = slurm ? std::optional(std::to_string(slurm_local_processes(read))) : read(launcher.local_processes);
    if (local_processes)
      place.local_processes =
          whole_number(slurm ? "SLURM_STEP_TASKS_PER_NODE" : launcher.local_processes, *local_processes, 1, place.processes);
    if (local && local_processes) place.local_rank = whole_number(launcher.local_rank, *local, 0, place.local_processes - 1);
    place.launcher = launcher.name;
    break;
  }
  if (place.processes == 1) return ProcessPlace{};
  if (place.local_processes == place.processes)
    place.address = "127.0.0.1";  // a single node: only local processes connect
  else if (const auto address = read("MASTER_ADDR"))
    place.address = *address;
  else if (const auto nodes = read("SLURM_STEP_NODELIST"))
    place.address = first_host(*nodes);
  else
    throw std::invalid_argument(place.launcher + " started " + std::to_string(place.processes) +
                                " processes, and MASTER_ADDR is not set; set it to a name or address of the first one's host");
  place.secret = read("FABRICOST_SECRET").value_or("");
  if (const auto port = read("FABRICOST_PORT"))
    place.port = whole_number("FABRICOST_PORT", *port, 1, 65535);
  else if (const auto master = read("MASTER_PORT"))
    place.port = whole_number("MASTER_PORT", *master, 1, 65534) + 1;
  else
    place.port = 29555;
  return place;
}

ProcessPlace process_place() {
  return process_place([](const std::string& variable) {
    const char* value = std::getenv(variable.c_str());
    return value != nullptr && *value != '\0' ? std::optional<std::string>(value) : std::nullopt;
  });
}

}  // namespace fabricost::probes::measure::gpu
