#pragma once
/// Predictions and quantities in fmt::format and, where the standard library has it, std::format.

#include <fabricost/explain/explain.hpp>
#include <fabricost/text/print.hpp>

namespace fabricost {
using core::text_of;
}  // namespace fabricost

#if __has_include(<fmt/format.h>)
template <>
struct fmt::formatter<fabricost::core::Prediction>
    : fabricost::core::FormatAs<fmt::formatter<std::string_view>, fabricost::core::AsText> {};
#endif
#ifdef __cpp_lib_format
template <>
struct std::formatter<fabricost::core::Prediction>
    : fabricost::core::FormatAs<std::formatter<std::string_view>, fabricost::core::AsText> {};
#endif
