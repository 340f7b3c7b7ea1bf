/// fabricost topo: the answer as text.

#include "cli/question_command.hpp"
#include "cli/subcommands.hpp"

#include <fabricost/observe/answers/topo.hpp>

#include <filesystem>

namespace fabricost::cli {
namespace {

struct TopoTyped : TopoRequest {
  OutputPath output;

  static RequestTable<TopoTyped> fields() {
    return {TopoRequest::fields(), asks(&TopoTyped::output, "", "--output,-o", "FILE", "Write it as a system file")};
  }
};

/// The system is named after the file.
[[nodiscard]] TopoAnswer answer(const TopoTyped& typed) {
  TopoRequest request = typed;
  request.name = std::filesystem::path(typed.output.path).stem().string();
  return fabricost::observe::answer(request);
}

void topo_text(Page& page, const TopoAnswer& a, const TopoTyped& typed) {
  page.width = 80;
  const std::string links =
      !a.links_stated ? "direct links not said"
      : a.links_per_gpu == 0
          ? fmt::format("no {}", a.amd ? "XGMI" : "NVLink")
          : fmt::format("{} of each GPU{}", counted(a.links_per_gpu, a.amd ? "XGMI link" : "NVLink"), a.switched ? ", to switches" : "");
  page.add_headed(wrapped("", fmt::format("{}: {}, {}, {}, {} ({})", a.name, counted(a.gpus, "GPU"), links, counted(a.nics, "NIC"),
                                          counted(a.sockets, "socket"), a.format)));
  page.section("Guessed");
  for (const GuessAnswer& g : a.guesses) page.item(fmt::format("  {:<18}{:<16}", g.what, g.taken), g.reason);
  const auto section = [&](const char* title, const std::vector<std::string>& lines) {
    if (!lines.empty()) {
      page.section(title);
      page.items("  ", lines);
    }
  };
  section("Inferred", a.inferred);
  section("Not known from this file", a.unknown);
  section("Warnings", a.warnings);
  if (a.compared_with) {
    page.section("Against {}", *a.compared_with);
    if (a.differences.empty()) page.line("no difference that this file could show");
    page.items("  ", a.differences);
  }
  if (typed.output.empty())
    page.section("-o FILE.yaml writes it as a system; then: fabricost predict all_reduce --system FILE.yaml --size 64MiB");
  else
    page.section("Written to {0}: fabricost predict all_reduce --system {0} --size 64MiB", typed.output.path);
}

}  // namespace

void add_topo(CLI::App& app, Runner& runner) {
  add_command<TopoTyped>(app, runner, "topo", "A machine from nvidia-smi topo -m, rocm-smi --showtopo or NCCL's XML",
                         "Example: nvidia-smi topo -m > topo.txt; fabricost topo topo.txt --compare dgx-h100",
                         [](const GivenOptions& o, const Terminal& terminal) {
                           return output_of<TopoTyped>(o.typed, o.json, terminal, topo_text,
                                                       [](const TopoAnswer& a, const TopoTyped& typed) {
                                                         if (!typed.output.empty()) write_output(typed.output, a.yaml, "--output");
                                                       });
                         });
}

}  // namespace fabricost::cli
