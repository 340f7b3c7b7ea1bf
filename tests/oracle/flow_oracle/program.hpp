#pragma once
/// An algorithm as its sends, in program order, on real data. A rank holds slots; a slot holds the set of
/// ranks that contributed to it (a mask, at most 128 ranks). A send waits for every delivery that wrote the
/// slots it reads; additions and stores at the receiver are checked at their simulated time, so an algorithm
/// ends with the right data or fails. Shares no code with the model.

#include "network.hpp"

#include <bitset>
#include <cstddef>
#include <map>
#include <tuple>

namespace flow {

enum class Op { all_reduce, all_gather, reduce_scatter, broadcast, reduce, all_to_all };
inline const char* text(Op op) {
  constexpr const char* names[] = {"all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce", "all_to_all"};
  return names[static_cast<int>(op)];
}

using Mask = std::bitset<128>;
inline Mask bit(int rank) { return Mask{}.set(static_cast<std::size_t>(rank)); }  // throws beyond the last
inline Mask everybody(int ranks) { return ~Mask{} >> (Mask{}.size() - static_cast<std::size_t>(ranks)); }

struct Move {
  int from = 0, to = 0;
  std::vector<int> slots;
  bool adds = false;  ///< the receiver combines; otherwise it stores
};
struct Send : Move {
  int stream = 0;          ///< sends of one stream between the same two ranks leave in order
  std::vector<int> links;  ///< replaces the network's route if the algorithm chooses one (a direction of a torus)
  std::vector<int> after;  ///< also wait for these to be delivered
};

class Program {
 public:
  /// `home` of a slot: its owner before (all_gather, broadcast, all_to_all) or after (reduce_scatter,
  /// reduce); `goal` for all_to_all. `share`: bytes of a slot as a share of the operation's size S.
  Program(const Network& net, Op op, std::vector<int> home, double share, std::vector<int> goal = {})
      : net_(&net),
        op_(op),
        home_(std::move(home)),
        goal_(std::move(goal)),
        share_(share),
        held_(cells()),
        writers_(cells()),
        part_(static_cast<std::size_t>(net.ranks)) {}

  [[nodiscard]] int ranks() const { return net_->ranks; }
  [[nodiscard]] int slots() const { return static_cast<int>(home_.size()); }
  [[nodiscard]] int home(int slot) const { return home_[static_cast<std::size_t>(slot)]; }
  [[nodiscard]] int size() const { return static_cast<int>(flows_.size()); }

  /// Returns the number of its last flow.
  int send(const Send& s) {
    if (s.from == s.to || s.slots.empty()) throw std::logic_error("a send to itself or of nothing");
    std::vector<int> data = s.after;
    for (const int slot : s.slots) data.insert(data.end(), writers_[cell(s.from, slot)].begin(), writers_[cell(s.from, slot)].end());
    if (in_step_)
      for (const int r : {s.from, s.to}) data.insert(data.end(), part_[index(r)].begin(), part_[index(r)].end());
    std::sort(data.begin(), data.end());
    data.erase(std::unique(data.begin(), data.end()), data.end());
    const std::vector<Way> ways = s.links.empty() ? net_->ways(s.from, s.to) : std::vector<Way>{{s.links, 1}};
    if (ways.size() > 1 && s.adds) throw std::logic_error("a sum cannot arrive in halves");
    const auto queue = last_.find({s.from, s.to, s.stream});
    std::vector<int> sent;
    if (queue != last_.end()) sent.push_back(queue->second);
    for (const Way& way : ways) {
      Flow f{.bytes = way.share * share_ * static_cast<double>(s.slots.size()),
             .latency = net_->latency(s.from, s.to),
             .uses = {},
             .after_delivered = data,
             .after_sent = sent};
      for (const int l : way.links) f.uses.push_back({l, 1});
      push(std::move(f), {{s.from, s.to, s.slots, s.adds}});
    }
    last_[{s.from, s.to, s.stream}] = size() - 1;
    std::vector<int> ids;
    for (int i = 0; i < static_cast<int>(ways.size()); ++i) ids.push_back(size() - 1 - i);
    if (in_step_)
      written_.push_back({s, ids});
    else
      note_writers(s, ids);
    for (int i = 0; i < static_cast<int>(ways.size()); ++i)
      for (const int r : {s.from, s.to}) now_.push_back({r, size() - 1 - i});
    return size() - 1;
  }
  /// Sends that happen together: they read the state before the step. A rank begins its next step when
  /// everything it sent and received in the last one has been delivered; a message leaves when both of its
  /// ends have reached its step (rendezvous).
  void step(const std::vector<Send>& sends) {
    in_step_ = true;
    now_.clear();
    for (const Send& s : sends) send(s);
    for (const auto& [move, ids] : written_) note_writers(move, ids);
    written_.clear();
    std::vector<std::vector<int>> next(part_.size());
    for (const auto& [rank, id] : now_) next[index(rank)].push_back(id);
    for (std::size_t r = 0; r < part_.size(); ++r)
      if (!next[r].empty()) part_[r] = next[r];
    in_step_ = false;
  }
  /// A flow that switches combine from several: its data movement is given; it waits for the writers of that
  /// data and for `after_sent`.
  int in_switch(double bytes, double latency, std::vector<Use> uses, const std::vector<Move>& moves, std::vector<int> after_sent) {
    Flow f{.bytes = bytes, .latency = latency, .uses = std::move(uses), .after_delivered = {}, .after_sent = std::move(after_sent)};
    for (const Move& m : moves)
      for (const int slot : m.slots)
        f.after_delivered.insert(f.after_delivered.end(), writers_[cell(m.from, slot)].begin(), writers_[cell(m.from, slot)].end());
    std::sort(f.after_delivered.begin(), f.after_delivered.end());
    f.after_delivered.erase(std::unique(f.after_delivered.begin(), f.after_delivered.end()), f.after_delivered.end());
    push(std::move(f), moves);
    for (const Move& m : moves) note_writers(m, {size() - 1});
    return size() - 1;
  }

