/// The form of a line is a hash over its letters, each number counted as one sign; behind " via " numbers are devices and count as letters.
/// Settings stand in any order and number: each name and each text between them is a form, whatever the values.

#include "diagnose/inputs/condense.hpp"

#include "readings/logs/log_text.hpp"
#include "text/ascii.hpp"
#include "text/line_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
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
  void add(const char* from, const char* end) {
    length_ = length_ * 31 + static_cast<std::uint64_t>(end - from);
    std::uint64_t word = 0;
    for (; end - from > 8; from += 8) {
      std::memcpy(&word, from, 8);
      mix(word);
    }
    word = 0;
    if (const auto left = static_cast<std::size_t>(end - from); left >= 4) {  // the two halves overlap
      std::uint32_t first = 0, last = 0;
      std::memcpy(&first, from, 4);
      std::memcpy(&last, end - 4, 4);
      word = std::uint64_t{first} << 32U | last;
    } else {
      for (; from != end; ++from) word = word << 8U | static_cast<unsigned char>(*from);
    }
    mix(word);
  }
  void add(std::string_view text) { add(text.data(), text.data() + text.size()); }
  void add_number() { mix(0x30); }
  [[nodiscard]] std::uint64_t end() const { return value_ ^ length_; }

 private:
  void mix(std::uint64_t word) {
    value_ = (value_ ^ word) * 0x9E3779B97F4A7C15ULL;
    value_ ^= value_ >> 32U;
  }
  std::uint64_t value_, length_ = 0;
};

enum Letter : unsigned char { begins_number = 1, in_number = 2, ends_word = 4, equal_sign = 8, blank = 16 };
constexpr auto letters = [] {
  std::array<unsigned char, 256> out{};
  for (unsigned c = '0'; c <= '9'; ++c) out[c] = begins_number | in_number;
  for (unsigned c = 'a'; c <= 'f'; ++c) out[c] = out[c - 'a' + 'A'] = in_number;
  out['x'] = out['.'] = in_number;
  for (const char c : std::string_view{" \t,;)"}) out[static_cast<unsigned char>(c)] = ends_word;
  out[' '] = ends_word | blank;
  out['='] = equal_sign;
  return out;
}();
bool is(char c, unsigned any) { return (letters[static_cast<unsigned char>(c)] & any) != 0; }
/// The first letter that is one of `any`.
const char* find_letter(const char* at, const char* end, unsigned any) {
  while (at != end && !is(*at, any)) ++at;
  return at;
}
const char* past_number(const char* at, const char* end) {
  while (at != end && is(*at, in_number)) ++at;
  return at;
}

constexpr int least_settings = 4;

bool is_quote(char c) { return c == '\'' || c == '"'; }

/// Whether a line has several of NAME=VALUE, or of 'name': value.
bool lists_settings(std::string_view line) {
  int equals = 0, quoted = 0;
  for (std::size_t at = line.find('='); at != std::string_view::npos && equals < least_settings; at = line.find('=', at + 1)) ++equals;
  if (equals == least_settings) return true;
  for (std::size_t at = line.find(':', 1); at != std::string_view::npos && quoted < least_settings; at = line.find(':', at + 1))
    quoted += is_quote(line[at - 1]) ? 1 : 0;
  return quoted == least_settings;
}

/// The forms of the settings of a line, and of the texts between them.
template <class Take>
void forms_of_settings(std::string_view line, std::uint64_t seed, const Take& take) {
  std::uint64_t between = 0;                                           // 0: no word yet
  const char *const end = line.data() + line.size(), *text = nullptr;  // where it begins
  bool value = false;                                                  // of the name before
  const auto end_text = [&](const char* to) {
    if (between != 0) take(between, std::string_view{text, static_cast<std::size_t>(to - text)});
    between = 0;
  };
  for (const char* at = line.data(); at != end;) {
    if (is(*at, ends_word)) {
      ++at;
      continue;
    }
    const char* const first = at;
    Hash word(seed);
    for (;;) {
      const char* const letter = at;
      at = find_letter(at, end, begins_number | ends_word | equal_sign);
      word.add(letter, at);
      if (at == end || !is(*at, begins_number)) break;
      at = past_number(at, end);
      word.add_number();
    }
    const bool equal = at != end && *at == '=', colon = !equal && at - first >= 2 && at[-1] == ':' && is_quote(at[-2]);
    if (equal || colon) {
      end_text(first);
      at += equal ? 1 : 0;
      take(word.end(), std::string_view{first, static_cast<std::size_t>(at - first)});
      if (equal) at = find_letter(at, end, ends_word);
    } else if (!value) {
      if (between == 0) text = first;
      between = ((between ^ word.end()) * 0x9E3779B97F4A7C15ULL) | 1U;
    }
    value = colon;
  }
  end_text(end);
}

