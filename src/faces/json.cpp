/// \file json.cpp
/// Places keys in JSON and prints it.

#include "faces/json.hpp"

namespace fabricost::faces {

std::string printed(const nlohmann::ordered_json& json) {
  // file names and log lines may contain invalid UTF-8
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

bool json_parts::is_printed(const Json& into, std::string_view path, bool left_out, bool beside) {
  return !path.empty() && !left_out && (!beside || into.contains(std::string{path.substr(0, path.find('.'))}));
}

void json_parts::put(Json& into, std::string_view path, Json value) {
  const std::size_t dot = path.find('.');
  const bool list = dot == std::string_view::npos && path.ends_with("[]");
  Json& at = into[std::string{list ? path.substr(0, path.size() - 2) : path.substr(0, dot)}];
  if (dot != std::string_view::npos)
    put(at, path.substr(dot + 1), std::move(value));
  else if (list)
    at.push_back(std::move(value));
  else if (at.is_object() && value.is_object())
    at.update(value);
  else
    at = std::move(value);
}

void keep_troubles_alone(nlohmann::ordered_json& rows) {
  for (auto& row : rows)
    if (row.contains("trouble")) row = {{"system", row["system"]}, {"trouble", row["trouble"]}};
}

}  // namespace fabricost::faces
