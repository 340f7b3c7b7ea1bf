/// \file planned.cpp
/// Reads the values of questions about plans.

#include "faces/planned.hpp"

#include "specs/tree.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstddef>

namespace fabricost {

void from_text(const std::string& text, std::string_view, const Amount&, const Range&, TimesGiven& out) { out.file = text; }
void from_text(const std::string& text, std::string_view option, const Amount&, const Range&, SlowKind& out) {
  const auto colon = text.find(':');
  if (colon == std::string::npos)
    throw RequestError(fmt::format("{}: \"{}\" is not SHARE:FACTOR, as in 1%:1.1", option, text.substr(0, 60)));
  out = {faces::share_of(text.substr(0, colon), option), faces::number_from(text.substr(colon + 1), option, 1, 1e6)};
}

void from_text(const std::string& file, std::string_view, const Amount&, const Range&, PlannedRate& out) {
  constexpr std::size_t max = 16 << 20;
  const std::string text = io::read_text_file(file, max);
  const auto json = nlohmann::json::parse(text, nullptr, false);
  const auto refuse = [&](std::string_view what) -> RequestError {
    return RequestError(fmt::format("{}: {}; write it with fabricost plan --train ... --json", file, what));
  };
  if (json.is_discarded() || !json.is_object()) throw refuse("is not JSON");
  const auto layouts = json.find("layouts");
  if (layouts == json.end() || !layouts->is_array() || layouts->empty() || !layouts->front().is_object()) throw refuse("holds no layouts");
  const auto rate = layouts->front().find("tokens_per_s_per_gpu");
  const auto gpus = json.find("gpus"), system = json.find("system"), model = json.find("model");
  if (rate == layouts->front().end() || !rate->is_number() || !(rate->get<double>() > 0))
    throw refuse("layouts[0].tokens_per_s_per_gpu is missing or no number above 0");
  if (gpus == json.end() || !gpus->is_number() || !(gpus->get<double>() >= 1)) throw refuse("gpus is missing or no number above 0");
  if (system == json.end() || !system->is_string()) throw refuse("system is missing");
  out = {system->get<std::string>(), model != json.end() && model->is_string() ? model->get<std::string>() : "", gpus->get<double>(),
         rate->get<double>(), fmt::format("the fastest layout of {}", file)};
  if (const auto idle = layouts->front().find("idle_gpus"); idle != layouts->front().end() && idle->is_number() && idle->get<double>() > 0)
    out.idle_gpus = idle->get<double>();
}

}  // namespace fabricost
