#pragma once
/// \file moe.hpp
/// moe_dispatch and moe_combine on the command line: options, answers as text and JSON.

#include "cli/face.hpp"

#include <fabricost/answers/moe.hpp>

#include <string>

namespace fabricost::cli {

/// Adds the options that they have beyond those of predict and explain.
void add_moe_options(CLI::App& subcommand, Typed& typed);
/// \throws RequestError when one of these options was given for another operation
void refuse_moe_options(const Typed& typed);

/// An exchange as predict prints it, and as explain does.
void moe_table(Page& page, const MoeAnswer& answer);
void moe_story(Page& page, const MoeAnswer& answer);
/// The whole output. \throws RequestError, SpecError
[[nodiscard]] std::string moe_output(const Typed& typed, bool json, const Terminal& terminal, void (*text_of)(Page&, const MoeAnswer&));

}  // namespace fabricost::cli
