/// \file nccl_signs.cpp
/// Matches lines against signs, and answers questions about the signs, variables and nodes of a log.

#include "readings/logs/nccl_info.hpp"

#include <algorithm>

namespace fabricost::io {

bool carries(const Sign& sign, const std::string& line, const std::string& folded) {
  return std::any_of(sign.patterns.begin(), sign.patterns.end(), [&](const Sign::Pattern& p) {
    const std::string& text = p.any_case ? folded : line;
    const auto has = [&](const std::string& part) { return text.find(part) != std::string::npos; };
    return std::all_of(p.all.begin(), p.all.end(), has) && std::none_of(p.none.begin(), p.none.end(), has);
  });
}

const Seen& NcclInfo::seen(std::string_view sign) const {
  static const Seen none;
  const auto at = signs.find(sign);
  return at == signs.end() ? none : at->second;
}

const Setting* NcclInfo::setting(std::string_view name) const {
  for (auto it = settings.rbegin(); it != settings.rend(); ++it)
    if (it->name == name) return &*it;
  return nullptr;
}

int NcclInfo::node_count() const {
  std::set<std::string> hosts, talkers;
  std::set<int> numbers;
  for (const RankLine& one : rank_lines) {
    hosts.insert(one.host);
    numbers.insert(one.rank);
  }
  for (const auto& [transport, use] : net)
    for (const auto& [host, devices] : use.by_host)
      if (!host.empty()) talkers.insert(host);
  // logs lose lines: an incomplete list gives only a lower bound
  const bool whole =
      !numbers.empty() && static_cast<int>(numbers.size()) == *numbers.rbegin() + 1 && static_cast<int>(numbers.size()) >= ranks;
  const int listed = static_cast<int>(hosts.size()), seen = static_cast<int>(talkers.size());
  if (whole) return std::max(listed, nodes);
  return std::max({nodes, listed > 1 ? listed : 0, seen > 1 ? seen : 0});
}

}  // namespace fabricost::io
