/// \file environment.cpp
/// The tables behind forced_algorithms.

#include "measure/mpi/host/environment.hpp"

#include <array>
#include <charconv>
#include <cstdlib>
#include <span>

namespace fabricost::probes::measure::mpi {

namespace {

struct Named {
  std::string_view theirs;
  std::optional<Algorithm> ours{};
};

// By Open MPI's numbers, from 1 on. A row with one of our algorithms moves the same bytes in the same steps.
constexpr std::array all_reduce{Named{"basic_linear"},
                                Named{"nonoverlapping"},
                                Named{"recursive_doubling", Algorithm::recursive_doubling},
                                Named{"ring", Algorithm::ring},
                                Named{"segmented_ring", Algorithm::ring},
                                Named{"rabenseifner", Algorithm::rabenseifner}};
constexpr std::array all_gather{Named{"linear"},
                                Named{"bruck", Algorithm::bruck},
                                Named{"recursive_doubling", Algorithm::halving_doubling},
                                Named{"ring", Algorithm::ring},
                                Named{"neighbor"},
                                Named{"two_proc"}};
constexpr std::array all_to_all{Named{"linear", Algorithm::direct}, Named{"pairwise", Algorithm::pairwise},
                                Named{"modified_bruck", Algorithm::bruck}, Named{"linear_sync", Algorithm::direct}, Named{"two_proc"}};
constexpr std::array broadcast{Named{"basic_linear"},
                               Named{"chain", Algorithm::ring},
                               Named{"pipeline", Algorithm::ring},
                               Named{"split_binary_tree"},
                               Named{"binary_tree"},
                               Named{"binomial"},
                               Named{"knomial"},
                               Named{"scatter_allgather"},
                               Named{"scatter_allgather_ring"}};
constexpr std::array reduce{Named{"linear"},
                            Named{"chain", Algorithm::ring},
                            Named{"pipeline", Algorithm::ring},
                            Named{"binary"},
                            Named{"binomial"},
                            Named{"in-order_binary"},
                            Named{"rabenseifner"}};
constexpr std::array reduce_scatter{Named{"basic_linear"}, Named{"recursive_doubling"},
                                    Named{"recursive_halving", Algorithm::halving_doubling}, Named{"butterfly"}};

struct Table {
  Collective operation;
  std::string_view called;  ///< in the parameters' names
  std::span<const Named> algorithms;
};
constexpr std::array<Table, 6> tables{{{Collective::all_reduce, "allreduce", all_reduce},
                                       {Collective::all_gather, "allgather", all_gather},
                                       {Collective::reduce_scatter, "reduce_scatter_block", reduce_scatter},
                                       {Collective::broadcast, "bcast", broadcast},
                                       {Collective::reduce, "reduce", reduce},
                                       {Collective::all_to_all, "alltoall", all_to_all}}};

std::optional<std::string> parameter(const Environment& variable, std::string_view rest) {
  return variable("OMPI_MCA_coll_tuned_" + std::string{rest});
}

bool is_true(const std::optional<std::string>& text) {
  return text && (*text == "1" || *text == "true" || *text == "yes" || *text == "enabled" || *text == "t" || *text == "y");
}

/// An algorithm by its name or number from 1 on; 0 and "ignore" force nothing.
const Named* find(std::span<const Named> among, const std::string& text) {
  std::size_t number = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (fault == std::errc{} && end == text.data() + text.size()) return number >= 1 && number <= among.size() ? &among[number - 1] : nullptr;
  for (const Named& named : among)
    if (named.theirs == text) return &named;
  return nullptr;
}

}  // namespace

std::optional<std::string> environment_variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>{value};
}

std::vector<Forced> forced_algorithms(const Environment& variable) {
  std::vector<Forced> out;
  if (!is_true(parameter(variable, "use_dynamic_rules"))) return out;
  for (const Table& table : tables) {
    const std::string called{table.called};
    const auto value = parameter(variable, called + "_algorithm");
    const Named* named = value ? find(table.algorithms, *value) : nullptr;
    if (named == nullptr) continue;
    std::optional<Algorithm> ours = named->ours;
    // a chain has a ring's order only without a fork at the root; by default it has four branches
    if (named->theirs == "chain" && parameter(variable, called + "_algorithm_chain_fanout") != "1") ours.reset();
    out.push_back({table.operation, called + "/" + std::string{named->theirs}, ours});
  }
  return out;
}

}  // namespace fabricost::probes::measure::mpi
