/// Chrome's trace events (complete ones, "X", and names, "M"), as ui.perfetto.dev and chrome://tracing draw them. A group is a process with
/// the tracks measured (the wire), waiting and predicted; calls that overlap, as those of several pairs do, get another track.

#include "answers/trace/step.hpp"
#include "text/plain_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace fabricost::observe {

namespace {

/// A name as a JSON string. Names in traces are clean text: only quotes and backslashes are escaped.
[[nodiscard]] std::string in_json(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return out + '"';
}

class Tracks {
 public:
  explicit Tracks(const FoundTrace& found) : found_(found) {}

  std::string text() {
    out_ = R"({"displayTimeUnit":"ns","traceEvents":[)";
    for (std::size_t g = 0; g < found_.job.groups.size(); ++g) {
      const timeline::Group& group = found_.job.groups[g];
      if (group.calls == 0) continue;
      name(static_cast<int>(g) + 1, 0, "process_name",
           fmt::format("{}: {}, {} ranks", found_.labels[g], timeline::name(group.kind), group.said.size));
    }
    for (std::size_t i = 0; i < found_.job.calls.size(); ++i) call(found_.job.calls[i], found_.expected[i]);
    return out_ + "\n]}\n";
  }

 private:
  enum Track { measured, waiting, predicted };
  static constexpr std::array<const char*, 3> track_names{"measured", "waiting", "predicted"};
  static constexpr int lanes = 64;  ///< of a track

  void name(int process, int thread, const char* what, const std::string& said) {
    comma();
    out_ += fmt::format(R"({{"ph":"M","pid":{},"tid":{},"name":"{}","args":{{"name":{}}}}})", process, thread, what, in_json(said));
  }
  void comma() { out_ += std::exchange(first_, false) ? "\n" : ",\n"; }

  /// The first lane that is free then; the last one where all are taken.
  int lane(int process, Track track, std::int64_t from, std::int64_t to) {
    std::vector<std::int64_t>& free = free_[{process, track}];
    auto at = std::find_if(free.begin(), free.end(), [&](std::int64_t until) { return until <= from; });
    if (at == free.end() && free.size() < lanes) {
      free.push_back(0);
      at = std::prev(free.end());
      const int number = static_cast<int>(free.size());
      name(process, 1 + lanes * track + number - 1, "thread_name",
           number == 1 ? track_names[track] : fmt::format("{} {}", track_names[track], number));
    }
    if (at == free.end()) --at;
    *at = to;
    return 1 + lanes * track + static_cast<int>(at - free.begin());
  }

  void slice(int process, Track track, std::int64_t from, std::int64_t to, std::string_view words, const std::string& arguments) {
    if (to <= from) return;
    const int thread = lane(process, track, from, to);
    constexpr double us = 1e3;
    comma();
    out_ += fmt::format(R"({{"ph":"X","pid":{},"tid":{},"ts":{:.3f},"dur":{:.3f},"name":{},"args":{{{}}}}})", process, thread,
                        static_cast<double>(from - found_.start) / us, static_cast<double>(to - from) / us, in_json(words), arguments);
  }

  void call(const timeline::Call& call, const std::optional<detail::Expected>& expected) {
    const int process = static_cast<int>(call.group) + 1;
    const std::string_view words = observe::name(call.moves);
    std::string arguments = fmt::format(R"("ranks seen":{})", call.parts.size());
    if (call.bytes >= 0) arguments += fmt::format(R"(,"bytes":{:.0f})", call.bytes);
    if (expected)
      arguments += fmt::format(R"(,"predicted us":{:.3f},"low us":{:.3f},"high us":{:.3f})", expected->seconds * 1e6, expected->low * 1e6,
                               expected->high * 1e6);
    if (call.last >= 0) {
      const int last = found_.job.ranks[static_cast<std::size_t>(call.last)].rank;
      slice(process, waiting, call.first_start, call.last_start, fmt::format("for rank {}", last), arguments);
    }
    slice(process, measured, call.last_start, call.last_end, words, arguments);
    if (expected)
      slice(process, predicted, call.last_start, call.last_start + static_cast<std::int64_t>(expected->seconds * 1e9), words, arguments);
  }

  const FoundTrace& found_;
  std::string out_;
  bool first_ = true;
  std::map<std::pair<int, int>, std::vector<std::int64_t>> free_;
};

}  // namespace

const FoundTrace& found_of(const TraceAnswer& answer) {
  if (answer.found == nullptr) throw RequestError("this answer was not made from traces: there is nothing to draw");
  return *answer.found;
}

std::string perfetto_of(const TraceAnswer& answer) { return Tracks(found_of(answer)).text(); }

}  // namespace fabricost::observe
