/// The price with its numbers, line by line as price/line.hpp sums them up: the part outside the norm,
/// latency a, volume b, the norm in which one hides the other, and the parts' shares of the norm.

#include "explain/sections.hpp"
#include "text/text_table.hpp"

#include <fabricost/price/internode.hpp>
#include <fabricost/text/quantity.hpp>

#include <fmt/format.h>

#include <cmath>

namespace fabricost::core::detail {
namespace {

constexpr double nothing = 0.5e-9;  ///< seconds that print as 0.000 us

[[nodiscard]] std::string megabytes(double bytes) { return fmt::format("{:.7g} MB", bytes / 1e6); }

/// An exchange between domains: its parts are shares of a norm without rates of their own.
[[nodiscard]] bool parallel(const ExplainContext& context) {
  return context.operation().collective == Collective::all_to_all && context.prediction.ran.algorithm == Algorithm::direct &&
         context.fabric().domains() > 1;
}

/// Seconds a byte of SHARP's transfer, whose lines are shares of a norm of the times inside and between domains.
[[nodiscard]] double both_a_byte(const ExplainContext& context) {
  double out = 0;
  for (const Part& p : context.line().rate_parts) out += p.value();
  return out;
}

/// Both times and their norm in words: "nvlink alone takes 5600 us (2 x S at 383 GB/s), nic alone ...". A share x^q/(x^q + y^q) of the norm b
/// gives the time x = b share^(1/q) back.
[[nodiscard]] std::string both_text(const ExplainContext& context, double order) {
  std::string out;
  const double both = both_a_byte(context);
  for (const Part& p : context.line().rate_parts) {
    if (!(p.value() > 0)) continue;
    const double alone = both * std::pow(p.value() / both, 1 / order), bytes = context.schedule.bytes(p.level);
    out += fmt::format("{} alone takes {} ({:.4g} x S at {:.4g} GB/s), ", context.tier(p.kind, p.level), micro(alone * context.bytes()), bytes,
                       1e-9 * bytes / alone);
  }
  return out + fmt::format("both at once the norm of order {:.4g}, which is b; each line is its share of b", order);
}

class Sum {
 public:
  explicit Sum(const ExplainContext& context) : context_(context) {}

  void part(const Part& p) {
    if (p.count == 0) return;
    row(p.kind, p.level, fmt::format("{:.7g} x {} us", p.count, micro(p.each)), p.value());
  }
  /// count x S over the rate whose inverse is one byte's seconds; omitted if it would print as 0.
  void rate(const Part& p) {
    if (p.value() * context_.bytes() < nothing) return;
    const std::string formula =
        is_collnet(context_.prediction.ran.algorithm) ? fmt::format("{:.2f} % of b", 100 * p.value() / both_a_byte(context_))
        : parallel(context_)                          ? fmt::format("S x {:.6g} us/MB", p.value() * 1e12) + links_used(p)
                                                      : fmt::format("{:.7g} x {} / {:.6g} GB/s", p.count, size(), 1e-9 / p.each) + links_used(p);
    row(p.kind, p.level, formula, p.value() * context_.bytes());
  }
  void ramp(const Ramp& r) { row(r.kind(), r.level, ramp_formula(r), r(context_.bytes())); }
  void row(TermKind kind, int level, std::string formula, double seconds) {
    if (kind == TermKind::wire) kind = context_.line().transfer(context_.bytes());
    table_.row({name(kind), context_.tier(kind, level), std::move(formula), "=", micro(seconds)});
    total_ += seconds;
    ++rows_;
  }
  void total(std::string what) { table_.row({std::move(what), "", "", "=", micro(total_)}); }

  [[nodiscard]] int rows() const { return rows_; }
  [[nodiscard]] double seconds() const { return total_; }
  [[nodiscard]] std::string text() const { return table_.text(4); }
  [[nodiscard]] std::string size() const { return size_text(context_.operation().bytes); }

