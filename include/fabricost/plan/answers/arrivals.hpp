#pragma once
/// \file arrivals.hpp
/// What a request says of requests that arrive, and what is answered of them (serving/arrivals/loaded.hpp).

#include <fabricost/fields/fields.hpp>
#include <fabricost/units.hpp>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace fabricost::plan {

struct LoadedServing;
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
  long long preempted = 0;
  bool operator==(const ServedArrivals&) const = default;

  static constexpr auto fields() {
    using A = ServedArrivals;
    return Table{gives(&A::asked, "asked_per_s", "asked_per_second", "Requests per second that arrive."),
                 gives(&A::rate, "rate_per_s", "rate_per_second", "Requests answered per second, while requests arrive."),
                 gives(&A::saturation, "saturation_per_s", "saturation_per_second",
                       "Requests per second that all engines answer where more arrive; None: of a trace.", 1, true),
                 gives(&A::rate_within, "rate_within_limits_per_s", "rate_within_limits_per_second",
                       "Requests per second up to which the limits are kept; None: of the first deployment alone.", 1, true),
                 gives(&A::within, "share_within_limits", "share_within_limits", "Share of requests that keep both limits."),
                 gives(&A::keeps, "keeps_limits", "keeps_limits", "Whether the limits are kept."),
                 gives(&A::ttft, "ttft", "ttft", "Time to the first token, a RequestTimes."),
                 gives(&A::tpot, "tpot", "tpot", "Time per further token of a request, a RequestTimes."),
                 gives(&A::e2e, "e2e", "e2e", "Time to the last token, a RequestTimes."),
                 gives(&A::queue, "queue_s", "queue_seconds", "Of TTFT, mean wait for the first step, s."),
                 gives(&A::in_flight, "in_flight", "in_flight", "Requests that have arrived and are not answered, on average."),
                 gives(&A::hit_rate, "hit_rate", "hit_rate", "Share of prompts' tokens that the cache had."),
                 gives(&A::preempted, "preempted", "preempted", "Sequences that gave their place up because the cache was full.")};
  }
};

[[nodiscard]] ServedArrivals served_arrivals(const LoadedServing& of, double asked);

}  // namespace fabricost::plan
