/// fabricost transfer: its three answers as text.

#include "answers/job_verdict.hpp"
#include "cli/question_command.hpp"
#include "cli/subcommands.hpp"

#include <fabricost/explain/assumptions.hpp>
#include <fabricost/plan/answers/transfer.hpp>
#include <fabricost/plan/explain/transfer.hpp>
#include <fabricost/text/quantity.hpp>

#include <algorithm>

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
  page.width = 98;
  page.title(verdict_of(a));
  page.say("Read by {}{} a node{}.",
           request.client ? fmt::format("{} of {}, ", counted(request.ports.value_or(1), "port"), *request.client) : "",
           rate_text(a.node_bandwidth), request.behind_host ? ", behind the processor" : "");
  TextTable rows{"who reads what", ">direct", "held by", ">through the host", "held by"};
  for (std::size_t i = 0; i < a.ways.size(); ++i)
    rows.row(sharing_text(a, i), time_text(a.ways[i].direct), a.ways[i].direct_bottleneck, time_text(a.ways[i].through_host),
             a.ways[i].through_host_bottleneck);
  page.table(rows);
  const auto fits = [](const StorageWay& way) { return way.fits; };
  const int of_node = a.gpus / a.nodes;
  if (!std::all_of(a.ways.begin(), a.ways.end(), fits))
    page.say("The {} of a node cannot hold all {}{}.", counted(of_node, "GPU"), size_text(a.bytes),
             std::any_of(a.ways.begin(), a.ways.end(), fits) ? ", but its part"
             : a.nodes > 1                                   ? ", nor its part"
                                                             : "");
  request.explain_on(page, explain(a.made));
}

[[nodiscard]] std::string window_text(const AccessAnswer& a, const AccessRequest& request) {
  if (a.by_dma) return "by DMA, no bound on bytes in flight";
  if (!a.in_flight) return "with no bound on bytes in flight";
  const std::string in_flight = size_text(*a.in_flight) + " in flight";
  return request.in_flight ? in_flight : counted(request.warps.value_or(1), "warp") + ", " + in_flight;
}

void access_text(Page& page, const AccessAnswer& a, const Explained<AccessRequest>& request) {
  page.width = 98;
  page.title(verdict_of(a));
  page.say("Over {}: {}.", a.tier, window_text(a, request));
  page.table({">size", ">store", ">load", ">RDMA", "faster than RDMA"}, a.sizes(), [](const AccessOfSize& at) {
    const bool store = at.store <= at.rdma, load = at.load <= at.rdma;
    return cells(size_text(at.bytes), time_text(at.store), time_text(at.load), time_text(at.rdma),
                 store && load ? "store, load"
                 : store       ? "store"
                 : load        ? "load"
                               : "none");
  });
  page.add("\n");
  page.say("A store is posted, one way; a load waits for its data to come back; RDMA is one message, end to end.");
  request.explain_on(page, explain(a.made));
}

void incast_text(Page& page, const IncastAnswer& a, const Explained<IncastRequest>& request) {
  page.width = 98;
  page.title(verdict_of(a));
  TextTable rows{"", ">time", ">rate of each"};
  rows.row("one alone", time_text(a.alone), per_second_text(a.made.one.rate));
  rows.row("all at once", time_text(a.time), rate_text(a.bandwidth));
  page.table(rows);
  page.say(
      "A lossless network holds the senders back by that much; others behind the same buffers suffer too, which is not modelled. "
      "These are RDMA writes at the port's rate: NCCL's send starts later and carries less (fabricost predict send_recv --path nic).");
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