/// \param settings values of NAME=VALUE count for nothing
std::uint64_t form_of(std::string_view line, std::uint64_t seed, bool settings) {
  Hash hash(seed);
  const unsigned stops = begins_number | blank | (settings ? unsigned{equal_sign} : 0U);
  const char* const end = line.data() + line.size();
  const char* from = line.data();
  for (const char* at = from; (at = find_letter(at, end, stops)) != end;) {
    if (*at == ' ') {
      ++at;
      if (end - at <= 4 || std::memcmp(at, "via ", 4) != 0) continue;
      break;  // numbers of devices count
    }
    hash.add(from, at);
    if (*at == '=') {
      at = std::find_if(at, end, [](char c) { return is(c, ends_word) && c != '\t'; });
      hash.add("=");
    } else {
      at = past_number(at, end);
      hash.add_number();
    }
    from = at;
  }
  hash.add(from, end);
  return hash.end();
}

/// "HOST:PID:TID [0] NCCL": the host; empty for anything else.
std::string_view host_of(std::string_view line) {
  const std::size_t colon = line.substr(0, 256).find(':');
  if (colon == std::string_view::npos || colon + 1 >= line.size() || !is_digit(line[colon + 1])) return {};
  return line.substr(0, line.find(' ') < colon ? 0 : colon);
}

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
  if (number != written_ + 1 || times > 1) text_ = fmt::format("{}{} {}\n", line_mark, number, times);
  text_ += line;
  text_ += '\n';
  written_ = number;
  write_(text_);
}

bool Condenser::keeps(const Slot& slot, std::string_view line, std::uint64_t host) {
  switch (slot.kind) {
    case Kind::repeated: return slot.kept < kept_of_form;
    case Kind::every: {
      if (slot.kept >= kept_of_every || whole_.size() >= max_whole) return false;
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
  if (has(line.substr(0, 16), "\x1B")) {
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
    const Slot* const slot = form_at(place, text);
    if (slot == nullptr) {
      room = false;
      return;
    }
    if (in_line_.empty()) __builtin_prefetch(&forms_[slot->form]);  // written at the end, if the line is left out
    wanted = keeps(*slot, said, host) || wanted;
    in_line_.push_back(place);
  };
  if (lists_settings(said))
    forms_of_settings(said, who, take);
  else
    take(form_of(said, who, false), said);
  if (!room || wanted) {
    for (const std::uint64_t place : in_line_)
      if (Slot& slot = slot_at(place); slot.kept < std::numeric_limits<std::uint16_t>::max()) ++slot.kept;
    put(line, number_, 1);
    return;
  }
  const Slot& slot = slot_at(in_line_.front());
  if (slot.kind == Kind::every) return;  // an equal line was kept
  Form& form = forms_[slot.form];
  ++form.dropped;
  form.number = number_;
  form.last.assign(line);
}

Condenser::Slot& Condenser::slot_at(std::uint64_t place) {
  const std::size_t last = slots_.size() - 1;
  std::size_t at = (place ^ place >> 32U) & last;
  while (slots_[at].form != Slot::no_form && slots_[at].place != place) at = (at + 1) & last;
  return slots_[at];
}

const Condenser::Slot* Condenser::form_at(std::uint64_t place, std::string_view text) {
  if (slots_.size() <= 2 * forms_.size()) {
    const std::vector<Slot> before = std::exchange(slots_, std::vector<Slot>(std::max<std::size_t>(1024, 2 * slots_.size())));
    for (const Slot& one : before)
      if (one.form != Slot::no_form) slot_at(one.place) = one;
  }
  Slot& slot = slot_at(place);
  if (slot.form != Slot::no_form) return &slot;
  if (forms_.size() >= max_forms) return nullptr;
  slot = {place, static_cast<std::uint32_t>(forms_.size()), 0, Kind::repeated};
  forms_.emplace_back();
  constexpr std::array<std::string_view, 18> counted{
      "per iteration (", "completed step: ", "\tData ", " data: ",        "data_time: ", "DataLoadin",
      "Init START",      "Init COMPLETE",    "SeqNum=", " last enqueued", "WORLD_SIZE",  "world_size",
      "world size",      " set by env",      "LnkCap",  "LnkSta",         "flight reco", " device "};
  if (has(text, " via NET/"))
    slot.kind = Kind::network;
  else if (text.empty() || text.front() == '#' || is_table_row(text) || (text.front() >= '0' && text.front() <= '9') ||
           std::any_of(counted.begin(), counted.end(), [&](std::string_view part) { return has(text, part); }))
    slot.kind = Kind::every;
  return &slot;
}

std::vector<const Condenser::Form*> Condenser::dropped() const {
  std::vector<const Form*> out;
  for (const Form& form : forms_)
    if (form.dropped > 0) out.push_back(&form);
  std::sort(out.begin(), out.end(), [](const Form* a, const Form* b) { return a->number < b->number; });
  return out;
}

void Condenser::finish() {
  for (const Form* form : dropped()) put(form->last, form->number, form->dropped);
  forms_.clear();
  slots_.clear();
}

std::string Condenser::kept_back() const {
  std::string out;
  for (const Form* form : dropped()) out += fmt::format("{}{} {}\n{}\n", line_mark, form->number, form->dropped, form->last);
  return out;
}

}  // namespace fabricost::observe::diagnosis
