/// Reads a log and reports the diagnosis.

#include <fabricost/fields/field.hpp>

#include "answers/trace/diagnosis.hpp"

#include "diagnose/diagnose.hpp"

namespace fabricost::observe {

AnswerTable<Finding> Finding::fields() {
  using A = Finding;
  return {gives(&A::cause, "cause", "cause", "Its name, as in `gdr_off`; those of `fabricost diagnose --json`."),
          gives(&A::confidence, "confidence", "confidence", "0 a guess, 1 the log says so itself."),
          gives(&A::evidence, "evidence", "evidence", "Lines of the log with their numbers, or the arithmetic."),
          gives(&A::remedy, "remedy", "remedy", "What to try."),
          gives(&A::what, "what", "what", "In a few words, where the name says less; may be empty.", {}, true),
          gives(&A::rule, "rule", "rule", "The strongest rule of data/diagnosis behind it.", {}, true),
          gives(&A::page, "page", "page", "Where the documentation says what it is, how to be sure and what helps.", {}, true)};
}

AnswerTable<RuleSeen> RuleSeen::fields() {
  using A = RuleSeen;
  return {gives(&A::rule, "rule", "rule", "FILE.cause.number in data/diagnosis."),
          gives(&A::cause, "cause", "cause", "The cause it applies to."),
          gives(&A::weight, "weight", "weight", "How often it is right, 0 to 1.")};
}

AnswerTable<NextQuestion> NextQuestion::fields() {
  using A = NextQuestion;
  return {gives(&A::ask, "ask", "ask", "The command."), gives(&A::tells, "tells", "tells", "What its outcome means."),
          gives(&A::bits, "bits", "bits", "What it is expected to settle of the doubt, in bits.")};
}

AnswerTable<Difference> Difference::fields() {
  using A = Difference;
  return {gives(&A::what, "what", "what", "What differs: a variable, a version, a bandwidth, a line."),
          gives(&A::here, "here", "here", "In this run; empty: not stated."),
          gives(&A::there, "there", "there", "In the run that went well; empty: not stated.")};
}

AnswerTable<DiagnosedSize> DiagnosedSize::fields() {
  using A = DiagnosedSize;
  return {gives(&A::collective, "operation", "operation", "Its name, as in `all_reduce`."),
          gives(&A::bytes, "bytes", "bytes", "Size, byte."),
          field::give_ranks<A>,
          field::give_nodes<A>,
          gives(&A::measured, "measured_us", "measured_seconds", "Median of the log's times, s.", in_microseconds),
          gives(&A::predicted, "predicted_us", "predicted_seconds", "Prediction, s.", in_microseconds),
          gives(&A::low, "interval_us[]", "low_seconds", "Least of nine in ten measurements, s.", in_microseconds),
          gives(&A::high, "interval_us[]", "high_seconds", "Most of nine in ten measurements, s.", in_microseconds),
          gives(&A::bus_bandwidth, "busbw_GBps", "bus_bytes_per_second", "Measured bus bandwidth, byte/s.", in_gigabytes_per_second),
          gives(&A::ratio, "ratio", "", "Measured over predicted."),
          gives(&A::run, "run", "", "Of several runs: its file, or its first line.", {}, true)};
}

AnswerTable<Diagnosis> Diagnosis::fields() {
  using A = Diagnosis;
  return {gives(&A::state, "state", "state", "failed, slow, slower_than_predicted, as_predicted or nothing_to_judge."),
          gives(&A::healthy, "healthy", "healthy", "True: the run was seen to end, and nothing speaks against it."),
          gives(&A::causes, "causes", "causes", "List of Finding, likeliest first."),
          gives(&A::next, "next", "next", "List of NextQuestion, most telling first."),
          gives(&A::rules, "rules", "rules", "List of RuleSeen: all rules that held."),
          gives(&A::verdict, "verdict", "verdict", "One sentence."),
          gives(&A::normal, "normal", "normal",
                "Is the number normal: measured, expected, how many public runs on such machines are slower; empty: nothing was "
                "compared."),
          gives(&A::system, "", "system", "Name of the machine it was compared with; empty: with none."),
          gives(&A::compared_with, "system", "", "Name of the machine it was compared with."),
          gives(&A::system_guessed, "system_guessed", "system_guessed", "True: found from the log, not given."),
          gives(&A::basis, "", "basis", "What the prediction rests on: calibrated, sibling or datasheet."),
          gives(&A::sizes, "sizes", "", "Each size of the log."),
          gives(&A::differences, "differences", "differences", "List of Difference, from the run of `against`.", {}, true),
          gives(&A::notes, "notes", "notes", "What the log did not say, what was set aside.")};
}

RequestTable<DiagnoseRequest> DiagnoseRequest::fields() {
  using R = DiagnoseRequest;
  using enum Amount;
  return {asks(&R::log, "log", "LOG", " ", "A log, packed or not, a dump, a folder of them, - for standard input", true),
          asks(&R::system, "system", "--system,-s", "NAME", "The machine; default: the one named in the log"),
          asks(&R::nodes, "nodes", "--nodes,-n", count, any_count, "N", "Number of nodes, if the log does not say"),
          asks(&R::ranks, "ranks", "--ranks,-r", count, any_count, "R", "Number of ranks in all, if the log does not say"),
          asks(&R::expected, "expected", "--expected,-e", "RATE", "Bandwidth you expected, with its unit"),
          asks(&R::more, "more", "MORE", " ", "Further logs of the same job, as of its other ranks or nodes"),
          asks(&R::against, "against", "--against", "LOG", "Log, or folder of logs, of a good run to compare with"),
          asks(&R::follow, "follow", "--follow", "", "The logs are still written: read on until a verdict stands"),
          field::ask_launch_of_files<R>,
          field::ask_library_of_files<R>,
          field::ask_overrides<R>,
          field::ask_calibration<R>};
}

Diagnosis answer(const DiagnoseRequest& request) {
  if (request.log.empty()) throw Refusal("which log? Name a file that nccl-tests or NCCL wrote", true);
  check_ranges(request);
  if (request.system && request.system.name.empty())
    throw Refusal("<system>: a machine that has a name, or a file of its own, is compared with a log");
  if (!request.follow && detail::asks_of_traces(request)) return detail::diagnosis_of_traces(request);
  std::vector<std::filesystem::path> logs{request.log};
  logs.insert(logs.end(), request.more.begin(), request.more.end());
  return request.follow ? diagnose_while_it_runs(logs, request) : diagnose(logs, request);
}

}  // namespace fabricost::observe
