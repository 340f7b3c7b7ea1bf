/// \file nvtx_payload.cpp
/// Members by their labels (NCCL's src/include/nvtx_payload_schemas.h), widths by their types (nvToolsExtPayload.h).

#include "readings/traces/nsys/nvtx_payload.hpp"

#include <array>
#include <limits>
#include <utility>

namespace fabricost::observe {

namespace {

constexpr std::size_t header_bytes = 32, schema_at = 8;

/// Bytes of NVTX's types of whole numbers on 64-bit Linux; 0 for others.
[[nodiscard]] std::size_t width_of_type(std::int64_t type) {
  switch (type) {
    case 5:
    case 6:
    case 15:
    case 16: return 4;  // int, unsigned, int32, uint32
    case 7:
    case 8:
    case 9:
    case 10:
    case 17:
    case 18:
    case 22: return 8;  // long, long long, int64, uint64, size_t
    default: return 0;
  }
}

[[nodiscard]] std::uint64_t number_at(std::string_view bytes, std::size_t at, std::size_t width) {
  if (width > bytes.size() || at > bytes.size() - width) return std::numeric_limits<std::uint64_t>::max();
  std::uint64_t out = 0;
  for (std::size_t i = width; i-- > 0;) out = out << 8U | static_cast<unsigned char>(bytes[at + i]);
  return out;
}

}  // namespace

PayloadSchemas::PayloadSchemas(const SqliteFile& file) {
  if (!file.has("NVTX_PAYLOAD_SCHEMA_ENTRIES", "offset") || !file.has("NVTX_EVENTS", "binaryData")) return;
  constexpr std::array<std::pair<std::string_view, Member>, 5> labels{{{"NCCL communicator ID", Member::communicator},
                                                                       {"Message size [bytes]", Member::bytes},
                                                                       {"Peer rank", Member::peer},
                                                                       {"Rank", Member::rank},
                                                                       {"No. of ranks", Member::ranks}}};
  SqliteFile::Rows rows(file, "SELECT DISTINCT schemaId, type, name, offset FROM NVTX_PAYLOAD_SCHEMA_ENTRIES");
  while (rows.next())
    for (const auto& [label, member] : labels) {
      constexpr std::int64_t farthest = 4096;
      const std::int64_t offset = rows.whole(3);
      const std::size_t width = width_of_type(rows.whole(1));
      if (rows.text(2) == label && width > 0 && offset >= 0 && offset < farthest)
        schemas_[rows.whole(0)].push_back({member, static_cast<std::size_t>(offset), width});
    }
}

NcclPayload PayloadSchemas::read(std::string_view blob) const {
  NcclPayload out;
  if (blob.size() <= header_bytes) return out;
  const auto schema = schemas_.find(static_cast<std::int64_t>(number_at(blob, schema_at, 4)));
  if (schema == schemas_.end()) return out;
  constexpr std::uint64_t most_bytes = std::uint64_t{1} << 52U, most_ranks = 1'000'000;
  for (const Place& place : schema->second) {
    const std::uint64_t number = number_at(blob, header_bytes + place.offset, place.width);
    const auto below = [&](std::uint64_t most) { return number < most ? static_cast<std::int64_t>(number) : -1; };
    switch (place.member) {
      case Member::communicator: out.communicator = number; break;
      case Member::bytes: out.bytes = below(most_bytes); break;
      case Member::peer: out.peer = below(most_ranks); break;
      case Member::rank: out.rank = below(most_ranks); break;
      case Member::ranks: out.ranks = below(most_ranks); break;
    }
  }
  return out;
}

}  // namespace fabricost::observe
