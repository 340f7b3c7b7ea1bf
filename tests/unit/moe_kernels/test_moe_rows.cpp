// The MoE CSV: rows read, refused and skipped; the fit; measured kernels, and ranks and systems left out of the fit.
#include "support/measurements.hpp"
#include "support/message_of.hpp"
#include "support/written_file.hpp"

#include <fabricost/plan/evaluation/moe_kernel_rows.hpp>
#include <fabricost/parameters/related.hpp>
#include <fabricost/specs/load.hpp>

#include "catch.hpp"

using namespace fabricost::plan;

namespace {

const std::string header =
    "source,system,ranks,phase,implementation,dtype,tokens_per_rank,hidden,experts,top_k,distribution,sms,time_us,notes\n";
const std::string good = "a,dgx-h100,8,dispatch,deepep-normal,fp8,128,7168,256,8,uniform,24,48.6,\n";

WorkloadReport report_of(const std::string& rows) { return validate_workloads({fabricost::test::WrittenFile(header + rows).path()}); }
/// Errors of these rows as they were predicted.
WorkloadReport summary_of(const std::vector<MoeKernelRow>& rows) { return summarise(std::vector<WorkloadRow>(rows.begin(), rows.end())); }

std::vector<MoeKernelRow> measured(const std::filesystem::path& folder, std::initializer_list<const char*> systems) {
  std::vector<MoeKernelRow> out;
  for (const char* system : systems)
    for (MoeKernelRow& row : read_moe_kernel_rows(folder / (std::string(system) + ".moe.csv"))) out.push_back(std::move(row));
  return out;
}

/// Median error of `rows` in percent with the constants of `fit` for every generation it has; others with those of `otherwise`.
double median_with(const Calibration& fit, std::vector<MoeKernelRow> rows, Generation otherwise) {
  predict_moe_kernel_rows(rows, [&](System& s) {
    for (const CalibratedSet& set : fit.sets)
      if (set.generation == s.gpu.generation || (set.generation == otherwise)) s.constants.moe = set.constants.moe;
  });
  return summary_of(rows).total.median_ape;
}

}  // namespace

TEST_CASE("well-formed rows that cannot be priced are counted with the reason") {
  const WorkloadReport r = report_of(good + "a,dgx-h100,8,dispatch,pplx,fp8,128,7168,256,8,uniform,24,48.6,\n" +
                                      "a,nobodys-box,8,dispatch,deepep-normal,fp8,128,7168,256,8,uniform,24,48.6,\n" +
                                      "a,dgx-h100,8,dispatch,deepep-normal,fp8,128,7168,256,8,uniform,24,0,\n" +
                                      "a,dgx-h100,8,dispatch,deepep-normal,fp8,128,7168,256,8,uniform,24,=A1*2,\n" +
                                      "a,dgx-h100,16,dispatch,trtllm-NVLinkOneSided,nvfp4,128,7168,256,8,balanced,,48.6,\n");
  CHECK(r.total.points == 1);
  int rows = 0;
  for (const Skipped& s : r.skipped) rows += s.rows;
  CHECK(rows == 5);
}

TEST_CASE("repeats are merged by their median") {
  const std::string p = "a,gb200-nvl72,4,prepare,trtllm-NVLinkTwoSided,bfloat16,64,7168,256,8,balanced,,";
  const WorkloadReport r = report_of(p + "13,\n" + p + "90,\n" + p + "12,\n" + good);
  REQUIRE(r.total.points == 2);
  CHECK(r.rows[0].measured == Approx(13e-6));
  CHECK(r.by_group.front().name == "dgx-h100 deepep-normal dispatch");
}

