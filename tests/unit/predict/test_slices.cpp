/// Jobs on pods whose chips their own links join: a slice of its own torus, whose axes Google's pages list, and the closed forms on it.

#include <fabricost/fabricost.hpp>
#include <fabricost/hardware/design_parameters.hpp>
#include <fabricost/plan/specs/load_model.hpp>
#include <fabricost/plan/training/figures.hpp>
#include <fabricost/plan/training/plan.hpp>
#include <fabricost/predict/fabric_of.hpp>
#include <fabricost/specs/load.hpp>

#include "catch.hpp"

using namespace fabricost::plan;

namespace {
std::vector<int> axes_of(const System& system) { return system.tier(TierRole::scale_up)->dims; }
Operation all_gather(int ranks, double bytes) { return AllGather{.bytes = Bytes::from_value(bytes), .ranks = ranks}; }
}  // namespace

TEST_CASE("slices have the topologies that Google's pages list", "[predict]") {
  const System v5p = load_system("tpu-v5p-cube"), v6e = load_system("tpu-v6e-pod");
  CHECK(axes_of(slice_for(v5p, 8)) == std::vector{2, 2, 2});
  CHECK(axes_of(slice_for(v5p, 32)) == std::vector{2, 4, 4});
  CHECK(axes_of(slice_for(v5p, 128)) == std::vector{4, 4, 8});
  CHECK(axes_of(slice_for(v5p, 512)) == std::vector{8, 8, 8});
  CHECK(axes_of(slice_for(v5p, 1024)) == std::vector{8, 8, 16});
  CHECK(axes_of(slice_for(v5p, 6144)) == std::vector{16, 16, 24});
  CHECK(axes_of(slice_for(v6e, 32)) == std::vector{4, 8});
  CHECK(axes_of(slice_for(v6e, 128)) == std::vector{8, 16});
  CHECK(axes_of(slice_for(v6e, 256)) == std::vector{16, 16});
}

TEST_CASE("a slice closes its axes where optical switches or the whole pod do", "[predict]") {
  const auto closed = [](const System& s) {
    const Tier& t = *s.tier(TierRole::scale_up);
    bool all = true;
    for (std::size_t i = 0; i < t.dims.size(); ++i) all = all && t.closes(i);
    return all;
  };
  const System v5p = load_system("tpu-v5p-cube"), v6e = load_system("tpu-v6e-pod");
  CHECK(closed(slice_for(v5p, 512)));
  CHECK_FALSE(closed(slice_for(v5p, 32)));
  CHECK_FALSE(closed(slice_for(v6e, 128)));
  CHECK(closed(slice_for(v6e, 256)));
}

TEST_CASE("of two axes one closes that is as long as the pod's", "[predict]") {
  for (const char* name : {"tpu-v5e-pod", "tpu-v6e-pod"}) {
    const System pod = load_system(name), half = slice_for(pod, 128);
    const Tier& t = *half.tier(TierRole::scale_up);
    CHECK(t.dims == std::vector{8, 16});
    CHECK_FALSE(t.closes(0));
    CHECK(t.closes(1));
    CHECK_FALSE(slice_for(pod, 64).tier(TierRole::scale_up)->closes(1));
    // the fullest cut of an exchange: half of the chips send half of what they have over it, and it has 16 links either way
    const double bytes = 1e9, links = bisection_of(half, t).value();
    CHECK(links == Approx(16 * t.link_bandwidth.value()));
    const double exchanged = predict(half, AllToAll{.bytes = Bytes::from_value(bytes), .ranks = 128}).seconds;
    CHECK(exchanged > 128 / 2 * bytes / 2 / links);
    CHECK(exchanged < 1.3 * 128 / 2 * bytes / 2 / links);  // of the links a share is reached
    CHECK(predict(pod, AllToAll{.bytes = Bytes::from_value(bytes), .ranks = 128}).seconds == exchanged);
  }
}

TEST_CASE("a slice of 2 x 2 is half of a host of eight chips", "[predict]") {
  for (const char* name : {"tpu-v5e-pod", "tpu-v6e-pod"}) {
    const System pod = load_system(name);
    CHECK(axes_of(slice_for(pod, 4)) == std::vector{2, 2});
    CHECK(slice_for(pod, 4).nodes == 1);
    const Prediction four = predict(pod, all_gather(4, 1e9)), eight = predict(pod, all_gather(8, 1e9));
    CHECK(four.nodes == 1);
    CHECK(four.seconds < eight.seconds);
    CHECK(four.seconds > 3.0 / 4 * 1e9 / (2 * pod.tier(TierRole::scale_up)->link_bandwidth.value()));  // two links leave a corner
  }
}

