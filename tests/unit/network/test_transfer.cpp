// Storage into GPUs, weight loading, and loads and stores against RDMA: closed forms, and figures people measured.
#include <fabricost/plan/network/load_store.hpp>
#include <fabricost/plan/network/storage.hpp>

#include "catch.hpp"
#include "support/message_of.hpp"

#include <fabricost/specs/load.hpp>

#include <cstdio>

using namespace fabricost::plan;

namespace {
constexpr double gibi = 1024.0 * 1024 * 1024;
constexpr double fast = 1e15;  // storage that never binds
}  // namespace

TEST_CASE("DGX-2: host memory feeds 16 GPUs over four ports, direct storage over every GPU's own link") {
  const System s = load_system("dgx-2");
  const TransferTime bounce = storage_time(s, {.bytes = 1e12, .storage_rate = fast, .direct = false});
  const TransferTime direct = storage_time(s, {.bytes = 1e12, .storage_rate = fast});
  CHECK(bounce.bottleneck == "port to the host");
  CHECK(direct.bottleneck == "pcie");
  CHECK(direct.rate / bounce.rate == Approx(4));
  // NVIDIA: "limited to 50 GB/s", "nearly 200 GB/s" (developer.nvidia.com/blog/gpudirect-storage): what moved in practice, 87 % of the
  // links
  CHECK(50e9 / bounce.rate == Approx(0.87).margin(0.03));
  CHECK(200e9 / direct.rate == Approx(0.87).margin(0.03));
}

TEST_CASE("one L40S by GPUDirect Storage: within 2 % of what was measured; four behind a 400 GbE port within 6 %") {
  // gds-report.pages.dev: NFS over RDMA into L40S cards on PCIe 4, 26.4 GiB/s for one GPU, 43.4 GiB/s for four over ConnectX-7
  const System s = load_system("l40s-pcie");
  const double port = client_rate(load_link("ethernet-400"));
  const StorageRead one{.bytes = gibi, .storage_rate = port, .gpus = 1}, four{.bytes = gibi, .storage_rate = port, .gpus = 4};
  CHECK(storage_time(s, one).bottleneck == "pcie");
  CHECK(storage_time(s, one).rate / (26.4 * gibi) == Approx(1).margin(0.02));
  CHECK(storage_time(s, four).bottleneck == "storage");
  CHECK(storage_time(s, four).rate / (43.4 * gibi) == Approx(1).margin(0.06));
}

TEST_CASE("the slowest part sets the rate, the latency comes on top") {
  const System s = load_system("dgx-h100");
  const TransferTime slow = storage_time(s, {.bytes = 10e9, .storage_rate = 5e9, .latency = 1e-3});
  CHECK(slow.seconds == Approx(2.001));
  CHECK(slow.bottleneck == "storage");
  const TransferTime memory = storage_time(s, {.bytes = 10e9, .storage_rate = fast, .direct = false, .host_memory_rate = 300e9});
  CHECK(memory.bottleneck == "host memory");
  CHECK(memory.rate == Approx(150e9));
  // a direct read is never slower than a bounce, more GPUs never slower than fewer
  for (const std::string name : {"dgx-1-v100", "dgx-a100", "l40s-pcie", "gb200-nvl72", "dgx-b200"}) {
    const System any = load_system(name);
    double before = 0;
    for (int g = 1; g <= any.gpus_per_node; ++g) {
      const double direct = storage_time(any, {.bytes = 1e9, .storage_rate = fast, .gpus = g}).rate;
      CHECK(direct >= storage_time(any, {.bytes = 1e9, .storage_rate = fast, .gpus = g, .direct = false}).rate);
      CHECK(direct >= storage_time(any, {.bytes = 1e9, .storage_rate = fast, .gpus = g, .below_switch = false}).rate);
      CHECK(direct > before);
      before = direct;
    }
  }
}

TEST_CASE("weights: every node reads them all, its part, or its part and the rest from the others") {
  const System s = load_system("dgx-h100");
  const double weights = 810e9, client = client_rate(load_link("ethernet-100"));  // 405 B parameters of 2 bytes
  const StorageRead node{.storage_rate = client};
  const auto seconds = [&](WeightSharing sharing, int nodes, double store) {
    return weight_loading_time(s, {.bytes = weights, .nodes = nodes, .sharing = sharing, .store_rate = store, .node = node});
  };
  CHECK(seconds(WeightSharing::every_node, 16, 0).seconds == Approx(weights / client));
  CHECK(seconds(WeightSharing::by_part, 16, 0).seconds == Approx(weights / 16 / client));
  CHECK(seconds(WeightSharing::every_node, 16, 40e9).seconds == Approx(16 * weights / 40e9));
  CHECK(seconds(WeightSharing::every_node, 16, 40e9).bottleneck == "store");
  const TransferTime gathered = seconds(WeightSharing::gathered, 16, 0);
  CHECK(gathered.seconds > seconds(WeightSharing::by_part, 16, 0).seconds);
  CHECK(gathered.seconds < seconds(WeightSharing::every_node, 16, 0).seconds);
  // the gather moves 15/16 of an eighth of the weights through each 50 GB/s NIC, and reaches part of its rate
  const double gather = gathered.seconds - seconds(WeightSharing::by_part, 16, 0).seconds, wire = weights / 8 * 15 / 16 / 50e9;
  CHECK(gather > wire);
  CHECK(gather < 1.5 * wire);
  CHECK(seconds(WeightSharing::gathered, 1, 0).seconds == Approx(weights / client));
}

