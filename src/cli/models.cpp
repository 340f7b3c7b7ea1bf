/// \file models.cpp
/// fabricost models: every model that has a name; one of them with the counts that follow from its shape.

#include "runner.hpp"
#include "subcommands.hpp"

#include <fabricost/io/load_model.hpp>

#include <fmt/format.h>

#include <memory>

namespace fabricost::cli {

void add_models(CLI::App& app, Runner& runner) {
  CLI::App& sub = *app.add_subcommand("models", "List the models that have a name, or one of them");
  runner.add(sub, [](const Terminal&) {
    std::string out;
    for (const std::string& name : model_names()) {
      const Model m = load_model(name);
      const ParameterCount n = parameters_of(m);
      out += fmt::format("{:32} {:4} {:6} {:9.4g} {:9.4g} | {:9.4g} {:9.4g} {:+.2f}% {:+.2f}%\n", name, m.layers, m.hidden, n.total / 1e9, n.active / 1e9,
                         m.stated_parameters / 1e9, m.stated_active / 1e9, 100 * (n.total / (m.stated_parameters - m.stated_other) - 1), m.stated_active>0?100*(n.active / m.stated_active - 1):0.0);
    }
    return out;
  });
}

}  // namespace fabricost::cli
