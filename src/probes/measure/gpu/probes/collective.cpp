/// collective: NCCL's operations on the GPUs of all processes, as nccl-tests measures them, with every
/// element checked first.

#include "measure/gpu/nccl_choice.hpp"
#include "measure/gpu/nccl_library.hpp"
#include "measure/gpu/probes/collective_layout.hpp"
#include "measure/gpu/probes/probes.hpp"

namespace fabricost::probes::measure::gpu {

#if FABRICOST_HAS_NCCL
namespace {

constexpr int root = 0;

ncclDataType_t nccl_type(DataType type, const NcclLibrary& library, bool combines, int compute) {
  switch (type) {
    case DataType::int8: return ncclInt8;
    case DataType::half: return ncclFloat16;
    case DataType::bfloat16: return ncclBfloat16;
    case DataType::single: return ncclFloat32;
    case DataType::double_precision: return ncclFloat64;
    case DataType::fp8: break;
  }
  if (!combines) return ncclInt8;  // only moved: the bytes are the same, and older libraries lack fp8
#if !FABRICOST_HIP && NCCL_VERSION_CODE >= 22400
  if (library.version < 22400) throw Unsupported("NCCL before 2.24 does not reduce fp8");
  if (compute < 90) throw Unsupported("NCCL reduces fp8 on compute capability 9.0 and later only");
  return ncclFloat8e4m3;
#else
  static_cast<void>(library), static_cast<void>(compute);
  throw Unsupported("these probes were built with a header of the library that has no fp8");
#endif
}

// The buffers of one rank. In place, one of them contains the other.
struct Rank {
  unsigned number = 0;
  int gpu = 0;
  Buffer sent{}, received{};
  void* send = nullptr;
  void* receive = nullptr;
  cudaStream_t stream{};
};

struct Exchange {
  Case what;
  std::shared_ptr<Communicators> communicators;
  CollectiveLayout layout{};
  ElementFormat format{};
  ncclDataType_t type = ncclInt8;
  std::vector<Rank> ranks{};
  std::unique_ptr<RegisteredBuffers> registered{};  ///< released before the buffers and the communicators

