// All-reduce kernels of vLLM, SGLang and TensorRT-LLM: which runs when, its bytes, the cost of a call from Python, and measured points.
#include "support/measurements.hpp"

#include <fabricost/algorithms/schedule_of.hpp>
#include <fabricost/plan/evaluation/calibrate_custom.hpp>
#include <fabricost/predict/fused_norm.hpp>
#include <fabricost/parameters/related.hpp>
#include <fabricost/predict/fabric_of.hpp>
#include <fabricost/predict/predict.hpp>
#include <fabricost/specs/load.hpp>
#include <fabricost/validation/validate.hpp>

#include "catch.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

using namespace fabricost::plan;

namespace {

constexpr double KiB_ = 1024, MiB_ = 1024 * 1024;

const System& machine(const std::string& name) {
  static std::map<std::string, System> loaded;
  const auto at = loaded.find(name);
  return at != loaded.end() ? at->second : loaded.emplace(name, load_system(name)).first->second;
}

Choice engine(InferenceLibrary library, const char* version = "", bool from_host = false) {
  return {.inference = {.library = library, .version = version_number(version), .from_host = from_host}};
}
Prediction asked(const std::string& system, int ranks, double bytes, const Choice& choice) {
  return predict(machine(system), AllReduce{.bytes = Bytes::from_value(bytes), .ranks = ranks}, choice);
}
CollectiveKernel kernel(const std::string& system, int ranks, double bytes, InferenceLibrary library, const char* version = "") {
  return asked(system, ranks, bytes, engine(library, version)).ran.kernel;
}

constexpr std::array engines{InferenceLibrary::vllm, InferenceLibrary::sglang, InferenceLibrary::trtllm};

}  // namespace

TEST_CASE("the fastest is at most what an engine's own choice takes, and NCCL's") {
  for (const char* system : {"dgx-a100", "dgx-h100", "dgx-b200", "gb200-nvl72"})
    for (const InferenceLibrary library : engines)
      for (const int ranks : {2, 4, 8})
        for (double bytes = 512; bytes < 512 * MiB_; bytes *= 1.37) {
          Choice choice = engine(library);
          const double own = asked(system, ranks, bytes, choice).seconds, nccl = asked(system, ranks, bytes, {}).seconds;
          choice.rule = Choice::Rule::fastest;
          const Prediction fastest = asked(system, ranks, bytes, choice);
          CHECK(fastest.seconds <= std::min(own, nccl) * (1 + 1e-9));
          const Curve curve = compile(machine(system), AllReduce{.ranks = ranks}, choice);
          CHECK(curve.seconds(bytes) == Approx(fastest.seconds).epsilon(1e-3));
        }
}

TEST_CASE("an algorithm that only engines have runs as the engine's kernel when forced") {
  for (const InferenceLibrary library : engines)
    for (const double bytes : {4 * KiB_, 64 * KiB_, 512 * KiB_, 2 * MiB_}) {
      const Prediction own = asked("dgx-h100", 8, bytes, engine(library));
      if (own.ran.kernel == CollectiveKernel::library || own.ran.algorithm == Algorithm::nvls) continue;
      Choice forced = engine(library);
      forced.algorithm = own.ran.algorithm;
      CHECK(asked("dgx-h100", 8, bytes, forced).seconds == own.seconds);
      CHECK(asked("dgx-h100", 8, bytes, forced).basis == own.basis);
    }
  // also at sizes at which the engine would take another
  Choice two_shot = engine(InferenceLibrary::sglang);
  two_shot.algorithm = Algorithm::two_shot;
  CHECK(asked("dgx-h100", 8, 4 * KiB_, two_shot).ran.kernel == CollectiveKernel::push_two_shot);
}

