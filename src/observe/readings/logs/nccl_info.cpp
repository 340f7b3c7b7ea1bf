/// Reads a log in one pass. Messages that only have to be recognised are signs given by the caller
/// (nccl_signs.cpp); each message with values has its own function.

#include "readings/logs/nccl_info.hpp"

#include "readings/logs/line_fields.hpp"
#include "readings/logs/line_shape.hpp"
#include "readings/logs/log_text.hpp"
#include "readings/logs/matrix_words.hpp"
#include "text/ascii.hpp"
#include "text/csv.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace fabricost::observe {

namespace {

constexpr std::size_t longest_quote = 200;
constexpr std::size_t max_kept = 512;  // entries per list, since long logs repeat themselves

bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// Host of "HOST:PID:TID [0] NCCL INFO ...", after any tag of a launcher.
std::string host_of(std::string_view line) {
  const auto mark = line.find(" NCCL ");
  if (mark == std::string_view::npos) return {};
  std::string_view head = line.substr(0, mark);
  if (const auto tag = head.rfind(">:"); tag != std::string_view::npos) head.remove_prefix(tag + 2);
  while (!head.empty() && (head.front() == ' ' || head.front() == '#')) head.remove_prefix(1);
  return std::string{head.substr(0, head.find(':'))};
}

template <class T>
void keep(std::vector<T>& list, T one) {
  if (list.size() < max_kept) list.push_back(std::move(one));
}

class NcclInfoReader {
 public:
  NcclInfoReader(const std::filesystem::path& file, std::span<const Sign> wanted) : lines_(file), wanted_(wanted) {}

  NcclInfo read() {
    for (std::string line; lines_.next(line);) {
      if (line.starts_with(file_mark)) {
        file_ = line.substr(file_mark.size());
        before_ = lines_.number();
        states_.leave();
        continue;
      }
      stamped_ = std::string_view{line}.substr(0, 40).find("[20") != std::string_view::npos;
      described_ = help_.take(line);
      unprefix(line);
      take(line);
      if (const std::string state = states_.take(line); !state.empty()) {  // with its headings it may be another sign
        info_.says_words = true;
        signs(state);
      }
    }
    info_.nvlinks = states_.nvlinks();
    return std::move(info_);
  }

 private:
  [[nodiscard]] LogLine quote(std::string_view line, std::size_t shown = 0) const {
    const auto first = line.find_first_not_of(" \t");
    const int number = lines_.number() - before_;
    if (first == std::string_view::npos) return {number, "", file_};
    line = line.substr(first, line.find_last_not_of(" \t\r") - first + 1);
    const std::size_t at = shown > first ? shown - first : 0;
    const bool whole = line.size() <= longest_quote || at < longest_quote / 2;
    std::size_t begin = whole ? 0 : std::min(at - longest_quote / 3, line.size() - longest_quote);
    while (begin < line.size() && (static_cast<unsigned char>(line[begin]) & 0xC0U) == 0x80U) ++begin;  // not inside a letter
    std::string text = (begin > 0 ? "..." : "") + std::string{line.substr(begin, longest_quote)};
    if (begin + longest_quote < line.size()) text += "...";
    return {number, plain_text(std::move(text)), file_};
  }

  void take(const std::string& line) {
    const auto first = line.find_first_not_of(" \t");
    if (first == std::string::npos || line.starts_with("#source")) return;  // a log's source URL is not part of it
    if (is_digit(line[first]) && is_table_row(std::string_view{line}.substr(first))) return;
    // lines that start with '#' may quote expected messages
    const bool message = line[first] != '#' && (has(line, "NCCL INFO") || has(line, "NCCL WARN"));
    if (message) {
      info_.messages += lines_.times();
      info_.says_anything = true;
    }
    if (message && !has(line, " WARN ") && (has(line, "Channel ") || has(line, "Trees ["))) {
      path(line);  // nine of ten lines of a large log
      return;
    }
    signs(line);
    static const LiteralFilter values{"NCCL",     "RCCL_",    "UCX_",    "CUDA_LAUNCH_BLOCKING", " via ", "NET/", "Rank ",  "=== System", "] - ",
                                      "mpirun",   "mpiexec",  "_perf",   "Rate:",                "rate:", "PCIe", "LnkCap", "LnkSta",     " speed=",
                                      "Avg bus "};
    const bool matrix_row = is_gpu(word(std::string_view{line}.substr(first)));
    if (!matrix_row && !has(line, "FI_") && !values.may_hold(line)) return;
    settings(line);
    if (message) {
      path(line);
      adapters(line);
      communicator(line);
      topology(line);
      adapter_paths(line);
      tuned(line);
      direct(line);
    } else {
      if (has(line, " via ")) path(line);
      if (line[first] != '#' && has(line, "NET/")) adapters(line);
      matrix(line);
      rank(line);
      topology(line);
    }
    launcher(line);
    version(line);
    ports(line);
    pcie(line);
    if (const auto rest = after(line, "Avg bus bandwidth"); !rest.empty()) {
      if (const double value = real_at(after(rest, ":")); value > 0) keep(info_.averages, {value, quote(line)});
      info_.says_anything = true;
    }
  }

