#pragma once
/// \file moe.hpp
/// moe_dispatch and moe_combine on the command line: their options, answers as text and JSON, and what validate and calibrate print of
/// measured ones.

#include "face.hpp"
#include "question.hpp"
#include "runner.hpp"

#include <fabricost/evaluation/moe_kernel_rows.hpp>

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace fabricost::cli {

/// As typed.
struct MoeOptions {
  Typed typed;
};

/// OP and all options of predict and explain but those of the output.
void add_prediction_question(CLI::App& subcommand, Question& question, MoeOptions& moe, bool& fused_norm);
/// \throws RequestError for options that do not go together
void check_prediction_question(const Question& question, const MoeOptions& moe, bool fused_norm);

/// Whether OP is moe_dispatch, moe_combine or moe_prepare.
[[nodiscard]] bool is_moe(const std::string& operation);
/// \throws RequestError when an option of theirs was given to another operation
void refuse_moe_options(const MoeOptions& options, const std::string& operation);

/// The answer, whole: as predict prints it, or its story. \throws RequestError, SpecError
[[nodiscard]] std::string answer_moe(const Question& question, const MoeOptions& options, bool json, const Terminal& terminal);
[[nodiscard]] std::string explain_moe(const Question& question, const MoeOptions& options, bool json, const Terminal& terminal);

/// Whether all files are MoE CSVs; none. \throws RequestError when only some are
[[nodiscard]] bool are_moe_tables(const std::vector<std::string>& files);

[[nodiscard]] nlohmann::ordered_json to_json(const MoeKernelReport& report);
[[nodiscard]] nlohmann::ordered_json to_json(const KernelCalibration& fit);
[[nodiscard]] std::string text_of(const KernelCalibration& fit, const Terminal& terminal);

}  // namespace fabricost::cli
