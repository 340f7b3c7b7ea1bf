#pragma once
/// \file moe.hpp
/// moe_dispatch and moe_combine on the command line: their options, answers as text and JSON.

#include "cli/face.hpp"
#include "cli/runner.hpp"

#include <fabricost/answers/moe.hpp>

#include <functional>
#include <string>

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

}  // namespace fabricost::cli
