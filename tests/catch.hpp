#pragma once
/// \file catch.hpp
/// Includes Catch2 under one name: versions 2 (one header) and 3 (many) keep their headers in different
/// places.

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;  // version 2 has it in the global namespace
namespace Catch {
inline auto Contains(const std::string& text) { return Matchers::ContainsSubstring(text); }  // as version 2 calls it
}  // namespace Catch
#elif __has_include(<catch2/catch.hpp>)
#include <catch2/catch.hpp>
#else
#error "Catch2 was not found: install it (Debian and Ubuntu: apt install catch2)"
#endif

/// Equal up to that share of the value.
inline Approx within(double value, double share) { return Approx(value).epsilon(share); }
