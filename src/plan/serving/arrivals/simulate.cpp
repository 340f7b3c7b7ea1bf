/// The scheduler's steps.

#include "serving/arrivals/block_cache.hpp"
#include "text/quantile.hpp"

#include <fabricost/error.hpp>
#include <fabricost/in_order.hpp>
#include <fabricost/plan/serving/arrivals/simulate.hpp>
#include <fabricost/progress.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <queue>
#include <random>
#include <utility>
#include <vector>

namespace fabricost::plan {

namespace {

constexpr double never = std::numeric_limits<double>::infinity();

/// What is left of a request.
struct Left {
  double answered = 0;  ///< tokens
  int steps = 0;        ///< decode steps after the first token
  double each = 1;      ///< tokens of a step
  bool begun = false;   ///< has had its first token
  double trail = 0;     ///< s after the step of its prompt until that has left the last stage, and it begins to decode
  double done = never;  ///< s, when it has been answered
  int next = -1;        ///< the turn that waits for that
};

struct Reading {
  int request = 0;
  double left = 0, past = 0;  ///< tokens
  double own = 0;             ///< tokens of the cache that it alone holds
  double part = 0;            ///< tokens in this step
  double ready = 0;           ///< s, when its prefix is back
};

struct Running {
  int request = 0;
  long long ends = 0;  ///< the replica's count of decode steps after which it is answered
  long long began = 0;
  long long place = 0;  ///< in the order in which sequences began
  double own = 0;
};

/// Orders a heap whose first sequence ends first.
constexpr auto ends_later = [](const Running& a, const Running& b) { return in_order(a.ends, a.place) > in_order(b.ends, b.place); };

struct Replica {
  std::deque<int> waiting;
  std::vector<Reading> reading;
  std::vector<Running> running;  ///< a heap of `ends_later`
  BlockCache blocks;
  std::vector<BlockCache> behind;  ///< of tiers of its own
  std::vector<double> links;       ///< s, when the link to each tier is free
  double unread = 0;               ///< tokens of the prompts that wait
  double own = 0;                  ///< tokens that requests hold, without blocks
  double context = 0;              ///< tokens of all running sequences
  double growth = 0;               ///< of them in a step
  long long count = 0;  ///< decode steps
  long long begun = 0;  ///< sequences
  [[nodiscard]] std::size_t unanswered() const { return waiting.size() + reading.size() + running.size(); }
  /// By which requests are routed: those that wait weigh more, as in vLLM (v1/engine/core_client.py: score = waiting * 4 + running).
  [[nodiscard]] double load() const { return 4.0 * static_cast<double>(waiting.size()) + static_cast<double>(reading.size() + running.size()); }
  [[nodiscard]] bool busy() const { return !reading.empty() || !running.empty(); }
};

/// Steps in which a request with sampled drafts answers so many tokens. A search simulates the same requests under many rates and layouts:
/// what was drawn for a request is kept.
[[nodiscard]] int drafted_steps(int request, int tokens, int drafts, double acceptance) {
  struct Drawn {
    int tokens = -1, steps = 0;
  };
  thread_local std::pair<int, double> of{};  ///< drafts and acceptance of those known
  thread_local std::vector<Drawn> known;
  if (std::pair given{drafts, acceptance}; of != given) {
    known.clear();
    of = given;
  }
  if (known.size() <= static_cast<std::size_t>(request)) known.resize(static_cast<std::size_t>(request) + 1);
  Drawn& out = known[static_cast<std::size_t>(request)];
  if (out.tokens == tokens) return out.steps;
  out = {tokens, 0};
  std::minstd_rand source(
      static_cast<std::uint32_t>((static_cast<std::uint64_t>(request) + 1) * 2654435761U));  // neighbours draw unlike numbers
  for (int rest = tokens; rest > 0; ++out.steps) {
    const double u = static_cast<double>(source()) / std::minstd_rand::max();
    int given = 1;
    for (double kept = acceptance; given <= drafts && u < kept; kept *= acceptance) ++given;
    rest -= given;
  }
  return out.steps;
}

class Service {
 public:
  Service(StepTimes& times, const Scheduler& scheduler, int engines, const RequestLoad& load, EngineRole role, int clients,
          const EnoughKnown& enough)
      : times_(times), s_(scheduler), load_(load), role_(role), clients_(clients), enough_(enough), left_(load.requests.size()) {
    engines_.resize(static_cast<std::size_t>(engines));
    Replica empty;
    empty.behind.resize(scheduler.behind.size());
    empty.links.resize(scheduler.behind.size());
    for (EngineState& one : engines_) one.replicas.assign(static_cast<std::size_t>(scheduler.replicas), empty);
    common_.resize(scheduler.behind.size());
    out_.requests.resize(load.requests.size());
    for (std::size_t i = 0; i < load.requests.size(); ++i) prepare(static_cast<int>(i));
  }

