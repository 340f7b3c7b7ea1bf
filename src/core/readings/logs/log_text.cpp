/// Cleans and splits lines of logs.

#include "readings/logs/log_text.hpp"

#include <algorithm>

namespace fabricost::core {

void undecorate(std::string& line) {
  for (std::size_t at = line.find('\x1B'); at != std::string::npos; at = line.find('\x1B', at)) {
    std::size_t end = at + 1;
    if (end < line.size() && line[end] == '[') ++end;
    while (end < line.size() && (is_digit(line[end]) || line[end] == ';')) ++end;
    line.erase(at + 1, std::min(end + 1, line.size()) - at - 1);
    line[at] = ' ';
  }
  for (std::size_t at = line.find("]<std"); at != std::string::npos; at = line.find("]<std", at)) {
    const std::size_t open = line.rfind('[', at);
    std::size_t end = line.find('>', at);
    if (open == std::string::npos || end == std::string::npos || end - open > 120) {
      ++at;
      continue;
    }
    if (end + 1 < line.size() && line[end + 1] == ':') ++end;
    line.erase(open + 1, end - open);
    line[open] = ' ';
    at = open;
  }
}

namespace {

/// The end of "2024-05-01T12:00:00.123Z ", "2024-05-01 12:00:00,123 " or of either in brackets; 0: no timestamp.
std::size_t timestamp_end(std::string_view line) {
  const std::size_t open = line.starts_with('[') ? 1 : 0;
  constexpr std::string_view form = "dddd-dd-ddTdd:dd:dd";
  if (line.size() < open + form.size()) return 0;
  for (std::size_t i = 0; i < form.size(); ++i) {
    const char c = line[open + i];
    const bool fits = form[i] == 'd'   ? is_digit(c)
                      : form[i] == 'T' ? (c == 'T' || c == ' ')
                      : form[i] == '-' ? (c == '-' || c == '/')
                                       : c == ':';
    if (!fits) return 0;
  }
  std::size_t end = open + form.size();
  while (end < line.size() && (is_digit(line[end]) || std::string_view{".,:+-Z"}.find(line[end]) != std::string_view::npos)) ++end;
  if (open == 1) {
    if (end >= line.size() || line[end] != ']') return 0;
    ++end;
  }
  return end;
}

/// Removes one tag at the start; false: there is none.
bool untagged(std::string_view& line, int& rank) {
  while (!line.empty() && (line.front() == ' ' || line.front() == '\t')) line.remove_prefix(1);
  const auto drop = [&](std::size_t count) {
    line.remove_prefix(std::min(count, line.size()));
    return true;
  };
  if (line.empty()) return false;
  if (is_digit(line.front())) {
    if (const std::size_t end = timestamp_end(line); end > 0) return drop(end);
    std::size_t end = 0;
    while (end < line.size() && is_digit(line[end])) ++end;
    if (end > 6 || !line.substr(end).starts_with(": ")) return false;
    if (const auto number = whole_number(line.substr(0, end)); number && rank < 0) rank = *number;
    return drop(end + 2);
  }
  if (line.front() == '[') {
    if (const std::size_t end = timestamp_end(line); end > 0) return drop(end);
    const std::size_t close = line.find(']');
    if (close > 200) return false;
    std::string_view inside = line.substr(1, close - 1), rest = line.substr(close + 1);
    if (inside.starts_with("pod/") && rest.starts_with(' ')) return drop(close + 2);
    if (rest.starts_with("<std")) {  // [job,rank]<stdout>:
      const std::size_t end = rest.find('>');
      const auto comma = inside.rfind(',');
      if (end == std::string_view::npos) return false;
      if (comma != std::string_view::npos)
        if (const auto number = whole_number(inside.substr(comma + 1)); number && rank < 0) rank = *number;
      return drop(close + 1 + end + 1 + (rest.substr(end + 1).starts_with(':') ? 1 : 0));
    }
    for (const std::string_view word : {"rank", "default"})
      if (inside.starts_with(word) && rest.starts_with(':'))
        if (const auto number = whole_number(inside.substr(word.size()))) {
          if (word == "rank") rank = *number;
          return drop(close + 2);
        }
    return false;
  }
  if (line.front() == '(') {  // Ray: (Worker pid=4009, ip=10.0.0.3)
    const std::size_t close = line.find(')');
    if (close > 120 || line.substr(0, close).find(" pid=") == std::string_view::npos) return false;
    return drop(close + 1);
  }
  // docker compose: one word, blanks, bar
  if (const std::size_t bar = line.substr(0, 80).find(" | "); bar != std::string_view::npos && bar > 0) {
    const std::string_view name = line.substr(0, bar);
    const std::size_t blank = name.find(' ');
    const std::string_view word = name.substr(0, blank);
    const bool padded = blank == std::string_view::npos || name.find_first_not_of(' ', blank) == std::string_view::npos;
    if (padded && word.find('-') != std::string_view::npos && is_digit(word.back())) return drop(bar + 3);
  }
  return false;
}

}  // namespace

int unprefix(std::string_view& line) {
  int rank = -1;
  for (std::string_view rest = line; untagged(rest, rank);) line = rest;
  return rank;
}

int unprefix(std::string& line) {
  if (line.find('\x1B') != std::string::npos) {
    for (std::size_t at = line.find('\x1B'); at != std::string::npos; at = line.find('\x1B', at)) {
      std::size_t end = at + 1;
      if (end < line.size() && line[end] == '[') ++end;
      while (end < line.size() && (is_digit(line[end]) || line[end] == ';')) ++end;
      line.erase(at, std::min(end + 1, line.size()) - at);
    }
  }
  std::string_view rest = line;
  const int rank = unprefix(rest);
  line.erase(0, line.size() - rest.size());
  return rank;
}

std::string_view setting_value(std::string_view text) {
  text = text.substr(0, text.find_first_of(" \t;"));
  for (std::size_t comma = text.find(','); comma != std::string_view::npos; comma = text.find(',', comma + 1)) {
    std::size_t end = comma + 1;
    while (end < text.size() && ((text[end] >= 'A' && text[end] <= 'Z') || text[end] == '_' || is_digit(text[end]))) ++end;
    if (end > comma + 1 && end < text.size() && text[end] == '=') return text.substr(0, comma);
  }
  return text;
}

bool is_table_row(std::string_view line) {
  std::size_t at = 0;
  for (int column = 0; column < 2; ++column) {
    const std::size_t from = at;
    while (at < line.size() && is_digit(line[at])) ++at;
    if (at == from || at == line.size() || (line[at] != ' ' && line[at] != '\t')) return false;
    while (at < line.size() && (line[at] == ' ' || line[at] == '\t')) ++at;
  }
  return line.find_first_of("N#=:") == std::string_view::npos;
}

void squeeze(std::string& line) {
  std::size_t to = 0;
  bool blank = false;
  for (const char c : line) {
    const bool now = c == ' ' || c == '\t';
    if (!now || !blank) line[to++] = now ? ' ' : c;
    blank = now;
  }
  line.resize(to);
}

void split(std::string_view line, Tokens& tokens) {
  tokens.clear();
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  const char* at = line.data();
  const char* const end = at + line.size();
  while (at != end) {
    while (at != end && blank(*at)) ++at;
    const char* const from = at;
    while (at != end && !blank(*at)) ++at;
    if (at != from) tokens.emplace_back(from, static_cast<std::size_t>(at - from));
  }
}

Tokens words(std::string_view line) {
  Tokens out;
  split(line, out);
  return out;
}

std::string lower(std::string_view text) { return lowered(std::string{text}); }

std::optional<int> whole_number(std::string_view text, std::size_t digits) {
  if (!all_digits(text) || text.size() > digits) return std::nullopt;
  int value = 0;
  for (const char c : text) value = 10 * value + (c - '0');
  return value;
}

bool is_absent(std::string_view cell) {
  if (cell.empty()) return true;
  std::string_view rest = cell;
  while (!rest.empty()) {  // dashes: -, en and em in UTF-8
    if (rest.front() == '-')
      rest.remove_prefix(1);
    else if (rest.starts_with("\xE2\x80\x93") || rest.starts_with("\xE2\x80\x94"))
      rest.remove_prefix(3);
    else
      break;
  }
  if (rest.empty()) return true;
  const auto is = [&](std::string_view word) {
    return std::equal(rest.begin(), rest.end(), word.begin(), word.end(), [](char a, char b) { return lower(a) == b; });
  };
  return is("n/a") || is("na") || is("nan") || is("inf");
}

}  // namespace fabricost::core
