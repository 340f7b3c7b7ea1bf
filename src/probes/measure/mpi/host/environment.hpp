#pragma once
/// \file environment.hpp
/// Algorithms that the environment forces on Open MPI: OMPI_MCA_coll_tuned_*_algorithm, which mpirun --mca
/// sets, with coll_tuned_use_dynamic_rules. Names and numbers are those of ompi/mca/coll/tuned, Open MPI 4.1
/// (`ompi_info --param coll tuned --level 9`).

#include <fabricost/algorithms/registry.hpp>
#include <fabricost/collective.hpp>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fabricost::probes::measure::mpi {

/// One algorithm of Open MPI that is forced on a collective.
struct Forced {
  Collective operation;
  std::string theirs;               ///< "allreduce/ring"
  std::optional<Algorithm> ours{};  ///< the algorithm with the same schedule; empty: there is none
};

/// Reads an environment variable; empty if it is not set.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;
[[nodiscard]] std::optional<std::string> environment_variable(const std::string& name);

/// Values that Open MPI does not understand force nothing.
[[nodiscard]] std::vector<Forced> forced_algorithms(const Environment& variable);

}  // namespace fabricost::probes::measure::mpi
