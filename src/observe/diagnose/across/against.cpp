/// Compares the logs of two runs. Values are compared as sets over all ranks, lines by their form: without numbers and hosts.

#include "diagnose/across/against.hpp"

#include "diagnose/context.hpp"
#include "diagnose/inputs/condense.hpp"
#include "readings/logs/log_text.hpp"
#include "text/joined.hpp"
#include "text/line_reader.hpp"

#include <fabricost/collective.hpp>
#include <fabricost/text/quantity.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <unordered_set>

namespace fabricost::observe::diagnosis {

namespace {

constexpr std::size_t max_lines_shown = 8, max_forms_kept = std::size_t{1} << 20U, max_values_shown = 4;

std::string joined_values(const std::set<std::string>& values) { return first_of(values, max_values_shown, " or "); }

std::set<std::string> values_of(const std::map<std::string, Stated>& stated, const std::string& what) {
  std::set<std::string> out;
  if (const auto at = stated.find(what); at != stated.end())
    for (const auto& [value, who] : at->second.who) out.insert(value);
  return out;
}

/// The connections of the ranks: "P2P, NET/IB with GPUDirect".
std::string connections_of(const NcclInfo& info) {
  std::string out;
  const auto add = [&](const std::string& one) { out += (out.empty() ? "" : ", ") + one; };
  if (info.peer > 0) add("P2P");
  if (info.shared_memory > 0) add("shared memory");
  for (const auto& [name, use] : info.net)
    add(fmt::format("NET/{}{}", name, use.direct == 0 ? "" : 2 * use.direct < use.times ? ", some with GPUDirect" : " with GPUDirect"));
  return out;
}

std::string gpus_of(const NcclInfo& info) {
  std::set<std::string> names;
  for (const RankLine& one : info.rank_lines)
    if (!one.gpu.empty()) names.insert(one.gpu);
  return joined_values(names);
}

std::string listed_names(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& one : names) out += (out.empty() ? "" : ", ") + one;
  return out;
}

std::string number_or_nothing(int number) { return number > 0 ? fmt::format("{}", number) : std::string{}; }

/// Differences between NCCL's choices at sizes that both runs tuned.
void tuned_otherwise(const NcclInfo& here, const NcclInfo& there, std::vector<Difference>& out) {
  for (const Tuned& one : here.tuned)
    for (const Tuned& other : there.tuned)
      if (one.bytes == other.bytes && (one.algorithm != other.algorithm || one.protocol != other.protocol)) {
        out.push_back({fmt::format("algorithm and protocol at {}", size_text(Bytes::from_value(one.bytes))),
                       fmt::format("{} {}", one.algorithm, one.protocol), fmt::format("{} {}", other.algorithm, other.protocol)});
        return;
      }
}

/// Messages, not figures: lines of words.
bool is_message(std::string_view line) {
  return !is_table_row(line) && std::count_if(line.begin(), line.end(), [](char c) { return (c | 32) >= 'a' && (c | 32) <= 'z'; }) > 8;
}

bool is_alarm(const std::string& line) {
  const std::string folded = lower(line);
  for (const char* word : {"warn", "error", "fail", "timeout", "timed out", "abort", "exception", "xid"})
    if (folded.find(word) != std::string::npos) return true;
  return false;
}

/// Lines whose form only this run has: alarms first, each form once.
void lines_only_here(const std::filesystem::path& here, const std::filesystem::path& there, std::vector<Difference>& out) {
  std::unordered_set<std::uint64_t> known;
  {
    LineReader lines(there);
    for (std::string line; lines.next(line) && known.size() < max_forms_kept;) known.insert(form_of_line(line));
  }
  std::vector<Difference> alarms, others;
  LineReader lines(here);
  std::string file;
  int before = 0;
  for (std::string line; lines.next(line);) {
    if (line.starts_with(file_mark)) {
      file = line.substr(file_mark.size()) + " ";
      before = lines.number();
      continue;
    }
    constexpr std::size_t longest = 200;
    if (known.size() >= 2 * max_forms_kept || !is_message(line) || !known.insert(form_of_line(line)).second) continue;
    std::vector<Difference>& into = is_alarm(line) ? alarms : others;
    if (into.size() < max_lines_shown)
      into.push_back({"a line only here", fmt::format("{}line {}: {}", file, lines.number() - before, line.substr(0, longest)), ""});
  }
  others.resize(std::min(others.size(), max_lines_shown - std::min(alarms.size(), max_lines_shown)));
  out.insert(out.end(), alarms.begin(), alarms.end());
  out.insert(out.end(), others.begin(), others.end());
}

}  // namespace

