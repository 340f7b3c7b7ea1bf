/// \file share.cpp
/// fabricost share: collectives that run at once, how much each is slowed down, on which link and by whom.

#include "text/text_table.hpp"
#include "layout_words.hpp"
#include "names.hpp"
#include "question.hpp"
#include "report.hpp"
#include "runner.hpp"
#include "subcommands.hpp"

#include <fabricost/network/at_once_answer.hpp>
#include <fabricost/specs/load.hpp>
#include <fabricost/text/quantity.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <memory>

namespace fabricost::cli {
namespace {

/// As typed; empty where nothing was.
struct ShareOptions {
  std::string system, nodes, layout, balancing, choice, calibration;
  std::vector<std::string> of, overrides;
  bool no_pxn = false, minimal = false, json = false;
};
constexpr std::array<std::string_view, 2> balancing_names{"even", "hashed"};

struct Shared {
  System system;
  int nodes = 1, gpus = 1;
  std::vector<GroupedCollective> asked;
  ConcurrentOptions options;
  AtOnce result;
  SharpTurns sharp;
};

[[nodiscard]] Shared work_out(const ShareOptions& typed) {
  if (typed.of.empty())
    throw RequestError("which collectives? Add --of for each, as in --of \"all_reduce 1GiB\" --of \"all_to_all 64MiB over 8\"");
  if (typed.system.empty()) throw RequestError("which machine? Add --system NAME; fabricost systems lists the names");
  const int nodes = count_of(typed.nodes, "--nodes");
  const auto rule = one_of<Choice::Rule>(typed.choice, rule_names, "a choice", "--choice").value_or(Choice::Rule{});
  Shared out;
  out.options.balancing = one_of<Balancing>(typed.balancing, balancing_names, "a way to spread flows", "--balancing").value_or(Balancing{});
  out.options.routes.relay_on_rails = !typed.no_pxn;
  out.options.routes.adaptive = !typed.minimal;
  out.system = load_system(typed.system, typed.overrides, typed.calibration);
  out.nodes = nodes > 0 ? nodes : std::max(1, out.system.domain / std::max(1, out.system.gpus_per_node));
  if (static_cast<long long>(out.nodes) * out.system.gpus_per_node > 1'000'000)
    throw RequestError(fmt::format("{} nodes are {} GPUs; link by link a million is the most", out.nodes,
                                   static_cast<long long>(out.nodes) * out.system.gpus_per_node));
  out.gpus = out.nodes * out.system.gpus_per_node;
  const std::vector<Axis> layout = parse_layout(typed.layout, out.gpus);
  for (const std::string& text : typed.of) {
    out.asked.push_back(parse_grouped(text, layout));
    out.asked.back().choice.rule = rule;
  }
  out.result = at_once(out.system, out.nodes, out.asked, out.options);
  out.sharp = sharp_turns_of(out.system, out.nodes, out.result, out.options.routes);
  return out;
}

/// "nic 0 of node 0 (out), 50 GB/s, shared by 8 groups of all_reduce 1 GiB over dp and ..."
[[nodiscard]] std::string link_text(const Shared& s, const ContendedLink& link) {
  std::string out = fmt::format("{}, {}", link.name, rate_text(Bandwidth::from_value(link.capacity)));
  if (link.sharers.size() < 2) return out + ", shared with nobody";
  const std::vector<int> groups = groups_on(s.result, link);
  std::vector<std::string> who;
  for (std::size_t c = 0; c < groups.size(); ++c)
    if (groups[c] > 0)
      who.push_back(s.result.outcomes[c].groups > 1
                        ? fmt::format("{} of {} groups of {}", groups[c], s.result.outcomes[c].groups, s.asked[c].name)
                        : s.asked[c].name);
  return out + ", shared by " + joined(who, " and ");
}

[[nodiscard]] std::string text(const Shared& s, const Terminal& terminal) {
  TextTable rows{
      {{"collective"}, {"groups", right}, {"ranks", right}, {"runs"}, {"alone", right}, {"wire slowed", right}, {"beside", right}}};
  for (std::size_t c = 0; c < s.asked.size(); ++c) {
    const GroupedOutcome& one = s.result.outcomes[c];
    const std::string slowed = one.slow_down > one.least_slow_down * (1 + 1e-6)
                                   ? fmt::format("{:.2f} to {:.2f} x", one.least_slow_down, one.slow_down)
                                   : fmt::format("{:.2f} x", one.slow_down);
    rows.row({s.asked[c].name, std::to_string(one.groups), std::to_string(one.size),
              fmt::format("{} {}", one.alone.algorithm.view(), one.alone.protocol.view()), time_text(one.alone.time()), slowed,
              time_text(Time::from_value(one.seconds))});
  }
  std::string out =
      terminal.strong(fmt::format("At once on {} GPUs, {} node{} of {}", s.gpus, s.nodes, s.nodes == 1 ? "" : "s", s.system.name)) + "\n" +
      rows.text(2) + "\n";
  for (std::size_t c = 0; c < s.asked.size(); ++c)
    if (const ContendedLink* link = held_by(s.result, s.result.outcomes[c]))
      out += wrapped("  ", fmt::format("{}: held by {}.", s.asked[c].name, link_text(s, *link)), 98);
  if (s.sharp.turns > 1)
    out += wrapped("  ",
                   fmt::format("SHARP: {} aggregations at once take {} turns on {} switches; the times are those of one turn.",
                               s.sharp.jobs, s.sharp.turns, s.sharp.switches),
                   98);
  out += wrapped("  ", "Beside: while all of them run; what a collective spends on latency is not slowed down.", 98);
  return out;
}

[[nodiscard]] nlohmann::ordered_json json(const Shared& s) {
  nlohmann::ordered_json out;
  out["system"] = s.system.name;
  out["nodes"] = s.nodes;
  out["gpus"] = s.gpus;
  out["balancing"] = balancing_names[static_cast<std::size_t>(s.options.balancing)];
  out["sharp_turns"] = s.sharp.switches.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(s.sharp.turns);
  out["collectives"] = nlohmann::ordered_json::array();
  for (std::size_t c = 0; c < s.asked.size(); ++c) {
    const GroupedOutcome& one = s.result.outcomes[c];
    nlohmann::ordered_json row;
    row["name"] = s.asked[c].name;
    row["groups"] = one.groups;
    row["stride"] = s.asked[c].stride;
    row["slow_down"] = one.slow_down;
    row["least_slow_down"] = one.least_slow_down;
    row["time_us"] = one.seconds * 1e6;
    row["alone"] = cli::to_json(s.system, one.alone);
    row["link"] = nullptr;
    if (const ContendedLink* link = held_by(s.result, one)) {
      const std::vector<int> groups = groups_on(s.result, *link);
      nlohmann::ordered_json sharers = nlohmann::ordered_json::array();
      for (std::size_t other = 0; other < groups.size(); ++other)
        if (groups[other] > 0) sharers.push_back({{"name", s.asked[other].name}, {"groups", groups[other]}});
      row["link"] = {{"name", link->name}, {"capacity_GBps", link->capacity / 1e9}, {"load_GBps", link->load / 1e9}, {"sharers", sharers}};
    }
    out["collectives"].push_back(std::move(row));
  }
  return out;
}

}  // namespace

void add_share(CLI::App& app, Runner& runner) {
  const auto options = std::make_shared<ShareOptions>();
  CLI::App& sub = *app.add_subcommand("share", "Collectives that run at once: who slows whom down, on which link");
  sub.add_option("--system", options->system, "A name (see fabricost systems) or a YAML file")->option_text("NAME");
  sub.add_option("--nodes", options->nodes, "Nodes, as nccl-tests counts them; default one domain")->option_text("N");
  sub.add_option("--layout", options->layout,
                 "Axes inside out, as ranks are numbered: tp=8,pp=4,dp\n(the one without a size takes what is left)")
      ->option_text("AXES");
  sub.add_option("--of", options->of,
                 "One collective, run by every group; repeatable:\n"
                 "\"OP SIZE [over AXIS|COUNT] [every STRIDE]\n"
                 " [by ALGORITHM] [under PROTOCOL] [in TYPE] [weight W]\"")
      ->option_text("WORDS")
      ->allow_extra_args(false);
  sub.add_option("--balancing", options->balancing, "Flows on parallel links: even (per packet, default)\nor hashed (ECMP)")
      ->option_text("HOW");
  sub.add_flag("--no-pxn", options->no_pxn, "Rails: messages do not change GPU to reach their rail");
  sub.add_flag("--minimal", options->minimal, "Dragonfly: minimal routes instead of adaptive ones");
  sub.add_option("--choice", options->choice, "nccl (as its tuner picks, default) or fastest")->option_text("RULE");
  sub.add_option("--calibration", options->calibration, "none or a file; default the shipped one")->option_text("FILE");
  sub.add_option("--set", options->overrides, "Override one value of the system, repeatable")
      ->option_text("PATH=VALUE")
      ->allow_extra_args(false);
  sub.add_flag("--json", options->json, "Print JSON");
  sub.footer("Example: fabricost share --system aws-p4d --nodes 8 --layout tp=8,dp --of \"all_reduce 1GiB over dp\"");
  runner.add(sub, [options](const Terminal& terminal) {
    const Shared shared = work_out(*options);
    return options->json ? printed(json(shared)) : text(shared, terminal);
  });
}

}  // namespace fabricost::cli
