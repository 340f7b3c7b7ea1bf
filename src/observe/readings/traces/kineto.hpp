#pragma once
/// The data that the reader of Kineto keeps of a trace until its end, and their joining. Private to kineto.cpp and kineto_join.cpp.

#include "readings/traces/traced.hpp"

#include <cstdint>
#include <vector>

namespace fabricost::observe::kineto {

/// A kernel of communication.
struct Kernel {
  TracedCall call;
  std::int64_t correlation = 0, external = 0;
  bool has_operation = false;  ///< the record of the kernel states it
  bool receives = false;  ///< from its peer
};
/// A call of the CUDA or HIP runtime that started something.
struct Launch {
  std::int64_t correlation = 0, at = 0;
  std::int64_t thread = 0;
};
/// A record_param_comms or an annotation of the host: a call of the program.
struct CallRequest {
  TracedCall call;  ///< its span is the host's
  std::int64_t external = 0, thread = 0;
  bool annotation = false, receives = false, used = false;
  bool on_host = false;  ///< it is the call itself: gloo's or MPI's
};

struct Events {
  std::vector<Kernel> kernels;
  std::vector<Launch> launches;
  std::vector<CallRequest> asked;
};

/// Gives every kernel its operation, bytes and group, sums coalesced calls, joins the kernels of one call.
void join(Events& events, RankTrace& into);

}  // namespace fabricost::observe::kineto
