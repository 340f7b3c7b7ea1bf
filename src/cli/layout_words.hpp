#pragma once
/// \file layout_words.hpp
/// Words for collectives that run at once: a layout's axes, and "all_reduce 1GiB over dp by ring".

#include <fabricost/network/at_once.hpp>
#include <fabricost/network/axes.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace fabricost::cli {

/// "tp=8,pp=4,dp": sizes inside out; one axis without a size takes what is left.
/// \throws RequestError when they do not multiply to `gpus`
[[nodiscard]] std::vector<Axis> parse_layout(const std::string& text, int gpus);

/// "OP SIZE [over AXIS|COUNT|all] [every STRIDE] [by ALGORITHM] [under PROTOCOL] [in TYPE] [weight W]"
/// \throws RequestError naming the word and what would do
[[nodiscard]] GroupedCollective parse_grouped(const std::string& text, const std::vector<Axis>& layout);

}  // namespace fabricost::cli
