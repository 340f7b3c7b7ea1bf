/// Reads the details of RAS, and writes those of its JSON as text.

#include "readings/dumps/ras.hpp"

#include "readings/logs/log_text.hpp"
#include "text/plain_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <string>

namespace fabricost::observe {

namespace {

using Id = PlainTree::Id;
constexpr std::size_t max_ras_groups = 4096, most_named = 65536;

std::int64_t count_at(std::string_view text, std::int64_t otherwise = -1) {
  std::int64_t value = otherwise;
  return std::from_chars(text.data(), text.data() + text.size(), value).ec == std::errc{} ? value : otherwise;
}

std::string_view between(std::string_view line, std::string_view mark, std::string_view end) {
  const auto at = line.find(mark);
  if (at == std::string_view::npos) return {};
  line.remove_prefix(at + mark.size());
  return line.substr(0, line.find(end));
}

/// A row of RAS's table: "0  1  4  8  32  31  RUNNING  INCOMPLETE": group, communicators in it, nodes of each, ranks a node (which may be
/// a range), ranks of each, ranks in the group, status, errors.
struct TableRow {
  std::int64_t group = 0, ranks = 0, missing = 0;
  std::string status;
};
std::optional<TableRow> table_row(std::string_view text) {
  const Tokens cells = words(text);
  if (cells.size() < 8) return std::nullopt;
  for (std::size_t i = 0; i < 6; ++i)
    if (i != 3 && (!all_digits(cells[i]) || cells[i].size() > 9)) return std::nullopt;
  const std::int64_t all = count_at(cells[1]) * count_at(cells[4]), there = count_at(cells[5]);
  return TableRow{count_at(cells[0]), there, std::max<std::int64_t>(0, all - there), std::string{cells[6].substr(0, 20)}};
}

int as_rank(std::int64_t value) { return value >= 0 && value < static_cast<std::int64_t>(most_named) ? static_cast<int>(value) : -1; }

}  // namespace

void RasReader::take(const std::string& line, const LogLine& quoted) {
  std::string_view text = line;
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  if (begins(text)) {
    report.seen = open_ = true;
    return;
  }
  const bool heading = text.starts_with('#') && text.size() > 3 && text[1] >= '0' && text[1] <= '9';
  if (heading && text.find('(') != std::string_view::npos) {
    const auto close = text.find(')');
    communicator_ = std::string{text.substr(0, close == std::string_view::npos ? text.size() : close + 1)};
    operation_.clear();
    group_ = nullptr;
    open_ = true;
    return;
  }
  if (!open_ || text.empty()) return;
  const auto start = [&](RasGroup::Kind kind, std::string what, std::int64_t count, std::int64_t ranks) {
    group_ = nullptr;
    if (report.groups.size() >= max_ras_groups) return;
    report.groups.push_back(
        {kind, communicator_, std::move(what), count, static_cast<int>(std::clamp<std::int64_t>(ranks, 0, 1 << 20)), {}, {}, quoted});
    group_ = &report.groups.back();
  };
  const auto name = [&](std::string_view said) {
    if (group_ == nullptr) return;
    if (const int rank = as_rank(count_at(said)); rank >= 0 && group_->named.size() < most_named) group_->named.insert(rank);
    if (const auto node = between(said, " on node ", " "); !node.empty() && group_->nodes.size() < 64)
      group_->nodes.insert(std::string{node});
  };
  if (const auto row = table_row(text)) {
    communicator_ = fmt::format("group {}", row->group);
    if (row->missing > 0) start(RasGroup::Kind::missing, "", 0, row->missing);
    if (row->status == "ABORT") start(RasGroup::Kind::status, row->status, 0, row->ranks);
    group_ = nullptr;
  } else if (text.starts_with("INCOMPLETE")) {  // of processes: its ranks follow with their communicators
    communicator_ = "the job";
    group_ = nullptr;
  } else if (text.starts_with("Missing communicator data from ")) {
    report.seen = true;
    start(RasGroup::Kind::missing, "", 0, count_at(text.substr(31)));
  } else if (text.starts_with("Communicator ranks have different ")) {
    const auto counts = text.find(" operation counts");
    operation_ = std::string{text.substr(34, counts == std::string_view::npos ? counts : counts - 34)};
    report.seen = true;
    group_ = nullptr;
  } else if (text.starts_with("Rank ")) {
    const std::string_view said = text.substr(5);
    const auto launched = said.find(" has launched up to operation "), has_not = said.find(" has not launched any"),
               status = said.find(" has status "), reported = said.find(" reported ");
    if (launched != std::string_view::npos)
      start(RasGroup::Kind::launched, operation_, count_at(said.substr(launched + 30), 0), 1);
    else if (has_not != std::string_view::npos)
      start(RasGroup::Kind::launched, operation_, 0, 1);
    else if (status != std::string_view::npos)
      start(RasGroup::Kind::status, std::string{between(said, " has status ", " --")}, 0, 1);
    else if (reported != std::string_view::npos)
      start(RasGroup::Kind::status, std::string{between(said, " reported ", " --")}, 0, 1);
    name(said);
  } else if (text.starts_with("Process ")) {
    if (group_ != nullptr && group_->nodes.size() < 64)
      if (const auto node = between(text, " on node ", " "); !node.empty()) group_->nodes.insert(std::string{node});
  } else if (const std::int64_t ranks = count_at(text); ranks > 0 && text.find(" ranks have ") != std::string_view::npos) {
    if (text.find("launched up to operation ") != std::string_view::npos)
      start(RasGroup::Kind::launched, operation_, count_at(between(text, "operation ", " "), 0), ranks);
    else if (text.find("have not launched any") != std::string_view::npos)
      start(RasGroup::Kind::launched, operation_, 0, ranks);
    else if (text.find(" have status ") != std::string_view::npos)
      start(RasGroup::Kind::status, std::string{between(text, " have status ", "\n")}, 0, ranks);
  } else if (ranks > 0 && text.find(" ranks reported ") != std::string_view::npos) {
    start(RasGroup::Kind::status, std::string{between(text, " ranks reported ", "\n")}, 0, ranks);
  }
}

bool is_ras_report(const PlainTree& tree) {
  return tree.find(tree.root, "communicators") != PlainTree::none && tree.find(tree.root, "nccl_version") != PlainTree::none;
}

std::string ras_lines(const PlainTree& tree) {
  std::string out = fmt::format("NCCL version {} of the RAS report\nCommunicators... (JSON)\n",
                                plain_text(tree.shown(tree.find(tree.root, "nccl_version"))));
  int place = 0;
  const auto where = [&](Id rank) {
    return fmt::format(" -- GPU {} managed by process {} on node {}\n", tree.whole(tree.find(rank, "cuda_dev"), -1),
                       tree.whole(tree.find(rank, "pid"), -1), plain_text(std::string{tree.text(tree.find(rank, "host"))}));
  };
  for (const Id communicator : tree.items(tree.find(tree.root, "communicators"))) {
    const std::string heading = fmt::format("#{}-0 ({}) of {} ranks\n", place++, plain_text(tree.shown(tree.find(communicator, "hash"))),
                                            tree.whole(tree.find(communicator, "size"), 0));
    std::string details;
    const auto& missing = tree.items(tree.find(communicator, "missing_ranks"));
    if (!missing.empty()) {
      details += fmt::format("  Missing communicator data from {} rank{}\n", missing.size(), missing.size() == 1 ? "" : "s");
      for (const Id rank : missing) details += fmt::format("  Rank {}", tree.whole(tree.find(rank, "rank"), -1)) + where(rank);
    }
    std::map<std::string, std::map<std::int64_t, std::vector<Id>>> launched;  // by collective, then by count
    for (const Id rank : tree.items(tree.find(communicator, "ranks"))) {
      const auto& counts = tree[tree.find(rank, "collective_counts")].values;
      for (std::size_t i = 0; i + 1 < counts.size(); i += 2) launched[tree.shown(counts[i])][tree.whole(counts[i + 1], 0)].push_back(rank);
      const Id status = tree.find(rank, "status");
      for (const auto& [key, words] :
           {std::pair{"init_state", "an error of initialisation"}, std::pair{"async_error", "an asynchronous error"}}) {
        const std::int64_t code = tree.whole(tree.find(status, key), 0);
        constexpr std::int64_t in_progress = 7;
        if (code > 0 && code != in_progress)
          details += fmt::format("  Rank {} reported {} ({})", tree.whole(tree.find(rank, "rank"), -1), words, code) + where(rank);
      }
      if (tree[tree.find(status, "abort_flag")].whole == 1)
        details += fmt::format("  Rank {} has status ABORT", tree.whole(tree.find(rank, "rank"), -1)) + where(rank);
    }
    for (const auto& [operation, counts] : launched) {
      if (counts.size() < 2) continue;
      details += fmt::format("  Communicator ranks have different {} operation counts\n", plain_text(operation));
      for (const auto& [count, ranks] : counts) {
        details += fmt::format("  {} ranks have launched up to operation {}\n", ranks.size(), count);
        for (const Id rank : ranks) details += fmt::format("  Rank {}", tree.whole(tree.find(rank, "rank"), -1)) + where(rank);
      }
    }
    if (!details.empty()) out += heading + details;
  }
  return out;
}

}  // namespace fabricost::observe
