#pragma once
/// One operation at many sizes, or on many counts of nodes or ranks; and the sizes at which the choice, or
/// the fastest pair, changes.

#include <fabricost/answers/predict.hpp>

#include <optional>
#include <string>
#include <vector>

namespace fabricost::core {

/// The operation and counts that both requests share.
struct OperationOnCounts {
  Machine system{};
  std::optional<Collective> operation{};
  Counts nodes{}, ranks{};  ///< one of them may have several values; empty: the default of Operation
  DataType dtype = DataType::half;
  std::optional<Algorithm> algorithm{};
  std::optional<Protocol> protocol{};
  std::string calibration{};
  std::vector<std::string> overrides{};
  std::optional<Path> path{};
  std::optional<std::vector<Bytes>> sizes{};
};

/// With all that decides what runs.
struct CallOnCounts : OperationOnCounts, WaysRequest {
  std::optional<Inference> library{};
  std::optional<LaunchMode> launch{};
  bool pxn = true;
};

/// Several sizes on one count, or one size on several counts.
struct SweepRequest : CallOnCounts {
  Choice::Rule choice = Choice::Rule::nccl;  ///< nccl (default) or fastest
  std::optional<Bytes> bytes{};              ///< size of the message

  static RequestTable<SweepRequest> fields();
};

struct SweepAnswer {
  std::vector<PredictAnswer> rows{};
  bool by_count = false;  ///< one size on several counts, of which those that cannot run say why (PredictAnswer::trouble)
};

/// \throws as answer(PredictRequest), naming the count, where none has an answer
[[nodiscard]] SweepAnswer answer(const SweepRequest& request);

/// For every count: the sizes from which each pair runs by the library's own choice, and from which each is
/// fastest. The smallest and largest of `sizes` are the bounds; empty: 8 B to 16 GiB.
struct CrossoversRequest : CallOnCounts {
  static RequestTable<CrossoversRequest> fields();
};

/// The pair from a size on.
struct CrossoverAnswer {
  Bytes from{};
  std::string algorithm{}, protocol{};
  bool operator==(const CrossoverAnswer&) const = default;

  static AnswerTable<CrossoverAnswer> fields();
};

struct CrossoversAtCount {
  int nodes = 1, ranks = 1;
  std::string trouble{};  ///< why nothing runs; empty: something does
  std::vector<CrossoverAnswer> runs{}, fastest{};

  static AnswerTable<CrossoversAtCount> fields();
};

struct CrossoversAnswer {
  std::string operation{}, dtype{}, system{};
  std::vector<CrossoversAtCount> rows{};

  static AnswerTable<CrossoversAnswer> fields();
};

/// \throws as answer(SweepRequest)
[[nodiscard]] CrossoversAnswer answer(const CrossoversRequest& request);

}  // namespace fabricost::core

namespace fabricost {
using core::CrossoversAnswer;
using core::CrossoversRequest;
using core::SweepAnswer;
using core::SweepRequest;
}  // namespace fabricost
