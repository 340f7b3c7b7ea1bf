#pragma once
/// \file yaml.hpp
/// The one place that reads YAML. The page has another behind it, without a parser (src/web/left_out.cpp).

#include "specs/tree.hpp"

#include <fabricost/namespaces.hpp>

#include <memory>

namespace fabricost::core {

/// The tree of a file's text. \throws SpecError
[[nodiscard]] SpecNode parsed_yaml(const std::shared_ptr<const SpecFile>& file);

}  // namespace fabricost::core
