#pragma once
/// Machines: those that have a name, and one of them tier by tier, with the source of every number.

#include <fabricost/fields/fields.hpp>
#include <fabricost/fields/named.hpp>

#include <optional>
#include <string>
#include <vector>

namespace fabricost::core {

struct SystemsRequest {
  static RequestTable<SystemsRequest> fields();
};

struct ListedSystem {
  std::string name;
  int gpus = 0, domain = 0;
  std::string kind, title, vendor;
  bool cluster = false;
  bool operator==(const ListedSystem&) const = default;

  static AnswerTable<ListedSystem> fields();
};

/// Machines, then clusters, each sorted by name. \throws SpecError for faults in a listed file; a machine is checked when it is loaded
[[nodiscard]] std::vector<ListedSystem> answer(const SystemsRequest& request);

struct ShowRequest {
  Machine system;
  std::string calibration;
  std::vector<std::string> overrides;  ///< values of the machine, as in tiers.nic.endpoints=4

  static RequestTable<ShowRequest> fields();
};

struct ShownTier {
  std::string name, role, kind;
  int endpoints = 0;
  Bandwidth bandwidth{};
  std::optional<Time> latency;
  Bandwidth aggregate{}, bisection{};
  std::optional<double> ratio_to_next;
  std::string source, confidence;
  bool operator==(const ShownTier&) const = default;

  static AnswerTable<ShownTier> fields();
};

struct ShowAnswer {
  std::string name, title, gpu;
  Bytes memory{};
  std::string memory_source, memory_confidence;
  int gpus = 0, gpus_per_node = 0, domain = 0;
  std::optional<int> pod{};
  int nodes = 0;
  std::string calibration, basis;
  std::vector<ShownTier> tiers{};
  std::string text;
  bool operator==(const ShowAnswer&) const = default;

  static AnswerTable<ShowAnswer> fields();
};

/// \throws Refusal without a machine; SpecError, RequestError as load_system
[[nodiscard]] ShowAnswer answer(const ShowRequest& request);

}  // namespace fabricost::core

namespace fabricost {
using core::ShowAnswer;
using core::ShowRequest;
using core::SystemsRequest;
}  // namespace fabricost
