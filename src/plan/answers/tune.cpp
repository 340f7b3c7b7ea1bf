/// The search for sizes at which NCCL's choice loses: sixteen sizes per octave and both sides of every switch
/// point, with changes of the result bisected to the byte.

#include <fabricost/answers/predict.hpp>
#include <fabricost/plan/answers/tune.hpp>
#include <fabricost/choice/forced.hpp>
#include <fabricost/choice/pick.hpp>
#include <fabricost/fields/field.hpp>
#include <fabricost/predict/curve.hpp>
#include <fabricost/predict/certainty.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace fabricost::plan {

RequestTable<TuneRequest> TuneRequest::fields() {
  using R = TuneRequest;
  using enum Amount;
  return {asks(&R::system, "system", "--system,-s", "NAME", field::ask_system<R>.words, true),
          asks(&R::nodes, "nodes", "--nodes,-n", count, any_count, "N,...", "Nodes, as nccl-tests counts them: 2 or 2,4,8"),
          asks(&R::ranks, "ranks", "--ranks,-r", count, any_count, "R", "GPUs; default all of the nodes"),
          asks(&R::dtype, "dtype", "--dtype", "TYPE", "int8 half bfloat16 fp8 float double; default half"),
          asks(&R::operation, "operation", "--op", "OP", "One of: all_reduce all_gather reduce_scatter\nbroadcast reduce; default all"),
          field::ask_calibration<R>,
          field::ask_override<R>};
}

AnswerTable<TunedGroup> TunedGroup::fields() {
  using A = TunedGroup;
  return {field::give_nodes<A>, field::give_ranks<A>};
}

AnswerTable<UnmeasuredChoice> UnmeasuredChoice::fields() {
  using A = UnmeasuredChoice;
  return {field::give_operation<A>, field::give_nodes<A>, field::give_ranks<A>,
          gives(&A::algorithm, "algorithm", "algorithm", "What NCCL could run."),
          gives(&A::protocol, "protocol", "protocol", "Under what.")};
}

AnswerTable<SlowChoice> SlowChoice::fields() {
  using A = SlowChoice;
  return {
      field::give_operation<A>,
      field::give_nodes<A>,
      field::give_ranks<A>,
      gives(&A::smallest, "first_bytes", "first_bytes", "Smallest size, byte, as nccl-tests counts it."),
      gives(&A::largest, "last_bytes", "last_bytes", "Largest size, byte, included."),
      gives(&A::algorithm, "runs.algorithm", "algorithm", "What NCCL picks."),
      gives(&A::protocol, "runs.protocol", "protocol", "Under what."),
      gives(&A::better_algorithm, "faster.algorithm", "better_algorithm", "What is faster."),
      gives(&A::better_protocol, "faster.protocol", "better_protocol", "Under what."),
      gives(&A::bytes, "bytes", "bytes", "Size at which most time is lost, byte."),
      gives(&A::time, "time_us", "seconds", "NCCL's pair there, s.", in_microseconds),
      gives(&A::better_time, "faster_us", "better_seconds", "The better pair there, s.", in_microseconds),
      gives(&A::lost, "lost_us", "lost_seconds", "seconds - better_seconds.", in_microseconds),
      gives(&A::lost_share, "lost_percent", "lost_share", "Share of NCCL's time that is lost: 1 - better_seconds / seconds.", in_percent),
      gives(&A::least_share, "lost_percent_interval[]", "least_share", "The share that nineteen in twenty measurements lose at least.",
            in_percent),
      gives(&A::most_share, "lost_percent_interval[]", "most_share", "The share that nineteen in twenty measurements lose at most.",
            in_percent),
      gives(&A::sure, "sure", "sure", "The intervals leave no doubt."),
      gives(&A::basis, "basis", "basis", "The weaker of the two: calibrated, sibling or datasheet.")};
}

AnswerTable<TuneAnswer> TuneAnswer::fields() {
  using A = TuneAnswer;
  return {
      field::give_system<A>,
      gives(&A::library, "library", "library", "What chooses, as in `nccl`."),
      gives(&A::dtype, "dtype", "dtype", "Type of the elements."),
      gives(&A::groups, "shapes", "groups", "Groups of ranks that were asked for, a list of TunedGroup."),
      gives(&A::ranges, "ranges", "ranges", "List of SlowRange: sure ones first, each by time lost."),
      gives(&A::unmeasured, "unmeasured", "unmeasured", "What is never recommended because no fit covers it, a list of UnmeasuredChoice."),
      gives(&A::doubts, "doubts", "doubts", "Why a whole question is not sure."),
      gives(&A::config, "", "", "The sure ranges as the CSV that NCCL's example tuner plugin reads.")};
}

