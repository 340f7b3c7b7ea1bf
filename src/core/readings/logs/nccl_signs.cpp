/// \file nccl_signs.cpp
/// Matches lines against signs, and answers questions about the signs, variables and nodes of a log.

#include "readings/logs/nccl_info.hpp"

#include "readings/logs/line_shape.hpp"
#include "readings/logs/log_text.hpp"
#include "text/ascii.hpp"
#include "text/plain_text.hpp"

#include <algorithm>

namespace fabricost::core {

namespace {

bool fits(const Sign::Pattern& p, const std::string& text) {
  const auto has = [&](const std::string& part) { return text.find(part) != std::string::npos; };
  return std::all_of(p.all.begin(), p.all.end(), has) && std::none_of(p.none.begin(), p.none.end(), has);
}

}  // namespace

bool carries(const Sign& sign, const std::string& line, const std::string& folded) {
  return std::any_of(sign.patterns.begin(), sign.patterns.end(),
                     [&](const Sign::Pattern& p) { return fits(p, p.any_case ? folded : line); });
}

bool tells_of_event(const Sign& sign, const std::string& line, bool stamped) {
  if (is_status(line, stamped)) return false;
  const std::string text = event_text(line);
  if (text == line) return true;
  const std::string folded = lowered(text), whole = lowered(line);
  return std::any_of(sign.patterns.begin(), sign.patterns.end(), [&](const Sign::Pattern& p) {
    const bool of_setting = std::any_of(p.all.begin(), p.all.end(), [](const std::string& part) { return has(part, "="); });
    if (of_setting) return fits(p, p.any_case ? whole : line);
    return fits(p, p.any_case ? folded : text);
  });
}

std::size_t place_in_line(const Sign& sign, const std::string& line) {
  const std::string folded = lowered(line);
  for (const Sign::Pattern& p : sign.patterns) {
    const std::string& text = p.any_case ? folded : line;
    if (p.all.empty() || !fits(p, text)) continue;
    std::size_t first = text.size();
    for (const std::string& part : p.all) first = std::min(first, text.find(part));
    return first;
  }
  return 0;
}

namespace {

constexpr unsigned word_bits = 64;

/// The pairs of neighbouring characters of a text, in lower case.
template <class Take>
void pairs_of(std::string_view text, const Take& take) {
  unsigned before = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const auto now = static_cast<unsigned char>(c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c);
    if (i > 0) take(static_cast<std::uint16_t>(before << 8U | now));
    before = now;
  }
}

}  // namespace

SignMatcher::SignMatcher(std::span<const Sign> signs) : present_(65536 / word_bits), asking_(65536 / word_bits) {
  for (const Sign& sign : signs)
    for (const Sign::Pattern& pattern : sign.patterns) {
      Needed& one = needed_.emplace_back(Needed{&sign, {}});
      for (const std::string& text : pattern.all) pairs_of(text, [&](std::uint16_t pair) { one.pairs.push_back(pair); });
    }
  std::unordered_map<std::uint16_t, std::size_t> patterns;
  for (const Needed& one : needed_)
    for (const std::uint16_t pair : one.pairs) ++patterns[pair];
  for (std::size_t i = 0; i < needed_.size(); ++i) {
    const std::vector<std::uint16_t>& pairs = needed_[i].pairs;
    const auto rarest = std::min_element(pairs.begin(), pairs.end(),
                                         [&](std::uint16_t a, std::uint16_t b) { return patterns.at(a) < patterns.at(b); });
    if (rarest != pairs.end()) asking_[*rarest / word_bits] |= std::uint64_t{1} << *rarest % word_bits;
    (rarest == pairs.end() ? always_ : rarest_[*rarest]).push_back(static_cast<std::uint32_t>(i));
  }
}

