/// Shapes, not words: a setting is a name with a value, an option begins with a dash and has its description behind two blanks, a
/// legend gives a short code its meaning, a progress bar ends with a rate.

#include "readings/logs/line_shape.hpp"

#include "text/ascii.hpp"

#include <algorithm>
#include <array>

namespace fabricost::observe {

namespace {

bool is_setting_name(char c) { return is_letter(c) || is_digit(c) || c == '_' || c == '.' || c == '-'; }

template <std::size_t N>
bool has_any(std::string_view text, const std::array<std::string_view, N>& parts) {
  return std::any_of(parts.begin(), parts.end(), [&](std::string_view part) { return has(text, part); });
}

/// A name whose value is a message rather than a setting.
bool names_message(std::string_view name) {
  constexpr std::array<std::string_view, 19> parts{"msg",  "message", "err",   "reason", "exception", "detail", "stdout", "output", "exit", "code",
                                                   "stat", "result",  "cause", "level",  "what",      "warn",   "fail",   "text",   "log"};
  return has_any(lowered(std::string{name}), parts);
}

/// A number with its unit, a switch, or nothing: what only a setting has.
bool is_plain(std::string_view value) {
  while (!value.empty() && (value.front() == '"' || value.front() == '\'' || value.front() == '-')) value.remove_prefix(1);
  while (!value.empty() && (value.back() == '"' || value.back() == '\'')) value.remove_suffix(1);
  constexpr std::array<std::string_view, 9> switches{"", "true", "false", "none", "null", "on", "off", "inf", "nan"};
  const std::string folded = lowered(std::string{value});
  return std::find(switches.begin(), switches.end(), folded) != switches.end() || (is_digit(value.front()) && value.find_first_of(" /:") == std::string_view::npos);
}

/// The end of a value that begins at `from`: of a quotation, of brackets, or of a word. No value is longer than so much: a line may open
/// brackets or quotations as often as it is long.
std::size_t value_end(std::string_view line, std::size_t from) {
  constexpr std::size_t longest_value = std::size_t{1} << 14U;
  if (from >= line.size()) return from;
  line = line.substr(0, from + longest_value);
  if (line[from] == '"' || line[from] == '\'') {
    const auto close = line.find(line[from], from + 1);
    return close == std::string_view::npos ? line.size() : close + 1;
  }
  int open = 0;
  for (std::size_t i = from; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '[' || c == '{' || c == '(') ++open;
    const bool closes = c == ']' || c == '}' || c == ')';
    if (closes && open-- == 0) return i;
    if (open == 0 && !closes && (c == ' ' || c == '\t' || c == ',' || c == ';')) return i;
  }
  return line.size();
}

/// Blanks the settings of a line: NAME=VALUE, 'name': value. \return how many there are
int blank_settings(std::string& line) {
  int count = 0;
  for (std::size_t at = line.find_first_of("=:"); at != std::string::npos; at = line.find_first_of("=:", at + 1)) {
    const bool colon = line[at] == ':';
    std::size_t end = at, from = at + 1;
    if (colon) {  // only behind a quoted name
      if (end < 2 || (line[end - 1] != '\'' && line[end - 1] != '"')) continue;
      --end;
    } else if (from < line.size() && (line[from] == '=' || line[from] == '>')) {
      ++at;
      continue;
    }
    std::size_t first = end;
    while (first > 0 && is_setting_name(line[first - 1])) --first;
    if (first == end || !(is_letter(line[first]) || line[first] == '_')) continue;
    if (colon && (first == 0 || line[first - 1] != line[end])) continue;
    while (colon && from < line.size() && line[from] == ' ') ++from;
    const bool opens = from < line.size() && (line[from] == '{' || line[from] == '[' || line[from] == '(');  // look inside
    const std::size_t stop = opens ? from : value_end(line, from);
    const std::string_view name = std::string_view{line}.substr(first, end - first), value = std::string_view{line}.substr(from, stop - from);
    if (names_message(name) && (opens || !is_plain(value))) continue;
    const auto begin = line.begin() + static_cast<std::ptrdiff_t>(first), end_of_value = line.begin() + static_cast<std::ptrdiff_t>(stop);
    count += std::max(1, static_cast<int>(std::count(begin, end_of_value, '=')));  // "args=Arguments(a=1, b=2)" is three
    std::fill(begin, end_of_value, ' ');
    at = std::max(at, stop == 0 ? at : stop - 1);
  }
  return count;
}

/// "distributed_timeout_minutes: 10", "  abort_on_error ........ False": all of the line is one setting.
bool is_setting(std::string_view line) {
  std::size_t end = 0;
  while (end < line.size() && is_setting_name(line[end])) ++end;
  std::string_view name = line.substr(0, end);
  while (name.ends_with('.')) name.remove_suffix(1);
  if (!has(name, "_") || names_message(name)) return false;
  std::string_view rest = line.substr(name.size());
  const auto value = rest.find_first_not_of(" .:");
  if (value == 0 || value == std::string_view::npos) return false;
  const std::string_view between = rest.substr(0, value);
  if (!has(between, ": ") && !has(between, "...")) return false;
  rest = trimmed(rest.substr(value));
  return is_plain(rest) || rest.front() == '\'' || rest.front() == '"' || !has(rest, " ");
}

/// "-x, --long NAME   what it does", "usage: PROGRAM [-h]". The lines of a command that goes on end with a backslash.
bool is_help(std::string_view line) {
  if (line.starts_with("usage:") || line.starts_with("Usage:")) return true;
  if (line.size() < 3 || line[0] != '-' || !(is_letter(line[1]) || (line[1] == '-' && is_letter(line[2])))) return false;
  return line.back() != '\\' && has(line, "  ");
}

/// "SYS  = Connection traversing PCIe", a code of a few capitals; "!V! - Version mismatch", one letter.
bool is_legend(std::string_view line) {
  if (const auto dash = line.find(" - "); dash != std::string_view::npos && dash > 0 && dash <= 3 &&
                                          std::count_if(line.begin(), line.begin() + static_cast<std::ptrdiff_t>(dash), is_letter) == 1)
    return true;
  constexpr std::size_t longest_code = 5;
  const auto equal = line.find(" = ");
  if (equal == std::string_view::npos || equal + 3 >= line.size()) return false;
  const std::string_view code = trimmed(line.substr(0, equal));
  return !code.empty() && code.size() <= longest_code && has(line.substr(equal + 3), " ") &&
         std::all_of(code.begin(), code.end(), [](char c) { return (c >= 'A' && c <= 'Z') || is_digit(c) || c == '#' || c == '*'; });
}

/// Behind the last rate of a progress bar; 0: there is none.
std::size_t progress_end(std::string_view line) {
  if (!has(line, "%") || !has(line, "|")) return 0;
  std::size_t end = 0;
  for (const std::string_view rate : {"it/s", "s/it", "B/s"})
    if (const auto at = line.rfind(rate); at != std::string_view::npos) end = std::max(end, at + rate.size());
  return end;
}

}  // namespace

