#pragma once
/// \file arrivals.hpp
/// What a request says of requests that arrive, and what is answered of them (serving/arrivals/loaded.hpp).

#include <fabricost/fields/fields.hpp>
#include <fabricost/plan/serving/arrivals/prefix_store.hpp>
#include <fabricost/plan/serving/arrivals/simulate.hpp>
#include <fabricost/units.hpp>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace fabricost::plan {

struct LoadedServing;
struct LoadQuestion;
struct RequestLoad;

/// Requests per second: "30/s", "1800/min", 30.
struct RequestRate {
  double per_second = 0;
  [[nodiscard]] friend bool operator==(const RequestRate&, const RequestRate&) = default;
};
/// What the cache has of a prompt: "60%" of its tokens, or the first 600, which all prompts share.
struct RepeatedTokens {
  double share = 0;
  int tokens = 0;
  [[nodiscard]] friend bool operator==(const RepeatedTokens&, const RepeatedTokens&) = default;
};
/// Tiers behind the GPUs, each with its room for a GPU: "host:64GiB,ssd".
struct PrefixTiers {
  std::vector<PrefixStore> stores;
  [[nodiscard]] friend bool operator==(const PrefixTiers&, const PrefixTiers&) = default;
};
/// Requests of a trace: a file, or the requests themselves.
struct RequestTrace {
  std::filesystem::path file{};
  std::shared_ptr<const RequestLoad> value{};
  [[nodiscard]] bool empty() const { return value == nullptr && file.empty(); }
  [[nodiscard]] friend bool operator==(const RequestTrace&, const RequestTrace&) = default;
};
/// \throws RequestError
void from_text(const std::string& text, std::string_view option, const Amount&, const Range&, RequestTrace& out);
void from_text(const std::string& text, std::string_view option, const Amount&, const Range&, RequestRate& out);
void from_text(const std::string& text, std::string_view option, const Amount&, const Range&, RepeatedTokens& out);
void from_text(const std::string& text, std::string_view option, const Amount&, const Range&, PrefixTiers& out);

[[nodiscard]] constexpr auto words_of(RequestRoute) { return EnumWords{request_route_names, "a way to choose a replica"}; }

/// What a question says of requests that arrive.
struct ArrivingRequests {
  std::optional<RequestRate> request_rate;
  RequestTrace requests;
  std::optional<double> burstiness, length_variation, percentile, goodput;
  std::optional<RepeatedTokens> prefix;
  std::optional<int> turns;
  std::optional<Time> turn_gap;
  std::optional<PrefixTiers> prefix_tier;
  std::optional<Bytes> prefix_cache;
  std::optional<Bandwidth> prefix_read_bandwidth;
  std::optional<RequestRoute> route;
  std::optional<int> draft_tokens;
  std::optional<double> draft_accept;

  static constexpr auto fields() {
    using A = ArrivingRequests;
    using enum Amount;
    return Table{
        asks(&A::request_rate, "request_rate", "--request-rate", number, {1e-6, 1e6}, "N/s",
             "Requests that arrive, as 30/s, and not clients that wait for answers;\nlimits are then of a percentile"),
        asks(&A::requests, "requests", "--requests", "FILE",
             "Requests of a trace: JSON lines with timestamp (ms), input_length,\noutput_length and hash_ids, as Mooncake's and Dynamo's"),
        asks(
            &A::burstiness, "burstiness", "--burstiness", number, {0.01, 1e6}, "X",
            "Shape of the gamma distribution of intervals between arrivals:\n1 Poisson (default), below it bursts, as in vLLM's benchmark"),
        asks(&A::length_variation, "length_variation", "--length-variation", number, {0, 10}, "X",
             "Standard deviation of the lengths of prompts and answers over\ntheir means, log-normal; default 0"),
        asks(&A::percentile, "percentile", "--percentile", number, {1, 99.99}, "P",
             "Limits are of this percentile of requests; default 99"),
        asks(&A::goodput, "goodput", "--goodput", share, some_share, "SHARE",
             "Limits are kept where at least this share of requests keeps both,\nas 95%, instead of a percentile of each"),
        asks(&A::prefix, "prefix", "--prefix", "AMOUNT",
             "Of each prompt the cache has already this share, as 60%, or these\nfirst tokens, which all prompts have in common"),
        asks(&A::turns, "turns", "--turns", count, {1, 1000}, "N",
             "Sessions of so many turns: each prompt is the one before, its\nanswer, and <isl> new tokens"),
        asks(&A::turn_gap, "turn_gap_seconds", "--turn-gap", seconds, {0, 1e6}, "TIME", "Mean time between two turns of a session; default 30s"),
        asks(&A::prefix_tier, "prefix_tier", "--prefix-tier", "TIERS",
             "Where prefixes lie that have left the GPUs: host, ssd, remote, or\nseveral with the room of each, as host:64GiB,ssd; default hbm, nowhere"),
        asks(&A::prefix_cache, "prefix_cache_bytes", "--prefix-cache", gibibytes, {0, 1e6 * gibibyte}, "GIB",
             "Room there, for each GPU; default the host's memory, else any"),
        asks(&A::prefix_read_bandwidth, "prefix_read_bytes_per_second", "--prefix-read-rate", one_way_rate, {1, 1e15}, "RATE",
             "Of ssd: read rate of a node's drives, as \"50 GB/s\""),
        asks(&A::route, "route", "--route", "HOW",
             "Replica that a request goes to: fewest (unanswered; default),\nround-robin, or prefix (least to read, with what its cache has)"),
        asks(&A::draft_tokens, "draft_tokens", "--draft-tokens", count, {1, 16}, "K",
             "Tokens drafted for each step, by one layer and the head; default the\nstack's"),
        asks(&A::draft_accept, "draft_accept", "--draft-accept", share, any_share, "P",
             "Chance that a draft is accepted if those before it are; default 0.8")};
  }
};

