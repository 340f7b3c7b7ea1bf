#pragma once
/// A question may be asked through the command that a person thinks of first; here it becomes the command that answers it.

#include <string>
#include <vector>

namespace fabricost::cli {

/// The words after "fabricost", rewritten:
///   plan train | serve | rl ...          the same with --train, --serve, --rl; so for compare, need and explore
///   plan ... --find gpus                 need gpus ...
///   plan ... --vary domain=8,16          explore ... --vary domain=8,16
///   predict OP ... --explain             explain OP ...
///   predict OP ... --size 1KiB:8GiB:x2   sweep OP ... --sizes 1KiB:8GiB:x2; so for several --nodes or --ranks
///   compare A B ... --tokens 15T         project -s A,B ... --tokens 15T
///   cost failures ...                    goodput ...
///   cost hour | run ...                  cost ...
///   show, systems; models                machine; model: names before 0.1
[[nodiscard]] std::vector<std::string> as_commands(std::vector<std::string> words);

/// Of those words the command, an earlier name as the one of today; empty where an option is first.
[[nodiscard]] std::string asked_command(const std::vector<std::string>& words);

/// The words behind "fabricost" as they were typed; main sets them.
[[nodiscard]] std::vector<std::string>& typed_words();
/// "fabricost predict all_reduce --size '1 GiB'": words of a shell.
[[nodiscard]] std::string line_of(const std::vector<std::string>& words);

}  // namespace fabricost::cli
