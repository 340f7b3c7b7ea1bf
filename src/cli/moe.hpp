#pragma once
/// \file moe.hpp
/// moe_dispatch and moe_combine on the command line: their options, answers as text and JSON, and what validate and calibrate print of
/// measured ones.

#include "face.hpp"
#include "runner.hpp"

#include <fabricost/answers/moe.hpp>
#include <fabricost/evaluation/moe_kernel_rows.hpp>

#include <nlohmann/json_fwd.hpp>

#include <functional>
#include <string>
#include <vector>

namespace fabricost::cli {

/// Their options, beside those of predict and explain.
void add_moe_options(CLI::App& subcommand, Typed& typed);
/// \throws RequestError when an option of theirs was given to another operation
void refuse_moe_options(const Typed& typed);

/// As predict prints an exchange, and as explain tells it.
[[nodiscard]] std::string moe_table(const MoeAnswer& answer, const Terminal& terminal);
[[nodiscard]] std::string moe_story(const MoeAnswer& answer, const Terminal& terminal);
/// The answer, whole. \throws RequestError, SpecError
[[nodiscard]] std::string moe_output(const Typed& typed, bool json, const Terminal& terminal,
                                     const std::function<std::string(const MoeAnswer&, const Terminal&)>& text_of);

/// Whether all files are MoE CSVs; none. \throws RequestError when only some are
[[nodiscard]] bool are_moe_tables(const std::vector<std::string>& files);

[[nodiscard]] nlohmann::ordered_json to_json(const MoeKernelReport& report);
[[nodiscard]] nlohmann::ordered_json to_json(const KernelCalibration& fit);
[[nodiscard]] std::string text_of(const KernelCalibration& fit, const Terminal& terminal);

}  // namespace fabricost::cli