namespace {

constexpr double worth_listing = 0.05;  ///< of log time: see answers/tune.hpp
constexpr int per_octave = 16;
constexpr double least_sure = 0.01;  ///< of NCCL's time that is lost at least: less is no reason to change anything

/// True if a price rests on measurements of this algorithm for this operation: in-switch reduction was
/// measured as all_reduce of all eight GPUs of a server and of racks (price/in_switch.hpp).
[[nodiscard]] bool is_measured(Algorithm a, Collective op, const Fabric& f) {
  if (a == Algorithm::nvls && (op != Collective::all_reduce || f.local() < 8)) return false;
  return has_fitted_form(a, op, f);
}

/// Why no range of a request can be sure; empty if one can. The constants inside a node were fitted to
/// all_reduce, all_gather and reduce_scatter, those between nodes to the measurements listed in their file.
[[nodiscard]] std::string doubt_of(Collective op, const Fabric& f, const System& system) {
  if (f.library == Library::rccl) return f.domains() <= 1 ? "RCCL's own sizes are known from few machines, 8 MI300X and their like"
                            : "RCCL chooses by tables of its own, for which NCCL's stand in here";
  if (f.over_pcie && f.domains() <= 1 && f.local() > 4)
    return "more than four GPUs over PCIe: the same run takes once or twice the time, by where its memory lies";
  if (!is_rooted(op)) return "";
  if (f.domains() <= 1) return fmt::format("the constants inside a node were fitted without {}", name(op));
  const Constants& c = system.constants;
  const Tier* nic = system.tier(TierRole::nic);
  const bool measured = c.transport_known && MeasuredOperations::has(c.transport_operations.anywhere, static_cast<std::size_t>(op));
  if (nic != nullptr && !measured) return fmt::format("the constants of {} were fitted without {}", name(nic->transport), name(op));
  return "";
}

/// Between nodes a ring's steps inside a node are assumed to cost five times LL's under LL128
/// (price/internode.hpp), from runs in which NCCL never ran both at one size: which of the two is faster
/// there has not been measured.
[[nodiscard]] bool never_compared(Candidate a, Candidate b, const Fabric& f) {
  const auto both = [&](Protocol x, Protocol y) { return (a.protocol == x && b.protocol == y) || (a.protocol == y && b.protocol == x); };
  return f.domains() > 1 && f.local() > 1 && both(Protocol::ll, Protocol::ll128);
}
constexpr std::string_view never_compared_text = "between nodes LL and LL128 were never measured side by side";

/// The result at one size.
struct Comparison {
  Candidate now;
  std::optional<Candidate> better{};
  bool sure = false;
  friend bool operator==(const Comparison&, const Comparison&) = default;
};

struct PricedChoice {
  double seconds = 0, half_width = 0;
  Basis basis = Basis::datasheet;
};

/// One operation over one group of ranks.
class Question {
 public:
  Question(const System& system, const Operation& op) : system_(system), op_(op), curve_(compile(system, op)) {
    const Fabric& f = curve_.fabric();
    doubt_ = doubt_of(op.collective, f, system);
    const bool byte_wide = is_byte_wide(op.dtype);
    const auto table = fabricost::core::allowed_rows(Choice{}, {op.collective, byte_wide}, f);
    // NCCL runs no pair that its table of models ignores, whatever a variable or a plugin asks for
    const auto has_row = [&](Candidate c) {
      return std::any_of(table.rows.begin(), table.rows.end(), [&](const auto& row) { return row.candidate == c; });
    };
    for (const Candidate c : forced_candidates(op.collective, f, byte_wide)) {
      if (!is_measured(c.algorithm, op.collective, f)) {
        unmeasured_.push_back(c);
        continue;
      }
      if (!has_row(c)) continue;
      candidates_.push_back(c);
      lines_.push_back(price(schedule_of(c.algorithm, op.collective, f), f, system.constants, c.protocol, byte_wide));
    }
  }

  /// Why some or all of its ranges cannot be sure.
  [[nodiscard]] std::vector<std::string> doubts() const {
    std::vector<std::string> out;
    if (!doubt_.empty()) out.push_back(doubt_);
    const auto runs = [&](Protocol p) {
      return std::any_of(candidates_.begin(), candidates_.end(), [p](Candidate c) { return c.protocol == p; });
    };
    const Fabric& f = curve_.fabric();
    if (f.domains() > 1 && f.local() > 1 && runs(Protocol::ll) && runs(Protocol::ll128)) out.emplace_back(never_compared_text);
    return out;
  }
  [[nodiscard]] const std::vector<Candidate>& unmeasured() const { return unmeasured_; }
  [[nodiscard]] int nodes() const { return curve_.fabric().nodes; }
  [[nodiscard]] int ranks() const { return static_cast<int>(curve_.fabric().ranks()); }