  [[nodiscard]] unsigned all() const { return static_cast<unsigned>(communicators->ranks()); }
  [[nodiscard]] bool receives(const Rank& rank) const { return what.operation != Collective::reduce || rank.number == root; }
  void call(std::size_t local) const;
  void enqueue() const;
};

void allocate(const Gpus& gpus, const NcclLibrary& library, Exchange& e) {
  const std::uint64_t width = e.format.bytes, piece = e.layout.piece * width;
  for (std::size_t i = 0; i < e.ranks.size(); ++i) {
    Rank& rank = e.ranks[i];
    const auto buffer = [&](std::uint64_t bytes) {
      const int ordinal = gpus.ordinal(rank.gpu);
      return e.what.registered == Registration::none ? Buffer(ordinal, bytes) : library_buffer(library, ordinal, bytes, e.what.registered);
    };
    rank.received = buffer(std::max(e.layout.received, e.what.in_place ? e.layout.sent : 0) * width);
    rank.send = rank.receive = rank.received.as<void>();
    if (!e.what.in_place) {
      rank.sent = buffer(e.layout.sent * width);
      rank.send = rank.sent.as<void>();
    } else if (e.what.operation == Collective::all_gather) {
      rank.send = rank.received.as<char>() + rank.number * piece;
    } else if (e.what.operation == Collective::reduce_scatter) {
      rank.receive = rank.received.as<char>() + rank.number * piece;
    }
  }
}

void register_buffers(Exchange& e) {
  if (e.what.registered == Registration::none) return;
  std::vector<RegisteredBuffers::Part> parts;
  for (std::size_t local = 0; local < e.ranks.size(); ++local)
    for (const Buffer* const buffer : {&e.ranks[local].sent, &e.ranks[local].received})
      if (buffer->bytes() > 0) parts.push_back({local, buffer->as<void>(), buffer->bytes()});
  e.registered = std::make_unique<RegisteredBuffers>(e.communicators, e.what.registered, parts);
}

void fill(const Gpus& gpus, const Exchange& e) {
  for (const Rank& rank : e.ranks) {
    rank.received.poison();
    use(gpus.ordinal(rank.gpu));
    check(fill_sent(rank.send, e.layout.sent, reduces(e.what.operation), rank.number, e.all(), e.format, rank.stream), "filling");
  }
}

void expect(const Gpus& gpus, const Exchange& e) {
  for (const Rank& rank : e.ranks) {
    if (!e.receives(rank)) continue;
    const Words wrong(gpus.ordinal(rank.gpu));
    check(count_wrong_elements(rank.receive, e.layout.received, e.what.operation, reduces(e.what.operation), e.layout.piece, rank.number,
                               e.all(), e.format, wrong.at(), rank.stream),
          "checking");
    expect_none_wrong(
        wrong, rank.stream,
        std::string(name(e.what.operation)) + " of " + std::to_string(e.what.bytes) + " bytes, rank " + std::to_string(rank.number),
        std::string(name(e.what.dtype)) + " elements");
  }
}

void Exchange::call(std::size_t local) const {
  const NcclLibrary& nccl = communicators->library();
  const Rank& rank = ranks[local];
  const ncclComm_t c = communicators->communicator(local);
  if (c == nullptr) throw DeviceFault("the communicators were aborted after a failure");
  const std::uint64_t piece_bytes = layout.piece * format.bytes;
  const int n = communicators->ranks(), me = static_cast<int>(rank.number);
  ncclResult_t status = ncclSuccess;
  switch (what.operation) {
    case Collective::all_reduce: status = nccl.ncclAllReduce(rank.send, rank.receive, layout.piece, type, ncclSum, c, rank.stream); break;
    case Collective::all_gather: status = nccl.ncclAllGather(rank.send, rank.receive, layout.piece, type, c, rank.stream); break;
    case Collective::reduce_scatter:
      status = nccl.ncclReduceScatter(rank.send, rank.receive, layout.piece, type, ncclSum, c, rank.stream);
      break;
    case Collective::broadcast: status = nccl.ncclBroadcast(rank.send, rank.receive, layout.piece, type, root, c, rank.stream); break;
    case Collective::reduce: status = nccl.ncclReduce(rank.send, rank.receive, layout.piece, type, ncclSum, root, c, rank.stream); break;
    case Collective::all_to_all:  // ncclAlltoAll is missing in most installations; this is equivalent
      for (int peer = 0; peer < n && status == ncclSuccess; ++peer) {
        const std::uint64_t at = static_cast<std::uint64_t>(peer) * piece_bytes;
        status = nccl.ncclSend(static_cast<const char*>(rank.send) + at, layout.piece, type, peer, c, rank.stream);
        if (status == ncclSuccess) status = nccl.ncclRecv(static_cast<char*>(rank.receive) + at, layout.piece, type, peer, c, rank.stream);
      }
      break;
    case Collective::send_recv:
      status = nccl.ncclSend(rank.send, layout.piece, type, (me + 1) % n, c, rank.stream);
      if (status == ncclSuccess) status = nccl.ncclRecv(rank.receive, layout.piece, type, (me + n - 1) % n, c, rank.stream);
      break;
  }
  nccl.check(status, std::string(name(what.operation)) + " of " + std::to_string(what.bytes) + " bytes");
}

void Exchange::enqueue() const {
  const NcclLibrary& nccl = communicators->library();
  nccl.check(nccl.ncclGroupStart(), "opening a group");
  std::exception_ptr fault;
  try {
    for (std::size_t local = 0; local < ranks.size(); ++local) {
      use(communicators->ordinals()[local]);
      call(local);
    }
  } catch (...) {
    fault = std::current_exception();  // the group must be closed in any case
  }
  const ncclResult_t ended = nccl.ncclGroupEnd();
  if (fault || ended != ncclSuccess) communicators->abort();  // ranks that were called would wait for those that were not
  if (fault) std::rethrow_exception(fault);
  nccl.check(ended, std::string(name(what.operation)) + " of " + std::to_string(what.bytes) + " bytes");
}

}  // namespace

Work collective_work(Gpus& gpus, const Case& what) {
  if (what.gpus.empty()) throw Unsupported("a collective needs GPUs");
  if (const auto why = why_not_forced(what)) throw Unsupported(*why);
  if (what.in_place && is_exchange(what.operation)) throw Unsupported(std::string(name(what.operation)) + " does not run in place");
  const int ranks = gpus.processes() * static_cast<int>(what.gpus.size());
  if (ranks < 2) throw Unsupported("a collective needs two ranks at least");

  Work work;
  auto exchange = std::make_shared<Exchange>();
  Exchange& e = *exchange;
  gpus.together([&] {
    e.what = what;
    e.format = format_of(what.dtype);
    e.layout = layout_of(what.operation, what.bytes, what.dtype, ranks);
    const NcclLibrary& library = gpus.nccl().library(what.nvls);
    e.type = nccl_type(what.dtype, library, reduces(what.operation), gpus.compute(what.gpus[0]));
    for (std::size_t i = 0; i < what.gpus.size(); ++i) {
      work.lanes.push_back(make_lane(gpus, what.gpus[i], true));
      Rank rank;
      rank.number = static_cast<unsigned>(gpus.process()) * static_cast<unsigned>(what.gpus.size()) + static_cast<unsigned>(i);
      rank.gpu = what.gpus[i];
      rank.stream = work.lanes.back().stream.handle();
      e.ranks.push_back(std::move(rank));
    }
    allocate(gpus, library, e);
  });
  gpus.together([&] { e.communicators = gpus.communicators(what); });
  gpus.together([&] { register_buffers(e); });
  gpus.together([&] { fill(gpus, e); });
  work.graph = what.graph && e.communicators->library().version >= 20900;  // before 2.9 NCCL's calls cannot be captured
  work.all_processes = gpus.processes() > 1;
  const auto communicators = e.communicators;
  work.enqueue = [e = &e] { e->enqueue(); };
  work.fault = [&gpus, communicators] {
    std::string why = communicators->asynchronous_fault();
    if (why.empty() && gpus.others() != nullptr && gpus.others()->broken()) why = "another process is gone";
    return why;
  };
  work.give_up = [communicators] { communicators->abort(); };
  work.keeps.push_back(exchange);
  return work;
}

std::unique_ptr<Job> prepare_collective(Gpus& gpus, const Case& what) {
  Work work = collective_work(gpus, what);
  const auto exchange = std::static_pointer_cast<Exchange>(work.keeps.front());
  auto job = std::make_unique<Batch>(gpus, std::move(work));
  gpus.together([&] {
    exchange->enqueue();
    job->finish();
    expect(gpus, *exchange);
  });
  return job;
}

#else

Work collective_work(Gpus& gpus, const Case& what) {
  static_cast<void>(gpus.nccl().library(what.nvls));  // throws with the reason
  return {};
}
std::unique_ptr<Job> prepare_collective(Gpus& gpus, const Case& what) { return std::make_unique<Batch>(gpus, collective_work(gpus, what)); }

#endif

namespace {
const Prepares collective_probes{{ProbeKind::collective}, prepare_collective};
}  // namespace

}  // namespace fabricost::probes::measure::gpu
