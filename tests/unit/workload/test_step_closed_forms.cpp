// Terms of a step against arithmetic worked out here from the shapes and from predict().
#include "jobs.hpp"

#include "support/gpt.hpp"

#include <fabricost/predict/predict.hpp>
#include <fabricost/plan/specs/stacks.hpp>
#include <fabricost/plan/training/step.hpp>

#include <catch.hpp>

#include <cmath>

using namespace fabricost::plan;
using fabricost::test::gpt;

namespace {

/// A GPT of 4 layers, h 1024, 16 heads of 64, f 4096, 32,000 words.
Model small() { return gpt(4, 1024, 16, 32000); }

/// Nothing but the exchange of data counts.
Stack bare() {
  Stack s;
  s.accumulation_bytes = 0;
  return s;
}

double collective(const System& system, Collective what, double bytes, int ranks, int nodes = 1) {
  return predict(system, Operation{.collective = what, .bytes = Bytes::from_value(bytes), .ranks = ranks, .nodes = nodes}).seconds;
}

StepTime priced(const Model& m, const Layout& l, const Stack& stack, const std::string& system = "dgx-h100", double peak = 1e15) {
  GroupCosts costs(jobs::machine(system));
  return step_time(m, l, stack, jobs::plain_processor(peak), costs);
}

/// Forward and backward of fused attention, in its forward's time.
double attention_passes() { return 1 + jobs::plain_processor(1e15).constants.attention_backward; }

// kernels of one layer, forward: 2 M N K of four products, causal half of 4 a d s^2 of attention
double layer_flops(double b, double s) { return 2 * b * s * (1024 * 3072.0 + 1024 * 1024.0 + 2 * 1024 * 4096.0) + 2 * b * s * s * 1024; }
double core_flops(double b, double s) { return 2 * b * s * s * 1024; }

}  // namespace

TEST_CASE("without floors, starts and memory one GPU takes the FLOPs of the shape over its peak", "[step]") {
  const Layout l{.microbatch = 2, .global_batch = 6, .sequence = 2048};
  const double forward = 4 * (layer_flops(2, 2048) - core_flops(2, 2048)), core = 4 * core_flops(2, 2048);
  const double head = 3 * 2 * 2.0 * 2048 * 1024 * 32000;  // 32,000 is 250 x 128: nothing padded
  const StepTime t = priced(small(), l, bare());
  CHECK(t.seconds == Approx(3 * (3 * forward + attention_passes() * core + head) / 1e15).epsilon(1e-12));
  CHECK(t.compute == Approx(t.seconds));
  // the known rule, 6 N per token + causal scores, with the passes that fused attention makes over them
  const double rule = 6.0 * 2048 * 6 * (4 * 12 * 1024.0 * 1024 + 1024 * 32000.0) + attention_passes() * 6 * 4 * core_flops(1, 2048);
  CHECK(t.seconds == Approx(rule / 1e15).epsilon(1e-9));
}

TEST_CASE("full recomputation adds one forward of the layers, of a part of them a part", "[step]") {
  Layout l{.microbatch = 1, .global_batch = 4, .sequence = 1024};
  const double none = priced(small(), l, bare()).seconds;
  l.recompute = Recompute::full;
  const double full = priced(small(), l, bare()).seconds;
  CHECK(full - none == Approx(4 * 4 * layer_flops(1, 1024) / 1e15).epsilon(1e-9));
  l.recompute_layers = 1;
  CHECK(priced(small(), l, bare()).seconds - none == Approx((full - none) / 4).epsilon(1e-9));
  l.recompute = Recompute::selective;
  CHECK(priced(small(), l, bare()).seconds - none == Approx(4 * 4 * core_flops(1, 1024) / 1e15).epsilon(1e-9));
}

TEST_CASE("a layer cannot be faster than its launches, one forward and two backward", "[step]") {
  GroupCosts costs(jobs::machine("dgx-h100"));
  Processor gpu = jobs::plain_processor(1e30);
  gpu.constants.layer_floor = 1e-3;
  const Layout l{.microbatch = 1, .global_batch = 5, .sequence = 512};
  CHECK(step_time(small(), l, bare(), gpu, costs).seconds == Approx(5 * 4 * 3e-3).epsilon(1e-9));
}

