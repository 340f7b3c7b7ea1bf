/// \file transfer.cpp
/// fabricost transfer: its three answers as text.

#include "cli/face.hpp"
#include "cli/subcommands.hpp"
#include "text/text_table.hpp"
#include "text/units.hpp"

#include <fabricost/answers/transfer.hpp>
#include <fabricost/explain/assumed.hpp>
#include <fabricost/explain/transfer.hpp>
#include <fabricost/text/quantity.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

namespace fabricost::cli {
namespace {

/// A request of transfer, with the option to show its arithmetic.
template <HasFields Request>
struct Explained : Request {
  bool arithmetic = false;

  static constexpr auto fields() {
    return tables(Request::fields(), Table{asks(&Explained::arithmetic, "explain", "--explain", Amount::number, Range{}, "",
                                                "Show the arithmetic behind every time")});
  }
  [[nodiscard]] std::string below(const Terminal& terminal, const std::string& heading, const std::string& text,
                                  const std::string& shown) const {
    return terminal.strong(heading) + "\n" + text + (arithmetic ? "\n" + shown : "");
  }
};

[[nodiscard]] std::string seconds_text(double seconds) { return time_text(Time::from_value(seconds)); }
[[nodiscard]] std::string bytes_text(double bytes) { return size_text(Bytes::from_value(bytes)); }
[[nodiscard]] std::string per_second_text(double rate) { return rate_text(Bandwidth::from_value(rate)); }

[[nodiscard]] std::string storage_text(const StorageAnswer& a, const Terminal& terminal, const Explained<StorageRequest>& request) {
  constexpr std::array<std::string_view, 3> who{"every node reads all", "every node reads its part", "its part, then all_gather"};
  TextTable rows{{{"who reads what"}, {"direct", right}, {"held by"}, {"through the host", right}, {"held by"}}};
  for (std::size_t i = 0; i < a.ways.size(); ++i) {
    const auto sharing = static_cast<std::size_t>(a.made.ways[i].sharing);
    rows.row({a.nodes == 1 ? std::string{"the node"} : std::string{who[sharing]}, seconds_text(a.ways[i].direct_seconds),
              a.ways[i].direct_bottleneck, seconds_text(a.ways[i].through_host_seconds), a.ways[i].through_host_bottleneck});
  }
  const std::string source = request.client ? fmt::format("{} of {}, ", counted(request.ports.value_or(1), "port"), *request.client) : "";
  return request.below(
      terminal,
      fmt::format("{} from storage into {} of {}, {}", bytes_text(a.bytes), counted(a.gpus, "GPU"), counted(a.nodes, "node"), a.system),
      wrapped("  ",
              fmt::format("Read by {}{} a node{}.", source, per_second_text(a.node_bytes_per_second),
                          request.behind_host ? ", behind the processor" : ""),
              98) +
          rows.text(2),
      explain(a.made));
}

[[nodiscard]] std::string window_text(const AccessAnswer& a, const AccessRequest& request) {
  if (a.by_dma) return "by DMA, no bound on bytes in flight";
  if (std::isinf(a.in_flight_bytes)) return "with no bound on bytes in flight";
  const std::string in_flight = bytes_text(a.in_flight_bytes) + " in flight";
  return request.in_flight_bytes ? in_flight : counted(request.warps.value_or(1), "warp") + ", " + in_flight;
}

[[nodiscard]] std::string crossover_text(std::string_view what, double meet, double from, double largest) {
  if (std::isfinite(from)) return fmt::format("{} are faster than RDMA from {} on.", what, bytes_text(std::ceil(from)));
  if (std::isinf(meet)) return fmt::format("{} are faster than RDMA at every size.", what);
  if (meet <= 0) return fmt::format("{} are never faster than RDMA.", what);
  return fmt::format("{} are faster than RDMA up to {}{}.", what, bytes_text(std::floor(meet)),
                     meet > largest ? ", beyond the sizes shown" : "");
}

[[nodiscard]] std::string access_text(const AccessAnswer& a, const Terminal& terminal, const Explained<AccessRequest>& request) {
  TextTable rows{{{"size", right}, {"store", right}, {"load", right}, {"RDMA", right}, {"faster than RDMA"}}};
  for (const AccessOfSize& at : a.sizes()) {
    const bool store = at.store_seconds <= at.rdma_seconds, load = at.load_seconds <= at.rdma_seconds;
    rows.row({bytes_text(at.bytes), seconds_text(at.store_seconds), seconds_text(at.load_seconds), seconds_text(at.rdma_seconds),
              store && load ? "store, load"
              : store       ? "store"
              : load        ? "load"
                            : "none"});
  }
  const double largest = a.bytes.back();
  return request.below(
      terminal, fmt::format("Over {} ({}) against RDMA by one {} port, {}", a.tier, window_text(a, request), a.nic_tier, a.system),
      rows.text(2) + "\n" +
          wrapped("  ", crossover_text("Stores", a.store_until_bytes, faster_from(a.made.store, a.made.rdma), largest), 98) +
          wrapped("  ", crossover_text("Loads", a.load_until_bytes, faster_from(a.made.load, a.made.rdma), largest), 98) +
          wrapped("  ", "A store is posted, one way; a load waits for its data to come back; RDMA is one message, end to end.", 98),
      explain(a.made));
}

[[nodiscard]] std::string incast_text(const IncastAnswer& a, const Terminal& terminal, const Explained<IncastRequest>& request) {
  TextTable rows{{{""}, {"time", right}, {"rate of each", right}}};
  rows.row({"one alone", seconds_text(a.alone_seconds), per_second_text(a.made.one.rate)});
  rows.row({"all at once", seconds_text(a.seconds), per_second_text(a.bytes_per_second)});
  return request.below(
      terminal, fmt::format("{} of {} each to one port of {}", counted(a.senders, "sender"), bytes_text(a.bytes), a.system),
      rows.text(2) +
          wrapped(
              "  ",
              "A lossless network holds the senders back by that much; others behind the same buffers suffer too, which is not modelled.",
              98),
      explain(a.made));
}

}  // namespace

void add_transfer(CLI::App& app, Runner& runner) {
  add_faces(app, runner, "transfer", "Storage into GPUs, loads and stores against RDMA, incast",
            "storage (into GPUs, through the host and direct)\n"
            "access (loads and stores against RDMA)\n"
            "incast (many senders, one port)",
            "Example: fabricost transfer storage --system dgx-h100 --nodes 16 --size 810GB --client ethernet-100",
            face<Explained<StorageRequest>>("storage", storage_text), face<Explained<AccessRequest>>("access", access_text),
            face<Explained<IncastRequest>>("incast", incast_text));
}

}  // namespace fabricost::cli
