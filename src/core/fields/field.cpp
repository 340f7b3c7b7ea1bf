/// Values of fields: texts spelled, values compared, ranges checked.

#include <fabricost/fields/field.hpp>
#include <fabricost/fields/terms.hpp>


namespace fabricost::core {

namespace {

/// A field with what those of requests and of answers have in common.
template <class Row>
[[nodiscard]] Field field_with(const Row& row, const ValueType& type, std::size_t offset) {
  Field out;
  out.name = row.name;
  out.words = row.words;
  out.type = &type;
  out.offset = offset;
  return out;
}

}  // namespace

Field detail::field_of(const RequestFieldRow& row, const ValueType& type, std::size_t offset) {
  Field out = field_with(row, type, offset);
  out.option = row.option;
  out.kind = row.kind;
  out.amount = row.amount;
  out.range = row.range;
  out.needed = row.needed;
  out.inside = row.inside;
  return out;
}
Field detail::field_of(const AnswerFieldRow& row, const ValueType& type, std::size_t offset) {
  Field out = field_with(row, type, offset);
  out.json = row.json;
  out.json_unit = row.json_unit;
  out.left_out = row.left_out;
  out.beside = row.beside;
  out.names_fields = row.names_fields;
  out.alone = row.alone;
  return out;
}

namespace {
/// Whether a value of the type may have fields inside.
[[nodiscard]] bool holds_fields(const ValueType& type) {
  switch (type.kind) {
    case ValueKind::record:
    case ValueKind::variant: return true;
    case ValueKind::optional:
    case ValueKind::list: return holds_fields(*type.inner);
    default: return false;
  }
}
void spell_text(const ValueType& type, void* value, const Spelling& spelled) {
  if (type.kind == ValueKind::text) return type.set_text(value, with_fields(type.text(value), spelled));
  for (std::size_t i = 0; type.kind == ValueKind::list && i < type.count(value); ++i)
    spell_text(*type.inner, const_cast<void*>(type.at(value, i)), spelled);
}
}  // namespace

AnswerTable<Term> table_for(std::type_identity<Term> /*of*/) {
  return {gives(&Term::name, "name", "name", "launch, serial steps, protocol floor, latency growth, wire, local copies or sends to peers."),
          gives(&Term::tier, "tier", "tier", "Name of the tier it is spent in; `gpu` for the launch."),
          gives(&Term::time, "time_us", "seconds", "Its share of the time, s.", in_microseconds)};
}

void spell_fields(const ValueType& type, void* value, const Spelling& spelled) {
  if (!holds_fields(type)) return;
  if (type.kind == ValueKind::record) {
    for (const Field& field : type.fields()) {
      if (!field.is_member()) continue;
      if (field.names_fields) spell_text(*field.type, field.in(value), spelled);
      spell_fields(*field.type, field.in(value), spelled);
    }
  } else if (type.kind == ValueKind::variant) {
    spell_fields(*type.alternatives[type.chosen(value)], const_cast<void*>(type.held(value)), spelled);
  } else {
    for (std::size_t i = 0; i < type.count(value); ++i) spell_fields(*type.inner, const_cast<void*>(type.at(value, i)), spelled);
  }
}

bool same_value(const ValueType& type, const void* a, const void* b) {
  switch (type.kind) {
    case ValueKind::flag:
    case ValueKind::whole:
    case ValueKind::number:
    case ValueKind::word: return type.number(a) == type.number(b);
    case ValueKind::text: return type.text(a) == type.text(b);
    case ValueKind::optional:
    case ValueKind::list:
    case ValueKind::pair:
    case ValueKind::by_name: {
      bool same = type.count(a) == type.count(b);
      for (std::size_t i = 0; same && i < type.count(a); ++i) {
        same = same_value(type.part(i), type.at(a, i), type.at(b, i)) && (type.name_at == nullptr || type.name_at(a, i) == type.name_at(b, i));
      }
      return same;
    }
    case ValueKind::variant:
      return type.chosen(a) == type.chosen(b) && same_value(*type.alternatives[type.chosen(a)], type.held(a), type.held(b));
    case ValueKind::record: break;
    case ValueKind::other: return type.equal != nullptr && type.equal(a, b);
  }
  if (type.equal != nullptr) return type.equal(a, b);
  for (const Field& field : type.fields())
    if (field.is_member() && !same_value(*field.type, field.in(a), field.in(b))) return false;
  return true;
}

bool same_fields(std::span<const Field> fields, const void* a, const void* b) {
  for (const Field& field : fields)
    if (!same_value(*field.type, field.value(a).get(), field.value(b).get())) return false;
  return true;
}

std::optional<double> number_in(const ValueType& type, const void* value) {
  switch (type.kind) {
    case ValueKind::whole:
    case ValueKind::number: return type.number(value);
    case ValueKind::optional: return type.count(value) == 0 ? std::nullopt : number_in(*type.inner, type.at(value, 0));
    default: return std::nullopt;
  }
}

std::vector<const Field*> numbers_among(std::span<const Field> fields) {
  std::vector<const Field*> out;
  for (const Field& field : fields)
    if (const ValueKind kind = field.type->bare().kind; kind == ValueKind::whole || kind == ValueKind::number) out.push_back(&field);
  return out;
}

void check_ranges(std::span<const Field* const> numbers, const void* request, const void* defaults) {
  for (const Field* const field : numbers) {
    const std::optional<double> value = number_in(*field->type, field->in(request));
    if (value && !field->range.holds(*value) && value != number_in(*field->type, field->in(defaults)))
      refuse_range(field->name, *value, field->range);
  }
}

bool is_given(std::span<const Field> fields, const void* request, const void* defaults, std::string_view name) {
  for (const Field& field : fields) {
    if (field.name != name) continue;
    const ValueType& type = field.type->bare();
    if (field.type->kind == ValueKind::optional && field.type->count(field.in(request)) != field.type->count(field.in(defaults)))
      return true;
    if (type.kind == ValueKind::other && type.equal == nullptr) continue;
    if (!same_value(*field.type, field.in(request), field.in(defaults))) return true;
  }
  return false;
}

}  // namespace fabricost::core