  void see(const std::string& sign, const std::string& line, std::size_t shown = 0, bool event = true) {
    Seen& seen = info_.signs[sign];
    if (seen.times == 0 || (event && seen.events == 0)) seen.first = quote(line, shown);
    seen.times += lines_.times();
    seen.last = std::max(seen.last, lines_.number());
    if (event) {
      seen.events += lines_.times();
      seen.last_event = seen.last;
    }
    info_.says_words = true;
  }

  void signs(const std::string& line) {
    std::set<std::string> carried;
    const bool warns = line.front() != '#' && has(line, "NCCL WARN");
    EventLine event_line(line, stamped_);
    bool no_event = described_;
    of_line_.clear();
    wanted_.match(line, [&](const Sign& sign) {
      of_line_.push_back(&sign);
      no_event = no_event || sign.name == "no_event";
    });
    for (const Sign* sign : of_line_) {
      const bool event = sign->fact || (!no_event && event_line.told_by(*sign));
      const Seen& seen = info_.signs[sign->name];
      const bool quoted_in_part = line.size() > longest_quote && (seen.times == 0 || (event && seen.events == 0));
      see(sign->name, line, quoted_in_part ? place_in_line(*sign, line) : 0, event);
      if (warns) carried.insert(sign->name);
    }
    if (warns) info_.warn(line, lines_.times(), std::move(carried), [&] { return quote(line); });
  }

  /// "NCCL_X set by environment to V", "NCCL_X set to V", "NCCL_X=V".
  void settings(const std::string& line) {
    if (described_ || has(line, "consider passing ")) return;  // a program's help; PyTorch's advice with every CUDA error
    for (const std::string_view prefix : {"NCCL_", "CUDA_LAUNCH_BLOCKING", "RCCL_", "FI_", "UCX_"}) {
      for (std::size_t at = line.find(prefix); at != std::string::npos; at = line.find(prefix, at + 1)) {
        if (at > 0 && is_name(line[at - 1])) continue;
        std::size_t end = at;
        while (end < line.size() && is_name(line[end])) ++end;
        const std::string_view rest = std::string_view{line}.substr(end);
        std::string_view value;
        for (const std::string_view says : {" set by environment to ", " set to ", "="})
          if (value.empty() && rest.starts_with(says)) value = setting_value(rest.substr(says.size()));
        if (value.empty() || (rest.starts_with('=') && has(line, "NCCL WARN"))) continue;  // a warning advises to set it
        Setting found{line.substr(at, end - at), std::string{value}, !rest.starts_with('='), quote(line)};
        while (!found.value.empty() && std::string_view{".,:)\"'"}.find(found.value.back()) != std::string_view::npos)
          found.value.pop_back();
        (found.by_nccl ? info_.says_anything : info_.says_words) = true;
        const bool known = std::any_of(info_.settings.begin(), info_.settings.end(),
                                       [&](const Setting& s) { return s.name == found.name && s.value == found.value; });
        if (!known) keep(info_.settings, std::move(found));
      }
    }
  }

  /// Channels of the first communicator.
  void channels(int count, const std::string& line) {
    if (count <= 0 || info_.channels > 0) return;
    info_.channels = count;
    info_.channels_line = quote(line);
  }