TEST_CASE("every kernel of a layer starts: its products, ten others, as many for casts, four for each further step of a ring", "[step]") {
  GroupCosts costs(jobs::machine("dgx-h100"));
  Processor gpu = jobs::plain_processor(1e30);
  gpu.constants.gemm_start = 1e-6;
  gpu.constants.elementwise = 1;
  const double beside = gpu.constants.form.layer_kernels, ring = gpu.constants.form.ring_kernels;
  Layout l{.microbatch = 1, .global_batch = 1, .sequence = 8192};
  const auto kernels = [&] { return fabricost::plan::LayerModel{small(), l, bare(), gpu, costs}.kernels({}).sum() / 1e-6; };
  CHECK(kernels() == Approx(4 + beside));  // queries with keys and values, result, into and out of the feed-forward block
  CHECK(layer_time(small(), l, bare(), gpu, costs, {}).sum() == Approx(1e-6 * 3 * (4 + beside)));
  l.precision = Precision::fp8;
  CHECK(kernels() == Approx(4 + 2 * beside));
  l.precision = Precision::bf16;
  l.cp = 4;
  CHECK(kernels() == Approx(4 + beside + 3 * ring));
  l.context = ContextParallel::all_gather;
  CHECK(kernels() == Approx(4 + beside));
  l.context = ContextParallel::ulysses;  // four ranks share sixteen heads: no ring is left
  CHECK(kernels() == Approx(4 + beside));
}

TEST_CASE("what narrow products read is cast: read once and written twice in fp8, read thrice in fp4", "[step]") {
  GroupCosts costs(jobs::machine("dgx-h100"));
  Processor gpu = jobs::plain_processor(1e15);
  gpu.memory_rate = 1e12;
  gpu.constants.memory = gpu.constants.elementwise = 1;
  Layout l{.microbatch = 2, .global_batch = 2, .sequence = 1024};
  const double T = 2048, in = T * (1024 + 1024 + 1024 + 4096), out = T * (3072 + 1024 + 4096 + 1024);
  const auto casts = [&] {
    const auto k = fabricost::plan::LayerModel{small(), l, bare(), gpu, costs}.kernels({});
    return std::pair{k.cast * 1e12, k.cast_back * 1e12};
  };
  CHECK(casts().first == 0);
  l.precision = Precision::fp8;
  CHECK(casts().first == Approx(4 * in));
  CHECK(casts().second == Approx(4 * out));
  l.precision = Precision::fp4;
  CHECK(casts().first == Approx((6 + 2 * bytes_in_4_bit) * in));
  gpu.sustained = 1.25;  // more power, a higher clock
  CHECK(casts().first == Approx((6 + 2 * bytes_in_4_bit) * in / 1.25));
  gpu.constants.elementwise = 2;  // a cast is an element-wise kernel like the others
  CHECK(casts().first == Approx(2 * (6 + 2 * bytes_in_4_bit) * in / 1.25));
}

TEST_CASE("rows that dispatch sorts by expert are copied once, all others read and written by each kernel between the products", "[step]") {
  Model m = small();
  m.ffn = 0;
  m.experts = 16;
  m.top_k = 4;
  m.expert_ffn = 1024;
  m.gated = true;
  GroupCosts costs(jobs::machine("dgx-h100"));
  Processor gpu = jobs::plain_processor(1e30);
  gpu.memory_rate = 1e12;
  gpu.constants.memory = gpu.constants.elementwise = 1;
  const Layout l{.microbatch = 1, .global_batch = 1, .sequence = 2048};
  Stack fused = bare();
  fused.fused_experts = true;
  const auto moved = [&](const Stack& stack) {
    return 1e12 * fabricost::plan::LayerModel{m, l, stack, gpu, costs}.kernels({true, true, true}).element;
  };
  const double rows = 4 * 2048, sorting = gpu.constants.form.routed_traffic;
  CHECK(moved(bare()) - moved(fused) == Approx(rows * (4 * 3 * 1024 + 2 * (sorting - 1) * 1024)));
  const double plain = moved(bare()), in_products = moved(fused);
  m.biases = true;  // of experts: added by kernels of their own, unless the products add them
  CHECK(moved(bare()) - plain == Approx(rows * 2 * gpu.constants.form.biased_traffic * (1024 + 1024)));
  CHECK(moved(fused) == in_products);
}

