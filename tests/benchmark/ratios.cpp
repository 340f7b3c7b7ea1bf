// The time of predictions against limits measured beside them: every round times each contender once, and a ratio is the median over
// rounds of two times of one round, so that other load of the machine cancels. Prints CSV; performance_page.py makes a page of it.
//
//     fabricost_ratios [ROUNDS]        name, nanoseconds of one, and that over a pair of pow(), over a copy, over the minimum of 12 lines
#include <fabricost/fabricost.hpp>
#include <fabricost/predict/curve_threads.hpp>
#include <fabricost/specs/load.hpp>
#include <fabricost/plan/specs/load_model.hpp>
#include <fabricost/plan/specs/stacks.hpp>
#include <fabricost/plan/training/plan.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace fabricost::observe;

volatile double sink = 0;

constexpr std::size_t count = 16384;  ///< sizes of an array: 128 KiB of them

/// Sizes from 1 KiB to 1 GiB, none of them round.
std::vector<double> sorted_sizes() {
  std::vector<double> out;
  for (std::size_t i = 0; i < count; ++i) out.push_back(1024 * std::exp2(20.0 * static_cast<double>(i) / count));
  return out;
}
std::vector<double> shuffled(std::vector<double> sizes) {
  std::shuffle(sizes.begin(), sizes.end(), std::mt19937_64{1});
  return sizes;
}

struct Contender {
  std::string name;
  double each = 1;  ///< answers of one run
  std::function<void()> run;
  std::vector<double> nanoseconds{};  ///< of one answer, a value per round

  void time() {
    const auto start = std::chrono::steady_clock::now();
    run();
    const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - start;
    nanoseconds.push_back(spent.count() / each);
  }
};

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

double median_ratio(const Contender& a, const Contender& b) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < a.nanoseconds.size(); ++i) ratios.push_back(a.nanoseconds[i] / b.nanoseconds[i]);
  return median(ratios);
}

