/// \file specs.cpp
/// Loading each spec once, and numbers as text.

#include "specs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <stdexcept>

namespace seed_tables {

using namespace fabricost::observe;

namespace {

/// `load(name)`, remembered.
template <class Value, class Load>
const Value& remembered(std::map<std::string, Value, std::less<>>& known, std::string_view name, Load&& load) {
  const auto at = known.find(name);
  return at != known.end() ? at->second : known.emplace(std::string{name}, load(name)).first->second;
}

/// "1774080.5" to "1,774,080.5"
std::string grouped(std::string_view digits) {
  const std::size_t point = std::min(digits.find('.'), digits.size());
  std::string out;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    const bool boundary = i > 0 && i < point && (point - i) % 3 == 0 && digits[i - 1] != '-';
    if (boundary) out += ',';
    out += digits[i];
  }
  return out;
}

}  // namespace

const System& machine(std::string_view name) {
  static std::map<std::string, System, std::less<>> known;
  return remembered(known, name, [](std::string_view n) { return load_system(n); });
}
const System& peer_to_peer(std::string_view name) {
  static std::map<std::string, System, std::less<>> known;
  return remembered(known, name,
                    [](std::string_view n) { return load_system(n, std::vector<std::string>{"tiers.pcie.peer_to_peer=true"}); });
}
const Gpu& gpu(std::string_view name) {
  static std::map<std::string, Gpu, std::less<>> known;
  return remembered(known, name, [](std::string_view n) { return load_gpu(n); });
}
const Link& link(std::string_view name) {
  static std::map<std::string, Link, std::less<>> known;
  return remembered(known, name, [](std::string_view n) { return load_link(n); });
}

const Tier& tier(const System& system, TierRole role) {
  const Tier* found = system.tier(role);
  if (found == nullptr) throw std::out_of_range(system.name + " has no tier with role " + std::string{fabricost::core::name(role)});
  return *found;
}
double gigabytes_per_second(const System& system, TierRole role) { return GBps(tier(system, role).bandwidth.value); }

double GBps(Bandwidth bandwidth) { return in(bandwidth, units::GB_per_s).value(); }
double Gbps(LineRate rate) { return in(rate, units::Gbit_per_s).value(); }
double gigabytes(Bytes bytes) { return in(bytes, units::GB).value(); }
double microseconds(Time time) { return in(time, units::us).value(); }

double raw_rate(const Link& link) { return GBps(payload(link.lane_rate.value * static_cast<double>(link.lanes), 1)); }

std::string text(double value, int decimals) {
  if (std::isnan(value)) return "-";
  if (decimals < 0) {
    const double size = std::fabs(value);
    if (size < 1e15 && std::fabs(value - std::round(value)) < 1e-9 * std::fmax(1, size))
      decimals = 0;
    else
      decimals = size == 0 ? 0 : std::max(0, 2 - static_cast<int>(std::floor(std::log10(size) + 1e-12)));
  }
  return grouped(fmt::format("{:.{}f}", value, decimals));
}

std::string sum_text(const Prediction& prediction, double unit, std::string_view unit_name) {
  std::string out;
  double rest = 0;
  for (const Term& term : prediction.terms) {
    const double seconds = term.time.value();
    if (seconds < 1e-3 * prediction.seconds)
      rest += seconds;
    else
      out += fmt::format("{}{} {}", out.empty() ? "" : " + ", term.name.view(), text(seconds / unit));
  }
  return fmt::format("{} {}{}", out, unit_name, rest > 0 ? ", the rest under 0.1 %" : "");
}

std::string ran_text(const Prediction& prediction) {
  const Protocol protocol = prediction.ran.protocol;
  const std::string_view called = protocol == Protocol::ll ? "LL" : protocol == Protocol::ll128 ? "LL128" : "Simple";
  const std::string algorithm{prediction.algorithm.view()};
  return fmt::format("{}, {}, {}", algorithm == "nvls" ? "NVLS" : algorithm, called, fabricost::core::name(prediction.basis));
}

Figure time_figure(const Prediction& prediction, double unit, std::string unit_name) {
  return {.value = prediction.seconds / unit, .unit = std::move(unit_name), .low = prediction.low / unit, .high = prediction.high / unit};
}

// Grattafiori et al., The Llama 3 Herd of Models, 2024, table 3. One layer of the 70B: q and o 2 x 8192^2, k and v 2 x 8192 x 1024,
// MLP 3 x 8192 x 28672.
namespace {
fabricost::plan::Model llama(const char* name, int layers, int hidden, int heads, int ffn) {
  fabricost::plan::Model m;
  m.name = name;
  m.layers = layers;
  m.hidden = hidden;
  m.heads = heads;
  m.kv_heads = 8;
  m.head_dim = 128;
  m.vocab = 128256;
  m.ffn = ffn;
  check(m);
  return m;
}
Model rounded(const fabricost::plan::Model& shape, double parameters) {
  const ParameterCount one = parameters_of(shape);
  return {.shape = shape,
          .parameters = parameters,
          .layers = shape.layers,
          .hidden = shape.hidden,
          .kv_heads = shape.kv_heads,
          .head_size = shape.head_dim,
          .layer_parameters = one.attention + one.dense_ffn};
}
}  // namespace
const Model& llama_70b() {
  static const Model model = rounded(llama("llama3-70b", 80, 8192, 64, 28672), 70e9);
  return model;
}
const Model& llama_405b() {
  static const Model model = rounded(llama("llama3-405b", 126, 16384, 128, 53248), 405e9);
  return model;
}
TensorQuestion tensor_question(double tokens, int ranks, bool sequence_parallel) {
  return {.ranks = ranks, .tokens = tokens, .bytes_per_number = half_precision, .sequence_parallel = sequence_parallel};
}
double activation_bytes(const Model& model, double tokens) { return tensor_message_bytes(model.shape, tensor_question(tokens, 1)); }

}  // namespace seed_tables