  void path(const std::string& line) {
    const auto via = after(line, " via ");
    if (via.empty()) {  // "Channel 00/08 :    0   1   2 ..."
      const auto channel = after(line, "Channel ");
      const auto slash = channel.find('/');
      if (slash == std::string_view::npos || !has(channel, " :")) return;
      info_.ranks = std::max(info_.ranks, static_cast<int>(words(after(channel, " :")).size()));  // a ring lists every rank
      return channels(number_at(channel.substr(slash + 1)), line);
    }
    if (via.starts_with("P2P")) {
      if (info_.peer == 0) info_.peer_line = quote(line);
      info_.peer += lines_.times();
    } else if (via.starts_with("SHM")) {
      if (info_.shared_memory == 0) info_.shared_memory_line = quote(line);
      info_.shared_memory += lines_.times();
    } else if (via.starts_with("NET/")) {
      const std::string_view rest = via.substr(4);
      const auto slash = rest.find('/');
      if (slash == std::string_view::npos) return;
      NetUse& use = info_.net[std::string{rest.substr(0, slash)}];
      if (use.times == 0) use.first = quote(line);
      use.times += lines_.times();
      // "via NET/IB/2(4)/GDRDMA": the adapter of the rank in brackets (PXN), else of this rank
      const int device = number_at(rest.substr(slash + 1));
      if (has(rest, "GDRDMA"))
        use.direct += lines_.times();
      else if (use.first_indirect.number == 0)
        use.first_indirect = quote(line);
      if (device >= 0) {
        use.devices.insert(device);
        use.add(host_of(line), line, device, lines_.times(), [&] { return quote(line); });
        if (use.by_host.size() < max_kept) use.by_host[host_of(line)].insert(device);
      }
      local_pair(line);
      auto channel = after(line, "Channel ");
      if (channel.empty()) channel = after(line, "Ring ");
      if (const int number = number_at(channel); number >= 0) use.channels.insert(number);
    }
  }

  /// Hosts of both ends of a connection, [send] and [receive]: ranks of one host should not use the network.
  void local_pair(const std::string& line) {
    const auto arrow = line.find(" -> ");
    const bool sends = has(line, "[send]"), receives = has(line, "[receive]");
    if (arrow == std::string::npos || (!sends && !receives) || host_of_.size() > 65536) return;
    std::size_t first = line.rfind(' ', arrow - 1);
    first = first == std::string::npos ? 0 : first + 1;
    const int from = number_at(std::string_view{line}.substr(first)), to = number_at(std::string_view{line}.substr(arrow + 4));
    const std::string host = host_of(line);
    if (from < 0 || to < 0 || from == to || host.empty()) return;
    host_of_[sends ? from : to] = host;
    const auto other = host_of_.find(sends ? to : from);
    if (info_.local_net.number == 0 && other != host_of_.end() && other->second == host) info_.local_net = quote(line);
  }

  /// "mpirun -np 16 -H a:8,b:8 ...": ranks and hosts.
  void launcher(const std::string& line) {
    if (!has(line, "mpirun") && !has(line, "mpiexec") && !has(line, "_perf")) return;
    for (const std::string_view mark : {" -np ", " -n "})
      if (const int n = number_at(after(line, mark)); n > 0 && n < 1 << 20) info_.ranks = std::max(info_.ranks, n);
    for (const std::string_view mark : {" -H ", " --host "})
      if (const auto rest = after(line, mark); !rest.empty()) {
        const std::string_view list = rest.substr(0, rest.find(' '));
        info_.nodes = std::max(info_.nodes, 1 + static_cast<int>(std::count(list.begin(), list.end(), ',')));
      }
  }

  /// "speed=200000" (Mbit/s) of NET/IB, "Rate: 200" of ibstat, "rate: 200 Gb/sec (4X HDR)".
  void ports(const std::string& line) {
    double rate = 0;
    if (const auto speed = after(line, " speed="); !speed.empty() && has(line, "NET/IB"))
      rate = real_at(speed) / 1000;
    else if (has(line, "Rate:"))
      rate = real_at(after(line, "Rate:"));
    else if (has(line, "rate:") && has(line, "Gb/sec"))
      rate = real_at(after(line, "rate:"));
    if (!(rate >= 1 && rate <= 3200)) return;
    info_.says_words = true;
    constexpr std::size_t max_ports = 256;
    const auto name = word(after(after(line, "NET/IB"), "] "));
    if (has(line, " speed=") && !name.empty() && info_.port_rates.size() < max_ports)
      info_.port_rates[std::string{name.substr(0, name.find(':'))}] = rate;
    info_.fastest_port = std::max(info_.fastest_port, rate);
    if (info_.slowest_port == 0 || rate < info_.slowest_port) {
      info_.slowest_port = rate;
      info_.slowest_port_line = quote(line);
    }
  }

