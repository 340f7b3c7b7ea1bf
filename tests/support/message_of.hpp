#pragma once
/// The message of a refused request. (The two versions of Catch2 name their text matchers differently.)

#include <fabricost/error.hpp>

#include <string>
#include <string_view>

namespace support {

/// Text of the RequestError that a call throws; empty if it throws none.
template <class Call>
std::string message_of(Call&& call) {
  try {
    static_cast<void>(call());
  } catch (const fabricost::core::RequestError& e) {
    return e.what();
  }
  return "";
}
inline bool contains(std::string_view text, std::string_view piece) { return text.find(piece) != std::string_view::npos; }

}  // namespace support