  [[nodiscard]] Simulated run() {
    const auto all = static_cast<int>(load_.requests.size());
    const int sent = clients_ == 0 ? all : std::min(all, clients_ * static_cast<int>(engines_.size()));
    while (!known_) {
      core::ask_to_go_on();
      const double drawn = next_ >= sent ? never : clients_ > 0 ? 0 : request(next_).at, at = std::min(drawn, due());
      advance(at);
      if (due() < at) continue;  // an answer came that a turn had waited for
      if (at == never) break;
      if (due() <= drawn) {
        const int turn = turns_.top().second;
        turns_.pop();
        arrive(turn, at);
      } else if (const int i = next_++, before = request(i).after; before < 0 || left(before).done <= at) {
        arrive(i, at);
      } else if (left(before).done < never) {
        turns_.emplace(left(before).done, i);
      } else {
        left(before).next = i;
        ++waiting_turns_;
      }
    }
    out_.end = clients_ > 0 ? 0 : load_.requests.back().at;
    out_.running = decoding_ > 0 ? running_ / decoding_ : 0;
    out_.context = running_ > 0 ? contexts_ / running_ : 0;
    out_.hit_rate = prompts_ > 0 ? found_ / prompts_ : 0;
    out_.reloaded = prompts_ > 0 ? reloaded_ / prompts_ : 0;
    out_.reload /= static_cast<double>(all);
    out_.moving /= static_cast<double>(all);
    out_.prompts = busy_ > 0 ? reading_ / busy_ : 0;
    return std::move(out_);
  }

 private:
  struct EngineState {
    std::vector<Replica> replicas;
    double now = 0;
    double trail = 0;      ///< s after a step until its prompts have left a pipeline
    double begun = 0;      ///< of the step before: what had arrived then may begin now
    long long looked = 0;  ///< steps since the last look at arrivals
    long long held = 0;    ///< steps since prompts were read last, or might have been
    [[nodiscard]] bool idle() const {
      return std::all_of(replicas.begin(), replicas.end(), [](const Replica& r) { return r.unanswered() == 0; });
    }
  };

  [[nodiscard]] const Arrival& request(int i) const { return load_.requests[static_cast<std::size_t>(i)]; }
  [[nodiscard]] Left& left(int i) { return left_[static_cast<std::size_t>(i)]; }
  [[nodiscard]] Served& times_of(int i) { return out_.requests[static_cast<std::size_t>(i)]; }
  [[nodiscard]] const std::uint32_t* hashes(const Arrival& one) const { return load_.hashes.data() + one.first; }
  [[nodiscard]] double read_of(const Arrival& one, const Left& l) const { return one.prompt + l.answered; }

  /// The decode steps that a request will need. Those of a sampled draft differ from request to request.
  void prepare(int i) {
    const Arrival& one = request(i);
    if (one.prompt + one.answer > s_.cache)
      throw RequestError(fmt::format("a request of {} and {} tokens does not fit the cache of a replica, {:.0f} tokens", one.prompt,
                                     one.answer, s_.cache));
    const int tokens = one.answer - 1;
    const int steps = s_.drafts > 0 && s_.acceptance > 0 ? drafted_steps(i, tokens, s_.drafts, s_.acceptance) : tokens;
    left(i).steps = role_ == EngineRole::prefill ? 0 : steps;
    left(i).each = steps > 0 ? static_cast<double>(tokens) / steps : 1;
  }

