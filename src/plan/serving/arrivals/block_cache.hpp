#pragma once
/// Blocks of prompts that a replica's cache holds: those of running requests, and others until their room is needed. Copies of all of them lie
/// in the tiers behind it until others need their room there. Everywhere the ones not used for longest go first. Private.

#include <fabricost/namespaces.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace fabricost::plan {

/// A T of each block, by its number. Blocks of a prompt have neighbouring numbers and a replica sees a part of all, so they lie in pages
/// that are made when one of theirs is written.
template <class T>
class OfBlocks {
 public:
  [[nodiscard]] T operator()(std::uint32_t block) const {
    const std::size_t page = block / size;
    return page < pages_.size() && !pages_[page].empty() ? pages_[page][block % size] : T{};
  }
  [[nodiscard]] T& operator[](std::uint32_t block) {
    const std::size_t page = block / size;
    if (page >= pages_.size()) pages_.resize(page + 1);
    if (pages_[page].empty()) pages_[page].resize(size);
    return pages_[page][block % size];
  }

 private:
  static constexpr std::uint32_t size = 256;
  std::vector<std::vector<T>> pages_;
};

/// Blocks in the order of their last use.
class UsedBlocks {
 public:
  [[nodiscard]] bool has(std::uint32_t block) const { return places_(block).here; }
  [[nodiscard]] std::size_t size() const { return count_; }
  void use(std::uint32_t block) {
    erase(block);
    places_[block] = {last_, none, true};
    after(last_) = block;
    last_ = block;
    ++count_;
  }
  void erase(std::uint32_t block) {
    const Place at = places_(block);
    if (!at.here) return;
    after(at.before) = at.after;
    (at.after == none ? last_ : places_[at.after].before) = at.before;
    places_[block] = {};
    --count_;
  }
  /// Drops those used longest ago until so many are left.
  void keep(double most) {
    while (count_ > 0 && static_cast<double>(count_) > most) erase(first_);
  }

 private:
  static constexpr std::uint32_t none = UINT32_MAX;
  struct Place {
    std::uint32_t before = none, after = none;
    bool here = false;
  };
  [[nodiscard]] std::uint32_t& after(std::uint32_t block) { return block == none ? first_ : places_[block].after; }

  OfBlocks<Place> places_;
  std::uint32_t first_ = none, last_ = none;
  std::size_t count_ = 0;
};

class BlockCache {
 public:
  /// How many of the first blocks are there.
  [[nodiscard]] std::size_t leading(const std::uint32_t* blocks, std::size_t count) const {
    std::size_t n = 0;
    while (n < count && (users_(blocks[n]) > 0 || idle_.has(blocks[n]))) ++n;
    return n;
  }
  /// Blocks of those that no running request holds.
  [[nodiscard]] std::size_t unheld(const std::uint32_t* blocks, std::size_t count) const {
    return static_cast<std::size_t>(std::count_if(blocks, blocks + count, [&](std::uint32_t block) { return users_(block) == 0; }));
  }
  void hold(const std::uint32_t* blocks, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      if (users_[blocks[i]]++ == 0) {
        idle_.erase(blocks[i]);
        ++in_use_;
      }
  }
  void leave(const std::uint32_t* blocks, std::size_t count) {
    for (std::size_t i = count; i-- > 0;)  // the last block first: the beginning of a prompt is of most use to others
      if (--users_[blocks[i]] == 0) {
        idle_.use(blocks[i]);
        --in_use_;
      }
  }
  /// Blocks that were written and that no running request holds.
  void add(const std::uint32_t* blocks, std::size_t count) {
    for (std::size_t i = count; i-- > 0;)
      if (users_(blocks[i]) == 0) idle_.use(blocks[i]);
  }
  /// Drops blocks that nobody uses until so many are left in all.
  void keep(double blocks) { idle_.keep(blocks - static_cast<double>(in_use_)); }
  [[nodiscard]] std::size_t in_use() const { return in_use_; }

 private:
  OfBlocks<int> users_;  ///< running requests that hold it
  std::size_t in_use_ = 0;
  UsedBlocks idle_;
};

}  // namespace fabricost::plan
