// Matrix products against the reference kernel: every dtype, layout and broadcast, and what is special about elements.
#include "backends/cpu/libraries/matmul.h"
#include "against_reference.h"
#include "backends/cpu/libraries/gemm.h"
#include "backends/cpu/threads.h"
#include "backends/reference/array.h"
#include "backends/reference/dispatch.h"
#include "base/dispatch.h"
#include "reference/kernels_contraction.gen.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <complex>
#include <cstring>
#include <thread>

namespace lento::cpu {
namespace {

/// How the matrices of an operand lie in memory.
enum class Layout { row_major, transposed, padded, padded_transposed, every_second, backwards };
constexpr Layout kLayouts[] = {Layout::row_major,         Layout::transposed,   Layout::padded,
                               Layout::padded_transposed, Layout::every_second, Layout::backwards};

/// An operand's elements in such a layout.
template <class T>
struct Placed {
  std::vector<Cell<T>> storage;
  MatrixStrides strides;  // the batch strides are those of the operand's own batch axes
  std::int64_t first = 0;

  const void* data() const { return storage.data() + first; }
};

template <class T>
Placed<T> place(const std::vector<Cell<T>>& elements, const Shape& shape, Layout layout) {
  const std::size_t own = shape.size() - 2;
  const std::int64_t rows = shape[own];
  const std::int64_t columns = shape[own + 1];
  Placed<T> placed;
  std::int64_t size = rows * columns;
  const auto set = [&](std::int64_t row, std::int64_t column, std::int64_t matrix_size) {
    placed.strides.row = row;
    placed.strides.column = column;
    size = matrix_size;
  };
  switch (layout) {
    case Layout::row_major:
      set(columns, 1, rows * columns);
      break;
    case Layout::transposed:
      set(1, rows, rows * columns);
      break;
    case Layout::padded:
      set(columns + 3, 1, rows * (columns + 3));
      break;
    case Layout::padded_transposed:
      set(1, rows + 5, columns * (rows + 5));
      break;
    case Layout::every_second:
      set(2 * columns, 2, rows * 2 * columns);
      break;
    case Layout::backwards:
      set(-columns, 1, rows * columns);
      placed.first = rows == 0 ? 0 : (rows - 1) * columns;
      break;
  }
  placed.strides.batch.resize(own, 0);
  std::int64_t stride = size;
  for (std::size_t axis = own; axis-- > 0;) {
    placed.strides.batch[axis] = shape[axis] == 1 ? 0 : stride;
    stride *= shape[axis];
  }
  // What is between the elements must not matter.
  if constexpr (std::floating_point<T>) {
    placed.storage.assign(static_cast<std::size_t>(stride) + 1, std::numeric_limits<T>::quiet_NaN());
  } else if constexpr (kIsHalf<T>) {
    placed.storage.assign(static_cast<std::size_t>(stride) + 1, T(std::numeric_limits<double>::quiet_NaN()));
  } else {
    placed.storage.assign(static_cast<std::size_t>(stride) + 1, Cell<T>(1));
  }
  const std::int64_t matrices = rows * columns == 0 ? 0 : static_cast<std::int64_t>(elements.size()) / (rows * columns);
  for (std::int64_t matrix = 0; matrix < matrices; ++matrix) {
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < columns; ++j) {
        const std::int64_t at = placed.first + matrix * size + i * placed.strides.row + j * placed.strides.column;
        placed.storage[static_cast<std::size_t>(at)] =
            elements[static_cast<std::size_t>((matrix * rows + i) * columns + j)];
      }
    }
  }
  return placed;
}

/// The strides over the axes of the result's batch: those of the operand, 0 for axes it lacks.
Ints aligned(const Ints& own, std::size_t rank) {
  Ints strides(rank - own.size(), 0);
  strides.append(own);
  return strides;
}

template <class T>
struct Product {
  std::vector<Cell<T>> result;
  std::vector<Cell<T>> expected;
  Shape shape;
};

