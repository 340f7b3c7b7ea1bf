/// Diagnoses logs while they grow. Each is read from where the last look ended and condensed into a copy, on which the diagnosis runs, so
/// that neither memory nor the time of a look grows with the log. Dumps and packed files are read whole, as they are written at once.

#include "diagnose/diagnose.hpp"
#include "diagnose/inputs/condense.hpp"
#include "diagnose/rules.hpp"
#include "text/line_reader.hpp"

#include <fabricost/progress.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <system_error>
#include <thread>

namespace fabricost::observe {

namespace {

namespace fs = std::filesystem;
constexpr std::chrono::milliseconds between_looks{1000}, between_checks{50};
constexpr int looks_until_a_line_ends = 3;
constexpr std::uint64_t whole = std::uint64_t{1} << 20U;  ///< of a log; the copy stays below what is condensed again

/// A log and its condensed copy.
class Growing {
 public:
  Growing(fs::path log, fs::path copy)
      : log_(std::move(log)),
        copy_(std::move(copy)),
        out_(copy_, std::ios::binary),
        condenser_([this](std::string_view text) { out_ << text; }, whole) {}

  /// Takes what was written since; a log that was rotated or cut goes on with its first line. \return whether there was anything
  bool take() {
    struct stat about {};
    if (::stat(log_.c_str(), &about) != 0) return false;  // rotated away: the next look finds its successor
    const auto size = static_cast<std::uint64_t>(about.st_size);
    if ((inode_ != 0 && inode_ != about.st_ino) || size < at_) {
      end_line();
      at_ = 0;
    }
    inode_ = about.st_ino;
    ++quiet_;
    if (size == at_) return false;
    quiet_ = 0;
    std::ifstream in(log_, std::ios::binary);
    in.seekg(static_cast<std::streamoff>(at_));
    std::string block(std::size_t{1} << 18U, '\0');
    bool any = false;
    while (in.read(block.data(), static_cast<std::streamsize>(block.size())), in.gcount() > 0) {
      const auto count = static_cast<std::size_t>(in.gcount());
      at_ += count;
      any = true;
      add(std::string_view{block}.substr(0, count));
      ask_to_go_on();
    }
    return any;
  }

  /// Writes the last of the lines that are kept back until the look is over; a line that has not ended, once nothing has followed it for long.
  void show() {
    out_.flush();
    end_ = fs::file_size(copy_);
    std::ofstream more(copy_, std::ios::binary | std::ios::app);
    more << condenser_.kept_back();
    if (quiet_ >= looks_until_a_line_ends) more << partial_;
  }
  void hide() { fs::resize_file(copy_, end_); }
  /// nccl-tests has printed its last line.
  [[nodiscard]] bool concluded() const { return concluded_; }

 private:
  void add(std::string_view text) {
    while (!text.empty()) {
      const auto end = text.find('\n');
      partial_ += text.substr(0, end);
      if (end == std::string_view::npos && partial_.size() < LineReader::longest_line) return;
      end_line();
      if (end == std::string_view::npos) return;
      text.remove_prefix(end + 1);
    }
  }
  void end_line() {
    std::replace(partial_.begin(), partial_.end(), '\0', ' ');  // of a file that is being written
    concluded_ = concluded_ || partial_.find("Avg bus bandwidth") != std::string::npos;
    if (!partial_.empty()) condenser_.line(partial_);
    partial_.clear();
  }

  fs::path log_, copy_;
  std::ofstream out_;
  diagnosis::Condenser condenser_;
  std::string partial_;
  std::uint64_t at_ = 0, end_ = 0;
  ino_t inode_ = 0;
  int quiet_ = 0;  ///< looks since the log grew
  bool concluded_ = false;
};

/// A folder for the copies, removed at the end of its scope.
class Copies {
 public:
  Copies() {
    std::string name = (fs::temp_directory_path() / "fabricost-follow-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw fault_of_file(name, "cannot be made", "set TMPDIR to a folder you may write");
    place_ = name;
  }
  Copies(const Copies&) = delete;
  Copies& operator=(const Copies&) = delete;
  ~Copies() {
    std::error_code ignored;
    fs::remove_all(place_, ignored);
  }
  [[nodiscard]] const fs::path& place() const { return place_; }

 private:
  fs::path place_;
};

/// Written at once, and read as they are.
bool is_whole(const fs::path& file) {
  const std::string extension = file.extension().string();
  for (const char* one : {".gz", ".zst", ".pickle", ".pkl", ".json", ".dump"})
    if (extension == one) return true;
  return false;
}

class Follower {
 public:
  Follower(const std::vector<fs::path>& given, const DiagnoseRequest& request) : given_(given), request_(request) {}