  void arrive(int i, double at) {
    const std::size_t of_each = engines_.front().replicas.size(), all = engines_.size() * of_each, turn = arrived_++ % all;
    EngineState* engine = nullptr;
    Replica* replica = nullptr;
    double least = never;
    for (std::size_t k = 0; k < all && (k == 0 || s_.route != RequestRoute::round_robin); ++k) {  // of equal ones the next in turn
      const std::size_t place = (turn + k) % all;
      EngineState& one = engines_[place / of_each];
      Replica& r = one.replicas[place % of_each];
      const double cost = s_.route == RequestRoute::prefix ? work_of(r, request(i)) : r.load();
      if (cost < least) least = cost, engine = &one, replica = &r;
    }
    if (engine->idle()) {
      engine->now = engine->begun = std::max(engine->now, at);
      engine->looked = 0;
    }
    times_of(i).arrived = at;
    times_of(i).started = -1;
    queue(*replica, i, false);
  }

  /// Tokens that a replica has to read before a request's first, and holds.
  [[nodiscard]] double work_of(const Replica& r, const Arrival& one) {
    std::size_t known = r.blocks.leading(hashes(one), one.blocks);
    while (known < one.blocks && tier_of(r, hashes(one)[known], false) < s_.behind.size()) ++known;
    double out = one.prompt - std::min<double>(one.prompt, static_cast<double>(known) * load_.block) + r.unread + r.context;
    for (const Reading& other : r.reading) out += other.left;
    return out;
  }

  /// The nearest tier that has a block; their number: none. \param shared with those that all replicas share
  [[nodiscard]] std::size_t tier_of(const Replica& r, std::uint32_t hash, bool shared) const {
    std::size_t out = 0;
    while (out < s_.behind.size() && !(s_.behind[out].common ? shared && common_[out].has(hash) : r.behind[out].has(hash))) ++out;
    return out;
  }

  void queue(Replica& r, int i, bool first) {
    r.unread += read_of(request(i), left(i));
    first ? r.waiting.push_front(i) : r.waiting.push_back(i);
  }

  /// When the next turn arrives that waited for an answer.
  [[nodiscard]] double due() const { return turns_.empty() ? never : turns_.top().first; }

  /// Runs the steps that begin until then, or until a turn arrives that waited: of one engine after the other where no answer lets one arrive.
  void advance(double until) {
    if (waiting_turns_ == 0 || engines_.size() == 1) {
      for (EngineState& engine : engines_)
        while (!known_ && engine.now <= std::min(until, due()) && !engine.idle() && step(engine, std::min(until, due()))) continue;
      return;
    }
    std::priority_queue<std::pair<double, std::size_t>, std::vector<std::pair<double, std::size_t>>, std::greater<>> busy;  // the earliest first
    for (std::size_t i = 0; i < engines_.size(); ++i)
      if (engines_[i].now < until && !engines_[i].idle()) busy.emplace(engines_[i].now, i);
    while (!busy.empty() && busy.top().first < std::min(until, due()) && !known_) {
      const std::size_t i = busy.top().second;
      busy.pop();
      step(engines_[i], std::min(until, due()));
      if (!engines_[i].idle()) busy.emplace(engines_[i].now, i);
    }
  }

  /// \return false: it waits until then for a prefix
  bool step(EngineState& engine, double until) {
    const bool looks = static_cast<double>(++engine.looked) >= s_.poll ||
                       std::none_of(engine.replicas.begin(), engine.replicas.end(), [](const Replica& r) { return r.busy(); });
    if (looks) engine.looked = 0;
    bool changes = false;
    const bool reads = reads_prompts(engine);
    for (Replica& r : engine.replicas) {
      const bool all_seen = compose(r, looks && reads, reads, engine.now, s_.ahead > 0 ? engine.begun : engine.now);
      changes = changes || !all_seen || !r.reading.empty();
    }
    if (double back = never; waits(engine, back)) {
      const bool seen = engine.begun >= engine.now;
      engine.begun = engine.now;
      if (!seen) return true;  // what arrived since may begin first
      engine.now = engine.begun = std::min(back, until);
      return back <= until;
    }
    const long long steps = changes || (waiting_turns_ > 0 && engines_.size() > 1) ? 1 : equal_steps(engine, until);
    const double seconds = seconds_of(engine, static_cast<double>(steps));
    engine.begun = steps > 1 ? engine.now + seconds - seconds / static_cast<double>(steps) : engine.now;
    engine.now += seconds;
    engine.looked += steps - 1;
    if (s_.together > 0) engine.held = (engine.held + steps - 1) % s_.together;
    out_.steps += steps;
    for (Replica& r : engine.replicas) finish(engine, r, steps, seconds);
    return true;
  }

