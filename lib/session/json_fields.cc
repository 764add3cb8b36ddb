#include "session/json_fields.h"

namespace cudadiag::session {

Json parse_json(std::string_view text) { return Json::parse(text, nullptr, false); }

std::string json_text(const Json& document, int indent) {
  return document.dump(indent, ' ', false, Json::error_handler_t::replace);
}

std::string text_of(const Json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : std::string();
}

std::string short_text(const Json& value) {
  return value.is_string() ? value.get<std::string>().substr(0, 1024) : std::string();
}

std::string short_text_of(const Json& object, const char* key) {
  const auto it = object.find(key);
  return it == object.end() ? std::string() : short_text(*it);
}

bool bool_of(const Json& object, const char* key, bool otherwise) {
  const auto it = object.find(key);
  return it != object.end() && it->is_boolean() ? it->get<bool>() : otherwise;
}

std::uint64_t count_of(const Json& object, const char* key) {
  return integer_of<std::uint64_t>(object, key).value_or(0);
}

const Json& list_of(const Json& object, const char* key) {
  static const Json kNone = Json::array();
  const auto it = object.find(key);
  return it != object.end() && it->is_array() ? *it : kNone;
}

WholeNumber whole_number(const Json& value) {
  if (value.is_number_unsigned()) return {value.get<std::uint64_t>(), std::nullopt};
  if (value.is_number_integer()) return {std::nullopt, value.get<std::int64_t>()};
  return {};
}

WholeNumber whole_number_of(const Json& object, const char* key) {
  const auto it = object.find(key);
  return it == object.end() ? WholeNumber() : whole_number(*it);
}

}  // namespace cudadiag::session
