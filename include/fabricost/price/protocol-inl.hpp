#pragma once
/// \file protocol-inl.hpp
/// Bodies of protocol.hpp.

#include <fabricost/compiled_once.hpp>
#include <fabricost/price/protocol.hpp>

namespace fabricost::core {

FABRICOST_BODY std::optional<Protocol> parse_protocol(std::string_view text) { return parse_enum<Protocol>(text, protocol_names); }

}  // namespace fabricost::core
