/// From the values of a dump to entries. Names, shapes and frames repeat from entry to entry and rank to rank: each is kept once.

#include "readings/dumps/flight_recorder.hpp"

#include "text/ascii.hpp"
#include "text/plain_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>

namespace fabricost::observe {

namespace {

using Id = PlainTree::Id;
constexpr std::size_t max_words = std::size_t{1} << 18U, longest_word = 300, max_process_groups = 4096;
constexpr int beyond_ranks = 1 << 20;

/// The number at the end of a file's name, before its extensions: "nccl_trace_rank_3", "rank3.json".
int rank_of_name(std::string_view name) {
  if (const auto slash = name.rfind('/'); slash != std::string_view::npos) name.remove_prefix(slash + 1);
  std::size_t end = name.size();
  while (end > 0 && !is_digit(name[end - 1])) --end;
  std::size_t first = end;
  while (first > 0 && is_digit(name[first - 1])) --first;
  int rank = -1;
  (void)std::from_chars(name.data() + first, name.data() + end, rank);
  return rank >= 0 && rank < beyond_ranks ? rank : -1;
}

/// Ranks of "[0, 1, 2]" or of a list.
std::set<int> ranks_listed_in(const PlainTree& tree, Id id) {
  std::set<int> out;
  const auto take = [&](std::int64_t rank) {
    if (rank >= 0 && rank < beyond_ranks) out.insert(static_cast<int>(rank));
  };
  for (const Id one : tree.items(id)) take(tree.whole(one, -1));
  const std::string_view text = tree.text(id);
  for (std::size_t at = 0; at < text.size();) {
    std::int64_t rank = -1;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), rank);
    if (error == std::errc{}) take(rank);
    at = std::max(at + 1, static_cast<std::size_t>(end - text.data()));
  }
  return out;
}

std::string clipped_word(std::string text) {
  text = plain_text(std::move(text));
  if (text.size() > longest_word) text.resize(longest_word);
  return text;
}

/// "3x4" of [3, 4]; "?" for what is no length: nan, a negative number, one beyond memory.
std::string extent_of(const PlainTree& tree, Id sizes) {
  constexpr std::int64_t most = std::int64_t{1} << 53U;
  const auto length = [&](Id id) {
    const std::int64_t elements = tree.whole(id, -1);
    return elements >= 0 && elements <= most ? std::to_string(elements) : "?";
  };
  std::string out;
  for (const Id one : tree.items(sizes)) out += (out.empty() ? "" : "x") + length(one);
  return out.empty() ? "1" : out;
}

/// "3x4 Float -> 3x4 Float".
std::string shape_of(const PlainTree& tree, Id entry) {
  std::string out;
  for (const auto& [sizes, types] : {std::pair{"input_sizes", "input_dtypes"}, std::pair{"output_sizes", "output_dtypes"}}) {
    if (!out.empty()) out += " -> ";
    const auto& all = tree.items(tree.find(entry, sizes));
    const auto& kinds = tree.items(tree.find(entry, types));
    for (std::size_t i = 0; i < all.size() && out.size() < longest_word; ++i) {
      out += (i > 0 ? ", " : "") + extent_of(tree, all[i]);
      if (i < kinds.size()) out += " " + tree.shown(kinds[i]);
    }
  }
  return out == " -> " ? std::string{} : clipped_word(std::move(out));
}

/// Elements of all tensors in [[3, 4], [5]]; negative: it does not say.
double elements_of(const PlainTree& tree, Id sizes) {
  double out = -1;
  for (const Id tensor : tree.items(sizes)) {
    double product = 1;
    for (const Id one : tree.items(tensor)) product *= std::max(0.0, tree.real(one, 0));
    out = std::max(out, 0.0) + product;
  }
  constexpr double most = 1e17;
  return out < most ? out : -1;
}

/// The innermost line of the program itself: the first that is not of torch.
std::string frame_of(const PlainTree& tree, Id entry) {
  std::string nearest;
  for (const Id one : tree.items(tree.find(entry, "frames"))) {
    const std::string file = tree.shown(tree.find(one, "filename"));
    if (file.empty() || file == "??") continue;
    const std::string shown = fmt::format("{}:{} ({})", file, tree.shown(tree.find(one, "line")), tree.shown(tree.find(one, "name")));
    if (nearest.empty()) nearest = shown;
    if (file.find("/torch/") == std::string::npos && file.find("torch/csrc") == std::string::npos) return clipped_word(shown);
  }
  return clipped_word(nearest);
}

FlightEntry::State state_of(std::string_view text) {
  if (text == "scheduled") return FlightEntry::State::scheduled;
  return text == "started" ? FlightEntry::State::started : FlightEntry::State::completed;
}

}  // namespace

std::uint32_t FlightDumps::word(const std::string& text) {
  if (text.empty()) return 0;
  if (const auto at = places_.find(text); at != places_.end()) return at->second;
  if (words.size() >= max_words) return 0;
  words.push_back(text);
  const auto place = static_cast<std::uint32_t>(words.size() - 1);
  places_.emplace(text, place);
  return place;
}

