// Hand-overs between pipeline stages.
#include "support/systems.hpp"

#include "catch.hpp"

#include <fabricost/predict/pipeline.hpp>

using namespace fabricost;

TEST_CASE("the last of m microbatches has been handed over p - 1 + m - 1 times", "[predict]") {
  const System s = systems::hopper_box();
  const Bytes activations = units::B(4096.0 * 8192 * 2);
  const PipelineHandover pipeline = predict_pipeline(s, activations, 4, 8, Path::nic);
  const double one = predict(s, SendRecv{.bytes = activations, .path = Path::nic}).seconds;
  CHECK(pipeline.count == 3 + 7);
  CHECK(pipeline.total().value() == Approx(10 * one));
  CHECK(pipeline.one.operation.bytes.value() == 67108864);
}

TEST_CASE("one stage hands nothing over", "[predict]") {
  CHECK(predict_pipeline(systems::hopper_box(), units::MiB(1), 1, 8).total().value() == 0);
}

TEST_CASE("a pipeline without stages or microbatches is refused", "[predict]") {
  CHECK_THROWS_AS(predict_pipeline(systems::hopper_box(), units::MiB(1), 0, 8), RequestError);
  CHECK_THROWS_AS(predict_pipeline(systems::hopper_box(), units::MiB(1), 2, 0), RequestError);
}
