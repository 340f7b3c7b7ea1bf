/// Chakra's execution traces (mlcommons/chakra, schema/protobuf/et_def.proto): protobuf messages, each behind its length: a GlobalMetadata,
/// then a Node after another. Of a node count its type, start, duration and the attributes comm_type, comm_size and pg_name; comm_size are
/// the bytes that go in. Traces made without timing have no durations.

#include "readings/dumps/byte_source.hpp"
#include "readings/traces/readers.hpp"
#include "text/line_reader.hpp"

#include <fabricost/progress.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

namespace fabricost::observe {

namespace {

/// A number in protobuf's notation, seven bits a byte. \param byte gives the next one, -1 after the last \return nothing: it is cut
template <class Next>
[[nodiscard]] std::optional<std::uint64_t> varint(const Next& byte, unsigned bits) {
  std::uint64_t out = 0;
  for (unsigned shift = 0; shift < bits; shift += 7) {
    const int one = byte();
    if (one < 0) break;
    out |= static_cast<std::uint64_t>(static_cast<unsigned>(one) & 127U) << shift;
    if (one < 128) return out;
  }
  return std::nullopt;
}
constexpr unsigned bits_of_length = 35;

/// Takes the first byte of a text; -1: it is empty.
[[nodiscard]] int take_byte(std::string_view& bytes) {
  if (bytes.empty()) return -1;
  const auto out = static_cast<unsigned char>(bytes.front());
  bytes.remove_prefix(1);
  return out;
}

/// The fields of a message in protobuf's wire format.
class WireFields {
 public:
  explicit WireFields(std::string_view of) : left_(of) {}

  /// The next field: a number in `number`, or bytes in `bytes`. \return false: after the last, or broken
  [[nodiscard]] bool next() {
    std::uint64_t key = 0;
    if (left_.empty() || !whole(key)) return false;
    field = static_cast<unsigned>(std::min<std::uint64_t>(key >> 3U, 1U << 30U));
    number = 0;
    bytes = {};
    switch (key & 7U) {
      case 0: return whole(number);
      case 1: return skip(8);
      case 5: return skip(4);
      case 2: {
        std::uint64_t size = 0;
        return whole(size) && skip(size);
      }
      default: return fail();
    }
  }
  [[nodiscard]] bool broken() const { return broken_; }

  unsigned field = 0;
  std::uint64_t number = 0;
  std::string_view bytes;

 private:
  bool fail() {
    broken_ = true;
    return false;
  }
  [[nodiscard]] bool whole(std::uint64_t& out) {
    const auto read = varint([&] { return take_byte(left_); }, 64);
    out = read.value_or(0);
    return read.has_value() || fail();
  }
  [[nodiscard]] bool skip(std::uint64_t size) {
    if (size > left_.size()) return fail();
    bytes = left_.substr(0, size);
    left_.remove_prefix(size);
    return true;
  }

  std::string_view left_;
  bool broken_ = false;
};

enum class NodeKind : unsigned char { send = 5, receive = 6, collective = 7 };

struct ChakraNode {
  std::uint64_t kind = 0, start = 0, duration = 0;
  std::int64_t size = -1, type = -1, peer = -1;
  std::string_view group;
};

/// An attribute's name, and its value where it is a whole number or text.
struct Attribute {
  std::string_view name, text;
  std::int64_t number = -1;
};
[[nodiscard]] Attribute attribute_in(std::string_view bytes) {
  Attribute out;
  for (WireFields m(bytes); m.next();) {
    constexpr std::array<unsigned, 4> whole{7, 9, 11, 13};  // int32, int64, uint32, uint64
    constexpr std::array<unsigned, 2> folded{15, 17};       // sint32, sint64
    constexpr unsigned name = 1, text = 29;
    if (m.field == name) out.name = m.bytes;
    if (m.field == text) out.text = m.bytes;
    if (std::find(whole.begin(), whole.end(), m.field) != whole.end()) out.number = static_cast<std::int64_t>(m.number);
    if (std::find(folded.begin(), folded.end(), m.field) != folded.end())
      out.number = static_cast<std::int64_t>(m.number >> 1U) ^ -static_cast<std::int64_t>(m.number & 1U);
  }
  return out;
}

[[nodiscard]] bool read_chakra_node(std::string_view bytes, ChakraNode& out) {
  WireFields m(bytes);
  while (m.next()) switch (m.field) {
      case 3: out.kind = m.number; break;
      case 6: out.start = m.number; break;
      case 7: out.duration = m.number; break;
      case 10: {
        const Attribute one = attribute_in(m.bytes);
        if (one.name == "comm_size") out.size = one.number;
        if (one.name == "comm_type") out.type = one.number;
        if (one.name == "pg_name") out.group = one.text;
        if (one.name == "comm_src" || one.name == "comm_dst") out.peer = one.number;
        break;
      }
      default: break;
    }
  return !m.broken();
}

/// By the numbers of Chakra's CollectiveCommType.
[[nodiscard]] Moves moves_of_type(std::int64_t type) {
  using enum Moves;
  constexpr std::array<Moves, 10> all{all_reduce, reduce,     all_gather,     gather,         scatter,
                                      broadcast,  all_to_all, reduce_scatter, reduce_scatter, barrier};
  return type >= 0 && type < std::ssize(all) ? all[static_cast<std::size_t>(type)] : unknown;
}

class ChakraReader {
 public:
  explicit ChakraReader(const std::filesystem::path& file) : source_(file), trace_(trace_of_calls(source_.name())) {}

