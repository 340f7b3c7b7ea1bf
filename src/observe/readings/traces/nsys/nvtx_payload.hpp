#pragma once
/// \file nvtx_payload.hpp
/// Reads what NCCL attaches to its NVTX ranges, as Nsight Systems exports it: the bytes of a struct after a header of 32 bytes (domain,
/// schema, size of the struct), and tables with the places of its members.

#include "readings/traces/nsys/sqlite_file.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost::observe {

/// Negative: not said. `communicator` is 0 then.
struct NcclPayload {
  std::uint64_t communicator = 0;
  std::int64_t bytes = -1, peer = -1, rank = -1, ranks = -1;
};

class PayloadSchemas {
 public:
  /// Without those tables every payload is empty.
  explicit PayloadSchemas(const SqliteFile& file);
  [[nodiscard]] NcclPayload read(std::string_view blob) const;

 private:
  enum class Member : unsigned char { communicator, bytes, peer, rank, ranks };
  struct Place {
    Member member;
    std::size_t offset, width;
  };
  std::map<std::int64_t, std::vector<Place>> schemas_;
};

}  // namespace fabricost::observe