  /// Whether prompts are read in the next step: where replicas begin them together, when each has one, one has nothing else to do, or the
  /// time is up.
  [[nodiscard]] bool reads_prompts(EngineState& engine) const {
    if (s_.together < 1 || engine.replicas.size() < 2) return true;
    const auto has = [](const Replica& r) { return !r.reading.empty() || !r.waiting.empty(); };
    const auto rests = [](const Replica& r) { return r.running.empty(); };
    const bool all = std::all_of(engine.replicas.begin(), engine.replicas.end(), has);
    if (!all && ++engine.held < s_.together && std::none_of(engine.replicas.begin(), engine.replicas.end(), rests)) return false;
    engine.held = 0;
    return true;
  }

  /// Whether an engine has nothing to do until a prefix is back, and when the first is.
  [[nodiscard]] static bool waits(const EngineState& engine, double& back) {
    for (const Replica& r : engine.replicas) {
      if (!r.running.empty()) return false;
      for (const Reading& one : r.reading) {
        if (one.part > 0) return false;
        back = std::min(back, one.ready);
      }
    }
    return back < never;
  }

  /// Seconds of so many steps, between the first and the last of which contexts grow evenly; with parts of prompts, of one.
  [[nodiscard]] double seconds_of(EngineState& engine, double steps) {
    double decode = 0, fullest = 0, sequences = 0, tokens = 0, rows = 0;
    for (const Replica& r : engine.replicas) {
      const auto n = static_cast<double>(r.running.size());
      if (n > 0) {
        const double first = times_.decode(n, r.context / n);
        decode = std::max(decode, steps <= 1 ? first : steps * (first + times_.decode(n, (r.context + (steps - 1) * r.growth) / n)) / 2);
      }
      sequences += n;
      if (r.reading.empty()) continue;
      parts_.clear();
      double own = 0;
      for (const Reading& one : r.reading)
        if (one.part > 0) parts_.push_back({one.part, one.past}), own += one.part;
      if (own <= 0) continue;
      fullest = std::max(fullest, times_.beside(n, parts_));
      tokens += own;
      rows = std::max(rows, times_.rows_of(n) + own);
    }
    engine.trail = 0;
    busy_ += decode;
    if (tokens <= 0) return decode;
    const auto replicas = static_cast<double>(engine.replicas.size());
    const double out = times_.mixed(decode, fullest, sequences / replicas, tokens / replicas, rows);
    busy_ += out - decode;
    reading_ += out - decode;
    engine.trail = times_.trail();
    return out;
  }

  /// Steps until something changes: an answer ends, the cache is full, or a request may arrive.
  [[nodiscard]] long long equal_steps(const EngineState& engine, double until) {
    constexpr long long most = 256;
    long long out = most;
    double longest = 0;
    for (const Replica& r : engine.replicas) {
      if (r.running.empty()) continue;
      out = std::min(out, r.running.front().ends - r.count);
      if (std::isfinite(s_.cache)) out = std::min(out, static_cast<long long>((s_.cache - used(r)) / r.growth));
    }
    if (out <= 1 || until == never) return std::max(1LL, out);
    for (const Replica& r : engine.replicas)
      if (const auto n = static_cast<double>(r.running.size()); n > 0)
        longest = std::max(longest, times_.decode(n, (r.context + static_cast<double>(out) * r.growth) / n));
    return std::clamp(static_cast<long long>((until - engine.now) / longest), 1LL, out);
  }

  [[nodiscard]] double used(const Replica& r) const {
    return r.own + static_cast<double>(r.blocks.in_use()) * load_.block + (r.busy() ? load_.shared : 0);
  }