TEST_CASE("engines hand over where their sources say") {
  using K = CollectiveKernel;
  using L = InferenceLibrary;
  // vLLM without symmetric memory: one shot below 512 and 256 KiB, below 8 MiB at all
  CHECK(kernel("dgx-a100", 4, 512 * KiB_ - 16, L::vllm) == K::pull_one_shot);
  CHECK(kernel("dgx-a100", 4, 512 * KiB_, L::vllm) == K::pull_two_shot);
  CHECK(kernel("dgx-a100", 8, 256 * KiB_, L::vllm) == K::pull_two_shot);
  CHECK(kernel("dgx-a100", 2, 8 * MiB_ - 16, L::vllm) == K::pull_one_shot);
  CHECK(kernel("dgx-a100", 2, 8 * MiB_, L::vllm) == K::library);
  // with it
  CHECK(kernel("dgx-h100", 8, 256 * KiB_ - 16, L::vllm) == K::pull_one_shot);
  CHECK(kernel("dgx-h100", 8, 256 * KiB_, L::vllm) == K::multicast);
  CHECK(kernel("dgx-h100", 8, 256 * KiB_, L::vllm, "0.14.0") == K::pull_two_shot);
  CHECK(kernel("dgx-h100", 8, 64 * MiB_, L::vllm, "0.24.0") == K::multicast);
  CHECK(kernel("dgx-h100", 8, 64 * MiB_, L::vllm, "0.19.0") == K::library);
  CHECK(kernel("dgx-h100", 2, 16 * MiB_, L::vllm) == K::symmetric_two_shot);
  CHECK(kernel("dgx-b200", 8, 512 * KiB_, L::vllm) == K::pull_two_shot);
  CHECK(kernel("dgx-b200", 8, 1 * MiB_, L::vllm) == K::multicast);
  CHECK(kernel("dgx-b200", 4, 2 * MiB_, L::vllm) == K::symmetric_two_shot);
  CHECK(kernel("dgx-b300", 2, 3 * MiB_, L::vllm) == K::pull_one_shot);  // 10.3 has a row of its own
  // SGLang
  CHECK(kernel("dgx-h100", 8, 8 * MiB_, L::sglang, "0.5.10") == K::pull_two_shot);
  CHECK(kernel("dgx-h100", 8, 16 * MiB_, L::sglang, "0.5.10") == K::library);
  CHECK(kernel("dgx-h100", 8, 160 * KiB_, L::sglang, "0.5.14") == K::push_one_shot);
  CHECK(kernel("dgx-h100", 8, 160 * KiB_ + 16, L::sglang, "0.5.14") == K::push_two_shot);
  CHECK(kernel("dgx-h100", 8, 16 * MiB_, L::sglang, "0.5.14") == K::push_two_shot);
  CHECK(kernel("dgx-h100", 8, 32 * MiB_, L::sglang, "0.5.14") == K::library);
  // TensorRT-LLM
  CHECK(kernel("dgx-h100", 8, 512 * KiB_ - 16, L::trtllm) == K::lamport_one_shot);
  CHECK(kernel("dgx-h100", 8, 512 * KiB_, L::trtllm) == K::lamport_two_shot);
  CHECK(kernel("dgx-h100", 8, 8e6, L::trtllm) == K::lamport_two_shot);
  CHECK(kernel("dgx-h100", 8, 8 * MiB_, L::trtllm) == K::library);
  CHECK(kernel("dgx-h100", 2, 8 * MiB_, L::trtllm) == K::lamport_one_shot);
  CHECK(kernel("dgx-b200", 8, 32 * MiB_, L::trtllm) == K::lamport_two_shot);  // its table, from 1.3 on
  CHECK(kernel("dgx-b200", 4, 16 * MiB_, L::trtllm) == K::lamport_two_shot);
  CHECK(kernel("dgx-b200", 4, 32 * MiB_, L::trtllm) == K::library);
  CHECK(kernel("dgx-b200", 8, 64 * MiB_, L::trtllm) == K::library);
  CHECK(kernel("dgx-b200", 8, 8 * MiB_, L::trtllm, "1.2.0rc5") == K::library);
  // over PCIe: a pair at most
  CHECK(kernel("l40s-pcie", 2, 1 * MiB_, L::vllm) == K::pull_one_shot);
  CHECK(kernel("l40s-pcie", 4, 1 * MiB_, L::vllm) == K::library);
  CHECK(kernel("l40s-pcie", 2, 1 * KiB_, L::trtllm) == K::library);
}

