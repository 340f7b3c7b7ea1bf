#pragma once
/// \file without.hpp
/// The fields of a question that another one asks at many places: without those that shape an answer of its own.

#include <fabricost/fields/fields.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

namespace fabricost::plan {

/// The fields of a request but those with these options.
template <class R, const auto& options>
[[nodiscard]] constexpr auto fields_without() {
  constexpr auto all = R::fields();
  constexpr std::size_t count = decltype(all)::size;
  constexpr auto kept = [] {
    std::array<std::size_t, count> places{};
    std::size_t n = 0, place = 0;
    R::fields().apply([&](const auto&... field) {
      ((std::find(options.begin(), options.end(), field.option) == options.end() ? void(places[n++] = place) : void(), ++place), ...);
    });
    return std::pair{places, n};
  }();
  return [&]<std::size_t... i>(std::index_sequence<i...>) { return Table{all.template at<kept.first[i]>()...}; }
  (std::make_index_sequence<kept.second>{});
}

/// The options of two lists.
template <std::size_t N, std::size_t M>
[[nodiscard]] constexpr std::array<std::string_view, N + M> both(const std::array<std::string_view, N>& a, const std::array<std::string_view, M>& b) {
  std::array<std::string_view, N + M> out{};
  std::copy(b.begin(), b.end(), std::copy(a.begin(), a.end(), out.begin()));
  return out;
}

/// How many layouts are told, and what is told of the best: a search asks for the best alone, on one site and with a network of its own.
inline constexpr std::array<std::string_view, 13> not_of_a_search{
    "--top,-k",     "--sensitivity",    "--pareto",       "--explain",        "--sites",        "--site-rate",   "--site-distance",
    "--sync-every", "--sync-fragments", "--sync-overlap", "--sync-precision", "--sync-penalty", "--network-share"};

}  // namespace fabricost::plan
