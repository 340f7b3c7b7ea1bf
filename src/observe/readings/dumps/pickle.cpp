/// The stack machine of a pickle, without the instructions that run code.

#include "readings/dumps/pickle.hpp"

#include "text/line_reader.hpp"
#include "text/plain_text.hpp"

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <unordered_map>

namespace fabricost::observe {

namespace {

using Id = PlainTree::Id;
using PlainKind = PlainTree::Kind;

/// Names of the instructions that are refused, for the message.
const char* refused(char code) {
  switch (code) {
    case 'c': return "GLOBAL, a class or function";
    case '\x93': return "STACK_GLOBAL, a class or function";
    case 'R': return "REDUCE, a call";
    case 'b': return "BUILD, the state of an object";
    case 'i': return "INST, an object";
    case 'o': return "OBJ, an object";
    case '\x81':
    case '\x92': return "NEWOBJ, an object";
    case 'P':
    case 'Q': return "PERSID, something outside the file";
    case '\x82':
    case '\x83':
    case '\x84': return "EXT, a registered class";
    case '\x97':
    case '\x98': return "a buffer outside the file";
    default: return nullptr;
  }
}

class Unpickler {
 public:
  Unpickler(std::string_view bytes, const std::string& name, const PlainLimits& limits) : bytes_(bytes), name_(name), limits_(limits) {}

  PlainTree read() {
    while (!stopped_) {
      start_ = at_;
      step(take(1).front());
      if (stack_.size() > limits_.nodes) fail("holds more than a dump does");
    }
    if (stack_.size() != 1 || !marks_.empty()) fail("ends with an unfinished value");
    tree_.root = stack_.back();
    return std::move(tree_);
  }

 private:
  [[noreturn]] void fail(const std::string& message, const std::string& remedy = "write the dump again: it may be cut") const {
    throw fault_of_file(name_, fmt::format("the pickle {} (byte {})", message, start_), remedy);
  }

  std::string_view take(std::size_t count) {
    if (count > bytes_.size() - at_) fail("is cut");
    at_ += count;
    return bytes_.substr(at_ - count, count);
  }
  /// A little-endian number.
  std::uint64_t number(std::size_t count) {
    std::uint64_t out = 0;
    const std::string_view from = take(count);
    for (std::size_t i = count; i-- > 0;) out = out << 8U | static_cast<unsigned char>(from[i]);
    return out;
  }
  std::string_view line() {
    const auto end = bytes_.find('\n', at_);
    if (end == std::string_view::npos) fail("is cut");
    const std::string_view out = bytes_.substr(at_, end - at_);
    at_ = end + 1;
    return out;
  }

  Id made(PlainKind kind) {
    if (tree_.size() >= limits_.nodes) fail(fmt::format("holds more than {} values", limits_.nodes), "dump fewer entries");
    return tree_.add(kind);
  }
  void push(Id id) { stack_.push_back(id); }
  void push_whole(std::int64_t value, PlainKind kind = PlainKind::whole) {
    const Id id = made(kind);
    tree_.at(id).whole = value;
    push(id);
  }
  void push_text(std::string_view text) {
    const Id id = made(PlainKind::text);
    tree_.at(id).text = std::string{text};
    make_utf8(tree_.at(id).text);
    push(id);
  }
  Id top() {
    if (stack_.empty() || (!marks_.empty() && stack_.size() <= marks_.back())) fail("takes a value that is not there");
    return stack_.back();
  }
  Id pop() {
    const Id id = top();
    stack_.pop_back();
    return id;
  }
  /// The values since the last mark.
  std::vector<Id> marked() {
    if (marks_.empty() || marks_.back() > stack_.size()) fail("takes a mark that is not there");
    const auto from = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    std::vector<Id> out(from, stack_.end());
    stack_.erase(from, stack_.end());
    marks_.pop_back();
    return out;
  }

  void into_map(Id map, const std::vector<Id>& values) {
    if (tree_[map].kind != PlainKind::map || values.size() % 2 != 0) fail("puts members into what is no map");
    for (std::size_t i = 0; i < values.size(); i += 2) {
      Id key = values[i];
      if (tree_[key].kind != PlainKind::text) {
        std::string text = tree_.shown(key);
        key = made(PlainKind::text);
        tree_.at(key).text = std::move(text);
      }
      grown(map, key);
      grown(map, values[i + 1]);
    }
  }
  void into_list(Id list, const std::vector<Id>& values) {
    if (tree_[list].kind != PlainKind::list) fail("appends to what is no list");
    for (const Id one : values) grown(list, one);
  }
  void grown(Id container, Id value) {
    if (++held_ > 2 * limits_.nodes) fail("holds more than a dump does", "dump fewer entries");
    tree_.at(container).values.push_back(value);
  }
  void push_list(const std::vector<Id>& values) {
    const Id id = made(PlainKind::list);
    into_list(id, values);
    push(id);
  }

  /// Two's complement, little-endian, of any length; beyond 64 bits it is kept as its nearest.
  void push_long(std::string_view digits) {
    constexpr std::size_t most = 8;
    std::uint64_t out = 0;
    const bool negative = !digits.empty() && (static_cast<unsigned char>(digits.back()) & 0x80U) != 0;
    if (digits.size() > most) {
      push_whole(negative ? INT64_MIN : INT64_MAX);
      return;
    }
    if (negative) out = ~std::uint64_t{0};
    for (std::size_t i = digits.size(); i-- > 0;) out = out << 8U | static_cast<unsigned char>(digits[i]);
    push_whole(static_cast<std::int64_t>(out));
  }
  template <class Number>
  Number written(std::string_view text) {
    Number value{};
    if (!text.empty() && text.back() == 'L') text.remove_suffix(1);
    if (std::from_chars(text.data(), text.data() + text.size(), value).ec != std::errc{}) fail("has a number that is none");
    return value;
  }
  void push_real(double value) {
    const Id id = made(PlainKind::real);
    tree_.at(id).real = value;
    push(id);
  }

