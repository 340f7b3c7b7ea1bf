#pragma once
/// What every test needs: Catch2 under one name (versions 2, one header, and 3, many, keep their headers in different places), and those of
/// the standard library's headers that more than a few tests use.

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

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
