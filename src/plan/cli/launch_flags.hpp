#pragma once
/// The command line with which another program runs a layout that plan found.

#include <nlohmann/json_fwd.hpp>

#include <functional>
#include <string>
#include <string_view>

namespace fabricost::plan {

/// A field of the layout, of the answer or of the question, by its name in JSON; null: there is none.
using ValueOf = std::function<nlohmann::ordered_json(const std::string& field)>;

/// \param program of data/launchers, as in vllm \param question train or serve
/// \throws RequestError for an unknown program or one of the other question
[[nodiscard]] std::string launch_command(std::string_view program, std::string_view question, const ValueOf& value_of);

}  // namespace fabricost::plan
