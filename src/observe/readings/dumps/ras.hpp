#pragma once
/// Reads what NCCL's RAS (ncclras, 2.24 on) reports of communicators: ranks that do not answer, ranks behind in collectives, states and
/// errors of single ranks. Its text is a table with details below "#0-0 (hash) MISMATCH" (src/ras/client_support.cc); its JSON (2.28 on) is
/// written as the same lines here, so that one reader knows both.

#include "text/plain_tree.hpp"
#include "readings/logs/nccl_info.hpp"

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost::observe {

/// Ranks of a communicator of which RAS says the same.
struct RasGroup {
  enum class Kind : unsigned char { missing, launched, status };
  Kind kind = Kind::missing;
  std::string communicator;  ///< "#0-0 (fa93daea854b060b)"
  std::string what;          ///< of launched: the collective; of status: the state or error
  std::int64_t count = 0;    ///< operations launched
  int ranks = 0;             ///< how many
  std::set<int> named;       ///< those listed, often only the fewer
  std::set<std::string> nodes;
  LogLine line;
};

struct RasReport {
  bool seen = false;
  std::vector<RasGroup> groups;
};

/// Takes a log line by line; lines that are not of RAS end its report.
class RasReader {
 public:
  void take(const std::string& line, const LogLine& quoted);
  [[nodiscard]] static bool begins(std::string_view line) { return line.starts_with("Communicators..."); }
  [[nodiscard]] bool open() const { return open_; }
  RasReport report;

 private:
  bool open_ = false;
  std::string communicator_, operation_;
  RasGroup* group_ = nullptr;
};

[[nodiscard]] bool is_ras_report(const PlainTree& tree);
/// The lines that RAS would print as text for the communicators with something wrong.
[[nodiscard]] std::string ras_lines(const PlainTree& tree);

}  // namespace fabricost::observe
