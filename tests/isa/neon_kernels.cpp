// Compiles kernels for ARM processors: random ones, and every op, cast and reduction in every dtype. Writes their
// objects into a folder, and what each is called with and must write, which is what the interpreter of kernels makes of
// it. Nothing of it can run here: neon_driver.cpp does that elsewhere, and scripts/test-isa puts all together.
//
//     neon_kernels FOLDER [EVERY]    every case, or every EVERY-th; prints how many there are
//
// FOLDER/<number>.o     the code of a function, whose name is kEntryName in all of them
// FOLDER/functions.cpp  the table of the functions, and those that they call
// FOLDER/cases          see kernel_case.h
#include "isa/kernel_case.h"

#include "backends/cpu/code/jit.h"
#include "backends/cpu/code/kernel_loops.h"
#include "backends/cpu/long_reduction.h"
#include "backends/reference/interpret_kernel.h"
#include "base/fail.h"
#include "cpu/arm_target.h"
#include "cpu/random_kernel.h"
#include "ir/op.h"
#include "ir/op_elementwise.gen.h"

#include <lento/threads.h>

#include <fmt/format.h>
#include <llvm/Object/ObjectFile.h>

#include <atomic>
#include <charconv>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <functional>
#include <iterator>
#include <mutex>
#include <set>
#include <string_view>
#include <thread>

namespace lento::testing {
namespace {

constexpr std::int64_t kLengths[] = {0, 1, 3, 4, 5, 7, 8, 9, 16, 31, 32, 33, 64, 100, 4095, 4097, 9000};
constexpr Values kValues[] = {Values::plain, Values::zeros, Values::signs, Values::nans};
constexpr cpu::Tier kTierOf[kTiers] = {cpu::Tier::zero, cpu::Tier::one};

/// A call to be made, and whether the interpreter says what comes of it. Functions that every backend computes in its
/// own way have the bits of this processor's code.
struct Task {
  std::string name;
  std::function<KernelCall()> make;
  bool specified = true;
};

class Tasks {
 public:
  std::vector<Task> all;

  void add(std::string name, std::uint64_t seed, std::function<KernelCall(Random&)> make, bool specified = true) {
    const auto from_seed = [seed, make = std::move(make)] {
      Random random(seed);
      return make(random);
    };
    all.push_back({fmt::format("{}, seed {}", name, seed), from_seed, specified});
  }

  void add_random() {
    std::uint64_t seed = 100'000;
    for (const LoopForm form : {LoopForm::map, LoopForm::row, LoopForm::column}) {
      for (int n = 0; n < kDTypeCount; ++n) {
        for (int round = 0; round < 6; ++round, ++seed) {
          add("random", seed, [=](Random& random) {
            KernelChoice choice = choice_of(random, form, static_cast<DType>(n));
            choice.length = kLengths[below(random, std::size(kLengths))];
            choice.values = round % 2 == 0 ? Values::plain : Values::special;
            choice.creates = round == 1;
            return random_kernel(random, choice);
          });
        }
      }
    }
  }

  void add_functions() {
    std::uint64_t seed = 200'000;
    for (const LoopForm form : {LoopForm::map, LoopForm::row, LoopForm::column}) {
      for (const DType dtype : {DType::float16, DType::bfloat16, DType::float32, DType::float64}) {
        for (int round = 0; round < 6; ++round, ++seed) {
          const auto make = [=](Random& random) {
            KernelChoice choice = choice_of(random, form, dtype);
            choice.with_functions = true;
            return random_kernel(random, choice);
          };
          add("with functions", seed, make, false);
        }
      }
    }
  }

  void add_turned() {
    std::uint64_t seed = 300'000;
    for (int n = 0; n < kDTypeCount; ++n) {
      for (int round = 0; round < 2; ++round, ++seed) {
        add("of turned operands", seed, [=](Random& random) {
          KernelChoice choice = choice_of(random, LoopForm::map, static_cast<DType>(n));
          choice.crossed = true;
          return random_kernel(random, choice);
        });
      }
    }
  }

  void add_everything() {
    for (int n = 0; n < kDTypeCount; ++n) {
      const DType dtype = static_cast<DType>(n);
      const auto seed = 400'000 + static_cast<std::uint64_t>(n);
      add(fmt::format("every op of {}", dtype), seed, [=](Random& random) { return every_op(random, dtype, 2011); });
      add(fmt::format("every cast of {}", dtype), seed,
          [=](Random& random) { return every_cast(random, dtype, 2011); });
    }
  }

