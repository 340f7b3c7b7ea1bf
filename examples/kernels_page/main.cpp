/// Writes docs/kernels-accuracy.md: how far predictions of inference kernels are from measurements, fitted ones and others.
///
///     build/bin/kernels_page MEASUREMENTS > docs/kernels-accuracy.md

#include "sections.hpp"

#include <fabricost/error.hpp>

#include <cstdio>

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: kernels_page MEASUREMENTS > docs/kernels-accuracy.md\n", stderr);
    return 2;
  }
  try {
    std::string page =
        "# How good predictions of inference kernels are\n\n"
        "All-reduces as vLLM, SGLang and TensorRT-LLM run them, dispatch and combine of DeepEP and TensorRT-LLM. Every figure is worked "
        "out from the\n"
        "measured tables by `build/bin/kernels_page ../shared/measurements`; pairs are median / mean of |predicted / measured - 1| in "
        "percent.\n\n";
    page += kernels::all_reduces(argv[1]);
    page += kernels::expert_kernels(argv[1]);
    page += kernels::unmeasured();
    std::fputs(page.c_str(), stdout);
    return 0;
  } catch (const fabricost::core::Error& error) {
    std::fprintf(stderr, "kernels_page: %s\n", error.what());
    return 2;
  }
}