  /// LnkSta relative to the LnkCap before it, for versions of lspci that do not mark a downgrade themselves.
  void pcie(const std::string& line) {
    // nvidia-smi: "PCIe Generation Max 4 Current 1"
    if (has(line, "PCIe") && has(line, "Current")) {
      const double max = real_at(after(line, "Max ")), now = real_at(after(line, "Current "));
      if (max > 0 && now > 0 && now < max) see("link_downgraded", line);
    }
    const bool capability = has(line, "LnkCap:"), state = has(line, "LnkSta:");
    if (!capability && !state) return;
    const double speed = real_at(after(line, "Speed ")), width = real_at(after(line, "Width x"));
    info_.says_words = true;
    if (capability) {
      capable_ = {speed, width};
    } else if (!has(line, "downgraded") && capable_[0] > 0 && ((speed > 0 && speed < capable_[0]) || (width > 0 && width < capable_[1]))) {
      see("link_downgraded", line);
    }
    if (state) capable_ = {};
  }

  /// Parses "[0]mlx5_0:1/IB [1]mlx5_1:1/RoCE [RO]; OOB ib0:..." after its mark.
  static std::vector<std::string> listed(std::string_view rest) {
    std::vector<std::string> out;
    for (const std::string_view one : words(rest.substr(0, rest.find(';')))) {
      const auto close = one.find(']');
      if (one.front() != '[' || close == std::string_view::npos || close + 1 >= one.size() || !is_digit(one[1])) continue;
      out.emplace_back(one.substr(close + 1));
    }
    return out;
  }

  void adapters(const std::string& line) {
    const auto once = [&](std::string_view mark, std::vector<std::string>& names, LogLine& where) {
      const auto rest = after(line, mark);
      if (!rest.empty() && names.empty()) {
        names = listed(rest);
        where = quote(line);
      }
    };
    once("NET/IB : Using ", info_.adapters, info_.adapters_line);
    once("NET/Socket : Using ", info_.interfaces, info_.interfaces_line);
    for (const std::string_view mark : {"Using network ", "Using internal Network "})
      if (const auto rest = after(line, mark); !rest.empty() && info_.network.empty()) {
        info_.network = std::string{rest};
        while (!info_.network.empty() && info_.network.back() == ' ') info_.network.pop_back();
        info_.network_line = quote(line);
      }
  }

  void communicator(const std::string& line) {
    const auto value = [&](std::string_view mark) { return number_at(after(line, mark)); };
    info_.ranks = std::max({info_.ranks, value(" nranks "), value(" nRanks ")});
    info_.nodes = std::max(info_.nodes, value(" nNodes "));
    info_.local_ranks = std::max(info_.local_ranks, value(" localRanks "));
    if (const std::string_view bus = word(after(line, " busId ")); !bus.empty() && info_.joined.size() < max_kept)
      if (auto& there = info_.joined[host_of(line)]; there.size() < max_kept) there.emplace(bus);
    channels(number_at(number_before(line, " coll channels")), line);
    const int in_switch = number_at(number_before(line, " nvls channels"));
    if (in_switch > info_.nvls_channels) {
      info_.nvls_channels = in_switch;
      info_.nvls_channels_line = quote(line);
    }
    const auto widest = has(line, "Pattern") ? after(word(after(line, ", type ")), "/") : std::string_view{};
    if (!widest.empty() && info_.widest_path.empty()) {
      info_.widest_path = std::string{widest};
      info_.widest_path_line = quote(line);
    }
  }

  void topology(const std::string& line) {
    if (const auto rest = after(line, "=== System : maxBw "); !rest.empty()) {
      info_.system_max = std::max(info_.system_max, real_at(rest));
      info_.system_total = std::max(info_.system_total, real_at(after(rest, "totalBw ")));
      info_.says_anything = true;
      return;
    }
    const auto plus = line.find("+ ");
    if (plus == std::string::npos) return;
    const std::string_view rest = std::string_view{line}.substr(plus + 2);
    const auto open = rest.find('['), close = rest.find("] - ");
    if (open == std::string_view::npos || close == std::string_view::npos || open > 5 || close < open) return;
    const double rate = real_at(rest.substr(open + 1));
    keep(info_.topology, TopologyLink{std::string{rest.substr(0, open)}, std::string{word(rest.substr(close + 4))}, rate, quote(line)});
    info_.says_anything = true;
  }

