/// \file main.cpp
/// Prints docs/seed-tables.md: the table of contents of this example. Each table lives in the file named beside it in tables.hpp.

#include "page.hpp"

#include <fabricost/error.hpp>

#include <cstdio>
#include <exception>

int main() {
  using namespace seed_tables;
  try {
    const std::string out = page({
        {.title = "Levels of a machine", .tables = {dgx_h100_hierarchy(), b200_hierarchy(), ratios(), nvlink_against_pcie(), latencies()}},
        {.title = "Domains and switches", .tables = {domain_sizes(), aggregates(), switch_ports(), rack_against_node()}},
        {.title = "Links and ports", .tables = {nvlink_generations(), nvlink_lanes(), pcie_generations(), infiniband_ports(), ualink()}},
        {.title = "All-reduce",
         .tables = {ring_volume(), message_of_a_layer(), all_reduce_per_layer(1), all_reduce_per_layer(32), all_reduce_per_layer(256),
                    bus_bandwidth(), gradient_sync()}},
        {.title = "Tensor-parallel overhead",
         .tables = {tensor_messages(), decode_overhead(), decode_overhead_by_link(1), decode_overhead_by_link(32),
                    decode_overhead_by_link(256), large_model_step(), training_overhead()}},
        {.title = "Point to point", .tables = {pair_rates(), kv_offload()}},
        {.title = "Memory and strategy", .tables = {memory_fit(), strategies(), pipelining()}},
        {.title = "Money and scaling", .tables = {cost(), energy(), scaling_efficiency(), tails_and_failures()}},
        {.title = "Reading a topology", .tables = {}, .closing = topology_example()},
        {.title = "All claims", .tables = {}, .closing = claim_summary()},
    });
    return std::fwrite(out.data(), 1, out.size(), stdout) == out.size() ? 0 : 1;
  } catch (const std::exception& fault) {
    std::fprintf(stderr, "seed_tables: %s\n", fault.what());
    return 2;
  }
}
