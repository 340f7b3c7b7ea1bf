/// Notations and answers of requests that arrive.

#include "text/amounts.hpp"
#include "text/parse_quantity.hpp"

#include <fabricost/fields/field.hpp>
#include <fabricost/plan/answers/arrivals.hpp>
#include <fabricost/plan/serving/certainty.hpp>
#include <fabricost/plan/serving/arrivals/loaded.hpp>

#include <fabricost/text/quantity.hpp>
#include <fabricost/text/ranges.hpp>

#include <fmt/format.h>

#include <cmath>

namespace fabricost::plan {

RequestTable<ArrivingRequests> ArrivingRequests::fields() {
  using A = ArrivingRequests;
  using enum Amount;
  return {
      asks(&A::request_rate, "request_rate", "--request-rate", number, {1e-6, 1e6}, "N/s",
           "Requests that arrive, as 30/s, and not clients that wait for answers;\nlimits are then of a percentile"),
      asks(&A::requests, "requests", "--requests", "FILE",
           "Requests of a trace: JSON lines with timestamp (ms), input_length,\noutput_length and hash_ids, as Mooncake's and Dynamo's"),
      asks(&A::burstiness, "burstiness", "--burstiness", number, {0.01, 1e6}, "X",
           "Shape of the gamma distribution of intervals between arrivals:\n1 Poisson (default), below it bursts, as in vLLM's benchmark"),
      asks(&A::length_variation, "length_variation", "--length-variation", number, {0, 10}, "X",
           "Standard deviation of the lengths of prompts and answers over\ntheir means, log-normal; default 0.15 of\nanswers alone"),
      asks(&A::percentile, "percentile", "--percentile", number, {1, 99.99}, "P", "Limits are of this percentile of requests; default 99"),
      asks(&A::goodput, "goodput", "--goodput", share, some_share, "SHARE",
           "Limits are met where at least this share of requests meets both,\nas 95%, instead of a percentile of each"),
      asks(&A::prefix, "prefix", "--prefix", "AMOUNT",
           "Of each prompt the cache has already this share, as 60%, or these\nfirst tokens, which all prompts have in common"),
      asks(&A::turns, "turns", "--turns", count, {1, 1000}, "N",
           "Sessions of so many turns: each prompt is the one before, its\nanswer, and <isl> new tokens; with <request_rate>"),
      asks(&A::turn_gap, "turn_gap_seconds", "--turn-gap", seconds, {0, 1e6}, "TIME",
           "Mean time between two turns of a session; default 30s"),
      asks(&A::prefix_tier, "prefix_tier", "--prefix-tier", "TIERS",
           "Where prefixes are stored that have left the GPUs: host, ssd, remote,\nor several, each with its size, as host:64GiB,ssd; default "
           "hbm, nowhere; with <request_rate>, ssd with <prefix_read_bytes_per_second>"),
      asks(&A::prefix_cache, "prefix_cache_bytes", "--prefix-cache", gibibytes, {0, 1e6 * gibibyte}, "GIB",
           "Size of that store for each GPU; default the host's memory, else no\nlimit"),
      asks(&A::prefix_read_bandwidth, "prefix_read_bytes_per_second", "--prefix-read-rate", one_way_rate, {1, 1e15}, "RATE",
           "ssd: read rate of a node's drives, as \"50 GB/s\""),
      asks(
          &A::route, "route", "--route", "HOW",
          "Replica that a request goes to: fewest (unanswered; default),\nround-robin, or prefix (least to read, with what its cache has)"),
      asks(&A::draft_tokens, "draft_tokens", "--draft-tokens", count, {0, 16}, "K",
           "Tokens drafted for each step, by one layer and the head; 0: none;\ndefault the stack's"),
      asks(&A::draft_accept, "draft_accept", "--draft-accept", share, any_share, "P",
           "Chance that a draft is accepted if those before it are; default 0.8")};
}

AnswerTable<RequestTimes> RequestTimes::fields() {
  using A = RequestTimes;
  return {gives(&A::mean, "mean_s", "mean_seconds", "Mean, s."), gives(&A::p50, "p50_s", "p50_seconds", "Half of the requests take at most this."),
          gives(&A::p90, "p90_s", "p90_seconds", "Nine in ten take at most this."), gives(&A::p99, "p99_s", "p99_seconds", "99 in 100 take at most this."),
          gives(&A::at_percentile, "at_percentile_s", "at_percentile_seconds", "The percentile asked for, s; limits are of it.")};
}

AnswerTable<ServedArrivals> ServedArrivals::fields() {
  using A = ServedArrivals;
  return {
      gives(&A::asked, "asked_per_s", "asked_per_second", "Requests per second that arrive."),
      gives(&A::rate, "rate_per_s", "rate_per_second",
            "Requests answered per second while requests arrive; of a trace, from the first arrival to the last answer."),
      gives(&A::saturation, "saturation_per_s", "saturation_per_second",
            "Requests per second that all engines answer where more arrive; None: of a trace.", 1, true),
      gives(&A::rate_within, "rate_within_limits_per_s", "rate_within_limits_per_second",
            "Requests that arrive per second up to which the limits are met, of a trace as it is played faster; None: a trace meets "
            "them even where all come at once.",
            1, true),
      gives(&A::interval_rate_within, "interval_rate_within_limits_per_s", "interval_rate_within_limits_per_second",
            "(low, high) of that, by how much faster or slower engines may be: nine runs in ten should fall between.", 1, true),
      gives(&A::within, "share_within_limits", "share_within_limits", "Share of requests that meet both limits."),
      gives(&A::keeps, "meets_limits", "meets_limits", "Whether the limits are met."),
      gives(&A::ttft, "ttft", "ttft", "Time to the first token, a RequestTimes."),
      gives(&A::tpot, "tpot", "tpot", "Time per further token of a request, a RequestTimes."),
      gives(&A::e2e, "e2e", "e2e", "Time to the last token, a RequestTimes."),
      gives(&A::queue, "queue_s", "queue_seconds", "Of TTFT, mean wait for the first step, s."),
      gives(&A::in_flight, "in_flight", "in_flight", "Requests that have arrived and are not answered, on average."),
      gives(&A::hit_rate, "hit_rate", "hit_rate", "Share of prompts' tokens that the cache had, or the tier behind it."),
      gives(&A::reloaded, "reloaded", "reloaded", "Share of prompts' tokens that came back from that tier; None: there is none.", 1, true),
      gives(&A::preempted, "preempted", "preempted", "Sequences that gave their place up because the cache was full."),
      gives(&A::answer_variation, "answer_variation", "answer_variation",
            "Standard deviation of the lengths of answers over their mean, as asked for or the usual one; None: of a trace.", 1, true)};
}

namespace {

[[nodiscard]] RequestTimes times_of(const Percentiles& p) {
  return {units::s(p.mean), units::s(p.p50), units::s(p.p90), units::s(p.p99), units::s(p.at)};
}

}  // namespace

void from_text(const std::string& text, std::string_view option, const Amount&, const Range& range, RequestRate& out) {
  std::string_view unit;
  const double number = core::leading_number(text, unit);
  const double seconds = unit.empty() || unit == "/s" ? 1 : unit == "/min" ? 60 : unit == "/h" ? 3600 : std::nan("");
  out.per_second = number / seconds;
  if (!range.holds(out.per_second))
    throw RequestError(fmt::format("{}: \"{}\" is no rate of requests; write one as 30/s, from {:g} to {:g} per second", option,
                                   text.substr(0, 40), range.min, range.max));
}

void from_text(const std::string& text, std::string_view, const Amount&, const Range&, RequestTrace& out) { out.file = text; }

void from_text(const std::string& text, std::string_view option, const Amount&, const Range&, RepeatedTokens& out) {
  std::string_view unit;
  const double number = core::leading_number(text, unit);
  if (unit == "%" && number >= 0 && number <= 100)
    out.share = number / 100;
  else if (unit.empty() && number >= 0 && number < 1)
    out.share = number;
  else if (unit == "k" || unit == "K" || unit == "M" || (unit.empty() && number >= 1 && number <= 1e7 && number == std::floor(number)))
    out.tokens = length_of(text, option);
  else
    throw RequestError(
        fmt::format("{}: \"{}\" is no part of a prompt; write a share as 60%, or a number of tokens as 600 or 31k", option, text.substr(0, 40)));
}

void from_text(const std::string& text, std::string_view option, const Amount&, const Range&, PrefixTiers& out) {
  const auto refuse = [&](std::string_view part) {
    throw RequestError(fmt::format("{}: \"{}\" is no tier of the prefix cache; write hbm, or any of host, ssd, remote in this order, each "
                                   "with its size for a GPU if that is bounded, as host:64GiB,ssd",
                                   option, part.substr(0, 40)));
  };
  out.stores.clear();
  if (text == prefix_tier_names.front()) return;
  for (const std::string_view part : core::listed(text)) {
    const std::string_view name = part.substr(0, part.find(':'));
    const std::optional<PrefixTier> tier = parse_enum<PrefixTier>(name, prefix_tier_names);
    if (!tier || *tier == PrefixTier::hbm || (!out.stores.empty() && out.stores.back().tier >= *tier)) refuse(part);
    out.stores.push_back({.tier = *tier});
    if (name.size() < part.size()) out.stores.back().bytes = parse_size(part.substr(name.size() + 1)).value();
  }
}

std::string arriving_text(const LoadQuestion& load) {
  if (!load.trace) return figure(load.rate()) + " requests/s";
  return fmt::format("{} requests within {}", load.trace->requests.size(), short_time_text(load.trace->requests.back().at / load.speed));
}

ServedArrivals served_arrivals(const ServingQuestion& q, const LoadedServing& of, const LoadQuestion& load) {
  const LoadFigures& f = of.figures;
  ServedArrivals out{.asked = load.rate(), .rate = f.rate, .saturation = of.saturation};
  out.rate_within = of.rate_within;
  if (of.rate_within) {
    const auto [low, high] = certainty_of(q, of.deployment).rate;
    const double each = *of.rate_within / of.deployment.tokens_per_s_per_gpu;
    out.interval_rate_within = {each * low, each * high};
  }
  out.within = f.within;
  out.keeps = of.keeps;
  out.ttft = times_of(f.ttft);
  out.tpot = times_of(f.tpot);
  out.e2e = times_of(f.e2e);
  out.queue = units::s(f.queue);
  out.in_flight = f.in_flight;
  out.hit_rate = of.hit_rate;
  if (of.reloaded > 0) out.reloaded = of.reloaded;
  out.preempted = of.preempted;
  if (!load.trace) out.answer_variation = load.drawn.of_answers;
  return out;
}

}  // namespace fabricost::plan