TEST_CASE("gathering the weights takes no less than the NICs of a node need for what it has not read") {
  for (const auto& [name, path] : system_names()) {
    const System s = load_system(name);
    const double nics = nics_rate(s);
    const int nodes = 2 * static_cast<int>(s.nodes_per_domain());  // in two domains
    if (s.pod > 0 || !(nics > 0) || host_tier(s) == nullptr ||
        !support::message_of([&] { check_size(s, nodes * s.gpus_per_node); }).empty())
      continue;
    double before = std::numeric_limits<double>::infinity();
    for (int gpus = 1; gpus <= s.gpus_per_node; ++gpus) {
      const double bytes = 1e12;
      const TransferTime t = weight_loading_time(
          s, {.bytes = bytes, .nodes = nodes, .sharing = WeightSharing::gathered, .node = {.storage_rate = fast, .gpus = gpus}});
      INFO(name << ", " << gpus << " GPUs of " << nodes << " nodes: " << t.gather << " s");
      CHECK(bytes / 2 / t.gather <= nics * s.nodes_per_domain() * (1 + 1e-9));  // the half that the other domain has read
      CHECK(t.gather <= before * (1 + 1e-9));
      before = t.gather;
    }
  }
  // two GPUs of eight receive over the NICs of two
  const System s = load_system("dgx-h100");
  const auto gather = [&](int gpus) {
    return weight_loading_time(
               s, {.bytes = 1e12, .nodes = 4, .sharing = WeightSharing::gathered, .node = {.storage_rate = fast, .gpus = gpus}})
        .gather;
  };
  CHECK(gather(2) / gather(8) == Approx(4).margin(0.2));
}

TEST_CASE("a load goes there and back, a store one way, and a window bounds both") {
  const System s = load_system("dgx-h100");
  const TransferLine load = load_store_line(s), store = load_store_line(s, {.load = false});
  CHECK(load.start == Approx(2 * store.start));
  CHECK(load.rate == Approx(warp_window / load.start));
  const double inf = std::numeric_limits<double>::infinity();
  CHECK(load_store_line(s, {.window = inf}).rate == Approx(450e9));
  CHECK(load_store_line(load_system("mi300x-8"), {.window = inf}).rate == Approx(64e9));  // one link between two
  CHECK(load_store_line(load_system("tpu-v5p-cube"), {.window = inf}).rate == Approx(100e9));
  const TransferLine far = load_store_line(load_system("tpu-v5p-cube"), {.window = inf, .hops = 6});
  CHECK(far.start == Approx(12e-6));  // the far corner of a 4 x 4 x 4 torus, there and back
  CHECK(load_store_line(load_system("ualink-pod"), {.window = inf}).rate == Approx(800e9 * 0.93));
}

TEST_CASE("64 B to 64 KiB: loads win small, RDMA wins from the crossover on, a whole GPU's threads always win") {
  for (const std::string name : {"dgx-h100", "gb200-nvl72", "ualink-pod"}) {
    const System s = load_system(name);
    const TransferLine rdma = rdma_line(s), warp = load_store_line(s, {.load = false}), all = load_store_line(s, {.window = 1e9});
    const double meet = crossover(warp, rdma);
    INFO(name << ": one warp's stores meet RDMA at " << meet << " B");
    std::printf("%s: one warp's stores are faster than RDMA up to %.0f B, its loads up to %.0f B\n", name.c_str(), meet,
                crossover(load_store_line(s), rdma));
    CHECK(meet > 64);
    CHECK(meet < 65536);
    CHECK(warp(meet) == Approx(rdma(meet)));
    CHECK(warp(meet / 2) < rdma(meet / 2));
    CHECK(warp(meet * 2) > rdma(meet * 2));
    CHECK(std::isinf(crossover(all, rdma)));
    for (double bytes = 64; bytes <= 65536; bytes *= 2) CHECK(all(bytes) < rdma(bytes));
    CHECK(crossover(rdma, all) == 0);
  }
  // ICI is DMA from chip to chip, no threads' window: a neighbour is nearer than the data-centre network at every size
  const System tpu = load_system("tpu-v5p-cube");
  CHECK(std::isinf(crossover(load_store_line(tpu, {.load = false, .window = std::numeric_limits<double>::infinity()}), rdma_line(tpu))));
}