  void remember(std::uint64_t place) {
    if (memo_.size() > limits_.nodes) fail("remembers more than a dump holds");
    memo_[place] = top();
  }
  void recall(std::uint64_t place) {
    const auto found = memo_.find(place);
    if (found == memo_.end()) fail("recalls a value that is not there");
    push(found->second);
  }

  void step(char code) {
    switch (code) {
      case '\x80':
        if (number(1) > 5) fail("is of a protocol above 5", "write it with protocol 2 to 5");
        break;
      case '\x95': (void)number(8); break;  // FRAME
      case '.': stopped_ = true; break;
      case '(':
        marks_.push_back(stack_.size());
        if (marks_.size() > limits_.depth) fail(fmt::format("is nested more than {} deep", limits_.depth), "this is no dump");
        break;
      case '0': (void)pop(); break;
      case '1': (void)marked(); break;
      case '2': push(top()); break;
      case 'N': push(PlainTree::none); break;
      case '\x88': push_whole(1, PlainKind::boolean); break;
      case '\x89': push_whole(0, PlainKind::boolean); break;
      case 'J': push_whole(std::bit_cast<std::int32_t>(static_cast<std::uint32_t>(number(4)))); break;
      case 'K': push_whole(static_cast<std::int64_t>(number(1))); break;
      case 'M': push_whole(static_cast<std::int64_t>(number(2))); break;
      case '\x8a': push_long(take(number(1))); break;
      case '\x8b': push_long(take(number(4))); break;
      case 'I': {
        const std::string_view text = line();
        if (text == "00" || text == "01")
          push_whole(text == "01" ? 1 : 0, PlainKind::boolean);
        else
          push_whole(written<std::int64_t>(text));
        break;
      }
      case 'L': push_whole(written<std::int64_t>(line())); break;
      case 'F': push_real(written<double>(line())); break;
      case 'G': {
        const std::string_view from = take(8);
        std::uint64_t bits = 0;
        for (const char c : from) bits = bits << 8U | static_cast<unsigned char>(c);
        push_real(std::bit_cast<double>(bits));
        break;
      }
      case 'X': push_text(take(number(4))); break;     // BINUNICODE
      case '\x8c': push_text(take(number(1))); break;  // SHORT_BINUNICODE
      case '\x8d': push_text(take(number(8))); break;  // BINUNICODE8
      case 'V': push_text(line()); break;              // UNICODE
      case 'U':                                        // SHORT_BINSTRING
      case 'C': push_text(take(number(1))); break;     // SHORT_BINBYTES
      case 'T':                                        // BINSTRING
      case 'B': push_text(take(number(4))); break;     // BINBYTES
      case '\x8e':                                     // BINBYTES8
      case '\x96': push_text(take(number(8))); break;  // BYTEARRAY8
      case 'S': {
        std::string_view text = line();
        if (text.size() >= 2) text = text.substr(1, text.size() - 2);
        push_text(text);
        break;
      }
      case ']':
      case ')':
      case '\x8f': push(made(PlainKind::list)); break;  // EMPTY_LIST, EMPTY_TUPLE, EMPTY_SET
      case 'l':
      case 't':
      case '\x91': push_list(marked()); break;  // LIST, TUPLE, FROZENSET
      case '\x85':
      case '\x86':
      case '\x87': {
        std::vector<Id> values(static_cast<std::size_t>(code - '\x85') + 1);
        for (std::size_t i = values.size(); i-- > 0;) values[i] = pop();
        push_list(values);
        break;
      }
      case 'a': {
        const Id one = pop();
        into_list(top(), {one});
        break;
      }
      case 'e':
      case '\x90': {  // APPENDS, ADDITEMS
        const std::vector<Id> values = marked();
        into_list(top(), values);
        break;
      }
      case '}': push(made(PlainKind::map)); break;
      case 'd': {
        const std::vector<Id> values = marked();
        push(made(PlainKind::map));
        into_map(top(), values);
        break;
      }
      case 's': {
        const Id value = pop(), key = pop();
        into_map(top(), {key, value});
        break;
      }
      case 'u': {
        const std::vector<Id> values = marked();
        into_map(top(), values);
        break;
      }
      case 'p': remember(written<std::uint64_t>(line())); break;
      case 'q': remember(number(1)); break;
      case 'r': remember(number(4)); break;
      case '\x94': remember(memo_.size()); break;  // MEMOIZE
      case 'g': recall(written<std::uint64_t>(line())); break;
      case 'h': recall(number(1)); break;
      case 'j': recall(number(4)); break;
      default:
        if (const char* what = refused(code))
          fail(fmt::format("holds {}: only plain values are read, and nothing is run", what),
               "a flight recorder's dump has none; do not load it");
        fail("has an unknown instruction", "this is no pickle of protocol 0 to 5, or it is damaged");
    }
  }

  std::string_view bytes_;
  const std::string& name_;
  PlainLimits limits_;
  std::size_t at_ = 0, start_ = 0, held_ = 0;
  bool stopped_ = false;
  PlainTree tree_;
  std::vector<Id> stack_;
  std::vector<std::size_t> marks_;
  std::unordered_map<std::uint64_t, Id> memo_;
};

}  // namespace

PlainTree read_pickle(std::string_view bytes, const std::string& name, const PlainLimits& limits) {
  return Unpickler(bytes, name, limits).read();
}

}  // namespace fabricost::observe
