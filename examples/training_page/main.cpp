/// \file main.cpp
/// Writes docs/training-accuracy.md: how far predicted training steps are from published ones, fitted and not.
///
///     build/bin/training_page MEASUREMENTS > docs/training-accuracy.md
///     build/bin/training_page MEASUREMENTS --one-fit     the same without what takes a fit of its own: two sections less, cells with "-"
///
/// MEASUREMENTS holds workloads/{training,ops,inference}.csv and second/workloads/{mlperf,newer_training}.csv.

#include "sections.hpp"

#include <fabricost/error.hpp>

#include <cstdio>
#include <string>
#include <string_view>

int main(int argc, char** argv) {
  const bool one_fit = argc == 3 && argv[2] == std::string_view{"--one-fit"};
  if (argc != 2 && !one_fit) {
    std::fputs("usage: training_page MEASUREMENTS [--one-fit] > docs/training-accuracy.md\n", stderr);
    return 2;
  }
  try {
    const training::Published data = training::read_published(argv[1], !one_fit);
    std::string page = training::introduction(data);
    if (!one_fit) page += training::never_fitted(data);
    page += training::groups(data);
    page += training::memory(data);
    page += training::choices(data);
    page += training::named_figures(data);
    page += training::kernels(data);
    page += training::constants(data);
    if (!one_fit) page += training::worth(data);
    page += training::conventions(data);
    page += training::set_aside(data);
    std::fputs(page.c_str(), stdout);
    return 0;
  } catch (const fabricost::core::Error& error) {
    std::fprintf(stderr, "training_page: %s\n", error.what());
    return 2;
  }
}
