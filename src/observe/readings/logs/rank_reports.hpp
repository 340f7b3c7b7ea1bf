#pragma once
/// Reads the reports of single ranks in the logs of a job: of PyTorch's watchdog, flight recorder and barrier, and NCCL's lines
/// at the start and end of making a communicator.
///
/// Formats as PyTorch prints them from 1.12 to 2.9 (ProcessGroupNCCL.cpp: "[Rank 3] Watchdog caught collective operation timeout:
/// WorkNCCL(SeqNum=45, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600012 milliseconds", "last enqueued NCCL work:
/// 46, last completed NCCL work: 44") and NCCL (init.cc: "ncclCommInitRank comm 0x.. rank 3 nranks 8 .. commId 0x.. - Init START").

#include "readings/dumps/ras.hpp"
#include "readings/logs/nccl_info.hpp"

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace fabricost::observe {

/// A collective that a rank waited for when its time ran out.
struct Waited {
  int rank = -1;
  long long sequence = -1;      ///< -1: not said
  long long in = -1, out = -1;  ///< elements; -1: not said
  std::string operation;
  std::string group;  ///< its process group, as printed; empty: not said
  double seconds = 0;
  LogLine line;
};

/// The progress of a rank's stream of collectives.
struct Progress {
  long long enqueued = -1, completed = -1;
  LogLine line;
};

/// One communicator of NCCL: who began to make it and who ended.
struct Joined {
  int ranks = 0;
  std::set<int> began, ended;
  LogLine first;
};

/// One file of several, or all lines with one launcher's tag.
struct Speaker {
  int lines = 0, last = 0;
  bool tool = false;           ///< the output of a tool or a dump: no rank's log
  std::set<std::string> said;  ///< milestones of NCCL and of the program
  LogLine last_line;
};

/// A statement that every rank should make alike: a variable, a version, the adapters, the network, a rank's view of the node, GPUDirect,
/// multicast. Speakers by value: file, tag or process; only the first of each, as later ones belong to other communicators.
struct Stated {
  enum class Kind : unsigned char { variable, version, adapters, network, topology, direct, multicast };
  Kind kind = Kind::variable;
  std::map<std::string, std::set<std::string>> who;  ///< by value
  std::map<std::string, LogLine> lines;              ///< the first of each value
};

/// The first process that torchrun's summary names as the cause of the others' end ("Root Cause (first observed failure)").
struct RootCause {
  int rank = -1;
  std::optional<int> exit_code;  ///< none: the log ends before it
  LogLine line;
};

struct RankReports {
  std::vector<Waited> waited;  ///< the first of each rank
  bool counts_several_groups = false;  ///< a rank gives several numbers and no group (PyTorch before 2.2)
  std::optional<RootCause> root_cause;
  std::map<int, Progress> progress;
  std::map<std::string, Joined> communicators;
  std::map<std::string, Speaker> speakers;                  ///< by file or tag
  std::map<std::string, Stated> stated;                     ///< by variable, "NCCL version", "adapters"
  std::map<std::string, std::string> hosts;                 ///< of a speaker, by NCCL's lines
  std::map<std::string, std::set<std::string>> unreached;   ///< by address: who says that it failed
  std::map<std::string, std::set<std::string>> at_address;  ///< who gave itself this address
  std::map<std::string, LogLine> unreached_lines;           ///< the first of each address
  RasReport ras;
  int world = 0;  ///< ranks of the job, as a line says; 0: unknown
};

/// \throws SpecError when the file is not readable as text
[[nodiscard]] RankReports read_rank_reports(const std::filesystem::path& file);

}  // namespace fabricost::observe