TEST_CASE("what a pod cannot hold crosses its network in equal slices", "[predict]") {
  const System v6e = slice_for(load_system("tpu-v6e-pod"), 1024);
  CHECK(v6e.domain == 256);
  CHECK(levels_of(v6e, 1024, 0).count == 2);
  const System v5p = slice_for(load_system("tpu-v5p-cube"), 8192);
  CHECK(v5p.domain == 4096);
}

TEST_CASE("a count that is no slice runs on the smallest that holds it", "[predict]") {
  const System v5p = load_system("tpu-v5p-cube"), v6e = load_system("tpu-v6e-pod");
  CHECK(slice_for(v5p, 48).domain == 64);
  CHECK(axes_of(slice_for(v5p, 96)) == std::vector{4, 4, 8});
  CHECK(axes_of(slice_for(v5p, 12)) == std::vector{2, 2, 4});
  CHECK(axes_of(slice_for(v6e, 96)) == std::vector{8, 16});
  CHECK(slice_for(v6e, 37 * 8).domain == 256);  // two pods, not 37 hosts
  CHECK(levels_of(slice_for(v6e, 37 * 8), 37 * 8, 0).sizes[1] == 2);
}

TEST_CASE("machines without pods, jobs inside a host and no count stay as described", "[predict]") {
  CHECK(slice_for(load_system("dgx-h100"), 64).domain == 8);
  CHECK(slice_for(load_system("tpu-v5p-cube"), 0).domain == 64);
  CHECK(slice_for(load_system("tpu-v5p-cube"), 2).domain == 64);
  CHECK(slice_for(load_system("tpu-v6e-pod"), 2).domain == 256);
}

TEST_CASE("a slice has no slices: its groups lie inside it", "[predict]") {
  const System slice = slice_for(load_system("tpu-v5p-cube"), 512);
  CHECK(slice.pod == 0);
  CHECK(axes_of(slice_for(slice, 64)) == axes_of(slice));
  CHECK(fabric_of(slice, all_gather(64, 1e9)).torus_axes == 2);
  CHECK(fabric_of(load_system("tpu-v5p-cube"), all_gather(64, 1e9)).torus_axes == 3);
}

TEST_CASE("whole pods have the bisection that Google's pages state", "[predict]") {
  struct Stated {
    const char* system;
    int chips;
    double bytes_per_second;  // https://docs.cloud.google.com/tpu/docs/{v4,v5e,v6e}, of links at their nominal rate
  };
  for (const auto& [name, chips, stated] :
       {Stated{"tpu-v4-cube", 4096, 24e12}, {"tpu-v5e-pod", 256, 1.6e12}, {"tpu-v6e-pod", 256, 3.2e12}}) {
    CAPTURE(name);
    const System pod = slice_for(load_system(name), chips);
    CHECK(pod.domain == chips);
    const double ours = bisection_of(pod, *pod.tier(TierRole::scale_up)).value();
    CHECK(ours <= stated * 1.07);
    CHECK(ours >= stated * 0.89);  // 45 of a link's nominal 50 GB/s are reached, 90 of 100
  }
}

TEST_CASE("every count has a sound slice on every machine with pods", "[predict]") {
  for (const char* name : {"tpu-v4-cube", "tpu-v5e-pod", "tpu-v5p-cube", "tpu-v6e-pod", "tpu-v7-cube", "tpu-8t-cube"}) {
    const System whole = load_system(name);
    REQUIRE(whole.pod > 0);
    for (int chips = 1; chips < 3 * whole.pod; chips += chips < 70 ? 1 : chips / 7) {
      CAPTURE(name, chips);
      const System slice = slice_for(whole, chips);
      CHECK_NOTHROW(check(slice));
      CHECK(slice.domain <= std::max(whole.pod, whole.domain));
      const double slices = std::ceil(static_cast<double>(chips) / slice.domain);
      CHECK(slices <= 2 * std::ceil(static_cast<double>(chips) / whole.pod));
    }
  }
}

TEST_CASE("512 chips of TPU v5p gather over all links of a torus, not over the data-centre network", "[predict]") {
  const System v5p = load_system("tpu-v5p-cube");
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
  const System slice = slice_for(load_system("tpu-v5p-cube"), 512);
  const Fabric plane = fabric_on(slice, all_gather(64, 1e9), Levels{64}), all = fabric_on(slice, all_gather(512, 1e9), Levels{512});
  CHECK(plane.torus_axes == 2);
  CHECK(plane.full_rate == Approx(all.full_rate * 2 / 3));
  CHECK(fabric_on(slice, all_gather(8, 1e9), Levels{8}).torus_axes == 1);
  CHECK(fabric_on(slice, all_gather(24, 1e9), Levels{24}).torus_axes == 0);
}