/// Times of requests.
struct RequestTimes {
  Time mean{}, p50{}, p90{}, p99{}, at_percentile{};
  bool operator==(const RequestTimes&) const = default;

  static constexpr auto fields() {
    using A = RequestTimes;
    return Table{
        gives(&A::mean, "mean_s", "mean_seconds", "Mean, s."), gives(&A::p50, "p50_s", "p50_seconds", "What half of the requests keep."),
        gives(&A::p90, "p90_s", "p90_seconds", "What nine in ten keep."), gives(&A::p99, "p99_s", "p99_seconds", "What 99 in 100 keep."),
        gives(&A::at_percentile, "at_percentile_s", "at_percentile_seconds", "What the asked percentile keeps; limits are of it.")};
  }
};

/// A deployment under requests that arrive.
struct ServedArrivals {
  double asked = 0, rate = 0;
  std::optional<double> saturation{}, rate_within{};
  double within = 1;
  bool keeps = false;
  RequestTimes ttft{}, tpot{}, e2e{};
  Time queue{};
  double in_flight = 0, hit_rate = 0;
  std::optional<double> reloaded{};
  long long preempted = 0;
  bool operator==(const ServedArrivals&) const = default;

  static constexpr auto fields() {
    using A = ServedArrivals;
    return Table{gives(&A::asked, "asked_per_s", "asked_per_second", "Requests per second that arrive."),
                 gives(&A::rate, "rate_per_s", "rate_per_second", "Requests answered per second while requests arrive; of a trace, from the first arrival to the last answer."),
                 gives(&A::saturation, "saturation_per_s", "saturation_per_second",
                       "Requests per second that all engines answer where more arrive; None: of a trace.", 1, true),
                 gives(&A::rate_within, "rate_within_limits_per_s", "rate_within_limits_per_second",
                       "Requests per second up to which the limits are kept, of a trace played faster those answered then, of the first "
                       "deployment alone; None: a trace keeps them where all come at once.",
                       1, true),
                 gives(&A::within, "share_within_limits", "share_within_limits", "Share of requests that keep both limits."),
                 gives(&A::keeps, "keeps_limits", "keeps_limits", "Whether the limits are kept."),
                 gives(&A::ttft, "ttft", "ttft", "Time to the first token, a RequestTimes."),
                 gives(&A::tpot, "tpot", "tpot", "Time per further token of a request, a RequestTimes."),
                 gives(&A::e2e, "e2e", "e2e", "Time to the last token, a RequestTimes."),
                 gives(&A::queue, "queue_s", "queue_seconds", "Of TTFT, mean wait for the first step, s."),
                 gives(&A::in_flight, "in_flight", "in_flight", "Requests that have arrived and are not answered, on average."),
                 gives(&A::hit_rate, "hit_rate", "hit_rate", "Share of prompts' tokens that the cache had, or the tier behind it."),
                 gives(&A::reloaded, "reloaded", "reloaded", "Share of prompts' tokens that came back from that tier; None: there is none.", 1,
                       true),
                 gives(&A::preempted, "preempted", "preempted", "Sequences that gave their place up because the cache was full.")};
  }
};

/// "3.2 requests/s", of a trace "7 requests within 2 s".
[[nodiscard]] std::string arriving_text(const LoadQuestion& load);

[[nodiscard]] ServedArrivals served_arrivals(const LoadedServing& of, double asked);

}  // namespace fabricost::plan
