#pragma once
/// Shapes of models from the config.json that is published with their weights (Hugging Face transformers).

#include "specs/reader.hpp"

#include <fabricost/plan/model/model.hpp>

namespace fabricost::plan {

/// Whether a document is such a configuration instead of a model file of data/models.
[[nodiscard]] bool is_model_config(const SpecNode& tree);

/// The shape it describes. Keys that say nothing of the shape are ignored. \param name of the model, where the document states none
[[nodiscard]] Model read_model_config(const SpecNode& tree, const std::string& name, Faults& faults);

}  // namespace fabricost::plan
