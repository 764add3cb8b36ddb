#include "evidence/pickle_document.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
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

constexpr std::size_t kMostDepth = 64;

// Adds each value to the document as soon as the parser finds it.
class Builder : public nlohmann::json_sax<nlohmann::json> {
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
  const bool read = nlohmann::json::sax_parse(document.bytes(), &builder) && builder.finish();
  return read ? std::nullopt : std::optional<std::string>("it is not JSON, or it is too large");
}

// ---- pickles
//
// Reads pickles that PyTorch's C++ pickler writes (protocol 2). Supports only the operations that this pickler uses for
// dictionaries, lists, tuples, strings, numbers and None. None of these operations imports or calls anything. Rejects
// all other operations, and therefore also pickles that Python writes.

namespace {

// The operations that PyTorch's pickler writes for plain values.
enum class Operation : std::uint8_t {
  mark = '(',
  stop = '.',
  none = 'N',
  yes = 0x88,
  no = 0x89,
  integer_1 = 'K',
  integer_2 = 'M',
  integer_4 = 'J',
  long_1 = 0x8a,
  real = 'G',
  text = 'X',
  empty_list = ']',
  append_all = 'e',
  empty_dictionary = '}',
  set_all = 'u',
  empty_tuple = ')',
  tuple = 't',
  tuple_1 = 0x85,
  tuple_2 = 0x86,
  tuple_3 = 0x87,
  store_1 = 'q',
  store_4 = 'r',
  recall_1 = 'h',
  recall_4 = 'j',
  protocol = 0x80,
};

constexpr std::size_t kMostMarks = 64;  // limits the nesting of values; a dump has five levels

// Executes a pickle. `stack_` has the values that are being built, and `memory_` has the values that the pickle has
// stored for later use.
class Machine {
 public:
  explicit Machine(Document& document) : document_(document), bytes_(document.bytes()) {}

  std::optional<std::string> run() {
    if (byte() != static_cast<std::uint8_t>(Operation::protocol) || byte() != 2) return "it is not a protocol 2 pickle";
    while (!stopped_ && refused_.empty()) step();
    if (!refused_.empty()) return refused_;
    if (stack_.size() != 1 || !marks_.empty()) return "it does not end with one value";
    document_.set_root(stack_.front());
    return std::nullopt;
  }

 private:
  void refuse(std::string why) {
    if (refused_.empty()) refused_ = std::move(why);
  }

