/// \file test_figures.cpp
/// Figures quoted beside a log: a difference between two of them is the cause.

#include "catch.hpp"
#include "unit/diagnose/logs.hpp"
#include "diagnose/quoted.hpp"

using namespace fabricost::observe;

namespace {

std::vector<diagnosis::Quoted> quoted(const std::string& text) {
  const TemporaryLog log(text);
  return diagnosis::quoted_figures(log.path());
}

}  // namespace

TEST_CASE("bits are divided by eight, ranges and tildes read, versions are no figures") {
  const auto q = quoted("# NCCL 2.30.1: 80 Gb/s; NCCL 2.31.2: ~9.5 GB/s; ring 11-12 GB/s\n");
  REQUIRE(q.size() == 3);
  CHECK(q[0].rate == Approx(10e9));
  CHECK(q[0].version == "2.30.1");
  CHECK(q[1].rate == Approx(9.5e9));
  CHECK(q[2].rate == Approx(11e9));
  CHECK(q[2].algorithm == "ring");
}

TEST_CASE("a newer version that is slower is a fault of the version, an older one is not") {
  CHECK(names(diagnosed("# NCCL 2.30.1: 200 GB/s busbw\n# NCCL 2.31.2: 90 GB/s busbw\n"), Cause::bug_in_version));
  CHECK_FALSE(names(diagnosed("# NCCL 2.30.1: 90 GB/s busbw\n# NCCL 2.31.2: 200 GB/s busbw\n"), Cause::bug_in_version));
  CHECK(diagnosed("# NCCL 2.30.1: 200 GB/s busbw\n# NCCL 2.31.2: 195 GB/s busbw\n").fine());
}

TEST_CASE("a variable that mends a run says what was wrong") {
  const auto with = [](const std::string& variable) { return diagnosed("# busbw 50 GB/s; with " + variable + " 90 GB/s\n"); };
  CHECK(names(with("NCCL_NET_GDR_LEVEL=SYS"), Cause::gdr_off));
  CHECK(names(with("NCCL_MIN_NCHANNELS=32"), Cause::few_channels));
  CHECK(names(with("NCCL_ALGO=Tree"), Cause::algorithm_choice));
  CHECK(names(with("NCCL_TOPO_FILE=/x.xml"), Cause::container_vm_topology));
  // a variable that changes nothing, or makes it worse, was a test
  CHECK(diagnosed("# busbw 90 GB/s; with NCCL_ALGO=Tree 91 GB/s\n").fine());
}

TEST_CASE("the default that loses to another algorithm is a choice, a tree above the ring is none") {
  CHECK(names(diagnosed("# all_reduce default(ring) 40 GB/s; tree 55 GB/s\n"), Cause::algorithm_choice));
  const Diagnosis d = diagnosed("# 2 nodes all_reduce busbw: default 21 GB/s, ring 12 GB/s\n");
  INFO(causes_of(d));
  CHECK(d.fine());
  CHECK(names(d, Cause::expected_value_wrong));
}

TEST_CASE("a node in every slow pair is a straggler, slow pairs of nodes fast elsewhere are the network") {
  CHECK(names(diagnosed("# busbw GB/s by pair\n# n01,n02 20.1\n# n01,n03 41\n# n03,n04 41.2\n# n02,n04 20.4\n"), Cause::stragglers));
  const Diagnosis network = diagnosed("# busbw GB/s by pair\n# n01,n02 20.1\n# n01,n03 41\n# n02,n04 41.2\n# n03,n04 20.4\n");
  CHECK(network.causes.front().cause == Cause::oversubscription);
}

TEST_CASE("bandwidth that falls with every node is the network's, a step after two nodes the tree's") {
  CHECK(names(diagnosed("# all_reduce busbw: 2 nodes 90, 4 nodes 60, 8 nodes 30 GB/s\n"), Cause::oversubscription));
  const Diagnosis step = diagnosed("# all_reduce busbw: 2 nodes 90 GB/s, 4 nodes 60 GB/s\n");
  CHECK(step.fine());
  CHECK(names(step, Cause::expected_value_wrong));
}

TEST_CASE("a wire that carries what NCCL does not points at the way to the GPU, over a bond at its members") {
  CHECK(names(diagnosed("# ib_write_bw: 390 Gb/s ; all_reduce_perf: 100 Gb/s\n"), Cause::gdr_off));
  CHECK(names(diagnosed("# ib_write_bw -d mlx5_bond_0 : 390 Gb/s ; all_reduce_perf: 200 Gb/s\n"), Cause::half_rate_link));
  CHECK(diagnosed("# ib_write_bw: 390 Gb/s ; all_reduce_perf: 380 Gb/s\n").fine());
}

TEST_CASE("rare calls a hundred times longer are timeouts, even times are not") {
  CHECK(names(diagnosed("# all_reduce\n1MB took 500 us\n1MB took 510 us\n1MB took 60000 us\n1MB took 505 us\n1MB took 498 us\n"),
              Cause::roce_untuned));
  CHECK(
      diagnosed("# all_reduce bandwidth\n1MB took 500 us, 2 GB/s bandwidth\n1MB took 510 us\n1MB took 600 us\n1MB took 505 us\n").fine());
}

TEST_CASE("what is said once holds for the whole line, and two values of one variable are an experiment") {
  CHECK(names(diagnosed("# 16 nodes: default 22 GB/s, NCCL_NCHANNELS_PER_NET_PEER=4 41 GB/s\n"), Cause::few_channels));
  CHECK(names(diagnosed("# NCCL_NVLS_ENABLE=0 362 GB/s, NCCL_NVLS_ENABLE=1 478 GB/s\n"), Cause::nvls_off));
  CHECK(names(diagnosed("# all_reduce 1 MB: NCCL_PROTO=LL128 38 us, default 61 us\n"), Cause::ll128_off));
}

TEST_CASE("across leaves, and without one node") {
  CHECK(names(diagnosed("# all_reduce busbw: same leaf 390 GB/s, across spine 210 GB/s\n"), Cause::oversubscription));
  CHECK(diagnosed("# all_reduce busbw: same leaf 390 GB/s, across spine 380 GB/s\n").fine());
  CHECK(names(diagnosed("# all_reduce 8 nodes 180 GB/s, without gpu17 340 GB/s\n"), Cause::stragglers));
}
