#pragma once
/// \file sections.hpp
/// The sections of docs/training-accuracy.md, each a text of Markdown worked out from published steps and kernels.

#include "rows.hpp"

#include <string>

namespace training {

[[nodiscard]] std::string introduction(const Published& data);
/// Errors of every fitted group: as shipped, with one scalar, left out, held out; ranks and intervals.
[[nodiscard]] std::string groups(const Published& data);
/// Steps of MLPerf by a fit without them.
[[nodiscard]] std::string never_fitted(const Published& data);
/// Peaks of memory, every group that states them; layouts that ran or ended out of memory.
[[nodiscard]] std::string memory(const Published& data);
/// The loss from choosing a layout by the model, against the best that was measured.
[[nodiscard]] std::string choices(const Published& data);
/// Groups left out of every fit, with the reason.
[[nodiscard]] std::string set_aside(const Published& data);
/// Which figure each group publishes and how it becomes seconds.
[[nodiscard]] std::string conventions(const Published& data);
/// Single kernels and collectives.
[[nodiscard]] std::string kernels(const Published& data);
/// The fitted constants and stacks with their deviations.
[[nodiscard]] std::string constants(const Published& data);
/// What leaving out each fitted constant costs.
[[nodiscard]] std::string worth(const Published& data);
/// Figures that are quoted by themselves.
[[nodiscard]] std::string named_figures(const Published& data);

}  // namespace training
