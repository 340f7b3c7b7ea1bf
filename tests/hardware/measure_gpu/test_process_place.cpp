// Rank and size from the variables that launchers set.
#include "measure/gpu/management.hpp"
#include "measure/gpu/nccl_choice.hpp"
#include "measure/gpu/numa.hpp"
#include "measure/gpu/processes/process_place.hpp"
#include "measure/gpu/scoped_environment.hpp"

#include "catch.hpp"

using namespace fabricost::probes::measure::gpu;
using namespace fabricost::probes;
using namespace fabricost::probes::measure;

namespace {

using Variables = std::map<std::string, std::string>;
ProcessPlace place_in(const Variables& set) {
  return process_place([&](const std::string& variable) {
    const auto found = set.find(variable);
    return found == set.end() ? std::nullopt : std::optional(found->second);
  });
}
std::string refusal(const Variables& set) {
  try {
    static_cast<void>(place_in(set));
  } catch (const std::invalid_argument& why) {
    return why.what();
  }
  return "";
}

}  // namespace

TEST_CASE("without a launcher a process is alone") {
  CHECK(place_in({}).processes == 1);
  CHECK(place_in({{"RANK", "3"}}).processes == 1);
  CHECK(place_in({{"RANK", "0"}, {"WORLD_SIZE", "1"}, {"MASTER_ADDR", "a"}}).processes == 1);
}

TEST_CASE("torchrun's variables are read, and its own port is left to it") {
  const auto place = place_in({{"RANK", "9"},
                               {"WORLD_SIZE", "16"},
                               {"LOCAL_RANK", "1"},
                               {"LOCAL_WORLD_SIZE", "8"},
                               {"MASTER_ADDR", "node0"},
                               {"MASTER_PORT", "29500"}});
  CHECK(place.rank == 9);
  CHECK(place.processes == 16);
  CHECK(place.local_rank == 1);
  CHECK(place.local_processes == 8);
  CHECK(place.address == "node0");
  CHECK(place.port == 29501);
  CHECK(place.launcher == "torchrun");
  CHECK(place_in({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "n"}, {"MASTER_PORT", "29500"}, {"FABRICOST_PORT", "4000"}}).port ==
        4000);
}

TEST_CASE("SLURM's step is read, its first node is the first process's, and a batch script runs alone") {
  const Variables step{{"SLURM_PROCID", "5"},  {"SLURM_STEP_NUM_TASKS", "12"},
                       {"SLURM_LOCALID", "1"}, {"SLURM_STEP_TASKS_PER_NODE", "4(x2),2,2"},
                       {"SLURM_NODEID", "1"},  {"SLURM_STEP_NODELIST", "gpu[003-004,007]"}};
  const auto place = place_in(step);
  CHECK(place.rank == 5);
  CHECK(place.processes == 12);
  CHECK(place.local_processes == 4);
  CHECK(place.local_rank == 1);
  CHECK(place.address == "gpu003");
  Variables last = step;
  last["SLURM_NODEID"] = "3";
  CHECK(place_in(last).local_processes == 2);
  CHECK(place_in({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "16"}, {"SLURM_NODELIST", "a,b"}}).processes == 1);
}

TEST_CASE("Open MPI's and MPICH's variables are read; who says more comes first") {
  CHECK(place_in({{"OMPI_COMM_WORLD_RANK", "1"},
                  {"OMPI_COMM_WORLD_SIZE", "2"},
                  {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                  {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}})
            .address == "127.0.0.1");
  // srun --mpi=pmi2 sets MPICH's rank and size as well, without the local ones
  const auto both = place_in({{"PMI_RANK", "3"},
                              {"PMI_SIZE", "4"},
                              {"SLURM_PROCID", "3"},
                              {"SLURM_STEP_NUM_TASKS", "4"},
                              {"SLURM_LOCALID", "1"},
                              {"SLURM_STEP_TASKS_PER_NODE", "2(x2)"},
                              {"SLURM_NODEID", "1"},
                              {"MASTER_ADDR", "n"}});
  CHECK(both.launcher == "SLURM");
  CHECK(both.local_processes == 2);
  CHECK(place_in({{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}, {"MASTER_ADDR", "n"}}).launcher == "MPICH");
}

TEST_CASE("variables that make no sense are refused by name and value") {
  CHECK(refusal({{"RANK", "x"}, {"WORLD_SIZE", "2"}}).find("RANK is \"x\"") != std::string::npos);
  CHECK(refusal({{"RANK", "2"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "n"}}).find("from 0 to 1") != std::string::npos);
  CHECK(refusal({{"RANK", "0"}, {"WORLD_SIZE", "2"}}).find("MASTER_ADDR") != std::string::npos);
  CHECK(refusal({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "n"}, {"FABRICOST_PORT", "70000"}}).find("65535") !=
        std::string::npos);
}

TEST_CASE("the first host of a SLURM list is found") {
  CHECK(first_host("a") == "a");
  CHECK(first_host("a,b[1-2]") == "a");
  CHECK(first_host("gpu[003-004,007],x") == "gpu003");
  CHECK(first_host("gpu[7]") == "gpu7");
  CHECK(first_host("gpu[1,9]") == "gpu1");
}

