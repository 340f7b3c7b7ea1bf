/// Descriptions of fields.

#include "web/describe.hpp"

#include <fabricost/fields/named.hpp>
#include <fabricost/plan/answers/arrivals.hpp>
#include <fabricost/plan/answers/design/project.hpp>
#include <fabricost/plan/fields/named_models.hpp>
#include <fabricost/plan/specs/stacks.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <utility>
#include <vector>

namespace fabricost::web {

namespace {
/// By Amount.
constexpr std::array<std::string_view, 12> amount_names{
    "number",           "count",        "length", "large_count",       "seconds",  "share",
    "bytes_per_second", "one_way_rate", "size",   "size_or_unbounded", "gibibytes", "kilometres"};
static_assert(amount_names.size() == static_cast<std::size_t>(Amount::kilometres) + 1);
}

std::string spelled(std::span<const Field> fields, std::string_view name, std::string_view value) {
  Amount amount = Amount::number;
  bool ticked = false;
  for (const Field& field : fields)
    if (field.name == name) amount = field.amount, ticked = field.type->bare().kind == ValueKind::flag;
  std::string label{name};
  std::replace(label.begin(), label.end(), '_', ' ');
  if (ticked || label.find(' ') != std::string::npos) label = '"' + label + '"';  // as the page writes it at the field
  return value.empty() || ticked ? label : label + " = " + as_typed(value, amount);
}

namespace {

/// What does not depend on the type. Amounts have the names of the enumeration.
[[nodiscard]] Json described(const Field& field, std::string words) {
  std::replace(words.begin(), words.end(), '\n', ' ');  // help keeps its line breaks
  Json out{{"name", name_of(field.name, field.option)}, {"words", words}, {"kind", field.kind}};
  if (!field.option.empty()) out["option"] = field.option;
  if (field.amount != Amount::number) out["amount"] = amount_names[static_cast<std::size_t>(field.amount)];
  if (std::isfinite(field.range.min)) out["min"] = field.range.min;
  if (std::isfinite(field.range.max)) out["max"] = field.range.max;
  if (field.range.above) out["above"] = true;
  if (field.needed) out["needed"] = true;
  return out;
}

template <class Words>
void add_choice(Json& out, const Words& words) {
  out["type"] = "choice";
  out["choices"] = Json::array();
  for (const auto& word : words) out["choices"].push_back(word);
}

/// The kind of control for a field, and its choices.
void add_type(Json& out, const ValueType& field) {
  const ValueType& type = field.bare();
  const bool sizes = type.kind == ValueKind::list && type.inner->kind == ValueKind::number;
  if (type.kind == ValueKind::flag && field.kind == ValueKind::optional)
    add_choice(out, std::array{"no", "yes"});  // its absence has a third meaning
  else if (type.kind == ValueKind::word)
    add_choice(out, type.words);
  else if (is<NamedStack>(type))
    add_choice(out, stack_names());
  else
    out["type"] = is<Machine>(type)                                      ? "machine"
                  : is<std::vector<Machine>>(type) || is<Machines>(type) ? "machines"
                  : is<NamedModel>(type)                                 ? "model"
                  : is<std::filesystem::path>(type) || is<Sample>(type) || is<RequestTrace>(type) ? "file"
                  : is<std::vector<Sample>>(type)                        ? "files"
                  : type.kind == ValueKind::flag                         ? "flag"
                  : is_number(type)                                      ? "number"
                  : is<Counts>(type)                                     ? "counts"
                  : type.kind == ValueKind::list && !sizes               ? "texts"
                                                                         : "text";
  const bool listed = out["type"] == "machine" || out["type"] == "machines" || out["type"] == "model";
  auto& words = out["words"].get_ref<std::string&>();
  if (listed && words.find("fabricost") != std::string::npos) words = "The " + out["type"].get<std::string>();  // which the page lists itself
}

[[nodiscard]] Json default_of(const Field& field, const void* defaults) {
  const ValueType& type = *field.type;
  const void* const value = field.in(defaults);
  if (type.kind == ValueKind::flag) return type.number(value) != 0;
  if (type.kind == ValueKind::word) return type.words[static_cast<std::size_t>(type.number(value))];
  if (is<std::string>(type)) return type.text(value).empty() ? Json(nullptr) : Json(type.text(value));
  if (is<NamedStack>(type)) {
    const auto& stack = *static_cast<const NamedStack*>(value);
    return stack.name.empty() ? Json(nullptr) : Json(stack.name);
  }
  if (type.kind != ValueKind::whole && type.kind != ValueKind::number) return nullptr;
  const double number = type.number(value);
  return field.range.holds(number) && std::isfinite(number) ? Json(as_typed(fmt::format("{}", number), field.amount))
                                                            : Json(nullptr);
}

}  // namespace

Json fields_as_json(std::span<const Field> fields, const void* defaults) {
  const auto spell = [&](std::string_view name, std::string_view value) { return spelled(fields, name, value); };
  Json out = Json::array();
  for (const Field& field : fields) {
    Json one = described(field, with_fields(field.words, spell));
    add_type(one, *field.type);
    if (const Json by_default = default_of(field, defaults); !by_default.is_null()) one["default"] = by_default;
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace fabricost::web
