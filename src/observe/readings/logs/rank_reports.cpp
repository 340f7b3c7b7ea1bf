/// Reads the ranks' reports, line by line, in memory that grows with the ranks and not with the lines.

#include "readings/logs/rank_reports.hpp"

#include "readings/logs/literals.hpp"
#include "readings/logs/log_text.hpp"
#include "text/line_reader.hpp"
#include "text/plain_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <unordered_set>

namespace fabricost::observe {

namespace {

constexpr std::size_t most_ranks = 65536, max_speakers = 65536, longest_quoted = 300;

/// The milestones of a rank's start, in their order.
constexpr std::array<std::pair<std::string_view, std::string_view>, 7> milestones{{{"Bootstrap : Using", "bootstrap interface"},
                                                                                   {"Using network ", "network chosen"},
                                                                                   {"- Init START", "communicator begun"},
                                                                                   {"Channel 00", "channels"},
                                                                                   {"Connected all rings", "rings connected"},
                                                                                   {"Connected all trees", "trees connected"},
                                                                                   {"Init COMPLETE", "communicator made"}}};

/// The whole number after the first of several marks.
std::optional<long long> after_any(std::string_view line, std::initializer_list<std::string_view> marks) {
  for (const std::string_view mark : marks) {
    const auto at = line.find(mark);
    if (at == std::string_view::npos) continue;
    std::string_view rest = line.substr(at + mark.size());
    while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
    long long value = 0;
    if (std::from_chars(rest.data(), rest.data() + rest.size(), value).ec == std::errc{}) return value;
  }
  return std::nullopt;
}

std::string word_after(std::string_view line, std::string_view mark) {
  const auto at = line.find(mark);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = line.substr(at + mark.size());
  return std::string{rest.substr(0, rest.find_first_of(" ,)\t"))};
}

class RankReportReader {
 public:
  explicit RankReportReader(const std::filesystem::path& file) : lines_(file) {}

  RankReports read() {
    for (std::string line; lines_.next(line);) {
      if (line.starts_with(file_mark)) {
        file_ = line.substr(file_mark.size());
        before_ = lines_.number();
        continue;
      }
      const int tag = unprefix(line);
      if (ras_.open() || RasReader::begins(line)) ras_.take(line, quote(line));
      if (line.empty() || line.front() == '#' || is_table_row(line)) continue;
      speaks(line, tag);
      static const LiteralFilter needed{"NCCL", "collective operation timeout", "last enqueued", "Root Cause", "WORLD_SIZE", "world_size", "world size",
                                       "Init "};
      if (!in_root_cause_ && !needed.may_hold(line)) continue;
      states(line, tag);
      waits(line, tag);
      progresses(line, tag);
      joins(line);
      reaches(line, tag);
      ends_first(line);
    }
    out_.ras = std::move(ras_.report);
    return std::move(out_);
  }

 private:
  [[nodiscard]] LogLine quote(std::string_view line) const {
    return {lines_.number() - before_, plain_text(std::string{line.substr(0, longest_quoted)}), file_};
  }

  static bool has(std::string_view line, std::string_view text) { return line.find(text) != std::string_view::npos; }

  void speaks(const std::string& line, int tag) {
    const std::string who = !file_.empty() || tag >= 0 ? who_says(line, tag) : std::string{};
    if (who.empty() || (out_.speakers.size() >= max_speakers && !out_.speakers.contains(who))) return;
    Speaker& one = out_.speakers[who];
    one.lines += lines_.times();
    one.last = lines_.number();
    for (const char* tool : {"flight recorder of PyTorch", "NCCL Inspector: ", "NVSMI LOG", "CA '", "hca_id:", "Communicators..."})
      if (one.lines <= 8 && line.find(tool) != std::string::npos) one.tool = true;
    for (const auto& [words, name] : milestones)
      if (has(line, words)) one.said.emplace(name);
  }

  /// "HOST:PID" of a line of NCCL, where neither a file nor a tag tells ranks apart.
  static std::string process_of(std::string_view line) {
    const auto first = line.find(':'), second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos || line.find(' ') < second) return {};
    return std::string{line.substr(0, second)};
  }

  [[nodiscard]] std::string who_says(std::string_view line, int tag) const {
    return !file_.empty() ? file_ : tag >= 0 ? fmt::format("rank {}", tag) : process_of(line);
  }

