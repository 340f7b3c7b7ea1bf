#pragma once
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
struct ServingQuestion;

/// Requests per second: "30/s", "1800/min", 30.
struct RequestRate {
  double per_second = 0;
  constexpr RequestRate(double per_second_ = 0) : per_second(per_second_) {}  // NOLINT
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
  std::optional<RequestRate> request_rate;  ///< requests that arrive, as 30/s, and not clients that wait for answers
  RequestTrace requests;             ///< requests of a trace: JSON lines with timestamp (ms), input_length, output_length and hash_ids
  std::optional<double> burstiness;  ///< shape of the gamma distribution of intervals between arrivals: 1 Poisson (default)
  std::optional<double> length_variation;  ///< standard deviation of the lengths of prompts and answers over their means, log-normal
  std::optional<double> percentile;        ///< limits are of this percentile of requests; default 99
  std::optional<double> goodput;           ///< limits are met where at least this share of requests meets both, as 95%
  std::optional<RepeatedTokens> prefix;    ///< of each prompt the cache has already this share, as 60%, or these first tokens
  std::optional<int> turns;                ///< sessions of so many turns: each prompt is the one before, its answer, and isl new tokens
  std::optional<Time> turn_gap;            ///< mean time between two turns of a session; default 30s
  std::optional<PrefixTiers> prefix_tier;  ///< where prefixes are stored that have left the GPUs: host, ssd, remote, or several
  std::optional<Bytes> prefix_cache;       ///< size of that store for each GPU; default the host's memory, else no limit
  std::optional<Bandwidth> prefix_read_bandwidth;  ///< ssd: read rate of a node's drives, as "50 GB/s"
  std::optional<RequestRoute> route;               ///< how a request chooses its replica
  std::optional<int> draft_tokens;     ///< tokens drafted for each step, by one layer and the head; 0: none; default the stack's
  std::optional<double> draft_accept;  ///< chance that a draft is accepted if those before it are; default 0.8

  static RequestTable<ArrivingRequests> fields();
};

/// Times of requests.
struct RequestTimes {
  Time mean{}, p50{}, p90{}, p99{}, at_percentile{};
  bool operator==(const RequestTimes&) const = default;

  static AnswerTable<RequestTimes> fields();
};

/// A deployment under requests that arrive.
struct ServedArrivals {
  double asked = 0, rate = 0;
  std::optional<double> saturation{}, rate_within{};
  std::optional<std::pair<double, double>> interval_rate_within{};  ///< in which nine runs in ten keep the limits up to
  double within = 1;
  bool keeps = false;
  RequestTimes ttft{}, tpot{}, e2e{};
  Time queue{};
  double in_flight = 0, hit_rate = 0;
  std::optional<double> reloaded{}, answer_variation{};
  long long preempted = 0;
  bool operator==(const ServedArrivals&) const = default;

  static AnswerTable<ServedArrivals> fields();
};

/// "3.2 requests/s", of a trace "7 requests within 2 s".
[[nodiscard]] std::string arriving_text(const LoadQuestion& load);

[[nodiscard]] ServedArrivals served_arrivals(const ServingQuestion& q, const LoadedServing& of, const LoadQuestion& load);

}  // namespace fabricost::plan
