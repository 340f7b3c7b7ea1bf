#pragma once
/// \file requests.hpp
/// Typed values that only one question has: the axes and collectives of share.

#include "faces/typed.hpp"

#include <fabricost/answers/share.hpp>

#include <string>
#include <string_view>

namespace fabricost {

/// "tp=8,pp=4,dp".
void from_text(const std::string& text, std::string_view option, const Amount&, const Range&, LayoutAxes& out);
/// "all_reduce 1GiB over dp".
void from_text(const std::string& text, std::string_view option, const Amount&, const Range&, GroupedRequest& out);

}  // namespace fabricost
