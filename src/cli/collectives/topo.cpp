/// \file topo.cpp
/// fabricost topo: the answer as text.

#include "cli/face.hpp"
#include "cli/subcommands.hpp"
#include "text/text_table.hpp"
#include "text/write_file.hpp"

#include <fabricost/answers/topo.hpp>
#include <fabricost/explain/assumed.hpp>

#include <fmt/format.h>

#include <filesystem>
#include <tuple>

namespace fabricost::cli {
namespace {

struct TopoTyped : TopoRequest {
  std::string output;

  static constexpr auto fields() {
    return tables(TopoRequest::fields(), Table{asks(&TopoTyped::output, "", "--output,-o", "FILE", "Write it as a system file")});
  }
};

/// The system is named after the file.
[[nodiscard]] TopoAnswer answer(const TopoTyped& typed) {
  TopoRequest request = typed;
  request.name = std::filesystem::path(typed.output).stem().string();
  return fabricost::answer(request);
}

[[nodiscard]] std::string topo_text(const TopoAnswer& a, const Terminal& terminal, const TopoTyped& typed) {
  const std::string& written = typed.output;
  const std::string links =
      !a.links_stated ? "direct links not said"
      : a.links_per_gpu == 0
          ? fmt::format("no {}", a.amd ? "XGMI" : "NVLink")
          : fmt::format("{} of each GPU{}", counted(a.links_per_gpu, a.amd ? "XGMI link" : "NVLink"), a.switched ? ", to switches" : "");
  std::string out = wrapped("", fmt::format("{}: {}, {}, {}, {} ({})", a.name, counted(a.gpus, "GPU"), links, counted(a.nics, "NIC"),
                                            counted(a.sockets, "socket"), a.format));
  out += "\nGuessed\n";
  for (const GuessAnswer& g : a.guesses) out += wrapped(fmt::format("  {:<18}{:<16}", g.what, g.taken), g.reason);
  const auto section = [&](const char* title, const std::vector<std::string>& lines) {
    if (lines.empty()) return;
    out += fmt::format("\n{}\n", title);
    for (const std::string& one : lines) out += wrapped("  ", one);
  };
  section("Inferred", a.inferred);
  section("Not known from this file", a.unknown);
  section("Warnings", a.warnings);
  if (a.compared_with) {
    out += fmt::format("\nAgainst {}\n", *a.compared_with);
    if (a.differences.empty()) out += "  no difference that this file could show\n";
    for (const std::string& one : a.differences) out += wrapped("  ", one);
  }
  out += written.empty()
             ? fmt::format("\n-o FILE.yaml writes it as a system; then: fabricost predict all_reduce --system FILE.yaml --size 64MiB\n")
             : fmt::format("\nWritten to {}: fabricost predict all_reduce --system {} --size 64MiB\n", written, written);
  return terminal.strong_headings(out);
}

}  // namespace

void add_topo(CLI::App& app, Runner& runner) {
  add_face<TopoTyped>(app, runner, "topo", "A machine from nvidia-smi topo -m, rocm-smi --showtopo or NCCL's XML",
                      "Example: nvidia-smi topo -m > topo.txt; fabricost topo topo.txt --compare dgx-h100", topo_text,
                      [](const TopoAnswer& a, const TopoTyped& typed) {
                        if (!typed.output.empty()) io::write_file(typed.output, a.yaml, "--output");
                      });
}

}  // namespace fabricost::cli
