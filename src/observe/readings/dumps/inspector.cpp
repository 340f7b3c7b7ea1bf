/// Collects the records of all ranks, the newest of each, and compares their times.

#include "readings/dumps/inspector.hpp"

#include "text/plain_text.hpp"
#include "text/quantile.hpp"

#include <algorithm>

namespace fabricost::observe {

namespace {

constexpr std::size_t max_inspected = 1024, max_calls = 2048;
constexpr std::int64_t max_inspected_ranks = 65536;
constexpr double microsecond = 1e-6;

}  // namespace

bool is_inspector_record(const PlainTree& tree, PlainTree::Id record) {
  return tree.find(record, "header") != PlainTree::none &&
         (tree.find(record, "coll_perf") != PlainTree::none || tree.find(record, "p2p_perf") != PlainTree::none);
}

void add_inspector_record(const PlainTree& tree, PlainTree::Id record, const std::string& file, Inspected& into) {
  const PlainTree::Id header = tree.find(record, "header"), performance = tree.find(record, "coll_perf");
  if (performance == PlainTree::none) return;
  const std::string id = plain_text(tree.shown(tree.find(header, "id")));
  const std::int64_t rank = tree.whole(tree.find(header, "rank"), -1);
  if (rank < 0 || rank >= max_inspected_ranks || (into.communicators.size() >= max_inspected && !into.communicators.contains(id))) return;
  InspectedCommunicator& communicator = into.communicators[id];
  communicator.name = plain_text(tree.shown(tree.find(header, "comm_name")));
  communicator.ranks = static_cast<int>(std::clamp<std::int64_t>(tree.whole(tree.find(header, "n_ranks"), 0), 0, max_inspected_ranks));
  InspectedRank& one = communicator.by_rank[static_cast<int>(rank)];
  one.host = plain_text(tree.shown(tree.find(tree.find(record, "metadata"), "hostname")));
  one.file = plain_text(std::string{file});
  const InspectedCall call{tree.whole(tree.find(performance, "coll_sn"), -1),
                           tree.real(tree.find(performance, "coll_exec_time_us"), 0) * microsecond};
  if (call.sequence > one.last) {
    one.last = call.sequence;
    one.operation = plain_text(tree.shown(tree.find(performance, "coll")));
  }
  if (!(call.seconds > 0)) return;
  if (one.calls.size() < max_calls)
    one.calls.push_back(call);
  else
    one.calls[static_cast<std::size_t>(call.sequence) % max_calls] = call;
}

std::map<int, double> share_of_time(const InspectedCommunicator& communicator) {
  std::map<std::int64_t, std::vector<std::pair<int, double>>> calls;
  for (const auto& [rank, one] : communicator.by_rank)
    for (const InspectedCall& call : one.calls) calls[call.sequence].emplace_back(rank, call.seconds);
  std::map<int, std::vector<double>> shares;
  std::vector<double> times;
  for (const auto& [sequence, all] : calls) {
    if (all.size() != communicator.by_rank.size() || all.size() < 3) continue;
    times.clear();
    for (const auto& [rank, seconds] : all) times.push_back(seconds);
    const double middle = lower_median(times);
    for (const auto& [rank, seconds] : all) shares[rank].push_back(seconds / middle);
  }
  std::map<int, double> out;
  for (auto& [rank, all] : shares) out[rank] = lower_median(all);
  return out;
}

}  // namespace fabricost::observe
