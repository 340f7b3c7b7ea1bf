/// \file calibrate.cpp
/// fabricost calibrate: fits constants to measurements, with the certainty of each.

#include "cli/calibrate.hpp"

#include "cli/calibrate_text.hpp"
#include "cli/subcommands.hpp"
#include "text/write_fitted.hpp"

#include <fabricost/answers/constants.hpp>

#include <filesystem>

namespace fabricost::cli {
namespace {

[[nodiscard]] bool is_date(const std::string& text) {
  bool fine = text.size() == 10;
  for (std::size_t i = 0; fine && i < text.size(); ++i) fine = i == 4 || i == 7 ? text[i] == '-' : text[i] >= '0' && text[i] <= '9';
  return fine;
}

[[nodiscard]] std::string list_of(const CalibrateTyped& typed, bool json, const Terminal& terminal) {
  if (!typed.samples.empty() || !typed.out.empty()) throw Refusal("<list> fits nothing; leave <samples> and <out> out");
  return shown(answer(ConstantsRequest{typed.system, typed.only, typed.calibration}), json, terminal,
               [](Page& page, const ConstantsAnswer& a) { text_of(page, a); });
}

}  // namespace

void check_samples(const CalibrateTyped& typed) {
  if (typed.samples.empty())
    throw Refusal(
        "from which measurements? Name them with <samples>; or run fabricost measure, whose measured.csv and measured.machine.yaml in "
        "this folder need no name");
  if (!typed.system && !typed.out.empty() && !std::filesystem::is_directory(typed.out.path))
    throw RequestError(
        fmt::format("-o {}: several machines are fitted together, so this must be a folder: one file for each set of constants "
                    "is written there",
                    typed.out.path));
}

void write_fitted_files(const CalibrateTyped& typed, const std::vector<FittedFile>& files) {
  for (const auto& [file, text] : files) {
    const std::filesystem::path path = std::filesystem::path{typed.out.path} / file;
    std::filesystem::create_directories(path.parent_path());
    write_fitted(path.string(), text, "--out");
  }
}

std::optional<std::string> calibrate_points(const CalibrateTyped& typed, bool json, const Terminal& terminal) {
  check_samples(typed);
  const std::string date = typed.date.empty() ? today() : typed.date;
  const CalibrationAnswer fit = answer(static_cast<const CalibrateRequest&>(typed));
  std::string out = shown(fit, json, terminal, [](Page& page, const CalibrationAnswer& a) { text_of(page, a.made); });
  if (!typed.out.empty() && typed.system)
    write_output(typed.out, fit.yaml(calibration_name(typed.out.path), date), "--out");
  else if (!typed.out.empty())
    write_fitted_files(typed, fit.files(date));
  for (const std::string& warning : fit.warnings)
    if (!json) out.insert(0, wrapped("warning: ", warning));
  return out;
}

void add_calibrate(CLI::App& app, Runner& runner) {
  constexpr const char* footer =
      "Example: fabricost calibrate --system dgx-h100 --from all_reduce.log -o mine.yaml\n"
      "then     fabricost predict all_reduce --system dgx-h100 --size 1GiB --calibration mine.yaml\n"
      "or       fabricost measure && fabricost calibrate, then --system this-machine.yaml";
  const auto job = [](const GivenOptions& o, const Terminal& terminal) {
    return spelled_out<CalibrateTyped>([&] {
      const auto typed = request_of<CalibrateTyped>(o.typed);
      if (typed.list) return list_of(typed, o.json, terminal);
      if (!typed.date.empty() && !is_date(typed.date))
        throw RequestError(fmt::format("--date {}: is no date; write it as 2026-01-31", typed.date));
      std::optional<std::string> out;
      for (const CalibrateJob kind : calibrate_jobs())
        if (!out) out = kind(typed, o.json, terminal);
      return *std::move(out);  // points are the last
    });
  };
  add_command<CalibrateTyped>(app, runner, "calibrate", "Fit the constants of a machine to measurements of it", footer, job);
}

}  // namespace fabricost::cli
