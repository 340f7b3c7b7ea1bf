// Long logs are condensed: counts stay right, numbers of lines stay, and lines that distinguish ranks are kept.
#include "diagnose/inputs/condense.hpp"

#include "catch.hpp"
#include "diagnose/inputs/inputs.hpp"
#include "readings/logs/nccl_info.hpp"
#include "readings/logs/rank_reports.hpp"
#include "text/line_reader.hpp"
#include "unit/diagnose/logs.hpp"

#include <fmt/format.h>

namespace {

using fabricost::observe::NcclInfo;

std::string condensed(const std::string& log) {
  std::string out;
  fabricost::observe::diagnosis::Condenser condenser([&](std::string_view text) { out += text; });
  for (std::size_t at = 0, end = 0; (end = log.find('\n', at)) != std::string::npos; at = end + 1)
    condenser.line(std::string_view{log}.substr(at, end - at));
  condenser.finish();
  return out;
}

/// Steps of training and connections of 16 ranks on two hosts, more than is kept whole, and one line that counts near the end.
std::string long_log() {
  std::string out;
  for (int step = 0; step < 80000; ++step)
    out += fmt::format("[rank{}]: 2026-11-22 10:{:02d}:{:02d} step {} loss {:.4f} tokens/s {}\n", step % 16, step / 60 % 60, step % 60,
                       step / 16, 1.0 / (1 + step), 1000 + step % 77);
  for (int rank = 0; rank < 16; ++rank) {
    const std::string head = fmt::format("n{}:{}:{} [{}] NCCL INFO ", rank / 8, 100 + rank, 100 + rank, rank % 8);
    for (const char* const end : {"START", "COMPLETE"})
      out += head + fmt::format("ncclCommInitRank comm 0x{:x} rank {} nranks 16 commId 0xab - Init {}\n", 4096 + rank, rank, end);
    for (int channel = 0; channel < 32; ++channel)
      for (const char* const way : {"send", "receive"})
        out += head + fmt::format("Channel {:02d}/0 : {}[{}] -> {}[{}] [{}] via NET/IB/{}/GDRDMA\n", channel, rank, rank % 8,
                                  (rank + 8) % 16, rank % 8, way, rank % 8);
  }
  for (int i = 0; i < 300; ++i)
    out += fmt::format("n0:100:100 [0] NCCL WARN NET/IB : GPU Direct RDMA Disabled for HCA {} 'mlx5_{}'\n", i % 8, i % 8);
  return out + "n1:110:110 [2] init.cc:9 NCCL WARN Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 5000\n";
}

}  // namespace

TEST_CASE("a condensed log is a fraction of the log and says the same") {
  const std::string log = long_log(), shorter = condensed(log);
  CHECK(shorter.size() < log.size());
  const std::vector<fabricost::observe::Sign> signs{{"refused", {{{"GPU Direct RDMA Disabled"}, {}, false}}},
                                                 {"twice", {{{"Duplicate GPU"}, {}, false}}}};
  const TemporaryLog whole_file(log), shorter_file(shorter);
  const NcclInfo whole = fabricost::observe::read_nccl_info(whole_file.path(), signs),
                 less = fabricost::observe::read_nccl_info(shorter_file.path(), signs);
  CHECK(less.messages == whole.messages);
  for (const char* sign : {"refused", "twice"}) {
    CHECK(less.seen(sign).times == whole.seen(sign).times);
    CHECK(less.seen(sign).first.number == whole.seen(sign).first.number);
    CHECK(less.seen(sign).last == whole.seen(sign).last);
  }
  REQUIRE(less.net.contains("IB"));
  CHECK(less.net.at("IB").times == whole.net.at("IB").times);
  CHECK(less.net.at("IB").direct == whole.net.at("IB").direct);
  CHECK(less.net.at("IB").channels == whole.net.at("IB").channels);
  CHECK(less.net.at("IB").by_host == whole.net.at("IB").by_host);
  const auto all = fabricost::observe::read_rank_reports(whole_file.path()),
             kept = fabricost::observe::read_rank_reports(shorter_file.path());
  CHECK(kept.communicators.at("0xab").began == all.communicators.at("0xab").began);
  CHECK(kept.communicators.at("0xab").ended == all.communicators.at("0xab").ended);
  for (const auto& [who, one] : all.speakers) CHECK(kept.speakers.at(who).lines == one.lines);
}

TEST_CASE("settings in any order are condensed, and a name, a text or a rank that is new is kept") {
  std::string log;
  std::uint32_t state = 1;
  const auto draw = [&](std::uint32_t below) { return (state = state * 1664525U + 1013904223U) / 65536U % below; };
  for (int i = 0; i < 100000; ++i) {
    log += "server_args=ServerArgs(";
    for (int k = 0; k < 8; ++k) log += fmt::format("{}option_{}={}", k > 0 ? ", " : "", "abcdefgh"[draw(8)], draw(1000));
    log += ")\n";
  }
  const std::string name = "server_args=ServerArgs(option_a=1, option_b=2, never_seen=3, option_c=4)\n",
                    text = "server_args=ServerArgs(option_a=1, option_b=2, option_c=3, option_d=4) Watchdog caught it\n",
                    rank = "[rank3]: server_args=ServerArgs(option_a=1, option_b=2, option_c=3, option_d=4)\n";
  const std::string shorter = condensed(log + name + text + rank + log);
  CHECK(shorter.size() < log.size() / 3);
  for (const std::string& one : {name, text, rank}) CHECK(shorter.find(one) != std::string::npos);
}

TEST_CASE("a short log is kept whole") {
  const std::string log = "a 1\na 2\na 3\na 4\na 5\na 6\n[rank1]: b\n\n";
  CHECK(condensed(log) == log);
}

TEST_CASE("of a progress bar that writes over itself the last state is kept, wherever a block of the file ends") {
  for (const std::size_t beyond : {0, 1, 2, 3}) {
    std::string bar;
    while (bar.size() < (std::size_t{5} << 18U)) bar += fmt::format("epoch 1: step {:07d}\r", bar.size());
    const std::string last = "n1:110:110 [2] init.cc:9 NCCL WARN Duplicate GPU detected\r\n";
    bar.resize((std::size_t{5} << 18U) + beyond - last.size());
    bar.back() = '\r';
    const TemporaryLog one(bar + last + "n1:110:110 [2] NCCL INFO after\n"), other("n0:1:1 [0] NCCL INFO other\n");
    const fabricost::observe::diagnosis::Inputs inputs({one.path(), other.path()});
    fabricost::core::LineReader lines(inputs.file());
    std::vector<std::string> all;
    for (std::string line; lines.next(line);) all.push_back(line);
    INFO("the line ends " << beyond << " bytes after a block");
    CHECK(std::find(all.begin(), all.end(), last.substr(0, last.size() - 2)) != all.end());
    CHECK(std::none_of(all.begin(), all.end(), [](const std::string& line) { return line.empty(); }));
  }
}
