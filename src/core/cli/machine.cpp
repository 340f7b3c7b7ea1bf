/// fabricost machine: the built-in machines, or one machine tier by tier, or its picture.

#include "cli/question_command.hpp"
#include "cli/subcommands.hpp"

#include <fabricost/answers/machine.hpp>
#include <fabricost/answers/predict.hpp>
#include <fabricost/pictures/picture.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

namespace fabricost::cli {
namespace {

struct ShowTyped : ShowRequest {
  bool svg = false;
  std::optional<Collective> operation{};
  int nodes = 0, ranks = 0;
  std::optional<Bytes> bytes{};

  static RequestTable<ShowTyped> fields() {
    using R = ShowTyped;
    using enum Amount;
    return {ShowRequest::fields(),
            asks(&R::svg, "svg", "--svg", "", "Print a picture (SVG)"),
            asks(&R::operation, "operation", "--op", "OP", "Operation whose load colours the tiers (with <svg>); default\nall_reduce"),
            asks(&R::nodes, "nodes", "--nodes,-n", count, any_count, "N", "Nodes of that operation"),
            asks(&R::ranks, "ranks", "--ranks", count, any_count, "R", "Ranks of that operation"),
            fabricost::core::field::ask_bytes<R>};
  }
  [[nodiscard]] bool of_an_operation() const { return operation || bytes; }
};

/// The picture, with the loads of the requested operation, if any.
[[nodiscard]] std::string drawn(const ShowTyped& request) {
  if (!request.system) throw Refusal("which machine? fabricost machine lists the names");
  if (!request.of_an_operation() && (request.nodes > 0 || request.ranks > 0))
    throw Refusal("<nodes> and <ranks> are for a picture with loads: add <bytes>, as in <bytes=268435456>");
  const auto system = request.system.get(request.overrides, {}, request.calibration);
  if (!request.of_an_operation()) return picture(*system);
  PredictRequest asked;
  asked.system.value = system;
  asked.operation = request.operation.value_or(Collective::all_reduce);
  asked.nodes = request.nodes;
  asked.ranks = request.ranks;
  asked.bytes = request.bytes;
  const PredictAnswer loads = answer(asked);
  return picture(*system, &loads, title_of(loads, loads.system));
}

/// Titles end before column 100; `show` prints them whole.
[[nodiscard]] std::string shortened(const std::string& title) {
  constexpr std::size_t max = 44;
  if (shown_width(title) <= max) return title;
  const std::size_t blank = title.rfind(' ', max - 4);
  return title.substr(0, blank == std::string::npos ? max - 4 : blank) + " ...";
}

struct Maker {
  std::string_view vendor, title;
};

/// In the order of the groups; a vendor that is not here comes last, by the name it has in data/.
constexpr std::array<Maker, 7> makers{{{"nvidia", "NVIDIA"},
                                       {"amd", "AMD"},
                                       {"intel", "Intel"},
                                       {"google", "Google"},
                                       {"aws", "AWS"},
                                       {"huawei", "Huawei"},
                                       {"other", "other makers"}}};

[[nodiscard]] std::size_t rank_of(std::string_view vendor) {
  const auto found = std::find_if(makers.begin(), makers.end(), [&](const Maker& one) { return one.vendor == vendor; });
  return static_cast<std::size_t>(found - makers.begin());
}

/// Machines and clusters by the maker of their GPUs, one table each; inside a group by name.
void systems_text(Page& page, const std::vector<ListedSystem>& systems) {
  using Group = std::tuple<bool, std::size_t, std::string>;
  std::map<Group, TextTable> groups;
  for (const ListedSystem& one : systems) {
    const TextTable empty{"name", ">GPUs", ">domain", "scale-up", "machine"};
    groups.try_emplace({one.cluster, rank_of(one.vendor), one.vendor}, empty)
        .first->second.row(one.name, one.gpus, one.domain, one.kind, shortened(one.title));
  }
  for (const auto& [group, table] : groups) {
    const auto& [cluster, rank, vendor] = group;
    if (!page.text().empty()) page.add("\n");
    page.title("{} with GPUs of {}", cluster ? "Clusters" : "Machines", rank < makers.size() ? makers[rank].title : vendor);
    page.table(table);
  }
}

}  // namespace

void add_machine(CLI::App& app, Runner& runner) {
  constexpr const char* footer =
      "Example: fabricost machine gb200-nvl72\n         fabricost machine dgx-h100 --svg --op all_reduce --size 256MiB > dgx-h100.svg";
  add_command<ShowTyped>(
      app, runner, "machine", "List built-in machines, or show one tier by tier", footer,
      [](const GivenOptions& o, const Terminal& terminal) {
        const auto request = request_of<ShowTyped>(o.typed);
        if (request.svg && o.json) throw RequestError("--svg or --json, not both");
        if (request.svg) return spelled_out<ShowTyped>([&] { return drawn(request); });
        if (request.of_an_operation() || request.nodes > 0 || request.ranks > 0)
          throw RequestError("--op, --size, --nodes and --ranks colour a picture: add --svg");
        if (!request.system) {
          if (const std::string_view option = given_beyond<ShowTyped, SystemsRequest>(o.typed); !option.empty())
            throw RequestError(fmt::format("{} is of one machine: name it first", option));
          return output_of<SystemsRequest>(o.typed, o.json, terminal, systems_text, nothing_beside);
        }
        return output_of<ShowTyped>(
            o.typed, o.json, terminal, [](Page& page, const ShowAnswer& a) { page.add_headed(a.text); }, nothing_beside);
      });
}

}  // namespace fabricost::cli
