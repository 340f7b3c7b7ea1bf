/// \file condense.cpp
/// The form of a line is a hash over its letters, each number counted as one sign; behind " via " numbers are devices and count as letters.
/// Settings stand in any order and number: each name and each text between them is a form, whatever the values.

#include "diagnose/inputs/condense.hpp"

#include "readings/logs/log_text.hpp"
#include "text/line_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <utility>
#include <vector>

namespace fabricost::observe::diagnosis {

namespace {

constexpr std::uint32_t kept_of_form = 4, kept_of_every = 16384;
constexpr std::size_t max_forms = std::size_t{1} << 18U, max_whole = std::size_t{1} << 20U;

/// Eight letters a step: one multiplication a letter is what a gigabyte of logs would take longest for.
class Hash {
 public:
  explicit Hash(std::uint64_t seed) : value_(seed ^ 0xCBF29CE484222325ULL) {}
  void add(unsigned char c) {
    word_ = word_ << 8U | c;
    if ((++length_ & 7U) == 0) mix();
  }
  void add(std::string_view text) {
    for (const char c : text) add(static_cast<unsigned char>(c));
  }
  [[nodiscard]] std::uint64_t end() {
    mix();
    return value_ ^ length_;
  }

 private:
  void mix() {
    value_ = (value_ ^ word_) * 0x9E3779B97F4A7C15ULL;
    value_ ^= value_ >> 32U;
    word_ = 0;
  }
  std::uint64_t value_, word_ = 0, length_ = 0;
};

constexpr auto sign_of_number = [] {
  std::array<unsigned char, 256> out{};  // 1: begins a number, 2: continues one
  for (unsigned c = '0'; c <= '9'; ++c) out[c] = 3;
  for (unsigned c = 'a'; c <= 'f'; ++c) out[c] = out[c - 'a' + 'A'] = 2;
  out['x'] = out['.'] = 2;
  return out;
}();

constexpr int least_settings = 4;

bool is_quote(char c) { return c == '\'' || c == '"'; }

/// Whether a line has several of NAME=VALUE, or of 'name': value.
bool lists_settings(std::string_view line) {
  int equals = 0, quoted = 0;
  for (std::size_t at = line.find('='); at != std::string_view::npos && equals < least_settings; at = line.find('=', at + 1)) ++equals;
  if (equals == least_settings) return true;
  for (const char quote : {'\'', '"'})
    for (std::size_t at = line.find(quote); at < line.size() - 1 && quoted < least_settings; at = line.find(quote, at + 1))
      quoted += line[at + 1] == ':' ? 1 : 0;
  return quoted == least_settings;
}

constexpr auto ends_word = [] {
  std::array<bool, 256> out{};
  for (const unsigned char c : std::string_view{" \t,;)"}) out[c] = true;
  return out;
}();

/// The forms of the settings of a line, and of the texts between them.
template <class Take>
void forms_of_settings(std::string_view line, std::uint64_t seed, const Take& take) {
  std::uint64_t between = 0;  // 0: no word yet
  std::size_t text = 0;  // where it begins
  bool value = false;    // of the name before
  const auto end_text = [&](std::size_t end) {
    if (between != 0) take(between, line.substr(text, end - text));
    between = 0;
  };
  for (std::size_t i = 0; i < line.size();) {
    if (ends_word[static_cast<unsigned char>(line[i])]) {
      ++i;
      continue;
    }
    const std::size_t first = i;
    Hash word(seed);
    while (i < line.size() && line[i] != '=' && !ends_word[static_cast<unsigned char>(line[i])]) {
      if ((sign_of_number[static_cast<unsigned char>(line[i])] & 1U) == 0) {
        word.add(static_cast<unsigned char>(line[i++]));
        continue;
      }
      while (i < line.size() && sign_of_number[static_cast<unsigned char>(line[i])] != 0) ++i;
      word.add('0');
    }
    const bool equal = i < line.size() && line[i] == '=', colon = !equal && i >= first + 2 && line[i - 1] == ':' && is_quote(line[i - 2]);
    if (equal || colon) {
      end_text(first);
      i += equal ? 1 : 0;
      take(word.end(), line.substr(first, i - first));
      while (equal && i < line.size() && !ends_word[static_cast<unsigned char>(line[i])]) ++i;
    } else if (!value) {
      if (between == 0) text = first;
      between = ((between ^ word.end()) * 0x9E3779B97F4A7C15ULL) | 1U;
    }
    value = colon;
  }
  end_text(line.size());
}

/// \param settings values of NAME=VALUE count for nothing
std::uint64_t form_of(std::string_view line, std::uint64_t seed, bool settings) {
  Hash hash(seed);
  const auto* const text = reinterpret_cast<const unsigned char*>(line.data());
  for (std::size_t i = 0; i < line.size();) {
    const unsigned char c = text[i];
    if (settings && c == '=') {
      hash.add('=');
      i = std::min(line.find_first_of(" ,;)", i), line.size());
      continue;
    }
    if ((sign_of_number[c] & 1U) != 0) {
      while (i < line.size() && sign_of_number[text[i]] != 0) ++i;
      hash.add('0');
      continue;
    }
    hash.add(c);
    ++i;
    if (c == ' ' && line.size() - i > 4 && std::memcmp(text + i, "via ", 4) == 0) {
      hash.add(line.substr(i));
      break;
    }
  }
  return hash.end();
}

/// "HOST:PID:TID [0] NCCL": the host; empty for anything else.
std::string_view host_of(std::string_view line) {
  const std::size_t colon = line.substr(0, 256).find(':');
  if (colon == std::string_view::npos || colon + 1 >= line.size() || !is_digit(line[colon + 1])) return {};
  return line.substr(0, line.find(' ') < colon ? 0 : colon);
}

bool contains_text(std::string_view line, std::string_view text) { return line.find(text) != std::string_view::npos; }

}  // namespace

std::uint64_t form_of_line(std::string_view line) {
  (void)unprefix(line);
  line.remove_prefix(host_of(line).size());
  line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  return form_of(line, 0, std::count(line.begin(), line.end(), '=') >= least_settings);
}

void Condenser::mark(std::string_view line) {
  finish();
  ++file_;
  put(line, ++number_, 1);
}

void Condenser::put(std::string_view line, std::uint64_t number, std::uint64_t times) {
  text_.clear();
  if (number != written_ + 1 || times > 1) fmt::format_to(std::back_inserter(text_), "{}{} {}\n", line_mark, number, times);
  text_ += line;
  text_ += '\n';
  written_ = number;
  write_(text_);
}

bool Condenser::keeps(Form& form, std::string_view line, std::uint64_t host) {
  switch (form.kind) {
    case Kind::repeated: return form.kept < kept_of_form;
    case Kind::every: {
      if (form.kept >= kept_of_every || whole_.size() >= max_whole) return false;
      Hash whole(file_ * 0x9E3779B97F4A7C15ULL);
      whole.add(line);
      return whole_.insert(whole.end()).second;
    }
    case Kind::network: {  // the adapters and channels of each host, whichever of its ranks names them first
      if (channels_.size() >= max_whole) return false;
      Hash channel(host);
      const auto from = line.find("Channel "), via = line.rfind(" via ");
      if (from != std::string_view::npos) channel.add(line.substr(from + 8, line.find(' ', from + 8) - from - 8));
      if (via != std::string_view::npos) channel.add(line.substr(via));
      return channels_.insert(channel.end()).second;
    }
  }
  return true;
}

void Condenser::line(std::string_view line) {
  ++number_;
  bytes_ += line.size() + 1;
  std::string_view said = line;
  int rank = -1;
  if (contains_text(line.substr(0, 16), "\x1B")) {
    whole_line_ = line;
    rank = unprefix(whole_line_);
    said = whole_line_;
  } else {
    rank = unprefix(said);
  }
  Hash hash(0);
  hash.add(host_of(said));
  const std::uint64_t host = hash.end(), who = host ^ (file_ << 32U | static_cast<std::uint32_t>(rank)) * 0x9E3779B97F4A7C15ULL;
  in_line_.clear();
  bool room = true, wanted = bytes_ <= verbatim_;
  const auto take = [&](std::uint64_t place, std::string_view text) {
    Form* const form = form_at(place, text);
    if (form == nullptr) {
      room = false;
      return;
    }
    wanted = keeps(*form, said, host) || wanted;
    in_line_.push_back(form);
  };
  if (lists_settings(said))
    forms_of_settings(said, who, take);
  else
    take(form_of(said, who, false), said);
  if (!room || wanted) {
    for (Form* const form : in_line_) ++form->kept;
    put(line, number_, 1);
    return;
  }
  Form& form = *in_line_.front();
  ++form.dropped;
  form.number = number_;
  form.last.assign(line);
}

Condenser::Form* Condenser::form_at(std::uint64_t place, std::string_view text) {
  auto& [known, found] = recent_[place % recent_.size()];
  if (found != nullptr && known == place) return found;
  if (const auto at = forms_.find(place); at != forms_.end()) {
    known = place;
    return found = &at->second;
  }
  if (forms_.size() >= max_forms) return nullptr;
  Form& form = forms_.emplace(place, Form{}).first->second;
  constexpr std::array<std::string_view, 14> counted{"per iteration (", "completed step: ",
                                                     "Init START", "Init COMPLETE", "SeqNum=",     " last enqueued",
                                                     "WORLD_SIZE", "world_size",    "world size",  " set by env",
                                                     "LnkCap",     "LnkSta",        "flight reco", " device "};
  if (contains_text(text, " via NET/"))
    form.kind = Kind::network;
  else if (text.empty() || text.front() == '#' || is_table_row(text) || (text.front() >= '0' && text.front() <= '9') ||
           std::any_of(counted.begin(), counted.end(), [&](std::string_view part) { return contains_text(text, part); }))
    form.kind = Kind::every;
  return &form;
}

std::vector<const Condenser::Form*> Condenser::dropped() const {
  std::vector<const Form*> out;
  for (const auto& [place, form] : forms_)
    if (form.dropped > 0 && form.kind != Kind::every) out.push_back(&form);  // of the others an equal line was kept
  std::sort(out.begin(), out.end(), [](const Form* a, const Form* b) { return a->number < b->number; });
  return out;
}

void Condenser::finish() {
  for (const Form* form : dropped()) put(form->last, form->number, form->dropped);
  recent_.fill({});
  forms_.clear();
}

std::string Condenser::kept_back() const {
  std::string out;
  for (const Form* form : dropped()) fmt::format_to(std::back_inserter(out), "{}{} {}\n{}\n", line_mark, form->number, form->dropped, form->last);
  return out;
}

}  // namespace fabricost::observe::diagnosis