TEST_CASE("beyond the hand-over an engine's all-reduce is NCCL's") {
  for (const InferenceLibrary l : engines)
    for (const char* system : {"dgx-a100", "dgx-h100", "dgx-b200"})
      CHECK(asked(system, 8, 512 * MiB_, engine(l)).seconds == asked(system, 8, 512 * MiB_, {}).seconds);
  // and so it is across nodes, for other collectives, and where a pair is forced
  const Operation across = AllReduce{.bytes = units::KiB(64), .ranks = 16, .nodes = 2};
  CHECK(predict(machine("dgx-h100"), across, engine(InferenceLibrary::vllm)).seconds == predict(machine("dgx-h100"), across).seconds);
  const Operation gather = AllGather{.bytes = units::KiB(64), .ranks = 8};
  CHECK(predict(machine("dgx-h100"), gather, engine(InferenceLibrary::vllm)).seconds == predict(machine("dgx-h100"), gather).seconds);
  Choice forced = engine(InferenceLibrary::vllm);
  forced.algorithm = Algorithm::ring;
  CHECK(asked("dgx-h100", 8, 1024, forced).ran.algorithm == Algorithm::ring);
}

TEST_CASE("kernels move the bytes of their schedules") {
  const Fabric f = fabric_of(machine("dgx-h100"), AllReduce{.ranks = 8});
  const Constants& all = machine("dgx-h100").constants;
  const CustomConstants& c = all.custom;
  for (const auto& [kind, share] :
       {std::pair{CollectiveKernel::push_one_shot, c.push_one_shot.share}, {CollectiveKernel::lamport_one_shot, c.lamport_one_shot.share}})
    CHECK(price_custom(kind, f, all).rate * share * f.inner_rate ==
          Approx(schedule_of(Algorithm::one_shot, Collective::all_reduce, f.levels).bytes(0)));
  const double each = price_custom(CollectiveKernel::pull_one_shot, f, all).volume(1) /
                      schedule_of(Algorithm::one_shot, Collective::all_reduce, f.levels).bytes(0);
  Constants alike = all;
  alike.custom.pull_two_shot.share = c.pull_one_shot.share;
  alike.custom.pull_two_shot.kib = c.pull_one_shot.kib / 7;  // one shot reads its seven peers at once
  CHECK(price_custom(CollectiveKernel::pull_two_shot, f, alike).volume(1) ==
        Approx(each * schedule_of(Algorithm::two_shot, Collective::all_reduce, f.levels).bytes(0)));
  CHECK(price_custom(CollectiveKernel::push_two_shot, f, all).rate * c.push_two_shot.share * f.inner_rate ==
        Approx(schedule_of(Algorithm::two_shot, Collective::all_reduce, f.levels).bytes(0)));
}

TEST_CASE("a switch that adds takes 1 + 1/n of S over a link, one that only multicasts 1 + (n-1)/n") {
  const auto bytes = [](CollectiveKernel kernel, int ranks) {
    const Fabric f = fabric_of(machine("dgx-h100"), AllReduce{.ranks = ranks});
    return price_custom(kernel, f, machine("dgx-h100").constants).rate * f.inner_rate;
  };
  CHECK(bytes(CollectiveKernel::multicast, 4) / bytes(CollectiveKernel::multicast, 8) == Approx((1 + 1.0 / 4) / (1 + 1.0 / 8)));
  const double share = machine("dgx-h100").constants.scale_up.simple.rate_share;
  for (const int ranks : {2, 4, 8}) CHECK(bytes(CollectiveKernel::scattered_multicast, ranks) == Approx((2 - 1.0 / ranks) / share));
}

TEST_CASE("where the sums of a switch wait for their trips, fewer ranks take longer") {
  const Constants& c = machine("dgx-b300").constants;
  const auto seconds = [&](int ranks, double mib) {
    return price_custom(CollectiveKernel::multicast, fabric_of(machine("dgx-b300"), AllReduce{.ranks = ranks}), c)(mib * MiB_);
  };
  for (const auto& [mib, us] :
       {std::pair{16.0, 72.0}, {32.0, 132.0}, {64.0, 271.0}, {128.0, 541.0}})  // vllm-project/vllm pull 37756, not fitted
    CHECK(seconds(6, mib) == Approx(us * 1e-6).epsilon(0.15));
  CHECK(seconds(6, 1024) / seconds(8, 1024) == Approx(8.0 / 6).epsilon(0.01));
}

TEST_CASE("FlashInfer's all-reduce of a rack of GB300 is near what a thread prints") {
  // vllm-project/vllm pull 53318, none fitted: GPUs, bytes, us
  const std::vector<std::tuple<int, double, double>> printed{
      {2, 67106766, 146.95}, {4, 83879788, 209.26}, {8, 67106766, 180.87}, {16, 8386510, 36.92}};
  for (const auto& [ranks, bytes, us] : printed) {
    const Fabric f = fabric_of(machine("gb300-nvl72"), AllReduce{.ranks = ranks});
    CHECK(price_custom(CollectiveKernel::scattered_multicast, f, machine("gb300-nvl72").constants)(bytes) ==
          Approx(us * 1e-6).epsilon(0.1));
  }
}

