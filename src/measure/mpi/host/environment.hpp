#pragma once
/// \file environment.hpp
/// Which algorithms Open MPI is made to run: OMPI_MCA_coll_tuned_*_algorithm, which mpirun --mca sets, under
/// coll_tuned_use_dynamic_rules. Names and numbers of ompi/mca/coll/tuned, Open MPI 4.1 (`ompi_info --param coll tuned --level 9`).

#include <fabricost/algorithms/registry.hpp>
#include <fabricost/collective.hpp>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fabricost::measure::mpi {

/// An algorithm of Open MPI that the environment forces on one collective.
struct Forced {
  Collective operation;
  std::string theirs;               ///< "allreduce/ring"
  std::optional<Algorithm> ours{};  ///< the one with the same schedule; nothing: none has it
};

/// A variable of the environment; nothing where it is not set.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;
[[nodiscard]] std::optional<std::string> environment_variable(const std::string& name);

/// \throws nothing: what Open MPI would not understand either is no force
[[nodiscard]] std::vector<Forced> forced_algorithms(const Environment& variable);

}  // namespace fabricost::measure::mpi
