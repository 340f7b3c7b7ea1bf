// Shipped machines: where an interval begins, against bytes over datasheet rates worked out here.
#include "machines.hpp"

#include <fabricost/experts/moe_kernels.hpp>
#include <fabricost/predict/fabric_of.hpp>
#include <fabricost/predict/predict.hpp>
#include <fabricost/specs/load.hpp>

#include "catch.hpp"

using namespace fabricost::plan;

namespace {

/// Bus bandwidth where the interval begins, GB/s.
double fast_end(const char* system, Collective op, double bytes, int nodes = 1, std::vector<std::string> overrides = {}) {
  const Prediction p =
      predict(load_system(system, overrides), Operation{.collective = op, .bytes = Bytes::from_value(bytes), .nodes = nodes});
  CHECK(p.low >= p.min);
  return bytes / p.low * bus_factor(op, p.ranks) / 1e9;
}

}  // namespace

TEST_CASE("intervals of exchanges and gathers begin within the links of a DGX H100 cluster, an NVL72 and a mesh of MI355X") {
  const double GiB = gibibyte;
  // of n ranks n - 8 are in other nodes: (n-8)/n S of each over its 50 GB/s
  for (const int nodes : {2, 16, 64}) {
    const double n = 8.0 * nodes;
    CHECK(fast_end("dgx-h100", Collective::all_to_all, GiB, nodes) <= 50 * (n - 1) / (n - 8) * (1 + 1e-9));
    CHECK(fast_end("dgx-h100", Collective::all_gather, 8 * GiB, nodes) <= 400 * (1 + 1e-9));
    CHECK(fast_end("dgx-h100", Collective::broadcast, 16 * GiB, nodes) <= 400 * (1 + 1e-9));
    CHECK(fast_end("dgx-h100", Collective::all_reduce, GiB, nodes) <= 400 * (n - 1) / n * nodes / (nodes - 1) * (1 + 1e-9));
  }
  CHECK(fast_end("gb200-nvl72", Collective::all_to_all, 8 * GiB, 18) <= 900 * (1 + 1e-9));
  CHECK(fast_end("gb200-nvl72", Collective::all_gather, GiB, 18) <= 900 * (1 + 1e-9));
  CHECK(fast_end("dgx-h200", Collective::all_gather, 8 * GiB) <= 450 * (1 + 1e-9));
  CHECK(fast_end("mi355x-8", Collective::all_gather, 8 * GiB) <= load_system("mi355x-8").tier("xgmi")->bandwidth.value.value() / 1e9);
  CHECK(fast_end("dgx-h100", Collective::all_reduce, 16 * GiB) <= 2.0 * 7 / 9 * 450 * (1 + 1e-9));  // NVLS
}

TEST_CASE("the least time of a ring or an exchange is what its routes put on the fullest link") {
  using machines::alone;
  for (const auto& [name, nodes] : {std::pair{"dgx-h100", 4}, {"superpod-h100", 64}, {"meta-24k-roce", 768}, {"dgx-a100", 2}})
    for (const auto& [op, algorithm] : {std::pair{Collective::all_to_all, Algorithm::direct}, {Collective::all_gather, Algorithm::ring}}) {
      const System system = load_system(name);
      const Topology t = topology_of(system, nodes);
      std::vector<int> all;
      for (int i = 0; i < nodes * system.gpus_per_node; ++i) all.push_back(i);
      const Fabric f = fabric_of(system, Operation{.collective = op, .nodes = nodes});
      const double counted = 1 / alone(t, TrafficCounter{t, {.relay_on_rails = false}}.count(op, algorithm, all)).rate;
      INFO(name << " " << fabricost::core::name(op));
      CHECK(min_per_byte(schedule_of(algorithm, op, f), f) == Approx(counted).epsilon(0.01));
    }
}

TEST_CASE("copies to the host and kernels of inference engines begin within their links") {
  for (const char* name : {"dgx-h100", "gb200-nvl72", "dgx-a100"}) {
    const System s = load_system(name);
    const Tier* host = host_tier(s);
    for (const double bytes : {1e3, 1e6, 1e9, 16e9}) {
      const Prediction copy =
          predict(s, Operation{.collective = Collective::send_recv, .bytes = Bytes::from_value(bytes), .path = Path::gpu_host});
      CHECK(bytes / copy.low <= host->bandwidth.value.value() * host->efficiency * (1 + 1e-9));
    }
    const double link = s.tier(TierRole::scale_up)->bandwidth.value.value();
    const int n = std::min(8, s.gpus_per_node);
    for (const InferenceLibrary library : {InferenceLibrary::vllm, InferenceLibrary::sglang, InferenceLibrary::trtllm})
      for (const bool from_host : {false, true})
        for (const double bytes : {4096.0, 262144.0, 1048576.0, 8388608.0}) {
          const Choice choice{.inference = {.library = library, .from_host = from_host}};
          const Prediction p = predict(s, Operation{.bytes = Bytes::from_value(bytes), .ranks = n}, choice);
          const double volume = p.ran.algorithm == Algorithm::one_shot ? n - 1.0
                                : p.ran.algorithm == Algorithm::nvls   ? 1 + 1.0 / n
                                                                       : 2 * (n - 1.0) / n;
          INFO(name << " " << fabricost::core::name(library) << " " << bytes);
          CHECK(volume * bytes / p.low <= link * (1 + 1e-9));
        }
  }
}

TEST_CASE("dispatch and combine of experts begin within NVLink and the NICs") {
  for (const auto& [name, ranks] : {std::pair{"dgx-h100", 8}, {"dgx-h100", 64}, {"gb200-nvl72", 64}, {"gb200-nvl72", 8}})
    for (const MoeKernel kernel : {MoeKernel::deepep_normal, MoeKernel::deepep_low_latency, MoeKernel::nccl})
      for (const MoePhase phase : {MoePhase::dispatch, MoePhase::combine})
        for (const double tokens : {8.0, 1024.0, 65536.0}) {
          const System s = load_system(name);
          const MoePrediction p = predict(s, MoeQuestion{.phase = phase,
                                                         .kernel = kernel,
                                                         .gate = {.experts = 256, .top_k = 8},
                                                         .hidden = 7168,
                                                         .tokens = tokens,
                                                         .ranks = ranks});
          INFO(name << " " << fabricost::core::name(kernel) << " " << ranks << " " << tokens);
          CHECK(p.inside_bytes / p.low <= s.tier(TierRole::scale_up)->bandwidth.value.value() * (1 + 1e-9));
          CHECK(p.across_bytes / p.low <= 50e9 * (1 + 1e-9));
          CHECK(p.low <= p.seconds);
        }
}
