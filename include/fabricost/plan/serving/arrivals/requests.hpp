#pragma once
/// Requests that arrive at a service: drawn from a rate and lengths, or read from a trace.
///
///   burstiness   intervals are Gamma with this shape and the mean 1 / rate, as vLLM's benchmark draws them: 1 Poisson, less comes in bursts
///   lengths      log-normal with the means asked for and this standard deviation over the mean; 0: all equal
///   sessions     each turn's prompt is the one before it, its answer, and as many new tokens as `isl`; intervals of sessions as above, of
///                the turns of one exponential, and a turn waits for the answer before it
///   trace        JSON lines as Mooncake publishes and Dynamo replays them: {"timestamp": ms, "input_length": tokens, "output_length":
///                tokens, "hash_ids": [one for each block of 512 tokens of the prompt; equal ones begin with the same text]}

#include <fabricost/namespaces.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace fabricost::plan {

/// One request.
struct Arrival {
  double at = 0;                        ///< s
  int prompt = 1;                       ///< tokens
  int answer = 1;                       ///< tokens
  int repeated = 0;                     ///< tokens at the prompt's beginning that the cache has already
  std::uint32_t first = 0, blocks = 0;  ///< of the hashes, those of its prompt
  std::uint32_t written = 0;            ///< the next ones, of its answer
  int after = -1;                       ///< the request whose answer it waits for; -1: none
};

struct RequestLoad {
  std::vector<Arrival> requests;      ///< in the order of their arrival
  std::vector<std::uint32_t> hashes;  ///< of blocks of prompts, numbered from 0: equal ones are of equal text
  int block = 512;                    ///< tokens of a hashed block
  int shared = 0;                     ///< repeated tokens that all prompts have in common, which the cache holds once
  double rate = 0;                    ///< requests per second; 0: all at once
  std::size_t warm_up = 0;            ///< requests before as many sessions are open as ever
  bool fractional = false;            ///< a timestamp of it is no whole number of milliseconds
  bool trace = false;                 ///< it ends, and its figures are of all its requests until the last is answered
};

/// Standard deviation of the lengths of answers over their mean where none is given. Answers of one length end in the bunches in which they
/// began, and the replica that a bunch leaves has the fewest requests and takes the next one whole, which no service shows.
inline constexpr double usual_variation = 0.15;

/// What is drawn.
struct DrawnLoad {
  double rate = 1;          ///< requests per second; infinity: all at once
  double burstiness = 1;    ///< shape of the intervals
  double isl = 1, osl = 1;  ///< mean tokens
  double variation = 0;     ///< standard deviation of lengths over their mean
  double of_answers = 0;    ///< the least of answers
  int running = 0;          ///< first requests of whose answers some part is left, as of those that a service has run for long
  double hit_rate = 0;      ///< share of each prompt that the cache has
  int shared = 0;           ///< tokens that all prompts begin with
  int turns = 1;            ///< of a session; `isl` is then what a turn adds
  double gap = 0;           ///< mean s between two turns of a session
  int alike = 1;            ///< engines for which each one of the service stands: a turn finds what earlier ones left on its own of them
  int count = 10'000;
  std::uint64_t seed = 1;
};

/// Deterministic on every platform.
[[nodiscard]] RequestLoad drawn_load(const DrawnLoad& of);

/// Reads a trace; times count from its first request. \throws SpecError with file and line for what is no such trace
[[nodiscard]] RequestLoad read_requests(const std::filesystem::path& file);

/// A request at the end of a trace. \param milliseconds of its arrival, as traces have it \return what is wrong with it; empty: it was
/// added
[[nodiscard]] std::string add_request(RequestLoad& load, double milliseconds, double prompt, double answer);
/// Sets the rate of a trace that is complete, and lets its times count from the first request.
void complete(RequestLoad& load);

/// The same requests with their times divided by `factor`.
[[nodiscard]] RequestLoad faster(RequestLoad load, double factor);

}  // namespace fabricost::plan
