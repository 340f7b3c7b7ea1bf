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

[[nodiscard]] ServedArrivals served_arrivals(const LoadedServing& of, const LoadQuestion& load);

}  // namespace fabricost::plan