  /// Chooses the prompts of a step. \return false: a request waits that may begin in the next one
  /// \param reads whether prompts are read in it
  bool compose(Replica& r, bool looks, bool reads, double now, double known) {
    while (!r.running.empty() && used(r) + r.growth > s_.cache && r.running.size() + r.reading.size() > 1) preempt(r);
    double budget = std::max(1.0, s_.chunk - static_cast<double>(r.running.size()) * (1 + s_.drafts));
    for (Reading& one : r.reading) budget -= one.part = one.ready > now || !reads ? 0 : std::min(one.left, budget);
    while (looks && !r.waiting.empty() && budget > 0 && static_cast<double>(r.running.size() + r.reading.size()) < s_.sequences) {
      const int i = r.waiting.front();
      if (times_of(i).arrived > known && r.busy()) return false;
      if (!start(r, i, now)) break;
      r.waiting.pop_front();
      r.unread = r.waiting.empty() ? 0 : r.unread - read_of(request(i), left(i));
      if (times_of(i).started < 0) times_of(i).started = now;
      if (role_ == EngineRole::decode) continue;
      Reading& one = r.reading.back();
      budget -= one.part = one.ready > now ? 0 : std::min(one.left, budget);
    }
    return looks || r.waiting.empty();
  }

  /// Gives a request its tokens of the cache; false: they do not fit now.
  [[nodiscard]] bool start(Replica& r, int i, double now) {
    const Arrival& one = request(i);
    const double tokens = read_of(one, left(i));
    double found = s_.behind.empty() ? std::min<double>(one.repeated, tokens - 1) : 0, own = tokens - std::min(load_.shared, one.repeated);
    if (one.blocks > 0) own = std::max(0.0, tokens - static_cast<double>(one.blocks) * load_.block);
    const double room = s_.cache - used(r) - own - 1;
    if (r.busy() && !r.blocks.lacks_at_most(room / load_.block, hashes(one), one.blocks)) return false;
    if (one.blocks > 0) {
      found = std::min(static_cast<double>(r.blocks.leading(hashes(one), one.blocks)) * load_.block, tokens - 1);
      r.blocks.hold(hashes(one), one.blocks);
    }
    r.own += own;
    if (one.blocks > 0) r.blocks.keep((s_.cache - r.own) / load_.block);
    const double ready = reload(r, i, tokens, found, now);
    if (times_of(i).started < 0) {  // one that had lost its place finds its own tokens
      prompts_ += tokens;
      found_ += found;
    }
    if (role_ == EngineRole::decode)
      run(r, i, own);
    else
      r.reading.push_back({.request = i, .left = tokens - found, .past = found, .own = own, .ready = ready});
    return true;
  }

  /// Brings back from the tiers what follows the tokens found, as far as that is sooner than reading it. \return when it is there
  [[nodiscard]] double reload(Replica& r, int i, double tokens, double& found, double now) {
    const Arrival& one = request(i);
    double ready = 0;
    const auto brings = [&](std::size_t tier, double more) {
      const CacheTier& from = s_.behind[tier];
      const double back = std::max(now, r.links[tier]) + from.start + more * from.token;
      parts_.assign(1, {more, found});
      if (more <= 0 || back - now > times_.beside(static_cast<double>(r.running.size()), parts_)) return false;
      out_.moving += from.start + more * from.token;
      ready = std::max(ready, r.links[tier] = back);
      found += more;
      if (times_of(i).started < 0) reloaded_ += more;
      return true;
    };
    if (s_.behind.empty()) return 0;
    if (one.blocks == 0 && one.repeated > 0)
      static_cast<void>(brings(0, std::min<double>(one.repeated, tokens - 1)));  // a share of the prompt
    const std::uint32_t* of = hashes(one);
    for (auto n = static_cast<std::size_t>(std::ceil(found / load_.block)); n < one.blocks;) {
      const std::size_t tier = tier_of(r, of[n], true);
      if (tier == s_.behind.size()) break;
      while (n < one.blocks && tier_of(r, of[n], true) == tier) ++n;
      if (!brings(tier, std::min(static_cast<double>(n) * load_.block, tokens - 1) - found)) break;
    }
    if (ready > 0) out_.reload += ready - now;
    return ready;
  }

  /// Copies blocks to the tiers.
  void store(Replica& r, const std::uint32_t* hashes, std::size_t count) {
    for (std::size_t t = 0; t < s_.behind.size(); ++t) {
      BlockCache& tier = s_.behind[t].common ? common_[t] : r.behind[t];
      tier.add(hashes, count);
      tier.keep(s_.behind[t].tokens / load_.block);
    }
  }