TEST_CASE("kernels that read their peers are bound by the link where it is slow, by their loads in flight where it is fast") {
  const Constants& c = machine("dgx-b200").constants;
  const auto rates = [&](CollectiveKernel kernel, double link, int ranks = 8) {
    Fabric f = fabric_of(machine("dgx-b200"), AllReduce{.ranks = ranks});
    f.inner_rate = link;
    return price_custom(kernel, f, c).volume(1);
  };
  for (const auto& [pull, ranks] :
       {std::pair{CollectiveKernel::pull_one_shot, 2}, {CollectiveKernel::pull_two_shot, 8}, {CollectiveKernel::multicast, 8}}) {
    CHECK(rates(pull, 50e9, ranks) == Approx(2 * rates(pull, 100e9, ranks)).epsilon(0.01));
    CHECK(rates(pull, 900e9, ranks) == Approx(rates(pull, 1800e9, ranks)).epsilon(0.01));
  }
  for (const CollectiveKernel push :
       {CollectiveKernel::push_one_shot, CollectiveKernel::push_two_shot, CollectiveKernel::scattered_multicast})
    CHECK(rates(push, 900e9) == Approx(2 * rates(push, 1800e9)));
  constexpr double no_limit = 1e15;
  CHECK(rates(CollectiveKernel::pull_one_shot, no_limit, 8) == Approx(rates(CollectiveKernel::pull_one_shot, no_limit, 2)));  // 7 loads for 7 S
  // PyTorch reads 2, 4 and 8 ranks at once, other numbers one by one: 2 (n-1)/n S
  const auto torch = [&](int ranks) { return rates(CollectiveKernel::symmetric_two_shot, no_limit, ranks) * ranks / (2.0 * (ranks - 1)); };
  CHECK(torch(4) == Approx(torch(2) / 2));
  CHECK(torch(6) == Approx(torch(2)));
  CHECK(torch(8) == Approx(torch(2) / 4));
}

TEST_CASE("a kernel that reads its peers takes whole rounds where loads limit it, and every byte by itself where the link does") {
  const Constants& c = machine("dgx-b200").constants;
  constexpr double grid = 36 * 512 * 16;  // bytes of a rank in one round
  for (const int ranks : {2, 4, 6, 8})
    for (const auto& [kernel, round] : {std::pair{CollectiveKernel::pull_one_shot, grid}, {CollectiveKernel::pull_two_shot, ranks * grid}}) {
      Fabric f = fabric_of(machine("dgx-b200"), AllReduce{.ranks = ranks});
      f.inner_rate = 1e15;
      const Line loads = price_custom(kernel, f, c);
      const double one = loads.volume(round);
      CHECK(loads.volume(round / 2) == Approx(one / 2));
      for (const double rounds : {1.01, 1.5, 2.0, 6.2, 40.7}) CHECK(loads.volume(rounds * round) == Approx(std::ceil(rounds) * one));
      f.inner_rate = 10e9;
      const Line link = price_custom(kernel, f, c);
      for (const double rounds : {1.01, 1.5, 2.0, 6.2, 40.7}) CHECK(link.volume(rounds * round) == Approx(rounds * link.volume(round)));
    }
}

TEST_CASE("two shots of six GPUs are near what threads print") {
  // vllm-project/vllm pulls 24111 (H100) and 37756 (B300), no size of either fitted: MiB and us
  const auto off = [](const char* system, const std::vector<std::pair<double, double>>& printed) {
    const Fabric f = fabric_of(machine(system), AllReduce{.ranks = 6});
    const Line line = price_custom(CollectiveKernel::pull_two_shot, f, machine(system).constants);
    std::vector<double> errors;
    for (const auto& [mib, us] : printed) errors.push_back(std::fabs(line(mib * MiB_) / (us * 1e-6) - 1));
    std::sort(errors.begin(), errors.end());
    return errors[errors.size() / 2];
  };
  CHECK(off("dgx-h100", {{0.5, 15}, {1, 17}, {1.5, 20}, {2, 26}, {3, 29}, {4, 37}}) < 0.1);
  CHECK(off("dgx-b300", {{1, 23}, {2, 36}, {4, 49}, {8, 74}, {16, 136}, {32, 250}, {64, 488}, {128, 975}}) < 0.08);
}

