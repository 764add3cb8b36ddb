#include "evidence/flight_document.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace cudadiag::evidence {
namespace {

// Limits the dictionary entries that a look-up searches. Without this limit, many values that share a large dictionary
// could make reading very slow.
constexpr std::size_t kMostMembers = 64;

}  // namespace

std::string_view Value::text() const {
  if (!is_text()) return {};
  const Document::Entry& entry = document_->entries_[index_];
  return {entry.text, entry.count};
}

std::optional<std::int64_t> Value::integer() const {
  if (document_ == nullptr) return std::nullopt;
  const Document::Entry& entry = document_->entries_[index_];
  const bool is_number = entry.kind == Document::Kind::integer || entry.kind == Document::Kind::boolean;
  return is_number ? std::optional(entry.number) : std::nullopt;
}

std::size_t Value::size() const {
  if (is_list()) return document_->entries_[index_].count;
  return is_dictionary() ? document_->entries_[index_].count / 2 : 0;
}

std::span<const std::uint32_t> Value::items() const {
  if (!is_list()) return {};
  const Document::Entry& entry = document_->entries_[index_];
  return {document_->items_.data() + entry.number, entry.count};
}

Value Value::item(std::size_t index) const {
  const std::span<const std::uint32_t> all = items();
  return index < all.size() ? Value(document_, all[index]) : Value();
}

std::pair<Value, Value> Value::pair(std::size_t index) const {
  if (!is_dictionary() || index >= size()) return {};
  const std::uint32_t* key =
      &document_->items_[static_cast<std::size_t>(document_->entries_[index_].number) + 2 * index];
  return {Value(document_, key[0]), Value(document_, key[1])};
}

Value Value::member(std::string_view key) const {
  if (!is_dictionary()) return {};
  // Optimised, because most of the time for reading a dump is spent here.
  const auto& entries = document_->entries_;
  const Document::Entry& own = entries[index_];
  const std::uint32_t* at = document_->items_.data() + own.number;
  const std::uint32_t* end = at + 2 * std::min<std::size_t>(own.count / 2, kMostMembers);
  for (; at != end; at += 2) {
    const Document::Entry& name = entries[*at];
    const bool fits = name.kind == Document::Kind::text && name.count == key.size();
    if (fits && std::string_view(name.text, key.size()) == key) return {document_, at[1]};
  }
  return {};
}

// Reserves memory by estimate: in a PyTorch pickle, a value takes about eight bytes, and an entry of a list or
// dictionary takes two to five.
Document::Document(std::string bytes) : bytes_(std::move(bytes)) {
  entries_.reserve(std::min(bytes_.size() / 8, kMostValues));
  items_.reserve(bytes_.size() / 3);
}

std::optional<std::uint32_t> Document::add_text(std::string_view part_of_bytes) {
  const auto index = add(Kind::text);
  if (!index) return index;
  entries_[*index].text = part_of_bytes.data();
  entries_[*index].count = static_cast<std::uint32_t>(part_of_bytes.size());
  return index;
}

std::optional<std::uint32_t> Document::add_copy(std::string text) {
  return add_text(copies_.emplace_back(std::move(text)));
}

void Document::fill(std::uint32_t container, const std::uint32_t* items, std::size_t count) {
  Entry& entry = entries_[container];
  entry.number = static_cast<std::int64_t>(items_.size());
  entry.count = static_cast<std::uint32_t>(count);
  items_.insert(items_.end(), items, items + count);
}

namespace {

using Kind = Document::Kind;
using Json = nlohmann::json;

constexpr std::size_t kMostDepth = 64;

// Adds each value to the document as soon as the parser finds it.
class Builder : public nlohmann::json_sax<Json> {
 public:
  explicit Builder(Document& document) : document_(document) {}

  bool null() override { return push(document_.add(Kind::none)); }
  bool boolean(bool value) override { return push(document_.add(Kind::boolean, value ? 1 : 0)); }
  bool number_integer(number_integer_t value) override { return push(document_.add(Kind::integer, value)); }
  bool number_unsigned(number_unsigned_t value) override {
    return push(std::in_range<std::int64_t>(value) ? document_.add(Kind::integer, static_cast<std::int64_t>(value))
                                                   : document_.add(Kind::real));
  }
  bool number_float(number_float_t, const string_t&) override { return push(document_.add(Kind::real)); }
  bool string(string_t& value) override { return push(document_.add_copy(std::move(value))); }
  bool binary(binary_t&) override { return false; }
  bool key(string_t& value) override { return push(document_.add_copy(std::move(value))); }
  bool start_object(std::size_t) override { return open(); }
  bool start_array(std::size_t) override { return open(); }
  bool end_object() override { return close(Kind::dictionary); }
  bool end_array() override { return close(Kind::list); }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override { return false; }

  bool finish() {
    if (stack_.size() != 1 || !opened_.empty()) return false;
    document_.set_root(stack_.front());
    return true;
  }

 private:
  bool push(std::optional<std::uint32_t> value) {
    if (value) stack_.push_back(*value);
    return value.has_value();
  }
  bool open() {
    opened_.push_back(stack_.size());
    return opened_.size() <= kMostDepth;
  }
  bool close(Kind kind) {
    const std::size_t first = opened_.back();
    opened_.pop_back();
    const auto container = document_.add(kind);
    if (container) document_.fill(*container, stack_.data() + first, stack_.size() - first);
    stack_.resize(first);
    return push(container);
  }

  Document& document_;
  std::vector<std::uint32_t> stack_;
  std::vector<std::size_t> opened_;  // size of `stack_` when each open list or dictionary began
};

}  // namespace

std::optional<std::string> read_json(Document& document) {
  Builder builder(document);
  const bool read = Json::sax_parse(document.bytes(), &builder) && builder.finish();
  return read ? std::nullopt : std::optional<std::string>("it is not JSON, or it is too large");
}

}  // namespace cudadiag::evidence
