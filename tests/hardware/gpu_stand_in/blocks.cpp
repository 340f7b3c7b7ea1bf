/// Runs the blocks of a grid. Threads of a block that never synchronise run one after another; of one that does, each is a fiber with its
/// own stack, and __syncthreads changes to the next.

#include "stand_in.hpp"

#include <ucontext.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <random>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define STAND_IN_ADDRESSES 1
#endif
#if __has_feature(thread_sanitizer)
#define STAND_IN_RACES 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define STAND_IN_ADDRESSES 1
#endif
#if defined(__SANITIZE_THREAD__)
#define STAND_IN_RACES 1
#endif
#if defined(STAND_IN_ADDRESSES)
#include <sanitizer/common_interface_defs.h>
#endif
// The thread sanitizer may take all fibers of a block for one thread, which they run on, as long as it does not look at the functions that
// change from one stack to another: telling it of every change takes most of the time.
#if defined(STAND_IN_RACES)
#define STAND_IN_UNSEEN __attribute__((no_sanitize("thread")))
#else
#define STAND_IN_UNSEEN
#endif

namespace stand_in {

constinit thread_local Place place;

namespace {

constexpr std::size_t stack_bytes = std::size_t{96} << 10U;

// The fibers of the block that this thread of the host runs. The address sanitizer is told of every change from one stack to another.
class Block {
 public:
  STAND_IN_UNSEEN void run(const Threads& body, unsigned threads) {
    body_ = &body;
    grow(threads);
    const Place first = place;
    for (std::size_t i = 0; i < threads; ++i) {
      Fiber& fiber = *fibers_[i];
      fiber.done = false;
      fiber.place = first;
      fiber.place.thread = dim3(static_cast<unsigned>(i), 0, 0);
      getcontext(&fiber.context);
      fiber.context.uc_stack.ss_sp = fiber.stack.get();
      fiber.context.uc_stack.ss_size = stack_bytes;
      fiber.context.uc_link = nullptr;
      makecontext(&fiber.context, enter, 0);
    }
    for (std::size_t left = threads; left > 0;) {
      std::size_t ended = 0;
      for (std::size_t i = 0; i < threads; ++i)
        if (!fibers_[i]->done && resume(*fibers_[i])) ++ended;
      if (ended != 0 && ended != left) {
        std::fprintf(stderr, "stand-in: __syncthreads is not reached by all threads of a block\n");
        std::abort();
      }
      left -= ended;
    }
    now_ = nullptr;
  }
  [[nodiscard]] bool inside() const { return now_ != nullptr; }
  STAND_IN_UNSEEN void wait() { leave(false); }

  Block() = default;
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

 private:
  struct Fiber {
    ucontext_t context{};
    std::unique_ptr<char[]> stack = std::make_unique<char[]>(stack_bytes);
    Place place{};
    bool done = false;
  };

  void grow(std::size_t threads) {
    while (fibers_.size() < threads) fibers_.push_back(std::make_unique<Fiber>());
  }

  STAND_IN_UNSEEN bool resume(Fiber& fiber) {
    now_ = &fiber;
    place = fiber.place;
#if defined(STAND_IN_ADDRESSES)
    void* kept = nullptr;
    __sanitizer_start_switch_fiber(&kept, fiber.stack.get(), stack_bytes);
#endif
    swapcontext(&outside_, &fiber.context);
#if defined(STAND_IN_ADDRESSES)
    __sanitizer_finish_switch_fiber(kept, nullptr, nullptr);
#endif
    return fiber.done;
  }

  STAND_IN_UNSEEN void leave([[maybe_unused]] bool for_good) {
    void* kept = nullptr;
#if defined(STAND_IN_ADDRESSES)
    __sanitizer_start_switch_fiber(for_good ? nullptr : &kept, bottom_, size_);
#endif
    swapcontext(&now_->context, &outside_);
    entered(kept);
  }

  STAND_IN_UNSEEN void entered([[maybe_unused]] void* kept) {
#if defined(STAND_IN_ADDRESSES)
    __sanitizer_finish_switch_fiber(kept, &bottom_, &size_);
#endif
  }

  static void enter();

  const Threads* body_ = nullptr;
  std::vector<std::unique_ptr<Fiber>> fibers_{};
  Fiber* now_ = nullptr;
  ucontext_t outside_{};
#if defined(STAND_IN_ADDRESSES)
  const void* bottom_ = nullptr;
  std::size_t size_ = 0;
#endif
};

// Streams come and go, and a block's fibers are dear: the next stream takes over those of one that ended.
class Lent {
 public:
  Lent() {
    const std::lock_guard lock(mutex());
    if (!left().empty()) {
      block_ = std::move(left().back());
      left().pop_back();
    } else {
      block_ = std::make_unique<Block>();
    }
  }
  ~Lent() {
    const std::lock_guard lock(mutex());
    left().push_back(std::move(block_));
  }
  Lent(const Lent&) = delete;
  Lent& operator=(const Lent&) = delete;
  [[nodiscard]] Block& block() const { return *block_; }

 private:
  // never destroyed: streams may outlive the end of main
  static std::mutex& mutex() {
    static auto* const one = new std::mutex;
    return *one;
  }
  static std::vector<std::unique_ptr<Block>>& left() {
    static auto* const all = new std::vector<std::unique_ptr<Block>>;
    return *all;
  }
  std::unique_ptr<Block> block_{};
};

Block& running() {
  thread_local Lent lent;
  return lent.block();
}

STAND_IN_UNSEEN void Block::enter() {
  Block& self = running();
  self.entered(nullptr);
  const unsigned thread = place.thread.x;
  (*self.body_)(thread, thread + 1);
  self.now_->done = true;
  self.leave(true);
}

}  // namespace

STAND_IN_UNSEEN void sync_threads() {
  if (!running().inside()) {
    std::fprintf(stderr, "stand-in: __syncthreads in a kernel that was launched as one without\n");
    std::abort();
  }
  running().wait();
}

cudaError_t occupancy(int* blocks) {
  if (const Failure planned = failure_of("cudaOccupancyMaxActiveBlocksPerMultiprocessor", current_device()); planned != Failure::none)
    return said(status_of(planned));
  *blocks = 2;
  return cudaSuccess;
}

void run_grid(const Threads& threads, bool syncs, dim3 grid, dim3 block) {
  static thread_local std::mt19937 random(1);
  std::vector<unsigned> order(grid.x);
  for (unsigned i = 0; i < grid.x; ++i) order[i] = i;
  std::shuffle(order.begin(), order.end(), random);
  for (const unsigned index : order) {
    place = {dim3(0, 0, 0), dim3(index, 0, 0), block, grid};
    if (syncs)
      running().run(threads, block.x);
    else
      threads(0, block.x);
  }
}

}  // namespace stand_in
