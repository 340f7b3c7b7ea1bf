// Pairs with and without: the ratio that an option changes a time by, beside the measured one. Nothing is claimed of pairs in prose, of
// expert kernels by proxy (T7), of a broken adaptive routing (T9), of NCCL beside another library (T5).
#include "support/measurements.hpp"
#include "support/written_file.hpp"
#include "text/csv.hpp"

#include <fabricost/predict/predict.hpp>
#include <fabricost/specs/load.hpp>

#include "catch.hpp"

using namespace fabricost::core;

namespace {

/// The columns of transports.csv that are read, by name.
struct Pair {
  std::string id, operation, variant, unit;
  double ranks = 0, bytes = 0, baseline = 0, other = 0;
  [[nodiscard]] std::string family() const { return id.substr(0, id.find('_')); }
  [[nodiscard]] bool has(std::string_view part) const { return id.find(part) != std::string::npos; }
  /// Time without over time with.
  [[nodiscard]] double ratio() const { return unit == "us" ? baseline / other : other / baseline; }
};

std::vector<Pair> pairs_of(const std::filesystem::path& file) {
  CsvTable table{file};
  const auto text = [&](const char* column) { return table.cell(table.column(column)); };
  std::vector<Pair> out;
  while (table.next())
    if (!text("variant_value").empty())  // else prose
      out.push_back({text("pair_id"), text("operation"), text("variant"), text("unit"), std::stod(text("ranks")), std::stod(text("bytes")),
                     std::stod(text("baseline_value")), std::stod(text("variant_value"))});
  return out;
}

const std::string nics_alone = R"(name: gb200-nics-alone
title: GB200s that meet through two NICs each, as ranks without NVLink
source: test
confidence: assumed
gpu: gb200
gpus: 1
nodes: 64
cpu: arm
tiers:
  - {name: c2c, role: c2c, kind: point_to_point, endpoints: 1, link: nvlink-c2c, links: 10, shared_by: 1}
  - {name: nic, role: nic, kind: rails, endpoints: 2, link: infiniband-ndr, transport: infiniband, path: c2c, gdr: true, sharp: false}
)";

struct Asked {
  const System* system = nullptr;
  Operation operation{};
  Choice without{}, with{};
};

class Machines {
 public:
  /// The question of a pair; no system: nothing is claimed.
  [[nodiscard]] Asked asked(const Pair& p) {
    Asked out;
    out.operation = {.bytes = Bytes::from_value(p.bytes), .ranks = static_cast<int>(p.ranks)};
    if (const auto op = parse_collective(p.operation.substr(0, p.operation.find(' ')))) out.operation.collective = *op;
    const bool reduces = out.operation.collective == Collective::all_reduce;
    const std::string family = p.family();
    if (family == "T1") {
      out.system = &at("gb200-nvl72");
      out.operation.nodes = (out.operation.ranks + 3) / 4;
      out.without.ways.any_buffer = true;  // NCCL 2.31
      out.with.ways = {.ctas = 4, .symmetric = true, .barrier_free = p.variant.find("no barrier") != std::string::npos};
      if (reduces) out.with.algorithm = p.variant.find("oneshot") != std::string::npos ? Algorithm::one_shot : Algorithm::two_shot;
    } else if (family == "T2") {
      out.system = &at(alone_.path().string());
      out.operation.nodes = out.operation.ranks;
      out.without = {.algorithm = p.has("srd") ? Algorithm::halving_doubling : Algorithm::ring, .protocol = Protocol::simple};
      out.with = out.without;
      out.without.ways.nic_block = 4 * mebibyte;
      out.with.ways.nic_block = mebibyte;
    } else if (family == "T3" || family == "T4") {
      out.system = &at(family == "T3" ? "superpod-gb200" : "superpod-h100");
      out.operation = {.collective = Collective::send_recv, .bytes = out.operation.bytes, .nodes = 2, .path = Path::nic};
      const Put end = p.has("Flush") ? Put::local : p.has("Signal") ? Put::signal : Put::counter;
      out.without.ways = {.put = end, .gin = family == "T4"};
      out.with.ways = {.put = family == "T4" ? Put::local : end, .gin = true};
    } else if (family == "T6") {
      out.system = &at("mi350x-8");
      if (out.operation.collective == Collective::all_gather) out.operation.bytes *= p.ranks;  // printed for a rank
      out.with.ways.relay = true;
    } else if (family == "T8") {
      out.system = &at(p.has("H200") ? "dgx-h200" : "dgx-b200");
      out.without.ways.nvls = false;
    } else if (family == "T10") {
      out.system = &at("aws-p5");
      out.operation.nodes = 2;
      out.operation.bytes = Bytes::from_value(gibibyte);  // a stream of messages of that size
      out.without.ways.pxn = false;
    }
    return out;
  }

 private:
  const System& at(const std::string& name) {
    auto found = systems_.find(name);
    if (found == systems_.end()) found = systems_.emplace(name, load_system(name)).first;
    return found->second;
  }
  fabricost::test::WrittenFile alone_{nics_alone, "fabricost-nics-alone.yaml"};
  std::map<std::string, System> systems_;
};

}  // namespace

TEST_CASE("small all-reduces of NCCL 2.31 on GB200 take the times that were measured, 128 KiB to 1 MiB as well", "[measurements]") {
  const auto folder = fabricost::test::measurements();
  if (folder.empty()) return;
  Machines machines;
  std::vector<double> errors;
  for (const Pair& p : pairs_of(folder / "second" / "newer" / "transports.csv")) {
    if (!p.has("T1_allreduce")) continue;
    const Asked a = machines.asked(p);
    INFO(p.ranks << " ranks, " << p.bytes << " B");
    const Prediction own = predict(*a.system, a.operation, a.without);
    errors.push_back(std::fabs(own.seconds * 1e6 / p.baseline - 1));
    CHECK(errors.back() < 0.2);
    CHECK((own.low * 1e6 <= p.baseline && p.baseline <= own.high * 1e6));
  }
  REQUIRE(errors.size() > 80);
  std::sort(errors.begin(), errors.end());
  CHECK(errors[errors.size() / 2] <= 0.06);
}

TEST_CASE("an option changes a time by the ratio that was measured, within a median of 15 % of every family", "[measurements]") {
  const auto folder = fabricost::test::measurements();
  if (folder.empty()) return;
  Machines machines;
  std::map<std::string, std::vector<double>> errors, moved;  // all pairs; those whose ratio is not 1
  for (const Pair& p : pairs_of(folder / "second" / "newer" / "transports.csv")) {
    const Asked a = machines.asked(p);
    if (a.system == nullptr) continue;
    const double ratio = predict(*a.system, a.operation, a.without).seconds / predict(*a.system, a.operation, a.with).seconds;
    const double error = std::fabs(ratio / p.ratio() - 1);
    errors[p.family()].push_back(error);
    if (std::fabs(p.ratio() - 1) > 0.1) moved[p.family()].push_back(error);
  }
  const std::map<std::string, std::size_t> counts{{"T1", 108}, {"T2", 228}, {"T3", 69}, {"T4", 14}, {"T6", 176}, {"T8", 10}, {"T10", 10}};
  for (const auto& [family, count] : counts) {
    INFO(family);
    CHECK(errors[family].size() == count);
    for (std::vector<double>* const each : {&errors[family], &moved[family]}) {
      REQUIRE_FALSE(each->empty());
      std::sort(each->begin(), each->end());
      CHECK((*each)[each->size() / 2] <= 0.15);
    }
  }
}
