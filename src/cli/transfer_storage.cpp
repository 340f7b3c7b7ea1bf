/// \file transfer_storage.cpp
/// From storage into GPUs: direct and through the host, read whole, in parts, or in parts that the nodes then give each other.

#include "text/text_table.hpp"
#include "amounts.hpp"
#include "question.hpp"
#include "transfer.hpp"

#include <fabricost/explain/transfer.hpp>
#include <fabricost/network/storage.hpp>
#include <fabricost/specs/load.hpp>
#include <fabricost/text/quantity.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>

namespace fabricost::cli {
namespace {

constexpr std::array<std::string_view, 3> sharing_words{"every node reads all", "every node reads its part", "its part, then all_gather"};

/// What a node's drives or client ports deliver, and in words.
struct Source {
  double rate = 0;
  std::string words;
};
[[nodiscard]] Source source_of(const TransferOptions& typed) {
  if (typed.client.empty() == typed.read_rate.empty())
    throw RequestError(typed.client.empty() ? "read from where? Add --client LINK (as ethernet-25, ethernet-100) or --read-rate \"50 GB/s\""
                                            : "--client and --read-rate exclude each other");
  if (typed.client.empty()) {
    if (!typed.ports.empty()) throw RequestError("--ports counts the ports of --client; leave it out with --read-rate");
    const double rate = read_rate_of(typed.read_rate, "--read-rate");
    return {rate, rate_text(Bandwidth::from_value(rate)) + " a node"};
  }
  const int ports = typed.ports.empty() ? 1 : count_of(typed.ports, "--ports");
  const Link link = load_link(typed.client);
  check_client(link, "--client " + typed.client);
  const double rate = client_rate(link, ports);
  return {rate,
          fmt::format("{} port{} of {}, {} a node", ports, ports == 1 ? "" : "s", typed.client, rate_text(Bandwidth::from_value(rate)))};
}

[[nodiscard]] nlohmann::ordered_json to_json(const TransferTime& t) {
  return {{"time_s", t.seconds}, {"rate_GBps", t.rate / 1e9}, {"bottleneck", t.bottleneck.view()}};
}

}  // namespace

TransferAnswer transfer_storage(const System& system, const TransferOptions& typed) {
  for (const auto& [value, option] : {std::pair<const std::string&, const char*>{typed.sizes, "--sizes"},
                                      {typed.in_flight, "--in-flight"},
                                      {typed.warps, "--warps"},
                                      {typed.hops, "--hops"},
                                      {typed.start, "--start"}})
    only_for(value, option, "access");
  only_for(typed.senders, "--senders", "incast");
  const int nodes = typed.nodes.empty() ? 1 : count_of(typed.nodes, "--nodes");
  if (typed.size.empty() == typed.per_gpu.empty())
    throw RequestError(typed.size.empty() ? "how much? Add --size (all of it) or --per-gpu" : "--size and --per-gpu exclude each other");
  const Source source = source_of(typed);
  WeightLoading load{.nodes = nodes};
  load.node.storage_rate = source.rate;
  load.node.gpus = count_of(typed.gpus, "--gpus");
  load.node.below_switch = !typed.behind_host;
  if (!typed.latency.empty()) load.node.latency = seconds_of(typed.latency, "--latency");
  if (!typed.host_memory.empty()) load.node.host_memory_rate = memory_rate_of(typed.host_memory, "--host-memory");
  if (!typed.store_rate.empty()) load.store_rate = read_rate_of(typed.store_rate, "--store-rate");
  const bool per_gpu = typed.size.empty();
  const LoadingWays loading = loading_ways(
      system, load, {.bytes = (per_gpu ? size_of(typed.per_gpu, "--per-gpu") : size_of(typed.size, "--size")).value(), .per_gpu = per_gpu});

  TransferAnswer out;
  out.heading = fmt::format("{} from storage into {} GPU{} of {} node{}, {}", size_text(Bytes::from_value(loading.bytes)), loading.gpus,
                            loading.gpus == 1 ? "" : "s", nodes, nodes == 1 ? "" : "s", system.name);
  out.json = {
      {"system", system.name}, {"nodes", nodes}, {"gpus", loading.gpus}, {"bytes", loading.bytes}, {"node_rate_GBps", source.rate / 1e9}};
  out.json["ways"] = nlohmann::ordered_json::array();
  TextTable rows{{{"who reads what"}, {"direct", right}, {"held by"}, {"through the host", right}, {"held by"}}};
  for (const auto& [sharing, direct, bounced] : loading.ways) {
    rows.row({nodes == 1 ? std::string{"the node"} : std::string{sharing_words[static_cast<std::size_t>(sharing)]},
              time_text(Time::from_value(direct.seconds)), std::string{direct.bottleneck.view()},
              time_text(Time::from_value(bounced.seconds)), std::string{bounced.bottleneck.view()}});
    out.json["ways"].push_back({{"sharing", name(sharing)}, {"direct", to_json(direct)}, {"through_host", to_json(bounced)}});
  }
  out.text =
      wrapped("  ", fmt::format("Read by {}{}.", source.words, typed.behind_host ? ", behind the processor" : ""), 98) + rows.text(2);
  out.arithmetic = explain(loading);
  return out;
}

}  // namespace fabricost::cli
