/// \file log_text.cpp
/// Cleans and splits lines of logs.

#include "readings/logs/log_text.hpp"

#include <algorithm>

namespace fabricost::io {

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

}  // namespace fabricost::io