TEST_CASE("a stack whose host launches slower has a longer floor, and with stages nothing hides the gradients", "[step]") {
  GroupCosts costs(jobs::machine("dgx-h100"));
  Processor gpu = jobs::plain_processor(1e30);
  gpu.constants.layer_floor = 1e-3;
  const Layout one{.microbatch = 1, .global_batch = 1, .sequence = 128};
  Stack eager = bare();
  eager.launches = 1.5;
  CHECK(step_time(small(), one, eager, gpu, costs).floor == Approx(1.5 * step_time(small(), one, bare(), gpu, costs).floor));
  Layout staged{.pp = 2, .dp = 2, .zero = 1, .microbatch = 1, .global_batch = 8, .sequence = 128};
  Stack hides = bare();
  hides.data_exposed = 0;
  CHECK(step_time(small(), staged, hides, gpu, costs).data == Approx(step_time(small(), staged, bare(), gpu, costs).data));
}

TEST_CASE("attention in fp8 runs at the fp8 peak where the layer's products are narrow", "[step]") {
  Processor gpu = jobs::plain_processor(1e15);
  gpu.peak8 = 2e15;
  GroupCosts costs(jobs::machine("dgx-h100"));
  Layout l{.microbatch = 1, .global_batch = 1, .sequence = 4096};
  Stack narrow = bare();
  narrow.fp8_attention = true;
  CHECK(step_time(small(), l, narrow, gpu, costs).seconds == step_time(small(), l, bare(), gpu, costs).seconds);
  l.precision = Precision::fp8;
  const double saved = step_time(small(), l, bare(), gpu, costs).seconds - step_time(small(), l, narrow, gpu, costs).seconds;
  CHECK(saved == Approx(4 * attention_passes() * core_flops(1, 4096) / 2e15).epsilon(1e-9));
}

TEST_CASE("a GPU with more power per FLOP runs products faster, never above the best measured share of its peak", "[step]") {
  Processor gpu = jobs::plain_processor(1e15);
  ComputeConstants c = gpu.constants;
  c.gemm = 0.5;
  c.gemm_watts = 0.5;
  const auto rate = [&](double watts) {
    gpu.watts = watts;
    gpu.use(c);
    return product_rate(gpu, Precision::bf16);
  };
  CHECK(rate(0.5) == Approx(0.5e15));
  CHECK(rate(0.6) / rate(0.5) == Approx(std::pow(1.2, c.form.power)));
  CHECK(rate(500) == Approx(c.form.full_clock * 1e15));
  CHECK(rate(0) == Approx(0.5e15));  // no power is published
  c.gemm_peak = gpu.unit_peak = 10;
  CHECK(rate(0.5) == Approx(0.5e15));
  gpu.peak16 *= 1.1;  // the same power for the same processors, whose peak is stated at a higher clock
  gpu.unit_peak *= 1.1;
  CHECK(rate(0.5 / 1.1) == Approx(0.5e15));
  c.gemm_watts = 0;
  CHECK(rate(0.6) == Approx(0.55e15));  // of whom the share was measured on, nothing is known
}

TEST_CASE("fused attention waits for its longest block, and fills a pipeline for each block of queries", "[step]") {
  Processor gpu = jobs::plain_processor(1e15);
  gpu.units = 100;
  const auto seconds = [&](const Processor& on, double heads, double s) {
    return attention_seconds(on, Stack{}, {heads * s, s, {128, 128}}, Precision::bf16);
  };
  const double start = gpu.constants.form.attention_block;
  CHECK(seconds(gpu, 32, 4096) == Approx((32 * 4096.0 * 4096 + 128 * 4096.0 * 100) * 256 / 1e15 + 32 * 4096.0 / 128 / 100 * start));
  // FlashAttention-4 on B300, 16 heads of 128, 32,768 tokens (github.com/Dao-AILab/flash-attention/pull/2605): TFLOP/s
  const Processor b300 = Processor::of(jobs::machine("dgx-b300"));
  const auto rate = [&](double s) { return s / seconds(b300, 16 * 32768 / s, s); };
  CHECK(rate(4096) / rate(1024) == Approx(1381.0 / 785).epsilon(0.15));
  CHECK(rate(4096) / rate(2048) == Approx(1381.0 / 1132).epsilon(0.15));
}

