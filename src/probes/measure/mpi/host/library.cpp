/// \file library.cpp
/// Open MPI, MPICH and its derivatives.

#include "measure/mpi/host/library.hpp"

#include <array>

namespace fabricost::probes::measure::mpi {

namespace {

/// The first word of digits and dots after `from`, without a leading v.
std::string version_after(std::string_view text, std::size_t from) {
  const auto start = text.find_first_of("0123456789", from);
  if (start == text.npos) return {};
  auto end = start;
  while (end < text.size() && ((text[end] >= '0' && text[end] <= '9') || text[end] == '.')) ++end;
  return std::string{text.substr(start, end - start)};
}

struct Mark {
  std::string_view said, name;
};
// The most specific first: Intel MPI, Cray MPICH and MVAPICH are derived from MPICH, and some mention it.
constexpr std::array<Mark, 6> marks{{{"Open MPI", "openmpi"},
                                     {"Intel(R) MPI Library", "intelmpi"},
                                     {"CRAY MPICH version", "craympich"},
                                     {"MVAPICH", "mvapich"},
                                     {"MPICH Version", "mpich"},
                                     {"MPICH", "mpich"}}};

}  // namespace

LibraryName library_named(std::string_view text) {
  for (const Mark& mark : marks)
    if (const auto at = text.find(mark.said); at != text.npos) {
      // the version follows a blank, so the 2 of MVAPICH2 is not one
      const auto blank = text.find_first_of(" \t", at + mark.said.size());
      return {std::string{mark.name}, version_after(text, blank == text.npos ? text.size() : blank)};
    }
  return {"mpi", ""};
}

}  // namespace fabricost::probes::measure::mpi
