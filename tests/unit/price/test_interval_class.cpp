// Which points set an answer's interval: those of the form that priced it.
#include <fabricost/price/price.hpp>

#include "catch.hpp"
#include "support/fabrics.hpp"

using namespace fabricost::core;

namespace {

using W = IntervalWidths;

Fabric fabric(int local, int domains, bool over_pcie = false) {
  Fabric f = support::fabric(local, domains);
  f.over_pcie = over_pcie;
  f.switched = !over_pcie;
  return f;
}

struct Row {
  Algorithm algorithm;
  Collective op;
  Fabric on;
  double W::*ll;
  double W::*ll128;
  double W::*simple;
};

}  // namespace

TEST_CASE("an interval is that of the points of the form that was used", "[price]") {
  const Fabric box = fabric(8, 1), rack = fabric(72, 1), nodes = fabric(8, 4), pcie = fabric(8, 1, true), pcie_nodes = fabric(8, 4, true);
  const Collective sum = Collective::all_reduce, swap = Collective::all_to_all;
  const Row rows[] = {
      {Algorithm::ring, sum, box, &W::ring_ll, &W::ring_ll128, &W::ring_simple},
      {Algorithm::ring, sum, nodes, &W::internode_ring_ll, &W::internode_ring_ll128, &W::internode_ring_simple},
      {Algorithm::ring, sum, pcie, &W::pcie_ll, &W::pcie_ll, &W::pcie_simple},
      {Algorithm::ring, sum, pcie_nodes, &W::internode_ring_ll, &W::internode_ring_ll128, &W::internode_ring_simple},
      {Algorithm::tree, sum, nodes, &W::tree_ll, &W::tree_ll128, &W::tree_simple},
      {Algorithm::tree, sum, box, &W::unfitted_algorithm, &W::unfitted_algorithm, &W::unfitted_algorithm},
      {Algorithm::nvls, sum, box, &W::nvls, &W::nvls, &W::nvls},
      {Algorithm::nvls, sum, rack, &W::nvls, &W::nvls, &W::nvls},
      {Algorithm::nvls, sum, nodes, &W::unfitted_algorithm, &W::unfitted_algorithm, &W::unfitted_algorithm},
      {Algorithm::nvls_tree, sum, nodes, &W::nvls_tree, &W::nvls_tree, &W::nvls_tree},
      {Algorithm::collnet_chain, sum, nodes, &W::nvls_tree, &W::nvls_tree, &W::nvls_tree},
      {Algorithm::direct, swap, box, &W::exchange_ll, &W::exchange_ll, &W::exchange_simple},
      {Algorithm::direct, swap, nodes, &W::internode_exchange, &W::internode_exchange, &W::internode_exchange},
      {Algorithm::direct, swap, pcie, &W::pcie_exchange_ll, &W::pcie_exchange_ll, &W::pcie_exchange_simple},
      {Algorithm::direct, sum, box, &W::unfitted_algorithm, &W::unfitted_algorithm, &W::unfitted_algorithm},
      {Algorithm::hierarchical, sum, nodes, &W::unfitted_algorithm, &W::unfitted_algorithm, &W::unfitted_algorithm},
      {Algorithm::halving_doubling, sum, box, &W::unfitted_algorithm, &W::unfitted_algorithm, &W::unfitted_algorithm},
  };
  for (const Row& row : rows) {
    INFO(name(row.algorithm) << " " << name(row.op) << " " << row.on.local() << " x " << row.on.domains()
                             << (row.on.over_pcie ? " PCIe" : ""));
    CHECK((interval_class({row.algorithm, Protocol::ll}, row.op, row.on) == row.ll));
    CHECK((interval_class({row.algorithm, Protocol::ll128}, row.op, row.on) == row.ll128));
    CHECK((interval_class({row.algorithm, Protocol::simple}, row.op, row.on) == row.simple));
  }
  Candidate kernel{Algorithm::one_shot, Protocol::simple};
  kernel.kernel = CollectiveKernel::pull_one_shot;
  CHECK((interval_class(kernel, sum, box) == &W::custom_one_shot));
  kernel.algorithm = Algorithm::two_shot;
  CHECK((interval_class(kernel, sum, box) == &W::custom_two_shot));
}
