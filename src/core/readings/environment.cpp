#include "readings/environment.hpp"

namespace fabricost::core {

void Environment::set(std::string_view variable, std::string_view value) {
  if (variable == "NCCL_ALGO") algorithm = parse_algorithm(value);
  if (variable == "NCCL_PROTO") protocol = parse_protocol(value);
  if (variable == "NCCL_NVLS_ENABLE") nvls = value != "0";
  if (variable == "NCCL_PXN_DISABLE") pxn = value == "0";
}

void Environment::read(std::string_view notes) {
  static constexpr std::string_view ends = " ;,()";
  nvls = nvls && notes.find("NVLS off") == std::string_view::npos;
  pxn = pxn && notes.find("PXN off") == std::string_view::npos;
  for (std::size_t at = notes.find("NCCL_"); at != std::string_view::npos; at = notes.find("NCCL_", at + 1)) {
    const std::string_view word = notes.substr(at, notes.find_first_of(ends, at) - at);
    const std::size_t equals = word.find('=');
    if (equals != std::string_view::npos) set(word.substr(0, equals), word.substr(equals + 1));
  }
}

}  // namespace fabricost::core
