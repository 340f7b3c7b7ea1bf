/// \file transfer.cpp
/// fabricost transfer: its three answers as text.

#include "cli/question_command.hpp"
#include "cli/subcommands.hpp"

#include <fabricost/plan/answers/transfer.hpp>
#include <fabricost/plan/explain/transfer.hpp>

#include <array>
#include <cmath>

namespace fabricost::cli {
namespace {

/// A request of transfer, with the option to show its arithmetic.
template <HasFields Request>
struct Explained : Request {
  bool arithmetic = false;

  static RequestTable<Explained> fields() {
    return {Request::fields(),
            asks(&Explained::arithmetic, "explain", "--explain", Amount::number, Range{}, "", "Show the arithmetic behind every time")};
  }
  void explain_on(Page& page, const std::string& text) const {
    if (arithmetic) page.add("\n" + text);
  }
};

void storage_text(Page& page, const StorageAnswer& a, const Explained<StorageRequest>& request) {
  constexpr std::array<std::string_view, 3> who{"every node reads all", "every node reads its part", "its part, then all_gather"};
  page.width = 98;
  page.title("{} from storage into {} of {}, {}", size_text(a.bytes), counted(a.gpus, "GPU"), counted(a.nodes, "node"), a.system);
  page.say("Read by {}{} a node{}.",
           request.client ? fmt::format("{} of {}, ", counted(request.ports.value_or(1), "port"), *request.client) : "",
           rate_text(a.node_bandwidth), request.behind_host ? ", behind the processor" : "");
  TextTable rows{"who reads what", ">direct", "held by", ">through the host", "held by"};
  for (std::size_t i = 0; i < a.ways.size(); ++i) {
    const auto sharing = static_cast<std::size_t>(a.made.ways[i].sharing);
    rows.row(a.nodes == 1 ? "the node" : std::string{who[sharing]}, time_text(a.ways[i].direct), a.ways[i].direct_bottleneck,
             time_text(a.ways[i].through_host), a.ways[i].through_host_bottleneck);
  }
  page.table(rows);
  request.explain_on(page, explain(a.made));
}

[[nodiscard]] std::string window_text(const AccessAnswer& a, const AccessRequest& request) {
  if (a.by_dma) return "by DMA, no bound on bytes in flight";
  if (!a.in_flight) return "with no bound on bytes in flight";
  const std::string in_flight = size_text(*a.in_flight) + " in flight";
  return request.in_flight ? in_flight : counted(request.warps.value_or(1), "warp") + ", " + in_flight;
}

[[nodiscard]] std::string crossover_text(std::string_view what, double meet, double from, double largest) {
  if (std::isfinite(from)) return fmt::format("{} are faster than RDMA from {} on.", what, bytes_text(std::ceil(from)));
  if (std::isinf(meet)) return fmt::format("{} are faster than RDMA at every size.", what);
  if (meet <= 0) return fmt::format("{} are never faster than RDMA.", what);
  return fmt::format("{} are faster than RDMA up to {}{}.", what, bytes_text(std::floor(meet)),
                     meet > largest ? ", beyond the sizes shown" : "");
}

void access_text(Page& page, const AccessAnswer& a, const Explained<AccessRequest>& request) {
  page.width = 98;
  page.title("Over {} ({}) against RDMA by one {} port, {}", a.tier, window_text(a, request), a.nic_tier, a.system);
  page.table({">size", ">store", ">load", ">RDMA", "faster than RDMA"}, a.sizes(), [](const AccessOfSize& at) {
    const bool store = at.store <= at.rdma, load = at.load <= at.rdma;
    return cells(size_text(at.bytes), time_text(at.store), time_text(at.load), time_text(at.rdma),
                 store && load ? "store, load"
                 : store       ? "store"
                 : load        ? "load"
                               : "none");
  });
  page.add("\n");
  page.say(crossover_text("Stores", a.made.stores_until, faster_from(a.made.store, a.made.rdma), a.bytes.back().value()));
  page.say(crossover_text("Loads", a.made.loads_until, faster_from(a.made.load, a.made.rdma), a.bytes.back().value()));
  page.say("A store is posted, one way; a load waits for its data to come back; RDMA is one message, end to end.");
  request.explain_on(page, explain(a.made));
}

void incast_text(Page& page, const IncastAnswer& a, const Explained<IncastRequest>& request) {
  page.width = 98;
  page.title("{} of {} each to one port of {}", counted(a.senders, "sender"), size_text(a.bytes), a.system);
  TextTable rows{"", ">time", ">rate of each"};
  rows.row("one alone", time_text(a.alone), per_second_text(a.made.one.rate));
  rows.row("all at once", time_text(a.time), rate_text(a.bandwidth));
  page.table(rows);
  page.say("A lossless network holds the senders back by that much; others behind the same buffers suffer too, which is not modelled.");
  request.explain_on(page, explain(a.made));
}

}  // namespace

void add_transfer(CLI::App& app, Runner& runner) {
  add_questions(app, runner, "transfer", "Storage into GPUs, loads and stores against RDMA, incast",
                "storage (into GPUs, through the host and direct)\n"
                "access (loads and stores against RDMA)\n"
                "incast (many senders, one port)",
                "Example: fabricost transfer storage --system dgx-h100 --nodes 16 --size 810GB --client ethernet-100",
                {question<Explained<StorageRequest>>("storage", storage_text), question<Explained<AccessRequest>>("access", access_text),
                 question<Explained<IncastRequest>>("incast", incast_text)});
}

}  // namespace fabricost::cli
