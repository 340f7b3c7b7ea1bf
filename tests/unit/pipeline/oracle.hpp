#pragma once
/// An event-driven pipeline that shares no code with the library: stages only get the order of their work;
/// pieces start by events in time, hand-overs travel, and every rule of a pipeline is checked during the run.
/// Also enumerates all orders of small pipelines.

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <queue>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace oracle {

/// 'F', 'B' (input gradient), 'W', 'A' (the full backward); `chunk` and `item` (microbatch) from 0. `joined`:
/// with the next one.
struct Task {
  char what;
  int chunk, item;
  bool joined = false;
};
enum class Shape { loop, vee, crossing };

struct Times {
  double f, b, w, hop, extra = 0, joined = 0, held = 1;
};

struct Outcome {
  std::vector<double> span, peak;
  double longest() const { return *std::max_element(span.begin(), span.end()); }
  double max() const { return *std::max_element(peak.begin(), peak.end()); }
};

/// Layers are numbered along the model; the shape alone determines the stage of each.
class Machine {
 public:
  Machine(Shape shape, int stages, int chunks, int items, Times times, std::vector<std::vector<Task>> todo)
      : shape_(shape), p_(stages), v_(chunks), m_(items), t_(times), todo_(std::move(todo)) {}

  Outcome run() {
    const auto n = todo_.size();
    Outcome out;
    out.span.assign(n, 0);
    out.peak.assign(n, 0);
    std::vector<double> begin(n, -1), finish(n, 0), held(n, 0);
    std::vector<std::size_t> at(n, 0);
    std::vector<bool> busy(n, false);
    // (time, stage): a stage looks for work when an event it may be waiting for has happened
    using Event = std::tuple<double, int, int>;  // time, kind (0: end of work, 1: look), stage
    std::priority_queue<Event, std::vector<Event>, std::greater<>> events;
    for (std::size_t s = 0; s < n; ++s) events.emplace(0.0, 1, static_cast<int>(s));
    std::size_t left = 0;
    for (const auto& list : todo_) left += list.size();
    while (!events.empty()) {
      const auto [now, kind, stage] = events.top();
      events.pop();
      const auto s = static_cast<std::size_t>(stage);
      if (kind == 0) {
        busy[s] = false;
        const std::size_t size = todo_[s][at[s]].joined ? 2 : 1;
        for (std::size_t k = 0; k < size; ++k, ++at[s], --left) complete(stage, todo_[s][at[s]], now, held[s], events);
        finish[s] = now;
      }
      if (busy[s] || at[s] >= todo_[s].size()) continue;
      const Task& task = todo_[s][at[s]];
      double need = ready(stage, task), length = seconds(stage, task);
      if (task.joined) {
        const Task& other = todo_[s].at(at[s] + 1);
        need = std::max(need, ready(stage, other));
        length = t_.joined > 0 ? t_.joined / parts() : length + seconds(stage, other);
      }
      if (need > now) continue;  // an event will follow when it is available
      busy[s] = true;
      if (begin[s] < 0) begin[s] = now;
      for (std::size_t k = at[s]; k <= at[s] + (task.joined ? 1 : 0); ++k)
        if (todo_[s][k].what == 'F') held[s] += 1.0 / parts();
      out.peak[s] = std::max(out.peak[s], held[s]);
      events.emplace(now + length, 0, stage);
    }
    if (left > 0) throw std::logic_error("stages wait for each other for ever");
    for (std::size_t s = 0; s < n; ++s) out.span[s] = finish[s] - begin[s];
    // nothing done twice, nothing omitted
    const std::size_t pieces = static_cast<std::size_t>(m_) * static_cast<std::size_t>(layers());
    for (const char what : {'F', 'B', 'W'})
      if (done_[what].size() != pieces) throw std::logic_error(std::string("not every ") + what + " was done");
    return out;
  }

 private:
  using Key = std::pair<int, int>;  // layer on the path, item

  [[nodiscard]] int layers() const { return shape_ == Shape::crossing ? p_ : p_ * v_; }
  [[nodiscard]] int parts() const { return shape_ == Shape::crossing ? 1 : v_; }
  [[nodiscard]] int layer(int stage, const Task& t) const {
    switch (shape_) {
      case Shape::loop: return t.chunk * p_ + stage;
      case Shape::vee: return t.chunk == 0 ? stage : 2 * p_ - 1 - stage;
      case Shape::crossing: return t.chunk == 0 ? stage : p_ - 1 - stage;
    }
    return 0;
  }
  /// Stage of a neighbouring layer of the same item.
  [[nodiscard]] int home(int layer, const Task& t) const {
    switch (shape_) {
      case Shape::loop: return layer % p_;
      case Shape::vee: return layer < p_ ? layer : 2 * p_ - 1 - layer;
      case Shape::crossing: return t.chunk == 0 ? layer : p_ - 1 - layer;
    }
    return 0;
  }
  [[nodiscard]] double seconds(int stage, const Task& t) const {
    const double more = layer(stage, t) == layers() - 1 ? t_.extra / 3 : 0;
    const double f = t_.f / parts() + more, b = t_.b / parts() + more, w = t_.w / parts() + more;
    return t.what == 'F' ? f : t.what == 'B' ? b : t.what == 'W' ? w : b + w;
  }
  /// Infinity: not known yet.
  [[nodiscard]] double at(char what, int layer, int item) const {
    const auto all = done_.find(what);
    if (all == done_.end()) return std::numeric_limits<double>::infinity();
    const auto found = all->second.find({layer, item});
    return found == all->second.end() ? std::numeric_limits<double>::infinity() : found->second;
  }
  [[nodiscard]] double ready(int stage, const Task& t) const {
    const int l = layer(stage, t);
    const auto over = [&](char what, int from) { return at(what, from, t.item) + (home(from, t) == stage ? 0 : t_.hop); };
    if (t.what == 'F') return l == 0 ? 0 : over('F', l - 1);
    if (t.what == 'W') return at('B', l, t.item);
    return std::max(at('F', l, t.item), l == layers() - 1 ? 0.0 : over('B', l + 1));
  }
  template <class Events>
  void complete(int stage, const Task& t, double now, double& held, Events& events) {
    const int l = layer(stage, t);
    const auto record = [&](char what) {
      if (!done_[what].emplace(Key{l, t.item}, now).second) throw std::logic_error("a piece was done twice");
    };
    const double one = 1.0 / parts();
    if (t.what == 'F') record('F');
    if (t.what == 'B' || t.what == 'A') {
      record('B');
      held -= t.what == 'A' ? one : one * (1 - t_.held);
    }
    if (t.what == 'W' || t.what == 'A') {
      record('W');
      held -= t.what == 'A' ? 0 : one * t_.held;
    }
    if (t.what == 'W') return;
    const int next = t.what == 'F' ? l + 1 : l - 1;
    if (next >= 0 && next < layers()) {
      const int to = home(next, t);
      events.emplace(now + (to == stage ? 0 : t_.hop), 1, to);
    }
  }

  Shape shape_;
  int p_, v_, m_;
  Times t_;
  std::vector<std::vector<Task>> todo_;
  std::map<char, std::map<Key, double>> done_;
};

/// All orders of one stage: items in turn for every kind; B after its F, W after its B. \param kinds "FBW" or "FA"
inline std::vector<std::vector<Task>> all_orders(const std::string& kinds, int items) {
  std::vector<std::vector<Task>> out;
  std::vector<Task> now;
  std::vector<int> done(kinds.size(), 0);
  const std::function<void()> grow = [&] {
    if (now.size() == kinds.size() * static_cast<std::size_t>(items)) {
      out.push_back(now);
      return;
    }
    for (std::size_t k = 0; k < kinds.size(); ++k) {
      if (done[k] == items || (k > 0 && done[k] == done[k - 1])) continue;
      now.push_back({kinds[k], 0, done[k]++});
      grow();
      now.pop_back();
      --done[k];
    }
  };
  grow();
  return out;
}

/// The minimum over all orders on one chunk, with at most `room` items held, of the longest stage;
/// exhaustive. A separate compact simulation: one pass over the items in path order is sufficient.
inline double shortest(int stages, int items, const std::string& kinds, const Times& t, int room) {
  std::vector<std::vector<Task>> orders;
  for (auto& order : all_orders(kinds, items)) {
    int held = 0, max = 0;
    for (const Task& task : order) {
      held += task.what == 'F' ? 1 : task.what == kinds.back() ? -1 : 0;
      max = std::max(max, held);
    }
    if (max <= room) orders.push_back(std::move(order));
  }
  const auto n = static_cast<std::size_t>(stages);
  std::vector<std::size_t> pick(n, 0);
  double best = std::numeric_limits<double>::infinity();
  while (true) {
    std::vector<std::vector<Task>> todo;
    for (const std::size_t k : pick) todo.push_back(orders[k]);
    std::vector<std::size_t> next(n, 0);
    std::vector<double> now(n, 0), first(n, -1);
    std::vector<std::vector<double>> f(n, std::vector<double>(static_cast<std::size_t>(items), -1)), b = f;
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t s = 0; s < n; ++s)
        while (next[s] < todo[s].size()) {
          const Task& task = todo[s][next[s]];
          const auto i = static_cast<std::size_t>(task.item);
          double start = now[s];
          if (task.what == 'F' && s > 0) {
            if (f[s - 1][i] < 0) break;
            start = std::max(start, f[s - 1][i] + t.hop);
          }
          if ((task.what == 'B' || task.what == 'A') && s + 1 < n) {
            if (b[s + 1][i] < 0) break;
            start = std::max(start, b[s + 1][i] + t.hop);
          }
          if (first[s] < 0) first[s] = start;
          now[s] = start + (task.what == 'F' ? t.f : task.what == 'B' ? t.b : task.what == 'W' ? t.w : t.b + t.w);
          if (task.what == 'F') f[s][i] = now[s];
          if (task.what == 'B' || task.what == 'A') b[s][i] = now[s];
          ++next[s];
          moved = true;
        }
    }
    bool whole = true;
    double longest = 0;
    for (std::size_t s = 0; s < n; ++s) {
      whole = whole && next[s] == todo[s].size();
      longest = std::max(longest, now[s] - first[s]);
    }
    if (whole) best = std::min(best, longest);
    std::size_t k = 0;
    while (k < n && ++pick[k] == orders.size()) pick[k++] = 0;
    if (k == n) return best;
  }
}

}  // namespace oracle
