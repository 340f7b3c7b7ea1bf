#pragma once
/// \file figures.hpp
/// Single numbers of the tables of examples/seed_tables, compared with figures computed independently of this
/// library ("reference": recalculated by hand and in Python from the formulas shown, when the five texts were
/// checked). check_page.py tests that the page as a whole is current.

#include "catch.hpp"
#include "seed_tables/tables.hpp"

#include <cstddef>

namespace seed_tables {

inline double ours(const Table& table, const char* label) { return table.row(label).ours.value; }
inline double beside(const Table& table, const char* label, std::size_t column) { return table.row(label).beside.at(column).value; }
inline Verdict verdict(const Table& table, const char* label) { return table.row(label).verdict; }

}  // namespace seed_tables
