#pragma once
/// NCCL Inspector (plugins/profiler/inspector, NCCL 2.27 on): one JSON object a line for every collective of a rank, with its time. Two
/// things follow across ranks: whose sequence of collectives stops before the others', and who comes late, since the rank that comes last
/// spends the least time inside.

#include "text/plain_tree.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace fabricost::observe {

struct InspectedCall {
  std::int64_t sequence = 0;
  double seconds = 0;
};

struct InspectedRank {
  std::string host, file;
  std::int64_t last = -1;  ///< sequence number
  std::string operation;   ///< its last
  std::vector<InspectedCall> calls;
};

struct InspectedCommunicator {
  std::string name;
  int ranks = 0;  ///< as its header says
  std::map<int, InspectedRank> by_rank;
};

struct Inspected {
  std::map<std::string, InspectedCommunicator> communicators;  ///< by id
  [[nodiscard]] bool empty() const { return communicators.empty(); }
};

[[nodiscard]] bool is_inspector_record(const PlainTree& tree, PlainTree::Id record);
void add_inspector_record(const PlainTree& tree, PlainTree::Id record, const std::string& file, Inspected& into);

/// A rank's time inside a collective over the median of all ranks' times, the median over the collectives that all of them show.
[[nodiscard]] std::map<int, double> share_of_time(const InspectedCommunicator& communicator);

}  // namespace fabricost::observe
