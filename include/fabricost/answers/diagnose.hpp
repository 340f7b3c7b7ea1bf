#pragma once
/// \file diagnose.hpp
/// Is a run what its machine should give, and if not, why (diagnose/diagnose.hpp)?

#include <fabricost/answers/fields.hpp>
#include <fabricost/answers/named.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace fabricost {

struct DiagnoseRequest {
  std::filesystem::path log;
  Machine system;
  int nodes = 0, ranks = 0;
  std::string expected;

  static constexpr auto fields() {
    using R = DiagnoseRequest;
    using enum Amount;
    return std::tuple{
        Asks{&R::log, "log", "LOG", number, {}, " ", "A log of nccl-tests, or of any run with NCCL_DEBUG=INFO", true},
        Asks{&R::system, "system", "--system,-s", number, {}, "NAME", "The machine; default: what the log tells"},
        Asks{&R::nodes, "nodes", "--nodes,-n", count, any_count, "N", "Its nodes, where the log does not say"},
        Asks{&R::ranks, "ranks", "--ranks,-r", count, any_count, "R", "All ranks, where the log does not say"},
        Asks{&R::expected, "expected", "--expected,-e", number, {}, "RATE", "The bandwidth that was expected, with its unit"}};
  }
};

/// One likely cause of a slow run.
struct FindingAnswer {
  std::string cause;
  double confidence = 0;
  std::string evidence, remedy;
  bool operator==(const FindingAnswer&) const = default;

  static constexpr auto fields() {
    using A = FindingAnswer;
    return std::tuple{Gives{&A::cause, "cause", "cause", "Its name, as in `gdr_off`; those of `fabricost diagnose --json`."},
                      Gives{&A::confidence, "confidence", "confidence", "0 a guess, 1 the log says so itself."},
                      Gives{&A::evidence, "evidence", "evidence", "Lines of the log with their numbers, or the arithmetic."},
                      Gives{&A::remedy, "remedy", "remedy", "What to try."}};
  }
};

/// One size of the log, beside its prediction.
struct DiagnosedSize {
  std::string operation;
  double bytes = 0;
  int ranks = 0, nodes = 0;
  double measured_seconds = 0, predicted_seconds = 0, low_seconds = 0, high_seconds = 0, bus_bytes_per_second = 0, ratio = 0;
  bool operator==(const DiagnosedSize&) const = default;

  static constexpr auto fields() {
    using A = DiagnosedSize;
    return std::tuple{
        Gives{&A::operation, "operation", "operation", "As in `all_reduce`."},
        Gives{&A::bytes, "bytes", "bytes", "Size, byte."},
        Gives{&A::ranks, "ranks", "ranks", "GPUs that take part."},
        Gives{&A::nodes, "nodes", "nodes", "Nodes that take part."},
        Gives{&A::measured_seconds, "measured_us", "measured_seconds", "Median of the log's times, s.", in_microseconds},
        Gives{&A::predicted_seconds, "predicted_us", "predicted_seconds", "Prediction, s.", in_microseconds},
        Gives{&A::low_seconds, "interval_us[]", "low_seconds", "Least of nine in ten measurements, s.", in_microseconds},
        Gives{&A::high_seconds, "interval_us[]", "high_seconds", "Most of nine in ten measurements, s.", in_microseconds},
        Gives{&A::bus_bytes_per_second, "busbw_GBps", "bus_bytes_per_second", "Measured bus bandwidth, byte/s.", in_gigabytes_per_second},
        Gives{&A::ratio, "ratio", "", "Measured over predicted."}};
  }
};

struct DiagnosisAnswer {
  bool healthy = true;
  std::vector<FindingAnswer> causes{};
  std::string verdict, system;
  std::optional<std::string> compared_with{};  ///< the same; nothing where no prediction was possible
  bool system_guessed = false;
  std::string basis;
  std::vector<DiagnosedSize> sizes{};
  std::vector<std::string> notes;

  static constexpr auto fields() {
    using A = DiagnosisAnswer;
    return std::tuple{Gives{&A::healthy, "healthy", "healthy", "True: nothing speaks against the run."},
                      Gives{&A::causes, "causes", "causes", "List of Finding, likeliest first."},
                      Gives{&A::verdict, "verdict", "verdict", "One sentence."},
                      Gives{&A::system, "", "system", "Name of the machine it was compared with; empty: with none."},
                      Gives{&A::compared_with, "system", "", "Name of the machine it was compared with."},
                      Gives{&A::system_guessed, "system_guessed", "system_guessed", "True: told from the log, not by the caller."},
                      Gives{&A::basis, "", "basis", "What the prediction rests on: calibrated, sibling or datasheet."},
                      Gives{&A::sizes, "sizes", "", "Each size of the log."},
                      Gives{&A::notes, "notes", "notes", "What the log did not say, what was set aside."}};
  }
};

/// \throws Refusal without a log; SpecError, RequestError as diagnose
[[nodiscard]] DiagnosisAnswer answer(const DiagnoseRequest& request);

}  // namespace fabricost