  void add_reductions() {
    std::uint64_t seed = 500'000;
    for (const LoopForm form : {LoopForm::row, LoopForm::column}) {
      for (int n = 0; n < kDTypeCount; ++n) {
        for (const std::int64_t length : {0, 1, 5, 65, 4097, 13000}) {
          add(fmt::format("every reduction of {}", static_cast<DType>(n)), seed, [=](Random& random) {
            KernelChoice choice;
            choice.form = form;
            choice.dtypes = {static_cast<DType>(n)};
            choice.length = length;
            if (is_floating(choice.dtypes[0])) choice.values = kValues[seed % std::size(kValues)];
            return every_reduction(random, choice);
          });
          ++seed;
        }
      }
    }
  }

  /// Rows of a table, by positions of which some are counted from its end.
  void add_picked() {
    for (const DType dtype : {DType::int32, DType::int64}) {
      add(fmt::format("rows picked by {}", dtype), 600'000, [=](Random& random) {
        constexpr std::int64_t kRows = 9, kColumns = 21, kExtent = 5;
        KernelCall call;
        call.kernel.dims = 2;
        call.kernel.operands = {{.dtype = dtype, .inner = InnerStride::zero},
                                {.dtype = DType::float32, .picked_by = 0},
                                {.dtype = DType::float32, .output = true}};
        call.kernel.body = {{Instruction::Kind::load, {}, DType::float32, 0, 1, {}},
                            {Instruction::Kind::store, {}, DType::float32, 1, 2, {0}}};
        call.sizes = {kRows, kColumns};
        call.strides = {1, 0, 0, 1, kColumns, 1};
        call.starts = {kGuard, kGuard, kGuard};
        call.picked = {{}, {.stride = kColumns, .extent = kExtent}, {}};
        const std::size_t elements[] = {kRows, kExtent * kColumns, kRows * kColumns};
        for (std::size_t j = 0; j < 3; ++j) {
          call.memory.emplace_back((elements[j] + 2 * kGuard) * size_of(call.kernel.operands[j].dtype));
        }
        for (std::byte& byte : call.memory[1]) byte = static_cast<std::byte>(below(random, 64));
        for (std::size_t row = 0; row < kRows; ++row) {
          const auto position = static_cast<std::int64_t>(below(random, 2 * kExtent)) - kExtent;
          std::memcpy(call.memory[0].data() + (kGuard + row) * size_of(dtype), &position, size_of(dtype));
        }
        return call;
      });
    }
  }

