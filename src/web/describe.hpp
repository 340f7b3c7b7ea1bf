#pragma once
/// A question's fields as JSON, from which a page makes its controls: name, words, unit, range, default, and the words that it takes.

#include "web/request.hpp"

#include <span>
#include <string>
#include <string_view>

namespace fabricost::web {

/// "name", or "name = 256MiB": a field of a request in a message.
[[nodiscard]] std::string spelled(std::span<const Field> fields, std::string_view name, std::string_view value);

/// \param defaults a request of which nothing is set
[[nodiscard]] Json fields_as_json(std::span<const Field> fields, const void* defaults);

}  // namespace fabricost::web
