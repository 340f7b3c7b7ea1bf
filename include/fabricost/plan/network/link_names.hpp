#pragma once
/// Names of links as shown in answers.

#include <fabricost/plan/network/topology.hpp>

#include <string>

namespace fabricost::plan {

namespace detail {
[[nodiscard]] std::string numbers(int first, int count);
}  // namespace detail

/// A link in words: "nic 3 of node 1 (out)", "spine up-link of nodes 0 to 191 (7:1)".
[[nodiscard]] std::string name_of(const Topology& t, int link);

}  // namespace fabricost::plan
