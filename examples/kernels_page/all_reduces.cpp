/// Engines' all-reduces: in sample, with a version left out of the fit, with a GPU generation left out.

#include "sections.hpp"

#include <array>
#include <map>
#include <set>
#include <span>

namespace kernels {

using namespace fabricost::plan;

namespace {

constexpr std::array<const char*, 3> over_nvlink{"dgx-a100", "dgx-h100", "dgx-b200"};
constexpr std::array<const char*, 5> fitted{"dgx-a100", "dgx-h100", "dgx-b200", "l40s-pcie", "b60-pcie"};
constexpr std::array<const char*, 4> never_fitted{"dgx-h200", "dgx-b300", "gb200-nvl72", "rtx-pro-6000-pcie"};

Points table_of(const std::filesystem::path& folder, const char* system) {
  return read_merged({folder / (std::string(system) + ".custom_allreduce.csv")});
}
Points only(const Points& all, const auto& keep) {
  Points out;
  for (const Point& p : all.points)
    if (keep(p)) out.points.push_back(p);
  return out;
}
bool in_graph(const Point& p) { return !p.from_host(); }

/// Rows that an engine's own kernel ran, by our prediction of it.
ErrorSummary of_own_kernels(const ValidationReport& report) {
  std::vector<const ComparedPoint*> own;
  for (const ComparedPoint& p : report.points)
    if (p.prediction.ran.kernel != CollectiveKernel::library) own.push_back(&p);
  return summarise(own);
}

/// Errors as shipped, by machine and engine.
std::string as_shipped(const std::filesystem::path& folder, std::span<const char* const> systems) {
  std::string out = "| system | engine | graph rows | all | own kernels | in the interval | from Python |\n|---|---|---|---|---|---|---|\n";
  const auto rows = [&](const char* system) {
    const Points all = table_of(folder, system);
    std::set<std::string> engines{""};
    for (const Point& p : all.points) engines.insert(p.library);
    for (const std::string& engine : engines) {
      const Points of = only(all, [&](const Point& p) { return engine.empty() || p.library == engine; });
      const ValidationReport graph = validate(only(of, in_graph));
      out += fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", engine.empty() ? system : "", engine.empty() ? "all" : engine,
                         graph.total.points, pair(graph.total), pair(of_own_kernels(graph)), inside(graph.total),
                         pair(validate(only(of, [](const Point& p) { return p.from_host(); })).total));
    }
  };
  for (const char* system : systems) rows(system);
  return out;
}

/// Runs that share the name l40s-pcie: what their own bus bandwidth says of the boards.
std::string boards(const std::filesystem::path& folder) {
  std::string out = "| run of 1 GiB | 2 GPUs | 4 GPUs | 8 GPUs | errors of its graph rows |\n|---|---|---|---|---|\n";
  const Points all = table_of(folder, "l40s-pcie");
  std::map<std::string, std::map<int, double>> busbw;
  constexpr double large = 1024.0 * 1024 * 1024;
  for (const Point& p : all.points)
    if (in_graph(p) && p.bytes == large) busbw[p.source.str()][p.ranks()] = 2.0 * (p.ranks() - 1) / p.ranks() * p.bytes / p.seconds / 1e9;
  for (auto& [source, of] : busbw)
    out += fmt::format(
        "| {} | {:.1f} GB/s | {:.1f} | {:.1f} | {} |\n", source.substr(source.find("l40s/") + 5), of[2], of[4], of[8],
        pair(validate(only(all, [&of_source = source](const Point& p) { return in_graph(p) && p.source.str() == of_source; })).total));
  return out + "\n";
}

std::string left_out(const std::filesystem::path& folder) {
  std::string out =
      "| left out | versions, one by one | own kernels of those | the whole generation | own kernels |\n|---|---|---|---|---|\n";
  std::map<std::string, Calibration> whole;
  std::map<std::string, Points> tables;
  for (const char* system : over_nvlink) {
    tables[system] = table_of(folder, system);
    whole[system] = calibrate_custom(tables[system]);
  }
  Average versions, own_versions, generations, own_generations;
  for (const char* system : over_nvlink) {
    std::vector<Calibration> others;
    for (const auto& [name, fit] : whole)
      if (name != system) others.push_back(fit);
    const auto predicted = [&](const Points& points, const std::vector<Calibration>& fits) {
      return validate(points, {.adjust = [&](System& s) { use_fits(ConstantSet::custom, s, fits); }});
    };
    const Points& all = tables[system];
    std::set<std::string> sources;
    for (const Point& p : all.points) sources.insert(p.source.str());
    std::vector<ComparedPoint> compared;
    for (const std::string& source : sources) {
      std::vector<Calibration> fits = others;
      fits.push_back(calibrate_custom(only(all, [&](const Point& p) { return p.source.str() != source; })));
      for (ComparedPoint& p :
           predicted(only(all, [&of_source = source](const Point& p) { return in_graph(p) && p.source.str() == of_source; }), fits).points)
        compared.push_back(std::move(p));
    }
    ValidationReport by_version;
    by_version.points = std::move(compared);
    by_version.total = summarise(by_version.points);
    const ValidationReport blind = predicted(only(all, in_graph), others);
    out += fmt::format("| {} | {} | {} | {} | {} |\n", system, pair(by_version.total), pair(of_own_kernels(by_version)), pair(blind.total),
                       pair(of_own_kernels(blind)));
    versions.add(by_version.total);
    own_versions.add(of_own_kernels(by_version));
    generations.add(blind.total);
    own_generations.add(of_own_kernels(blind));
  }
  return out + fmt::format("| averaged | {} | {} | {} | {} |\n\n", versions.text(), own_versions.text(), generations.text(),
                           own_generations.text());
}

/// Parts of the fitted machines kept from the fit.
std::string with_parts_left_out(const std::filesystem::path& folder) {
  return "Left out of the fit, rows in CUDA graphs. A version: all others of that machine are fitted; what another machine of the "
         "generation would\n"
         "get. The generation: kernels' constants come from the other two, latencies stretched by NCCL's step on that machine "
         "(parameters/related.hpp);\n"
         "NCCL's own part keeps the constants of its nccl-tests. The forms, and how far constants may move, were chosen with all of it in "
         "view.\n\n" +
         left_out(folder);
}

}  // namespace

std::string all_reduces(const std::filesystem::path& folder) {
  return "## All-reduces of engines\n\n"
         "Machines in no fit, with the shipped constants. Beyond an engine's hand-over NCCL runs, with constants fitted to NCCL alone and "
         "nothing here.\nWhat a call from Python takes is the host's and differs from run to run of one version.\n\n" +
         as_shipped(folder / "second", never_fitted) + "\n" + with_parts_left_out(folder) +
         "In sample: what was fitted, with the shipped constants.\n\n" + as_shipped(folder, fitted) +
         "\nA point labelled L40S does not name its board: runs agree on two GPUs, and differ by a factor of 6 on four and 11 on eight, as "
         "GPUs\n"
         "reach each other through a switch, or through the memory of one or two hosts. The shipped PCIe constants are those of the "
         "nccl-tests run\n"
         "(TensorRT-LLM's board seems the same); with a few points of your own board `fabricost calibrate` answers for it.\n\n" +
         boards(folder);
}

}  // namespace kernels
