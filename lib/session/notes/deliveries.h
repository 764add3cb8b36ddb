// The output of a rerun's Python hook in one process (wire/rerun/delivery.h), decoded and checked: an invalid line is left
// out.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace cudadiag::session {

// Whose name a value has: the operator's schema, the user's variable, or the kernel's parameter.
enum class ValueOrigin : std::uint8_t { schema, variable, kernel };

std::string_view word(ValueOrigin origin);

// A tensor or a number; unknown fields are empty.
struct DeliveredValue {
  using Number = std::variant<std::int64_t, double>;

  std::string name;
  ValueOrigin origin = ValueOrigin::schema;
  std::string parameter;  // of a variable: the schema's name
  std::string dtype, device, value;
  std::vector<std::int64_t> shape, strides, first_outside;
  std::optional<Number> min, max, first_value;
  std::optional<std::uint64_t> nan, inf, outside, pointer;
  std::optional<std::int64_t> bound;
  std::optional<std::uint64_t> bytes;  // from its first element to the end of its last
  std::optional<bool> written;         // by the operator, as its schema says
  bool view = false;                   // `name` is a variable that it is a view of
};

struct DeliveredFrame {
  std::string file, function;
  int line = 0;
};

// PyTorch's caching allocator when it found no memory.
struct DeliveredMemory {
  struct Holder {
    std::uint64_t bytes = 0, count = 0;
    std::vector<DeliveredFrame> frames;  // that allocated it, innermost first
  };
  // One that is being handled, or was last: its traceback holds frames, and these hold tensors.
  struct Exception {
    std::string type, file;
    int line = 0;
    std::uint64_t bytes = 0;
  };
  std::uint64_t asked = 0, reserved = 0, allocated = 0, largest_free = 0;
  std::vector<Holder> holders;  // largest first
  std::vector<Exception> exceptions;
};

// The first element that is not finite, of a value that the program used.
struct DeliveredNonFinite {
  enum class State { candidate, found, asked, asked_last };
  enum class Role { made, passed, loaded, uninitialised };

  State state = State::candidate;
  Role role = Role::made;
  std::uint64_t root = 0;  // ordinal of the operator in its process
  std::string used;        // "parameter", "loss", "number", …
  std::string node;        // of a backward pass; empty: it is none
  std::optional<std::string> module;
  std::string module_class, dtype;
  std::uint64_t step = 0;  // 0: the program has no optimiser
  std::vector<std::int64_t> shape, index;
  std::optional<std::uint64_t> bad;                            // elements; nothing: they were not looked at
  std::vector<std::pair<std::string, std::string>> elements;   // of the arguments, at the index
  std::vector<DeliveredFrame> stack, forward, backward, uses;  // innermost first
  bool forward_certain = true;
  std::string infinite;  // the operator that made the infinite elements that it got; empty: none
  std::vector<DeliveredFrame> infinite_stack;
};

// Where an element came from that an operator was given outside of its bound.
struct DeliveredOrigin {
  enum class Role { made, passed, copied, loaded };
  struct Step {
    Role role = Role::made;
    std::string op;                               // "aten::remainder.Scalar", "DataLoader"
    std::optional<DeliveredValue::Number> value;  // nothing: it was another one there, or that is not known
    std::optional<std::int64_t> batch, sample;    // of a data loader, from 0; the sample's index in the data set
    std::vector<DeliveredFrame> stack;            // innermost first
  };

  std::vector<std::int64_t> index;  // of the element in the operator's argument
  std::optional<DeliveredValue::Number> value;
  bool certain = false;
  std::vector<DeliveredFrame> stack;  // of the operator
  std::vector<Step> steps;            // the origin first, then what carried the element; empty: it is not known
};

// Two uses of the same bytes that nothing orders, as the operators of a process show them.
struct DeliveredRace {
  struct Access {
    std::string op;  // "aten::add_.Tensor"
    DeliveredValue
        tensor;  // `name`: the user's variable; empty: none that the line names. `parameter`: the schema's name
    std::uint64_t stream = 0;
    bool on_host = false;               // no stream's: the program's own operator on the CPU
    std::vector<DeliveredFrame> stack;  // innermost first
  };
  Access first, second;        // in the order of issue
  bool waited_before = false;  // the second one's stream has waited for an earlier point of the first one's
  std::uint64_t begin = 0, end = 0, bytes = 0;  // in common
};

enum class DeliveryKind : std::uint8_t {
  other,    // this program does not know the word
  call,     // the operator that the thread calls next
  results,  // of the operator that the thread has called
  line,     // the variables at the line that the thread comes to
  watched,  // the same for a line that the user watches
  forward,  // where the node was made that the thread runs backwards from here on
  started,  // where the work of the thread was begun
  memory,   // PyTorch's allocator
  untold,   // from here on some calls are left out
  non_finite,
  origin,    // of a bad value
  race,      // between two operators
  note,      // a sentence
  checking,  // the process looks for values that are not finite
};

// Empty for DeliveryKind::other alone.
std::string_view word(DeliveryKind kind);

struct Delivery {
  std::uint32_t tid = 0;
  std::uint64_t ticks = 0;
  DeliveryKind kind = DeliveryKind::other;
  std::string op;  // "aten::embedding"
  std::string overload, schema;
  bool whole = false;  // it uses every element of its tensors
  std::string file;    // as CPython has it
  int line = 0;
  std::vector<DeliveredValue> values;
  std::uint64_t visit = 0;            // of a watched line: which one of the process's to this line
  std::vector<std::uint64_t> visits;  // and how many each watched line has had, in the order that they were given in
  std::uint64_t milliseconds = 0;     // and what reading them had taken
  std::string node;                   // "GatherBackward0"
  std::uint64_t number = 0;
  bool pool = false;  // of a start: it is a pool's, and was given this as work
  // Innermost first, of the node, then of that in whose run it was made, and so on; of what was begun, then of what its
  // thread had been begun by.
  std::vector<std::vector<DeliveredFrame>> stacks;
  std::optional<DeliveredMemory> memory;
  std::optional<DeliveredNonFinite> non_finite;
  std::optional<DeliveredOrigin> origin;
  std::optional<DeliveredRace> race;
  std::string text;  // of a note; of a check: the version of PyTorch
};

// In the order of the file; of a long one the end.
std::vector<Delivery> read_deliveries(const std::filesystem::path& file);
std::vector<Delivery> parse_deliveries(std::string_view text);

// To the processes of the pass with this folder, each its deliveries. Processes without an area that were checked for
// elements that are not finite are added.
struct Process;
void attach_deliveries(const std::filesystem::path& folder, std::vector<Process>& processes);

}  // namespace cudadiag::session