/// The least of 12 lines at every size: what a choice by price could cost at best.
void min_of_lines(const std::vector<double>& sizes, std::vector<double>& out) {
  constexpr std::array<double, 12> base{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  for (std::size_t i = 0; i < count; ++i) {
    double min = base[0] + sizes[i];
    for (std::size_t k = 1; k < base.size(); ++k) {
      const double t = base[k] + sizes[i] / static_cast<double>(1U << k);
      min = t < min ? t : min;
    }
    out[i] = min;
  }
  sink = out[count / 2];
}

/// Answers one at a time, the same few sizes over and over in an order without order.
template <class Answer>
Contender one_at_a_time(std::string name, const std::vector<double>& sizes, std::size_t answers, Answer answer) {
  return {std::move(name), static_cast<double>(answers), [&sizes, answers, answer] {
            double sum = 0;
            for (std::size_t i = 0; i < answers; ++i) sum += answer(sizes[i]);
            sink = sum;
          }};
}

Contender at_once(std::string name, const Curve& curve, const std::vector<double>& sizes, std::vector<double>& out) {
  return {std::move(name), static_cast<double>(count), [&] {
            evaluate(curve, sizes, out);
            sink = out[count / 2];
          }};
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 101;
  if (rounds < 1) {
    std::fputs("usage: fabricost_ratios [ROUNDS]\n", stderr);
    return 2;
  }
  const System cluster = load_system("superpod-h100"), node = load_system("dgx-h100"), ampere = load_system("dgx-a100"),
               pcie = load_system("l40s-pcie");
  const Operation three_tiers{.collective = Collective::all_reduce, .bytes = {}, .ranks = 1016};
  const Operation eight{.collective = Collective::all_reduce, .bytes = {}, .ranks = 8};
  const std::vector<double> sorted = sorted_sizes(), mixed = shuffled(sorted);
  std::vector<double> out(count);
  const Curve plain = compile(cluster, three_tiers), normed = compile(ampere, eight), shared = compile(pcie, eight);
  const auto ask = [](const System& system, Operation op) {
    return [&system, op](double bytes) {
      Operation one = op;
      one.bytes = Bytes::from_value(bytes);
      return predict(system, one).seconds;
    };
  };

  std::vector<Contender> all;
  all.push_back(one_at_a_time("pow_pair", mixed, 4096, [](double b) { return std::pow(1 + std::pow(b * 1e-10, 1.07), 1 / 1.07); }));
  all.push_back({"copy", static_cast<double>(count), [&] {
                   std::memcpy(out.data(), sorted.data(), count * sizeof(double));
                   sink = out[count / 2];
                 }});
  all.push_back({"least_of_12_lines", static_cast<double>(count), [&] { min_of_lines(sorted, out); }});
  all.push_back(one_at_a_time("predict_three_tiers", mixed, 1024, ask(cluster, three_tiers)));
  all.push_back(one_at_a_time("predict_one_node", mixed, 1024, ask(node, eight)));
  all.push_back(one_at_a_time("compile", mixed, 128, [&](double) { return static_cast<double>(compile(cluster, three_tiers).pieces()); }));
  all.push_back(
      one_at_a_time("compile_with_table", mixed, 128, [&](double) { return static_cast<double>(compile(pcie, eight).pieces()); }));
  all.push_back(one_at_a_time("curve_sorted", sorted, count, [&](double b) { return plain.seconds(b); }));
  all.push_back(one_at_a_time("curve_mixed", mixed, count, [&](double b) { return plain.seconds(b); }));
  all.push_back(one_at_a_time("curve_with_norm_sorted", sorted, count, [&](double b) { return normed.seconds(b); }));
  all.push_back(one_at_a_time("curve_with_norm_mixed", mixed, count, [&](double b) { return normed.seconds(b); }));
  all.push_back(one_at_a_time("curve_pcie_sorted", sorted, count, [&](double b) { return shared.seconds(b); }));
  all.push_back(one_at_a_time("curve_pcie_mixed", mixed, count, [&](double b) { return shared.seconds(b); }));
  all.push_back(at_once("array_sorted", plain, sorted, out));
  all.push_back(at_once("array_mixed", plain, mixed, out));
  all.push_back(at_once("array_with_norm_sorted", normed, sorted, out));
  all.push_back(at_once("array_with_norm_mixed", normed, mixed, out));
  all.push_back(at_once("array_pcie_sorted", shared, sorted, out));
  all.push_back(at_once("array_pcie_mixed", shared, mixed, out));
  for (int round = -2; round < rounds; ++round) {
    for (Contender& c : all) c.time();
    if (round < 0)  // to warm up
      for (Contender& c : all) c.nanoseconds.clear();
  }
  std::puts("name,nanoseconds,over_pow_pair,over_copy,over_least_of_12_lines");
  const auto print = [&](const Contender& c) {
    std::printf("%s,%.4g,%.4g,%.4g,%.4g\n", c.name.c_str(), median(c.nanoseconds), median_ratio(c, all[0]), median_ratio(c, all[1]),
                median_ratio(c, all[2]));
  };
  for (const Contender& c : all) print(c);

  // the search over layouts, every layout that fits priced in full
  TrainingQuestion q;
  q.model = load_model("gpt3-175b");
  q.stack = load_stack("megatron-core");
  q.gpus = 1024;
  q.global_batch = 1024;
  q.prune = false;
  System pod = cluster;
  pod.nodes = 128;  // superpod-h100 has 127, a place being the fabric manager's
  const TrainingPlan plan = plan_training(pod, q);
  const auto decided = static_cast<double>(plan.evaluated + plan.unfit + plan.bounded);
  Contender pow_pair{"pow_pair", all[0].each, all[0].run},
      layouts{"layout_priced", static_cast<double>(plan.evaluated), [&] { sink = plan_training(pod, q).layouts.front().time.seconds; }};
  Contender pruned{"layout_decided", decided, [&] {
                     TrainingQuestion quick = q;
                     quick.prune = true;
                     sink = plan_training(pod, quick).layouts.front().time.seconds;
                   }};
  // milliseconds each: longer than a busy machine leaves a process alone, so the least of many rounds
  for (int round = 0; round < std::max(3, rounds / 2); ++round)
    for (Contender* c : {&pow_pair, &layouts, &pruned}) c->time();
  const auto min = [](const Contender& c) { return *std::min_element(c.nanoseconds.begin(), c.nanoseconds.end()); };
  for (const Contender* c : {&layouts, &pruned}) std::printf("%s,%.4g,%.4g,,\n", c->name.c_str(), min(*c), min(*c) / min(pow_pair));
  std::printf("layouts_priced,%lld,,,\nlayouts_decided,%.0f,,,\n", plan.evaluated, decided);
  return 0;
}
