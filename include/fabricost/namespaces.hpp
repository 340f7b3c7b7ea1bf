#pragma once
/// \file namespaces.hpp
/// The namespaces of the components. Each finds the names of those it builds on without a prefix: plan uses core, observe and probes use
/// both. <fabricost/fabricost.hpp> lists what of core is also in namespace fabricost.

namespace fabricost {

/// Machines, schedules, prices, choices, predictions, measured points, fits and explanations.
namespace core {
namespace detail {}
}  // namespace core

/// Models, training, serving, money, designs.
namespace plan {
using namespace core;
namespace detail {
using namespace core::detail;
}
}  // namespace plan

/// Logs, topologies, dumps, causes, traces.
namespace observe {
using namespace plan;
namespace detail {
using namespace plan::detail;
}
}  // namespace observe

/// Measurements of GPUs and clusters.
namespace probes {
using namespace observe;
namespace detail {
using namespace observe::detail;
}
}  // namespace probes

/// The command.
namespace cli {
using namespace core;
using namespace plan;
using namespace observe;
using namespace probes;
}  // namespace cli

/// The Python package.
namespace python {
using namespace core;
using namespace plan;
using namespace observe;
using namespace probes;
}  // namespace python

/// The page.
namespace web {
using namespace core;
using namespace plan;
using namespace observe;
}  // namespace web

}  // namespace fabricost
