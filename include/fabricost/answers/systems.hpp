#pragma once
/// \file systems.hpp
/// The machines of the catalogue.

#include <fabricost/fields/fields.hpp>

#include <string>
#include <vector>

namespace fabricost::core {

struct SystemsRequest {
  static constexpr auto fields() { return Table<>{}; }
};

struct ListedSystem {
  std::string name;
  int gpus = 0, domain = 0;
  std::string kind, title, vendor;
  bool cluster = false;
  bool operator==(const ListedSystem&) const = default;

  static constexpr auto fields() {
    using A = ListedSystem;
    return Table{gives(&A::name, "name", "name", "As in `dgx-h100`, for load_system."),
                 gives(&A::gpus, "gpus", "gpus", "GPUs of the whole machine as described."),
                 gives(&A::domain, "domain", "domain", "GPUs that the scale-up tier joins."),
                 gives(&A::kind, "kind", "kind", "Of the scale-up tier, as in `switched`; none: there is none."),
                 gives(&A::title, "", "title", "What a person calls it."),
                 gives(&A::vendor, "vendor", "vendor", "Who makes its GPUs, as in `nvidia`; other: none of those that have a name."),
                 gives(&A::cluster, "", "cluster", "Several nodes, and the network that joins them.")};
  }
};

/// Machines, then clusters, each sorted by name. \throws SpecError for faults in a listed file; a machine is checked when it is loaded
[[nodiscard]] std::vector<ListedSystem> answer(const SystemsRequest& request);

}  // namespace fabricost::core

namespace fabricost {
using core::SystemsRequest;
}  // namespace fabricost
