#include <fabricost/plan/kernels/compute.hpp>

#include <algorithm>

namespace fabricost::plan {

Processor Processor::of(const System& system) {
  check_parts(system, {.gpu = true, .compute = true});
  const Gpu& g = system.gpu;
  Processor out;
  out.peak16 = std::max(g.bf16.value.value(), g.fp16.value.value());
  if (!(out.peak16 > 0)) throw RequestError(system.name + ": its GPU states no fp16 or bf16 rate; give gpu.fp16, in a file compute.fp16");
  out.peak8 = std::max(out.peak16, g.fp8.value.value());
  out.peak4 = std::max(out.peak8, g.fp4.value.value());
  out.memory_rate = g.hbm_bandwidth.value.value();
  out.memory = g.memory.value.value();
  out.memory_latency = g.hbm_latency.value.value();
  out.cycles = g.units * g.clock_hz;
  out.units = g.units;
  out.name = g.name;
  constexpr double tera = 1e12;
  const double peak = out.peak16 / g.arithmetic_factor / tera;
  out.watts = g.power.value.value() / peak;
  out.unit_peak = g.units > 0 ? peak / g.units : 0;
  out.use(system.constants.compute);
  const Generation made = g.generation;
  out.old_attention_is_own = made == Generation::volta || made == Generation::turing || made == Generation::ampere;
  return out;
}

const char* kernels_known(const System& system) {
  return kernels_assumed(system) ? "assumed" : system.constants.compute_related ? "sibling" : "measured";
}

double spread_on(const Stack& stack, const System& system, Precision precision, bool experts, bool other_kind) {
  return spread_of(stack, {.generation = system.gpu.generation,
                           .precision = precision,
                           .experts = experts,
                           .assumed = kernels_assumed(system),
                           .other_kind = other_kind,
                           .sibling = system.constants.compute_related});
}

std::pair<double, double> interval_of(double seconds, const Stack& stack, const System& system, Precision precision, bool experts) {
  return interval_around(seconds, spread_on(stack, system, precision, experts));
}

double p_norm(double a, double b, double q) {
  if (q == 2) return std::sqrt(a * a + b * b);
  if (q == 4) {
    const double a2 = a * a, b2 = b * b;
    return std::sqrt(std::sqrt(a2 * a2 + b2 * b2));
  }
  const double larger = std::max(a, b), smaller = std::min(a, b);
  return larger > 0 ? larger * std::pow(1 + std::pow(smaller / larger, q), 1 / q) : 0;
}

bool odd_size(double n, const ComputeForm& form) { return std::fmod(n, form.tile) != 0; }

double element_seconds(const Processor& gpu, double bytes) {
  return gpu.constants.elementwise / gpu.sustained * stream_seconds(gpu, bytes);
}

double cast_seconds(const Processor& gpu, Precision precision, double values, int copies) {
  const int reads = precision == Precision::fp4 ? 1 + copies : precision == Precision::fp8 ? 1 : 0;
  return reads == 0 ? 0 : element_seconds(gpu, (2 * reads + copies * bytes_of(precision)) * values);
}

double at_clock(const Processor& gpu, double share) {
  const double raised = share * gpu.sustained, full = gpu.constants.form.full_clock;
  return std::min(gpu.most, raised > full && gpu.sustained > 1 ? std::max(share, full * gpu.most) : raised);
}

double product_rate(const Processor& gpu, Precision p) {
  if (const KernelRate& own = gpu.own.of(KernelKind::gemm, p); own.known()) return std::min(gpu.most, own.share) * gpu.peak(p);
  const ComputeConstants& c = gpu.constants;
  const double narrow = p == Precision::fp8 ? c.gemm_fp8 : p == Precision::fp4 ? c.gemm_fp4 : 1;
  return at_clock(gpu, c.gemm * narrow) * gpu.peak(p);
}

double roofline(const Processor& gpu, double flops, double rate, double bytes) {
  return p_norm(flops / rate, stream_seconds(gpu, bytes), gpu.constants.gemm_overlap);
}

double product_seconds(const Processor& gpu, Precision precision, double M, double N, double K, double count) {
  const ComputeConstants& c = gpu.constants;
  const double penalty = odd_size(N, c.form) || odd_size(K, c.form) ? 1 + c.misaligned : 1;
  const double bytes = bytes_of(precision) * (M * K + count * K * N) + 2 * M * N;
  if (const KernelRate& own = gpu.own.of(count > 1 ? KernelKind::experts : KernelKind::gemm, precision); own.known())
    return own.start + p_norm(p_norm(2 * M * N * K * penalty / (std::min(gpu.most, own.share) * gpu.peak(precision)),
                                     bytes / (own.memory * gpu.memory_rate), c.gemm_overlap),
                              own.depth * K, c.gemm_overlap);
  return c.gemm_start * std::min(count, c.form.start_products) +
         roofline(gpu, 2 * M * N * K * penalty, product_rate(gpu, precision), bytes);
}

double attention_rate(const Processor& gpu, AttentionKernel kernel, double peak) {
  const ComputeConstants& c = gpu.constants;
  const double own = kernel == AttentionKernel::flash3                                ? c.attention_flash3
                     : kernel == AttentionKernel::flash2 && !gpu.old_attention_is_own ? c.attention_flash2
                                                                                      : 1;
  return at_clock(gpu, c.attention * own) * peak;
}

double attention_seconds(const Processor& gpu, const Stack& stack, const AttentionWork& work, Precision precision) {
  const AttentionKernel kernel = stack.attention;
  const ComputeConstants& c = gpu.constants;
  const double scores = work.queries * work.keys;
  if (kernel == AttentionKernel::math)
    return 2 * scores * work.head.sum() / (c.scores * c.gemm * gpu.peak16) + c.score_bytes * scores / (c.memory * gpu.memory_rate);
  const double tile = kernel == AttentionKernel::cudnn ? c.form.tile : c.form.tile / 2;
  const double width = tile * (std::ceil(work.head.query / tile) + std::ceil(work.head.value / tile));
  const double flops = ((work.masked ? 1 : 2) * scores + attention_block * work.keys * gpu.units) * width;
  const bool narrow = stack.fp8_attention && (precision == Precision::fp8 || precision == Precision::fp4);
  const Precision in = narrow ? Precision::fp8 : Precision::bf16;
  const double blocks = gpu.units > 0 ? c.form.attention_block * work.queries / (attention_block * gpu.units) : 0;
  if (const KernelRate& own = gpu.own.of(KernelKind::attention, in); own.known())
    return own.start + blocks + flops / (std::min(gpu.most, own.share) * gpu.peak(in)) + work.bytes / (own.memory * gpu.memory_rate);
  return blocks + flops / attention_rate(gpu, kernel, gpu.peak(in));
}

double attention_backward(const Processor& gpu, AttentionKernel kernel) {
  if (kernel == AttentionKernel::math) return 2;
  const KernelRate &forward = gpu.own.of(KernelKind::attention), &own = gpu.own.of(KernelKind::attention_backward);
  return own.known() && forward.known() ? backward_products * forward.share / own.share : gpu.constants.attention_backward;
}

double attention_traffic(const Processor& gpu, double rows, double hidden, double T, double width) {
  return 2 * (gpu.constants.form.hidden_traffic * rows * hidden + 2 * T * width);
}

double routed_traffic(const Processor& gpu, double routed, double hidden, double width) {
  return block_traffic(routed, width) + 2 * gpu.constants.form.routed_traffic * routed * hidden;
}

double biased_traffic(const Processor& gpu, double routed, double hidden, double width) {
  return 2 * gpu.constants.form.biased_traffic * routed * (hidden + width);
}

double row_kernel_seconds(const Processor& gpu, double width, double bytes) {
  const ComputeForm& form = gpu.constants.form;
  const double traffic = gpu.constants.row_traffic * stream_seconds(gpu, bytes);
  return p_norm(width / form.row_step * gpu.memory_latency, traffic, form.row_overlap);
}

double update_bytes(const MemoryStack& stack) {
  const double kept = stack.master_remainders ? std::max(0.0, stack.optimizer - 2) : stack.optimizer;
  const bool read = stack.master <= 0 || stack.master_remainders;
  return stack.gradient + 2 * kept + (read ? 2 : 1) * stack.weight;
}

double update_seconds(const Processor& gpu, const Stack& stack, double parameters) {
  for (const OwnKernel& own : stack.kernels)
    if (own.kind == KernelKind::optimizer && own.gpu == gpu.name)
      return own.rate.start + parameters * update_bytes(stack.memory) / (own.rate.memory * gpu.memory_rate);
  const double cycles = gpu.cycles > 0 ? stack.update_cycles / gpu.cycles : 0;
  return parameters * p_norm(stream_seconds(gpu, update_bytes(stack.memory)), cycles, 2);
}

}  // namespace fabricost::plan