TEST_CASE("two GPUs of one die differ by their power alone, whatever their peaks", "[step]") {
  const Processor b200 = Processor::of(jobs::machine("dgx-b200")), gb200 = Processor::of(jobs::machine("gb200-nvl72"));
  REQUIRE(gb200.peak16 > 1.1 * b200.peak16);
  const double watts = gb200.watts * gb200.peak16 / (b200.watts * b200.peak16);
  CHECK(product_rate(gb200, Precision::bf16) / product_rate(b200, Precision::bf16) == Approx(std::pow(watts, b200.constants.form.power)));
}

TEST_CASE("a step waits for the slowest of its nodes: not at all on one, then as the largest of normal deviations", "[step]") {
  const System& h100 = jobs::machine("dgx-h100");
  GroupCosts costs(h100);
  Processor gpu = jobs::plain_processor(1e15);
  gpu.constants.straggle = 0.02;
  const auto share = [&](int replicas) {
    const Layout l{.dp = replicas, .microbatch = 1, .global_batch = replicas, .sequence = 2048};
    const StepTime t = step_time(small(), l, bare(), gpu, costs);
    return t.stragglers / (t.seconds - t.stragglers);
  };
  CHECK(share(8) == 0);
  CHECK(share(64) == Approx(0.02 * std::sqrt(2 * std::log(8.0))));
  CHECK(share(1024) == Approx(0.02 * std::sqrt(2 * std::log(128.0))));
}

TEST_CASE("fp8 parameters are gathered in half the bytes", "[step]") {
  GroupCosts costs(jobs::machine("dgx-h100"));
  Layout l{.dp = 8, .zero = 1, .microbatch = 1, .global_batch = 8, .sequence = 2048, .precision = Precision::fp8};
  Stack wide = bare(), narrow = bare();
  wide.scale = narrow.scale = 1;
  narrow.memory.fp8_parameters = true;
  const Processor gpu = jobs::plain_processor(1e15);
  const double count = parameters_of(small()).total;
  const auto gather = [&](double bytes) { return collective(jobs::machine("dgx-h100"), Collective::all_gather, bytes, 8); };
  const auto data = [&](const Stack& s) { return step_time(small(), l, s, gpu, costs).data; };
  CHECK(data(wide) - data(narrow) == Approx(gather(2 * count) - gather(count)).epsilon(1e-6));
  l.precision = Precision::bf16;
  CHECK(data(wide) == data(narrow));
}

TEST_CASE("tensor ranks expose what the library's collectives say", "[step]") {
  const System& h100 = jobs::machine("dgx-h100");
  Layout l{.tp = 8, .microbatch = 2, .global_batch = 6, .sequence = 2048};
  const double bytes = 2.0 * 2048 * 1024 * 2, layers = 4, micro = 3;
  CHECK(priced(small(), l, bare()).tensor == Approx(micro * layers * 4 * collective(h100, Collective::all_reduce, bytes, 8)).epsilon(1e-9));
  l.recompute = Recompute::full;
  CHECK(priced(small(), l, bare()).tensor == Approx(micro * layers * 6 * collective(h100, Collective::all_reduce, bytes, 8)).epsilon(1e-9));
  l.recompute = Recompute::none;
  l.sequence_parallel = true;
  const double gather = collective(h100, Collective::all_gather, bytes, 8),
               scatter = collective(h100, Collective::reduce_scatter, bytes, 8);
  CHECK(priced(small(), l, bare()).tensor == Approx(micro * layers * (6 * gather + 4 * scatter)).epsilon(1e-9));
  Stack hidden = bare();
  hidden.tensor_exposed = 0.25;
  const double all = micro * layers * (6 * gather + 4 * scatter);
  CHECK(priced(small(), l, hidden, "dgx-h100", 1e13).tensor == Approx(all / 4).epsilon(1e-9));
  // kernels of a hundredth of that time hide no more exchange than they take themselves
  const StepTime fast = priced(small(), l, hidden);
  const double kernels = fast.compute - micro * head_time(small(), l, hidden, jobs::plain_processor(1e15));
  CHECK(fast.tensor == Approx(all - kernels).epsilon(1e-9));
}

