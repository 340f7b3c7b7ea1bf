// Which layout trains a model fastest, and how to serve it under a limit on the time per token: the questions of `fabricost plan`.
#include <fabricost/plan.hpp>

#include <cstdio>

using namespace fabricost;
using namespace fabricost::plan;
using namespace fabricost::units;

int main() {
  try {
    PlanRequest train;
    train.system = "dgx-h100";
    train.model = "llama3-8b";
    train.gpus = 16;
    train.global_batch = 64;
    const PlanAnswer training = answer(train);
    std::printf("training %s on %d GPUs\n", training.model.c_str(), training.gpus);
    for (const PlannedLayout& layout : training.layouts)
      std::printf("  tp %d pp %d cp %d dp %d: %.3f s a step (nine in ten: %.3f to %.3f), %.1f GiB\n", layout.tp, layout.pp, layout.cp,
                  layout.dp, in(layout.step, s).value(), in(layout.interval.first, s).value(), in(layout.interval.second, s).value(),
                  in(layout.memory_size, GiB).value());

    ServeRequest serve;
    serve.system = "dgx-h100";
    serve.model = "llama3-70b";
    serve.gpus = 8;
    serve.tpot = units::ms(30);
    const ServeAnswer serving = answer(serve);
    const PlannedDeployment& best = serving.layouts.front();
    std::printf("serving %s: tp %d, batch %.0f, %.1f ms a token, %.0f tokens/s of a GPU\n", serving.model.c_str(), best.tp,
                best.batch, in(best.tpot, ms).value(), best.tokens_per_second_per_gpu);
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