TEST_CASE("clock reasons that slow a GPU down are named, others are not") {
  CHECK(throttle_words(0).empty());
  CHECK(throttle_words(0x1 | 0x2 | 0x100).empty());  // idle, the user's own clocks, display
  CHECK(throttle_words(0x4) == "power cap");
  CHECK(throttle_words(0x4 | 0x20) == "power cap, thermal");
}

// Lists of processors as Linux writes them, and a thread that is moved and comes back.

TEST_CASE("a list of processors is read as Linux writes it") {
  const auto found = processors_of("0-3,8,10-11\n");
  REQUIRE(found);
  CHECK(CPU_COUNT(&*found) == 7);
  for (const int processor : {0, 1, 2, 3, 8, 10, 11}) CHECK(CPU_ISSET(processor, &*found));
  CHECK_FALSE(CPU_ISSET(4, &*found));
}

TEST_CASE("what is no list of processors names none") {
  for (const char* text : {"", "x", "3-1", "0-99999", "-1", "0,x", "1:2"}) CHECK_FALSE(processors_of(text));
}

TEST_CASE("a thread comes back to the processors it had") {
  cpu_set_t before, after;
  REQUIRE(sched_getaffinity(0, sizeof before, &before) == 0);
  { const OnNode here(0), unknown(-1), missing(1000); }
  REQUIRE(sched_getaffinity(0, sizeof after, &after) == 0);
  CHECK(CPU_EQUAL(&before, &after));
}

TEST_CASE("a device that Linux does not know has no node") { CHECK(numa_node_of("FFFF:10:00.0") == -1); }

// Forced choices become the environment of one communicator; choices unknown to NCCL are refused by name.

namespace {

Case forced(Collective operation, std::optional<Algorithm> algorithm, std::optional<Protocol> protocol = {}) {
  Case what;
  what.kind = ProbeKind::collective;
  what.operation = operation;
  what.algorithm = algorithm;
  what.protocol = protocol;
  what.gpus = {0, 1};
  return what;
}
std::string reason(const Case& what) { return why_not_forced(what).value_or(""); }

}  // namespace

TEST_CASE("what NCCL can run is not refused") {
  using enum Collective;
  CHECK(reason(forced(all_reduce, {})).empty());
  CHECK(reason(forced(all_reduce, Algorithm::tree, Protocol::ll128)).empty());
  CHECK(reason(forced(broadcast, Algorithm::ring, Protocol::ll)).empty());
  CHECK(reason(forced(all_gather, Algorithm::nvls)).empty());
  CHECK(reason(forced(reduce_scatter, Algorithm::pat)).empty());
  CHECK(reason(forced(all_to_all, {})).empty());
}

TEST_CASE("a choice NCCL would silently replace is refused") {
  using enum Collective;
  CHECK(reason(forced(all_gather, Algorithm::tree)).find("Tree for all_gather") != std::string::npos);
  CHECK(reason(forced(all_reduce, Algorithm::pat)).find("PAT for all_reduce") != std::string::npos);
  CHECK(reason(forced(all_reduce, Algorithm::bruck)).find("bruck") != std::string::npos);
  CHECK(reason(forced(all_to_all, Algorithm::ring)).find("sends and receives") != std::string::npos);
  CHECK(reason(forced(send_recv, {}, Protocol::ll)).find("sends and receives") != std::string::npos);
  CHECK(reason(forced(all_reduce, Algorithm::nvls, Protocol::ll)).find("Simple only") != std::string::npos);
  Case contradicting = forced(all_reduce, Algorithm::nvls);
  contradicting.nvls = false;
  CHECK(reason(contradicting).find("forbidden") != std::string::npos);
  Case narrow = forced(all_reduce, Algorithm::nvls);
  narrow.dtype = DataType::int8;
  CHECK(reason(narrow).find("int8") != std::string::npos);
}

TEST_CASE("communicators are shared by cases with the same choice and GPUs only") {
  const Case plain = forced(Collective::all_reduce, {});
  Case larger = plain, other = plain, ring = forced(Collective::all_reduce, Algorithm::ring), without = plain;
  larger.bytes = 1 << 20;
  other.gpus = {0, 2};
  without.nvls = false;
  CHECK(communicator_key(plain) == communicator_key(larger));
  CHECK(communicator_key(plain) != communicator_key(other));
  CHECK(communicator_key(plain) != communicator_key(ring));
  CHECK(communicator_key(plain) != communicator_key(without));
  other.gpus = {1, 2};
  larger.gpus = {12};
  CHECK(communicator_key(other) != communicator_key(larger));
}

TEST_CASE("a forced choice is set for its scope and then put back") {
  setenv("NCCL_ALGO", "Tree", 1);
  unsetenv("NCCL_PROTO");
  {
    const ScopedEnvironment set(nccl_environment(forced(Collective::all_reduce, Algorithm::ring, Protocol::ll)));
    CHECK(std::string(std::getenv("NCCL_ALGO")) == "Ring");
    CHECK(std::string(std::getenv("NCCL_PROTO")) == "LL");
  }
  CHECK(std::string(std::getenv("NCCL_ALGO")) == "Tree");
  CHECK(std::getenv("NCCL_PROTO") == nullptr);
  unsetenv("NCCL_ALGO");
}