  /// The fastest of the surely faster pairs, else of all faster ones; but `keep` while nothing is better by
  /// the listed threshold.
  [[nodiscard]] Comparison at(double bytes, std::optional<Candidate> keep) const {
    Comparison out{curve_.ran_at(bytes)};
    const PricedChoice now = priced(out.now, curve_.line(bytes), bytes);
    const Fabric& f = curve_.fabric();
    const bool can_be_sure = doubt_.empty() && is_measured(out.now.algorithm, op_.collective, f);
    const bool switches_seen = f.domains() <= 1 && system_.constants.basis == Basis::calibrated;
    double min = 0;
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      if (candidates_[i] == out.now) continue;
      const PricedChoice other = priced(candidates_[i], lines_[i], bytes);
      const double gain = std::log(now.seconds / other.seconds);
      if (!(gain > worth_listing)) continue;
      const bool known_to_lose = switches_seen || octaves_from_own_choice(candidates_[i], bytes).value_or(1) >= 1;
      const bool compared = !never_compared(out.now, candidates_[i], f);
      const bool sure = can_be_sure && known_to_lose && compared && gain > std::hypot(now.half_width, other.half_width);
      const double counted = candidates_[i] == keep ? other.seconds * std::exp(-worth_listing) : other.seconds;
      if (out.better && (out.sure > sure || (out.sure == sure && min <= counted))) continue;
      out.better = candidates_[i];
      out.sure = sure;
      min = counted;
    }
    return out;
  }

  /// The range from `first` to `last` with this result, evaluated where most time is lost.
  [[nodiscard]] SlowChoice range(const Comparison& found, double first, double last, const std::vector<double>& sizes) const {
    const Candidate faster = *found.better;
    SlowChoice out{.operation = std::string{name(op_.collective)},
                   .nodes = nodes(),
                   .ranks = ranks(),
                   .smallest = units::B(first),
                   .largest = units::B(last),
                   .algorithm = std::string{name(found.now.algorithm)},
                   .protocol = std::string{name(found.now.protocol)},
                   .better_algorithm = std::string{name(faster.algorithm)},
                   .better_protocol = std::string{name(faster.protocol)},
                   .sure = found.sure};
    const auto consider = [&](double bytes) {
      const PricedChoice now = priced(found.now, curve_.line(bytes), bytes), better = priced(faster, line_of(faster), bytes);
      if (out.bytes > Bytes{} && now.seconds - better.seconds <= out.lost.value()) return;
      const double half_width = std::hypot(now.half_width, better.half_width);
      out.bytes = units::B(bytes);
      out.time = units::s(now.seconds);
      out.better_time = units::s(better.seconds);
      out.lost = units::s(now.seconds - better.seconds);
      out.lost_share = 1 - better.seconds / now.seconds;
      out.least_share = 1 - better.seconds / now.seconds * std::exp(half_width);
      out.most_share = 1 - better.seconds / now.seconds * std::exp(-half_width);
      out.basis = name(std::max(now.basis, better.basis));
    };
    consider(first);
    for (auto at = std::lower_bound(sizes.begin(), sizes.end(), first); at != sizes.end() && *at <= last; ++at) consider(*at);
    consider(last);
    out.sure = out.sure && out.least_share >= least_sure;
    return out;
  }

  /// Sizes to examine: steps, and both sides of each of NCCL's switch points.
  [[nodiscard]] std::vector<double> sizes() const {
    std::vector<double> out;
    const auto add = [&out](double bytes) {
      if (bytes >= tune_smallest && bytes <= tune_largest) out.push_back(bytes);
    };
    for (int i = 0; i <= per_octave * 23; ++i) add(std::round(tune_smallest * std::exp2(static_cast<double>(i) / per_octave)));
    for (int i = 1; i < curve_.pieces(); ++i) {
      const double whole = std::ceil(curve_.threshold_bytes(i));
      add(whole - 1);
      add(whole);
    }
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
  }

 private:
  [[nodiscard]] const Line& line_of(Candidate c) const {
    return lines_[static_cast<std::size_t>(std::find(candidates_.begin(), candidates_.end(), c) - candidates_.begin())];
  }

  [[nodiscard]] PricedChoice priced(Candidate c, const Line& line, double bytes) const {
    const Certainty sure = certainty_of(system_.constants, curve_.fabric(), op_.collective, c, line, bytes);
    return {line(bytes), sure.half_width + beyond_own_choice(c, bytes), sure.basis};
  }

