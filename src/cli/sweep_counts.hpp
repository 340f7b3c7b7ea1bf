#pragma once
/// \file sweep_counts.hpp
/// A sweep over nodes or ranks: one size of one operation, or the sizes at which what runs and what is fastest change.

#include "question.hpp"
#include "runner.hpp"

#include <string>

namespace fabricost::cli {

enum class SweepForm : unsigned char { table, csv, json };

/// One size on several counts. \throws RequestError as ask, with the count at fault
[[nodiscard]] std::string sweep_counts(const Question& question, SweepForm form, const Terminal& terminal);

/// For every count, from which size which pair runs (the library's own choice) and from which size which is the fastest.
/// \param sizes bounds as FIRST:LAST:x2; empty: 8 B to 16 GiB \throws RequestError
[[nodiscard]] std::string sweep_crossovers(const Question& question, const std::string& sizes, SweepForm form, const Terminal& terminal);

}  // namespace fabricost::cli