void SignMatcher::match(const std::string& line, const std::function<void(const Sign&)>& see) {
  if (needed_.empty()) return;
  candidates_ = always_;
  pairs_of(line, [&](std::uint16_t pair) {
    const std::uint64_t bit = std::uint64_t{1} << pair % word_bits;
    if ((present_[pair / word_bits] & bit) != 0) return;
    present_[pair / word_bits] |= bit;
    if ((asking_[pair / word_bits] & bit) == 0) return;
    const std::vector<std::uint32_t>& more = rarest_.at(pair);
    candidates_.insert(candidates_.end(), more.begin(), more.end());
  });
  std::sort(candidates_.begin(), candidates_.end());  // those of one sign together, in its order
  std::string folded;
  const Sign* asked = nullptr;
  for (const std::uint32_t i : candidates_) {
    const Needed& one = needed_[i];
    if (one.sign == asked) continue;
    const bool may = std::all_of(one.pairs.begin(), one.pairs.end(),
                                 [&](std::uint16_t pair) { return (present_[pair / word_bits] >> pair % word_bits & 1U) != 0; });
    if (!may) continue;
    if (folded.empty()) folded = lowered(line);
    asked = one.sign;
    if (carries(*one.sign, line, folded)) see(*one.sign);
  }
  pairs_of(line, [&](std::uint16_t pair) { present_[pair / word_bits] = 0; });
}

void NetUse::add(const std::string& host, std::string_view line, int device, int count,
                 const std::function<LogLine()>& quote) {
  constexpr std::size_t max_hosts = 65536;
  const auto has = [&](std::string_view text) { return line.find(text) != std::string_view::npos; };
  const std::pair key{host, has("[send]") ? 's' : has("[receive]") ? 'r' : ' '};
  if (paths.size() >= max_hosts && !paths.contains(key)) return;
  HostPaths& one = paths[key];
  one.times += count;
  if (has("/GDRDMA")) {
    one.direct += count;
    return;
  }
  if (one.staged.empty()) one.first_staged = quote();
  one.staged.insert(device);
}

void NcclInfo::warn(std::string_view line, int count, std::set<std::string> carried,
                    const std::function<LogLine()>& quote) {
  constexpr std::string_view mark = "NCCL WARN";
  constexpr std::size_t max_kinds = 64, longest_quoted = 200;
  std::string_view said = line.substr(std::min(line.find(mark), line.size() - mark.size()) + mark.size());
  while (!said.empty() && said.front() == ' ') said.remove_prefix(1);
  std::string form;
  for (const std::string_view word : words(said))
    if (std::none_of(word.begin(), word.end(), is_digit)) form.append(word) += ' ';
  const auto same =
      std::find_if(warnings.begin(), warnings.end(), [&](const Warning& one) { return one.form == form; });
  if (same != warnings.end()) {
    same->times += count;
  } else if (warnings.size() < max_kinds) {
    warnings.push_back(
        {quote(), count, std::move(carried), plain_text(std::string{said.substr(0, longest_quoted)}), std::move(form)});
  }
}

const Seen& NcclInfo::seen(std::string_view sign) const {
  static const Seen none;
  const auto at = signs.find(sign);
  return at == signs.end() ? none : at->second;
}

const Setting* NcclInfo::setting(std::string_view name) const {
  for (auto it = settings.rbegin(); it != settings.rend(); ++it)
    if (it->name == name) return &*it;
  return nullptr;
}

int NcclInfo::node_count() const {
  std::set<std::string> hosts, talkers;
  std::set<int> numbers;
  for (const RankLine& one : rank_lines) {
    hosts.insert(one.host);
    numbers.insert(one.rank);
  }
  for (const auto& [transport, use] : net)
    for (const auto& [host, devices] : use.by_host)
      if (!host.empty()) talkers.insert(host);
  // logs lose lines: an incomplete list gives only a lower bound
  const bool whole =
      !numbers.empty() && static_cast<int>(numbers.size()) == *numbers.rbegin() + 1 && static_cast<int>(numbers.size()) >= ranks;
  const int listed = static_cast<int>(hosts.size()), seen = static_cast<int>(talkers.size());
  if (whole) return std::max(listed, nodes);
  return std::max({nodes, listed > 1 ? listed : 0, seen > 1 ? seen : 0});
}

}  // namespace fabricost::core
