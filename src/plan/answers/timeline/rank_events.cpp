/// The arguments are those that PyTorch's profiler gives kernels of NCCL since 2.2.

#include "answers/timeline/rank_events.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

namespace fabricost::plan::detail {

void RankEvents::work(const WorkContent& content, int layers) {
  for (int i = 0; i < layers; ++i) {
    const double n = 1.0 / layers;
    kernel("void at::native::vectorized_elementwise_kernel", content.memory * n);
    kernel(products_, content.products * n);
    kernel(attention_, content.attention * n);
    copy(content.copies * n);
    const auto share = static_cast<std::size_t>(i), count = static_cast<std::size_t>(layers), all = content.sent.size();
    block({content.sent.begin() + static_cast<std::ptrdiff_t>(all * share / count),
           content.sent.begin() + static_cast<std::ptrdiff_t>(all * (share + 1) / count)},
          content.exposed, content.sent);
    now += content.idle * n;
  }
}

void RankEvents::kernel(std::string_view name, double seconds) {
  if (!(seconds > 0)) return;
  kernels_.push_back({std::string{name}, now, seconds});
  now += seconds;
}

void RankEvents::copy(double seconds) {
  if (!(seconds > 0)) return;
  event("gpu_memcpy", "Memcpy DtoH (Device -> Pinned)", 9, now, seconds, "");
  now += seconds;
}

void RankEvents::hand_over(const RankGroup& pair, double bytes, double from, double to, int other, bool receives) {
  const SentCall one{&pair, Collective::send_recv, bytes, to - from};
  write(one, from, to - from, fmt::format(R"(,"{} Rank":{})", receives ? "Src" : "Dst", other));
}

std::string RankEvents::text(const std::string& gpu, int world, double step) {
  event("user_annotation", "ProfilerStep#1", 1, 0, step, "");
  for (const Kernel& one : kernels_) event("kernel", one.name, 7, one.from, one.seconds, "");
  return fmt::format(R"({{"schemaVersion":1,"deviceProperties":[{{"id":0,"name":"{}"}}],"distributedInfo":{{"backend":"nccl","rank": {},)"
                     R"("world_size":{}}},"displayTimeUnit":"ms","baseTimeNanoseconds":0,"traceEvents":[{})"
                     "\n]}}\n",
                     gpu, rank_, world, out_);
}

void RankEvents::block(const std::vector<SentCall>& sent, double exposed, const std::vector<SentCall>& all) {
  const auto sum = [](const std::vector<SentCall>& of) {
    return std::accumulate(of.begin(), of.end(), 0.0, [](double so_far, const SentCall& one) { return so_far + one.seconds; });
  };
  const double whole = sum(all), mine = sum(sent);
  if (!(mine > 0)) return;
  const double open = std::min(mine, exposed * mine / whole);
  const double since = split(now - (mine - open));
  const double shorter = (now + open - since) / mine;  // where there is not as much to hide behind
  double at = since;
  for (const SentCall& one : sent) {
    write(one, at, one.seconds * shorter, {});
    at += one.seconds * shorter;
  }
  now += open;
}

double RankEvents::split(double time) {
  if (time >= now || kernels_.empty()) return now;
  std::size_t i = kernels_.size();
  double begun = now;
  while (i > 0 && kernels_[i - 1].from + kernels_[i - 1].seconds > time) begun = kernels_[--i].from;
  if (begun >= time) return begun;
  Kernel& first = kernels_[i];
  const Kernel second{first.name, time, first.from + first.seconds - time};
  first.seconds = time - first.from;
  kernels_.insert(kernels_.begin() + static_cast<std::ptrdiff_t>(i) + 1, second);
  return time;
}

void RankEvents::write(const SentCall& one, double from, double seconds, const std::string& more) {
  const int stream = streams_.try_emplace(one.group->name, 20 + static_cast<int>(streams_.size())).first->second;
  static constexpr std::array<std::pair<const char*, const char*>, 7> said{{{"allreduce", "AllReduce_Sum_bf16_RING_LL"},
                                                                            {"_allgather_base", "AllGather_RING_LL"},
                                                                            {"_reduce_scatter_base", "ReduceScatter_Sum_bf16_RING_LL"},
                                                                            {"broadcast", "Broadcast_RING_LL"},
                                                                            {"reduce", "Reduce_Sum_bf16_RING_LL"},
                                                                            {"all_to_all", "SendRecv"},
                                                                            {"send", "SendRecv"}}};
  const auto& [words, kernel] = said[static_cast<std::size_t>(one.what)];
  const double elements = one.bytes / (one.single ? 4 : 2), part = elements / std::max(1, one.group->size);
  const bool pair = one.what == Collective::send_recv;
  event("kernel", fmt::format("ncclDevKernel_{}(ncclDevKernelArgsStorage<4096ul>)", kernel), stream, from, seconds,
        fmt::format(R"(,"Collective name":"{}","In msg nelems":{:.0f},"Out msg nelems":{:.0f},"Group size":{},"dtype":"{}",)"
                    R"("Process Group Name":"{}","Process Group Description":"{}","Global rank start":{},"Global rank stride":{}{}{})",
                    pair && more.find("Src") != std::string::npos ? "recv" : words, one.what == Collective::all_gather ? part : elements,
                    one.what == Collective::reduce_scatter ? part : elements, one.group->size, one.single ? "Float" : "BFloat16",
                    one.group->name, one.group->words, one.group->first, one.group->stride,
                    pair ? "" : fmt::format(R"(,"Seq":{})", ++sequence_[one.group->name]), more));
}

void RankEvents::event(std::string_view category, std::string_view name, int stream, double from, double seconds, const std::string& more) {
  constexpr double us = 1e6;
  out_ += fmt::format(
      "{}\n"
      R"({{"ph":"X","cat":"{}","name":"{}","pid":0,"tid":{},"ts":{:.3f},"dur":{:.3f})",
      out_.empty() ? "" : ",", category, name, stream, from * us, seconds * us);
  out_ += fmt::format(",\"args\":{{\"stream\":{}{}}}}}", stream, more);
}

}  // namespace fabricost::plan::detail
