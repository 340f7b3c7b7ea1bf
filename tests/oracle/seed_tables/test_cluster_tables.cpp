/// \file test_cluster_tables.cpp
/// Tables about running a cluster: memory, costs of strategies, money and power, failures, scaling, a rack against nodes.

#include "figures.hpp"

using namespace seed_tables;

TEST_CASE("what fits") {
  const Table t = memory_fit();
  CHECK(ours(t, "8 H100s hold") == 640);
  CHECK(ours(t, "NVL72 holds") == within(13.4, 0.001));  // reference: 13,824 raw, about 13,400 usable
  CHECK(ours(t, "5T parameters in FP8, H100s needed") == 63);
  CHECK(ours(t, "1.8T parameters in FP4, GPUs needed") == 6);
  CHECK(ours(t, "training 70B, GPU state in all") == within(1.12, 1e-9));
  CHECK(ours(t, "KV cache per token and layer") == 4);
  CHECK(ours(t, "KV cache of 128k tokens, one layer") == 0.5);
}

TEST_CASE("strategies have prices, not bans") {
  const Table t = strategies();
  for (const Row& row : t.rows) {
    INFO(row.label);
    CHECK(row.ours.value > 1);
    CHECK(row.ours.value < 20);
  }
  CHECK(ours(t, "experts: one all-to-all") == within(8.0, 0.15));  // reference: bandwidth only, 8.0
  CHECK(ours(pipelining(), "idle share, 8 stages, 32 microbatches") == within(17.9, 0.003));
  CHECK(ours(pipelining(), "handing on one microbatch of 8,192 tokens") == within(3.2, 0.10));  // reference: bandwidth only, 2.7; NCCL gives a peer two channels
}

TEST_CASE("money") {
  const Table t = cost();
  CHECK(ours(t, "1 % of the GPUs") == within(163.84, 1e-9));
  CHECK(ours(t, "1 % overhead, a day") == within(11796.48, 1e-9));  // reference: 163.84 x 72
  CHECK(ours(t, "5 % overhead, 30 days") == within(1769472, 1e-9));
  CHECK(ours(t, "a 10M USD upgrade that saves 5 % is paid back in") == within(5.65, 0.002));
  CHECK(verdict(t, "1 % overhead, a day") == Verdict::corrected);
  CHECK(verdict(t, "5 % overhead, 30 days") == Verdict::corrected);
}

TEST_CASE("power, from ratings") {
  const Table t = energy();
  CHECK(ours(t, "NVL72, rated") == within(120, 1e-9));
  CHECK(ours(t, "weight of a rack") == within(1361, 0.001));
  CHECK(ours(t, "8 H100s, drawn under load") == within(8.4, 0.01));  // reference: arXiv 2412.08602
  CHECK(verdict(t, "a rack over as many H100s with InfiniBand") == Verdict::qualified);
}

TEST_CASE("tails and failures") {
  const Table t = tails_and_failures();
  CHECK(ours(t, "steps with somebody late, 64 ranks, each in 1 % of steps") == within(47.4, 0.001));
  CHECK(ours(t, "steps with somebody late, 1,000 ranks, each in 1 % of steps") == within(99.996, 1e-5));
  CHECK(ours(t, "a training step, 70B on 1,024 GPUs") == within(4.3, 0.01));
  CHECK(ours(t, "mean time between failures, 16,384 H100s") == within(3.09, 0.002));
  CHECK(ours(t, "Meta's two clusters") == 24576);
  CHECK(ours(t, "InfiniBand tiers above 8 H100s") == 0);
  CHECK(ours(t, "time that counts, checkpoints in the background") > 90);
}

TEST_CASE("scaling") {
  const Table t = scaling_efficiency();
  CHECK(t.row("8 GPUs 6-7 times as fast").ours.low == 75);
  CHECK(t.row("8 GPUs 6-7 times as fast").ours.high == 87.5);
  CHECK(t.row("8 GPUs 3-4 times as fast").ours.low == 37.5);
  CHECK(ours(t, "compute 85, communication 12, overhead 3") == within(87.6, 0.001));
  CHECK(ours(t, "compute 45, communication 50, overhead 5") == within(47.4, 0.001));
  CHECK(ours(t, "network share of Llama 3's failures") == within(8.4, 0.01));
}

TEST_CASE("rack against node") {
  const Table t = rack_against_node();
  CHECK(ours(t, "power of a node, H100") == within(10.2, 1e-9));
  CHECK(ours(t, "power of a node, B200") == within(14.3, 1e-9));
  CHECK(ours(t, "power of a rack") >= 120);
  CHECK(ours(t, "power of a rack") <= 132);
  CHECK(ours(t, "FP4 of a rack, dense") == within(0.72, 1e-9));
  CHECK(ours(t, "rack bisection over that of 72 H100s on NICs") == within(18, 1e-9));  // reference: 32.4 / 1.8
}