  /// The address in "10.77.0.4<20024>"; empty: none.
  static std::string address_in(std::string_view line) {
    const auto open = line.find('<');
    if (open == std::string_view::npos || open == 0) return {};
    std::size_t first = open;
    while (first > 0 && std::string_view{"0123456789abcdef.:%"}.find(line[first - 1]) != std::string_view::npos) --first;
    const std::string_view address = line.substr(first, open - first);
    if (const auto colon = address.rfind(':'); colon != std::string_view::npos && address.find('.') != std::string_view::npos)
      return std::string{address.substr(colon + 1)};  // "eth0:10.77.0.4"
    return address.find_first_of(".:") == std::string_view::npos ? std::string{} : std::string{address};
  }

  /// Whom a rank does not reach, and which address it has itself.
  void reaches(const std::string& line, int tag) {
    if (!has(line, "NCCL ")) return;
    const bool own = has(line, "Bootstrap : Using ");
    // a connection that is closed or reset by its peer tells of a process that gave up, often because of others
    const bool lost =
        !own && has(line, "NCCL WARN") &&
        (has(line, "imed out") || has(line, "No route") || has(line, "nreachable") || has(line, "refused") || has(line, "status=12"));
    if (!own && !lost) return;
    const std::string address = address_in(line), who = who_says(line, tag);
    auto& all = own ? out_.at_address : out_.unreached;
    if (address.empty() || who.empty() || (all.size() >= max_speakers && !all.contains(address))) return;
    all[address].insert(who);
    places(who, line);
    if (lost) out_.unreached_lines.try_emplace(address, quote(line));
  }

  /// A statement that all ranks should make alike: its kind, its name and its value; no value: no statement.
  struct Statement {
    Stated::Kind kind = Stated::Kind::variable;
    std::string what, value;
  };
  static Statement statement_of(std::string_view line) {
    using Kind = Stated::Kind;
    const auto after = [&](std::string_view mark) {
      const auto at = line.find(mark);
      return at == std::string_view::npos ? std::string{} : std::string{line.substr(at + mark.size())};
    };
    if (const auto set = line.find(" set by environment to "); set != std::string_view::npos && set > 0) {
      const std::size_t first = line.rfind(' ', set - 1) + 1;  // npos + 1 is 0
      return {Kind::variable, std::string{line.substr(first, set - first)}, after(" set by environment to ")};
    }
    if (has(line, "NCCL version ")) return {Kind::version, "NCCL version", word_after(line, "NCCL version ")};
    if (has(line, "cudaDriverVersion ")) return {Kind::version, "CUDA version of the driver", word_after(line, "cudaDriverVersion ")};
    if (has(line, "Initializing aws-ofi-nccl ")) return {Kind::version, "aws-ofi-nccl", word_after(line, "Initializing aws-ofi-nccl ")};
    if (std::string all = after("NET/IB : Using "); !all.empty()) return {Kind::adapters, "adapters", all.substr(0, all.find(';'))};
    if (has(line, "Using network ")) return {Kind::network, "network", after("Using network ")};
    if (has(line, "=== System : maxBw ")) {
      const std::string rates = after("=== System : ");
      return {Kind::topology, "rates of the node's links", rates.substr(0, rates.find(" ="))};
    }
    if (const auto end = line.find(" coll channels"); end != std::string_view::npos && end > 0) {
      const std::size_t first = line.rfind(' ', end - 1) + 1;
      return {Kind::topology, "channels", std::string{line.substr(first, line.find(" p2p", end) - first)}};
    }
    for (const char* const state : {"Enabled", "Disabled"})
      if (const std::string of = after(std::string{"NET/IB : GPU Direct RDMA "} + state + " for "); !of.empty())
        return {Kind::direct, "GPUDirect RDMA of " + of, state};
    if (has(line, "NVLS multicast support is "))
      return {Kind::multicast, "multicast of the NVLink switch", has(line, "is not available") ? "none" : "available"};
    return {};
  }

  void states(const std::string& line, int tag) {
    if (!has(line, "NCCL ")) return;
    Statement stated = statement_of(line);
    auto& [kind, what, value] = stated;
    while (!value.empty() && (value.back() == ' ' || value.back() == '.' || value.back() == ',')) value.pop_back();
    for (const char* own : {"RANK", "FILE", "HOSTID", "VISIBLE"})  // each rank has its own
      if (what.find(own) != std::string::npos) return;
    const std::string who = value.empty() ? std::string{} : who_says(line, tag);
    constexpr std::size_t max_stated = 128, most_values = 64, longest_value = 200;
    if (who.empty() || value.size() > longest_value || (out_.stated.size() >= max_stated && !out_.stated.contains(what))) return;
    if (stated_by_.size() >= max_stated * max_speakers || !stated_by_.insert(what + '\n' + who).second) return;
    Stated& one = out_.stated[what];
    one.kind = kind;
    if (one.who.size() >= most_values && !one.who.contains(value)) return;
    one.who[value].insert(who);
    one.lines.try_emplace(value, quote(line));
    places(who, line);
  }