  /// Of the ways to adapters that the row of a GPU lists, the fastest, and of those the one with the fewest hops.
  void adapter_paths(const std::string& line) {
    const auto at = line.find("GPU/"), colon = line.find(" :", at == std::string::npos ? 0 : at);
    if (at == std::string::npos || colon == std::string::npos || line.find(' ', at) != colon) return;
    AdapterPath best;
    int fewest = 0;
    for (std::size_t net = line.find(" NET/", colon); net != std::string::npos; net = line.find(" NET/", net + 1)) {
      const std::string_view way = after(std::string_view{line}.substr(net), " (");
      const auto first = way.find('/'), second = way.find('/', first + 1), end = way.find(')');
      if (second == std::string_view::npos || end == std::string_view::npos || end < second) continue;
      const int hops = number_at(way);
      const double rate = real_at(way.substr(first + 1));
      if (!best.path.empty() && (rate < best.rate || (rate == best.rate && hops >= fewest))) continue;
      best.path = std::string{way.substr(second + 1, end - second - 1)};
      best.rate = rate;
      fewest = hops;
    }
    if (best.path.empty()) return;
    best.gpu = line.substr(at, colon - at);
    best.line = quote(line);
    keep(info_.adapter_paths, std::move(best));
  }

  void tuned(const std::string& line) {
    const std::string_view bytes = number_before(line, " Bytes -> Algo "), rest = after(bytes, " Bytes -> Algo ");
    if (rest.empty()) return;
    keep(info_.tuned, {real_at(bytes), std::string{word(rest)}, std::string{word(after(rest, "proto "))}, quote(line)});
  }

  /// "GPU Direct RDMA Disabled for GPU 81000 / HCA 0 (distance 6 > 4)".
  void direct(const std::string& line) {
    if (!has(line, "GPU Direct RDMA")) return;
    const auto rest = after(line, "(distance ");
    if (rest.empty()) return;
    DirectPair pair{has(line, "Enabled for GPU"), number_at(rest), 0, quote(line)};
    if (const auto sign = rest.find_first_of("<>"); sign != std::string_view::npos)
      pair.limit = number_at(rest.substr(std::min(rest.find_first_of("0123456789", sign), rest.size())));
    keep(info_.direct_pairs, std::move(pair));
  }

  void matrix(const std::string& line) {
    auto cells = words(line);
    if (cells.size() < 3) return;
    if (!is_gpu(cells.front())) return;
    const auto is_cell = [](std::string_view word) {
      const auto cell = cell_of(word);
      return (cell && !cell->unknown()) || word == "XGMI" || word == "PCIE";
    };
    MatrixRow row{std::string{cells.front()}, {}, quote(line)};
    for (std::size_t i = 1; i < cells.size() && is_cell(cells[i]); ++i) row.cells.emplace_back(cells[i]);
    if (row.cells.size() < 2) return;
    info_.says_anything = true;
    keep(info_.matrix, std::move(row));
  }

  void rank(const std::string& line) {
    const auto rest = after(line, "Rank ");
    if (rest.empty()) return;
    const int number = number_at(rest);
    const auto on = after(rest, " on "), device = after(rest, " device ");
    if (number < 0 || on.empty() || device.empty()) return;
    info_.says_anything = true;
    if (info_.rank_lines.size() < 65536)
      info_.rank_lines.push_back({number, std::string{word(on)}, std::string{after(device, "]")}, quote(line)});
  }

  void version(const std::string& line) {
    for (const std::string_view mark : {"NCCL version ", "RCCL version : ", "RCCL version "})
      if (const auto rest = after(line, mark); !rest.empty() && is_digit(rest.front())) {
        const std::string text{word(rest)};
        info_.says_anything = true;
        if (std::none_of(info_.versions.begin(), info_.versions.end(), [&](const auto& v) { return v.first == text; }))
          keep(info_.versions, {text, quote(line)});
      }
  }

  LineReader lines_;
  std::string file_;  ///< of several read as one
  int before_ = 0;    ///< lines before it
  bool stamped_ = false;  ///< a time in brackets stood before the line
  HelpText help_;
  bool described_ = false;  ///< the line belongs to a help text
  std::vector<const Sign*> of_line_;
  SignMatcher wanted_;
  ToolStates states_;
  NcclInfo info_;
  std::map<int, std::string> host_of_;  ///< of ranks with network connections
  std::array<double, 2> capable_{};     ///< GT/s and lanes of the last LnkCap
};

}  // namespace

NcclInfo read_nccl_info(const std::filesystem::path& file, std::span<const Sign> signs) { return NcclInfoReader(file, signs).read(); }

}  // namespace fabricost::observe
