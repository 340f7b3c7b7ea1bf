/// \file test_nccl_choice.cpp
/// Forced choices become the environment of one communicator; choices unknown to NCCL are refused by name.

#include "catch.hpp"

#include "measure/gpu/nccl_choice.hpp"
#include "measure/gpu/scoped_environment.hpp"

using namespace fabricost::probes;
using namespace fabricost::probes::measure;
using namespace fabricost::probes::measure::gpu;

namespace {

Case forced(Collective operation, std::optional<Algorithm> algorithm, std::optional<Protocol> protocol = {}) {
  Case what;
  what.kind = ProbeKind::collective;
  what.operation = operation;
  what.algorithm = algorithm;
  what.protocol = protocol;
  what.gpus = {0, 1};
  return what;
}
std::string reason(const Case& what) { return why_not_forced(what).value_or(""); }

}  // namespace

TEST_CASE("what NCCL can run is not refused") {
  using enum Collective;
  CHECK(reason(forced(all_reduce, {})).empty());
  CHECK(reason(forced(all_reduce, Algorithm::tree, Protocol::ll128)).empty());
  CHECK(reason(forced(broadcast, Algorithm::ring, Protocol::ll)).empty());
  CHECK(reason(forced(all_gather, Algorithm::nvls)).empty());
  CHECK(reason(forced(reduce_scatter, Algorithm::pat)).empty());
  CHECK(reason(forced(all_to_all, {})).empty());
}

TEST_CASE("a choice NCCL would silently replace is refused") {
  using enum Collective;
  CHECK(reason(forced(all_gather, Algorithm::tree)).find("Tree for all_gather") != std::string::npos);
  CHECK(reason(forced(all_reduce, Algorithm::pat)).find("PAT for all_reduce") != std::string::npos);
  CHECK(reason(forced(all_reduce, Algorithm::bruck)).find("bruck") != std::string::npos);
  CHECK(reason(forced(all_to_all, Algorithm::ring)).find("sends and receives") != std::string::npos);
  CHECK(reason(forced(send_recv, {}, Protocol::ll)).find("sends and receives") != std::string::npos);
  CHECK(reason(forced(all_reduce, Algorithm::nvls, Protocol::ll)).find("Simple only") != std::string::npos);
  Case contradicting = forced(all_reduce, Algorithm::nvls);
  contradicting.nvls = false;
  CHECK(reason(contradicting).find("forbidden") != std::string::npos);
  Case narrow = forced(all_reduce, Algorithm::nvls);
  narrow.dtype = DataType::int8;
  CHECK(reason(narrow).find("int8") != std::string::npos);
}

TEST_CASE("communicators are shared by cases with the same choice and GPUs only") {
  const Case plain = forced(Collective::all_reduce, {});
  Case larger = plain, other = plain, ring = forced(Collective::all_reduce, Algorithm::ring), without = plain;
  larger.bytes = 1 << 20;
  other.gpus = {0, 2};
  without.nvls = false;
  CHECK(communicator_key(plain) == communicator_key(larger));
  CHECK(communicator_key(plain) != communicator_key(other));
  CHECK(communicator_key(plain) != communicator_key(ring));
  CHECK(communicator_key(plain) != communicator_key(without));
  other.gpus = {1, 2};
  larger.gpus = {12};
  CHECK(communicator_key(other) != communicator_key(larger));
}

TEST_CASE("a forced choice is set for its scope and then put back") {
  setenv("NCCL_ALGO", "Tree", 1);
  unsetenv("NCCL_PROTO");
  {
    const ScopedEnvironment set(nccl_environment(forced(Collective::all_reduce, Algorithm::ring, Protocol::ll)));
    CHECK(std::string(std::getenv("NCCL_ALGO")) == "Ring");
    CHECK(std::string(std::getenv("NCCL_PROTO")) == "LL");
  }
  CHECK(std::string(std::getenv("NCCL_ALGO")) == "Tree");
  CHECK(std::getenv("NCCL_PROTO") == nullptr);
  unsetenv("NCCL_ALGO");
}
