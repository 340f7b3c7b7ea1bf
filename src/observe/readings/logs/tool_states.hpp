#pragma once
/// Reads what tools print of GPUs and adapters in sections: nvidia-smi -q, nvidia-smi nvlink -s, dcgmi nvlink, ibstat, ibv_devinfo. A line
/// there means little without the headings above it: each is written on one line, "nvidia-smi -q: GPU 00000000:1B:00.0: Remapped Rows > Pending = Yes",
/// so that a sign is a few words (data/diagnosis/tools_*.yaml).

#include <fabricost/namespaces.hpp>

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fabricost::observe {

/// The NVLinks of one GPU.
struct NvlinkState {
  int active = 0, inactive = 0;
  double slowest = 0, fastest = 0;  ///< GB/s of the active ones
};

class ToolStates {
 public:
  /// \return the line with its headings; empty: no line of such a tool
  [[nodiscard]] std::string take(std::string_view line);
  [[nodiscard]] const std::map<std::string, NvlinkState>& nvlinks() const { return nvlinks_; }
  /// Forgets where it was: another file begins.
  void leave() { tool_ = Tool::none; }

 private:
  enum class Tool : unsigned char { none, smi, nvlink, ibstat, devinfo, dcgmi };
  struct Heading {
    std::size_t indent = 0;
    std::string text;
  };
  void enter(Tool tool, std::string_view device);
  [[nodiscard]] bool starts(std::string_view text);
  [[nodiscard]] std::string link(std::string_view text);
  [[nodiscard]] std::string written(std::string_view key, std::string value);

  Tool tool_ = Tool::none;
  std::string device_, widest_;
  std::vector<Heading> headings_;
  std::map<std::string, NvlinkState> nvlinks_;
};

}  // namespace fabricost::observe
