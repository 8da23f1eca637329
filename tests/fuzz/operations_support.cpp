#include "fuzz/operations.h"

#include "backends/testing/testing.h"

#include <cstdio>
#include <stdexcept>

namespace lento::fuzz {

namespace {

// Every tensor has one of the shapes (2, 3), (1, 3), (2, 1) and (1, 1), so that most pairs broadcast. Pairs that do not
// fit, dtypes that an op refuses and mixed devices are errors of the call, the same in both runs.
constexpr std::int64_t kRows = 2;
constexpr std::int64_t kColumns = 3;

using I = const Instruction&;

std::int64_t row(const Tensor& x, I i) { return i.b % x.shape()[0]; }
std::int64_t column(const Tensor& x, I i) { return i.b % x.shape()[1]; }

/// A column of positions for x's rows; the last is far outside when asked for.
Tensor positions(const Tensor& x, I i, bool outside) {
  const std::vector<std::int64_t> rows{row(x, i), outside ? 90 + i.b : std::int64_t{0}};
  return tensor(rows, Shape{2}, x.device());
}

/// 0, 1, …, where x is.
Tensor numbers(const Tensor& x, std::int64_t count) { return arange(count, std::nullopt, 1, std::nullopt, x.device()); }

/// Few enough exponents that some meet again; 2 and 0.5 decide structure.
double exponent(I i) { return i.constant < 0 ? 2.0 : i.constant < 0.5 ? 0.5 : i.constant; }

void add_closure(Worker& w, I i, bool run_async, void (*body)(const std::shared_ptr<std::string>&, const Tensor&)) {
  w.closures_saw.push_back(std::make_shared<std::string>("did not run"));
  add_step_closure([place = w.closures_saw.back(), body](const std::vector<Tensor>& args) { body(place, args[0]); },
                   {w.a(i)}, run_async, w.a(i).device());
}

void note(const std::shared_ptr<std::string>& place, const Tensor& x) { *place = text_of(x); }
void compute(const std::shared_ptr<std::string>& place, const Tensor& x) { *place = text_of(sum(x * 2.0)); }
void add_another(const std::shared_ptr<std::string>& place, const Tensor& x) {
  add_step_closure([place](const std::vector<Tensor>& args) { *place = text_of(args[0]); }, {x}, false, x.device());
}
void step_inside(const std::shared_ptr<std::string>& place, const Tensor& x) {
  const Tensor more = flip(x);
  despite_fault([&] { step(x.device()); });
  *place = text_of(more);
}

// Weights: some 60 % ops, 15 % in-place, the rest evaluates, moves and drops.
constexpr Operation kOperations[] = {
    {"load", kTarget | kInput, 20, [](Worker& w, I i) { w.target(i) = (*w.inputs)[i.a]; }},
    {"load_async", kTarget | kInput, 20, [](Worker& w, I i) { w.target(i) = (*w.async_inputs)[i.a]; }},
    // Elementwise.
    {"sin", kTarget | kA, 10, [](Worker& w, I i) { w.target(i) = sin(w.a(i)); }},
    {"abs", kTarget | kA, 10, [](Worker& w, I i) { w.target(i) = abs(w.a(i)); }},
    {"negative", kTarget | kA, 10, [](Worker& w, I i) { w.target(i) = negative(w.a(i)); }},
    {"tanh", kTarget | kA, 10, [](Worker& w, I i) { w.target(i) = tanh(w.a(i)); }},
    {"as_float32", kTarget | kA, 5, [](Worker& w, I i) { w.target(i) = astype(w.a(i), DType::float32); }},
    {"as_float64", kTarget | kA, 8, [](Worker& w, I i) { w.target(i) = astype(w.a(i), DType::float64); }},
    {"as_int64", kTarget | kA, 4, [](Worker& w, I i) { w.target(i) = astype(w.a(i), DType::int64); }},
    {"add", kTarget | kA | kB, 20, [](Worker& w, I i) { w.target(i) = w.a(i) + w.b(i); }},
    {"subtract", kTarget | kA | kB, 15, [](Worker& w, I i) { w.target(i) = w.a(i) - w.b(i); }},
    {"multiply", kTarget | kA | kB, 10, [](Worker& w, I i) { w.target(i) = w.a(i) * w.b(i); }},
    {"maximum", kTarget | kA | kB, 10, [](Worker& w, I i) { w.target(i) = maximum(w.a(i), w.b(i)); }},
    {"less", kTarget | kA | kB, 4, [](Worker& w, I i) { w.target(i) = w.a(i) < w.b(i); }},
    {"where", kTarget | kA | kB, 8, [](Worker& w, I i) { w.target(i) = where(w.a(i) > 0, w.a(i), w.b(i)); }},
    {"add_number", kTarget | kA | kConstant, 15, [](Worker& w, I i) { w.target(i) = w.a(i) + i.constant; }},
    {"multiply_number", kTarget | kA | kConstant, 15, [](Worker& w, I i) { w.target(i) = w.a(i) * i.constant; }},
    {"power", kTarget | kA | kConstant, 6, [](Worker& w, I i) { w.target(i) = pow(abs(w.a(i)), exponent(i)); }},
    // Reductions, scans, products.
    {"sum_rows", kTarget | kA, 8, [](Worker& w, I i) { w.target(i) = sum(w.a(i), Ints{0}, std::nullopt, true); }},
    {"max_columns", kTarget | kA, 6, [](Worker& w, I i) { w.target(i) = max(w.a(i), Ints{1}, true); }},
    {"mean_all", kTarget | kA, 5, [](Worker& w, I i) { w.target(i) = mean(w.a(i), std::nullopt, true); }},
    {"argmax_columns", kTarget | kA, 4, [](Worker& w, I i) { w.target(i) = argmax(w.a(i), 1, true); }},
    {"cumulative_sum", kTarget | kA, 6, [](Worker& w, I i) { w.target(i) = cumulative_sum(w.a(i), 1); }},
    {"gram", kTarget | kA | kB, 5,
     [](Worker& w, I i) { w.target(i) = tanh(matmul(matmul(w.a(i), matrix_transpose(w.b(i))), w.b(i))); }},
    // Index maps.
    {"flip", kTarget | kA, 6, [](Worker& w, I i) { w.target(i) = flip(w.a(i)); }},
    {"roll", kTarget | kA, 6, [](Worker& w, I i) { w.target(i) = roll(w.a(i), Ints{1}, Ints{1}); }},
    {"transpose_fold", kTarget | kA, 6,
     [](Worker& w, I i) { w.target(i) = reshape(matrix_transpose(w.a(i)), Ints(w.a(i).shape())); }},
    {"widen", kTarget | kA, 10, [](Worker& w, I i) { w.target(i) = broadcast_to(w.a(i), Ints{kRows, kColumns}); }},
    {"rotate", kTarget | kA, 6,
     [](Worker& w, I i) {
       w.target(i) = concat({w.a(i)[{ellipsis, Slice{1}}], w.a(i)[{ellipsis, Slice{{}, 1}}]}, 1);
     }},
    {"row", kTarget | kA | kPosition, 6,
     [](Worker& w, I i) {
       const std::int64_t first = row(w.a(i), i);
       w.target(i) = w.a(i)[{Slice{first, first + 1}}];
     }},
    {"gather", kTarget | kA | kPosition, 6,
     [](Worker& w, I i) { w.target(i) = take(w.a(i), positions(w.a(i), i, false), 0); }},
    // Several results.
    {"top_k", kTarget | kSecond | kA, 8,
     [](Worker& w, I i) {
       const auto both = prim::top_k(w.a(i), w.a(i).shape()[1], 1, true);
       w.target(i) = both.values;
       w.registers[i.b] = both.indices;
     }},
    {"modf", kTarget | kSecond | kA, 5,
     [](Worker& w, I i) {
       const auto both = modf(w.a(i));
       w.target(i) = both.fractional;
       w.registers[i.b] = both.integral;
     }},
    {"sort", kTarget | kA, 5, [](Worker& w, I i) { w.target(i) = sort(w.a(i), 1); }},
    // Random numbers, of a generator of the thread's own when there are several threads.
    {"uniform", kTarget | kA, 5,
     [](Worker& w, I i) { w.target(i) = random::uniform_like(w.a(i), 0.0, 1.0, DType::float64, w.generator); }},
    {"normal", kTarget | kA, 5,
     [](Worker& w, I i) { w.target(i) = random::normal_like(w.a(i), 0.0, 1.0, DType::float32, w.generator); }},
    {"integers", kTarget | kA, 4,
     [](Worker& w, I i) { w.target(i) = random::randint_like(w.a(i), -500, 500, DType::int64, w.generator); }},
    {"dropout", kTarget | kA, 5, [](Worker& w, I i) { w.target(i) = nn::dropout(w.a(i), 0.5, true, w.generator); }},
    {"seed", kPosition, 2,
     [](Worker& w, I i) { (w.generator == nullptr ? default_generator() : *w.generator).seed(i.b); }},
    // Made of positions.
    {"positions", kTarget | kA, 5,
     [](Worker& w, I i) { w.target(i) = reshape(numbers(w.a(i), w.a(i).size()), Ints(w.a(i).shape())); }},
    {"lower", kTarget | kA | kPosition, 5, [](Worker& w, I i) { w.target(i) = tril(w.a(i), i.b % 3 - 1); }},
    {"first_columns", kTarget | kA | kPosition, 5,
     [](Worker& w, I i) { w.target(i) = where(numbers(w.a(i), w.a(i).shape()[1]) <= column(w.a(i), i), w.a(i), 0); }},
    {"add_identity", kTarget | kA, 5,
     [](Worker& w, I i) {
       const Tensor& x = w.a(i);
       w.target(i) = x + eye(x.shape()[0], x.shape()[1], 0, DType::float32, x.device());
     }},
    {"one_hot", kTarget | kA, 4, [](Worker& w, I i) { w.target(i) = nn::one_hot(argmax(w.a(i), 1), kColumns); }},
    {"set_row_to_positions", kUpdate | kPosition, 4,
     [](Worker& w, I i) {
       const Tensor& x = w.target(i);
       w.target(i)[{row(x, i)}] = numbers(x, x.shape()[1]);
     }},
    // In place.
    {"in_place_add", kUpdate | kA, 15, [](Worker& w, I i) { w.target(i) += w.a(i); }},
    {"in_place_multiply", kUpdate | kConstant, 10, [](Worker& w, I i) { w.target(i) *= i.constant; }},
    {"set_element", kUpdate | kPosition | kConstant, 10,
     [](Worker& w, I i) { w.target(i)[{row(w.target(i), i), column(w.target(i), i)}] = i.constant; }},
    {"set_row", kUpdate | kA | kPosition, 6, [](Worker& w, I i) { w.target(i)[{row(w.target(i), i)}] = w.a(i)[{0}]; }},
    {"set_mask", kUpdate | kConstant, 6, [](Worker& w, I i) { w.target(i)[{w.target(i) > i.constant}] = 0; }},
    {"set_selected", kUpdate, 5,
     [](Worker& w, I i) {
       const Tensor mask = w.target(i) > 0;
       w.target(i)[{mask}] = w.target(i)[{mask}] * 2;
     }},
    {"set_gathered", kUpdate | kPosition | kConstant, 5,
     [](Worker& w, I i) { w.target(i)[{positions(w.target(i), i, false)}] = i.constant; }},
    {"shift", kUpdate, 6,
     [](Worker& w, I i) { w.target(i)[{ellipsis, Slice{1}}] = w.target(i)[{ellipsis, Slice{{}, -1}}]; }},
    // What fails when it runs.
    {"gather_outside", kTarget | kA | kPosition, 4,
     [](Worker& w, I i) { w.target(i) = take(w.a(i), positions(w.a(i), i, true), 0); }},
    {"set_outside", kUpdate | kPosition | kConstant, 2,
     [](Worker& w, I i) { w.target(i)[{positions(w.target(i), i, true)}] = i.constant; }},
    // A shape that depends on data.
    {"select", kTarget | kA, 4,
     [](Worker& w, I i) { w.target(i) = reshape(sum(w.a(i)[{w.a(i) > 0}]), Ints{1, 1}); }},
    {"distinct", kTarget | kA, 3,
     [](Worker& w, I i) { w.target(i) = reshape(sum(unique_values(w.a(i))), Ints{1, 1}); }},
    {"repeat", kTarget | kA, 3,
     [](Worker& w, I i) {
       const Tensor& x = w.a(i);
       w.target(i) = reshape(sum(repeat(x, reshape(astype(x > 0, DType::int64), {-1}))), Ints{1, 1});
     }},
    // Handles.
    {"drop", kTarget, 12, [](Worker& w, I i) { w.target(i) = Tensor(); }},
    {"copy", kTarget | kA, 12, [](Worker& w, I i) { w.target(i) = w.a(i); }},
    {"publish", kA | kSlot, 12, [](Worker& w, I i) { (*w.mine)[i.b] = w.a(i); }},
    {"import", kTarget | kThread | kSlot, 16,
     [](Worker& w, I i) { w.target(i) = (*w.board)[i.a % w.board->size()][i.b]; }},
    // Evaluation.
    {"step", kEvaluates, 10, [](Worker&, I) { step(); }},
    {"step_every_device", kEvaluates, 8,
     [](Worker&, I) {
       step();
       step(testing::faulty_device());
     }},
    {"step_all_threads", kEvaluates, 5,
     [](Worker&, I) {
       step({}, {.all_threads = true});
       step(testing::faulty_device(), {.all_threads = true});
     }},
    {"step_and_wait", kEvaluates, 4, [](Worker&, I) { step(testing::faulty_device(), {.wait = true}); }},
    {"eval", kA | kEvaluates, 12, [](Worker& w, I i) { eval(w.a(i)); }},
    {"eval_both", kA | kB | kEvaluates, 6, [](Worker& w, I i) { eval(w.a(i), w.b(i)); }},
    {"wait", kEvaluates, 4, [](Worker&, I) { wait(); }},
    {"read", kA, 14, [](Worker& w, I i) { w.seen.push_back(text_of(w.a(i))); }},
    {"clear_cache", 0, 4, [](Worker&, I) { cache::clear(); }},
    {"fault", 0, 3,
     [](Worker& w, I) {
       if (!w.eager) testing::inject(testing::Fault::compile);
     }},
    // Closures.
    {"closure", kA, 6, [](Worker& w, I i) { add_closure(w, i, false, note); }},
    {"closure_async", kA, 6, [](Worker& w, I i) { add_closure(w, i, true, note); }},
    {"closure_computes", kA, 3, [](Worker& w, I i) { add_closure(w, i, false, compute); }},
    {"closure_async_computes", kA, 3, [](Worker& w, I i) { add_closure(w, i, true, compute); }},
    {"closure_adds", kA, 3, [](Worker& w, I i) { add_closure(w, i, false, add_another); }},
    {"closure_steps", kA, 3, [](Worker& w, I i) { add_closure(w, i, false, step_inside); }},
};
static_assert(std::size(kOperations) < 256);

}  // namespace

std::span<const Operation> operations() { return kOperations; }

std::uint8_t operation_named(std::string_view name) {
  for (std::size_t i = 0; i < std::size(kOperations); ++i) {
    if (kOperations[i].name == name) return static_cast<std::uint8_t>(i);
  }
  throw std::invalid_argument("there is no operation '" + std::string(name) + "'");
}

std::string failure_text(const IndexError& error) { return std::string(kFailed) + error.what(); }

std::string text_of(const Tensor& x) {
  if (!x.defined()) return "nothing";
  std::string text;
  despite_fault([&] {
    try {
      const auto* bytes = static_cast<const unsigned char*>(x.data_pointer());
      text = std::string(name(x.dtype()));
      for (const std::int64_t extent : x.shape()) text += " " + std::to_string(extent);
      const std::size_t width = size_of(x.dtype());
      for (std::size_t k = 0; k < width * static_cast<std::size_t>(x.size()); ++k) {
        char digits[3];
        std::snprintf(digits, sizeof(digits), "%02x", bytes[k]);
        text += k % width == 0 ? " " : "";
        text += digits;
      }
    } catch (const IndexError& error) {
      text = failure_text(error);
    }
  });
  return text;
}

void despite_fault(const std::function<void()>& call) {
  while (true) {
    try {
      return call();
    } catch (const BackendError& error) {
      if (std::string_view(error.what()).find("injected fault") == std::string_view::npos) throw;
    }
  }
}

}  // namespace lento::fuzz
