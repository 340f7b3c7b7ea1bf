#pragma once
/// Fields that do not go with the rest of a request.

#include <fabricost/error.hpp>
#include <fabricost/fields/field.hpp>

#include <fmt/format.h>

#include <initializer_list>
#include <string_view>

namespace fabricost::core {

/// \param why of the name of a field: "<{}> is of several sites; say how many with <sites>" \throws Refusal for the first that is given
template <HasFields Request>
void refuse_given(const Request& request, std::initializer_list<std::string_view> names, std::string_view why) {
  for (const std::string_view name : names)
    if (is_given(request, name)) throw Refusal(fmt::format(fmt::runtime(why), name));
}

}  // namespace fabricost::core
