/// \file calibrate.cpp
/// fabricost calibrate: fits constants to measurements, with the certainty of each; from the output of
/// fabricost measure it writes this machine as a system file.

#include "cli/collectives/calibrate_text.hpp"
#include "cli/face.hpp"
#include "cli/subcommands.hpp"
#include "text/write_fitted.hpp"

#include <fabricost/answers/constants.hpp>
#include <fabricost/answers/this_machine.hpp>
#include <fabricost/evaluation/calibrate.hpp>

#include <filesystem>

namespace fabricost::cli {
namespace {

constexpr const char* usual_points = "measured.csv";
constexpr const char* usual_machine = "this-machine.yaml";

struct CalibrateTyped : CalibrateFilesRequest {
  OutputPath out;
  std::string date;
  bool list = false;

  static constexpr auto fields() {
    using R = CalibrateTyped;
    using enum Amount;
    return tables(
        CalibrateRequest::fields(),
        Table{asks(&R::out, "out", "--out,-o", "FILE",
                   "Write the calibration there; a folder when machines are fitted\ntogether; of fabricost measure's files "
                   "this-machine.yaml"),
              asks(&R::date, "date", "--date", "YYYY-MM-DD", "The date to write into it; default today, or the day of the measurement"),
              asks(&R::list, "list", "--list", "", "List the constants, with a machine's values where one is\nnamed; nothing is fitted")});
  }
};

/// The points of a GPU measurement among the given files, or measured.csv of this folder where no file was
/// given. Empty when there is no machine file, when only MPI ranks were measured, or when only its
/// collectives are to be fitted. \throws SpecError when the machine file cannot be read
[[nodiscard]] std::optional<std::string> whole_machine(const CalibrateTyped& typed) {
  if (typed.only || !typed.leave_out.empty() || typed.nodes > 0 || typed.ranks > 0 || typed.samples.size() > 1) return std::nullopt;
  const std::string points = typed.samples.empty() ? usual_points : typed.samples.front().file;
  std::error_code error;
  if (!std::filesystem::exists(points, error) || !std::filesystem::exists(machine_file_of(points), error)) return std::nullopt;
  if (machine_file_of(points) == points || !lists_gpus(machine_file_of(points))) return std::nullopt;
  return points;
}

[[nodiscard]] bool is_date(const std::string& text) {
  bool fine = text.size() == 10;
  for (std::size_t i = 0; fine && i < text.size(); ++i) fine = i == 4 || i == 7 ? text[i] == '-' : text[i] >= '0' && text[i] <= '9';
  return fine;
}

/// Checks that need no file.
void check(const CalibrateTyped& typed, bool machine) {
  if (typed.samples.empty() && !machine)
    throw Refusal(
        "from which measurements? Name them with <samples>; or run fabricost measure, whose measured.csv and measured.machine.yaml in "
        "this folder need no name");
  if (!typed.date.empty() && !is_date(typed.date))
    throw RequestError(fmt::format("--date {}: is no date; write it as 2026-01-31", typed.date));
  if (!machine && !typed.system && !typed.out.empty() && !std::filesystem::is_directory(typed.out.path))
    throw RequestError(
        fmt::format("-o {}: several machines are fitted together, so this must be a folder: one file for each set of constants "
                    "is written there",
                    typed.out.path));
}

[[nodiscard]] std::string of_machine(const std::string& points, const CalibrateTyped& typed, bool json, const Terminal& terminal) {
  MachineAnswer found =
      answer(CalibrateMachineRequest{.path = points, .system = typed.system, .calibration = typed.calibration, .date = typed.date});
  found.file = typed.out.empty() ? usual_machine : typed.out.path;
  std::string out = shown(found, json, terminal, [](Page& page, const MachineAnswer& a) { text_of(page, a.made, a.file); });
  write_output({found.file}, this_machine_yaml(found.made), "--out");
  return out;
}

/// Writes a file if one machine was fitted, a folder otherwise.
template <class Fit>
void write(const CalibrateTyped& typed, const Fit& fit, const std::string& date) {
  if constexpr (std::same_as<Fit, CalibrationAnswer>)
    if (typed.system) return write_output(typed.out, fit.yaml(calibration_name(typed.out.path), date), "--out");
  for (const auto& [file, text] : fit.files(date)) {
    const std::filesystem::path path = std::filesystem::path{typed.out.path} / file;
    std::filesystem::create_directories(path.parent_path());
    io::write_fitted(path.string(), text, "--out");
  }
}

[[nodiscard]] std::string of_samples(const CalibrateTyped& typed, bool json, const Terminal& terminal) {
  const std::string date = typed.date.empty() ? today() : typed.date;
  return std::visit(
      [&](const auto& fit) {
        std::string out = shown(fit, json, terminal, [](Page& page, const auto& a) { text_of(page, a.made); });
        if (!typed.out.empty()) write(typed, fit, date);
        if constexpr (std::same_as<std::remove_cvref_t<decltype(fit)>, CalibrationAnswer>)
          for (const std::string& warning : fit.warnings)
            if (!json) out.insert(0, wrapped("warning: ", warning));
        if constexpr (std::same_as<std::remove_cvref_t<decltype(fit)>, ServingFitAnswer>)
          if (!json && typed.out.empty()) out += fit.files(date).front().second;
        return out;
      },
      answer(static_cast<const CalibrateFilesRequest&>(typed)));
}

[[nodiscard]] std::string list_of(const CalibrateTyped& typed, bool json, const Terminal& terminal) {
  if (!typed.samples.empty() || !typed.out.empty()) throw Refusal("<list> fits nothing; leave <samples> and <out> out");
  return shown(answer(ConstantsRequest{typed.system, typed.only, typed.calibration}), json, terminal,
               [](Page& page, const ConstantsAnswer& a) { text_of(page, a); });
}

}  // namespace

void add_calibrate(CLI::App& app, Runner& runner) {
  constexpr const char* footer =
      "Example: fabricost calibrate --system dgx-h100 --from all_reduce.log -o mine.yaml\n"
      "then     fabricost predict all_reduce --system dgx-h100 --size 1GiB --calibration mine.yaml\n"
      "or       fabricost measure && fabricost calibrate, then --system this-machine.yaml";
  const auto job = [](const GivenOptions& o, const Terminal& terminal) {
    return spelled_out<CalibrateTyped>([&] {
      const auto typed = request_of<CalibrateTyped>(o.typed);
      if (typed.list) return list_of(typed, o.json, terminal);
      const std::optional<std::string> machine = whole_machine(typed);
      check(typed, machine.has_value());
      return machine ? of_machine(*machine, typed, o.json, terminal) : of_samples(typed, o.json, terminal);
    });
  };
  add_command<CalibrateTyped>(app, runner, "calibrate", "Fit the constants of a machine to measurements of it", footer, job);
}

}  // namespace fabricost::cli
