/// Turns kernels, launches and requests of the host into calls. A kernel without a record of its own is launched (same correlation)
/// inside the annotation or record that describes it. Records without a kernel of their own, before a kernel of the same thread and
/// operation, were coalesced into it (torch.distributed._coalescing_manager, batch_isend_irecv, ncclGroupEnd).

#include "readings/traces/kineto.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <unordered_map>
#include <utility>

namespace fabricost::observe::kineto {

namespace {

constexpr const char* no_call = "a kernel of communication whose call is not in the trace";

/// Whether a record may be part of a kernel's communication.
[[nodiscard]] bool fits(const Kernel& kernel, const CallRequest& asked, const RankTrace& trace) {
  const Moves k = kernel.call.moves, a = asked.call.moves;
  if (a == Moves::unknown) return false;
  if (!kernel.has_operation && kernel.call.bytes < 0) return true;  // sends and receives carry out exchanges, broadcasts uneven gathers
  if (k != a) return false;
  if (!kernel.has_operation) return true;
  const auto& groups = trace.groups;
  return groups[kernel.call.group].name == groups[asked.call.group].name;
}

/// The one that holds the launch, the latest to begin where several do; nullptr: none. `asked` is of one thread, by start.
[[nodiscard]] CallRequest* around(const std::vector<CallRequest*>& asked, std::int64_t at, bool annotation) {
  const auto after = std::upper_bound(asked.begin(), asked.end(), at,
                                      [](std::int64_t time, const CallRequest* one) { return time < one->call.span.from; });
  constexpr std::ptrdiff_t back = 16;  // ones nested in it that ended before
  for (auto it = after; it != asked.begin() && after - it < back;) {
    --it;
    if ((*it)->annotation == annotation && (*it)->call.span.to >= at && (*it)->call.moves != Moves::unknown) return *it;
  }
  return nullptr;
}

void take_over(Kernel& kernel, const CallRequest& asked) {
  TracedCall& call = kernel.call;
  const TracedCall& from = asked.call;
  call.moves = from.moves;
  call.bytes = from.bytes;
  call.type = from.type;
  call.group = from.group;
  call.peer = from.peer;
  call.of_one_rank = from.of_one_rank;
  if (call.sequence < 0) call.sequence = from.sequence;
}

class Joiner {
 public:
  Joiner(Events& events, RankTrace& trace) : events_(events), trace_(trace) {
    for (const Launch& one : events.launches) launches_.emplace(one.correlation, &one);
    for (CallRequest& one : events.asked) {
      if (!one.annotation && one.external > 0) records_.emplace(one.external, &one);
      threads_[one.thread].push_back(&one);
    }
    for (auto& [thread, asked] : threads_)
      std::sort(asked.begin(), asked.end(),
                [](const CallRequest* a, const CallRequest* b) { return a->call.span.from < b->call.span.from; });
  }

  void run() {
    std::vector<std::pair<const Launch*, Kernel*>> launched;
    for (Kernel& kernel : events_.kernels) {
      const auto launch = launches_.find(kernel.correlation);
      const Launch* const at = launch == launches_.end() ? nullptr : launch->second;
      own(kernel, at);
      if (at == nullptr) continue;
      launched.emplace_back(at, &kernel);
      kernel.call.launched = at->at;
    }
    std::sort(launched.begin(), launched.end(), [](const auto& a, const auto& b) { return a.first->at < b.first->at; });
    std::map<std::int64_t, std::int64_t> before;  // last launch, by thread
    for (const auto& [launch, kernel] : launched) {
      const auto [last, first] = before.try_emplace(launch->thread, std::numeric_limits<std::int64_t>::min());
      coalesced(*kernel, *launch, last->second);
      last->second = launch->at;
    }
    for (TracedKernel& kernel : trace_.kernels) {
      const auto launch = launches_.find(kernel.launched);
      kernel.launched = launch == launches_.end() ? -1 : launch->second->at;
    }
    write();
  }

 private:
  /// Joins a kernel with the record it names, or with the call that launched it.
  void own(Kernel& kernel, const Launch* launch) {
    if (const auto record = records_.find(kernel.external); kernel.external > 0 && record != records_.end()) {
      const bool known = record->second->call.moves != Moves::unknown;
      if (known && !kernel.has_operation) take_over(kernel, *record->second);
      record->second->used = true;
      if (known || kernel.has_operation) return;
    }
    if (launch == nullptr) return;
    const auto thread = threads_.find(launch->thread);
    if (thread == threads_.end()) return;
    for (const bool annotation : {false, true}) {
      CallRequest* const asked = around(thread->second, launch->at, annotation);
      if (asked == nullptr || !fits(kernel, *asked, trace_)) continue;
      if (!asked->used && !kernel.has_operation) take_over(kernel, *asked);
      asked->used = true;
      return;
    }
  }

  /// Adds the records between two launches of a thread that have no kernel of their own.
  void coalesced(Kernel& kernel, const Launch& launch, std::int64_t after) {
    const auto thread = threads_.find(launch.thread);
    if (thread == threads_.end()) return;
    auto it = std::upper_bound(thread->second.begin(), thread->second.end(), launch.at,
                               [](std::int64_t time, const CallRequest* one) { return time < one->call.span.from; });
    std::array<double, 2> more{};  // sent, or of a collective; received
    more[kernel.receives ? 1 : 0] = std::max(kernel.call.bytes, 0.0);
    while (it != thread->second.begin()) {
      CallRequest& asked = **--it;
      if (asked.call.span.from <= after) break;
      if (asked.used || asked.annotation || !fits(kernel, asked, trace_)) continue;
      asked.used = true;
      if (kernel.call.bytes < 0 || kernel.call.moves == Moves::unknown) {
        take_over(kernel, asked);
        more[asked.receives ? 1 : 0] = std::max(asked.call.bytes, 0.0);
        continue;
      }
      ++kernel.call.messages;
      more[asked.receives ? 1 : 0] += std::max(asked.call.bytes, 0.0);
      if (kernel.call.peer != asked.call.peer) kernel.call.peer = -1;
    }
    if (kernel.call.messages > 1) kernel.call.bytes = std::max(more[0], more[1]);  // both ways at once
  }

  void write() {
    auto& kernels = events_.kernels;
    std::sort(kernels.begin(), kernels.end(), [](const Kernel& a, const Kernel& b) { return a.call.span.from < b.call.span.from; });
    std::unordered_map<std::int64_t, std::size_t> begun;  // calls carried out by several kernels, by External id of their record
    for (const Kernel& one : kernels) {
      if (one.call.moves == Moves::unknown) {
        ++trace_.skipped[no_call];
        continue;
      }
      if (one.has_operation && one.external > 0) {
        const auto [at, first] = begun.try_emplace(one.external, trace_.calls.size());
        if (!first) {
          TracedCall& call = trace_.calls[at->second];
          if (call.moves == one.call.moves && call.group == one.call.group && call.stream == one.call.stream) {
            call.span.to = std::max(call.span.to, one.call.span.to);
            continue;
          }
        }
      }
      trace_.calls.push_back(one.call);
    }
  }

  Events& events_;
  RankTrace& trace_;
  std::unordered_map<std::int64_t, const Launch*> launches_;
  std::unordered_map<std::int64_t, CallRequest*> records_;
  std::map<std::int64_t, std::vector<CallRequest*>> threads_;
};

}  // namespace

void join(Events& events, RankTrace& into) { Joiner(events, into).run(); }

}  // namespace fabricost::observe::kineto
