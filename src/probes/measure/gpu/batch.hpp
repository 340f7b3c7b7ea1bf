#pragma once
/// Times repetitions of a piece of work on one stream or many.
///
///     first stream   held | start |  work  work  work ... | waits for all others | stop
///     other streams          wait for start | work ...    | done
///
/// All streams are held behind one gate until the host has enqueued (the first of) the repetitions; all start
/// after the same event, and the stop event waits for every stream. Device time is from start to stop; host
/// time is from opening the gate until stop is observed. `cold`: L2 of every GPU is flushed before each
/// repetition, each repetition is timed with its own events, and the times are added; the time of the flushes
/// is subtracted from the host's.

#include "measure/gpu/gpus.hpp"

#include <functional>
#include <memory>
#include <vector>

namespace fabricost::probes::measure::gpu {

struct Lane {
  int gpu = 0;
  Stream stream{};
};

struct Work {
  std::vector<Lane> lanes{};
  std::function<void()> enqueue{};           ///< one launch on all lanes' streams
  std::uint64_t repetitions_per_launch = 1;  ///< passes or loads per launch
  bool graph = true;                         ///< enqueue can be captured in a graph
  bool gated = true;                         ///< enqueue never waits for the device
  bool cold = false;
  std::function<void()> before{};              ///< enqueued before the gate, to bring a set into the cache
  bool all_processes = false;                  ///< they start together, and the slowest one's time counts
  std::function<std::string()> fault{};        ///< called while waiting: the reason why the work will never finish; empty: none known
  std::function<void()> give_up{};             ///< aborts work that would never finish
  std::vector<std::shared_ptr<void>> keeps{};  ///< resources of enqueue, released after the graphs
};

/// A lane on this GPU with its own stream.
[[nodiscard]] Lane make_lane(const Gpus& gpus, int gpu, bool urgent = false);

class Batch : public Job {
 public:
  Batch(Gpus& gpus, Work work);
  ~Batch() override;
  [[nodiscard]] Timing run(int repetitions) override;
  [[nodiscard]] bool in_graphs() const override { return work_.cold || !work_.graph || capturable_; }
  /// Waits for everything enqueued on the lanes. \throws DeviceLost, DeviceFault
  void finish();

 private:
  struct Graphs {
    int launches = 0;
    std::vector<GraphExec> of_lanes{};
  };
  [[nodiscard]] Timing run_warm(int launches, bool graphs);
  [[nodiscard]] Timing run_cold(int launches);
  void begin_together();
  void join();
  void check_lanes();
  [[nodiscard]] bool make_graphs(int launches);
  /// Launches the largest graph of at most `left` launches on all lanes; returns its number of launches.
  [[nodiscard]] int launch_graph(int left);
  void wait(cudaEvent_t event);
  /// Waits until no lane has work, with errors ignored.
  void close_run();
  /// The status of the first lane whose device failed. Of its stream the others wait for events and messages.
  [[nodiscard]] cudaError_t failed_lane() const;
  /// Why the work on the lanes will never finish; empty: none known.
  [[nodiscard]] std::string never_finishes(double waited) const;
  void give_up() const {
    if (work_.give_up) work_.give_up();
  }
  void on(std::size_t lane) { use(gpus_.ordinal(work_.lanes[lane].gpu)); }
  [[nodiscard]] cudaStream_t stream(std::size_t lane) const { return work_.lanes[lane].stream.handle(); }

  Gpus& gpus_;
  Work work_;
  Event start_, stop_;
  std::vector<Event> done_{};  ///< of the other lanes
  std::vector<Graphs> graphs_{};
  bool capturable_ = true;
};

}  // namespace fabricost::probes::measure::gpu