  void run(Replica& r, int i, double own) {
    const Left& l = left(i);
    r.running.push_back({.request = i, .ends = r.count + l.steps, .began = r.count, .place = r.begun++, .own = own});
    std::push_heap(r.running.begin(), r.running.end(), ends_later);
    r.context += read_of(request(i), l);
    r.growth += l.each;
  }

  void release(Replica& r, int i, double own) {
    r.own -= own;
    if (const Arrival& one = request(i); one.blocks > 0) {
      r.blocks.leave(hashes(one), one.blocks);
      store(r, hashes(one), one.blocks);
    }
    if (r.unanswered() == 0) r.own = r.context = r.growth = 0;  // what rounding left
  }

  /// Takes its place from the sequence that started last.
  void preempt(Replica& r) {
    ++out_.preempted;
    if (!r.reading.empty()) {
      const Reading one = r.reading.back();
      r.reading.pop_back();
      queue(r, one.request, true);
      return release(r, one.request, one.own);
    }
    const auto last = std::max_element(r.running.begin(), r.running.end(), [](const Running& a, const Running& b) { return a.place < b.place; });
    const Running one = *last;
    *last = r.running.back();
    r.running.pop_back();
    std::make_heap(r.running.begin(), r.running.end(), ends_later);
    Left& l = left(one.request);
    const double grown = leave(r, one);
    l.answered += grown;
    l.steps -= static_cast<int>(r.count - one.began);
    queue(r, one.request, true);
    release(r, one.request, one.own + grown);
  }

  /// Takes a sequence out of the sums of its replica. \return the tokens it has answered since it began
  double leave(Replica& r, const Running& one) {
    const Left& l = left(one.request);
    const double grown = static_cast<double>(r.count - one.began) * l.each;
    r.context -= read_of(request(one.request), l) + grown;
    r.growth -= l.each;
    return grown;
  }

  void finish(EngineState& engine, Replica& r, long long steps, double seconds) {
    const auto n = static_cast<double>(r.running.size());
    if (n > 0) {
      decoding_ += seconds;
      running_ += n * seconds;
      contexts_ += r.context * seconds;
      r.count += steps;
      r.context += static_cast<double>(steps) * r.growth;
      r.own += static_cast<double>(steps) * r.growth;
    }
    while (!r.running.empty() && r.running.front().ends <= r.count) {
      std::pop_heap(r.running.begin(), r.running.end(), ends_later);
      const Running one = r.running.back();
      r.running.pop_back();
      const double grown = leave(r, one);
      answered(engine, r, one.request, one.own + grown);
    }
    if (r.reading.empty()) return;
    std::size_t kept = 0;
    for (std::size_t k = 0; k < r.reading.size(); ++k) {
      Reading one = r.reading[k];
      one.left -= one.part;
      one.past += one.part;
      if (one.left > 0) {
        r.reading[kept++] = one;
        continue;
      }
      read(engine, r, one);
    }
    r.reading.resize(kept);
  }

  /// A prompt has been read: its first token, or the next one of a sequence that had lost its place.
  void read(EngineState& engine, Replica& r, const Reading& one) {
    Left& l = left(one.request);
    if (!l.begun) {
      l.begun = true;
      l.trail = engine.trail;
      times_of(one.request).first = s_.first + engine.now + l.trail;
    } else if (l.steps > 0) {
      --l.steps;
      l.answered += l.each;
    }
    if (l.steps > 0)
      run(r, one.request, one.own);
    else
      answered(engine, r, one.request, one.own);
  }

  void answered(EngineState& engine, Replica& r, int i, double own) {
    Served& at = times_of(i);
    if (role_ == EngineRole::decode) at.first = at.arrived;
    at.last = role_ == EngineRole::decode ? engine.now : s_.first + engine.now + left(i).trail;
    if (enough_ && enough_(static_cast<std::size_t>(i), at)) known_ = true;
    left(i).done = at.last + (request(i).answer - 1) * s_.elsewhere;
    if (const int turn = left(i).next; turn >= 0) {
      turns_.emplace(left(i).done, turn);
      --waiting_turns_;
    }
    release(r, i, own);
    if (const Arrival& one = request(i); one.written > 0) {  // the next turn of its session finds its answer
      r.blocks.add(hashes(one) + one.blocks, one.written);
      store(r, hashes(one) + one.blocks, one.written);
      r.blocks.keep((s_.cache - r.own) / load_.block);
    }
    if (clients_ == 0 || next_ >= static_cast<int>(load_.requests.size())) return;
    times_of(next_).arrived = engine.now;
    times_of(next_).started = -1;
    queue(r, next_++, false);
  }

