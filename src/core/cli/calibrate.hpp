#pragma once
/// What fabricost calibrate was asked, the kinds of files that other components calibrate from, and fits as text.

#include "cli/page.hpp"
#include "cli/question_command.hpp"

#include <fabricost/answers/calibrate.hpp>
#include <fabricost/answers/constants.hpp>

#include <optional>
#include <span>
#include <string>

namespace fabricost::cli {

struct CalibrateTyped : CalibrateRequest {
  OutputPath out;
  std::string date;
  bool list = false;

  static RequestTable<CalibrateTyped> fields() {
    using R = CalibrateTyped;
    using enum Amount;
    return {CalibrateRequest::fields(),
            asks(&R::out, "out", "--out,-o", "FILE",
                 "Write the calibration there; a folder when machines are fitted\ntogether; of fabricost measure's files "
                 "this-machine.yaml"),
            asks(&R::date, "date", "--date", "YYYY-MM-DD", "The date to write into it; default today, or the day of the measurement"),
            asks(&R::list, "list", "--list", "", "List the constants, with a machine's values where one is\nnamed; nothing is fitted")};
  }
};

/// Calibrates from files of a kind of its own: the text to print, or nothing where the files are of another kind.
using CalibrateJob = std::optional<std::string> (*)(const CalibrateTyped& typed, bool json, const Terminal& terminal);
/// Those of this build, in the order in which they are asked (components.cpp).
[[nodiscard]] std::span<const CalibrateJob> calibrate_jobs();
/// The files of fabricost measure as a system file of this machine: probes.
[[nodiscard]] std::optional<std::string> calibrate_machine_files(const CalibrateTyped& typed, bool json, const Terminal& terminal);
/// The fits of tables of published results: plan.
[[nodiscard]] std::optional<std::string> calibrate_tables(const CalibrateTyped& typed, bool json, const Terminal& terminal);
/// Those of points, whatever the files are: core.
[[nodiscard]] std::optional<std::string> calibrate_points(const CalibrateTyped& typed, bool json, const Terminal& terminal);

/// Refuses a request without files, or for several machines without a folder to write to. \throws Refusal, RequestError
void check_samples(const CalibrateTyped& typed);

/// Writes the files of a fit of several machines. \param files names and texts
void write_fitted_files(const CalibrateTyped& typed, const std::vector<FittedFile>& files);

void text_of(Page& page, const Calibration& fit);
void add_residuals(Page& page, const char* heading, const std::vector<ClassResidual>& classes);
void add_skipped(Page& page, const std::vector<Skipped>& skipped);
void text_of(Page& page, const ConstantsAnswer& constants);

}  // namespace fabricost::cli
