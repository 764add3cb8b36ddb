// Reads a Flight Recorder dump that is JSON instead of a pickle.
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "evidence/flight_recorder/pickle.h"

namespace cudadiag::evidence {
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
