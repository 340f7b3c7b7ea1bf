#pragma once
/// \file load_model.hpp
/// Reading model shapes. The format is data/schema/model.schema.json; the files are in data/models.

#include <fabricost/compiled_part.hpp>
#include <fabricost/model/model.hpp>

#include <string>
#include <vector>

namespace fabricost {

/// A model of data/models by its name or another name in use (case, dashes, underscores and blanks do not matter, the part before a `/`
/// may be left out), or a YAML file. A name is looked for before a file.
/// \throws SpecError with every fault of the files involved, RequestError naming the near ones for a name that does not exist
[[nodiscard]] Model load_model(const std::string& name_or_path);

/// Names of all models of data/, sorted.
[[nodiscard]] std::vector<std::string> model_names();

/// The name in data/models that somebody's name for a model stands for; empty when there is none.
[[nodiscard]] std::string model_named(const std::string& wanted);

}  // namespace fabricost
