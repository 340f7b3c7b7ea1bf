/// Draws and reads requests.

#include "text/line_reader.hpp"
#include "text/plain_tree.hpp"

#include <fabricost/plan/serving/arrivals/requests.hpp>

#include <boost/random/exponential_distribution.hpp>
#include <boost/random/gamma_distribution.hpp>
#include <boost/random/lognormal_distribution.hpp>
#include <boost/random/mersenne_twister.hpp>
#include <boost/random/uniform_01.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

namespace fabricost::plan {

namespace {

using core::LineReader;
using core::PlainTree;

constexpr int most_tokens = 100'000'000;
constexpr int session_block = 128;  // tokens
constexpr double most_milliseconds = 1e12;
constexpr std::size_t most_requests = 2'000'000, most_blocks = 50'000'000;

/// Tokens with this mean.
class Lengths {
 public:
  Lengths(double mean, double variation)
      : mean_(mean),
        varies_(variation > 0),
        drawn_(std::log(mean) - std::log1p(variation * variation) / 2, std::sqrt(std::log1p(variation * variation))) {}
  template <class Source>
  [[nodiscard]] int operator()(Source& source) {
    const double tokens = varies_ ? drawn_(source) : mean_;
    return static_cast<int>(std::clamp(std::round(tokens), 1.0, static_cast<double>(most_tokens)));
  }

 private:
  double mean_;
  bool varies_;
  boost::random::lognormal_distribution<> drawn_;
};

class TraceLine {
 public:
  TraceLine(const LineReader& reader, const std::string& line) : reader_(reader), line_(line) {
    std::size_t next = 0;
    try {
      tree_ =
          core::read_json_value(line, next, reader.name(), {.nodes = std::size_t{1} << 20U, .depth = 8, .writer = "a trace of requests"});
    } catch (SpecError& fault) {  // it counts lines from this one
      core::Issue issue = fault.issues().front();
      issue.line = reader.number();
      issue.remedy = remedy;
      throw SpecError({std::move(issue)});
    }
    if (line.find_first_not_of(" \t\r", next) != std::string::npos) refuse("something follows the request");
    if (tree_[tree_.root].kind != PlainTree::Kind::map) refuse("is no JSON object");
    const auto members = tree_.members(tree_.root);
    for (auto one = members.begin(); one != members.end(); ++one)
      if (tree_.find(tree_.root, one->first) != one->second) refuse(fmt::format("\"{}\" is given twice", one->first));
  }
  /// A number that the line must have.
  [[nodiscard]] double number(const char* key) const {
    const PlainTree::Id id = tree_.find(tree_.root, key);
    const PlainTree::Node& node = tree_[id];
    if (id == PlainTree::none) refuse(fmt::format("has no \"{}\"", key));
    if (node.kind != PlainTree::Kind::whole && node.kind != PlainTree::Kind::real) refuse(fmt::format("\"{}\" is no number", key));
    return node.kind == PlainTree::Kind::whole ? static_cast<double>(node.whole) : node.real;
  }
  /// \param numbers of the blocks above, by their hashes
  void blocks(RequestLoad& load, Arrival& request, std::unordered_map<std::int64_t, std::uint32_t>& numbers) const {
    const PlainTree::Id id = tree_.find(tree_.root, "hash_ids");
    if (id == PlainTree::none) return;
    if (tree_[id].kind != PlainTree::Kind::list) refuse("\"hash_ids\" is no list");
    request.first = static_cast<std::uint32_t>(load.hashes.size());
    for (const PlainTree::Id one : tree_.items(id)) {
      if (tree_[one].kind != PlainTree::Kind::whole) refuse("\"hash_ids\" holds something else than whole numbers");
      load.hashes.push_back(numbers.try_emplace(tree_[one].whole, static_cast<std::uint32_t>(numbers.size())).first->second);
    }
    if (load.hashes.size() > most_blocks) refuse(fmt::format("is beyond the first {} blocks of prompts; cut the trace", most_blocks));
    request.blocks = static_cast<std::uint32_t>(load.hashes.size()) - request.first;
    if (request.blocks > std::ceil(static_cast<double>(request.prompt) / load.block))
      refuse(fmt::format("\"hash_ids\" has {} blocks of {} tokens for a prompt of {}", request.blocks, load.block, request.prompt));
  }
  [[noreturn]] void refuse(std::string what) const {
    throw SpecError({core::fault_in_line(reader_.name(), reader_.number(), 1, line_.substr(0, 120), std::move(what), remedy)});
  }

