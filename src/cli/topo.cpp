/// \file topo.cpp
/// fabricost topo: a machine read from its own description, as counts, as a system file, beside a stock one.

#include "text/text_table.hpp"
#include "report.hpp"
#include "runner.hpp"
#include "subcommands.hpp"
#include "write_file.hpp"

#include <fabricost/error.hpp>
#include <fabricost/readings/topology.hpp>
#include <fabricost/specs/load.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <memory>

namespace fabricost::cli {
namespace {

/// Direct links of one GPU that are NVLinks; AMD's are XGMI.
[[nodiscard]] int nvlinks(const DescribedTopology& t) { return t.vendor == "amd" ? 0 : t.links_per_gpu(); }

[[nodiscard]] nlohmann::ordered_json to_json(const DescribedTopology& t, const GuessedSystem& guessed, const std::string& stock,
                                             const std::vector<std::string>& different) {
  nlohmann::ordered_json out;
  out["gpus"] = t.gpus.size();
  out["nvlinks"] = nvlinks(t);
  out["nics"] = t.nics.size();
  out["sockets"] = t.sockets;
  out["system"] = guessed.name;
  out["gpu"] = guessed.gpu;
  out["format"] = t.format;
  out["xgmi_links"] = t.vendor == "amd" ? t.links_per_gpu() : 0;
  out["switched"] = t.switched;
  out["numa_nodes"] = t.numa_nodes > 0 ? nlohmann::ordered_json(t.numa_nodes) : nlohmann::ordered_json();
  out["guesses"] = nlohmann::ordered_json::array();
  for (const TopologyGuess& g : guessed.guesses) out["guesses"].push_back({{"what", g.what}, {"taken", g.taken}, {"reason", g.reason}});
  out["unknown"] = guessed.unknown;
  out["inferred"] = t.doubts;
  out["warnings"] = t.warnings;
  if (!stock.empty()) {
    out["compared_with"] = stock;
    out["differences"] = different;
  }
  return out;
}

[[nodiscard]] std::string counted(std::size_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

[[nodiscard]] std::string to_text(const DescribedTopology& t, const GuessedSystem& guessed, const std::string& stock,
                                  const std::vector<std::string>& different, const std::string& written) {
  const bool amd = t.vendor == "amd";
  const std::string links =
      !t.links_said ? "direct links not said"
      : t.links_per_gpu() == 0
          ? fmt::format("no {}", amd ? "XGMI" : "NVLink")
          : fmt::format("{} of each GPU{}", counted(static_cast<std::size_t>(t.links_per_gpu()), amd ? "XGMI link" : "NVLink"),
                        t.switched ? ", to switches" : "");
  std::string out =
      wrapped("", fmt::format("{}: {}, {}, {}, {} ({})", guessed.name, counted(t.gpus.size(), "GPU"), links, counted(t.nics.size(), "NIC"),
                              counted(static_cast<std::size_t>(t.sockets), "socket"), t.format));
  out += "\nGuessed\n";
  for (const TopologyGuess& g : guessed.guesses) out += wrapped(fmt::format("  {:<18}{:<16}", g.what, g.taken), g.reason);
  if (!t.doubts.empty()) {
    out += "\nInferred\n";
    for (const std::string& one : t.doubts) out += wrapped("  ", one);
  }
  if (!guessed.unknown.empty()) {
    out += "\nNot known from this file\n";
    for (const std::string& one : guessed.unknown) out += wrapped("  ", one);
  }
  if (!t.warnings.empty()) {
    out += "\nWarnings\n";
    for (const std::string& one : t.warnings) out += wrapped("  ", one);
  }
  if (!stock.empty()) {
    out += fmt::format("\nAgainst {}\n", stock);
    if (different.empty()) out += "  no difference that this file could show\n";
    for (const std::string& one : different) out += wrapped("  ", one);
  }
  out += written.empty()
             ? fmt::format("\n-o FILE.yaml writes it as a system; then: fabricost predict all_reduce --system FILE.yaml --size 64MiB\n")
             : fmt::format("\nWritten to {}: fabricost predict all_reduce --system {} --size 64MiB\n", written, written);
  return out;
}

}  // namespace

void add_topo(CLI::App& app, Runner& runner) {
  struct Options {
    std::string file, compare, output;
    bool json = false;
  };
  const auto options = std::make_shared<Options>();
  CLI::App& sub = *app.add_subcommand("topo", "A machine from nvidia-smi topo -m, rocm-smi --showtopo or NCCL's XML");
  sub.add_option("FILE", options->file, "What one of them printed or wrote")->option_text(" ");
  sub.add_option("--compare", options->compare, "Say what differs from this machine")->option_text("SYSTEM");
  sub.add_option("--output,-o", options->output, "Write it as a system file")->option_text("FILE");
  sub.add_flag("--json", options->json, "Print JSON");
  sub.footer("Example: nvidia-smi topo -m > topo.txt; fabricost topo topo.txt --compare dgx-h100");
  runner.add(sub, [options](const Terminal& terminal) {
    if (options->file.empty())
      throw RequestError("which file? What nvidia-smi topo -m or rocm-smi --showtopo printed, or NCCL's topology XML");
    const DescribedTopology topology = read_topology(options->file);
    const std::string stem = options->output.empty() ? "" : std::filesystem::path(options->output).stem().string();
    const GuessedSystem guessed = system_from(topology, stem);
    std::vector<std::string> different;
    if (!options->compare.empty()) different = differences(topology, guessed, load_system(options->compare));
    if (!options->output.empty()) write_file(options->output, guessed.yaml, "--output");
    return options->json ? printed(to_json(topology, guessed, options->compare, different))
                         : terminal.strong_headings(to_text(topology, guessed, options->compare, different, options->output));
  });
}

}  // namespace fabricost::cli