  Diagnosis run() {
    (void)diagnosis::load_rules();  // a look takes faults of reading for a log that has just begun
    for (std::optional<std::string> before;;) {
      const bool grew = take();
      std::optional<Diagnosis> seen = look();
      std::optional<std::string> verdict;
      if (seen && !seen->fine()) verdict = seen->causes.empty() ? std::string{} : std::string{name(seen->causes.front().cause)};
      const bool concluded = std::any_of(logs_.begin(), logs_.end(), [](const auto& one) { return one.second->concluded(); });
      const bool ended = seen && seen->healthy && seen->state != RunState::nothing_to_judge && concluded && !grew;
      if (ended || (verdict && verdict == before)) return *std::move(seen);
      before = verdict;
      for (auto waited = between_checks; waited <= between_looks; waited += between_checks) {
        ask_to_go_on();
        std::this_thread::sleep_for(between_checks);
      }
    }
  }

 private:
  bool take() {
    bool any = false;
    for (std::size_t i = 0; i < given_.size(); ++i) {
      std::error_code error;
      if (fs::is_directory(given_[i], error)) {
        for (fs::recursive_directory_iterator at(given_[i], fs::directory_options::skip_permission_denied, error), end; !error && at != end;
             at.increment(error))
          if (at->is_regular_file(error) && at->path().filename().string().front() != '.')
            any |= take_one(at->path(), copies_.place() / std::to_string(i) / at->path().lexically_relative(given_[i]));
      } else {
        any |= take_one(given_[i], copies_.place() / std::to_string(i) / given_[i].filename());
      }
    }
    return any;
  }

  bool take_one(const fs::path& log, const fs::path& copy) {
    fs::create_directories(copy.parent_path());
    if (is_whole(log)) {
      std::error_code error;
      const auto written = fs::last_write_time(log, error);
      if (error || whole_[log] == written) return false;
      whole_[log] = written;
      fs::copy_file(log, copy, fs::copy_options::overwrite_existing, error);
      return !error;
    }
    auto& one = logs_[log];
    if (!one) one = std::make_unique<Growing>(log, copy);
    return one->take();
  }

  /// Nothing while the logs say nothing of a run.
  std::optional<Diagnosis> look() {
    for (const auto& [log, one] : logs_) one->show();
    std::optional<Diagnosis> out;
    try {
      std::vector<fs::path> copies;
      for (std::size_t i = 0; i < given_.size(); ++i) {
        std::error_code error;
        const fs::path here = copies_.place() / std::to_string(i);
        if (fs::exists(here, error)) copies.push_back(fs::is_directory(given_[i], error) ? here : here / given_[i].filename());
      }
      if (!copies.empty()) out = diagnose(copies, request_);
    } catch (const SpecError&) {  // empty so far, or cut in the middle of a record
    }
    for (const auto& [log, one] : logs_) one->hide();
    return out;
  }

  std::vector<fs::path> given_;
  const DiagnoseRequest& request_;
  Copies copies_;
  std::map<fs::path, std::unique_ptr<Growing>> logs_;
  std::map<fs::path, fs::file_time_type> whole_;
};

}  // namespace

Diagnosis diagnose_while_it_runs(const std::vector<std::filesystem::path>& files, const DiagnoseRequest& request) {
  for (const fs::path& one : files) {
    std::error_code error;
    if (one == "-" || !fs::exists(one, error))
      throw fault_of_file(one.string(), "cannot be followed: there is no such file or folder", "name a log or a folder that is there");
  }
  return Follower(files, request).run();
}

}  // namespace fabricost::observe