TEST_CASE("a generation without measurements waits in its own steps: NCCL's") {
  Constants a, b, c;
  a.scale_up.ll.hop = 0.5e-6;
  b.scale_up.ll.hop = 2e-6;
  c.scale_up.ll.hop = 3e-6;
  // five steps both
  a.custom.pull_one_shot.start = 2.5e-6;
  b.custom.pull_one_shot.start = 10e-6;
  a.custom.pull_one_shot.share = 0.4;
  b.custom.pull_one_shot.share = 0.9;
  a.custom.host_launch = 20e-6;
  b.custom.host_launch = 45e-6;
  const std::array related{a, b};
  take_from_related(ConstantSet::custom, c, related, [](std::size_t, const Parameter& p) { return !p.key.starts_with("multicast"); });
  CHECK(c.custom.pull_one_shot.start == Approx(15e-6));
  CHECK(c.custom.pull_one_shot.share == Approx(0.6));
  CHECK(c.custom.host_launch == Approx(30e-6));
  const Constants prior;
  CHECK(c.custom.multicast.start == Approx(prior.custom.multicast.start * 3e-6 / prior.scale_up.ll.hop));  // nobody knows it
  CHECK(c.moe.low_latency_dispatch.start == prior.moe.low_latency_dispatch.start);                         // another set
  // and so a system is loaded whose generation has no calibration of its own
  const System volta = load_system("dgx-1-v100");
  CHECK(volta.constants.custom.push_one_shot.start ==
        Approx(prior.custom.push_one_shot.start * volta.constants.scale_up.ll.hop / prior.scale_up.ll.hop));
}

TEST_CASE("siblings of a measured machine lie with it, a slower link behind it") {
  const Choice vllm = engine(InferenceLibrary::vllm), trtllm = engine(InferenceLibrary::trtllm);
  for (const double bytes : {1024.0, 64 * KiB_, 1 * MiB_, 4 * MiB_})
    for (const int ranks : {2, 4, 8}) {
      INFO(bytes << " B on " << ranks);
      for (const Choice& choice : {vllm, trtllm}) {
        CHECK(asked("dgx-h200", ranks, bytes, choice).seconds == Approx(asked("dgx-h100", ranks, bytes, choice).seconds).epsilon(0.01));
        CHECK(asked("deepseek-v3-h800", ranks, bytes, choice).seconds >= 0.99 * asked("dgx-h100", ranks, bytes, choice).seconds);
        CHECK(asked("hgx-a100", ranks, bytes, choice).seconds == Approx(asked("dgx-a100", ranks, bytes, choice).seconds).epsilon(0.01));
      }
      CHECK(asked("dgx-b300", ranks, bytes, trtllm).seconds == Approx(asked("dgx-b200", ranks, bytes, trtllm).seconds).epsilon(0.01));
    }
  // Blackwell over PCIe: NVLink's loads in flight are no limit, PCIe is
  const Prediction pair = asked("rtx-pro-6000-pcie", 2, 4 * MiB_, vllm);
  const double link = machine("rtx-pro-6000-pcie").tier(TierRole::scale_up)->bandwidth.value.value();
  CHECK(pair.seconds > 4 * MiB_ / link);
  CHECK(pair.seconds < 2 * 4 * MiB_ / link);
}

TEST_CASE("own kernels start sooner than NCCL, grow with size and ranks", "[property]") {
  for (const InferenceLibrary l : engines)
    for (const char* system : {"dgx-a100", "dgx-h100", "dgx-b200"})
      for (const int ranks : {2, 4, 8}) {
        CHECK(asked(system, ranks, 4096, engine(l)).seconds < asked(system, ranks, 4096, {}).seconds);
        double last = 0;
        CollectiveKernel running = CollectiveKernel::library;
        for (double bytes = 256; bytes < 16 * MiB_; bytes *= 2) {
          const Prediction p = asked(system, ranks, bytes, engine(l));
          if (p.ran.kernel == running) CHECK(p.seconds >= last);
          running = p.ran.kernel;
          last = p.seconds;
          if (ranks > 2) CHECK(p.seconds > asked(system, 2, 256, engine(l)).seconds);
          double sum = 0;
          for (const Term& t : p.terms) sum += t.time.value();
          CHECK(sum == Approx(p.seconds).epsilon(1e-9));
        }
      }
}

