/// Decisions of the MPI probe that need no MPI: counts, names, forced algorithms, the watch.

#include "catch.hpp"
#include "measure/mpi/counts.hpp"
#include "measure/mpi/host.hpp"

using namespace fabricost::probes;
using namespace fabricost::probes::measure::mpi;

namespace {

Environment environment(std::map<std::string, std::string> set) {
  return [set = std::move(set)](const std::string& name) -> std::optional<std::string> {
    const auto found = set.find(name);
    return found == set.end() ? std::nullopt : std::optional{found->second};
  };
}
const std::string prefix = "OMPI_MCA_coll_tuned_";

}  // namespace

TEST_CASE("a size is split into equal parts of whole elements, losing at most one in a hundred", "[mpi]") {
  CHECK(share_of(4096, 4, 4)->elements == 256);
  CHECK(share_of(1 << 20, 4, 3)->elements == 87381);  // 4 B lost
  CHECK_FALSE(share_of(8, 4, 4).has_value());         // half an element each
  CHECK_FALSE(share_of(40, 4, 3).has_value());        // 36 of 40 B
  for (std::uint64_t parts = 1; parts < 40; ++parts)
    for (std::uint64_t bytes = 1; bytes < 5000; bytes += 7)
      if (const auto share = share_of(bytes, 4, parts)) {
        CHECK(share->elements * 4 * parts <= bytes);
        CHECK((bytes - share->elements * 4 * parts) * 100 <= bytes);
      }
}

TEST_CASE("algorithms are forced only under dynamic rules", "[mpi]") {
  CHECK(forced_algorithms(environment({})).empty());
  CHECK(forced_algorithms(environment({{prefix + "allreduce_algorithm", "ring"}})).empty());
  CHECK(forced_algorithms(environment({{prefix + "use_dynamic_rules", "0"}, {prefix + "allreduce_algorithm", "ring"}})).empty());
  const auto forced = forced_algorithms(environment({{prefix + "use_dynamic_rules", "1"}, {prefix + "allreduce_algorithm", "ring"}}));
  REQUIRE(forced.size() == 1);
  CHECK(forced[0].operation == Collective::all_reduce);
  CHECK(forced[0].theirs == "allreduce/ring");
  CHECK(forced[0].ours == Algorithm::ring);
}

TEST_CASE("an algorithm is known by name and by Open MPI's number", "[mpi]") {
  struct Row {
    const char *parameter, *name, *number;
    std::optional<Algorithm> ours;
  };
  const Row rows[] = {{"allreduce", "recursive_doubling", "3", Algorithm::recursive_doubling},
                      {"allreduce", "segmented_ring", "5", Algorithm::ring},
                      {"allreduce", "rabenseifner", "6", Algorithm::rabenseifner},
                      {"allgather", "bruck", "2", Algorithm::bruck},
                      {"allgather", "recursive_doubling", "3", Algorithm::halving_doubling},
                      {"allgather", "neighbor", "5", std::nullopt},
                      {"alltoall", "pairwise", "2", Algorithm::pairwise},
                      {"alltoall", "linear_sync", "4", Algorithm::direct},
                      {"bcast", "pipeline", "3", Algorithm::ring},
                      {"bcast", "binomial", "6", std::nullopt},
                      {"reduce", "pipeline", "3", Algorithm::ring},
                      {"reduce_scatter_block", "recursive_halving", "3", Algorithm::halving_doubling}};
  for (const Row& row : rows)
    for (const char* value : {row.name, row.number}) {
      INFO(row.parameter << " " << value);
      const auto forced = forced_algorithms(
          environment({{prefix + "use_dynamic_rules", "true"}, {prefix + row.parameter + std::string{"_algorithm"}, value}}));
      REQUIRE(forced.size() == 1);
      CHECK(forced[0].theirs == row.parameter + std::string{"/"} + row.name);
      CHECK(forced[0].ours == row.ours);
    }
  for (const char* nothing : {"0", "ignore", "99", "-1", "fastest", ""})
    CHECK(forced_algorithms(environment({{prefix + "use_dynamic_rules", "1"}, {prefix + "bcast_algorithm", nothing}})).empty());
}

TEST_CASE("a chain that forks is no ring", "[mpi]") {
  std::map<std::string, std::string> set{{prefix + "use_dynamic_rules", "1"}, {prefix + "bcast_algorithm", "chain"}};
  CHECK_FALSE(forced_algorithms(environment(set))[0].ours.has_value());
  set[prefix + "bcast_algorithm_chain_fanout"] = "1";
  CHECK(forced_algorithms(environment(set))[0].ours == Algorithm::ring);
}

TEST_CASE("libraries are named from what they say of themselves", "[mpi]") {
  const auto is = [](const char* said, const char* name, const char* version) {
    INFO(said);
    CHECK(library_named(said).name == name);
    CHECK(library_named(said).version == version);
  };
  is("Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4, repo rev: v4.1.4, May 26, 2022", "openmpi", "4.1.4");
  is("MPICH Version:\t4.0.2\nMPICH Release date:\tThu Apr  7 12:34:45 CDT 2022\n", "mpich", "4.0.2");
  is("Intel(R) MPI Library 2021.8 for Linux* OS\n", "intelmpi", "2021.8");
  is("MPI VERSION    : CRAY MPICH version 8.1.25.17 (ANL base 3.4a2)\nMPI BUILD INFO : ...", "craympich", "8.1.25.17");
  is("MVAPICH2 Version      :\t2.3.7\n", "mvapich", "2.3.7");
  is("Platform of nobody 1.2", "mpi", "");
}

TEST_CASE("waiting ends at its moment, not before", "[mpi]") {
  for (const bool patient : {false, true}) {
    const double moment = now() + 3e-3;
    wait_until(moment, patient);
    CHECK(now() >= moment);
    wait_until(moment, patient);  // past: at once
  }
  CHECK(clock_identity() == clock_identity());
}

TEST_CASE("memory that is left is part of what there is", "[mpi]") {
  CHECK(available_memory() > 0);
  CHECK(available_memory() <= total_memory());
}
