/// Transfers explained line by line: the parts of the path, their rates, and the sum.

#include "text/text_table.hpp"

#include <fabricost/plan/explain/transfer.hpp>
#include <fabricost/text/quantity.hpp>

#include <fmt/format.h>

#include <cmath>

namespace fabricost::plan {
namespace {

[[nodiscard]] std::string micro(double seconds) { return fmt::format("{:.3f}", seconds * 1e6); }
[[nodiscard]] std::string gigabytes(double rate) { return fmt::format("{:.6g} GB/s", rate / 1e9); }
[[nodiscard]] std::string line_text(const TransferLine& line) {
  return fmt::format("{} us + s / {}", micro(line.start), gigabytes(line.rate));
}
[[nodiscard]] std::string crossing(double bytes, double from) {
  if (std::isfinite(from)) return fmt::format("faster than RDMA from {:.6g} B on", from);
  if (std::isinf(bytes)) return "faster than RDMA at every size";
  if (bytes <= 0) return "never faster than RDMA";
  return fmt::format("as fast as RDMA at {:.6g} B", bytes);
}

}  // namespace

std::string explain(const TransferTime& t) {
  double slowest = t.parts.empty() ? 0 : t.parts[0].rate;
  for (const TransferPart& part : t.parts) slowest = std::min(slowest, part.rate);
  TextTable parts{"", ">", ""};
  for (const TransferPart& part : t.parts)
    parts.row({std::string{part.name.view()}, gigabytes(part.rate), part.rate == slowest ? "<- slowest" : ""});
  std::string out = parts.text(4);
  out += fmt::format("    {:.9g} s + {:.9g} GB / {}", t.latency, t.bytes / 1e9, gigabytes(slowest));
  if (t.gather > 0) out += fmt::format(" + {:.9g} s of gathering", t.gather);
  return out + fmt::format(" = {:.9g} s\n", t.seconds);
}

std::string explain(const LoadingWays& loading) {
  std::string out = "The arithmetic: latency + bytes of a node / slowest part on the way\n";
  for (const auto& [sharing, direct, through_host] : loading.ways) {
    out += fmt::format("  {}, direct\n{}", name(sharing), explain(direct));
    out += fmt::format("  {}, through the host\n{}", name(sharing), explain(through_host));
  }
  return out;
}

std::string explain(const AccessLines& lines) {
  TextTable table{"", "", ""};
  table.row({"store", line_text(lines.store), crossing(lines.stores_until, faster_from(lines.store, lines.rdma))});
  table.row({"load", line_text(lines.load), crossing(lines.loads_until, faster_from(lines.load, lines.rdma))});
  table.row({"RDMA", line_text(lines.rdma)});
  return "The arithmetic, s bytes\n" + table.text(2);
}

std::string explain(const Incast& met) {
  TextTable table{"", "", "", ">"};
  table.row({"one alone", line_text(met.one), "=", micro(met.alone) + " us"});
  table.row({"all at once", line_text({met.one.start, met.rate}), "=", micro(met.seconds) + " us"});
  return "The arithmetic, s bytes of each\n" + table.text(2);
}

}  // namespace fabricost::plan