  /// On which host it is.
  void places(const std::string& who, std::string_view line) {
    if (const std::string process = process_of(line); !process.empty()) out_.hosts.try_emplace(who, process.substr(0, process.find(':')));
  }

  void waits(const std::string& line, int tag) {
    if (!has(line, "collective operation timeout") && !(has(line, "WorkNCCL(") && has(line, "imed out"))) return;
    const auto rank = after_any(line, {"[Rank ", "Rank ", "rank ", "[rank"});
    Waited one;
    one.rank = rank ? static_cast<int>(std::clamp<long long>(*rank, -1, most_ranks)) : tag;
    one.sequence = after_any(line, {"SeqNum=", "SeqNum: ", "sequence number "}).value_or(-1);
    one.in = after_any(line, {"NumelIn="}).value_or(-1);
    one.out = after_any(line, {"NumelOut="}).value_or(-1);
    one.operation = word_after(line, "OpType=");
    if (const auto group = line.find("[PG "), end = line.find(" Rank", group); group != std::string::npos && end != std::string::npos)
      one.group = line.substr(group + 1, end - group - 1);
    one.seconds = static_cast<double>(after_any(line, {"ran for ", "Timeout(ms)="}).value_or(0)) / 1000;
    one.line = quote(line);
    const auto same = std::find_if(out_.waited.begin(), out_.waited.end(), [&](const Waited& w) { return w.rank == one.rank; });
    const bool known = same != out_.waited.end();
    if (known && one.group.empty() && same->group.empty() && one.sequence >= 0 && same->sequence >= 0 && one.sequence != same->sequence)
      out_.counts_several_groups = true;
    if (!known && out_.waited.size() < most_ranks) out_.waited.push_back(std::move(one));
  }

  void progresses(const std::string& line, int tag) {
    const auto enqueued = after_any(line, {"last enqueued NCCL work: ", "last enqueued work: "});
    const auto completed = after_any(line, {"last completed NCCL work: ", "last completed work: "});
    if (!enqueued || !completed) return;
    const auto said = after_any(line, {"[Rank ", "[rank", "Rank "});
    const int rank = said ? static_cast<int>(std::clamp<long long>(*said, -1, most_ranks)) : tag;
    if (rank >= 0 && out_.progress.size() < most_ranks) out_.progress.try_emplace(rank, Progress{*enqueued, *completed, quote(line)});
  }

  /// torchrun's summary of the processes that failed: of its last part the rank and the exit code.
  void ends_first(const std::string& line) {
    if (has(line, "Root Cause (first observed failure)")) in_root_cause_ = true;
    if (!in_root_cause_) return;
    RootCause found = out_.root_cause.value_or(RootCause{});
    if (const auto rank = after_any(line, {"rank      : "}))
      found.rank = static_cast<int>(std::clamp<long long>(*rank, -1, most_ranks)), found.line = quote(line);
    const auto code = after_any(line, {"exitcode  : "});
    if (code) {
      found.exit_code = static_cast<int>(std::clamp<long long>(*code, -255, 255));
      found.line = quote(line);
    }
    if (found.rank >= 0) out_.root_cause = found;
    if (code) in_root_cause_ = false;
  }

  void joins(const std::string& line) {
    if (const auto world = after_any(line, {"WORLD_SIZE=", "world_size=", "world size ", "world_size: "}); world && *world > 1)
      out_.world = std::max(out_.world, static_cast<int>(std::min<long long>(*world, most_ranks)));
    const bool began = has(line, "Init START"), ended = has(line, "Init COMPLETE");
    if (!began && !ended) return;
    const auto rank = after_any(line, {" rank "}), ranks = after_any(line, {" nranks ", " nRanks "});
    if (!rank || !ranks || *rank < 0 || *rank >= static_cast<long long>(most_ranks) || *ranks > static_cast<long long>(most_ranks)) return;
    const std::string id = word_after(line, "commId ");
    constexpr std::size_t max_communicators = 256;
    if (out_.communicators.size() >= max_communicators && !out_.communicators.contains(id)) return;
    Joined& one = out_.communicators[id];
    if (one.ranks == 0) one.first = quote(line);
    one.ranks = std::max(one.ranks, static_cast<int>(*ranks));
    (began ? one.began : one.ended).insert(static_cast<int>(*rank));
  }

  LineReader lines_;
  std::string file_;
  int before_ = 0;
  bool in_root_cause_ = false;
  RankReports out_;
  RasReader ras_;
  std::unordered_set<std::string> stated_by_;
};

}  // namespace

RankReports read_rank_reports(const std::filesystem::path& file) { return RankReportReader(file).read(); }

}  // namespace fabricost::observe
