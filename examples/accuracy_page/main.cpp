/// Writes docs/accuracy.md: how far predictions are from measurements, on points that were fitted and on points that were not.
///
///     build/bin/accuracy_page MEASUREMENTS > docs/accuracy.md
///     build/bin/accuracy_page MEASUREMENTS --one-fit     the same without the sections that take fits of their own
///
/// MEASUREMENTS holds dgx-{a100,h100,b200}.nccl.csv, l40s-pcie.nccl.csv, b60-pcie.oneccl.csv, multinode/ and second/
/// (dgx-h200, dgx-b300, gb200-nvl72, rtx-pro-6000-pcie, multinode/, newer/, xla/), third/ (released/, points_collectives).

#include "sections.hpp"

#include <fabricost/error.hpp>

#include <cstdio>
#include <string>
#include <string_view>

int main(int argc, char** argv) {
  const bool one_fit = argc == 3 && argv[2] == std::string_view{"--one-fit"};
  if (argc != 2 && !one_fit) {
    std::fputs("usage: accuracy_page MEASUREMENTS [--one-fit] > docs/accuracy.md\n", stderr);
    return 2;
  }
  try {
    const accuracy::Measurements data = accuracy::read_measurements(argv[1]);
    std::string page = accuracy::introduction();
    page += accuracy::never_fitted(data);
    if (!one_fit)
      for (const auto section : {accuracy::machines_left_out, accuracy::rack_sizes_left_out, accuracy::clusters, accuracy::more_nodes,
                                 accuracy::generations_left_out, accuracy::parts_left_out})
        page += section(data);
    page += accuracy::fitted_systems(data);
    page += accuracy::where_it_errs(data);
    std::fputs(page.c_str(), stdout);
    return 0;
  } catch (const fabricost::core::Error& error) {
    std::fprintf(stderr, "accuracy_page: %s\n", error.what());
    return 2;
  }
}
