#pragma once
/// Blocks of prompts that a replica's cache holds: those of running requests, and others until their room is needed. Copies of all of them lie
/// in the tiers behind it until others need their room there. Everywhere the ones not used for longest go first. Private.

#include <fabricost/namespaces.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <list>
#include <unordered_map>

namespace fabricost::plan {

/// Blocks in the order of their last use.
class UsedBlocks {
 public:
  [[nodiscard]] bool has(std::uint64_t hash) const { return places_.count(hash) > 0; }
  [[nodiscard]] std::size_t size() const { return places_.size(); }
  void use(std::uint64_t hash) {
    erase(hash);
    places_[hash] = order_.insert(order_.end(), hash);
  }
  void erase(std::uint64_t hash) {
    const auto at = places_.find(hash);
    if (at == places_.end()) return;
    order_.erase(at->second);
    places_.erase(at);
  }
  /// Drops those used longest ago until so many are left.
  void keep(double most) {
    while (!order_.empty() && static_cast<double>(places_.size()) > most) {
      places_.erase(order_.front());
      order_.pop_front();
    }
  }

 private:
  std::list<std::uint64_t> order_;
  std::unordered_map<std::uint64_t, std::list<std::uint64_t>::iterator> places_;
};

class BlockCache {
 public:
  /// How many of the first blocks are there.
  [[nodiscard]] std::size_t leading(const std::uint64_t* hashes, std::size_t count) const {
    std::size_t n = 0;
    while (n < count && resident(hashes[n])) ++n;
    return n;
  }
  /// Blocks of those that no running request holds.
  [[nodiscard]] std::size_t unheld(const std::uint64_t* hashes, std::size_t count) const {
    return static_cast<std::size_t>(std::count_if(hashes, hashes + count, [&](std::uint64_t hash) { return users_.count(hash) == 0; }));
  }
  void hold(const std::uint64_t* hashes, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      if (users_[hashes[i]]++ == 0) idle_.erase(hashes[i]);
  }
  void leave(const std::uint64_t* hashes, std::size_t count) {
    for (std::size_t i = count; i-- > 0;) {  // the last block first: the beginning of a prompt is of most use to others
      const auto at = users_.find(hashes[i]);
      if (--at->second > 0) continue;
      users_.erase(at);
      idle_.use(hashes[i]);
    }
  }
  /// Blocks that were written and that no running request holds.
  void add(const std::uint64_t* hashes, std::size_t count) {
    for (std::size_t i = count; i-- > 0;)
      if (users_.count(hashes[i]) == 0) idle_.use(hashes[i]);
  }
  /// Drops blocks that nobody uses until so many are left in all.
  void keep(double blocks) { idle_.keep(blocks - static_cast<double>(users_.size())); }
  [[nodiscard]] std::size_t in_use() const { return users_.size(); }

 private:
  [[nodiscard]] bool resident(std::uint64_t hash) const { return users_.count(hash) > 0 || idle_.has(hash); }
  std::unordered_map<std::uint64_t, int> users_;
  UsedBlocks idle_;
};

}  // namespace fabricost::plan
