/// Sections by indentation. The output of a tool begins with a line that no other has, and ends with the first line that is neither a
/// heading nor "key : value".

#include "readings/logs/tool_states.hpp"

#include "readings/logs/log_text.hpp"
#include "text/ascii.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace fabricost::observe {

namespace {

constexpr std::size_t longest_line = 200, most_gpus = 1024, deepest_heading = 12;
constexpr std::string_view blanks = " \t\r";

/// A tab goes to the next multiple of eight.
std::size_t indent_of(std::string_view line) {
  std::size_t out = 0;
  for (const char c : line) {
    if (c == ' ')
      ++out;
    else if (c == '\t')
      out = out / 8 * 8 + 8;
    else
      break;
  }
  return out;
}

/// "00000000:1B:00.0": a GPU of nvidia-smi -q, from which on people quote it.
bool is_address(std::string_view text) {
  return text.size() == 16 && text[8] == ':' && text[11] == ':' && text[14] == '.' &&
         text.find_first_not_of("0123456789ABCDEFabcdef:.") == std::string_view::npos;
}

constexpr std::string_view tool_names[]{"", "nvidia-smi -q", "nvidia-smi nvlink", "ibstat", "ibv_devinfo", "dcgmi nvlink"};

}  // namespace

void ToolStates::enter(Tool tool, std::string_view device) {
  tool_ = tool;
  device_ = std::string{device};
  headings_.clear();
  widest_.clear();
}

bool ToolStates::starts(std::string_view text) {
  if (text.find("NVSMI LOG") != std::string_view::npos) {
    enter(Tool::smi, "");
  } else if (text.starts_with("CA '") && text.size() > 5 && text.back() == '\'') {
    enter(Tool::ibstat, text.substr(4, text.size() - 5));
  } else if (text.starts_with("hca_id:")) {
    enter(Tool::devinfo, trimmed(text.substr(7), blanks));
  } else if (text.starts_with("GPU ") && text.find("(UUID: ") != std::string_view::npos) {
    enter(Tool::nvlink, text.substr(0, text.find(':')));
  } else if (text.starts_with("gpuId ") && text.back() == ':') {
    enter(Tool::dcgmi, text.substr(0, text.size() - 1));
  } else if (text.starts_with("GPU ") && ((tool_ == Tool::smi && text.size() > 4 && is_digit(text[4])) || is_address(text.substr(4)))) {
    enter(Tool::smi, text);
  } else {
    return false;
  }
  return true;
}

std::string ToolStates::written(std::string_view key, std::string value) {
  std::string out = fmt::format("{}: {}{}", tool_names[static_cast<std::size_t>(tool_)], device_, device_.empty() ? "" : ": ");
  for (const Heading& one : headings_) out += one.text + " > ";
  // a link that is narrower than it can be
  const bool width = !headings_.empty() && headings_.back().text == "Link Width";
  if (width && key == "Max") widest_ = value;
  if (width && key == "Current" && !widest_.empty() && widest_ != "N/A" && value != "N/A" && value != widest_)
    value += " below Max " + widest_;
  out += fmt::format("{} = {}", key, value);
  if (out.size() > longest_line) out.resize(longest_line);
  return out;
}

/// "Link 3: 26.562 GB/s", "Link 3: <inactive>".
std::string ToolStates::link(std::string_view text) {
  const auto colon = text.find(": ");
  if (!text.starts_with("Link ") || colon == std::string_view::npos) {
    tool_ = Tool::none;
    return {};
  }
  const std::string_view value = trimmed(text.substr(colon + 2), blanks);
  if (nvlinks_.size() < most_gpus || nvlinks_.contains(device_)) {
    NvlinkState& one = nvlinks_[device_];
    double rate = 0;
    (void)std::from_chars(value.data(), value.data() + value.size(), rate);
    constexpr double fastest = 1000;
    if (rate > 0 && rate < fastest) {
      one.slowest = ++one.active == 1 ? rate : std::min(one.slowest, rate);
      one.fastest = std::max(one.fastest, rate);
    } else if (value.find("inactive") != std::string_view::npos || value.find("Inactive") != std::string_view::npos) {
      ++one.inactive;
    }
  }
  return written(text.substr(0, colon), std::string{value});
}

std::string ToolStates::take(std::string_view line) {
  const std::string_view text = trimmed(line, blanks);
  if (text.empty() || text.size() > longest_line || starts(text) || tool_ == Tool::none) return {};
  if (tool_ == Tool::nvlink) return link(text);
  if (tool_ == Tool::dcgmi) {  // "D D U _": a letter for each link
    const bool letters = text.find_first_not_of("UDX_ ") == std::string_view::npos;
    const auto down = std::count(text.begin(), text.end(), 'D'), up = std::count(text.begin(), text.end(), 'U');
    std::string out = letters && down > 0 ? written("links", fmt::format("{} down of {}", down, down + up)) : std::string{};
    tool_ = Tool::none;
    return out;
  }
  const std::size_t indent = indent_of(line);
  const std::size_t colon = tool_ == Tool::smi ? text.find(" : ") : text.find(':');
  const bool heading = colon == std::string_view::npos || (tool_ != Tool::smi && colon + 1 == text.size());
  if (indent == 0 && heading) {
    tool_ = Tool::none;
    return {};
  }
  while (!headings_.empty() && headings_.back().indent >= indent) headings_.pop_back();
  if (heading) {
    if (headings_.size() < deepest_heading)
      headings_.push_back({indent, std::string{colon == std::string_view::npos ? text : text.substr(0, colon)}});
    return {};
  }
  const std::string_view key = trimmed(text.substr(0, colon), blanks),
                         value = trimmed(text.substr(colon + (tool_ == Tool::smi ? 3 : 1)), blanks);
  if (tool_ == Tool::devinfo && key == "port") {
    headings_.assign(1, {indent, fmt::format("port {}", value)});
    return {};
  }
  return written(key, std::string{value});
}

}  // namespace fabricost::observe
