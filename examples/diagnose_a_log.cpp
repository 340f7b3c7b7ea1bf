// What is wrong with a run: the verdict on its log, and the likeliest causes with what to try.
#include <fabricost/observe.hpp>
#include <fabricost/specs/data_directory.hpp>

#include <cstdio>

using namespace fabricost;
using namespace fabricost::observe;

int main(int argc, char** argv) {
  try {
    DiagnoseRequest asked;
    asked.log = argc > 1 ? argv[1] : data_directory() / "measurements" / "dgx-h100-all-reduce.txt";
    asked.expected = "900 GB/s";
    const Diagnosis found = answer(asked);
    std::printf("%s\n", found.verdict.c_str());
    for (const Finding& one : found.causes)
      std::printf("%s (%.0f %%): %s\n", name(one.cause).data(), 100 * one.confidence, one.remedy.c_str());
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
