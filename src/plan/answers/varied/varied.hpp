#pragma once
/// The unknowns that a question can vary or solve for: a count of the job, a parameter of the machine, any value of the machine's file by
/// its path, any option of the question; and the values each takes. Private.

#include "specs/parts/design_parameters.hpp"

#include <fabricost/fields/field.hpp>
#include <fabricost/hardware/design_parameters.hpp>
#include <fabricost/specs/load.hpp>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fabricost::plan::varied {

/// Values of the last five are put in before a machine is read or a question is made.
enum class Kind : unsigned char { gpus, nodes, batch, sequence, isl, osl, parameter, declared, path, option, system, gpu };

struct Varied {
  std::string name, unit{};  ///< unit as printed; empty: a count, or none
  Kind kind{};
  std::optional<DesignParameter> parameter{};
  double worth = 1;                   ///< SI units of one of the unit; 1: a count, or of a unit that a file declares
  bool whole = true;                  ///< takes whole numbers only
  bool words = false;                 ///< takes names
  Range range{};                      ///< of an option
  std::vector<std::string> values{};  ///< that the file of a declared parameter names

  [[nodiscard]] bool read_anew() const { return kind >= Kind::declared; }
  /// A rate or a size of the machine, whose values are written with their unit.
  [[nodiscard]] bool is_quantity() const { return parameter && worth != 1; }
  /// A rate of a link, which is written with its direction.
  [[nodiscard]] bool of_link() const { return parameter && is_link_rate(*parameter); }
  /// Its unit is the one its values are written in.
  [[nodiscard]] bool any_unit() const { return kind == Kind::path || kind == Kind::option || kind == Kind::declared; }
};

/// An option of a question that can be varied.
struct Option {
  std::string_view name, typed;  ///< of the field; as the command has it, without dashes
  bool number = false, whole = false;
  Range range{};
};

/// Options of one plan alone, which no search among many takes: how many layouts are listed, what is said of the best, its sites, its share
/// of a network.
[[nodiscard]] std::span<const std::string_view> options_of_one_plan();

/// The options of a question, without counts, names of the machine, and options of printing.
[[nodiscard]] std::vector<Option> options_of(std::span<const Field> fields);

/// Gives an option its value as a person wrote it. \param named the field, for messages \throws Refusal
void put_option(std::span<const Field> fields, void* request, std::string_view name, const std::string& value, std::string_view named);
template <HasFields Request>
void put_option(Request& request, std::string_view name, const std::string& value, std::string_view named) {
  put_option(fields_of<Request>(), &request, name, value, named);
}

/// The present value of a parameter; empty: the machine has no such part.
[[nodiscard]] std::optional<double> standing(const System& system, DesignParameter parameter);

/// The unknowns that a question offers.
struct Offered {
  bool serving = false;
  std::vector<Option> options;
  std::vector<DeclaredParameter> declared{};
  bool many = false;  ///< machines and GPUs by name, and an engine's batch, too
};

/// Design parameters that files of machines declare, each name once; of a saved machine those of the one it extends. \throws SpecError,
/// RequestError
[[nodiscard]] std::vector<DeclaredParameter> declared_by(const std::vector<std::string>& machines);

/// \param field of the request, for messages \throws Refusal with names near it
[[nodiscard]] Varied named(const std::string& text, const Offered& offered, std::string_view field);

/// Numbers in the unit of the unknown, ascending, without repeats; or words, in the order given.
struct Values {
  std::vector<double> numbers{};
  std::vector<std::string> words{};
};
/// "25:400:x2GB/s per direction", "8,16,36,72", "1:16:+1", "none,full". Sets the unit of one that has any. \throws Refusal
[[nodiscard]] Values values_of(const std::string& text, Varied& varied, std::string_view field);

/// A value as it is written behind the name: "12.5GB/s".
[[nodiscard]] std::string written(const Varied& varied, double value);
/// "design.nic.bandwidth=5e10B/s", "tiers.nic.latency=2us", "gpu=h200-sxm". \param value as written
[[nodiscard]] std::string override_of(const Varied& varied, const std::string& value);
[[nodiscard]] std::string override_of(const Varied& varied, double value);

}  // namespace fabricost::plan::varied
