#pragma once
/// \file serve_words.hpp
/// What plan --serve is told in words of its own: how tokens choose experts, how much lies in the host's memory.

#include <fabricost/serving/decode.hpp>

#include <string>
#include <string_view>

namespace fabricost::cli {

/// "balanced", "uniform", "zipf:1.2" or "histogram:FILE", a file of one count for each expert in their order, separated by blanks,
/// commas or lines; lines that start with # are comments. \throws RequestError naming what is known; SpecError with line and column for the
/// file
[[nodiscard]] Routing routing_of(const std::string& text);

/// GiB of each GPU, as bytes; 0 where nothing is given. \throws RequestError
[[nodiscard]] double gibi_of(const std::string& text, std::string_view option);

}  // namespace fabricost::cli
