/// Serving stacks on GPUs that no run of theirs was measured on.

#include <fabricost/error.hpp>
#include <fabricost/parameters/interval.hpp>
#include <fabricost/plan/serving/certainty.hpp>
#include <fabricost/plan/specs/serving.hpp>

#include <catch.hpp>

#include <algorithm>
#include <cmath>

using namespace fabricost::plan;

TEST_CASE("a stack without measurements has what all stacks have in common, which lies between them, and wider intervals") {
  ServingTable table = load_serving_table();
  ServingStack fresh = table.described("trtllm");
  fresh.name = "trtllm-9";
  table.stacks.push_back(fresh);
  const ServingStack stack = table.stack("trtllm-9", Generation::blackwell);
  for (double ServingStack::*const of : {&ServingStack::stretch, &ServingStack::starts, &ServingStack::first}) {
    double min = 1e9, max = 0;
    for (const auto& [name, generations] : table.fitted)
      for (const auto& [g, set] : generations) min = std::min(min, set.stack.*of), max = std::max(max, set.stack.*of);
    CHECK(stack.*of > min);
    CHECK(stack.*of < max);
  }
  CHECK(stack.spread_tpot > table.common.spread_tpot);
  CHECK_THROWS_AS(table.stack("nothing", Generation::hopper), RequestError);
}

TEST_CASE("a generation without measurements gets the mean of those with them, and wider intervals") {
  const ServingTable table = load_serving_table();
  const ServingConstants seen = table.constants(Generation::hopper), unseen = table.constants(Generation::cdna3);
  CHECK(unseen.kv > 0.9 * seen.kv);
  CHECK(unseen.kv < 1.1 * seen.kv);
  double widest = 0;
  for (const Generation g : {Generation::hopper, Generation::blackwell}) widest = std::max(widest, table.stack("vllm", g).spread_tpot);
  const ServingStack cdna = table.stack("vllm", Generation::cdna3), ampere = table.stack("vllm", Generation::ampere);
  CHECK(cdna.spread_tpot > 0.99 * table.stack("vllm", Generation::blackwell).spread_tpot);
  // without the effect of its assumed kernels
  CHECK(std::sqrt(cdna.spread_tpot * cdna.spread_tpot - assumed_kernels_spread * assumed_kernels_spread) < 1.4 * widest);
  CHECK(cdna.assumed_kernels);
  CHECK_FALSE(ampere.assumed_kernels);
}

TEST_CASE("what no run of a stack had widens its intervals, by what runs are off that a fit left out") {
  const ServingTable table = load_serving_table();
  const ServingStack stack = table.stack("trtllm-mtp", Generation::blackwell, "b200-sxm");  // all of its runs served DeepSeek, not apart
  CHECK(stack.spread_ttft == table.stack("trtllm-mtp", Generation::blackwell).spread_ttft);
  const AskedSpread own = spread_of(stack, {.model = "deepseek-v3"}), other = spread_of(stack, {.model = "llama3-70b", .apart = true});
  CHECK(own.extrapolated.empty());
  CHECK(own.spread.ttft == Approx(stack.spread_ttft));
  CHECK(other.extrapolated == std::vector<std::string>{"model", "disaggregation"});
  CHECK(other.spread.ttft == Approx(std::hypot(stack.spread_ttft, table.unseen.model.ttft, table.unseen.apart.ttft)));
  CHECK(other.spread.tpot == Approx(std::hypot(stack.spread_tpot, table.unseen.model.tpot, table.unseen.apart.tpot)));
  CHECK(table.stack("trtllm-mtp", Generation::blackwell, "b300-sxm").spread_ttft ==
        Approx(std::hypot(stack.spread_ttft, table.unseen.gpu.ttft)));
  CHECK(table.stack("trtllm-mtp", Generation::hopper, "h200-sxm").spread_ttft ==
        Approx(std::hypot(stack.spread_ttft, table.unseen.generation.ttft)));
  CHECK(spread_of(stack, {.model = "deepseek-v3", .answer = 4 * stack.measured.answer}).spread.tpot ==
        Approx(std::hypot(stack.spread_tpot, 2 * beyond_spread)));
}
