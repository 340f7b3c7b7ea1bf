/// \file test_slices.cpp
/// Jobs on pods whose chips their own links join: a slice of its own torus, whose axes Google's pages list, and the closed forms on it.

#include <fabricost/fabricost.hpp>
#include <fabricost/specs/load.hpp>

#include "catch.hpp"

using namespace fabricost;

namespace {
System machine(const char* name, int pod) {
  System out = load_system(name);
  out.pod = pod;
  return out;
}
std::vector<int> axes_of(const System& system) { return system.tier(TierRole::scale_up)->dims; }
Operation all_gather(int ranks, double bytes) { return AllGather{.bytes = Bytes::from_value(bytes), .ranks = ranks}; }
}  // namespace

TEST_CASE("slices have the topologies that Google's pages list", "[predict]") {
  const System v5p = machine("tpu-v5p-cube", 6144), v6e = machine("tpu-v6e-pod", 256);
  CHECK(axes_of(sliced(v5p, 8)) == std::vector{2, 2, 2});
  CHECK(axes_of(sliced(v5p, 32)) == std::vector{2, 4, 4});
  CHECK(axes_of(sliced(v5p, 128)) == std::vector{4, 4, 8});
  CHECK(axes_of(sliced(v5p, 512)) == std::vector{8, 8, 8});
  CHECK(axes_of(sliced(v5p, 1024)) == std::vector{8, 8, 16});
  CHECK(axes_of(sliced(v5p, 6144)) == std::vector{16, 16, 24});
  CHECK(axes_of(sliced(v6e, 32)) == std::vector{4, 8});
  CHECK(axes_of(sliced(v6e, 128)) == std::vector{8, 16});
  CHECK(axes_of(sliced(v6e, 256)) == std::vector{16, 16});
}

TEST_CASE("a slice closes its axes where optical switches or the whole pod do", "[predict]") {
  const auto closed = [](const System& s) { return s.tier(TierRole::scale_up)->wrap; };
  const System v5p = machine("tpu-v5p-cube", 6144), v6e = machine("tpu-v6e-pod", 256);
  CHECK(closed(sliced(v5p, 512)));
  CHECK_FALSE(closed(sliced(v5p, 32)));
  CHECK_FALSE(closed(sliced(v6e, 128)));
  CHECK(closed(sliced(v6e, 256)));
}

TEST_CASE("what a pod cannot hold crosses its network in equal slices", "[predict]") {
  const System v6e = sliced(machine("tpu-v6e-pod", 256), 1024);
  CHECK(v6e.domain == 256);
  CHECK(levels_of(v6e, 1024, 0).count == 2);
  const System v5p = sliced(machine("tpu-v5p-cube", 6144), 8192);
  CHECK(v5p.domain == 4096);
}

TEST_CASE("a count that is no slice, and a machine without pods, stay as described", "[predict]") {
  const System v5p = machine("tpu-v5p-cube", 6144), h100 = load_system("dgx-h100");
  CHECK(sliced(v5p, 48).domain == v5p.domain);
  CHECK(sliced(h100, 64).domain == h100.domain);
}

TEST_CASE("512 chips of TPU v5p gather over all links of a torus, not over the data-centre network", "[predict]") {
  const System v5p = machine("tpu-v5p-cube", 6144);
  const Operation op = all_gather(512, 1e9);
  const Fabric f = fabric_of(v5p, op);
  CHECK(f.domains() == 1);
  CHECK(f.torus_axes == 3);
  const Prediction p = predict(v5p, op);
  CHECK(p.bottleneck().tier == "ici");
  // (n - 1) / n of the bytes over six links, and no faster
  CHECK(p.time().value() > 511.0 / 512 * 1e9 / f.full_rate);
  CHECK(p.time().value() < 3 * 1e9 / f.full_rate);
}

TEST_CASE("ranks that fill whole axes of a slice use the links of those axes", "[predict]") {
  const System slice = sliced(machine("tpu-v5p-cube", 6144), 512);
  const Fabric plane = fabric_on(slice, all_gather(64, 1e9), Levels{64}), all = fabric_on(slice, all_gather(512, 1e9), Levels{512});
  CHECK(plane.torus_axes == 2);
  CHECK(plane.full_rate == Approx(all.full_rate * 2 / 3));
  CHECK(fabric_on(slice, all_gather(8, 1e9), Levels{8}).torus_axes == 1);
  CHECK(fabric_on(slice, all_gather(24, 1e9), Levels{24}).torus_axes == 0);
}

TEST_CASE("more chips never gather the same bytes faster than the links of one let in", "[predict]") {
  const System v5p = machine("tpu-v5p-cube", 6144);
  for (int chips = 64; chips <= 6144; chips *= 2) {
    const Operation op = all_gather(chips, 1e9);
    CHECK(predict(v5p, op).time().value() * fabric_of(v5p, op).full_rate > (chips - 1.0) / chips * 1e9);
  }
}