Slowest slowest_size(const std::vector<Shown>& here, const std::vector<Shown>& there) {
  Slowest out;
  for (const Shown& one : here)
    for (const Shown& other : there)
      if (one.bytes == other.bytes && one.bus > 0 && other.bus > 0 && one.bus < out.share * other.bus)
        out = {one.bus / other.bus, one.bytes, one.bus, other.bus};
  return out;
}

std::string plain_factor(const std::map<double, double>& apart, Collective collective, int ranks) {
  constexpr double large = 1.0 / 16, close = 1.05, steady = 1.1;
  std::vector<double> factors;
  for (const auto& [bytes, factor] : apart)
    if (bytes >= large * apart.rbegin()->first && factor > 0) factors.push_back(factor);
  if (factors.empty()) return "";
  std::sort(factors.begin(), factors.end());
  const double middle = factors[factors.size() / 2], off = std::max(middle, 1 / middle);
  if (factors.back() > steady * middle || middle > steady * factors.front()) return "";
  std::vector<std::string> words;
  const auto match = [&](double factor, std::string what) {
    if (factor > steady && std::max(off, factor) <= close * std::min(off, factor)) words.push_back(std::move(what));
  };
  match(2, "of one direction of a link and both, or of half the links or adapters");
  match(8, "of bytes and bits");
  if (ranks > 1) {
    const double bus = bus_factor(collective, ranks);
    match(std::max(bus, 1 / bus), fmt::format("of bus and algorithm bandwidth ({:.4g} with {} ranks)", bus, ranks));
    if (ranks > 2 && ranks != 8) match(ranks, fmt::format("of all {} ranks' bytes and one rank's", ranks));
  }
  if (words.empty()) return "";
  return fmt::format("large messages are a plain factor of {:.3g} apart, as that {}: see what was counted before looking for a fault",
                     middle, joined(words, ", or "));
}

std::vector<Difference> differences(const Shows& here, const Shows& there, const Numbers& thresholds) {
  std::vector<Difference> out;
  const auto compare = [&](std::string what, std::string a, std::string b) {
    if (a != b) out.push_back({std::move(what), std::move(a), std::move(b)});
  };
  if (const Slowest worst = slowest_size(here.curve, there.curve); worst.share < thresholds["share"])
    compare(fmt::format("bus bandwidth at {} (x{:.2g})", size_text(Bytes::from_value(worst.bytes)), worst.share), gigabytes(worst.here),
            gigabytes(worst.there));
  if (!here.curve.empty() && !there.curve.empty()) {
    const Shown& top = here.curve.back();
    for (const Shown& other : there.curve)
      if (other.bytes == top.bytes && top.bus < thresholds["share"] * other.bus)
        compare(fmt::format("bus bandwidth at {}", size_text(Bytes::from_value(top.bytes))), gigabytes(top.bus), gigabytes(other.bus));
  }
  if (out.size() == 2 && out[0].here == out[1].here) out.pop_back();
  std::set<std::string> names;
  for (const auto* stated : {&here.reports.stated, &there.reports.stated})
    for (const auto& [what, one] : *stated) names.insert(what);
  for (const std::string& what : names)
    compare(what, joined_values(values_of(here.reports.stated, what)), joined_values(values_of(there.reports.stated, what)));
  std::set<std::string> typed;
  for (const auto* info : {&here.info, &there.info})
    for (const Setting& one : info->settings)
      if (!names.contains(one.name)) typed.insert(one.name);
  for (const std::string& what : typed) {
    const Setting *a = here.info.setting(what), *b = there.info.setting(what);
    compare(what, a != nullptr ? a->value : "", b != nullptr ? b->value : "");
  }
  compare("GPUs", gpus_of(here.info), gpus_of(there.info));
  compare("ranks", number_or_nothing(here.info.ranks), number_or_nothing(there.info.ranks));
  compare("nodes", number_or_nothing(here.info.node_count()), number_or_nothing(there.info.node_count()));
  if (!names.contains("adapters")) compare("adapters", listed_names(here.info.adapters), listed_names(there.info.adapters));
  if (!names.contains("network")) compare("network", here.info.network, there.info.network);
  compare("connections", connections_of(here.info), connections_of(there.info));
  if (!names.contains("channels")) compare("channels", number_or_nothing(here.info.channels), number_or_nothing(there.info.channels));
  compare("channels of NVLS", number_or_nothing(here.info.nvls_channels), number_or_nothing(there.info.nvls_channels));
  compare("widest path between GPU and adapter", here.info.widest_path, there.info.widest_path);
  tuned_otherwise(here.info, there.info, out);
  lines_only_here(here.file, there.file, out);
  return out;
}

}  // namespace fabricost::observe::diagnosis
