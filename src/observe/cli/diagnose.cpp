/// fabricost diagnose: the answer as text.

#include "cli/interrupts.hpp"
#include "cli/question_command.hpp"
#include "cli/subcommands.hpp"

#include <fabricost/observe/diagnose/diagnose.hpp>
#include <fabricost/progress.hpp>

#include <algorithm>

namespace fabricost::cli {
namespace {

/// An answer is read at once: on one screen.
constexpr std::ptrdiff_t most_lines = 24;

[[nodiscard]] std::ptrdiff_t lines_of(std::string_view text) { return std::count(text.begin(), text.end(), '\n'); }

/// At most so many lines of it, broken at the margin.
[[nodiscard]] std::string few_lines(std::string_view first, const std::string& text, std::ptrdiff_t most, std::size_t margin) {
  constexpr std::string_view cut = " ...\n";
  std::string out = wrapped(first, text, margin);
  if (lines_of(out) <= most) return out;
  out = wrapped(first, text, margin - cut.size() + 1);
  std::size_t end = 0;
  for (std::ptrdiff_t i = 0; i < most; ++i) end = out.find('\n', end) + 1;
  return out.substr(0, end - 1).append(cut);
}

/// The text without "HOST:PID:TID [DEVICE] NCCL INFO ", so that its point stands in the line that is shown.
[[nodiscard]] std::string without_prefix(const std::string& text) {
  constexpr std::string_view mark = " NCCL INFO ";
  const std::size_t end = text.find(mark), begin = text.rfind(": ", end);
  if (end == std::string::npos || begin == std::string::npos) return text;
  return text.substr(0, begin + 2) + text.substr(end + mark.size());
}

/// Measured and predicted time of some of the sizes, the largest among them; of several runs those of the first.
void add_sizes(Page& page, const std::vector<DiagnosedSize>& sizes, std::size_t most) {
  TextTable table{"operation", ">size", ">measured", ">predicted", ">ratio", ">busbw", ""};
  const std::size_t step = (sizes.size() + most - 1) / most;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if ((sizes.size() - 1 - i) % step != 0) continue;
    const DiagnosedSize& s = sizes[i];
    table.row(name(s.collective), size_text(s.bytes), time_text(s.measured), time_text(s.predicted),
              fmt::format("{:.2f}", s.ratio()), rate_text(s.bus_bandwidth), s.measured > s.high ? "above interval" : s.measured < s.low ? "below interval" : "");
  }
  page.table(table);
}

/// "3 steps: 12, here 14".
[[nodiscard]] std::string difference_text(const Difference& one) {
  const auto stated = [](const std::string& text) { return text.empty() ? "not stated" : text; };
  if (one.there.empty() && one.what == "a line only here") return fmt::format("{}: {}", one.what, stated(one.here));
  return fmt::format("{}: {}, here {}", one.what, stated(one.there), stated(one.here));
}

/// The verdict, whether the number is normal, the likeliest cause with evidence and remedy, the remedies of others, the next evidence to collect,
/// of which nothing is cut, as people copy it; then the table, and as many notes as there is room for. The JSON contains all of it.
void diagnosis_text(Page& page, const Diagnosis& a) {
  constexpr std::size_t shown_causes = 3, asked = 2, shown_differences = 8;
  constexpr std::ptrdiff_t least_of_table = 6, table_head = 3;
  const bool compared = !a.sizes.empty();
  const auto left = [&page] { return most_lines - lines_of(page.text()); };
  std::string verdict = few_lines("", a.verdict, 4, page.margin()), pages, others;
  verdict.pop_back();
  page.title(verdict);
  if (!a.normal.empty()) page.add(few_lines("number  ", a.normal, 2, page.margin()));
  for (std::size_t i = 0; i < a.causes.size(); ++i) {
    const Finding& f = a.causes[i];
    if (i >= shown_causes) {
      others += fmt::format("{}{} ({:.0f} %)", others.empty() ? "" : ", ", name(f.cause), 100 * f.confidence);
      continue;
    }
    const std::string cause = fmt::format("{} ({:.0f} %)", name(f.cause), 100 * f.confidence);
    page.title(f.what.empty() ? cause : fmt::format("{}: {}", cause, f.what));
    if (i == 0 || !compared) page.add(wrapped("  seen  ", f.evidence, page.margin()));
    if (i == 1 && compared) page.add(few_lines("  seen  ", without_prefix(f.evidence), 1, page.margin()));  // the table says more
    page.add(wrapped("  try   ", f.remedy, page.margin()));
    pages += fmt::format("{}{}", i == 0 ? "fabricost help " : ", ", name(f.cause));
  }
  for (std::size_t i = 0; i < std::min(a.differences.size(), shown_differences); ++i)
    page.add(few_lines(i == 0 ? "there   " : "        ", difference_text(a.differences[i]), 1, page.margin()));
  if (!others.empty()) page.add(few_lines("also possible: ", others, 1, page.margin()));
  for (std::size_t i = 0; i < std::min(a.next.size(), asked); ++i)
    page.add(wrapped(i == 0 ? "next    " : "        ", fmt::format("{} ({})", a.next[i].ask, a.next[i].tells), page.margin()));
  if (!pages.empty()) page.add("more    " + pages + "\n");
  if (compared && left() >= least_of_table) {
    std::vector<DiagnosedSize> sizes = a.sizes;
    const DiagnosedSize& first = a.sizes.front();
    std::erase_if(sizes, [&](const DiagnosedSize& one) { return one.run != first.run; });
    const auto notes = std::min<std::ptrdiff_t>({std::ssize(a.notes), 2, left() - least_of_table});
    const auto rows = left() - table_head - notes;
    const auto fewer = [](const DiagnosedSize& one, const DiagnosedSize& other) { return one.ranks < other.ranks; };
    const auto [least, most] = std::minmax_element(sizes.begin(), sizes.end(), fewer);
    page.section("{}{}gainst {}{}{}, {} ({})", first.run, first.run.empty() ? "A" : " a", a.system,
               a.adapters.empty() ? std::string{} : " with " + a.adapters, a.system_guessed ? " (guessed from the log)" : "",
               least->ranks == most->ranks ? fmt::format("{} ranks on {}", first.ranks, counted(first.nodes, "node"))
                                           : fmt::format("{} to {} ranks", least->ranks, most->ranks),
               name(a.basis));
    add_sizes(page, sizes, static_cast<std::size_t>(std::max<std::ptrdiff_t>(rows, 1)));
  }
  for (const std::string& note : a.notes)
    if (left() > 0) page.add(few_lines("note    ", note, left() > 1 ? 2 : 1, page.margin()));
}

struct DiagnoseTyped : DiagnoseRequest {
  bool check = false;

