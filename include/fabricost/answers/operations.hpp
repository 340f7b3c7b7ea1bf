#pragma once
/// \file operations.hpp
/// What questions about operations share: the words for what runs, and fields they have in common.

#include <fabricost/algorithms/registry.hpp>
#include <fabricost/answers/named.hpp>
#include <fabricost/choice/choice.hpp>
#include <fabricost/operation.hpp>

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace fabricost {

[[nodiscard]] constexpr auto words_of(Collective) { return EnumWords{collective_names, "an operation"}; }
[[nodiscard]] constexpr auto words_of(Algorithm) { return EnumWords{algorithm_names, "an algorithm"}; }
[[nodiscard]] inline std::optional<Algorithm> parse_word(Algorithm, std::string_view text) { return parse_algorithm(text); }
[[nodiscard]] constexpr auto words_of(Protocol) { return EnumWords{protocol_names, "a protocol"}; }
[[nodiscard]] inline std::optional<Protocol> parse_word(Protocol, std::string_view text) { return parse_protocol(text); }
[[nodiscard]] constexpr auto words_of(Path) { return EnumWords{path_names, "a path"}; }
[[nodiscard]] constexpr auto words_of(Choice::Rule) { return EnumWords{rule_names, "a choice"}; }

/// An engine of inference: "vllm", "vllm=0.14.0", and with ",python" behind it where it is called from Python.
/// \param named how whoever asks names it \throws RequestError
[[nodiscard]] Inference engine_named(std::string_view text, std::string_view named);

namespace detail {

/// "Force one: ring tree ...": as lines of at most 54 characters.
struct AlgorithmWords {
  std::array<char, 1024> text{};
  std::size_t size = 0;

  consteval AlgorithmWords() {
    add("Force one:");
    std::size_t line = size;
    for (const std::string_view name : algorithm_names) {
      const bool fits = line + 1 + name.size() <= 54;
      text[size++] = fits ? ' ' : '\n';
      line = (fits ? line + 1 : 0) + name.size();
      add(name);
    }
  }
  consteval void add(std::string_view word) {
    for (const char c : word) text[size++] = c;
  }
};
inline constexpr AlgorithmWords algorithm_words{};

// Fields by their names, for requests that have members of these names.
template <class R>
inline constexpr Asks ask_operation{&R::operation,
                                    "operation",
                                    "OP",
                                    Amount::number,
                                    {},
                                    " ",
                                    "all_reduce all_gather reduce_scatter broadcast reduce\n"
                                    "all_to_all send_recv (case, - and _ do not matter)",
                                    true,
                                    true};
template <class R>
inline constexpr Asks ask_system{
    &R::system, "system", "--system", Amount::number, {}, "NAME", "A name (see fabricost systems) or a YAML file", true};
template <class R>
inline constexpr Asks ask_dtype{
    &R::dtype, "dtype", "--dtype", Amount::number, {}, "TYPE", "int8 half bfloat16 fp8 float double; default half", false, true};
template <class R>
inline constexpr Asks ask_algorithm{&R::algorithm,
                                    "algorithm",
                                    "--algorithm",
                                    Amount::number,
                                    {},
                                    "A",
                                    std::string_view{algorithm_words.text.data(), algorithm_words.size}};
template <class R>
inline constexpr Asks ask_protocol{&R::protocol, "protocol", "--protocol", Amount::number, {}, "P", "Force one: ll ll128 simple"};
template <class R>
inline constexpr Asks ask_choice{
    &R::choice, "choice", "--choice", Amount::number, {}, "RULE", "nccl (as its tuner picks, default) or fastest"};
template <class R>
inline constexpr Asks ask_calibration{
    &R::calibration, "", "--calibration", Amount::number, {}, "FILE", "none or a file; default the shipped one"};
template <class R>
inline constexpr Asks ask_overrides{&R::overrides,
                                    "",
                                    "--set",
                                    Amount::number,
                                    {},
                                    "PATH=VALUE",
                                    "Override one value of the system, repeatable:\n"
                                    "--set tiers.nic.bandwidth=\"25 GB/s per direction\""};
template <class R>
inline constexpr Asks ask_path{&R::path, "path", "--path", Amount::number, {}, "PATH", "send_recv: gpu-gpu (default) gpu-host nic",
                               false,    true};
template <class R>
inline constexpr Asks ask_bytes{&R::bytes, "bytes", "--size", Amount::size, {}, "SIZE", "Message size as nccl-tests counts it: 256MiB, 1GB",
                                false,     true};

}  // namespace detail
}  // namespace fabricost