  std::uint8_t byte() { return number<std::uint8_t>(); }
  // Numbers are little-endian, as on all hosts with GPUs.
  template <typename T>
  T number() {
    T value = 0;
    if (bytes_.size() - at_ < sizeof value) return refuse("it ends within a value"), value;
    std::memcpy(&value, bytes_.data() + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }

  void push(std::optional<std::uint32_t> value) {
    if (!value) return refuse(fmt::format("it has more than {} values", Document::kMostValues));
    stack_.push_back(*value);
  }

  void push_text() {
    const auto size = number<std::uint32_t>();
    if (!refused_.empty()) return;
    if (size > bytes_.size() - at_) return refuse("it ends within a string");
    push(document_.add_text(std::string_view(bytes_).substr(at_, size)));
    at_ += size;
  }

  // PyTorch writes every integer of more than 32 bits with eight bytes.
  void push_long() {
    if (byte() != 8) return refuse("it has an integer of a size that PyTorch does not write");
    push(document_.add(Kind::integer, number<std::int64_t>()));
  }

  // Removes the last mark, and returns the position on the stack of the first value after it.
  std::size_t take_mark() {
    if (marks_.empty()) return refuse("it closes a value that was not opened"), stack_.size();
    const std::size_t first = marks_.back();
    marks_.pop_back();
    return first;
  }

  // Returns whether the stack has at least `count` values above the innermost mark. If not, rejects the pickle.
  bool has(std::size_t count) {
    const std::size_t bottom = marks_.empty() ? 0 : marks_.back();
    if (stack_.size() - bottom >= count) return true;
    refuse("it uses a value that does not exist");
    return false;
  }

  void make_tuple(std::size_t first) {
    if (!refused_.empty()) return;
    const auto tuple = document_.add(Kind::list);
    if (tuple) document_.fill(*tuple, stack_.data() + first, stack_.size() - first);
    stack_.resize(first);
    push(tuple);
  }

  // Moves the values after the mark into the empty list or dictionary before it. Rejects a list or dictionary that the
  // pickle has already stored, because filling it could make it contain itself.
  void fill(Kind kind) {
    const std::size_t first = take_mark();
    if (!refused_.empty() || !has(stack_.size() - first + 1)) return;
    const std::uint32_t container = stack_[first - 1];
    if (document_.kind(container) != kind) return refuse("it adds items to a value of a different kind");
    if (!document_.is_empty(container) || is_stored(container)) {
      return refuse("it adds items to a value that is complete");
    }
    const std::size_t count = stack_.size() - first;
    if (kind == Kind::dictionary && count % 2 != 0) return refuse("it has a key without a value");
    document_.fill(container, stack_.data() + first, count);
    stack_.resize(first);
  }

  // PyTorch numbers values in the order in which it stores them.
  void store(std::uint32_t number) {
    if (!refused_.empty() || !has(1)) return;
    if (number != memory_.size()) return refuse("it stores a value out of order");
    memory_.push_back(stack_.back());
    if (stored_.size() <= stack_.back()) stored_.resize(stack_.back() + std::size_t{1});
    stored_[stack_.back()] = true;
  }

  bool is_stored(std::uint32_t value) const { return value < stored_.size() && stored_[value]; }

  void recall(std::uint32_t number) {
    if (!refused_.empty()) return;
    if (number >= memory_.size()) return refuse("it refers to a value that was not stored");
    stack_.push_back(memory_[number]);
  }

  void open() {
    if (marks_.size() >= kMostMarks) return refuse("its values are nested too deeply");
    marks_.push_back(stack_.size());
  }

  void step() {
    const std::size_t at = at_;
    const std::uint8_t operation = byte();
    if (!refused_.empty()) return;
    switch (static_cast<Operation>(operation)) {
      case Operation::mark:
        return open();
      case Operation::stop:
        stopped_ = true;
        return;
      case Operation::none:
        return push(document_.add(Kind::none));
      case Operation::yes:
        return push(document_.add(Kind::boolean, 1));
      case Operation::no:
        return push(document_.add(Kind::boolean, 0));
      case Operation::integer_1:
        return push(document_.add(Kind::integer, byte()));
      case Operation::integer_2:
        return push(document_.add(Kind::integer, number<std::uint16_t>()));
      case Operation::integer_4:
        return push(document_.add(Kind::integer, number<std::int32_t>()));
      case Operation::long_1:
        return push_long();
      case Operation::real:
        number<std::uint64_t>();
        return push(document_.add(Kind::real));
      case Operation::text:
        return push_text();
      case Operation::empty_list:
      case Operation::empty_tuple:
        return push(document_.add(Kind::list));
      case Operation::empty_dictionary:
        return push(document_.add(Kind::dictionary));
      case Operation::append_all:
        return fill(Kind::list);
      case Operation::set_all:
        return fill(Kind::dictionary);
      case Operation::tuple:
        return make_tuple(take_mark());
      case Operation::tuple_1:
      case Operation::tuple_2:
      case Operation::tuple_3: {
        const std::size_t count = operation - static_cast<std::size_t>(Operation::tuple_1) + 1;
        if (has(count)) make_tuple(stack_.size() - count);
        return;
      }
      case Operation::store_1:
        return store(byte());
      case Operation::store_4:
        return store(number<std::uint32_t>());
      case Operation::recall_1:
        return recall(byte());
      case Operation::recall_4:
        return recall(number<std::uint32_t>());
      case Operation::protocol:
        break;
    }
    refuse(fmt::format("it has the opcode {:#04x} at byte {}, which PyTorch does not write", operation, at));
  }

  Document& document_;
  const std::string& bytes_;
  std::size_t at_ = 0;
  std::vector<std::uint32_t> stack_, memory_;
  std::vector<std::size_t> marks_;  // size of `stack_` at each mark
  std::vector<bool> stored_;        // indexed by value; values past the end are not stored
  bool stopped_ = false;
  std::string refused_;
};

}  // namespace

std::optional<std::string> read_pickle(Document& document) { return Machine(document).run(); }

}  // namespace cudadiag::evidence
