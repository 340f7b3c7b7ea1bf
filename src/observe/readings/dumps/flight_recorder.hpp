#pragma once
/// Dumps of PyTorch's flight recorder (TORCH_NCCL_TRACE_BUFFER_SIZE, TORCH_FR_BUFFER_SIZE): the last collectives of every rank, with the
/// line of the program that called them. One file a rank, a pickle or JSON (torch/csrc/distributed/c10d/FlightRecorder.hpp, versions 1.0 to
/// 2.10 of the format).

#include "text/plain_tree.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace fabricost::observe {

/// A process group; those of one name and different ranks are different.
struct FlightGroup {
  std::string name;         ///< as in the dump: "0", with its description "default_pg"
  std::string bare, words;  ///< "0"; "default_pg"
  std::set<int> ranks;  ///< empty: the dump does not say
};

struct FlightEntry {
  enum class State : unsigned char { scheduled, started, completed };
  std::int64_t sequence = -1;
  std::uint32_t group = 0, operation = 0, shape = 0, frame = 0;  ///< shape, frame: of `words`, 0 for none
  State state = State::completed;
  bool pair = false;  ///< a send or a receive
  std::int64_t created = 0, completed = 0;  ///< ns since 1970; when its end was noticed, up to a second late; 0: not said
  double milliseconds = -1;                 ///< what the GPU took; negative: not timed (TORCH_NCCL_ENABLE_TIMING)
  double elements_in = -1, elements_out = -1;
  std::uint32_t type = 0;  ///< of `words`: of its first element
};

struct FlightDump {
  int rank = -1;
  std::string file, library;
  std::vector<FlightEntry> entries;                ///< as recorded
  std::map<std::uint32_t, std::int64_t> enqueued;  ///< last collective called, by group
};

struct FlightDumps {
  std::vector<FlightDump> dumps;
  std::vector<FlightGroup> groups;
  std::vector<std::string> words{""};  ///< operations, shapes and frames, each once

  [[nodiscard]] bool empty() const { return dumps.empty(); }
  [[nodiscard]] std::uint32_t word(const std::string& text);
  [[nodiscard]] std::uint32_t group(const FlightGroup& one);

 private:
  std::map<std::string, std::uint32_t, std::less<>> places_;
};

[[nodiscard]] bool is_flight_dump(const PlainTree& tree);

/// \param file its name says the rank where the dump does not: nccl_trace_rank_3
/// \return what the dump shows in one line for quotation \throws SpecError where a value is not what it should be
std::string add_flight_dump(const PlainTree& tree, const std::string& file, FlightDumps& into);

}  // namespace fabricost::observe
