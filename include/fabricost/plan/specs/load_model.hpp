#pragma once
/// Reading model shapes. The format is on docs/how-to/add-a-machine.md#describe-a-model; the files are in data/models.

#include <fabricost/compiled_part.hpp>
#include <fabricost/plan/model/model.hpp>

#include <string>
#include <vector>

namespace fabricost::plan {

/// A model of data/models by its name or an alias (case, dashes, underscores and blanks do not matter, the
/// part before a `/` may be omitted), or a YAML file. Names take precedence over files.
/// \throws SpecError with every fault of the files involved, RequestError naming the near ones for a name that does not exist
[[nodiscard]] Model load_model(const std::string& name_or_path);

/// Names of all models of data/, sorted.
[[nodiscard]] std::vector<std::string> model_names();

/// The name in data/models for a user's spelling; empty if there is none.
[[nodiscard]] std::string model_named(const std::string& wanted);

}  // namespace fabricost::plan
