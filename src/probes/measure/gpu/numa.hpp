#pragma once
/// The NUMA node of a GPU, and host memory beside it. Linux places a page on the node of the processor that first touches it, so the thread
/// runs on the GPU's node while it allocates, fills and copies host memory; copies of the other socket's memory cross the link between
/// them.

#include <sched.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

namespace fabricost::probes::measure::gpu {

/// The node of the PCI device at this bus address; -1: unknown.
[[nodiscard]] inline int numa_node_of(std::string bus) {
  std::transform(bus.begin(), bus.end(), bus.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  std::ifstream file("/sys/bus/pci/devices/" + bus + "/numa_node");
  int node = -1;
  return file >> node ? node : -1;
}

/// The processors of a list of Linux, "0-31,64-95"; none for a malformed one.
[[nodiscard]] inline std::optional<cpu_set_t> processors_of(const std::string& list) {
  cpu_set_t out;
  CPU_ZERO(&out);
  std::istringstream in(list);
  for (std::string part; std::getline(in, part, ',');) {
    int first = 0, last = 0;
    char dash = 0;
    std::istringstream numbers(part);
    if (!(numbers >> first)) return std::nullopt;
    if (!(numbers >> dash >> last)) last = first;
    if (first < 0 || last < first || last >= CPU_SETSIZE || (dash != 0 && dash != '-')) return std::nullopt;
    for (int processor = first; processor <= last; ++processor) CPU_SET(processor, &out);
  }
  return CPU_COUNT(&out) > 0 ? std::optional{out} : std::nullopt;
}

/// Keeps this thread on the processors of a node while it lives; does nothing where the node is unknown or may not be used.
class OnNode {
 public:
  explicit OnNode(int node) {
    if (node < 0 || sched_getaffinity(0, sizeof before_, &before_) != 0) return;
    std::ifstream file("/sys/devices/system/node/node" + std::to_string(node) + "/cpulist");
    std::string list;
    std::getline(file, list);
    const auto wanted = processors_of(list);
    if (!wanted) return;
    cpu_set_t allowed;
    CPU_AND(&allowed, &*wanted, &before_);
    moved_ = CPU_COUNT(&allowed) > 0 && sched_setaffinity(0, sizeof allowed, &allowed) == 0;
  }
  ~OnNode() {
    if (moved_) static_cast<void>(sched_setaffinity(0, sizeof before_, &before_));
  }
  OnNode(const OnNode&) = delete;
  OnNode& operator=(const OnNode&) = delete;

 private:
  cpu_set_t before_{};
  bool moved_ = false;
};

}  // namespace fabricost::probes::measure::gpu
