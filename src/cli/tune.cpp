/// \file tune.cpp
/// fabricost tune: where NCCL's own choice of algorithm and protocol loses time, as a table, JSON, or a file for its tuner plugin.

#include "text/rough_size.hpp"
#include "text/text_table.hpp"
#include "counts.hpp"
#include "names.hpp"
#include "question.hpp"
#include "report.hpp"
#include "runner.hpp"
#include "subcommands.hpp"
#include "write_file.hpp"

#include <fabricost/specs/load.hpp>
#include <fabricost/tune/tune.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <span>

namespace fabricost::cli {
namespace {

/// As typed; empty where nothing was.
struct TuneArguments {
  std::string system, nodes, ranks, dtype, operation, calibration, out;
  std::vector<std::string> overrides;
  bool json = false;
};

[[nodiscard]] TuneOptions meant(const TuneArguments& typed) {
  TuneOptions out;
  if (!typed.operation.empty()) {
    out.collective = parse_collective(typed.operation);
    if (!out.collective) {
      std::vector<std::string> names;
      names.reserve(tuned_collectives.size());
      for (const Collective c : tuned_collectives) names.emplace_back(name(c));
      throw_unknown(typed.operation, "an operation NCCL tunes", names, "--op");
    }
  }
  if (!typed.dtype.empty()) out.dtype = data_type_of(typed.dtype);
  out.nodes = counts_of(typed.nodes, "--nodes");
  out.ranks = count_of(typed.ranks, "--ranks");
  if (typed.system.empty()) throw RequestError("which machine? Add --system NAME; fabricost systems lists the names");
  return out;
}

[[nodiscard]] std::string pair_text(Candidate c) { return fmt::format("{} {}", name(c.algorithm), name(c.protocol)); }

/// As its makers write it.
[[nodiscard]] std::string library_text(Library l) { return l == Library::rccl ? "RCCL" : "NCCL"; }

/// "16 and 32 ranks on 2 and 4 nodes"; of more than three the first and the last.
[[nodiscard]] std::string shapes_text(const std::vector<TuneShape>& shapes) {
  std::vector<std::string> ranks, nodes;
  for (const TuneShape& shape : shapes) {
    const std::string all = std::to_string(shape.ranks);
    if (ranks.empty() || ranks.back() != all) ranks.push_back(all);
    nodes.push_back(std::to_string(shape.nodes));
  }
  const auto listed_text = [](const std::vector<std::string>& words) {
    if (words.size() < 2) return joined(words);
    if (words.size() > 3) return words.front() + " to " + words.back();
    return joined(std::span{words}.first(words.size() - 1)) + " and " + words.back();
  };
  return fmt::format("{} ranks on {} node{}", listed_text(ranks), listed_text(nodes), nodes == std::vector<std::string>{"1"} ? "" : "s");
}

/// The ranks of a row are in the title: they follow from its nodes.
[[nodiscard]] std::string table(const TuneReport& report, bool sure) {
  const bool several = report.shapes.size() > 1;
  TextTable rows{{{"operation"},
                  {several ? "nodes" : "", right},
                  {"from", right},
                  {"to", right},
                  {library_text(report.library) + " runs"},
                  {"faster"},
                  {"lost us", right},
                  {"lost", right},
                  {sure ? "at least" : "", right}}};
  for (const SlowRange& r : report.ranges)
    if (r.sure == sure)
      rows.row({std::string{name(r.collective)}, several ? std::to_string(r.nodes) : "", rough_size(r.first), rough_size(r.last + 1),
                pair_text(r.now), pair_text(r.better), fmt::format("{:.1f}", r.lost_seconds() * 1e6),
                fmt::format("{:.0f} %", 100 * r.lost_share()), sure ? fmt::format("{:.0f} %", 100 * r.least_share()) : ""});
  return rows.text(2);
}

/// "nvls simple (all_gather, reduce_scatter)", every pair once.
[[nodiscard]] std::string unmeasured_text(const std::vector<UnmeasuredPair>& pairs) {
  std::map<std::string, std::vector<std::string>> operations;
  for (const UnmeasuredPair& p : pairs) {
    std::vector<std::string>& its = operations[pair_text(p.candidate)];
    const std::string operation{name(p.collective)};
    if (std::find(its.begin(), its.end(), operation) == its.end()) its.push_back(operation);
  }
  std::string out;
  for (const auto& [pair, its] : operations) out += fmt::format("{}{} ({})", out.empty() ? "" : ", ", pair, joined(its));
  return out;
}

[[nodiscard]] std::string text(const TuneReport& report, const Terminal& terminal) {
  const auto sure =
      static_cast<std::size_t>(std::count_if(report.ranges.begin(), report.ranges.end(), [](const SlowRange& r) { return r.sure; }));
  const std::string machine = fmt::format("{}, {} ({})", report.system, shapes_text(report.shapes), name(report.dtype));
  const std::string library = library_text(report.library);
  std::string out;
  if (sure > 0)
    out += terminal.strong(fmt::format("Where {}'s own choice loses time: {}", library, machine)) + "\n" + table(report, true);
  else
    out += terminal.strong(fmt::format("Nowhere does {}'s own choice surely lose time:\n{}", library, machine)) + "\n";
  if (sure < report.ranges.size())
    out += "\n" + terminal.strong("Perhaps: within what the predictions leave open") + "\n" + table(report, false);
  if (!report.ranges.empty() || !report.unmeasured.empty() || !report.doubts.empty()) out += "\n";
  if (!report.ranges.empty())
    out += wrapped("  ", "Lost: at the size of the range that loses most; at least: in nineteen of twenty measurements there.", 98);
  for (const std::string& doubt : report.doubts) out += wrapped("  ", "Not sure: " + doubt + ".", 98);
  if (!report.unmeasured.empty())
    out += wrapped("  ", "Never recommended, because no fit covers them here: " + unmeasured_text(report.unmeasured) + ".", 98);
  return out;
}

[[nodiscard]] nlohmann::ordered_json to_json(Candidate c) { return {{"algorithm", name(c.algorithm)}, {"protocol", name(c.protocol)}}; }

[[nodiscard]] nlohmann::ordered_json to_json(const TuneReport& report) {
  nlohmann::ordered_json out;
  out["system"] = report.system;
  out["library"] = name(report.library);
  out["dtype"] = name(report.dtype);
  out["shapes"] = nlohmann::ordered_json::array();
  for (const TuneShape& shape : report.shapes) out["shapes"].push_back({{"nodes", shape.nodes}, {"ranks", shape.ranks}});
  out["ranges"] = nlohmann::ordered_json::array();
  for (const SlowRange& r : report.ranges) {
    nlohmann::ordered_json one;
    one["operation"] = name(r.collective);
    one["nodes"] = r.nodes;
    one["ranks"] = r.ranks;
    one["first_bytes"] = static_cast<long long>(r.first);
    one["last_bytes"] = static_cast<long long>(r.last);
    one["runs"] = to_json(r.now);
    one["faster"] = to_json(r.better);
    one["bytes"] = static_cast<long long>(r.bytes);
    one["time_us"] = r.now_seconds * 1e6;
    one["faster_us"] = r.better_seconds * 1e6;
    one["lost_us"] = r.lost_seconds() * 1e6;
    one["lost_percent"] = 100 * r.lost_share();
    one["lost_percent_interval"] = {100 * r.least_share(), 100 * r.most_share()};
    one["sure"] = r.sure;
    one["basis"] = name(r.basis);
    out["ranges"].push_back(std::move(one));
  }
  out["unmeasured"] = nlohmann::ordered_json::array();
  for (const UnmeasuredPair& p : report.unmeasured) {
    nlohmann::ordered_json one{{"operation", name(p.collective)}, {"nodes", p.nodes}, {"ranks", p.ranks}};
    one.update(to_json(p.candidate));
    out["unmeasured"].push_back(std::move(one));
  }
  out["doubts"] = report.doubts;
  return out;
}

}  // namespace

void add_tune(CLI::App& app, Runner& runner) {
  const auto options = std::make_shared<TuneArguments>();
  CLI::App& sub = *app.add_subcommand("tune", "Where NCCL's own choice of algorithm or protocol loses time");
  sub.add_option("--system,-s", options->system, "A name (see fabricost systems) or a YAML file")->option_text("NAME");
  sub.add_option("--nodes,-n", options->nodes, "Nodes, as nccl-tests counts them: 2 or 2,4,8")->option_text("N,...");
  sub.add_option("--ranks,-r", options->ranks, "GPUs; default all of the nodes")->option_text("R");
  sub.add_option("--dtype", options->dtype, "int8 half bfloat16 fp8 float double; default half")->option_text("TYPE");
  sub.add_option("--op", options->operation, "One of: all_reduce all_gather reduce_scatter\nbroadcast reduce; default all")
      ->option_text("OP");
  sub.add_option("--calibration", options->calibration, "none or a file; default the shipped one")->option_text("FILE");
  sub.add_option("--set", options->overrides, "Override one value of the system, repeatable")
      ->option_text("PATH=VALUE")
      ->allow_extra_args(false);
  sub.add_option("--out,-o", options->out, "Write the sure ones for NCCL's example tuner plugin")->option_text("FILE");
  sub.add_flag("--json", options->json, "Print JSON");
  sub.footer("Example: fabricost tune --system dgx-b200 --op all_gather -o nccl_tuner.conf");
  runner.add(sub, [options](const Terminal& terminal) {
    const TuneOptions wanted = meant(*options);
    const TuneReport report = tune(load_system(options->system, options->overrides, options->calibration), wanted);
    std::string out = options->json ? printed(to_json(report)) : text(report, terminal);
    if (!options->out.empty()) write_file(options->out, plugin_config(report));
    return out;
  });
}

}  // namespace fabricost::cli
