/// The purpose of a process group. Its description states it where the program gave one (Megatron's groups, dimensions of a DeviceMesh),
/// else its traffic: sends and receives alone are a pipeline's, exchanges without reductions those of experts. Groups that reduce and
/// gather are a tensor's where neighbours in a node move the same few sizes over and over, and data's where the members lie apart, or the
/// sizes are those of many layers or buckets.

#include "trace/timeline.hpp"

#include "readings/logs/line_fields.hpp"
#include "text/ascii.hpp"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

namespace fabricost::observe::timeline::parts {

namespace {

struct Words {
  Kind kind;
  std::string_view words;
};
/// Earlier ones first: EXPERT_DATA_PARALLEL_GROUP moves gradients.
constexpr std::array<Words, 5> words_of_kinds{{
    {Kind::pipeline, "pipeline pp"},
    {Kind::data, "data dp fsdp hsdp shard replicate ddp"},
    {Kind::tensor, "tensor tp"},
    {Kind::expert, "expert ep"},
    {Kind::context, "context cp sp sequence"}}};

[[nodiscard]] Kind by_words(std::string_view text) {
  std::set<std::string, std::less<>> said;
  std::string word;
  for (const char c : text) {
    const bool letter = is_letter(c);
    if (letter) word += lower(c);
    if (!letter && !word.empty()) said.insert(std::exchange(word, {}));
  }
  if (!word.empty()) said.insert(word);
  for (const Words& one : words_of_kinds)
    if (std::any_of(said.begin(), said.end(), [&](const std::string& own) { return has_word(one.words, own); })) return one.kind;
  return Kind::unknown;
}

/// The traffic of a group.
struct Traffic {
  std::size_t pairs = 0, exchanges = 0, reductions = 0, gathers = 0;
  std::set<double> sizes;  ///< of reductions and gathers
  std::size_t large = 0;   ///< of those, calls that carry more than a few numbers
};

/// Members next to each other.
[[nodiscard]] bool are_neighbours(const std::vector<int>& ranks) {
  return ranks.size() > 1 && ranks.back() - ranks.front() + 1 == static_cast<int>(ranks.size());
}

[[nodiscard]] Kind by_traffic(const Group& group, const Traffic& t, int world, int gpus_per_node) {
  const std::size_t rest = t.reductions + t.gathers;
  if (t.pairs > 0 && t.pairs >= rest + t.exchanges) return Kind::pipeline;
  if (t.exchanges > 0) return t.exchanges > rest && t.reductions == 0 ? Kind::expert : rest > 0 ? Kind::data : Kind::expert;
  if (t.large == 0) return Kind::unknown;
  const int size = group.said.size;
  const bool near = are_neighbours(group.said.ranks) && (gpus_per_node == 0 || size <= gpus_per_node);
  if (!near) return Kind::data;
  constexpr std::size_t few_sizes = 2, often = 4;  // the two of a layer; a bucket of gradients has a size of its own
  const bool rhythm = t.sizes.size() <= few_sizes && t.large >= often * t.sizes.size();
  if (size < world) return rhythm || t.large >= 2 * often * t.sizes.size() ? Kind::tensor : Kind::data;
  return rhythm && t.gathers == 0 ? Kind::tensor : Kind::data;
}

}  // namespace

void tell_kinds(Job& job, int gpus_per_node) {
  std::vector<Traffic> traffic(job.groups.size());
  for (const Call& call : job.calls) {
    Traffic& t = traffic[call.group];
    using enum Moves;
    if (call.moves == send_recv) ++t.pairs;
    if (call.moves == all_to_all || call.moves == moe_dispatch || call.moves == moe_combine || call.moves == moe_layout) ++t.exchanges;
    if (call.moves == all_reduce || call.moves == reduce_scatter || call.moves == reduce) ++t.reductions;
    if (call.moves == all_gather) ++t.gathers;
    constexpr double little = 4096;  // bytes: norms, losses, counts of tokens
    if ((call.moves == all_reduce || call.moves == reduce_scatter || call.moves == all_gather) && call.bytes > little) {
      ++t.large;
      t.sizes.insert(call.bytes);
    }
  }
  int world = 0;
  for (const RankTrace& trace : job.ranks) world = std::max(world, trace.world);
  for (std::size_t g = 0; g < job.groups.size(); ++g) {
    Group& group = job.groups[g];
    group.kind = by_words(group.said.words);
    if (group.kind == Kind::unknown) group.kind = by_traffic(group, traffic[g], world, gpus_per_node);
  }
}

}  // namespace fabricost::observe::timeline::parts