TEST_CASE("the fit finds the constants that made the times") {
  Constants truth;
  truth.moe.one_sided_combine.share = 0.55;
  truth.moe.one_sided_combine.step = 1.2e-6;
  truth.moe.one_sided_combine.copy = 0.25e-6;  // of 1 KiB: 1.8 us for the 14 KiB of these rows
  truth.moe.one_sided_combine.start = 12e-6;
  std::vector<MoeKernelRow> rows;
  System system = load_system("gb200-nvl72", {}, "none");
  system.constants.moe = truth.moe;
  for (const int ranks : {2, 4, 8, 16, 32, 64})
    for (double tokens = 1; tokens < 1e5; tokens *= 2) {
      MoeKernelRow row;
      row.system = "gb200-nvl72";
      row.implementation = "trtllm-NVLinkOneSided";
      row.question = {.phase = MoePhase::combine,
                      .kernel = MoeKernel::trtllm_one_sided,
                      .gate = {256, 8},
                      .routing = {.kind = RoutingKind::balanced},
                      .hidden = 7168,
                      .tokens = tokens,
                      .ranks = ranks,
                      .precision = Precision::bf16};
      row.measured = predict(system, row.question).seconds;
      rows.push_back(row);
    }
  const Calibration fit = calibrate_moe_kernels(rows);
  REQUIRE(fit.sets.size() == 1);
  const DomainKernelConstants& found = fit.sets[0].constants.moe.one_sided_combine;
  CHECK(found.share == Approx(0.55).epsilon(0.02));
  CHECK(found.step == Approx(1.2e-6).epsilon(0.1));
  CHECK(found.copy == Approx(0.25e-6).epsilon(0.05));
  CHECK(found.start == Approx(12e-6).epsilon(0.05));
  CHECK(fit.median_after < 1);
}

TEST_CASE("NCCL EP's rows are met within 5 %, and calibrate leaves them alone") {
  std::vector<MoeKernelRow> rows = read_moe_kernel_rows(std::filesystem::path(FABRICOST_SOURCE_DIR) / "data/measurements/moe-nccl-ep.csv");
  predict_moe_kernel_rows(rows);
  for (const MoeKernelRow& row : rows) {
    CAPTURE(row.group, row.model, row.predicted, row.measured);
    CHECK(row.skipped.empty());
    CHECK(row.predicted == Approx(row.measured).epsilon(0.05));
    CHECK(row.low < row.measured);
    CHECK(row.high > row.measured);
  }
  CHECK(support::message_of([&] { return calibrate_moe_kernels(rows); }).find("no row of the files can be fitted") != std::string::npos);
}

TEST_CASE("kernels on H100, B200 and NVL72 are predicted within a median of 6 %", "[measurements]") {
  const auto folder = fabricost::test::measurements();
  if (folder.empty()) return;
  std::vector<MoeKernelRow> rows = merge_repeats(measured(folder, {"dgx-h100", "dgx-b200", "gb200-nvl72"}));
  predict_moe_kernel_rows(rows);
  const WorkloadReport report = summary_of(rows);
  CHECK(report.total.points == 11600);
  CHECK(report.skipped.empty());
  CHECK(report.total.median_ape <= 3.5);
  for (const ErrorGroup& g : report.by_group) CHECK(g.errors.median_ape <= 6);
  CHECK(report.total.interval_coverage > 0.85);
}

TEST_CASE("16 ranks of an NVL72 follow from 2, 4 and 8", "[measurements]") {
  const auto folder = fabricost::test::measurements();
  if (folder.empty()) return;
  std::vector<MoeKernelRow> few, many;
  for (MoeKernelRow& row : merge_repeats(measured(folder, {"gb200-nvl72"})))
    (row.question.ranks < 16 ? few : many).push_back(std::move(row));
  CHECK(median_with(calibrate_moe_kernels(few), many, Generation::blackwell) < 4);
}

