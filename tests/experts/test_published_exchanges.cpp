/// \file test_published_exchanges.cpp
/// The rows of moe.csv that routing and the library's exchanges can answer, error by group; and what an all-reduce beside an all_to_all
/// does to it.

#include "../catch.hpp"
#include "io/csv.hpp"
#include "support/measurements.hpp"
#include "support/systems.hpp"

#include <fabricost/io/load.hpp>
#include <fabricost/network/concurrent.hpp>
#include <fabricost/network/layout.hpp>
#include <fabricost/predict/predict.hpp>
#include <fabricost/workload/experts.hpp>

#include <cmath>
#include <map>
#include <numeric>

using namespace fabricost;

namespace {

struct Row {
  std::string id, group, quantity, gpu, method;
  int experts = 0, top_k = 0, hidden = 0, gpus = 0, per_node = 0;
  double tokens = 0, value = 0;
};

std::vector<Row> rows_of(const std::filesystem::path& file) {
  io::CsvTable table{file};
  const auto at = [&](const char* column) { return table.cell(table.column(column)); };
  const auto number = [&](const char* column) { return io::parse_number(at(column)).value_or(0); };
  const auto whole = [&](const char* column) { return static_cast<int>(number(column)); };
  std::vector<Row> out;
  while (table.next())
    out.push_back({at("id"), at("group"), at("quantity"), at("gpu"), at("method"), whole("experts"), whole("top_k"), whole("hidden"),
                   whole("gpus"), whole("gpus_per_node"), number("tokens_per_rank"), number("value")});
  table.finish();
  return out;
}

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

/// 4096 tokens over nodes of 8, at most 4 of them, as DeepEP's own test routes; GB/s as its normal kernels count.
double normal_kernel_rate(const System& system, const Row& r, Precision dispatch) {
  const Gate gate{r.experts > 0 ? r.experts : 256, r.top_k, std::max(1, r.gpus / 8), std::min(4, std::max(1, r.gpus / 8))};
  const double bytes = token_bytes(r.hidden, has(r.quantity, "combine") ? Precision::bf16 : dispatch);
  const ExpertPlacement at = place_experts(r.gpus, 8);
  const ExpertExchange x{.gate = gate, .routing = {}, .placement = at, .copies = Copies::per_domain, .bytes_per_token = bytes};
  const ExpertTraffic t = expert_traffic(gate, at, Copies::per_domain, r.tokens, bytes);
  return (at.domains() > 1 ? t.counted_across : t.counted_inside) / expert_exchange_seconds(system, x, r.tokens) / 1e9;
}

}  // namespace

