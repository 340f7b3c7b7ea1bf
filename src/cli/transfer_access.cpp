/// \file transfer_access.cpp
/// Loads and stores of a GPU's threads (or a chip's DMA) over the scale-up tier beside an RDMA message, and from which size on the
/// message is faster; and senders that meet at one port.

#include "text/text_table.hpp"
#include "amounts.hpp"
#include "question.hpp"
#include "transfer.hpp"

#include <fabricost/explain/transfer.hpp>
#include <fabricost/network/load_store.hpp>
#include <fabricost/text/quantity.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <limits>

namespace fabricost::cli {
namespace {

void refuse_storage_options(const TransferOptions& typed) {
  for (const auto& [value, option] : {std::pair<const std::string&, const char*>{typed.per_gpu, "--per-gpu"},
                                      {typed.gpus, "--gpus"},
                                      {typed.client, "--client"},
                                      {typed.ports, "--ports"},
                                      {typed.read_rate, "--read-rate"},
                                      {typed.store_rate, "--store-rate"},
                                      {typed.latency, "--latency"},
                                      {typed.host_memory, "--host-memory"},
                                      {typed.nodes, "--nodes"}})
    only_for(value, option, "storage");
  if (typed.behind_host) throw RequestError("--behind-host belongs to transfer storage; leave it out");
}

struct Window {
  double bytes = warp_window;
  std::string words;
};
/// Threads keep in flight what they issue.
[[nodiscard]] Window window_of(const System& system, const TransferOptions& typed) {
  if (!typed.in_flight.empty() && !typed.warps.empty()) throw RequestError("--warps and --in-flight exclude each other");
  constexpr double unbounded = std::numeric_limits<double>::infinity();
  if (typed.in_flight == "unbounded") return {unbounded, "with no bound on bytes in flight"};
  if (!typed.in_flight.empty()) {
    const Bytes bytes = size_of(typed.in_flight, "--in-flight");
    if (!(bytes.value() > 0)) throw RequestError("--in-flight must be above zero, or unbounded");
    return {bytes.value(), size_text(bytes) + " in flight"};
  }
  if (typed.warps.empty() && copies_by_dma(system)) return {unbounded, "by DMA, no bound on bytes in flight"};
  const int warps = typed.warps.empty() ? 1 : count_of(typed.warps, "--warps");
  return {warps * warp_window,
          fmt::format("{} warp{}, {} in flight", warps, warps == 1 ? "" : "s", size_text(Bytes::from_value(warps * warp_window)))};
}

[[nodiscard]] std::string crossover_text(std::string_view what, double meet, double largest) {
  if (std::isinf(meet)) return fmt::format("{} are faster than RDMA at every size.", what);
  if (meet <= 0) return fmt::format("{} are never faster than RDMA.", what);
  return fmt::format("{} are faster than RDMA up to {}{}.", what, size_text(Bytes::from_value(std::floor(meet))),
                     meet > largest ? ", beyond the sizes shown" : "");
}
[[nodiscard]] nlohmann::ordered_json crossover_json(double meet) {
  return std::isinf(meet) ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(meet);
}

}  // namespace

TransferAnswer transfer_access(const System& system, const TransferOptions& typed) {
  refuse_storage_options(typed);
  only_for(typed.senders, "--senders", "incast");
  only_for(typed.size, "--size", "storage and incast (access takes --sizes)");
  const std::vector<Bytes> sizes = sizes_of(typed.sizes.empty() ? "64B:64KiB:x2" : typed.sizes, "--sizes");
  const Window window = window_of(system, typed);
  const int hops = count_of(typed.hops, "--hops");
  const AccessLines lines = access_lines(system, window.bytes, hops, typed.start.empty() ? 0 : seconds_of(typed.start, "--start"));
  const std::string tier = system.tier(TierRole::scale_up)->name.c_str();
  TransferAnswer out;
  out.heading =
      fmt::format("Over {} ({}) against RDMA by one {} port, {}", tier, window.words, system.tier(TierRole::nic)->name.view(), system.name);
  out.json = {{"system", system.name}, {"tier", tier}};
  out.json["in_flight_bytes"] = crossover_json(window.bytes);
  out.json["store_until_bytes"] = crossover_json(lines.stores_until);
  out.json["load_until_bytes"] = crossover_json(lines.loads_until);
  out.json["sizes"] = nlohmann::ordered_json::array();
  TextTable rows{{{"size", right}, {"store", right}, {"load", right}, {"RDMA", right}, {"faster than RDMA"}}};
  for (const Bytes& size : sizes) {
    const double s = lines.store(size.value()), l = lines.load(size.value()), r = lines.rdma(size.value());
    const std::string faster = s <= r && l <= r ? "store, load" : s <= r ? "store" : "none";
    rows.row({size_text(size), time_text(Time::from_value(s)), time_text(Time::from_value(l)), time_text(Time::from_value(r)), faster});
    out.json["sizes"].push_back({{"bytes", size.value()}, {"store_us", s * 1e6}, {"load_us", l * 1e6}, {"rdma_us", r * 1e6}});
  }
  out.arithmetic = explain(lines);
  const double largest = sizes.back().value();
  out.text = rows.text(2) + "\n" + wrapped("  ", crossover_text("Stores", lines.stores_until, largest), 98) +
             wrapped("  ", crossover_text("Loads", lines.loads_until, largest), 98) +
             wrapped("  ", "A store is posted, one way; a load waits for its data to come back; RDMA is one message, end to end.", 98);
  return out;
}

TransferAnswer transfer_incast(const System& system, const TransferOptions& typed) {
  refuse_storage_options(typed);
  for (const auto& [value, option] : {std::pair<const std::string&, const char*>{typed.sizes, "--sizes"},
                                      {typed.in_flight, "--in-flight"},
                                      {typed.warps, "--warps"},
                                      {typed.hops, "--hops"}})
    only_for(value, option, "access");
  if (typed.senders.empty()) throw RequestError("how many write at once? Add --senders N");
  if (typed.size.empty()) throw RequestError("how much does each send? Add --size, as in --size 1MiB");
  const int senders = count_of(typed.senders, "--senders");
  const Bytes size = size_of(typed.size, "--size");
  const Incast met = incast(system, senders, size.value(), typed.start.empty() ? 0 : seconds_of(typed.start, "--start"));
  TransferAnswer out;
  out.heading = fmt::format("{} sender{} of {} each to one port of {}", senders, senders == 1 ? "" : "s", size_text(size), system.name);
  out.arithmetic = explain(met);
  TextTable rows{{{""}, {"time", right}, {"rate of each", right}}};
  rows.row({"one alone", time_text(Time::from_value(met.alone)), rate_text(Bandwidth::from_value(met.one.rate))});
  rows.row({"all at once", time_text(Time::from_value(met.seconds)), rate_text(Bandwidth::from_value(met.rate))});
  out.text =
      rows.text(2) +
      wrapped("  ",
              "A lossless network holds the senders back by that much; others behind the same buffers suffer too, which is not modelled.",
              98);
  out.json = {{"system", system.name},       {"senders", senders},           {"bytes", size.value()},
              {"alone_us", met.alone * 1e6}, {"time_us", met.seconds * 1e6}, {"rate_GBps", met.rate / 1e9}};
  return out;
}

}  // namespace fabricost::cli
