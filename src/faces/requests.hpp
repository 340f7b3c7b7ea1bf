#pragma once
/// \file requests.hpp
/// Typed values that only one question has: the axes and collectives of share, the slow ranks and times of stragglers, the plan of cost.

#include "faces/typed.hpp"

#include <fabricost/answers/cost.hpp>
#include <fabricost/answers/share.hpp>
#include <fabricost/answers/stragglers.hpp>

#include <string>
#include <string_view>

namespace fabricost {

/// "tp=8,pp=4,dp".
void from_text(const std::string& text, std::string_view option, const Amount&, const Range&, LayoutAxes& out);
/// "all_reduce 1GiB over dp".
void from_text(const std::string& text, std::string_view option, const Amount&, const Range&, GroupedRequest& out);
/// The file of measured times.
void from_text(const std::string& text, std::string_view option, const Amount&, const Range&, TimesGiven& out);
/// "1%:1.1".
void from_text(const std::string& text, std::string_view option, const Amount&, const Range&, SlowKind& out);
/// Reads the fastest layout from the output of `fabricost plan --train --json`. \throws RequestError naming the file for any other content
void from_text(const std::string& file, std::string_view option, const Amount&, const Range&, PlannedRate& out);

}  // namespace fabricost
