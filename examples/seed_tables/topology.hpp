#pragma once
/// \file topology.hpp
/// The tier where two GPUs of a PCIe tree meet, and a check that a matrix of meetings describes a tree.

#include <optional>
#include <string_view>
#include <vector>

namespace seed_tables {

/// Nearest common point of two GPUs, near to far, in nvidia-smi's words; `unknown` where a matrix is cut short.
enum class Meeting : unsigned char { same, pix, pxb, phb, node, sys, unknown };
[[nodiscard]] std::string_view name(Meeting meeting);

using Matrix = std::vector<std::vector<Meeting>>;

/// Three GPUs whose distances fit no tree.
struct Contradiction {
  int a = 0, b = 0, c = 0;
  Meeting ab, ac, bc;
};
/// The first one found, or nothing when the matrix is a tree's.
[[nodiscard]] std::optional<Contradiction> contradiction(const Matrix& matrix);

/// The example of text 001.
[[nodiscard]] Matrix matrix_of_the_text();

}  // namespace seed_tables
