/// PyTorch's execution traces (ExecutionTraceObserver), which Chakra calls host traces: the operators of a rank in their order, without
/// times. Since schema 1.1 a record_param_comms has its operation, element counts and group as attributes; before, they stand among its
/// inputs. The groups are listed by the node "## process_group:init ##".

#include "readings/traces/json_pieces.hpp"
#include "readings/traces/readers.hpp"
#include "text/line_reader.hpp"

#include <fabricost/progress.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

namespace fabricost::observe {

namespace {

/// The fields of a node.
struct CommNode {
  std::string_view name, attributes, inputs, shapes, types;
};

[[nodiscard]] bool read_node(std::string_view raw, CommNode& out) {
  const bool whole = read_members(raw, {{"name", &out.name},
                                        {"attrs", &out.attributes},
                                        {"input_shapes", &out.shapes},
                                        {"input_types", &out.types},
                                        {"inputs", &out.inputs}});
  if (!out.inputs.empty() && out.inputs.front() == '{')
    read_members(std::exchange(out.inputs, {}), {{"values", &out.inputs}, {"shapes", &out.shapes}, {"types", &out.types}});
  return whole;
}

/// "float" of "GenericList[Tensor(float)]".
[[nodiscard]] std::string_view element_type(std::string_view types) {
  const auto open = types.find('('), close = types.find(')', open);
  return close == std::string_view::npos ? std::string_view{} : types.substr(open + 1, close - open - 1);
}

class ExecutionReader {
 public:
  explicit ExecutionReader(const std::filesystem::path& file) : json_(file), trace_(trace_of_calls(json_.name())) {}

  std::vector<RankTrace> run() {
    json_.read(
        "nodes", [](std::string_view, std::string_view) {}, [&](std::string_view raw) { take(raw); });
    if (nodes_ == 0)
      throw fault_of_file(json_.name(), "this is JSON, but no execution trace: it has no nodes", "docs/traces.md lists what is read");
    for (TracedGroup& group : trace_.groups) complete(group);
    return one_from_zero(std::move(trace_));
  }

 private:
  void take(std::string_view raw) {
    constexpr std::int64_t often = 65536;
    if (++nodes_ % often == 0) ask_to_go_on();
    CommNode node;
    if (raw.empty() || raw.front() != '{' || !read_node(raw, node)) json_.fail("a node is not what PyTorch writes");
    if (node.name.starts_with("## process_group:init"))
      list_groups(node.inputs);
    else if (node.name == "record_param_comms")
      node.attributes.find("\"collective_name\"") == std::string_view::npos ? from_inputs(node) : from_attributes(node.attributes);
  }

  void add(TracedCall call) {
    if (call.moves == Moves::unknown || call.moves == Moves::barrier) return;  // waits and marks of the library
    call.span = {nodes_, nodes_};
    call.timing = Timing::none;
    trace_.calls.push_back(call);
  }

  void from_attributes(std::string_view attributes) {
    std::map<std::string_view, std::string_view> said_of;
    for (JsonMembers all(attributes); all.next();) {
      std::string_view name, value;
      read_members(all.value, {{"name", &name}, {"value", &value}});
      said_of[name] = value;
    }
    const std::string_view operation = said_of["collective_name"], type = said_of["dtype"], group = said_of["pg_name"],
                           words = said_of["pg_desc"], size = said_of["pg_size"], first = said_of["global_rank_start"],
                           stride = said_of["global_rank_stride"];
    const Elements elements{json_whole(said_of["in_msg_nelems"], -1), json_whole(said_of["out_msg_nelems"], -1)};
    TracedGroup said{.name = shown_text(group), .words = shown_text(words), .ranks = {}, .size = std::max(0, count_in(size))};
    const int from = count_in(first), by = count_in(stride);
    if (from >= 0 && by > 0)
      for (int i = 0; i < said.size; ++i) said.ranks.push_back(from + i * by);
    TracedCall call{.group = place_of(std::move(said)), .moves = moves_named(operation), .type = type_named(type)};
    call.bytes = bytes_of_call(call.moves, elements, call.type.width, trace_.groups[call.group].size);
    add(call);
  }

  /// The operation is the text among the inputs; the tensors are the first of them.
  void from_inputs(const CommNode& node) {
    TracedCall call{};
    for (JsonMembers all(node.inputs); all.next();)
      if (call.moves == Moves::unknown && all.value.front() == '"') call.moves = moves_named(unquoted(all.value));
    JsonMembers shapes(node.shapes.empty() ? "[]" : node.shapes), types(node.types.empty() ? "[]" : node.types);
    call.group = place_of({});
    if (shapes.next() && types.next()) {
      call.type = type_named(element_type(types.value));
      std::string dims = std::string{shapes.value};  // of one tensor as of a list of them
      call.bytes = bytes_of_call(call.moves, {elements_in(dims.find('[', 1) == std::string::npos ? "[" + dims + "]" : dims), -1},
                                 call.type.width, 0);
    }
    add(call);
  }

  [[nodiscard]] std::uint32_t place_of(TracedGroup group) {
    return places_.of(fmt::format("{}|{}", group.name, group.size), trace_, [&] { return std::move(group); });
  }

  /// A list of groups, as text inside the JSON.
  void list_groups(std::string_view inputs) {
    JsonMembers values(inputs.empty() ? "[]" : inputs);
    if (!values.next()) return;
    std::string text{unquoted(values.value)};
    std::erase(text, '\\');
    for (JsonMembers groups(text); groups.next();) {
      TracedGroup group = listed_group(groups.value);
      trace_.world = std::max(trace_.world, group.size);
      listed_[group.name] = std::move(group);
    }
  }

  void complete(TracedGroup& group) const {
    if (const auto at = listed_.find(group.name); at != listed_.end()) {
      if (group.ranks.empty()) group.ranks = at->second.ranks;
      if (group.size == 0) group.size = at->second.size;
    }
    if (!group.ranks.empty()) group.size = static_cast<int>(group.ranks.size());
    if (!group.ranks.empty() || group.size == 0 || group.size != trace_.world) return;
    group.ranks.resize(static_cast<std::size_t>(group.size));
    std::iota(group.ranks.begin(), group.ranks.end(), 0);
  }

  JsonPieces json_;
  RankTrace trace_;
  std::map<std::string, TracedGroup> listed_;
  GroupPlaces places_;
  std::int64_t nodes_ = 0;
};

}  // namespace

bool may_be_execution_trace(std::string_view head) {
  const auto has = [&](std::string_view word) { return head.find(word) != std::string_view::npos; };
  return begins_json(head) && has("\"nodes\"") && has("\"schema\"") && has("\"inputs\"") && !has("\"traceEvents\"");
}

std::vector<RankTrace> read_execution_trace(const std::filesystem::path& file) { return ExecutionReader(file).run(); }

}  // namespace fabricost::observe
