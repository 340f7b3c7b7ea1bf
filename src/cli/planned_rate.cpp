/// \file planned_rate.cpp
/// The speed of a plan as `fabricost plan --train --json` wrote it.

#include "face.hpp"

#include "specs/tree.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace fabricost::cli {

PlannedRate read_planned_rate(const std::string& file) {
  constexpr std::size_t most = 16 << 20;
  const std::string text = io::read_text_file(file, most);
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
  return {system->get<std::string>(), model != json.end() && model->is_string() ? model->get<std::string>() : "", gpus->get<double>(),
          rate->get<double>(), fmt::format("the fastest layout of {}", file)};
}

}  // namespace fabricost::cli