TEST_CASE("published rows of expert exchanges, error by group", "[measurements]") {
  const auto folder = fabricost::test::measurements();
  if (folder.empty()) return;
  std::map<std::string, std::vector<std::pair<std::string, double>>> errors;
  for (const Row& r : rows_of(folder / "workloads" / "moe.csv")) {
    double ours = 0;
    if (r.id == "M008") ours = touched_sets({256, 8}, 8);
    if (r.id == "M010") ours = touched_sets({256, 8}, 4);
    if (r.group == "analytic_imbalance") ours = load_imbalance({r.experts, r.top_k}, {RoutingKind::uniform}, r.experts, r.tokens);
    if (r.id == "M002") {  // NVLink as reached over the NIC's rate: experts per node for one copy across
      const Curve inside = compile(load_system("deepseek-v3-h800"), AllToAll{.ranks = 8});
      ours = 7.0 / 8 * 1e9 / inside(1e9) / 50e9;
    }
    if (r.id == "M160") ours = static_cast<double>(replicate(std::vector<double>(256, 1.0), 32, 32).expert_of_slot.size()) - 256;
    if (r.group == "deepep_readme") ours = normal_kernel_rate(load_system("deepseek-v3-h800"), r, Precision::fp8);
    if (r.id == "M113" || r.id == "M114") ours = normal_kernel_rate(load_system("nebius-h200"), r, Precision::fp8);
    if (r.group == "uccl_ep_published") ours = normal_kernel_rate(load_system("aws-p6-b200"), r, Precision::fp8);
    if (has(r.group, "aws_ep_") && r.tokens == 4096)
      ours = normal_kernel_rate(load_system(has(r.group, "b300") ? "aws-p6-b300" : "aws-p5"), r,
                                has(r.group, "b300") ? Precision::bf16 : Precision::fp8);
    if (has(r.quantity, "NCCL all-to-all busbw")) {
      const Prediction p =
          predict(load_system(has(r.group, "b300") ? "aws-p6-b300" : "aws-p5"), AllToAll{.bytes = units::MiB(64), .ranks = r.gpus});
      ours = p.bus_bandwidth().value() / 1e9;
    }
    if (ours == 0) continue;
    const std::string group = has(r.quantity, "NCCL") ? r.group + ", NCCL" : r.group + (r.method.empty() ? "" : ", " + r.method);
    errors[group].emplace_back(r.id + " " + r.quantity, 100 * (ours / r.value - 1));
  }
  std::string report;
  std::map<std::string, double> median;
  for (auto& [group, list] : errors) {
    std::vector<double> sizes;
    report += group + ":";
    for (const auto& [label, error] : list) {
      sizes.push_back(std::fabs(error));
      char text[64];
      std::snprintf(text, sizeof text, " %s %+.1f %%", label.substr(0, 4).c_str(), error);
      report += text;
    }
    std::sort(sizes.begin(), sizes.end());
    median[group] = sizes[sizes.size() / 2];
    report += "\n";
  }
  WARN("moe.csv, predicted against published\n" << report);
  CHECK(median.at("analytic_dedup") < 1e-3);
  CHECK(median.at("analytic_imbalance") < 2);
  // nothing is fitted to these: kernels that keep the network busy come out; those that do not, or not in this version, are in the list
  // above
  CHECK(median.at("deepep_readme, normal kernel, top-4 groups") < 10);
  CHECK(median.at("uccl_ep_published, UCCL-EP normal") < 10);
}

TEST_CASE("an all_to_all beside an all-reduce is slowed down between what fair sends and fair collectives say, as Lina measured") {
  // USENIX ATC 2023: 16 A100s behind 100 Gbit/s InfiniBand; median slow-down 1.83, worst 4.14
  const System s = systems::machine(
      "lina", Generation::ampere, 4, 4,
      {systems::scale_up(TierKind::switched, 4, 12, 25, 20), systems::nics(1, 12.5, Transport::infiniband), systems::network("leaf", 64)});
  const Topology t = topology_of(s, 4);
  std::vector<int> all(16);
  std::iota(all.begin(), all.end(), 0);
  std::vector<ConcurrentCollective> both{
      {.name = "experts", .collective = Collective::all_to_all, .algorithm = Algorithm::direct, .ranks = all},
      {.name = "gradients", .collective = Collective::all_reduce, .ranks = all}};
  const double by_sends = contention(t, both).outcomes[0].slow_down();
  both[1].weight = 3.2;  // 12 of 15 sends of 4 ranks leave the node: as many bytes through the NIC for each collective
  const double by_collectives = contention(t, both).outcomes[0].slow_down();
  WARN("all_to_all beside all-reduce: slowed down " << by_sends << " with equal sends, " << by_collectives
                                                    << " with equal collectives; published median " << beside_all_reduce.median);
  CHECK(by_sends < beside_all_reduce.median);
  CHECK(by_collectives > beside_all_reduce.median);
  CHECK(by_collectives == Approx(2));
  // the exchange priced with the share of the NICs that the published slow-down leaves
  ExpertExchange x{.gate = {16, 2}, .routing = {}, .placement = {16, 4}, .copies = Copies::per_expert, .bytes_per_token = 2048};
  const double alone = expert_exchange_seconds(s, x, 65536);
  x.nic_share = 1 / beside_all_reduce.median;
  CHECK(expert_exchange_seconds(s, x, 65536) / alone == Approx(beside_all_reduce.median).epsilon(0.05));
}
