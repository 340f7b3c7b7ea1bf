#pragma once
/// The namespaces of the components. Each uses the last of those it builds on, which reaches the others, so that it finds their names
/// without a prefix. The last block of a header of core names what of it is also in namespace fabricost.

namespace fabricost {

/// Machines, schedules, prices, choices, predictions, measured points, fits and explanations.
namespace core {
namespace detail {}
/// Fields that several questions and answers have.
namespace field {}
}  // namespace core

/// Models, training, serving, money, designs.
namespace plan {
using namespace core;
namespace detail {
using namespace core::detail;
}
namespace field {
using namespace core::field;
}
}  // namespace plan

/// Logs, topologies, dumps, causes, traces.
namespace observe {
using namespace plan;
namespace detail {
using namespace plan::detail;
}
namespace field {
using namespace plan::field;
}
}  // namespace observe

/// Measurements of GPUs and clusters.
namespace probes {
using namespace observe;
namespace detail {
using namespace observe::detail;
}
namespace field {
using namespace observe::field;
}
}  // namespace probes

/// The command.
namespace cli {
using namespace probes;
}

/// The Python package.
namespace python {
using namespace probes;
}

/// The page.
namespace web {
using namespace observe;
}

}  // namespace fabricost
