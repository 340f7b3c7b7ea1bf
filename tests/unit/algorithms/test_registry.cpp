// The list of algorithms: names that are read back, properties that follow from each one's file.
#include <fabricost/algorithms/registry.hpp>
#include <fabricost/label.hpp>

#include "catch.hpp"

using namespace fabricost::core;

static_assert(name(Algorithm::ring) == "ring" && name(Algorithm::pat) == "pat" && name(Algorithm::direct) == "direct" &&
              name(Algorithm::hierarchical) == "hierarchical" && name(Algorithm::binomial) == "binomial");
static_assert(nccl_name(Algorithm::nvls_tree) == "NVLSTree" && nccl_name(Algorithm::bruck).empty());
static_assert(one_partner_a_step(Algorithm::bruck) && !one_partner_a_step(Algorithm::ring));
static_assert(uses_all_links(Algorithm::torus_bucket) && !uses_all_links(Algorithm::tree));
static_assert(exchanges_at_once(Algorithm::hierarchical, Collective::all_to_all) &&
              !exchanges_at_once(Algorithm::hierarchical, Collective::all_to_all, 0) &&
              !exchanges_at_once(Algorithm::hierarchical, Collective::all_reduce));

TEST_CASE("every algorithm has a name of its own that is read back", "[algorithms]") {
  std::set<std::string> seen;
  for (int i = 0; i < algorithm_count; ++i) {
    const auto algorithm = static_cast<Algorithm>(i);
    const std::string text{name(algorithm)};
    INFO(text);
    CHECK(!text.empty());
    CHECK(text.size() <= Label::capacity);
    CHECK(seen.insert(fabricost::core::folded(text)).second);
    CHECK(parse_algorithm(text) == algorithm);
    CHECK(fabricost::core::folded(text) ==
          fabricost::core::folded(with_algorithm(algorithm, [](auto a) { return a.name; })));
  }
}

TEST_CASE("names are read in any case, with a second name where there is one", "[algorithms]") {
  CHECK(parse_algorithm("Recursive-Doubling") == Algorithm::recursive_doubling);
  CHECK(parse_algorithm("SHARP") == Algorithm::collnet_chain);
  CHECK(parse_algorithm("NVLSTree") == Algorithm::nvls_tree);
  CHECK(!parse_algorithm("rign"));
  CHECK(!parse_algorithm(""));
}