TEST_CASE("a compiled curve is what predict says, engine by engine") {
  for (const InferenceLibrary l : engines)
    for (const char* system : {"dgx-a100", "dgx-h100", "dgx-b200"})
      for (const int ranks : {2, 4, 8}) {
        const Curve curve = compile(machine(system), AllReduce{.ranks = ranks}, engine(l));
        for (double bytes = 256; bytes < 1e9; bytes *= 1.3)
          CHECK(curve.seconds(bytes) == Approx(asked(system, ranks, bytes, engine(l)).seconds).epsilon(1e-9));
      }
}

TEST_CASE("a call from Python costs the host's time when messages are small and a copy when they are large") {
  const System& s = machine("dgx-h100");
  for (double bytes = 256; bytes < 2e9; bytes *= 4) {
    const double graph = asked("dgx-h100", 8, bytes, engine(InferenceLibrary::vllm)).seconds;
    const Prediction p = asked("dgx-h100", 8, bytes, engine(InferenceLibrary::vllm, "", true));
    CHECK(p.seconds > graph);
    double sum = 0;
    for (const Term& t : p.terms) sum += t.time.value();
    CHECK(sum == Approx(p.seconds).epsilon(1e-9));
  }
  CHECK(asked("dgx-h100", 8, 256, engine(InferenceLibrary::vllm, "", true)).seconds ==
        Approx(s.constants.custom.host_launch).epsilon(0.05));
  const double large = 1024 * MiB_;
  const double extra = asked("dgx-h100", 8, large, engine(InferenceLibrary::vllm, "", true)).seconds -
                       asked("dgx-h100", 8, large, engine(InferenceLibrary::vllm)).seconds;
  CHECK(extra == Approx(2 * large / (s.constants.custom.host_copy * s.gpu.hbm_bandwidth.value.value())).epsilon(0.05));
}

TEST_CASE("a fused norm saves a launch and a pass over memory, where an engine's kernel runs") {
  const System& s = machine("dgx-h100");
  const Choice vllm = engine(InferenceLibrary::vllm);
  const FusedNorm small = fused_norm(s, AllReduce{.bytes = units::KiB(64), .ranks = 8}, vllm);
  const double pass = 64 * KiB_ / (s.gpu.hbm_bandwidth.value.value() * s.constants.compute.memory);
  CHECK(small.saved() == Approx(gap_in_graph + pass));
  CHECK(small.fused > asked("dgx-h100", 8, 64 * KiB_, vllm).seconds);
  CHECK(fused_norm(s, AllReduce{.bytes = units::MiB(512), .ranks = 8}, vllm).saved() == 0);
  CHECK_THROWS_AS(fused_norm(s, AllGather{.bytes = units::KiB(64), .ranks = 8}, vllm), RequestError);
}

TEST_CASE("graph and Python, and versions of an engine, are no repeats of each other") {
  Point p;
  p.system = "dgx-h100";
  p.gpus_per_node = 8;
  p.bytes = 1024;
  p.seconds = 5e-6;
  p.library = "sglang";
  p.library_version = "0.5.10";
  p.notes = "cuda graph";
  Point python = p, newer = p, again = p;
  python.notes = "launched from Python";
  newer.library_version = "0.5.14";
  CHECK(merge_repeats(std::vector<Point>{p, python, newer, again}).size() == 3);
  for (Point* one : {&p, &newer}) one->library = "nccl", one->notes = "";
  CHECK(merge_repeats(std::vector<Point>{p, newer}).size() == 1);
}

TEST_CASE("all-reduces of engines in CUDA graphs are predicted within a median of 5 %", "[measurements]") {
  const auto folder = fabricost::test::measurements();
  if (folder.empty()) return;
  for (const char* system : {"dgx-a100", "dgx-h100", "dgx-b200"}) {
    Points points = read_points(folder / (std::string(system) + ".custom_allreduce.csv"));
    std::erase_if(points.points, [](const Point& p) { return p.from_host(); });
    const ValidationReport report = validate(points);
    INFO(system << ": median " << report.total.median_ape << " %, mean " << report.total.mape << " %");
    CHECK(report.total.median_ape <= 4);
    CHECK(report.total.mape <= 8);
  }
}