TEST_CASE("context ranks gather keys and values: hidden but for a share in a ring, open when gathered, four exchanges by Ulysses",
          "[step]") {
  const System& h100 = jobs::machine("dgx-h100");
  Layout l{.cp = 4, .microbatch = 1, .global_batch = 2, .sequence = 8192};
  const double tokens = 8192 / 4, layers = 4, micro = 2;
  const double gather = collective(h100, Collective::all_gather, 2 * tokens * 2048 * 4, 4);
  CHECK(priced(small(), l, bare(), "dgx-h100", 1e14).context == Approx(micro * layers * 3 * 0.1 * gather).epsilon(1e-9));
  l.context = ContextParallel::all_gather;
  CHECK(priced(small(), l, bare()).context == Approx(micro * layers * 3 * gather).epsilon(1e-9));
  l.context = ContextParallel::ulysses;
  const double there = collective(h100, Collective::all_to_all, 2 * tokens * 3072, 4),
               back = collective(h100, Collective::all_to_all, 2 * tokens * 1024, 4);
  CHECK(priced(small(), l, bare()).context == Approx(micro * layers * 2 * (there + back)).epsilon(1e-9));
}

TEST_CASE("expert ranks exchange every routed token four times a step, distinct ranks alone when deduplicated", "[step]") {
  Model m = small();
  m.ffn = 0;
  m.experts = 16;
  m.top_k = 4;
  m.expert_ffn = 1024;
  const System& h100 = jobs::machine("dgx-h100");
  const Layout l{.ep = 8, .dp = 8, .microbatch = 1, .global_batch = 16, .sequence = 2048};
  const double layers = 4, micro = 2, row = 2 * 1024;
  const auto exchange = [&](double bytes) { return collective(h100, Collective::all_to_all, bytes, 8); };
  CHECK(priced(m, l, bare()).expert == Approx(micro * layers * 4 * exchange(2048 * 4 * row)).epsilon(1e-9));
  Stack stack = bare();
  stack.deduplicated = true;
  // ranks a token's four of sixteen experts are on: drawn with replacement at the least, without at the most
  const double min = 8 * (1 - std::pow(7.0 / 8, 4)), max = 8 * (1 - 14.0 * 13 * 12 * 11 / (16.0 * 15 * 14 * 13));
  const double sent = priced(m, l, stack).expert;
  CHECK(sent >= micro * layers * 4 * exchange(2048 * min * row) * (1 - 1e-6));
  CHECK(sent <= micro * layers * 4 * exchange(2048 * max * row) * (1 + 1e-6));
}

TEST_CASE("tokens exchanged behind another microbatch lie open while the pipeline fills and drains", "[step]") {
  GroupCosts costs(jobs::machine("gb200-nvl72"));
  const Processor gpu = Processor::of(costs.system());
  Stack open = load_stack("nemo"), behind = open;
  behind.expert_exposed = 0;
  for (const int chunks : {1, 4}) {
    Layout l{.tp = 1, .pp = 4, .vp = chunks, .ep = 32, .dp = 64, .zero = 1, .microbatch = 1, .global_batch = 64 * 30, .sequence = 4096};
    l.schedule = chunks > 1 ? PipelineSchedule::interleaved : PipelineSchedule::one_f_one_b;
    const Model& m = jobs::model("deepseek-v3");
    const double all = step_time(m, l, open, gpu, costs).expert, left = step_time(m, l, behind, gpu, costs).expert;
    const double fill = chunks > 1 ? 2 * 3 + 3 * 4 : 3;  // passes before the first backward
    CHECK(left == Approx(all * fill / (chunks * 30)).epsilon(1e-9));
    l.global_batch *= 2;  // twice the microbatches fill the same pipeline
    CHECK(step_time(m, l, behind, gpu, costs).expert == Approx(left).epsilon(1e-9));
  }
}

TEST_CASE("a pipeline fills once and hands over from stage to stage", "[step]") {
  const System& h100 = jobs::machine("dgx-h100");
  Layout l{.pp = 4, .microbatch = 1, .global_batch = 12, .sequence = 2048};
  const double stage = (3 * (layer_flops(1, 2048) - core_flops(1, 2048)) + attention_passes() * core_flops(1, 2048)) / 1e15;
  const double C = collective(h100, Collective::send_recv, 2.0 * 2048 * 1024, 2);
  const double head = 3 * 2 * 2048.0 * 1024 * 32000 / 1e15;
  const StepTime plain = priced(small(), l, bare());
  CHECK(plain.seconds - plain.pipeline == Approx((12 + 3) * stage + 12 * head).epsilon(1e-9));
  // six hand-overs fill and drain it; a slow last stage hides more of the rest
  CHECK(plain.pipeline >= 6 * C * (1 - 1e-9));
  CHECK(plain.pipeline <= (2 * 3 * (12 + 4) / 4.0 - 2) * C * (1 + 1e-9));
  l.vp = 2;
  Model twice = small();
  twice.layers = 8;
  const StepTime interleaved = priced(twice, l, bare());
  CHECK(interleaved.seconds - interleaved.pipeline == Approx((12 + 3.0 / 2) * 2 * stage + 12 * head).epsilon(1e-9));
  CHECK(interleaved.pipeline == Approx((2 * 4 * 2 - 2 - 4) * C).epsilon(1e-9));
}