  static RequestTable<DiagnoseTyped> fields() {
    return {DiagnoseRequest::fields(), asks(&DiagnoseTyped::check, "", "--check", "", "Exit status 1 if the run failed or is slow")};
  }
};

/// On a signal the copies of logs that are followed are removed, too.
[[nodiscard]] Diagnosis answer(const DiagnoseTyped& typed) {
  const auto& request = static_cast<const DiagnoseRequest&>(typed);
  if (!request.follow) return answer(request);
  const Interrupts interrupts;
  const InterruptWith check{[] {
    if (Interrupts::came()) throw RequestError("--follow: stopped before there was a verdict");
  }};
  return answer(request);
}

}  // namespace

void add_diagnose(CLI::App& app, Runner& runner) {
  add_command<DiagnoseTyped>(app, runner, "diagnose", "Did this run fail, or is it slow? Why?",
                             "Example: fabricost diagnose all_reduce.log --system dgx-h100 --expected \"900 GB/s\"\n"
                             "         kubectl logs worker-0 | fabricost diagnose -",
                             [](const GivenOptions& o, const Terminal& terminal) {
                               bool sick = false;
                               std::string out = output_of<DiagnoseTyped>(
                                   o.typed, o.json, terminal, diagnosis_text, [&](const Diagnosis& a, const DiagnoseTyped& typed) {
                                     sick = typed.check && (!a.fine());
                                   });
                               if (sick) throw CheckFailed{std::move(out)};
                               return out;
                             });
}

}  // namespace fabricost::cli