TEST_CASE("a generation left out of the fit is predicted from the other two within 8 %, its mean within 12", "[measurements]") {
  const auto folder = fabricost::test::measurements();
  if (folder.empty()) return;
  const std::array systems{"dgx-a100", "dgx-h100", "dgx-b200"};
  std::vector<Points> tables;
  std::vector<CalibratedSet> fits;
  for (const char* system : systems) {
    tables.push_back(read_points(folder / (std::string(system) + ".custom_allreduce.csv")));
    fits.push_back(calibrate_custom(tables.back()).sets.at(0));
  }
  double median = 0, mean = 0;
  for (std::size_t left = 0; left < systems.size(); ++left) {
    std::vector<Constants> related;
    std::vector<const CalibratedSet*> of;
    for (std::size_t i = 0; i < fits.size(); ++i)
      if (i != left) related.push_back(fits[i].constants), of.push_back(&fits[i]);
    const auto measured = [&](std::size_t r, const Parameter& p) {
      return std::any_of(of[r]->fitted.begin(), of[r]->fitted.end(), [&](const FittedConstant& f) { return f.key == p.key; });
    };
    std::erase_if(tables[left].points, [](const Point& p) { return p.from_host(); });
    const ErrorSummary e =
        validate(tables[left], {.adjust = [&](System& s) { take_from_related(ConstantSet::custom, s.constants, related, measured); }})
            .total;
    INFO(systems[left] << ": median " << e.median_ape << " %, mean " << e.mape << " %");
    CHECK(e.median_ape <= 8);
    median += e.median_ape / 3;
    mean += e.mape / 3;
  }
  CHECK(median <= 6);
  CHECK(mean <= 9);
}

TEST_CASE("nodes of one NVLink domain: engines that came before it leave all-reduces across them to NCCL") {
  const Operation over_trays = AllReduce{.bytes = units::KiB(64), .ranks = 8};
  const auto ran = [&](InferenceLibrary l, const char* version) {
    return predict(machine("gb200-nvl72"), over_trays, engine(l, version)).ran.kernel;
  };
  CHECK(ran(InferenceLibrary::vllm, "0.24.0") == CollectiveKernel::library);
  CHECK(ran(InferenceLibrary::sglang, "0.5.14") == CollectiveKernel::library);
  CHECK(ran(InferenceLibrary::vllm, "") == CollectiveKernel::library);
  CHECK(ran(InferenceLibrary::sglang, "") != CollectiveKernel::library);
  CHECK(ran(InferenceLibrary::trtllm, "1.2.0") == CollectiveKernel::lamport_one_shot);
  CHECK(kernel("gb200-nvl72", 4, 64 * KiB_, InferenceLibrary::vllm, "0.24.0") == CollectiveKernel::pull_one_shot);  // one tray
}

TEST_CASE("GPUs of AMD run engines' kernels over peers' memory, by ranks and size") {
  using K = CollectiveKernel;
  using L = InferenceLibrary;
  for (const char* system : {"mi300x-8", "mi325x-8", "mi350x-8", "mi355x-8"}) {
    CAPTURE(system);
    CHECK(kernel(system, 8, 64 * KiB_, L::vllm) == K::pull_one_shot);
    CHECK(kernel(system, 8, 1 * MiB_, L::vllm) == K::pull_two_shot);
    CHECK(kernel(system, 8, 64 * KiB_, L::vllm, "0.8.2") == K::library);  // before pull request 14125
    CHECK(kernel(system, 8, 64 * KiB_, L::vllm, "0.8.3") == K::pull_one_shot);
    CHECK(kernel(system, 8, 8 * MiB_, L::vllm) == K::library);
    CHECK(kernel(system, 8, 8 * MiB_, L::sglang, "0.5.5") == K::pull_two_shot);
    CHECK(kernel(system, 8, 1 * MiB_, L::sglang, "0.5.6") == K::push_two_shot);
    CHECK(kernel(system, 8, 64 * KiB_, L::aiter) == K::pull_one_shot);
    CHECK(kernel(system, 2, 64 * MiB_, L::aiter) == K::pull_one_shot);
    CHECK(kernel(system, 3, 64 * KiB_, L::aiter) == K::library);
    CHECK(kernel(system, 8, 64 * KiB_, L::trtllm) == K::library);
    for (const double bytes : {16 * KiB_, 256 * KiB_, 4 * MiB_}) {
      const double own = asked(system, 8, bytes, engine(L::aiter)).seconds;
      CHECK(own < asked(system, 8, bytes, {}).seconds);
      CHECK(own > asked(system, 8, bytes / 2, engine(L::aiter)).seconds);
    }
  }
  CHECK(kernel("frontier", 8, 64 * KiB_, L::vllm) == K::library);  // no kernels for CDNA 2
}

