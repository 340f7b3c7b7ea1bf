/// \file test_page.cpp
/// The page itself: every row complete, claims counted once, verdicts and numbers as they are written, the topology of the texts.

#include "catch.hpp"
#include "seed_tables/claims.hpp"
#include "seed_tables/page.hpp"
#include "seed_tables/specs.hpp"
#include "seed_tables/tables.hpp"
#include "seed_tables/topology.hpp"

#include <cmath>
#include <set>
#include <string>
#include <vector>

using namespace seed_tables;

namespace {

/// Every table of the page.
std::vector<Table> all_tables() {
  return {dgx_h100_hierarchy(),
          b200_hierarchy(),
          ratios(),
          nvlink_against_pcie(),
          latencies(),
          domain_sizes(),
          aggregates(),
          switch_ports(),
          rack_against_node(),
          nvlink_generations(),
          nvlink_lanes(),
          pcie_generations(),
          infiniband_ports(),
          ualink(),
          ring_volume(),
          message_of_a_layer(),
          gradient_sync(),
          bus_bandwidth(),
          all_reduce_per_layer(1),
          all_reduce_per_layer(32),
          tensor_messages(),
          decode_overhead(),
          decode_overhead_by_link(1),
          decode_overhead_by_link(32),
          decode_overhead_by_link(256),
          large_model_step(),
          training_overhead(),
          pair_rates(),
          all_reduce_per_layer(256),
          kv_offload(),
          memory_fit(),
          strategies(),
          pipelining(),
          cost(),
          energy(),
          scaling_efficiency(),
          tails_and_failures()};
}

}  // namespace

TEST_CASE("the topology example contradicts itself at GPUs 0, 1 and 2") {
  const auto found = contradiction(matrix_of_the_text());
  REQUIRE(found);
  CHECK(found->a == 0);
  CHECK(found->b == 1);
  CHECK(found->c == 2);
  using enum Meeting;
  CHECK_FALSE(contradiction({{same, pix, sys, sys}, {pix, same, sys, sys}, {sys, sys, same, pix}, {sys, sys, pix, same}}));
  CHECK_FALSE(contradiction({{same, pix, phb}, {pix, same, phb}, {phb, phb, same}}));
  CHECK(contradiction({{same, pix, phb}, {pix, same, pix}, {phb, pix, same}}));
}

TEST_CASE("claims are counted once") {
  const ClaimCount topics = sum(claims_by_topic()), texts = sum(claims_by_text());
  // 310 claims: 142 right, 84 misleading, 69 wrong, 15 that cannot be verified
  CHECK(topics.all() == 310);
  CHECK(topics.right == 142);
  CHECK(topics.misleading == 84);
  CHECK(topics.wrong == 69);
  CHECK(topics.unverifiable == 15);
  CHECK(texts.right == topics.right);
  CHECK(texts.misleading == topics.misleading);
  CHECK(texts.wrong == topics.wrong);
  CHECK(texts.unverifiable == topics.unverifiable);
}

TEST_CASE("every row is complete and every label is its own") {
  std::set<std::string> titles;
  for (const Table& table : all_tables()) {
    INFO(table.title);
    CHECK(titles.insert(table.title).second);
    CHECK_FALSE(table.about.empty());
    std::set<std::string> labels;
    for (const Row& row : table.rows) {
      INFO(row.label);
      CHECK(labels.insert(row.label).second);
      CHECK_FALSE(row.said.empty());
      CHECK_FALSE(row.shown.empty());
      CHECK(row.beside.size() == table.beside.size());
      CHECK(((row.said == "-") == (row.verdict == Verdict::added)));
      CHECK((row.ours.text() != "-" || row.verdict == Verdict::unverifiable || !row.beside.empty()));
    }
    CHECK_NOTHROW(markdown(table));
  }
}

TEST_CASE("judging compares in the text's own counting") {
  CHECK(judge(900, 900, 2 * 450) == Verdict::reproduced);
  CHECK(judge(64, 64, 126) == Verdict::corrected);
  CHECK(judge(270, 290, 276) == Verdict::reproduced);
  CHECK(judge(100, 100, 103) == Verdict::reproduced);
  CHECK(judge(100, 100, 104) == Verdict::corrected);
  CHECK(judge(1, 1, std::nan("")) == Verdict::corrected);
}

TEST_CASE("numbers read well") {
  CHECK(text(11796.48, 0) == "11,796");
  CHECK(text(1769472) == "1,769,472");
  CHECK(text(63.0154) == "63.0");
  CHECK(text(450) == "450");
  CHECK(text(0.06372) == "0.0637");
  CHECK(text(-1234.5, 1) == "-1,234.5");
  CHECK(text(0) == "0");
  CHECK(Figure{.value = 7.142, .unit = "x", .decimals = 1}.text() == "7.1x");
  CHECK(Figure{.value = 17, .unit = "us", .low = 16.2, .high = 17.8}.text() == "17 us (16.2 to 17.8)");
  CHECK(Figure{}.text() == "-");
}
