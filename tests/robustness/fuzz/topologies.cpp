// Topology files: tables of nvidia-smi and rocm-smi, XML of NCCL. A machine that is read becomes a system file, which must load.
#include "scratch.hpp"
#include "targets.hpp"

#include <fabricost/observe/readings/topology.hpp>
#include <fabricost/specs/load.hpp>

#include <array>

namespace fuzz {

namespace {

using namespace fabricost::observe;

void topology(std::string_view bytes) {
  const auto file = Scratch::folder().write("topo.txt", bytes);
  tolerate([&] {
    const DescribedTopology read = read_topology(file);
    const std::size_t devices = read.gpus.size() + read.nics.size();
    require(read.links.size() == read.gpus.size() && read.paths.size() == devices, "tables are as long as their devices are many");
    const GuessedSystem guessed = system_from(read);
    const std::string yaml = Scratch::folder().write("guessed.yaml", guessed.yaml).string();
    System system;
    try {
      system = load_system(yaml, {}, {}, KernelSets::none());
    } catch (const Error& error) {
      require(false, "a system written from a topology loads: " + std::string{error.what()});
    }
    static const System stock = load_system("dgx-h100", {}, {}, KernelSets::none());
    (void)differences(read, guessed, stock);
  });
}

constexpr std::array<Target, 2> topologies_list{{{"topology_table", topology}, {"topology_xml", topology}}};

}  // namespace

std::span<const Target> topology_targets() { return topologies_list; }

}  // namespace fuzz
