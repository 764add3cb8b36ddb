// Decodes and checks the output of a rerun's Python hook in one process (wire/rerun/delivery.h). Ignores invalid lines.
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

// The source of a value's name: the operator's schema, the user's variable, or the kernel's parameter.
enum class ValueOrigin : std::uint8_t { schema, variable, kernel };

std::string_view word(ValueOrigin origin);

// A tensor or a number; unknown fields are empty.
struct DeliveredValue {
  using Number = std::variant<std::int64_t, double>;

  std::string name;
  ValueOrigin origin = ValueOrigin::schema;
  std::string parameter;  // for a variable: the parameter's name in the schema
  std::string dtype, device, value;
  std::vector<std::int64_t> shape, strides, first_outside;
  std::optional<Number> min, max, first_value;
  std::optional<std::uint64_t> nan, inf, outside, pointer;
  std::optional<std::int64_t> bound;
  std::optional<std::uint64_t> bytes;  // from the start of its first element to the end of its last
  std::optional<bool> written;         // whether the operator writes it, according to its schema
  bool view = false;                   // the tensor is a view of the variable `name`
};

struct DeliveredFrame {
  std::string file, function;
  int line = 0;
};

// The state of PyTorch's caching allocator when it found no memory.
struct DeliveredMemory {
  struct Holder {
    std::uint64_t bytes = 0, count = 0;
    std::vector<DeliveredFrame> frames;  // where it was allocated, innermost first
  };
  // An exception that is being handled, or the last one that was. Its traceback keeps frames alive, and the frames keep
  // tensors alive.
  struct Exception {
    std::string type, file;
    int line = 0;
    std::uint64_t bytes = 0;
  };
  std::uint64_t asked = 0, reserved = 0, allocated = 0, largest_free = 0;
  std::vector<Holder> holders;  // largest first
  std::vector<Exception> exceptions;
};

// The first non-finite element of a value that the program used.
struct DeliveredNonFinite {
  enum class State { candidate, found, asked, asked_last };
  enum class Role { made, passed, loaded, uninitialised };
  // What the program did with the value. `other` is also a use that the hook does not name.
  enum class Use {
    other,
    parameter,
    loss,
    number,
    printed,
    saved,
    array,
    gradient,
    exception,
    compared,
    refused,
  };

  State state = State::candidate;
  Role role = Role::made;
  std::uint64_t root = 0;  // ordinal of the operator in its process
  Use use = Use::other;
  std::string node;  // in a backward pass: the autograd node; empty otherwise
  std::optional<std::string> module;
  std::string module_class, dtype;
  std::uint64_t step = 0;  // 0 if the program has no optimiser
  std::vector<std::int64_t> shape, index;
  std::optional<std::uint64_t> bad;                            // number of bad elements; nullopt if not counted
  std::vector<std::pair<std::string, std::string>> elements;   // name and value of each argument's element at `index`
  std::vector<DeliveredFrame> stack, forward, backward, uses;  // innermost first
  bool forward_certain = true;
  std::string infinite;  // the operator that produced its infinite input elements; empty if none
  std::vector<DeliveredFrame> infinite_stack;
};

// The source of an out-of-bounds element, such as an index, that an operator received.
struct DeliveredOrigin {
  enum class Role { made, passed, copied, loaded };
  struct Step {
    Role role = Role::made;
    std::string op;                               // "aten::remainder.Scalar", "DataLoader"
    std::optional<DeliveredValue::Number> value;  // nullopt if it was different there or is unknown
    std::optional<std::int64_t> batch, sample;    // of a data loader, from 0; the sample's index in the data set
    std::vector<DeliveredFrame> stack;            // innermost first
  };

  std::vector<std::int64_t> index;  // of the element in the operator's argument
  std::optional<DeliveredValue::Number> value;
  bool certain = false;
  std::vector<DeliveredFrame> stack;  // of the operator
  std::vector<Step> steps;            // the source first, then the operators that passed it on; empty if unknown
};

// Two uses of the same bytes that nothing orders, as observed from the operators of a process.
struct DeliveredRace {
  struct Access {
    std::string op;         // "aten::add_.Tensor"
    DeliveredValue tensor;  // `name`: the user's variable, or "" if the line names none. `parameter`: the schema's name
    std::uint64_t stream = 0;
    bool on_host = false;               // not in a stream: the program's own operator on the CPU
    std::vector<DeliveredFrame> stack;  // innermost first
  };
  Access first, second;                         // in the order of issue
  bool waited_before = false;                   // the second stream has waited for an earlier point of the first stream
  std::uint64_t begin = 0, end = 0, bytes = 0;  // the bytes in common
};

enum class DeliveryKind : std::uint8_t {
  other,    // this program does not know the word
  call,     // the operator that the thread calls next
  results,  // of the operator that the thread has called
  line,     // the variables at the line that the thread reaches
  watched,  // the same for a line that the user watches
  forward,  // where the node that the thread now runs backwards was created
  started,  // where the work of the thread was started
  memory,   // PyTorch's allocator
  untold,   // from here on, some calls are omitted
  non_finite,
  origin,    // of a bad value
  race,      // between two operators
  note,      // a sentence
  checking,  // the process looks for non-finite values
};

// Returns "" only for DeliveryKind::other.
std::string_view word(DeliveryKind kind);

struct Delivery {
  std::uint32_t tid = 0;
  std::uint64_t ticks = 0;
  DeliveryKind kind = DeliveryKind::other;
  std::string op;  // "aten::embedding"
  std::string overload, schema;
  bool whole = false;  // the operator uses every element of its tensors
  std::string file;    // as CPython names it
  int line = 0;
  std::vector<DeliveredValue> values;
  std::uint64_t visit = 0;            // for a watched line: the number of this visit in the process
  std::vector<std::uint64_t> visits;  // for a watched line: visits to each watched line so far, in the requested order
  std::uint64_t milliseconds = 0;     // for a watched line: the time that reading the values took
  std::string node;                   // "GatherBackward0"
  std::uint64_t number = 0;
  bool pool = false;  // for the start of a thread's work: a thread pool received the work
  // Each stack is innermost first. The first stack is where the node was created, or where the thread was started. If
  // another node ran there, the next stack is where that node was created, and so on. The same applies to threads that
  // were started by other started threads.
  std::vector<std::vector<DeliveredFrame>> stacks;
  std::optional<DeliveredMemory> memory;
  std::optional<DeliveredNonFinite> non_finite;
  std::optional<DeliveredOrigin> origin;
  std::optional<DeliveredRace> race;
  std::string text;  // for a note: its sentence; for `checking`: the version of PyTorch
};

// Returns the deliveries in the order of the file. Reads only the end of a long file.
std::vector<Delivery> read_deliveries(const std::filesystem::path& file);
std::vector<Delivery> parse_deliveries(std::string_view text);

// Reads the deliveries of each process from this pass folder. Also adds processes without an area that were checked for
// non-finite elements.
struct Process;
void attach_deliveries(const std::filesystem::path& folder, std::vector<Process>& processes);

}  // namespace cudadiag::session
