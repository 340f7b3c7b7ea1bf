// One's own kernels: tables read, rooflines fitted to them, stacks that hold them, steps that those price.
#include "tables.hpp"

#include "support/message_of.hpp"

#include <fabricost/plan/evaluation/calibrate_kernels.hpp>
#include <fabricost/plan/specs/stacks.hpp>
#include <fabricost/specs/load.hpp>

#include <catch.hpp>

namespace own_kernels {
using namespace fabricost::plan;
using support::contains;
using support::message_of;

const std::string header =
    "id,group,source,gpu,interconnect,op,model,hidden,ffn,heads,kv_heads,tp,ranks,ranks_per_node,tokens,bytes,time_us,derived,notes\n";

static std::vector<OpsRow> read(const std::string& rows) { return read_ops_rows(tables::File(header + rows).path()); }
static OpsRow read_one(const std::string& row) { return read(row + "\n").front(); }

/// Products on an H100 that reach 60 % of the fp8 peak and 80 % of the memory's rate after 4 us.
static std::string products(const KernelRate& truth) {
  const Processor gpu = Processor::of(load_system("dgx-h100"));
  std::string out;
  int id = 0;
  for (const double rows : {1, 16, 64, 256, 1024, 4096, 16384})
    for (const double width : {2048, 4096, 8192}) {
      const double x = 2 * rows * width * width / (truth.share * gpu.peak8),
                   y = (2 * rows * width + width * width) / (truth.memory * gpu.memory_rate);
      out += "P" + std::to_string(++id) + ",mine,s,H100,,matmul M=" + std::to_string(int(rows)) + " K=" + std::to_string(int(width)) +
             " N=" + std::to_string(int(width)) + " fp8,,,,,,,,,,," + std::to_string(1e6 * (truth.start + std::hypot(x, y))) + ",,\n";
    }
  return out;
}

TEST_CASE("kernels of engines' tables have their shapes", "[ops]") {
  const OpsRow gemm = read_one("G,g,s,B200,,gemm_nvfp4,,8192,10240,,,,,,16384,,718.5,,");
  CHECK((gemm.kind == OpKind::product && gemm.precision == Precision::fp4));
  CHECK((gemm.rows == 16384 && gemm.columns == 10240 && gemm.inner == 8192));
  CHECK(kernel_precision(read_one("G,g,s,H100,,gemm_fp8_block,,8192,10240,,,,,,16,,37,,")) == KernelPrecision::fp8_block);

  const OpsRow prefill =
      read_one("A,g,s,H100,,context_attention_fp8_kv_fp8,,8192,,64,8,,,,32768,,3928.4,,\"batch 8, sequence 4096, head 128, causal\"");
  CHECK((prefill.kind == OpKind::attention && prefill.precision == Precision::fp8));
  CHECK(prefill.rows * prefill.columns * prefill.inner == 8.0 * 64 * 4096 * 4096 * 256);

  const OpsRow decode =
      read_one("D,g,s,H100,,generation_attention_kv_bfloat16,,8192,,64,8,,,,64,,100,,\"batch 64, context 1024, head 128\"");
  CHECK(decode.kind == OpKind::decode);
  CHECK(decode.bytes == 2.0 * 64 * 1024 * 8 * 256 + 2.0 * 64 * 64 * 256);

  const OpsRow experts = read_one(
      "E,g,s,H100,,moe_bfloat16,,2048,768,,,1,32,,128,,33.7,,\"128 experts over 32 ranks, top 8, balanced, tokens entering all ranks\"");
  CHECK((experts.kind == OpKind::experts && experts.rows == 32 && experts.count == 4));
  CHECK(kernel_bytes(experts) == 2.0 * 3 * 4 * 2048 * 768);

  const OpsRow core = read_one("T,g,s,TPU7x (one of two cores of a chip),,gemm_bf16,,4096,4096,,,,,,256,,16.58,,");
  CHECK((core.part == 0.5 && core.gpu == "TPU7x"));
  const OpsRow padded =
      read_one("N,g,s,Trainium 3 (LNC=2: 2 of 8 NeuronCores),,gemm_bf16,,4096,4096,,,,,,16,,474.2,,executed 2048x4096x4096");
  CHECK((padded.part == 0.25 && padded.rows == 2048));
}

TEST_CASE("rows that say nothing of a kernel give the reason", "[ops]") {
  CHECK(contains(
      read_one("A,g,s,H100,,context_attention_bfloat16_kv_fp8,,8192,,64,8,,,,4096,,474,,\"batch 1, sequence 4096, head 128\"").row.skipped,
      "cache in another"));
  CHECK(contains(read_one("E,g,s,H100,,moe_fp8,,4096,1536,,,1,1,,16,,413,,\"128 experts over 1 ranks, top 8, power_law_1.2\"").row.skipped,
                 "not balanced"));
  // 1,243 TFLOP/s in bf16 on an H100: the rows of a group that ran in another precision than it says
  std::vector<OpsRow> rows =
      read("B1,g,s,H100,,gemm_bfloat16,,2048,6144,,,1,1,,32768,,663.4,,\nB2,g,s,H100,,gemm_bfloat16,,2048,6144,,,1,1,,8,,9,,\n");
  predict_ops_rows(rows);
  for (const OpsRow& row : rows) CHECK(contains(row.row.skipped, "faster than the peak"));
}

TEST_CASE("a roofline is found again in the times that it makes", "[calibrate]") {
  const KernelRate truth{0.6, 0.8, 4e-6};
  const KernelStackAnswer found = calibrate_kernels(read(products(truth)), load_stack("nemo"));
  REQUIRE(found.kernels.size() == 1);
  const KernelFit& one = found.kernels.front();
  CHECK((one.gpu == "h100-sxm" && one.kind == KernelKind::gemm && one.precision == KernelPrecision::fp8 && one.rows == 21));
  CHECK(one.rate.share == Approx(truth.share).epsilon(0.02));
  CHECK(one.rate.memory == Approx(truth.memory).epsilon(0.05));
  CHECK(one.rate.start == Approx(truth.start).epsilon(0.05));
  CHECK(found.mean_error() < 0.02);
}

TEST_CASE("a stack with own kernels prices steps on their GPU, and on no other", "[calibrate]") {
  KernelStackAnswer found = calibrate_kernels(read(products({0.3, 0.8, 4e-6})), load_stack("nemo"));
  found.origin = "a test";
  const tables::File file(found.yaml("mine", "2026-01-31"), ".yaml");
  const Stack mine = load_stack(file.path().string()), plain = load_stack("nemo");
  REQUIRE(mine.kernels.size() == 1);
  CHECK(mine.kernels.front().rate.share == Approx(found.kernels.front().rate.share).epsilon(1e-3));
  CHECK(mine.scale == 1);
  CHECK(mine.tensor_exposed == plain.tensor_exposed);
  Layout layout;
  layout.precision = Precision::fp8;
  const auto seconds = [&](const Stack& stack, const char* system) {
    return product_seconds(driven_by(stack, layout, Processor::of(load_system(system))), Precision::fp8, 8192, 8192, 8192);
  };
  const double work = 2 * std::pow(8192.0, 3);
  CHECK(seconds(mine, "dgx-h100") == Approx(work / (0.3 * 1979e12)).epsilon(0.05));
  Stack unscaled = plain;
  unscaled.scale = 1;
  CHECK(seconds(mine, "dgx-h200") == Approx(seconds(unscaled, "dgx-h200")));
}

TEST_CASE("a table without enough times of a kernel is refused", "[calibrate]") {
  const auto fit = [] { (void)calibrate_kernels(read("G,g,s,H100,,gemm_bf16,,4096,4096,,,,,,256,,20,,\n"), load_stack("nemo")); };
  CHECK(contains(message_of(fit), "5 times of one kind"));
}

}  // namespace own_kernels
