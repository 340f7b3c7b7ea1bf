/// Loads named models and stacks.

#include <fabricost/plan/fields/named_models.hpp>
#include <fabricost/plan/specs/load_model.hpp>
#include <fabricost/plan/specs/stacks.hpp>

namespace fabricost::plan {

Model NamedModel::load() const { return value != nullptr ? *value : load_model(name); }

Stack NamedStack::load() const { return value != nullptr ? *value : load_stack(name); }

void from_text(const std::string& text, std::string_view, const Amount&, const Range&, NamedModel& out) { out.name = text; }
void from_text(const std::string& text, std::string_view, const Amount&, const Range&, NamedStack& out) { out.name = text; }

}  // namespace fabricost::plan
