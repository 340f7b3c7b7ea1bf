#pragma once
/// The trace that a profiler would write of one rank: Kineto's JSON, made instead of measured. Private to src/answers.

#include <fabricost/collective.hpp>

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fabricost::plan::detail {

/// A process group as a rank sees it.
struct RankGroup {
  std::string name, words;
  int size = 0, first = 0, stride = 1;
};

/// A call of all its ranks.
struct SentCall {
  const RankGroup* group = nullptr;
  Collective what = Collective::all_reduce;
  double bytes = 0, seconds = 0;
  bool single = false;  ///< in 32 bit
};

/// Seconds of kernels of a piece of work, and the calls after them.
struct WorkContent {
  double memory = 0, products = 0, attention = 0, idle = 0, copies = 0;
  std::vector<SentCall> sent{};
  double exposed = 0;  ///< of the calls

  [[nodiscard]] double kernels() const { return memory + products + attention; }
  [[nodiscard]] double seconds() const { return kernels() + idle + copies + exposed; }
  void scale(double by) {
    for (double* one : {&memory, &products, &attention, &idle, &copies, &exposed}) *one *= by;
    for (SentCall& one : sent) one.seconds *= by;
  }
};

/// Writes the events of one rank in the form of a profiler.
class RankEvents {
 public:
  /// \param products, attention names of such kernels
  RankEvents(int rank, std::string products, std::string attention)
      : rank_(rank), products_(std::move(products)), attention_(std::move(attention)) {}
  double now = 0;  ///< when the stream that computes is free, s

  /// Kernels of so many layers, and their calls.
  void work(const WorkContent& content, int layers);
  void kernel(std::string_view name, double seconds);
  void copy(double seconds);
  /// Calls one after the other, of which so much is exposed: the rest lies over the kernels before.
  void exchange(const std::vector<SentCall>& sent, double exposed) { block(sent, exposed, sent); }
  void idle_until(double time) { now = now < time ? time : now; }
  /// A call from then on, over whatever runs.
  void call(const SentCall& one, double from) { write(one, from, one.seconds, {}); }
  void hand_over(const RankGroup& pair, double bytes, double from, double to, int other, bool receives);

  /// The whole file.
  [[nodiscard]] std::string text(const std::string& gpu, int world, double step);

 private:
  struct Kernel {
    std::string name;
    double from = 0, seconds = 0;
  };

  /// \param exposed of `all`; these have their share of it
  void block(const std::vector<SentCall>& sent, double exposed, const std::vector<SentCall>& all);
  /// A kernel ends at that time, so that a call can begin there: the one that runs then becomes two. Returns that time, or when the first
  /// kernel since began.
  double split(double time);
  void write(const SentCall& one, double from, double seconds, const std::string& more);
  void event(std::string_view category, std::string_view name, int stream, double from, double seconds, const std::string& more);

  int rank_;
  std::string products_, attention_, out_;
  std::vector<Kernel> kernels_;
  std::map<std::string, int> sequence_, streams_;  ///< of each group
};

}  // namespace fabricost::plan::detail