 private:
  /// Utilisation of the links: the schedule's bytes over the part's time, relative to the tier's one-way
  /// rate.
  [[nodiscard]] std::string links_used(const Part& p) const {
    const Fabric& f = context_.fabric();
    const bool all_links = context_.prediction.ran.algorithm == Algorithm::torus_bucket || f.in_switch;
    const double inner = f.over_pcie ? f.pcie_rate : all_links ? f.full_rate : f.inner_rate;
    const bool exchange = exchanges_at_once(context_.prediction.ran.algorithm, context_.operation().collective);
    const double outer = exchange ? f.outer_rate * f.all_to_all_taper : rides_few_nics(context_) ? channels_rate(f) : f.outer_rate * f.ring_taper;
    const double whole = context_.host ? 0 : p.level == 0 ? inner : outer;
    const double bytes = context_.engine_ran() ? p.count : context_.schedule.bytes(p.level);
    if (p.kind != TermKind::wire || !(whole > 0) || !(bytes > 0)) return "";
    const double share = bytes / p.value() / whole;
    return share <= 1 ? fmt::format("  [links at {:.1f} % of {:.4g}]", 100 * share, whole / 1e9) : "";
  }
  [[nodiscard]] std::string ramp_formula(const Ramp& r) const {
    const std::string max = micro(r.amplitude) + " us";
    const std::string x = "S/" + megabytes(1 / r.per_byte);
    switch (r.shape) {
      case Ramp::Shape::none: return "";
      case Ramp::Shape::linear: return fmt::format("{} x min(1, {})", max, x);
      case Ramp::Shape::square: return fmt::format("{} x min(1, {})^2", max, x);
      case Ramp::Shape::saturating: return fmt::format("{} x u/(1+u), u = {}", max, x);
      case Ramp::Shape::saturating_square: return fmt::format("{} x u^2/(1+u^2), u = {}", max, x);
      case Ramp::Shape::exponential: return fmt::format("{} x (1 - exp(-{}))", max, x);
      case Ramp::Shape::until: return fmt::format("{} below {}", max, size_text(Bytes::from_value(std::round(1 / r.per_byte))));
      case Ramp::Shape::step: return fmt::format("{} above {}", max, size_text(Bytes::from_value(std::round(1 / r.per_byte))));
      case Ramp::Shape::channels: return fmt::format("{} x (1 - 1/c), c = {} within 1..{:.6g}", max, x, r.limit);
      case Ramp::Shape::blocks:
        return fmt::format("{} x min({:.6g} r, {:.6g} - r), r = {} modulo {:.6g}", max, r.limit - 1, r.limit, x, r.limit);
      case Ramp::Shape::unbounded: return fmt::format("S x {:.6g} us/MB", r.amplitude * r.per_byte * 1e12);
    }
    return "";
  }

