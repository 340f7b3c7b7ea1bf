#pragma once
/// \file page.hpp
/// Tables as Markdown: a heading, an introduction, the rows, a conclusion.

#include "tables.hpp"

#include <string>
#include <vector>

namespace seed_tables {

/// Tables under one heading.
struct Section {
  std::string title;
  std::string about{};
  std::vector<Table> tables;
  std::string closing{};  ///< Markdown after the tables
};

/// The whole page: introduction, contents, sections.
[[nodiscard]] std::string page(const std::vector<Section>& sections);

/// One table with its heading.
[[nodiscard]] std::string markdown(const Table& table);

/// The `topo -m` example and the three GPUs that contradict each other (topology.cpp).
[[nodiscard]] std::string topology_example();

/// The number of the texts' claims by verdict, by topic and by text (claims.cpp).
[[nodiscard]] std::string claim_summary();

}  // namespace seed_tables