 private:
  static constexpr const char* remedy = R"(write {"timestamp": MS, "input_length": TOKENS, "output_length": TOKENS, "hash_ids": [...]})";
  const LineReader& reader_;
  const std::string& line_;
  PlainTree tree_;
};

}  // namespace

namespace {

/// Sessions of many turns. Those that began before the first counted request are there too.
[[nodiscard]] RequestLoad drawn_sessions(const DrawnLoad& of) {
  boost::random::mt19937_64 arrivals(of.seed), lengths(of.seed + 1), gaps(of.seed + 2), engines(of.seed + 3);
  const bool at_once = std::isinf(of.rate);
  boost::random::gamma_distribution<> interval(std::min(of.burstiness, 1e6), 1 / std::min(of.burstiness, 1e6));
  boost::random::exponential_distribution<> gap(1 / std::max(of.gap, 1e-9));
  Lengths added(of.isl, of.variation), answer(of.osl, std::max(of.variation, of.of_answers));
  RequestLoad out;
  out.rate = at_once ? 0 : of.rate;
  out.block = session_block;
  const double each = at_once ? 0 : of.turns / of.rate;  // s of a session on average
  const auto open = static_cast<int>(at_once ? 0 : std::ceil(std::min((of.turns - 1) * of.gap / each, 1e5)));
  const int sessions = open + (of.count + of.turns - 1) / of.turns;
  // as many begin before the first counted request, and after it, as do in the long run: a few long ones would be far off
  std::vector<double> begun;
  for (const int until : {open, sessions}) {
    const std::size_t from = begun.size();
    double sum = 0;
    for (auto s = from; s < static_cast<std::size_t>(until); ++s, sum += interval(arrivals)) begun.push_back(sum);
    for (std::size_t s = from; s < begun.size(); ++s)
      begun[s] = each * (static_cast<double>(from) + begun[s] / std::max(sum, 1e-300) * static_cast<double>(begun.size() - from));
  }
  for (int s = 0; s < sessions; ++s) {
    double at = begun[static_cast<std::size_t>(s)];
    int history = 0;
    std::map<std::uint64_t, std::vector<std::size_t>> turns_of;  // by the one of the alike engines that they go to
    for (int turn = 0; turn < of.turns; ++turn, at += at_once ? 0 : gap(gaps)) {
      Arrival one{.at = at, .prompt = history + added(lengths), .answer = answer(lengths), .after = s};
      history = one.prompt + one.answer;
      one.blocks = static_cast<std::uint32_t>(one.prompt / out.block);
      one.written = static_cast<std::uint32_t>(history / out.block) - one.blocks;
      turns_of[of.alike > 1 ? engines() % static_cast<std::uint64_t>(of.alike) : 0].push_back(out.requests.size());
      out.requests.push_back(one);
    }
    for (const auto& [engine, turns] : turns_of) {
      for (const std::size_t turn : turns) out.requests[turn].first = static_cast<std::uint32_t>(out.hashes.size());
      const Arrival& longest = out.requests[turns.back()];
      for (std::uint32_t block = 0; block < longest.blocks + longest.written; ++block)
        out.hashes.push_back(static_cast<std::uint32_t>(out.hashes.size()));
    }
  }
  std::stable_sort(out.requests.begin(), out.requests.end(), [](const Arrival& a, const Arrival& b) { return a.at < b.at; });
  std::vector<int> latest(static_cast<std::size_t>(sessions), -1);
  for (int i = 0; i < static_cast<int>(out.requests.size()); ++i) {
    int& after = out.requests[static_cast<std::size_t>(i)].after;
    after = std::exchange(latest[static_cast<std::size_t>(after)], i);
  }
  const double before = each * open, last = each * sessions;  // afterwards no session begins
  const auto after = std::find_if(out.requests.begin(), out.requests.end(), [&](const Arrival& one) { return !at_once && one.at > last; });
  out.requests.erase(after, out.requests.end());
  out.warm_up = static_cast<std::size_t>(
      std::find_if(out.requests.begin(), out.requests.end(), [&](const Arrival& one) { return one.at >= before; }) - out.requests.begin());
  if (at_once) return out;
  const double slower = static_cast<double>(out.requests.size() - out.warm_up) / (of.rate * (last - before));  // by a few per cent
  for (Arrival& one : out.requests) one.at *= slower;
  return out;
}

}  // namespace

RequestLoad drawn_load(const DrawnLoad& of) {
  if (of.turns > 1) return drawn_sessions(of);
  boost::random::mt19937_64 arrivals(of.seed), lengths(of.seed + 1);  // apart, so that another rate has the same lengths
  const bool at_once = std::isinf(of.rate);
  boost::random::gamma_distribution<> interval(std::min(of.burstiness, 1e6), 1 / std::min(of.burstiness, 1e6));
  Lengths prompt(of.isl, of.variation), answer(of.osl, std::max(of.variation, of.of_answers));
  boost::random::mt19937_64 parts(of.seed + 2);
  boost::random::uniform_01<> left;
  RequestLoad out;
  out.rate = at_once ? 0 : of.rate;
  out.shared = of.shared;
  out.requests.reserve(static_cast<std::size_t>(of.count));
  double at = 0;
  for (int i = 0; i < of.count; ++i) {
    Arrival one{.at = at, .prompt = prompt(lengths), .answer = answer(lengths)};
    if (i < of.running) one.answer = std::max(1, static_cast<int>(std::ceil(left(parts) * one.answer)));
    one.repeated = of.shared > 0 ? of.shared : static_cast<int>(std::floor(of.hit_rate * one.prompt));
    one.repeated = std::min(one.repeated, one.prompt - 1);  // an engine computes at least the last token
    out.requests.push_back(one);
    if (!at_once) at += interval(arrivals) / of.rate;
  }
  return out;
}

std::string add_request(RequestLoad& load, double milliseconds, double prompt, double answer) {
  const auto tokens = [](double n) { return n >= 1 && n <= most_tokens && n == std::floor(n); };
  if (!(milliseconds >= 0 && milliseconds <= most_milliseconds))
    return fmt::format("timestamp {:.15g} is not from 0 to {:g} ms", milliseconds, most_milliseconds);
  if (!tokens(prompt) || !tokens(answer))
    return fmt::format("{} {:.15g} is no whole number from 1 to {}", tokens(prompt) ? "output_length" : "input_length",
                       tokens(prompt) ? answer : prompt, most_tokens);
  if (!load.requests.empty() && milliseconds / 1e3 < load.requests.back().at)
    return "it arrives before the request above it; sort them by timestamp";
  if (load.requests.size() == most_requests) return fmt::format("it is beyond the first {} requests; cut the trace", most_requests);
  load.fractional = load.fractional || milliseconds != std::floor(milliseconds);
  load.requests.push_back({.at = milliseconds / 1e3, .prompt = static_cast<int>(prompt), .answer = static_cast<int>(answer)});
  return {};
}

void complete(RequestLoad& load) {
  const double first = load.requests.front().at;
  for (Arrival& one : load.requests) one.at -= first;
  const double last = load.requests.back().at;
  load.trace = true;
  load.rate = last > 0 ? static_cast<double>(load.requests.size() - 1) / last : 0;
}

RequestLoad read_requests(const std::filesystem::path& file) {
  LineReader reader(file);
  RequestLoad out;
  std::unordered_map<std::int64_t, std::uint32_t> numbers;
  std::string line;
  while (reader.next(line)) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const TraceLine of(reader, line);
    const std::string wrong = add_request(out, of.number("timestamp"), of.number("input_length"), of.number("output_length"));
    if (!wrong.empty()) of.refuse(wrong);
    of.blocks(out, out.requests.back(), numbers);
  }
  if (out.requests.empty()) throw core::fault_of_file(reader.name(), "has no requests", "write one JSON object a line");
  complete(out);
  return out;
}

RequestLoad faster(RequestLoad load, double factor) {
  for (Arrival& one : load.requests) one.at /= factor;
  load.rate *= factor;
  return load;
}

}  // namespace fabricost::plan