TEST_CASE("an exchange runs on parts of axes, in lines, no faster than on whole ones of as many chips and no slower than on longer parts", "[predict]") {
  const System slice = slice_for(load_system("tpu-v7-cube"), 2048);  // 8 x 16 x 16
  const auto at = [&](int n) { return fabric_on(slice, {.collective = Collective::all_to_all, .ranks = n}, Levels{n}); };
  const Fabric part = at(16);
  CHECK(part.torus_axes == 3);
  CHECK(part.open_axes == 7);
  CHECK(part.torus == std::array{2, 2, 4});
  CHECK(at(128).torus == std::array{8, 16, 0});  // whole axes where there are two
  CHECK(at(128).open_axes == 0);
  CHECK(at(24).torus_axes == 0);
  const auto seconds = [&](const System& on, int n) {
    return compile(on, AllToAll{.ranks = n}).seconds(64e6);
  };
  const System cube = slice_for(load_system("tpu-v7-cube"), 64);  // 4 x 4 x 4, closed
  CHECK(seconds(cube, 16) <= seconds(slice, 16));
  for (int n = 4; n <= 64; n *= 2) CHECK(seconds(slice, n) <= seconds(slice, 2 * n));
}

TEST_CASE("more chips never gather the same bytes faster than the links of one let in", "[predict]") {
  const System v5p = load_system("tpu-v5p-cube");
  for (int chips = 64; chips <= 6144; chips *= 2) {
    const Operation op = all_gather(chips, 1e9);
    CHECK(predict(v5p, op).time().value() * fabric_of(v5p, op).full_rate > (chips - 1.0) / chips * 1e9);
  }
}

TEST_CASE("a larger pod never gathers, reduces or exchanges slower", "[predict]") {
  System pod = load_system("tpu-v5p-cube");
  for (const int chips : {64, 128, 512, 1024, 4096}) {
    double before = std::numeric_limits<double>::infinity();
    for (const int size : {64, 512, 6144}) {
      pod.pod = size;
      double now = 0;
      for (const Collective op : {Collective::all_gather, Collective::all_reduce, Collective::all_to_all})
        now += predict(pod, Operation{.collective = op, .bytes = Bytes::from_value(1e9), .ranks = chips}).time().value();
      CAPTURE(chips, size);
      CHECK(now <= before * 1.0000001);
      before = now;
    }
  }
}

TEST_CASE("a job of more chips trains the same batch no slower, and slower than its products take", "[predict][plan]") {
  TrainingQuestion q;
  q.model = load_model("llama3-8b");
  q.global_batch = 512;
  q.sequence = 4096;
  const System v5p = load_system("tpu-v5p-cube");
  double before = std::numeric_limits<double>::infinity();
  for (const int chips : {32, 64, 128, 256, 512}) {
    q.gpus = chips;
    const double now = plan_training(v5p, q).layouts.front().time.seconds;
    CAPTURE(chips, now, before);
    CHECK(now <= before);
    CHECK(now > step_work(q).min_seconds(chips, Processor::of(v5p).peak(q.precision)));
    CHECK(now == plan_training(slice_for(v5p, chips), q).layouts.front().time.seconds);
    before = now;
  }
}

TEST_CASE("a pod is refused where it cannot be one", "[predict][specs]") {
  CHECK_THROWS_AS(load_system("tpu-v5p-cube", std::vector<std::string>{"pod=100"}), SpecError);
  CHECK_THROWS_AS(load_system("dgx-h100", std::vector<std::string>{"pod=64"}), SpecError);
  CHECK(with_parameter(load_system("tpu-v5e-pod"), DesignParameter::arithmetic, 2).pod == 256);
}

TEST_CASE("a job of as many chips as the file describes has the torus that it describes", "[predict]") {
  System own = load_system("tpu-v5p-cube");
  own.domain = 48;
  for (Tier& tier : own.tiers)
    if (tier.role == TierRole::scale_up) {
      tier.endpoints = 48;
      tier.dims = {3, 4, 4};
    }
  CHECK(axes_of(slice_for(own, 48)) == std::vector{3, 4, 4});
  CHECK(axes_of(slice_for(own, 96)) == std::vector{4, 4, 8});
}

TEST_CASE("an exchange on a torus of one axis runs on its parts, others are refused with those", "[predict]") {
  System own = load_system("tpu-v5p-cube");
  own.domain = own.gpus_per_node = 4;
  own.pod = 0;
  for (Tier& tier : own.tiers)
    if (tier.role == TierRole::scale_up) {
      tier.endpoints = 4;
      tier.dims = {4};
    }
  CHECK(predict(own, AllToAll{.bytes = units::MiB(1), .ranks = 4}).seconds > 0);
  CHECK_THROWS_WITH(predict(own, AllToAll{.bytes = units::MiB(1), .ranks = 3}), Catch::Contains("3 ranks are no block of 4") && Catch::Contains("take 2 or 4"));
  CHECK(predict(own, AllToAll{.bytes = units::MiB(1), .ranks = 2}).seconds > 0);
}