std::uint32_t FlightDumps::group(const FlightGroup& one) {
  for (std::size_t i = 0; i < groups.size(); ++i)
    if (groups[i].name == one.name && groups[i].ranks == one.ranks) return static_cast<std::uint32_t>(i);
  if (groups.size() >= max_process_groups) return 0;
  groups.push_back(one);
  return static_cast<std::uint32_t>(groups.size() - 1);
}

bool is_flight_dump(const PlainTree& tree) {
  return tree.find(tree.root, "entries") != PlainTree::none &&
         (tree.find(tree.root, "pg_config") != PlainTree::none || tree.find(tree.root, "version") != PlainTree::none);
}

std::string add_flight_dump(const PlainTree& tree, const std::string& file, FlightDumps& into) {
  FlightDump dump;
  dump.file = plain_text(file);
  dump.library = clipped_word(tree.shown(tree.find(tree.root, "nccl_version")));
  dump.rank = static_cast<int>(std::clamp<std::int64_t>(tree.whole(tree.find(tree.root, "rank"), -1), -1, beyond_ranks));
  if (dump.rank < 0) dump.rank = rank_of_name(file);
  const Id configured = tree.find(tree.root, "pg_config");
  std::map<std::string, std::uint32_t, std::less<>> group_named;
  const auto group_of = [&](const std::string& name, const std::string& said) {
    if (const auto at = group_named.find(name); at != group_named.end()) return at->second;
    const Id config = tree.find(configured, name);
    std::string words = tree.shown(tree.find(config, "desc"));
    if (words.empty() || words == "undefined") words = said;
    FlightGroup one{clipped_word(words.empty() || words == name ? name : fmt::format("{} ({})", name, words)), clipped_word(name),
                    words == "undefined" ? "" : clipped_word(words), ranks_listed_in(tree, tree.find(config, "ranks"))};
    return group_named[name] = into.group(one);
  };
  const FlightEntry* waited = nullptr;
  for (const Id id : tree.items(tree.find(tree.root, "entries"))) {
    const auto& process_group = tree.items(tree.find(id, "process_group"));
    std::string name = process_group.empty() ? tree.shown(tree.find(id, "pg_id")) : tree.shown(process_group.front());
    FlightEntry one;
    one.group = group_of(name, process_group.size() > 1 ? tree.shown(process_group[1]) : std::string{});
    one.pair = tree[tree.find(id, "is_p2p")].whole == 1;
    for (const char* key : {"collective_seq_id", "seq_id"})
      if (one.sequence < 0) one.sequence = tree.whole(tree.find(id, key), -1);
    std::string operation = tree.shown(tree.find(id, "profiling_name"));
    if (const auto colon = operation.find(':'); colon != std::string::npos) operation.erase(0, colon + 1);
    one.operation = into.word(clipped_word(std::move(operation)));
    one.shape = into.word(shape_of(tree, id));
    one.frame = into.word(frame_of(tree, id));
    one.created = std::max<std::int64_t>(0, tree.whole(tree.find(id, "time_created_ns"), 0));
    one.completed = std::max<std::int64_t>(0, tree.whole(tree.find(id, "time_discovered_completed_ns"), 0));
    one.milliseconds = tree.real(tree.find(id, "duration_ms"), -1);
    one.elements_in = elements_of(tree, tree.find(id, "input_sizes"));
    one.elements_out = elements_of(tree, tree.find(id, "output_sizes"));
    if (const auto& types = tree.items(tree.find(id, "input_dtypes")); !types.empty()) one.type = into.word(tree.shown(types.front()));
    one.state = state_of(tree.text(tree.find(id, "state")));
    if (!one.pair) {
      auto& last = dump.enqueued.try_emplace(one.group, -1).first->second;
      last = std::max(last, one.sequence);
    }
    dump.entries.push_back(one);
  }
  const Id status = tree.find(tree.root, "pg_status");
  if (tree[status].kind == PlainTree::Kind::map)
    for (std::size_t i = 0; i + 1 < tree[status].values.size(); i += 2) {
      const auto enqueued = tree.whole(tree.find(tree[status].values[i + 1], "last_enqueued_collective"), -1);
      auto& last = dump.enqueued.try_emplace(group_of(tree.shown(tree[status].values[i]), ""), -1).first->second;
      last = std::max(last, enqueued);
    }
  for (const FlightEntry& one : dump.entries)
    if (one.state != FlightEntry::State::completed && waited == nullptr) waited = &one;
  const std::string who = dump.rank < 0 ? "a rank" : fmt::format("rank {}", dump.rank);
  std::string line = fmt::format("flight recorder of PyTorch, {}: {} calls of NCCL, all completed", who, dump.entries.size());
  if (waited != nullptr)
    line = fmt::format("flight recorder of PyTorch, {} waits for {} number {} of group {}, {}{}{}", who, into.words[waited->operation],
                       waited->sequence, into.groups[waited->group].name, into.words[waited->shape],
                       waited->frame == 0 ? "" : ", called at ", into.words[waited->frame]);
  into.dumps.push_back(std::move(dump));
  return line;
}

}  // namespace fabricost::observe