template <class T>
Product<T> multiply(const std::vector<Cell<T>>& a, const Shape& a_shape, Layout a_layout, const std::vector<Cell<T>>& b,
                    const Shape& b_shape, Layout b_layout) {
  MatmulProblem problem = MatmulProblem::of(dtype_of<T>(), a_shape, b_shape);
  const Placed<T> placed_a = place<T>(a, a_shape, a_layout);
  const Placed<T> placed_b = place<T>(b, b_shape, b_layout);
  const std::size_t rank = problem.batch.size();
  problem.a = placed_a.strides;
  problem.a.batch = aligned(placed_a.strides.batch, rank);
  problem.b = placed_b.strides;
  problem.b.batch = aligned(placed_b.strides.batch, rank);

  Product<T> product;
  product.shape = problem.batch;
  product.shape.push_back(problem.m);
  product.shape.push_back(problem.n);
  const auto count = static_cast<std::size_t>(element_count(product.shape));
  product.result.assign(count, Cell<T>(1));  // must all be written
  product.expected.assign(count, Cell<T>(0));
  const auto prepared = PreparedMatmul::make(problem);
  EXPECT_NE(prepared, nullptr);
  if (prepared != nullptr) prepared->run(placed_a.data(), placed_b.data(), product.result.data());
  reference::matrix_multiply({product.expected.data(), dtype_of<T>(), product.shape},
                             {const_cast<Cell<T>*>(a.data()), dtype_of<T>(), a_shape},
                             {const_cast<Cell<T>*>(b.data()), dtype_of<T>(), b_shape});
  return product;
}

template <class T>
void expect_like_reference(const Shape& a_shape, Layout a_layout, const Shape& b_shape, Layout b_layout) {
  const auto a = random_elements<T>(element_count(a_shape), 1);
  const auto b = random_elements<T>(element_count(b_shape), 2);
  const Product<T> product = multiply<T>(a, a_shape, a_layout, b, b_shape, b_layout);
  EXPECT_LE(largest_distance(product.result, product.expected), error_bound<T>(a_shape.back()))
      << name(dtype_of<T>()) << " " << testing::PrintToString(std::vector(a_shape.begin(), a_shape.end())) << " "
      << static_cast<int>(a_layout) << " @ " << testing::PrintToString(std::vector(b_shape.begin(), b_shape.end()))
      << " " << static_cast<int>(b_layout);
}