  StepTimes& times_;
  const Scheduler& s_;
  const RequestLoad& load_;
  EngineRole role_;
  int clients_, next_ = 0;
  const EnoughKnown& enough_;
  bool known_ = false;  ///< enough
  std::vector<EngineState> engines_;
  std::vector<Left> left_;
  std::vector<PromptPart> parts_;
  Simulated out_;
  std::vector<BlockCache> common_;  ///< of each tier, where replicas share it
  std::size_t arrived_ = 0;
  /// Turns whose answer has come, by when they arrive, the first on top.
  std::priority_queue<std::pair<double, int>, std::vector<std::pair<double, int>>, std::greater<>> turns_;
  int waiting_turns_ = 0;  ///< for an answer that has not come
  double decoding_ = 0, running_ = 0, contexts_ = 0, prompts_ = 0, found_ = 0, reloaded_ = 0, busy_ = 0, reading_ = 0;
};

[[nodiscard]] Percentiles percentiles_of(std::vector<double> values, double percentile) {
  if (values.empty()) return {};
  double sum = 0;
  for (const double one : values) sum += one;
  const auto at = [&](double p) { return core::quantile_among(values, p / 100); };
  return {sum / static_cast<double>(values.size()), at(50), at(90), at(99), at(percentile)};
}

}  // namespace

Simulated simulate(StepTimes& times, const Scheduler& scheduler, int engines, const RequestLoad& load, EngineRole role, int clients,
                   const EnoughKnown& enough) {
  return Service(times, scheduler, engines, load, role, clients, enough).run();
}

std::size_t first_counted(const RequestLoad& load) {
  return load.trace ? 0 : std::max(load.warm_up, static_cast<std::size_t>(warm_up * static_cast<double>(load.requests.size())));
}

LoadFigures figures_of(const RequestLoad& load, const Simulated& served, double percentile, double ttft, double tpot) {
  LoadFigures out;
  const std::vector<Served>& all = served.requests;
  const std::size_t from = first_counted(load);
  std::vector<double> first, token, whole;
  double kept = 0, begin = all[from].arrived, end = load.trace ? begin : served.end;
  if (end <= begin)  // of a trace, and of a closed loop
    for (const Served& one : all) end = std::max(end, load.trace ? one.last : one.arrived);
  if (!(end > begin)) {  // all at once: while engines are full
    std::vector<double> ends;
    for (const Served& one : all) ends.push_back(one.last);
    begin = core::quantile_among(ends, warm_up);
    end = core::quantile_among(ends, 1 - warm_up);
  }
  double answers = 0, tokens = 0, present = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Served& one = all[i];
    present += std::max(0.0, std::min(one.last, end) - std::max(one.arrived, begin));
    if (one.last > begin && one.last <= end) {
      ++answers;
      tokens += load.requests[i].answer;
    }
    if (i < from) continue;
    const int further = load.requests[i].answer - 1;
    first.push_back(one.first - one.arrived);
    whole.push_back(one.last - one.arrived);
    if (further > 0) token.push_back((one.last - one.first) / further);
    out.queue += one.started - one.arrived;
    kept += (ttft <= 0 || first.back() <= ttft) && (tpot <= 0 || further < 1 || token.back() <= tpot) ? 1 : 0;
  }
  const auto counted = static_cast<double>(first.size());
  out.queue /= counted;
  out.within = kept / counted;
  if (end > begin) {
    out.rate = answers / (end - begin);
    out.tokens = tokens / (end - begin);
    out.in_flight = present / (end - begin);
  }
  out.ttft = percentiles_of(std::move(first), percentile);
  out.tpot = percentiles_of(std::move(token), percentile);
  out.e2e = percentiles_of(std::move(whole), percentile);
  return out;
}

}  // namespace fabricost::plan
