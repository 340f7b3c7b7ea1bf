#pragma once
/// Blocks of prompts that a replica's cache holds: those of running requests, and others until their room is needed. Copies of all of them
/// lie in the tiers behind it until others need their room there. Everywhere the ones not used for longest go first. Private.

#include <fabricost/namespaces.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fabricost::plan {

class BlockCache {
 public:
  /// How many of the first blocks are there.
  [[nodiscard]] std::size_t leading(const std::uint32_t* blocks, std::size_t count) const {
    std::size_t n = 0;
    while (n < count && has(blocks[n])) ++n;
    return n;
  }
  [[nodiscard]] bool has(std::uint32_t block) const {
    const Place* const at = find(block);
    return at != nullptr && (at->users > 0 || at->idle);
  }
  /// Whether at most so many of them are held by no running request.
  [[nodiscard]] bool lacks_at_most(double most, const std::uint32_t* blocks, std::size_t count) const {
    double unheld = 0;
    for (std::size_t i = 0; unheld <= most && unheld + static_cast<double>(count - i) > most; ++i) {
      const Place* const at = find(blocks[i]);
      if (at == nullptr || at->users == 0) ++unheld;
    }
    return unheld <= most;
  }
  void hold(const std::uint32_t* blocks, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      if (Place& at = place(blocks[i]); at.users++ == 0) {
        drop(at);
        ++in_use_;
      }
  }
  void leave(const std::uint32_t* blocks, std::size_t count) {
    for (std::size_t i = count; i-- > 0;)  // the last block first: the beginning of a prompt is of most use to others
      if (Place& at = place(blocks[i]); --at.users == 0) {
        put_last(blocks[i], at);
        --in_use_;
      }
  }
  /// Blocks that were written and that no running request holds.
  void add(const std::uint32_t* blocks, std::size_t count) {
    for (std::size_t i = count; i-- > 0;)
      if (Place& at = place(blocks[i]); at.users == 0) {
        drop(at);
        put_last(blocks[i], at);
      }
  }
  /// Drops blocks that nobody uses until so many are left in all.
  void keep(double blocks) {
    while (idle_ > 0 && static_cast<double>(idle_ + in_use_) > blocks) drop(place(first_));
  }
  [[nodiscard]] std::size_t in_use() const { return in_use_; }

 private:
  static constexpr std::uint32_t none = UINT32_MAX;
  struct Place {
    std::uint32_t before = none, after = none;  ///< in the order of their last use
    std::uint32_t users = 0;                    ///< running requests that hold it
    bool idle = false;                          ///< there, though none does
  };
  // Blocks of a prompt have neighbouring numbers and a replica sees a part of all, so they lie in pages that are made when one is written.
  static constexpr std::uint32_t page = 256;

  [[nodiscard]] const Place* find(std::uint32_t block) const {
    const std::size_t at = block / page;
    return at < pages_.size() && !pages_[at].empty() ? &pages_[at][block % page] : nullptr;
  }
  [[nodiscard]] Place& place(std::uint32_t block) {
    const std::size_t at = block / page;
    if (at >= pages_.size()) pages_.resize(at + 1);
    if (pages_[at].empty()) pages_[at].resize(page);
    return pages_[at][block % page];
  }
  void drop(Place& at) {
    if (!at.idle) return;
    (at.before == none ? first_ : place(at.before).after) = at.after;
    (at.after == none ? last_ : place(at.after).before) = at.before;
    at.idle = false;
    --idle_;
  }
  void put_last(std::uint32_t block, Place& at) {
    (last_ == none ? first_ : place(last_).after) = block;
    at.before = last_, at.after = none, at.idle = true;
    last_ = block;
    ++idle_;
  }

  std::vector<std::vector<Place>> pages_;
  std::uint32_t first_ = none, last_ = none;  ///< of those that are idle
  std::size_t in_use_ = 0, idle_ = 0;
};

}  // namespace fabricost::plan