class EveryDType : public testing::TestWithParam<int> {
 protected:
  static DType dtype() { return static_cast<DType>(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Matmul, EveryDType, testing::Range(0, kDTypeCount),
                         [](const auto& info) { return std::string(name(static_cast<DType>(info.param))); });

TEST_P(EveryDType, IsLikeTheReferenceInEveryLayout) {
  dispatch(dtype(), []<class T>() {
    for (const Layout a : kLayouts) {
      for (const Layout b : kLayouts) {
        expect_like_reference<T>({5, 7}, a, {7, 3}, b);
        expect_like_reference<T>({33, 65}, a, {65, 47}, b);
      }
    }
  });
}

TEST_P(EveryDType, IsLikeTheReferenceForTinyAndEmptyMatrices) {
  dispatch(dtype(), []<class T>() {
    for (const std::int64_t m : {0, 1, 2}) {
      for (const std::int64_t n : {0, 1, 3}) {
        for (const std::int64_t k : {0, 1, 5}) {
          for (const Layout layout : kLayouts) {
            expect_like_reference<T>({m, k}, layout, {k, n}, Layout::row_major);
            expect_like_reference<T>({m, k}, Layout::row_major, {k, n}, layout);
          }
        }
      }
    }
  });
}

TEST_P(EveryDType, BroadcastsBatches) {
  dispatch(dtype(), []<class T>() {
    for (const Layout layout : {Layout::row_major, Layout::transposed, Layout::padded}) {
      expect_like_reference<T>({4, 5, 6}, layout, {4, 6, 3}, layout);
      expect_like_reference<T>({4, 5, 6}, layout, {6, 3}, layout);  // folds into rows where it can
      expect_like_reference<T>({5, 6}, layout, {4, 6, 3}, layout);
      expect_like_reference<T>({2, 1, 5, 6}, layout, {3, 6, 4}, layout);
      expect_like_reference<T>({2, 3, 1, 6}, layout, {1, 1, 6, 4}, layout);
      expect_like_reference<T>({3, 1, 2, 5, 6}, layout, {1, 4, 1, 6, 2}, layout);
      expect_like_reference<T>({0, 5, 6}, layout, {1, 6, 3}, layout);
    }
  });
}

TEST_P(EveryDType, IsLikeTheReferenceOverSeveralTiles) {
  dispatch(dtype(), []<class T>() {
    expect_like_reference<T>({140, 33}, Layout::row_major, {33, 270}, Layout::row_major);
    expect_like_reference<T>({140, 41}, Layout::transposed, {41, 270}, Layout::transposed);
    expect_like_reference<T>({1, 400}, Layout::row_major, {400, 3000}, Layout::row_major);
    expect_like_reference<T>({3000, 400}, Layout::row_major, {400, 1}, Layout::row_major);
    expect_like_reference<T>({20, 3, 64}, Layout::row_major, {20, 64, 130}, Layout::transposed);
  });
}

TEST_P(EveryDType, BitsDoNotDependOnTheNumberOfThreads) {
  const int before = get_num_threads();
  dispatch(dtype(), []<class T>() {
    for (const auto& [a_shape, b_shape] :
         {std::pair<Shape, Shape>{{140, 40}, {40, 300}}, {{60, 33, 20}, {60, 20, 31}}}) {
      const auto a = random_elements<T>(element_count(a_shape), 3);
      const auto b = random_elements<T>(element_count(b_shape), 4);
      std::vector<Cell<T>> first;
      for (const int threads : {1, 2, 5}) {
        set_num_threads(threads);
        const auto result = multiply<T>(a, a_shape, Layout::row_major, b, b_shape, Layout::row_major).result;
        if (first.empty()) first = result;
        EXPECT_EQ(std::memcmp(first.data(), result.data(), result.size() * sizeof(T)), 0) << threads;
      }
    }
  });
  set_num_threads(before);
}

TEST(Matmul, BitsDoNotDependOnTheNumberOfThreadsForManyShapes) {
  const int before = get_num_threads();
  const std::pair<Shape, Shape> shapes[] = {
      {{256, 256}, {256, 256}},     {{128, 784}, {784, 512}},    {{784, 128}, {128, 512}}, {{100, 1100}, {1100, 70}},
      {{13, 600}, {600, 33}},       {{2, 3000}, {3000, 40}},     {{1000, 65}, {65, 10}},   {{40, 513}, {513, 1024}},
      {{5, 64, 128}, {5, 128, 96}}, {{40, 70, 50}, {40, 50, 60}}};
  for (const auto& [a_shape, b_shape] : shapes) {
    const auto a = random_elements<float>(element_count(a_shape), 7);
    const auto b = random_elements<float>(element_count(b_shape), 8);
    for (const Layout layout : {Layout::row_major, Layout::transposed}) {
      std::vector<float> first;
      for (const int threads : {1, 2, 3, 16, 64}) {
        set_num_threads(threads);
        const auto result = multiply<float>(a, a_shape, layout, b, b_shape, layout).result;
        if (first.empty()) first = result;
        EXPECT_EQ(std::memcmp(first.data(), result.data(), result.size() * sizeof(float)), 0)
            << testing::PrintToString(std::vector(a_shape.begin(), a_shape.end())) << " on " << threads;
      }
    }
  }
  set_num_threads(before);
}

TEST(Matmul, AProductOfRowsIsTheRowsOfTheProduct) {
  const Shape a_shape{200, 700}, b_shape{700, 300};
  const auto a = random_elements<float>(element_count(a_shape), 9);
  const auto b = random_elements<float>(element_count(b_shape), 10);
  const auto whole = multiply<float>(a, a_shape, Layout::row_major, b, b_shape, Layout::row_major).result;
  for (const std::int64_t first : {0, 7, 100}) {
    const std::vector<float> rows(a.begin() + first * 700, a.begin() + (first + 90) * 700);
    const auto part = multiply<float>(rows, {90, 700}, Layout::row_major, b, b_shape, Layout::transposed).result;
    EXPECT_EQ(std::memcmp(part.data(), whole.data() + first * 300, part.size() * sizeof(float)), 0) << first;
  }
}

TEST_P(EveryDType, OneRunsOnManyThreadsAtOnce) {
  dispatch(dtype(), []<class T>() {
    const Shape a_shape{140, 90}, b_shape{90, 280};
    const auto a = random_elements<T>(element_count(a_shape), 5);
    const auto b = random_elements<T>(element_count(b_shape), 6);
    const auto prepared = PreparedMatmul::make(MatmulProblem::of(dtype_of<T>(), a_shape, b_shape));
    std::vector<std::vector<Cell<T>>> results(4, std::vector<Cell<T>>(140 * 280));
    std::vector<std::thread> threads;
    for (auto& result : results) {
      threads.emplace_back([&] {
        for (int round = 0; round < 5; ++round) prepared->run(a.data(), b.data(), result.data());
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const auto& result : results)
      EXPECT_EQ(std::memcmp(result.data(), results[0].data(), result.size() * sizeof(T)), 0);
  });
}

class Floats : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(Matmul, Floats,
                         testing::Values(DType::float16, DType::bfloat16, DType::float32, DType::float64),
                         [](const auto& info) { return std::string(name(info.param)); });

TEST_P(Floats, NanAndInfinityReachExactlyTheElementsTheyBelongTo) {
  dispatch(GetParam(), []<class T>() {
    if constexpr (std::floating_point<T> || kIsHalf<T>) {
      for (const std::int64_t size : {3, 17, 33, 70, 140}) {
        for (const Layout layout : kLayouts) {
          const Shape shape{size, size};
          std::vector<T> a(static_cast<std::size_t>(size * size), T(1.0));
          std::vector<T> b(a.size(), T(0.0));
          const auto at = [&](std::int64_t i, std::int64_t j) { return static_cast<std::size_t>(i * size + j); };
          a[at(1, size - 1)] = T(std::numeric_limits<double>::quiet_NaN());
          a[at(2, 0)] = T(-std::numeric_limits<double>::infinity());
          b[at(0, 1)] = T(2.0);
          // Row 1 has a nan everywhere; row 2 has -inf * 2 in column 1 and -inf * 0 = nan elsewhere.
          const auto result = multiply<T>(a, shape, layout, b, shape, layout).result;
          int wrong = 0;
          for (std::int64_t i = 0; i < size; ++i) {
            for (std::int64_t j = 0; j < size; ++j) {
              const auto value = static_cast<double>(static_cast<float>(result[at(i, j)]));
              const bool nan = i == 1 || (i == 2 && j != 1);
              const double finite = i == 2 ? -std::numeric_limits<double>::infinity() : j == 1 ? 2.0 : 0.0;
              if (nan ? !std::isnan(value) : value != finite) ++wrong;
            }
          }
          EXPECT_EQ(wrong, 0) << size << " in layout " << static_cast<int>(layout);
        }
      }
    }
  });
}

TEST(Matmul, SubnormalsAreNumbers) {
  const auto check = []<class T>(T tiny, T large, T product) {
    for (const std::int64_t size : {4, 64, 130}) {
      const Shape shape{size, size};
      std::vector<T> a(static_cast<std::size_t>(size * size), T(0.0));
      std::vector<T> b = a;
      a[0] = tiny;
      b[0] = large;
      const auto result = multiply<T>(a, shape, Layout::row_major, b, shape, Layout::row_major).result;
      EXPECT_EQ(static_cast<double>(static_cast<float>(result[0])), static_cast<double>(static_cast<float>(product)));
    }
  };
  check.operator()<float>(0x1p-140F, 0x1p100F, 0x1p-40F);
  check.operator()<double>(0x1p-1040, 0x1p1000, 0x1p-40);
  check.operator()<float16>(float16(0x1p-20), float16(0x1p10), float16(0x1p-10));
}

/// One page that ends where nothing may be read.
class LastPage {
 public:
  LastPage() : size_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))) {
    start_ = mmap(nullptr, 2 * size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start_ == MAP_FAILED || mprotect(end(), size_, PROT_NONE) != 0) throw std::bad_alloc();
  }
  LastPage(const LastPage&) = delete;
  LastPage& operator=(const LastPage&) = delete;
  ~LastPage() { munmap(start_, 2 * size_); }

  std::byte* end() const { return static_cast<std::byte*>(start_) + size_; }

 private:
  std::size_t size_;
  void* start_;
};

TEST(Matmul, ReadsNothingBehindAStridedVector) {
  using T = std::complex<double>;
  const LastPage page;
  for (std::int64_t n = 1; n < 6; ++n) {
    const std::int64_t stride = 7;
    T* const vector = reinterpret_cast<T*>(page.end()) - ((n - 1) * stride + 1);
    for (std::int64_t i = 0; i < n; ++i) vector[i * stride] = T(1, static_cast<double>(i));
    const std::vector<T> matrix(static_cast<std::size_t>(3 * n), T(2, 0));
    for (const bool transposed : {false, true}) {
      std::vector<T> result(3);
      gemm(DType::complex128, 3, 1, n, {matrix.data(), transposed ? 3 : n, transposed}, {vector, stride, false},
           result.data(), 1, false);
      const auto count = static_cast<double>(n);
      EXPECT_EQ(result, std::vector<T>(3, T(2 * count, count * (count - 1)))) << n;
    }
  }
}

}  // namespace
}  // namespace lento::cpu