std::string event_text(std::string_view line) {
  line = trimmed(line, " \t\r");
  if (is_help(line) || is_legend(line) || is_setting(line)) return {};
  const std::string_view text = line.substr(progress_end(line));
  constexpr int several = 4;  // fewer are values in a sentence, unless they are all there is
  std::string out{text};
  if (blank_settings(out) < several && std::any_of(out.begin(), out.end(), is_letter)) return std::string{text};
  return out;
}

bool HelpText::take(std::string_view line) {
  const std::size_t indent = line.find_first_not_of(" \t");
  if (indent == std::string_view::npos) return false;
  const std::string_view text = trimmed(line.substr(indent), " \t\r");
  const bool option = is_help(text) || (has(text, "(type: ") && has(text, "default: "));
  if (option)
    option_ = indent;
  else if (indent <= option_)  // npos is larger than any
    option_ = std::string_view::npos;
  return option || option_ != std::string_view::npos;
}

bool is_status(std::string_view line, bool stamped) {
  const std::string_view head = line.substr(0, 100);
  if (has(head, "NCCL ") || has(head, "kernel") || has(head, "NVRM")) return false;
  constexpr std::array<std::string_view, 7> levels{"INFO ", "INFO:", "[INFO]", "INFO]", "DEBUG ", "DEBUG:", "level=info"};
  if (!stamped && !has_any(head, levels)) return false;
  constexpr std::array<std::string_view, 54> trouble{
      "error",          "fail",          "fatal",           "abort",         "exception",     "traceback", "timeout",    "timed out",  "timing out",
      "cannot",         "could not",     "couldn't",        "can't",         "unable",        "denied",    "refused",    "unreach",    " lost",
      "not found",      "not available", "not support",     "not respond",   "not permitted", "not ready", "not joined", "no such",    "no available",
      "no device",      "no route",      "crash",           "killed",        "hang",          "stuck",     "waiting",    "invalid",    "missing",
      "mismatch",       "exceed",        "corrupt",         "unsupported",   "warn",          "panic",     "dead",       "died",       "disabl",
      "degrad",         "fallback",      "falling back",    "slow",          "unexpected",    "illegal",   "retry",      "terminat",   "straggler"};
  return !has_any(lowered(std::string{line}), trouble);
}

}  // namespace fabricost::observe