TEST_CASE("replicas exchange gradients and weights once a step, or for every microbatch when weights are sharded", "[step]") {
  const System& h100 = jobs::machine("dgx-h100");
  Layout l{.dp = 8, .microbatch = 1, .global_batch = 24, .sequence = 1024};
  const ParameterCount n = parameters_of(small());
  const double parameters = n.total - 1024;  // with or without the last norm
  CHECK(priced(small(), l, bare()).data == Approx(collective(h100, Collective::all_reduce, 4 * parameters, 8)).epsilon(1e-4));
  l.zero = 1;
  const double gather = collective(h100, Collective::all_gather, 2 * parameters, 8);
  const double scatter = collective(h100, Collective::reduce_scatter, 4 * parameters, 8);
  CHECK(priced(small(), l, bare()).data == Approx(gather + scatter).epsilon(1e-4));
  l.zero = 3;
  Stack open = bare(), hidden = bare();
  open.shard_exposed = 1;
  hidden.shard_exposed = 0;
  const double z = 2 * gather + scatter;
  CHECK(priced(small(), l, open).data == Approx(3 * z).epsilon(1e-4));
  CHECK(priced(small(), l, hidden).data < priced(small(), l, open).data);
  // half of it is in the open, the other hides behind the work as far as that reaches
  Stack half = bare();
  half.shard_exposed = 0.5;
  const double work = priced(small(), l, half).compute / 3;
  CHECK(priced(small(), l, half).data == Approx(3 * (z / 2 + std::pow(std::pow(work, 4) + std::pow(z / 2, 4), 0.25) - work)).epsilon(1e-4));
  // nothing to hide behind: all of it shows even where the stack would hide it
  CHECK(priced(small(), l, hidden, "dgx-h100", 1e30).data == Approx(3 * z).epsilon(1e-4));
}

TEST_CASE("adding up gradients is a term of its own, one pass over the rank's parameters a microbatch after the first", "[step]") {
  GroupCosts costs(jobs::machine("dgx-h100"));
  Processor gpu = jobs::plain_processor(1e15);
  gpu.memory_rate = 1e12;
  gpu.constants.memory = 1;
  const double parameters = parameters_of(small()).total - 1024;
  for (const int microbatches : {1, 5}) {
    const Layout l{.dp = 8, .zero = 1, .microbatch = 1, .global_batch = 8 * microbatches, .sequence = 1024};
    Stack stack = bare();
    stack.accumulation_bytes = 6;
    const StepTime t = step_time(small(), l, stack, gpu, costs);
    CHECK(t.accumulation == Approx((microbatches - 1) * 6 * parameters / 1e12).epsilon(1e-4));
    CHECK(t.optimizer == Approx(30 * parameters / 8 / 1e12).epsilon(1e-4));  // once a step, whatever the microbatches
  }
}

TEST_CASE("a rank updates what it owns", "[step]") {
  GroupCosts costs(jobs::machine("dgx-h100"));
  Processor gpu = jobs::plain_processor(1e15);
  gpu.memory_rate = 1e12;
  gpu.constants.memory = 1;
  Layout l{.dp = 8, .microbatch = 1, .global_batch = 8, .sequence = 1024};
  const double parameters = parameters_of(small()).total - 1024;
  CHECK(step_time(small(), l, bare(), gpu, costs).optimizer == Approx(30 * parameters / 1e12).epsilon(1e-4));
  l.zero = 1;
  CHECK(step_time(small(), l, bare(), gpu, costs).optimizer == Approx(30 * parameters / 8 / 1e12).epsilon(1e-4));
}
