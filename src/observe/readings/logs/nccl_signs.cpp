/// Matches lines against signs, and answers questions about the signs, variables and nodes of a log.

#include "readings/logs/nccl_info.hpp"

#include "readings/logs/line_shape.hpp"
#include "readings/logs/log_text.hpp"
#include "text/ascii.hpp"
#include "text/plain_text.hpp"

#include <algorithm>
#include <array>

namespace fabricost::observe {

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

bool EventLine::told_by(const Sign& sign) {
  if (!read_) {
    read_ = true;
    status_ = is_status(line_, stamped_);
    if (!status_) text_ = event_text(line_);
    whole_ = !status_ && text_ == line_;
    if (!status_ && !whole_) {
      folded_text_ = lowered(text_);
      folded_line_ = lowered(line_);
    }
  }
  if (status_ || whole_) return whole_;
  return std::any_of(sign.patterns.begin(), sign.patterns.end(), [&](const Sign::Pattern& p) {
    const bool of_setting = std::any_of(p.all.begin(), p.all.end(), [](const std::string& part) { return has(part, "="); });
    if (of_setting) return fits(p, p.any_case ? folded_line_ : line_);
    return fits(p, p.any_case ? folded_text_ : text_);
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

/// The texts of four letters in a text, in lower case, as a number each.
template <class Take>
void grams_of(std::string_view text, const Take& take) {
  static constexpr auto folded = [] {
    std::array<unsigned char, 256> out{};
    for (unsigned c = 0; c < out.size(); ++c) out[c] = static_cast<unsigned char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    return out;
  }();
  std::uint32_t gram = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    gram = gram << 8U | folded[static_cast<unsigned char>(text[i])];
    if (i + 1 >= Grams::letters) take(gram);
  }
}

}  // namespace

SignMatcher::SignMatcher(std::span<const Sign> signs) {
  std::unordered_map<std::uint32_t, std::size_t> in_patterns;
  const auto grams = [](const Sign::Pattern& pattern, const auto& take) {
    for (const std::string& text : pattern.all) grams_of(text, take);
  };
  for (const Sign& sign : signs)
    for (const Sign::Pattern& pattern : sign.patterns) {
      patterns_.push_back({&sign, &pattern});
      grams(pattern, [&](std::uint32_t gram) { ++in_patterns[gram]; });
    }
  for (std::uint32_t i = 0; i < patterns_.size(); ++i) {
    std::optional<std::uint32_t> rarest;
    grams(*patterns_[i].second, [&](std::uint32_t gram) {
      if (!rarest || in_patterns.at(gram) < in_patterns.at(*rarest)) rarest = gram;
    });
    if (rarest) asking_.add(*rarest);
    (rarest ? rarest_[*rarest] : always_).push_back(i);
  }
}

void SignMatcher::match(const std::string& line, const std::function<void(const Sign&)>& see) {
  candidates_ = always_;
  grams_of(line, [&](std::uint32_t gram) {
    if (!asking_.may_hold(gram)) return;
    const auto more = rarest_.find(gram);
    if (more != rarest_.end()) candidates_.insert(candidates_.end(), more->second.begin(), more->second.end());
  });
  std::sort(candidates_.begin(), candidates_.end());  // those of one sign together, in its order
  candidates_.erase(std::unique(candidates_.begin(), candidates_.end()), candidates_.end());
  std::string folded;
  const Sign* seen = nullptr;
  for (const std::uint32_t i : candidates_) {
    const auto& [sign, pattern] = patterns_[i];
    if (sign == seen) continue;
    if (pattern->any_case && folded.empty()) folded = lowered(line);
    if (!fits(*pattern, pattern->any_case ? folded : line)) continue;
    seen = sign;
    see(*sign);
  }
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
  const bool alone = ranks > 0 && joined.size() == 1 && !joined.begin()->first.empty() && static_cast<int>(joined.begin()->second.size()) >= ranks;
  return std::max({nodes, listed > 1 ? listed : 0, seen > 1 ? seen : 0, alone ? 1 : 0});
}

}  // namespace fabricost::observe
