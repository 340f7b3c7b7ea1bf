/// \file report_page.cpp
/// fabricost report: the Python package draws the page; this subcommand explains how to call it. The
/// `fabricost` that pip installs calls it directly.

#include "cli/runner.hpp"
#include "cli/subcommands.hpp"

#include <fabricost/error.hpp>

namespace fabricost::cli {

void add_report(CLI::App& app, Runner& runner) {
  CLI::App& sub = *app.add_subcommand("report", "One HTML page of answers, pictures, sources (by the Python package)");
  sub.prefix_command();  // the package parses the arguments
  sub.footer("Example: python3 -m fabricost report dgx-h100 all_reduce --size 256MiB --ranks 64 -o report.html");
  runner.add(sub, [&sub](const Terminal&) -> std::string {
    std::string asked;
    for (const std::string& word : sub.remaining())
      asked += " " + (word.find_first_of(" \t\"'$`\\&;|<>()*?") == std::string::npos ? word : "...");
    throw RequestError(
        "pages are drawn by the Python package; install it (pip install 'fabricost[plot]', or ./quickstart) and run: "
        "python3 -m fabricost report" +
        (asked.empty() ? " SYSTEM OPERATION --size 256MiB -o report.html" : asked));
  });
}

}  // namespace fabricost::cli