  /// Traffic between pairs as multiples of S, summed over all sends (without in-switch flows, which have many
  /// ends).
  [[nodiscard]] std::map<std::pair<int, int>, double> between() const {
    std::map<std::pair<int, int>, double> out;
    for (std::size_t f = 0; f < flows_.size(); ++f)
      if (moves_[f].size() == 1) out[{moves_[f].front().from, moves_[f].front().to}] += flows_[f].bytes;
    return out;
  }

  /// Seconds for S bytes. \throws std::logic_error when data is wrong at the end or in between.
  [[nodiscard]] double seconds(double bytes) {
    begin();
    std::vector<Flow> sized = flows_;
    for (Flow& f : sized) f.bytes *= bytes;
    std::vector<std::vector<std::vector<Mask>>> carried(sized.size());
    const double t = run(
        sized, net_->capacity,
        [&](int f) {
          for (const Move& m : moves_[index(f)]) {
            std::vector<Mask> masks;
            for (const int slot : m.slots) {
              masks.push_back(held_[cell(m.from, slot)]);
              if (masks.back().none()) throw std::logic_error("rank " + std::to_string(m.from) + " sends what it does not have");
            }
            carried[index(f)].push_back(std::move(masks));
          }
        },
        [&](int f) {
          std::size_t which = 0;
          for (const Move& m : moves_[index(f)]) {
            for (std::size_t i = 0; i < m.slots.size(); ++i) arrive(m, m.slots[i], carried[index(f)][which][i]);
            ++which;
          }
        });
    check();
    return t;
  }

 private:
  [[nodiscard]] std::size_t cells() const { return static_cast<std::size_t>(net_->ranks) * home_.size(); }
  [[nodiscard]] static std::size_t index(int i) { return static_cast<std::size_t>(i); }
  [[nodiscard]] std::size_t cell(int rank, int slot) const { return index(rank) * home_.size() + index(slot); }
  void push(Flow f, std::vector<Move> moves) {
    flows_.push_back(std::move(f));
    moves_.push_back(std::move(moves));
  }
  void note_writers(const Move& m, const std::vector<int>& ids) {
    for (const int slot : m.slots) {
      auto& w = writers_[cell(m.to, slot)];
      if (!m.adds) w.clear();
      w.insert(w.end(), ids.begin(), ids.end());
    }
  }
  void arrive(const Move& m, int slot, Mask sent) {
    Mask& kept = held_[cell(m.to, slot)];
    if (m.adds && (kept & sent).any()) throw std::logic_error("a contribution is added twice");
    if (!m.adds && (kept & ~sent).any()) throw std::logic_error("a slot is overwritten with less");
    kept |= sent;
  }
  void begin() {
    const bool everyone = op_ == Op::all_reduce || op_ == Op::reduce_scatter || op_ == Op::reduce;
    for (int r = 0; r < ranks(); ++r)
      for (int s = 0; s < slots(); ++s) held_[cell(r, s)] = everyone || home(s) == r ? bit(r) : Mask{};
  }
  void check() const {
    for (int r = 0; r < ranks(); ++r)
      for (int s = 0; s < slots(); ++s) {
        const bool at_home = home(s) == r;
        Mask wanted;
        switch (op_) {
          case Op::all_reduce: wanted = everybody(ranks()); break;
          case Op::reduce_scatter:
          case Op::reduce: wanted = at_home ? everybody(ranks()) : Mask{}; break;
          case Op::all_gather:
          case Op::broadcast: wanted = bit(home(s)); break;
          case Op::all_to_all: wanted = goal_[index(s)] == r ? bit(home(s)) : Mask{}; break;
        }
        if (wanted.any() && held_[cell(r, s)] != wanted)
          throw std::logic_error("the collective is unfinished at rank " + std::to_string(r));
      }
  }

  const Network* net_;
  Op op_;
  std::vector<int> home_, goal_;
  double share_;
  std::vector<Mask> held_;
  std::vector<std::vector<int>> writers_;
  std::vector<Flow> flows_;
  std::vector<std::vector<Move>> moves_;
  std::map<std::tuple<int, int, int>, int> last_;
  std::vector<std::vector<int>> part_;  ///< of each rank's last step
  std::vector<std::pair<int, int>> now_;
  std::vector<std::pair<Move, std::vector<int>>> written_;
  bool in_step_ = false;
};

/// A slot for every rank, `copies` times (one for each concurrent ring or part).
inline std::vector<int> one_each(int ranks, int copies = 1) {
  std::vector<int> home;
  for (int c = 0; c < copies; ++c)
    for (int r = 0; r < ranks; ++r) home.push_back(r);
  return home;
}

}  // namespace flow
