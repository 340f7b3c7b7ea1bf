#include "serving/workers.hpp"
#include <fabricost/plan/serving/question.hpp>

#include <algorithm>
#include <limits>

namespace fabricost::plan::detail {

Footprint Ground::of(const EngineLayout& l) const {
  const double gpus_of_engine = l.gpus();
  if (inside()) return {gpus_of_engine, gpus_of_engine};
  const Placement at = place(l.ranks(), 1, domain);
  const double groups = std::max(1, domain / at.local);  // in one domain
  return {gpus_of_engine, static_cast<double>(at.domains) * l.pp * domain / groups};
}

bool dominates(const PrefillWorker& a, const PrefillWorker& b) {
  const double instead = std::floor(std::min(b.takes.gpus / a.takes.gpus, b.takes.places / a.takes.places) + 1e-9);
  const double servers = instead * a.servers();
  return instead >= 1 && servers >= b.servers() && instead * a.engine.layout().attention_dp >= b.engine.layout().attention_dp && a.prompt.alone <= b.prompt.alone && a.prompt.shared <= b.prompt.shared &&
         a.engine.layout().pp <= b.engine.layout().pp && prompt_of_many(a.prompt) <= prompt_of_many(b.prompt) &&
         prompt_of_many(a.prompt) / servers <= prompt_of_many(b.prompt) / b.servers() &&
         a.engine.layout().cache_gpus() >= b.engine.layout().cache_gpus();
}

std::vector<PrefillWorker> undominated(const std::vector<PrefillWorker>& all) {
  std::vector<PrefillWorker> out;
  for (const PrefillWorker& one : all) {
    if (std::any_of(out.begin(), out.end(), [&](const PrefillWorker& other) { return dominates(other, one); })) continue;
    std::erase_if(out, [&](const PrefillWorker& other) { return dominates(one, other); });
    out.push_back(one);
  }
  return out;
}

double Pairing::most(double batch) const {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (apart) return ttft > 0 && waits.alone > ttft ? 0 : most_between(most_decodes(), most_decodes(), batch);  // none takes another's place
  const double request = waits.alone + waits.answer, gpus = ground.gpus;
  double crowd = infinity;  // requests per server within the limit
  if (ttft > 0) {
    if (waits.alone > ttft) return 0;
    if (waits.bunching > 0) crowd = 1 + (ttft - waits.alone) / waits.bunching;
    if (waits.full > 0) crowd = std::min(crowd, (ttft + waits.answer) / waits.full);
  }
  // GPU seconds of a request: of its place on a decode worker, and of prefill workers
  const double place = request * decode.gpus / batch;
  double least = place + waits.full * prefill.gpus / servers;
  least = std::max(least, place + request * prefill.gpus / (servers * crowd));
  if (const double rest = request - waits.bunching; rest > 0) {
    const double root = std::sqrt(rest * decode.gpus / batch) + std::sqrt(waits.bunching * prefill.gpus / servers);
    least = std::max(least, root * root);
  }
  return gpus / least * (1 + 1e-12);
}

double Pairing::most_between(int low, int high, double batch) const {
  const double all = servers * prefills(low), request = waits.alone + waits.answer, rest = request - waits.bunching;
  const double least =
      std::max({request / (high * batch), waits.full / all, rest > 0 ? rest / (high * batch) + waits.bunching / all : 0.0});
  return (1 + 1e-12) / least;
}

int Pairing::max_decodes(double batch) const {
  // TTFT rises with decode workers, for which prefill workers give way
  int last = most_decodes();
  if (last < 1 || prefills(1) < 1 || !keeps(1, batch)) return 0;
  for (int first = 1; first < last;) {
    const int middle = last - (last - first) / 2;
    if (keeps(middle, batch))
      first = middle;
    else
      last = middle - 1;
  }
  return last;
}

template <class Rate>
Pairing::Found Pairing::highest(int last, double batch, Rate&& rate_of) const {
  Found out;
  struct Span {
    int low, high;
  };
  const auto ahead = [&](double rate, int decodes) {
    const double it = rounded(rate), best = rounded(out.rate);
    return it > best || (it == best && decodes < out.workers.decode);
  };
  std::vector<Span> spans{{1, last}};
  while (!spans.empty()) {
    const auto [low, high] = spans.back();
    spans.pop_back();
    if (!ahead(most_between(low, high, batch), low)) continue;
    const int middle = low + (high - low) / 2;
    if (const double rate = rate_of(middle); ahead(rate, middle)) out = {{prefills(middle), middle}, rate};
    if (middle > low) spans.push_back({low, middle - 1});
    if (middle < high) spans.push_back({middle + 1, high});
  }
  return out;
}

double Pairing::most(double batch, double smallest) const {
  const int last = max_decodes(smallest);
  if (last < 1) return 0;
  return highest(last, batch, [&](int decodes) { return most_between(decodes, decodes, batch); }).rate;
}

std::optional<Pairing::Found> Pairing::best(double batch) const {
  const int last = max_decodes(batch);
  if (last < 1) return std::nullopt;
  return highest(last, batch, [&](int decodes) { return rate(decodes, batch); });
}

}  // namespace fabricost::plan::detail
