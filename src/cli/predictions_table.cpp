/// \file predictions_table.cpp
/// Rows of predictions.

#include "predictions_table.hpp"

#include "text/text_table.hpp"
#include "report.hpp"

#include <fabricost/text/quantity.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace fabricost::cli {

std::string predictions_table(const std::vector<Prediction>& predictions, bool counts) {
  std::vector<TextTable::Column> columns;
  for (const char* first : counts ? std::vector<const char*>{"nodes", "ranks"} : std::vector<const char*>{"size"})
    columns.push_back({first, right});
  for (const char* title : {"time", "algbw GB/s", "busbw GB/s"}) columns.push_back({title, right});
  columns.push_back({"runs"});
  columns.push_back({"bottleneck"});
  columns.push_back({"nine in ten within", right});
  TextTable rows{columns};
  for (const Prediction& p : predictions) {
    std::vector<std::string> cells;
    if (counts)
      cells = {std::to_string(p.nodes), std::to_string(p.ranks)};
    else
      cells = {size_text(p.operation.bytes)};
    cells.push_back(time_text(p.time()));
    cells.push_back(fmt::format("{:.2f}", p.algorithm_bandwidth().value() / 1e9));
    cells.push_back(fmt::format("{:.2f}", p.bus_bandwidth().value() / 1e9));
    cells.push_back(fmt::format("{} {}", p.algorithm.view(), p.protocol.view()));
    cells.emplace_back(p.bottleneck().tier.view());
    cells.push_back(fmt::format("{} .. {}", time_text(Time::from_value(p.low)), time_text(Time::from_value(p.high))));
    rows.row(cells);
  }
  return rows.text(2);
}

std::string predictions_json(const System& system, const std::vector<Prediction>& predictions) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const Prediction& p : predictions) out.push_back(to_json(system, p));
  return printed(out);
}

}  // namespace fabricost::cli
