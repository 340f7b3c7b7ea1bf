#include "detours.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace fabricost::plan::detail {

Detours::Detours(const Topology& t) : t_(t) {
  if (t.levels.empty() || t.levels.back().pairs < 0 || t.levels.back().groups < 3) return;
  top_ = &t.levels.back();
  const LinkBlock& wires = t.blocks[static_cast<std::size_t>(top_->pairs)];
  wires_ = wires.capacity;
  detoured_.assign(static_cast<std::size_t>(wires.count), 0);
  loads_ = detoured_;
}

std::vector<LinkUse> Detours::uses(const Traffic& one, double unit) const {
  std::vector<LinkUse> out;
  out.reserve(one.loads.size());
  for (const LinkLoad& l : one.loads) out.push_back({l.link, l.bytes / unit});
  if (!possible()) return out;
  const auto groups = static_cast<std::size_t>(top_->children);
  const int first = t_.link(top_->pairs, 0);
  const double part = 1.0 / (top_->groups - 2);  // of each third group
  double all = 0;
  std::vector<double> from(groups, 0), to(groups, 0);  // what leaves and what reaches a group over others
  for (const LinkLoad& l : one.between) {
    const auto pair = static_cast<std::size_t>(l.link - first);
    const double over_third = part * l.bytes / unit * detoured_[pair];
    all += over_third;
    from[pair / groups] += over_third;
    to[pair % groups] += over_third;
  }
  if (!(all > 0)) return out;
  const auto across = [&](std::size_t group) { return std::max(0.0, all - from[group] - to[group]); };
  for (const int block : {top_->up, top_->down}) {
    std::vector<bool> has(groups, false);
    for (std::size_t i = 0; i < one.loads.size(); ++i) {
      const int group = out[i].link - t_.link(block, 0);
      if (group < 0 || group >= top_->children) continue;
      has[static_cast<std::size_t>(group)] = true;
      out[i].share += across(static_cast<std::size_t>(group));
    }
    for (std::size_t group = 0; group < groups; ++group)
      if (!has[group] && across(group) > 0) out.push_back({t_.link(block, static_cast<int>(group)), across(group)});
  }
  const auto wire = [&](std::size_t a, std::size_t b) {
    if (a == b) return;
    const int link = first + static_cast<int>(a * groups + b);
    const auto own = std::lower_bound(one.between.begin(), one.between.end(), link, [](const LinkLoad& l, int at) { return l.link < at; });
    double load = from[a] + to[b];
    if (own != one.between.end() && own->link == link) load -= 2 * part * own->bytes / unit * detoured_[a * groups + b];
    if (load > 1e-12 * all) out.push_back({link, load});
  };
  for (std::size_t a = 0; a < groups; ++a)
    for (std::size_t b = 0; from[a] > 0 && b < groups; ++b) wire(a, b);
  for (std::size_t b = 0; b < groups; ++b)
    for (std::size_t a = 0; to[b] > 0 && a < groups; ++a)
      if (!(from[a] > 0)) wire(a, b);
  return out;
}

void Detours::send(const Traffic& one, double rate) {
  if (!possible()) return;
  const int first = t_.link(top_->pairs, 0);
  for (const LinkLoad& l : one.between) loads_[static_cast<std::size_t>(l.link - first)] += rate * l.bytes;
}

bool Detours::follow() {
  if (!possible()) return false;
  constexpr int most = 40;
  constexpr double still = 1e-4;  // of what leaves a group
  const auto groups = static_cast<std::size_t>(top_->children);
  std::vector<double> from(groups, 0), to(groups, 0);
  double moved = 0, all = 0, over_third = 0;
  for (std::size_t pair = 0; pair < loads_.size(); ++pair) {
    const double over = loads_[pair] * detoured_[pair];
    all += loads_[pair];
    over_third += over;
    from[pair / groups] += over / (top_->groups - 2);
    to[pair % groups] += over / (top_->groups - 2);
  }
  for (std::size_t pair = 0; pair < loads_.size(); ++pair) {
    const double own = loads_[pair] * detoured_[pair] / (top_->groups - 2);
    const double left = std::max(0.0, wires_ - (from[pair / groups] + to[pair % groups] - 2 * own));
    const double wanted = loads_[pair] > left ? 1 - left / loads_[pair] : 0;
    moved = std::max(moved, std::abs(wanted - detoured_[pair]) * loads_[pair]);
    detoured_[pair] = rounds_ < 8 ? wanted : (wanted + detoured_[pair]) / 2;  // half a step where the whole one swings
  }
  std::fill(loads_.begin(), loads_.end(), 0.0);
  share_ = all > 0 ? over_third / all : 0;
  return moved > still * wires_ * top_->groups && ++rounds_ < most;
}

}  // namespace fabricost::plan::detail
