// The time of a prediction. `build/fabricost_benchmark` prints nanoseconds; the floor is the pair of pow() that norm_q needs.
#include <fabricost/fabricost.hpp>
#include <fabricost/specs/load.hpp>

#include <benchmark/benchmark.h>

#include <cmath>
#include <vector>

namespace {

using namespace fabricost::core;

/// 1,016 ranks over NVLink, NICs and a two-level network.
const System& cluster() {
  static const System system = load_system("superpod-h100");
  return system;
}
Operation all_reduce(double bytes) { return {.collective = Collective::all_reduce, .bytes = Bytes::from_value(bytes), .ranks = 1016}; }

/// Sizes from 1 KiB to 1 GiB, none of them round.
std::vector<double> sizes() {
  std::vector<double> out;
  for (int i = 0; i < 1024; ++i) out.push_back(1024 * std::exp2(20.0 * i / 1024));
  return out;
}

void predict_three_tiers(benchmark::State& state) {
  const auto bytes = sizes();
  std::size_t i = 0;
  for (auto _ : state) benchmark::DoNotOptimize(predict(cluster(), all_reduce(bytes[i++ % bytes.size()])).seconds);
}
BENCHMARK(predict_three_tiers);

void predict_one_node(benchmark::State& state) {
  static const System system = load_system("dgx-h100");
  const auto bytes = sizes();
  std::size_t i = 0;
  for (auto _ : state) {
    const Operation op{.collective = Collective::all_reduce, .bytes = Bytes::from_value(bytes[i++ % bytes.size()]), .ranks = 8};
    benchmark::DoNotOptimize(predict(system, op).seconds);
  }
}
BENCHMARK(predict_one_node);

void compiled_curve(benchmark::State& state) {
  const Curve curve = compile(cluster(), all_reduce(1));
  const auto bytes = sizes();
  std::size_t i = 0;
  for (auto _ : state) benchmark::DoNotOptimize(curve.seconds(bytes[i++ % bytes.size()]));
}
BENCHMARK(compiled_curve);

/// The curve with the most pow(): one node of A100s, ring Simple and LL128.
void compiled_curve_with_norm(benchmark::State& state) {
  static const System system = load_system("dgx-a100");
  const Curve curve = compile(system, {.collective = Collective::all_reduce, .bytes = {}, .ranks = 8});
  const auto bytes = sizes();
  std::size_t i = 0;
  for (auto _ : state) benchmark::DoNotOptimize(curve.seconds(bytes[i++ % bytes.size()]));
}
BENCHMARK(compiled_curve_with_norm);

void compile_nccl_choice(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(compile(cluster(), all_reduce(1)).pieces());
}
BENCHMARK(compile_nccl_choice);

void floor_one_pair_of_pow(benchmark::State& state) {
  const auto bytes = sizes();
  std::size_t i = 0;
  for (auto _ : state) {
    const double x = bytes[i++ % bytes.size()] * 1e-10;
    benchmark::DoNotOptimize(std::pow(1 + std::pow(x, 1.07), 1 / 1.07));
  }
}
BENCHMARK(floor_one_pair_of_pow);

void load_dgx_h100(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(load_system("dgx-h100").gpus_per_node);
}
BENCHMARK(load_dgx_h100)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
