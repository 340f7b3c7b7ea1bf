/// \file arrivals.cpp
/// Notations and answers of requests that arrive.

#include "text/amounts.hpp"
#include "text/parse_quantity.hpp"

#include <fabricost/plan/answers/arrivals.hpp>
#include <fabricost/plan/serving/arrivals/loaded.hpp>

#include <fabricost/text/quantity.hpp>
#include <fabricost/text/ranges.hpp>

#include <fmt/format.h>

#include <cmath>

namespace fabricost::plan {

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
  else if (unit.empty() && number >= 1 && number <= 1e7 && number == std::floor(number))
    out.tokens = static_cast<int>(number);
  else
    throw RequestError(
        fmt::format("{}: \"{}\" is no part of a prompt; write a share as 60%, or a number of tokens as 600", option, text.substr(0, 40)));
}

void from_text(const std::string& text, std::string_view option, const Amount&, const Range&, PrefixTiers& out) {
  const auto refuse = [&](std::string_view part) {
    throw RequestError(fmt::format("{}: \"{}\" is no tier of the prefix cache; write hbm, or any of host, ssd, remote in this order, each "
                                   "with its room for a GPU if that is bounded, as host:64GiB,ssd",
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
  return fmt::format("{} requests within {}", load.trace->requests.size(), short_time_text(load.trace->requests.back().at));
}

ServedArrivals served_arrivals(const LoadedServing& of, double asked) {
  const LoadFigures& f = of.figures;
  ServedArrivals out{.asked = asked, .rate = f.rate, .saturation = of.saturation};
  out.rate_within = of.rate_within;
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
  return out;
}

}  // namespace fabricost::plan