  /// Factors of two between a size and the nearest one at which NCCL chooses the pair; nothing if never.
  [[nodiscard]] std::optional<double> octaves_from_own_choice(Candidate c, double bytes) const {
    std::optional<double> nearest;
    for (int i = 0; i < curve_.pieces(); ++i) {
      const double from = std::max(1.0, curve_.threshold_bytes(i));
      if (!(curve_.ran_at(from) == c)) continue;
      const double to = i + 1 < curve_.pieces() ? curve_.threshold_bytes(i + 1) : largest_considered;
      const double octaves = bytes < from ? std::log2(from / bytes) : bytes > to ? std::log2(bytes / to) : 0;
      nearest = std::min(nearest.value_or(octaves), octaves);
    }
    return nearest;
  }

  /// Widening of a pair's interval where NCCL does not choose it.
  [[nodiscard]] double beyond_own_choice(Candidate c, double bytes) const {
    const IntervalWidths& w = system_.constants.interval;
    const std::optional<double> octaves = octaves_from_own_choice(c, bytes);
    return octaves ? w.beyond_sizes * *octaves : w.beyond_ranks;
  }

  static constexpr double largest_considered = 2 * tune_largest;

  const System& system_;
  Operation op_;
  Curve curve_;
  std::string doubt_;
  std::vector<Candidate> candidates_, unmeasured_;
  std::vector<Line> lines_;
};

/// The ranges of one request, each from the first to the last byte with the same result.
void add_ranges(const Question& question, std::vector<SlowChoice>& out) {
  const std::vector<double> sizes = question.sizes();
  double first = sizes.front();
  Comparison found = question.at(first, std::nullopt);
  const auto still = [&](double bytes) { return question.at(bytes, found.better) == found; };
  const auto close = [&](double last) {
    if (found.better) out.push_back(question.range(found, first, last, sizes));
  };
  double low = first;
  for (const double size : sizes) {
    while (!still(size)) {  // there may be more than one change between two sizes
      double high = size;
      while (high - low > 1) {
        const double middle = std::floor(0.5 * (low + high));
        (still(middle) ? low : high) = middle;
      }
      close(high - 1);
      first = low = high;
      found = question.at(high, found.better);
    }
    low = size;
  }
  close(sizes.back());
}

void check(const System& system, std::optional<Collective> asked) {
  if (asked && is_exchange(*asked))
    throw RequestError(fmt::format("{} has no table to tune: NCCL sends it point to point; take a collective that reduces, gathers or broadcasts",
                                   name(*asked)));
  if (system.library != Library::nccl && system.library != Library::rccl)
    throw RequestError(fmt::format("{}: runs {}, which takes no NCCL_ALGO, NCCL_PROTO or tuner plugin", system.name, name(system.library)));
}

}  // namespace

TuneAnswer answer(const TuneRequest& request) {
  check_ranges(request);
  need_machine(request.system);
  std::optional<Collective> asked;
  if (request.operation) asked = static_cast<Collective>(*request.operation);
  const System system = request.system.load(request.overrides, {}, request.calibration);
  check_type(system, asked.value_or(Collective::all_reduce), request.dtype);
  check(system, asked);
  TuneAnswer out{.system = system.name, .library = std::string{name(system.library)}, .dtype = std::string{name(request.dtype)}};
  std::vector<int> nodes = request.nodes.values;
  if (nodes.empty()) nodes.push_back(0);
  for (const int count : nodes) {
    check_ranks(system, {.ranks = request.ranks, .nodes = count});
    bool first = true;
    for (const Collective c : tuned_collectives) {
      if (asked && *asked != c) continue;
      const Question question{system, {.collective = c, .ranks = request.ranks, .nodes = count, .dtype = request.dtype}};
      if (question.ranks() < 2) throw RequestError(fmt::format("{}: one rank alone moves nothing; ask for at least two", system.name));
      const TunedGroup group{question.nodes(), question.ranks()};
      if (first && std::find(out.groups.begin(), out.groups.end(), group) != out.groups.end()) break;  // named twice
      if (first) out.groups.push_back(group);
      first = false;
      add_ranges(question, out.ranges);
      for (const Candidate pair : question.unmeasured())
        out.unmeasured.push_back({std::string{name(c)}, question.nodes(), question.ranks(), std::string{name(pair.algorithm)},
                                  std::string{name(pair.protocol)}});
      for (const std::string& doubt : question.doubts())
        if (std::find(out.doubts.begin(), out.doubts.end(), doubt) == out.doubts.end()) out.doubts.push_back(doubt);
    }
  }
  std::stable_sort(out.ranges.begin(), out.ranges.end(),
                   [](const SlowChoice& a, const SlowChoice& b) { return a.sure != b.sure ? a.sure : a.lost > b.lost; });
  out.config = plugin_config(out);
  return out;
}

}  // namespace fabricost::plan
