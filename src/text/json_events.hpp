#pragma once
/// \file json_events.hpp
/// JSON as a stream of events in constant memory: readers of a long file keep only what they need. Objects,
/// lists, text, numbers, true, false, null, nested at most 32 deep; anything else is refused with its place.
/// Private to the sources.

#include "text/line_reader.hpp"

#include <functional>
#include <string>
#include <string_view>

namespace fabricost::io {

struct JsonEvent {
  enum class Kind : unsigned char { open_map, close_map, open_list, close_list, text, number, other };
  Kind kind = Kind::other;
  std::string_view key;   ///< of the value in its map; empty in a list
  std::string_view text;  ///< of text and numbers; `true`, `false`, `null`
  int depth = 0;          ///< maps and lists around it
  int line = 1;
};

/// Calls `take` for every value. \throws SpecError with line and column where the file is not JSON
void read_json(const std::filesystem::path& file, const std::function<void(const JsonEvent&)>& take);

}  // namespace fabricost::io