  const ExplainContext& context_;
  TextTable table_{"", "", "", "", ">"};
  double total_ = 0;
  int rows_ = 0;
};

/// Extra cost of the first bytes, and whole rounds of chunks.
void add_volume_extras(Sum& sum, const ExplainContext& context) {
  const Line& line = context.line();
  const double S = context.bytes();
  const double first = std::min(S, line.early);
  if (std::fabs(line.early_rate * first) >= nothing) {
    const bool round = line.chunk <= line.early;
    sum.row(round || line.early_rate < 0 ? TermKind::wire : TermKind::copy, line.wire_level,
            fmt::format("first {} x {:.6g} us/MB{}", megabytes(first), line.early_rate * 1e12,
                        round                 ? " (a round of the kernel)"
                        : line.early_rate < 0 ? " (still in cache)"
                                              : " (first touched)"),
            line.early_rate * first);
  }
  if (line.chunks(S) != 0) {
    const double rounds = S / line.chunk;
    sum.row(TermKind::wire, line.wire_level,
            fmt::format("{} x ({:.3g} x {:.0f} + {:.3g} x {:.6g}) rounds", micro(line.chunk_seconds) + " us", line.chunk_share,
                        std::ceil(rounds) - 1, 1 - line.chunk_share, rounds - 1),
            line.chunks(S));
  }
  for (const bool copies : {false, true}) {
    double more = 0, each = 0;
    for (const Jump& jump : line.jumps) {
      if (S < jump.from) continue;
      const bool held = S < jump.until;
      const double part = copies ? jump.copies : 1 - jump.copies;
      more += part * (held ? jump.held * jump.from : jump.seconds);
      each += part * (held ? -jump.held : jump.rate);
    }
    if (more != 0 || each != 0)
      sum.row(copies ? TermKind::copy : TermKind::wire, line.wire_level,
              fmt::format("{} us + S x {:.6g} us/MB ({})", micro(more), each * 1e12, copies ? "more channels copy" : "larger chunks, more channels"),
              more + each * S);
  }
}

}  // namespace

std::string explain_arithmetic(const ExplainContext& context) {
  const Line& line = context.line();
  const double S = context.bytes();
  Sum outside{context}, latency{context}, volume{context};
  for (const Part& p : line.base_parts) outside.part(p);
  for (const Part& p : line.latency_parts) latency.part(p);
  for (const Ramp& r : line.ramps)
    if (r.shape != Ramp::Shape::none) (r.moves() ? volume : r.inside ? latency : outside).ramp(r);
  for (const Part& p : line.rate_parts) volume.rate(p);
  add_volume_extras(volume, context);

  const std::string size = size_text(context.operation().bytes);
  std::string out =
      wrapped("  ", fmt::format("S = {}{}. Times are microseconds; a rate is one way.{}", size,
                                S < 1000 || size.ends_with(" MB") ? std::string{} : fmt::format(" = {:.15g} MB", S / 1e6),
                                context.host || context.engine_ran() ||
                                        has_fitted_form(context.prediction.ran.algorithm, context.operation().collective, context.fabric())
                                    ? ""
                                    : " Nobody fitted this algorithm: its price follows from its schedule, with a ring's hops and rates."));
  const double a = latency.seconds(), b = line.volume(S);
  if (outside.rows() > 0) {
    outside.total("c");
    out += "  c: paid whatever the transfer does\n" + outside.text();
  }
  if (latency.rows() > 0) {
    latency.total("a");
    out += "  a: latency that the transfer can hide\n" + latency.text();
  }
  if (volume.rows() > 0) {
    volume.total("b");
    out += "  b: the transfer\n" + volume.text();
    if (parallel(context))
      out += wrapped("    ", "inside and across run at once, b = (inside^2 + across^2)^(1/2); each line is its share of b");
    else if (is_collnet(context.prediction.ran.algorithm) && context.system != nullptr)
      out += wrapped("    ", both_text(context, context.system->constants.transport.form.collnet_overlap));
  }
  const double together = norm(a, b, line.overlap);
  if (a > 0 && b > 0 && line.overlap != 1) {
    out += fmt::format("  a and b overlap: (a^q + b^q)^(1/q), q = {:.6g}\n", line.overlap);
    out += fmt::format("    ({}^{:.6g} + {}^{:.6g})^(1/{:.6g}) = {}\n", micro(a), line.overlap, micro(b), line.overlap, line.overlap,
                       micro(together));
    const auto [of_a, of_b] = remaining(line, S);
    const bool by_links = of_b * b > together / (1 + std::pow(a / b, line.overlap)) * (1 + 1e-9);
    const double share = a * of_a / together;
    out += wrapped(
        "    ",
        fmt::format("of it a answers for {:.1f} %, b for {:.1f} %{}; their parts are scaled alike, by {:.4f} and {:.4f}", 100 * share,
                    100 * (1 - share), by_links ? ", as much as the bytes need at the links' full rate" : ", a^q to b^q", of_a, of_b));
  }
  const std::string sum = outside.rows() > 0 && together > 0 ? fmt::format("{} + {} = ", micro(outside.seconds()), micro(together)) : "";
  const std::string called = explain_host_call(context.prediction.made_from.host_call);
  const std::string launched = called.empty() ? explain_launches(context) : called;
  const char* const what = !called.empty() ? "kernel" : launched.empty() ? "time" : "GPUs";
  return out + fmt::format("  {} = {}{} us\n", what, sum, micro(outside.seconds() + together)) + launched;
}

}  // namespace fabricost::core::detail