TEST_CASE("DeepEP on one generation follows from the other, latencies stretched by NCCL's steps", "[measurements]") {
  const auto folder = fabricost::test::measurements();
  if (folder.empty()) return;
  for (const auto& [left, from] : {std::pair{"dgx-h100", "dgx-b200"}, {"dgx-b200", "dgx-h100"}}) {
    const Calibration fit = calibrate_moe_kernels(measured(folder, {from}));
    REQUIRE(fit.sets.size() == 1);
    const std::array related{fit.sets[0].constants};
    std::vector<MoeKernelRow> rows = merge_repeats(measured(folder, {left}));
    predict_moe_kernel_rows(rows,
                            [&](System& s) { take_from_related(ConstantSet::moe, s.constants, related, [](auto&&...) { return true; }); });
    INFO(left << " from " << from);
    CHECK(summary_of(rows).total.median_ape < 7);
  }
}

TEST_CASE("a kernel is calibrated on the machines it was measured on, and on no other", "[moe]") {
  const auto basis = [](const char* system, MoeKernel kernel) {
    return predict(load_system(system),
                   MoeQuestion{.kernel = kernel, .gate = {.experts = 256, .top_k = 8}, .hidden = 7168, .tokens = 1024, .ranks = 8})
        .basis;
  };
  for (const MoeKernel kernel : {MoeKernel::deepep_normal, MoeKernel::deepep_low_latency}) {
    CHECK(basis("dgx-b200", kernel) == Basis::calibrated);
    CHECK(basis("dgx-h100", kernel) == Basis::calibrated);
    CHECK(basis("gb200-nvl72", kernel) == Basis::sibling);
    CHECK(basis("dgx-b300", kernel) == Basis::sibling);
  }
  for (const MoeKernel kernel : {MoeKernel::trtllm_one_sided, MoeKernel::trtllm_two_sided}) {
    CHECK(basis("gb200-nvl72", kernel) == Basis::calibrated);
    CHECK(basis("dgx-b200", kernel) == Basis::sibling);
    CHECK(basis("dgx-h100", kernel) == Basis::datasheet);
  }
}

TEST_CASE("kernels on machines the constants never saw fall into their interval nine times in ten or so", "[measurements]") {
  const auto folder = fabricost::test::measurements();
  if (folder.empty() || !std::filesystem::is_directory(folder / "second")) return;
  for (const auto& [system, min] : {std::pair{"gb200-nvl72", 0.85}, {"dgx-h200", 0.88}, {"dgx-b300", 0.88}}) {
    std::vector<MoeKernelRow> rows;
    for (MoeKernelRow& row : read_moe_kernel_rows(folder / "second" / (std::string(system) + ".moe.csv")))
      if (row.question.kernel == MoeKernel::deepep_normal || row.question.kernel == MoeKernel::deepep_low_latency)
        rows.push_back(std::move(row));
    predict_moe_kernel_rows(rows);
    double inside = 0, all = 0;
    for (const MoeKernelRow& row : rows) {
      if (!row.skipped.empty()) continue;
      CHECK(row.basis == Basis::sibling);
      all += 1;
      inside += row.low <= row.measured && row.measured <= row.high ? 1 : 0;
    }
    INFO(system << ": " << inside / all << " of " << all);
    CHECK(all > 1000);
    CHECK(inside / all > min);
  }
}

TEST_CASE("the shipped constants are what calibrate writes", "[measurements]") {
  const auto folder = fabricost::test::measurements();
  if (folder.empty()) return;
  const Calibration fit = calibrate_moe_kernels(measured(folder, {"dgx-h100", "dgx-b200", "gb200-nvl72"}));
  REQUIRE(fit.sets.size() == 2);
  for (const CalibratedSet& set : fit.sets) {
    const System machine = load_system(set.generation == Generation::hopper ? "dgx-h100" : "dgx-b200");
    const Constants& shipped = machine.constants;
    CHECK(shipped.moe_kernels == measured_operations_of(set.fitted_on, machine));
    for (const Parameter& p : parameters_of(ConstantSet::moe)) {
      INFO(set.name << " " << p.key);
      CHECK(std::fabs(std::log(p.value(set.constants) / p.value(shipped))) < 0.01);
    }
  }
}