  std::vector<RankTrace> run() {
    for (std::string message; next(message);) {
      ChakraNode node;
      if (messages_++ == 0) continue;  // what the whole trace says of itself
      constexpr std::int64_t often = 65536;
      if (messages_ % often == 0) ask_to_go_on();
      if (!read_chakra_node(message, node)) fail("node {} is no message of protobuf", messages_ - 1);
      take(node);
    }
    return one_from_zero(std::move(trace_));
  }

 private:
  template <class... Parts>
  [[noreturn]] void fail(fmt::format_string<Parts...> form, Parts&&... parts) const {
    throw fault_of_file(source_.name(), fmt::format(form, std::forward<Parts>(parts)...), "write the trace again: it may be cut");
  }

  /// \return false after the last byte
  [[nodiscard]] bool fill() {
    size_ = source_.read(block_.data(), block_.size());
    at_ = 0;
    return size_ > 0;
  }
  /// The next byte; -1 after the last.
  [[nodiscard]] int byte() { return at_ < size_ || fill() ? static_cast<unsigned char>(block_[at_++]) : -1; }

  [[nodiscard]] bool next(std::string& message) {
    if (at_ == size_ && !fill()) return false;
    const auto size = varint([&] { return byte(); }, bits_of_length);
    if (!size) fail("the length of message {} is cut", messages_);
    constexpr std::uint64_t largest = std::uint64_t{1} << 26U;
    if (*size > largest) fail("message {} is longer than 64 MiB: this is no execution trace of Chakra", messages_);
    message.clear();
    while (message.size() < *size) {
      const int one = byte();
      if (one < 0) fail("the file ends inside message {}", messages_);
      message += static_cast<char>(one);
      const std::size_t more = std::min<std::size_t>(size_ - at_, *size - message.size());
      message.append(block_.data() + at_, more);
      at_ += more;
    }
    return true;
  }

  void take(const ChakraNode& node) {
    const auto is = [&](NodeKind kind) { return node.kind == static_cast<std::uint64_t>(kind); };
    const bool pair = is(NodeKind::send) || is(NodeKind::receive);
    if (!pair && !is(NodeKind::collective)) return;
    TracedCall call{.group = place_of(std::string{node.group.substr(0, 64)}), .moves = pair ? Moves::send_recv : moves_of_type(node.type)};
    if (call.moves == Moves::unknown) {
      ++trace_.skipped["a collective of Chakra whose type is not known"];
      return;
    }
    constexpr std::int64_t most = std::int64_t{1} << 52U, latest = 2'000'000'000'000'000;  // us
    if (node.size >= 0 && node.size <= most) call.bytes = static_cast<double>(node.size);
    call.of_one_rank = call.moves == Moves::all_gather;
    constexpr std::int64_t most_ranks = 1'000'000;
    if (pair && node.peer >= 0 && node.peer < most_ranks) call.peer = static_cast<int>(node.peer);
    const auto ns = [&](std::uint64_t us) { return static_cast<std::int64_t>(std::min<std::uint64_t>(us, latest)) * 1000; };
    call.span = node.start > 0 ? Span{ns(node.start), ns(node.start) + ns(node.duration)} : Span{messages_, messages_ + ns(node.duration)};
    call.timing = node.duration == 0 ? Timing::none : node.start > 0 ? Timing::placed : Timing::length;
    trace_.calls.push_back(call);
  }

  [[nodiscard]] std::uint32_t place_of(const std::string& group) {
    return places_.of(group, trace_, [&] { return TracedGroup{.name = group, .words = {}, .ranks = {}}; });
  }

  ByteSource source_;
  std::vector<char> block_ = std::vector<char>(std::size_t{1} << 16U);
  std::size_t at_ = 0, size_ = 0;
  RankTrace trace_;
  GroupPlaces places_;
  std::int64_t messages_ = 0;
};

/// The message at the beginning of `bytes`, behind its length; nothing: it is cut.
[[nodiscard]] std::optional<std::string_view> first_message(std::string_view& bytes) {
  const auto size = varint([&] { return take_byte(bytes); }, bits_of_length);
  if (!size || *size > bytes.size()) return std::nullopt;
  const std::string_view out = bytes.substr(0, *size);
  bytes.remove_prefix(*size);
  return out;
}

}  // namespace

bool may_be_chakra(std::string_view head) {
  const auto metadata = first_message(head);
  if (!metadata || begins_json(head)) return false;
  for (WireFields m(*metadata); m.next() || m.broken();)
    if (m.broken() || m.field != 1 || m.bytes.empty()) return false;  // attributes alone
  const auto node = first_message(head);
  if (!node) return false;
  bool named = false;
  WireFields m(*node);
  while (m.next()) named = named || (m.field == 2 && !m.bytes.empty());
  return named && !m.broken();
}

std::vector<RankTrace> read_chakra(const std::filesystem::path& file) { return ChakraReader(file).run(); }

}  // namespace fabricost::observe
