#include "base/json_limits.h"

#include <nlohmann/json.hpp>
#include <string>

namespace cudadiag::base {
namespace {

using Json = nlohmann::json;

// Stops parsing at the first part that exceeds a limit.
class Counter : public nlohmann::json_sax<Json> {
 public:
  explicit Counter(const JsonLimits& limits) : limits_(limits) {}

  bool null() override { return count(); }
  bool boolean(bool) override { return count(); }
  bool number_integer(number_integer_t) override { return count(); }
  bool number_unsigned(number_unsigned_t) override { return count(); }
  bool number_float(number_float_t, const string_t&) override { return count(); }
  bool string(string_t&) override { return count(); }
  bool binary(binary_t&) override { return count(); }
  bool key(string_t&) override { return count(); }
  bool start_object(std::size_t) override { return begin(); }
  bool start_array(std::size_t) override { return begin(); }
  bool end_object() override { return end(); }
  bool end_array() override { return end(); }
  bool parse_error(std::size_t, const std::string&, const Json::exception&) override { return false; }

 private:
  bool count() { return ++parts_ <= limits_.parts; }
  bool begin() { return ++depth_ <= limits_.depth && count(); }
  bool end() {
    --depth_;
    return count();
  }

  const JsonLimits& limits_;
  int depth_ = 0;
  std::size_t parts_ = 0;
};

}  // namespace

bool is_json_within(std::string_view text, const JsonLimits& limits) {
  Counter counter(limits);
  return Json::sax_parse(text, &counter);
}

}  // namespace cudadiag::base