TEST_CASE("FlashInfer's kernels cross the nodes of a domain, PyTorch's run at every size") {
  using K = CollectiveKernel;
  using L = InferenceLibrary;
  CHECK(parse_inference_library("tensorrt-llm") == L::trtllm);
  CHECK(parse_inference_library("torch-symmetric") == L::torch_symmetric);
  CHECK(experts_of_engine("flashinfer") == name(MoeKernel::trtllm_one_sided));
  CHECK(experts_of_engine("vllm").empty());
  CHECK(kernel("gb300-nvl72", 16, 64 * KiB_, L::flashinfer) == K::lamport_one_shot);
  CHECK(kernel("gb300-nvl72", 16, 8 * MiB_, L::flashinfer) == K::scattered_multicast);
  CHECK(kernel("gb300-nvl72", 12, 8 * MiB_, L::flashinfer) == K::library);
  CHECK(kernel("dgx-a100", 8, 8 * MiB_, L::flashinfer) == K::lamport_two_shot);
  CHECK(kernel("dgx-h100", 6, 64 * MiB_, L::torch_symmetric) == K::multicast);
  CHECK(kernel("dgx-h100", 2, 64 * MiB_, L::torch_symmetric) == K::symmetric_two_shot);
}

TEST_CASE("engines' kernels on six GPUs and on racks are near what threads print") {
  struct Printed {
    const char* system;
    int ranks;
    InferenceLibrary library;
    double mib, microseconds;
  };
  using L = InferenceLibrary;
  // vllm-project/vllm pulls 24111 (H100), 37756 (B300), 53318 (GB300)
  std::vector<double> off;
  for (const Printed& p : {Printed{"dgx-h100", 6, L::torch_symmetric, 0.5, 13}, {"dgx-h100", 6, L::torch_symmetric, 1, 16},
                           {"dgx-h100", 6, L::torch_symmetric, 2, 21}, {"dgx-h100", 6, L::torch_symmetric, 4, 31},
                           {"dgx-b300", 6, L::torch_symmetric, 0.25, 15}, {"dgx-b300", 6, L::torch_symmetric, 1, 18},
                           {"dgx-b300", 6, L::torch_symmetric, 4, 29}, {"dgx-b300", 6, L::torch_symmetric, 16, 72},
                           {"gb300-nvl72", 2, L::flashinfer, 64, 146.95}, {"gb300-nvl72", 8, L::flashinfer, 64, 180.87},
                           {"gb300-nvl72", 16, L::flashinfer, 8, 36.92}}) {
    const double seconds = asked(p.system, p.ranks, p.mib * MiB_, engine(p.library)).seconds;
    off.push_back(std::fabs(std::log(seconds * 1e6 / p.microseconds)));
    INFO(p.system << " " << p.ranks << " " << p.mib << " MiB: " << seconds * 1e6);
    CHECK(off.back() < 0.25);
  }
  std::nth_element(off.begin(), off.begin() + 5, off.end());
  CHECK(off[5] < 0.12);
}

TEST_CASE("the shipped constants of engines' kernels are what calibrate writes", "[measurements]") {
  const auto folder = fabricost::test::measurements();
  if (folder.empty()) return;
  Points points;
  for (const char* system : {"dgx-a100", "dgx-h100", "dgx-b200", "l40s-pcie", "b60-pcie"})
    points.append(read_points(folder / (std::string(system) + ".custom_allreduce.csv")));
  const Calibration fit = calibrate_custom(points);
  REQUIRE(fit.sets.size() == 5);
  for (const CalibratedSet& set : fit.sets) {
    const System machine = load_system(set.systems.front());
    const Constants& shipped = machine.constants;
    CHECK(shipped.custom_kernels == measured_operations_of(set.fitted_on, machine));
    for (const Parameter& p : parameters_of(ConstantSet::custom)) {
      if (p.fitted == FitTreatment::form) continue;
      INFO(set.name << " " << p.key);
      CHECK(std::fabs(std::log(p.value(set.constants) / p.value(shipped))) < 0.01);
    }
  }
}