 private:
  static KernelChoice choice_of(Random& random, LoopForm form, DType dtype) {
    KernelChoice choice;
    choice.form = form;
    choice.dtypes = {dtype, dtype};
    if (below(random, 2) == 0) choice.dtypes.push_back(static_cast<DType>(below(random, kDTypeCount)));
    choice.steps = 1 + below(random, 10);
    return choice;
  }
};

std::string describe(const Task& task, const KernelCall& call) {
  std::string text = task.name + "\n" + to_string(call.kernel) + "sizes:";
  for (const std::int64_t size : call.sizes) text += fmt::format(" {}", size);
  text += " strides:";
  for (const std::int64_t stride : call.strides) text += fmt::format(" {}", stride);
  return text;
}

/// Computed by the C library, whose last bits differ between processors.
bool is_of_c_library(const Kernel& kernel, const Instruction& i) {
  return i.kind == Instruction::Kind::compute && (i.op == op::abs || i.op == op::general_pow) &&
         kernel.body[i.inputs[0]].dtype == DType::complex128;
}

/// One flag per instruction: nothing that it is made of is computed by the C library.
std::vector<std::uint8_t> have_promised_bits(const Kernel& kernel) {
  std::vector<std::uint8_t> result;
  for (const Instruction& i : kernel.body) {
    bool good = !is_of_c_library(kernel, i);
    for (unsigned j = 0; j < i.input_count; ++j) good &= result[i.inputs[j]] != 0;
    result.push_back(good ? 1 : 0);
  }
  return result;
}

/// Where reductions are shared: each call with its partial results.
std::vector<PartCall> parts_of(const KernelCall& call, const cpu::KernelCode& code, const std::vector<DType>& slots) {
  std::vector<PartCall> parts;
  std::vector<Bytes> memory = call.memory;
  std::vector<void*> addresses;
  const KernelArguments arguments = call.arguments(memory, addresses);
  const std::int64_t columns = call.kernel.form == LoopForm::column ? call.sizes.back() : 1;
  const auto packed = [&](const cpu::KernelPart& part) {
    Bytes bytes;
    for_each_slot(slots, columns, part.result_stride, [&](std::size_t at, std::size_t, std::size_t count) {
      bytes.insert(bytes.end(), part.results + at, part.results + at + count);
    });
    return bytes;
  };
  cpu::reduce_in_parts(call.kernel, call.sizes, 1, [&](const cpu::KernelPart& part) {
    PartCall& recorded = parts.emplace_back();
    recorded.part = part;
    recorded.part.results = nullptr;
    recorded.before = packed(part);
    code.run_part(arguments, part);
    recorded.after = packed(part);
  });
  return parts;
}

KernelCase make_case(const Task& task, const KernelCall& call) {
  KernelCase one;
  one.text = describe(task, call);
  one.kernel.form = call.kernel.form;
  one.kernel.dims = call.kernel.dims;
  one.kernel.operands = call.kernel.operands;
  one.sizes = call.sizes;
  one.strides = call.strides;
  one.numbers = call.numbers;
  one.picked = call.picked;
  one.starts = call.starts;
  one.memory = call.memory;
  one.expected = call.memory;
  const auto code = cpu::compile_kernel(call.kernel, cpu::Tier::zero);
  std::vector<void*> addresses;
  const KernelArguments arguments = call.arguments(one.expected, addresses);
  if (task.specified) {
    reference::interpret(call.kernel, arguments);
  } else {
    code->run(arguments, call.whole());
  }
  const std::vector<std::uint8_t> promised = have_promised_bits(call.kernel);
  one.compared.assign(call.kernel.operands.size(), 1);
  for (std::size_t at = 0; at < promised.size(); ++at) {
    const Instruction& i = call.kernel.body[at];
    if (i.kind == Instruction::Kind::store) one.compared[i.index] = promised[at];
  }
  if (call.kernel.form != LoopForm::map) {
    for (const cpu::ResultSlot& slot : cpu::result_slots(call.kernel)) {
      one.slots.push_back(slot.dtype);
      one.compared_slots.push_back(promised[slot.at]);
    }
    one.parts = parts_of(call, *code, one.slots);
  }
  return one;
}

/// Adds the names of functions of this library that the object calls.
void add_called(const Bytes& object, std::set<std::string>& names) {
  const llvm::MemoryBufferRef buffer(llvm::StringRef(reinterpret_cast<const char*>(object.data()), object.size()), "");
  auto file = llvm::object::ObjectFile::createELFObjectFile(buffer);
  if (!file) fail<BackendError>("an object cannot be read: {}", llvm::toString(file.takeError()));
  for (const llvm::object::SymbolRef symbol : (*file)->symbols()) {
    const std::string name = llvm::cantFail(symbol.getName()).str();
    // What else is undefined is the C library's.
    if (name.starts_with("lento.")) names.insert(name);
  }
}

/// The function behind a name of loop_symbols.h, as C++ that calls it by number: names need the catalogue.
std::string definition(const std::string& name, std::size_t number) {
  const std::size_t kind_end = name.find('.', 6), op_end = name.find('.', kind_end + 1);
  const std::string kind = name.substr(6, kind_end - 6);
  const auto op = find_op(name.substr(kind_end + 1, op_end - kind_end - 1));
  const auto dtype = dtype_from_name(name.substr(op_end + 1));
  if (!op || !dtype) fail<BackendError>("code calls '{}', which is no function of this library", name);
  const auto which = fmt::format("static_cast<lento::Op>({}), static_cast<lento::DType>({})", static_cast<int>(*op),
                                 static_cast<int>(*dtype));
  if (kind == "loop") {
    return fmt::format(
        "void called_{0}(std::int64_t n, void* out, const void* const* in, const std::int64_t* strides) "
        "__asm__(\"{1}\");\n"
        "void called_{0}(std::int64_t n, void* out, const void* const* in, const std::int64_t* strides) {{\n"
        "  lento::reference::find_elementwise({2})(n, out, in, strides);\n}}\n",
        number, name, which);
  }
  const bool push = kind == "push";
  return fmt::format(
      "void called_{0}(void* tree, {1}void* values, std::int64_t width) __asm__(\"{2}\");\n"
      "void called_{0}(void* tree, {1}void* values, std::int64_t width) {{\n"
      "  reinterpret_cast<void (*)(void*, {1}void*, std::int64_t)>(lento::cpu::{3}_function({4}))"
      "(tree, values, width);\n}}\n",
      number, push ? "const " : "", name, push ? "push_block" : "finish_blocks", which);
}

std::string functions_text(std::size_t functions, const std::set<std::string>& called) {
  std::string text =
      "// The functions that neon_kernels made, and what they call.\n"
      "#include \"backends/cpu/code/block_tree.h\"\n#include \"backends/cpu/code/kernel_calls.h\"\n"
      "#include \"backends/reference/dispatch.h\"\n\n";
  std::size_t number = 0;
  for (const std::string& name : called) text += definition(name, number++);
  std::string table;
  for (std::size_t f = 0; f < functions; ++f) {
    text += fmt::format("void kernel_{0}(const lento::cpu::CallFrame*) __asm__(\"{1}_{0}\");\n", f, cpu::kEntryName);
    table += fmt::format("  kernel_{},\n", f);
  }
  text +=
      "extern const lento::cpu::KernelFunction kernel_functions[];\n"
      "extern const std::uint32_t kernel_function_count;\n";
  text += fmt::format("const lento::cpu::KernelFunction kernel_functions[] = {{\n{}}};\n", table);
  return text + fmt::format("const std::uint32_t kernel_function_count = {};\n", functions);
}

void write_file(const std::filesystem::path& file, std::string_view bytes) {
  std::ofstream out;
  out.exceptions(std::ios::badbit | std::ios::failbit);
  out.open(file, std::ios::binary);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

/// Everything of task number `n`.
KernelCase build(const Task& task, std::size_t n, const std::filesystem::path& folder, std::set<std::string>& called) {
  const KernelCall call = task.make();
  verify(call.kernel);
  KernelCase one = make_case(task, call);
  one.first_function = static_cast<std::uint32_t>(n) * kTiers;
  for (std::uint32_t tier = 0; tier < kTiers; ++tier) {
    const Bytes object = cpu::compile_object(call.kernel, kTierOf[tier], cpu::Isa::neon);
    add_called(object, called);
    write_file(folder / fmt::format("{}.o", one.first_function + tier),
               {reinterpret_cast<const char*>(object.data()), object.size()});
  }
  return one;
}

void build_all(const std::vector<Task>& tasks, const std::filesystem::path& folder) {
  std::vector<KernelCase> cases(tasks.size());
  std::set<std::string> called;
  std::exception_ptr failure;
  std::mutex mutex;
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    std::set<std::string> own;
    try {
      for (std::size_t n = next++; n < tasks.size(); n = next++) cases[n] = build(tasks[n], n, folder, own);
    } catch (...) {
      const std::lock_guard lock(mutex);
      failure = std::current_exception();
    }
    const std::lock_guard lock(mutex);
    called.merge(own);
  };
  {
    std::vector<std::jthread> threads;
    for (unsigned t = 1; t < std::thread::hardware_concurrency(); ++t) threads.emplace_back(work);
    work();
  }
  if (failure) std::rethrow_exception(failure);
  write_file(folder / "functions.cpp", functions_text(tasks.size() * kTiers, called));
  CaseWriter writer((folder / "cases").string());
  writer(cases);
}

int run(const std::filesystem::path& folder, std::size_t every) {
  initialize_arm_target();
  set_num_threads(1);  // the parts of a reduction are recorded in order; cases are shared instead
  Tasks tasks;
  tasks.add_everything();
  tasks.add_picked();
  tasks.add_random();
  tasks.add_functions();
  tasks.add_turned();
  tasks.add_reductions();
  std::vector<Task> chosen;
  for (std::size_t n = 0; n < tasks.all.size(); n += every) chosen.push_back(tasks.all[n]);
  std::filesystem::create_directories(folder);
  build_all(chosen, folder);
  fmt::print("{}\n", chosen.size());
  return 0;
}

}  // namespace
}  // namespace lento::testing

int main(int argc, char** argv) {
  const std::string_view number = argc == 3 ? argv[2] : "1";
  std::size_t every = 0;
  std::from_chars(number.data(), number.data() + number.size(), every);
  if (argc < 2 || argc > 3 || every == 0) {
    std::fprintf(stderr, "usage: neon_kernels FOLDER [EVERY]\n");
    return 2;
  }
  try {
    return lento::testing::run(argv[1], every);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "neon_kernels: %s\n", error.what());
    return 1;
  }
}
