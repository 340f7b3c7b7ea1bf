/// \file titles.cpp
/// Titles of cases.

#include "measure/plan/plan.hpp"

#include <fabricost/text/quantity.hpp>
#include <fabricost/units.hpp>

#include <fmt/format.h>

namespace fabricost::probes::measure {

namespace {

std::string pairs_text(const Case& what) {
  if (what.pairs.size() == 1) return fmt::format("GPU {}>{}", what.pairs[0].first, what.pairs[0].second);
  std::string all;
  for (const auto& [from, to] : what.pairs) all += fmt::format("{}{}>{}", all.empty() ? "" : ",", from, to);
  return fmt::format("{} pairs at once ({})", what.pairs.size(), all);
}

std::string collective_text(const Case& what) {
  std::string out{name(what.operation)};
  if (what.gpus.size() == 2)
    out += fmt::format(" on GPUs {} and {}", what.gpus[0], what.gpus[1]);
  else if (!what.gpus.empty())
    out += fmt::format(" on {} GPU{}", what.gpus.size(), what.gpus.size() == 1 ? "" : "s");
  if (!what.pairs.empty()) out += fmt::format(" {}>{}", what.pairs[0].first, what.pairs[0].second) + (what.both_ways ? " both ways" : "");
  out += fmt::format(", {}", name(what.dtype));
  if (what.algorithm) out += fmt::format(", {}", name(*what.algorithm));
  if (what.protocol) out += fmt::format("{}{}", what.algorithm ? " " : ", ", name(*what.protocol));
  if (what.nvls) out += *what.nvls ? ", nvls on" : ", nvls off";
  if (what.in_place) out += ", in place";
  if (what.registered != Registration::none) out += what.registered == Registration::own ? ", registered" : ", registered symmetric";
  return out;
}

}  // namespace

std::string title_of(const Case& what) {
  std::string out{word(what.kind)};
  switch (type_of(what.kind).group) {
    case ProbeGroup::collectives: return collective_text(what);
    case ProbeGroup::overlap: return fmt::format("{} beside {}", out, collective_text(what));
    case ProbeGroup::peer: out += ", " + pairs_text(what) + (what.both_ways ? ", both ways" : ""); break;
    case ProbeGroup::host:
      out += what.gpus.empty() ? fmt::format(", GPU {}", what.gpu) : fmt::format(", GPUs {} at once", fmt::join(what.gpus, " "));
      out += fmt::format(", {}{}", what.pinned ? "pinned" : "pageable", what.both_ways ? ", both ways" : "");
      break;
    default: out += fmt::format(", GPU {}", what.gpu); break;
  }
  return out + (what.cold ? ", cold L2" : "");
}

std::string title_with_size(const Case& what) {
  if (what.bytes == 0) return title_of(what);
  return fmt::format("{}, {}", title_of(what), size_text(units::B(static_cast<double>(what.bytes))));
}

}  // namespace fabricost::probes::measure
