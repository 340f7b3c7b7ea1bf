/// Subcommands that the Python package answers: pages, files for other programs, metrics. These here explain how to call it. The
/// `fabricost` that pip installs calls it directly.

#include "cli/runner.hpp"
#include "cli/subcommands.hpp"

#include <fabricost/error.hpp>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

namespace fabricost::cli {
namespace {

/// \param what the package does \param extra of pip that brings what it needs \param sample arguments of an example
void add_by_package(CLI::App& app, Runner& runner, const char* name, const char* help, const char* what, const char* extra,
                    const char* sample) {
  CLI::App& sub = *app.add_subcommand(name, help);
  sub.prefix_command();  // the package parses the arguments
  sub.footer(fmt::format("Example: python3 -m fabricost {} {}", name, sample));
  runner.add(sub, [&sub, name, what, extra, sample](const Terminal&) -> std::string {
    std::string asked;
    for (const std::string& word : sub.remaining())
      asked += " " + (word.find_first_of(" \t\"'$`\\&;|<>()*?") == std::string::npos ? word : "...");
    throw RequestError(fmt::format("{} by the Python package; install it (pip install 'fabricost[{}]', or ./quickstart) and run: "
                                   "python3 -m fabricost {}{}",
                                   what, extra, name, asked.empty() ? fmt::format(" {}", sample) : asked));
  });
}

}  // namespace

void add_report(CLI::App& app, Runner& runner) {
  add_by_package(app, runner, "report", "One HTML page of answers, pictures, sources (by the Python package)", "pages are drawn", "plot",
                 "dgx-h100 all_reduce --size 256MiB --ranks 64 -o report.html");
}

void add_export(CLI::App& app, Runner& runner) {
  add_by_package(app, runner, "export", "Files for XLA, Dynamo, NCCL, ASTRA-sim, Slurm (by the Python package)",
                 "other programs' files are written", "export", "xla --system gb200-nvl72 -o table.pbtxt");
}

void add_exporter(CLI::App& app, Runner& runner) {
  add_by_package(app, runner, "exporter", "Metrics for Prometheus: measured beside predicted (by the Python package)",
                 "metrics are served", "export", "--system dgx-h100 --from nccl-inspector");
}

}  // namespace fabricost::cli
