#pragma once
/// A machine read from the output of a topology tool (readings/topology.hpp), as a system, and its
/// differences from another system.

#include <fabricost/fields/fields.hpp>
#include <fabricost/fields/named.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace fabricost::observe {

struct TopoRequest {
  std::filesystem::path path;
  Machine compare;
  std::string name;

  static RequestTable<TopoRequest> fields();
};

/// A value that the file does not contain, and the value assumed.
struct GuessAnswer {
  std::string what, taken, reason;
  bool operator==(const GuessAnswer&) const = default;

  static AnswerTable<GuessAnswer> fields();
};

struct TopoAnswer {
  int gpus = 0, nvlinks = 0, nics = 0, sockets = 0;
  std::string name, gpu, format;
  int xgmi_links = 0, links_per_gpu = 0;
  bool switched = false;
  std::optional<int> numa_nodes{};
  std::vector<GuessAnswer> guesses{};
  std::vector<std::string> guess_texts{}, unknown, inferred, warnings, differences{};
  std::optional<std::string> compared_with{};
  std::optional<std::vector<std::string>> differences_found{};
  bool amd = false, links_stated = true;
  std::string yaml;

  static AnswerTable<TopoAnswer> fields();
};

/// \throws Refusal without a file; SpecError with file, line, column and remedy for a file that shows no machine; RequestError, SpecError
/// as load_system
[[nodiscard]] TopoAnswer answer(const TopoRequest& request);

}  // namespace fabricost::observe
