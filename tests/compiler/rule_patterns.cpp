#include "compiler/rule_patterns.h"

#include <lento/half.h>

#include "base/dispatch.h"
#include "ir/attrs_cast.gen.h"
#include "ir/attrs_index_map.gen.h"
#include "ir/attrs_reduction.gen.h"
#include "ir/op_cast.gen.h"
#include "ir/op_elementwise.gen.h"
#include "ir/op_index_map.gen.h"
#include "ir/op_reduction.gen.h"

#include <bit>
#include <complex>
#include <cstring>
#include <limits>
#include <type_traits>

namespace lento::test {

namespace {

using Maker = GraphMaker;

const Shape kShape{2, 1, 16};

template <Op outer, Op inner = outer>
OperandRef twice(Maker& m, DType d) {
  return m.node(outer, {m.node(inner, {m.input(d, kShape)})});
}

template <Op op>
OperandRef same(Maker& m, DType d) {
  const OperandRef x = m.input(d, kShape);
  return m.node(op, {x, x});
}

template <Op op>
OperandRef not_of(Maker& m, DType d) {
  return m.node(op::logical_not, {m.node(op, {m.input(d, kShape), m.input(d, kShape)})});
}

template <Op op>
OperandRef of_one(Maker& m, DType d) {
  return m.node(op, {m.input(d, kShape)}, intern(ReduceSumAttrs{{1}, false}));
}

template <Op op, bool keepdims>
OperandRef reduced_twice(Maker& m, DType d) {
  const OperandRef first = m.node(op, {m.input(d, {2, 3, 1, 16})}, intern(ReduceSumAttrs{{1}, keepdims}));
  return m.node(op, {first}, intern(ReduceSumAttrs{{keepdims ? 3 : 2}, keepdims}));
}

OperandRef reshape(Maker& m, OperandRef x, const Shape& shape) {
  return m.node(op::reshape, {x}, intern(ReshapeAttrs{shape}));
}
OperandRef permute(Maker& m, OperandRef x, const Ints& axes) {
  return m.node(op::permute_dims, {x}, intern(PermuteDimsAttrs{axes}));
}
OperandRef broadcast(Maker& m, OperandRef x, const Shape& shape) {
  return m.node(op::broadcast_to, {x}, intern(BroadcastToAttrs{shape}));
}
OperandRef astype(Maker& m, OperandRef x, DType d) { return m.node(op::astype, {x}, intern(AstypeAttrs{d})); }
OperandRef bitcast(Maker& m, OperandRef x, DType d) { return m.node(op::bitcast, {x}, intern(BitcastAttrs{d})); }

constexpr DTypeSet kUnsigned =
    dtype_bit(DType::uint8) | dtype_bit(DType::uint16) | dtype_bit(DType::uint32) | dtype_bit(DType::uint64);

constexpr RulePattern kPatterns[] = {
    {"reshape(x) to its own shape = x", [](Maker& m, DType d) { return reshape(m, m.input(d, kShape), kShape); }},
    {"reshape(reshape(x)) = reshape(x)",
     [](Maker& m, DType d) { return reshape(m, reshape(m, m.input(d, kShape), {32}), {4, 8}); }},
    {"reshape(f(reduce(x))) = f(reduce(x, keepdims))",
     [](Maker& m, DType d) {
       const OperandRef sum = m.node(op::reduce_sum, {m.input(d, {2, 16, 3})}, intern(ReduceSumAttrs{{1}, false}));
       return reshape(m, sum, {2, 1, 3});
     }},
    {"reshape(f(reduce(x))) = f(reduce(x, keepdims))",
     [](Maker& m, DType d) {
       const OperandRef sum = m.node(op::reduce_max, {m.input(d, kShape)}, intern(ReduceMaxAttrs{{2}, false}));
       const OperandRef shifted = m.node(op::add, {sum, m.number(1, d)});
       const OperandRef mean = m.node(op::multiply, {m.number(3, d), shifted});
       return reshape(m, astype(m, mean, DType::float32), {2, 1, 1});
     }},
    {"permute_dims(permute_dims(x)) = permute_dims(x)",
     [](Maker& m, DType d) { return permute(m, permute(m, m.input(d, {2, 3, 4}), {1, 2, 0}), {0, 2, 1}); }},
    {"permute_dims(x) of axes of length 1 = reshape(x)",
     [](Maker& m, DType d) { return permute(m, m.input(d, kShape), {1, 0, 2}); }},
    {"broadcast_to(x) to its own shape = x",
     [](Maker& m, DType d) { return broadcast(m, m.input(d, kShape), kShape); }},
    {"broadcast_to(broadcast_to(x)) = broadcast_to(x)",
     [](Maker& m, DType d) { return broadcast(m, broadcast(m, m.input(d, {2, 1, 3}), {2, 4, 3}), {5, 2, 4, 3}); }},
    {"strided_slice(x) of no axes = x",
     [](Maker& m, DType d) { return m.node(op::strided_slice, {m.input(d, kShape)}, intern(StridedSliceAttrs{})); }},
    {"pad_constant(x) by nothing = x",
     [](Maker& m, DType d) {
       return m.node(op::pad_constant, {m.input(d, kShape), m.number(1, d)},
                     intern(PadConstantAttrs{{0, 0, 0}, {0, 0, 0}}));
     }},
    {"concatenate([x]) = x",
     [](Maker& m, DType d) { return m.node(op::concatenate, {m.input(d, kShape)}, intern(ConcatenateAttrs{0})); }},
    {"f(broadcast_to(x), y) = f(x, y)",
     [](Maker& m, DType d) {
       const OperandRef row = broadcast(m, m.input(d, {16}), kShape);
       return m.node(op::equal, {row, m.input(d, kShape)});
     }},
    {"astype(x) to its own dtype = x", [](Maker& m, DType d) { return astype(m, m.input(d, kShape), d); }},
    {"astype(astype(x)) = astype(x), the inner one exact",
     [](Maker& m, DType d) { return astype(m, astype(m, m.input(d, kShape), DType::complex128), DType::bool_); },
     dtype_bit(DType::int64) | dtype_bit(DType::uint64) | dtype_bit(DType::complex128)},
    {"bitcast(x) to its own dtype = x", [](Maker& m, DType d) { return bitcast(m, m.input(d, kShape), d); }},
    {"bitcast(bitcast(x)) = bitcast(x), the inner one not bool",
     [](Maker& m, DType d) { return bitcast(m, bitcast(m, m.input(d, kShape), DType::uint32), DType::int32); },
     dtype_bit(DType::uint32)},
    {"negative(negative(x)) = x", twice<op::negative>},
    {"bitwise_invert(bitwise_invert(x)) = x", twice<op::bitwise_invert>},
    {"conj(conj(x)) = x", twice<op::conj>},
    {"abs(abs(x)) = abs(x)", twice<op::abs>, kComplex},
    {"abs(negative(x)) = abs(x)", twice<op::abs, op::negative>, kComplex | kUnsigned},
    {"sign(sign(x)) = sign(x)", twice<op::sign>, kComplex},
    {"floor(x) of a whole x = x", twice<op::floor, op::round>},
    {"ceil(x) of a whole x = x", twice<op::ceil, op::floor>},
    {"trunc(x) of a whole x = x", twice<op::trunc, op::ceil>},
    {"round(x) of a whole x = x", twice<op::round, op::trunc>},
    {"maximum(x, x) = x", same<op::maximum>},
    {"minimum(x, x) = x", same<op::minimum>},
    {"bitwise_and(x, x) = x", same<op::bitwise_and>},
    {"bitwise_or(x, x) = x", same<op::bitwise_or>},
    {"logical_not(logical_not(x)) = x", twice<op::logical_not>, kAny & ~kBool},
    {"logical_not(a == b) = a != b, and so on", not_of<op::equal>},
    {"logical_not(a == b) = a != b, and so on", not_of<op::not_equal>},
    {"logical_not(a == b) = a != b, and so on", not_of<op::less>, kFloating},
    {"logical_not(a == b) = a != b, and so on", not_of<op::less_equal>, kFloating},
    {"logical_not(a == b) = a != b, and so on", not_of<op::greater>, kFloating},
    {"logical_not(a == b) = a != b, and so on", not_of<op::greater_equal>, kFloating},
    {"where(logical_not(c), a, b) = where(c, b, a)",
     [](Maker& m, DType d) {
       const OperandRef condition = m.node(op::logical_not, {m.input(DType::bool_, kShape)});
       return m.node(op::where, {condition, m.input(d, kShape), m.input(d, kShape)});
     }},
    {"reduce_sum(x) of one element = reshape(x)", of_one<op::reduce_sum>},
    {"reduce_prod(x) of one element = reshape(x)", of_one<op::reduce_prod>},
    {"reduce_max(x) of one element = reshape(x)", of_one<op::reduce_max>},
    {"reduce_min(x) of one element = reshape(x)", of_one<op::reduce_min>},
    {"reduce_any(x) of one element = reshape(x)", of_one<op::reduce_any>, kAny & ~kBool},
    {"reduce_all(x) of one element = reshape(x)", of_one<op::reduce_all>, kAny & ~kBool},
    {"reduce_max(reduce_max(x)) = reduce_max(x)", reduced_twice<op::reduce_max, false>, kFloating},
    {"reduce_max(reduce_max(x)) = reduce_max(x)", reduced_twice<op::reduce_max, true>, kFloating},
    {"reduce_min(reduce_min(x)) = reduce_min(x)", reduced_twice<op::reduce_min, false>, kFloating},
    {"reduce_min(reduce_min(x)) = reduce_min(x)", reduced_twice<op::reduce_min, true>, kFloating},
    {"reduce_any(reduce_any(x)) = reduce_any(x)", reduced_twice<op::reduce_any, false>},
    {"reduce_all(reduce_all(x)) = reduce_all(x)", reduced_twice<op::reduce_all, true>},
};

template <class T>
std::vector<T> hard_numbers() {
  using Limits = std::numeric_limits<T>;
  if constexpr (std::is_same_v<T, bool>) {
    return {false, true, true};
  } else if constexpr (std::is_integral_v<T>) {
    return {T{0},
            T{1},
            static_cast<T>(-1),
            Limits::min(),
            Limits::max(),
            T{2},
            static_cast<T>(-2),
            T{77},
            static_cast<T>(Limits::min() + 1),
            static_cast<T>(Limits::max() / 2 + 1)};
  } else {
    // From the bits, so that no arithmetic changes a nan.
    using Bits = std::conditional_t<sizeof(T) == 2, std::uint16_t,
                                    std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>;
    constexpr int kFraction = std::is_same_v<T, float16>    ? 10
                              : std::is_same_v<T, bfloat16> ? 7
                              : sizeof(T) == 4              ? 23
                                                            : 52;
    constexpr Bits kSign = static_cast<Bits>(Bits{1} << (sizeof(T) * 8 - 1));
    constexpr Bits kInfinity = static_cast<Bits>((kSign - 1) & ~((Bits{1} << kFraction) - 1));
    constexpr Bits kQuiet = static_cast<Bits>(Bits{1} << (kFraction - 1));
    std::vector<T> numbers;
    for (const double number : {0.0, 1.0, 0.5, 1.5, 2.5, 3.0, 100.25, 1e-3, 65000.0, 4097.0}) {
      numbers.push_back(static_cast<T>(static_cast<float>(number)));
    }
    for (const Bits bits : {Bits{1}, kQuiet, static_cast<Bits>(kInfinity - 1), kInfinity,
                            static_cast<Bits>(kInfinity | kQuiet), static_cast<Bits>(kInfinity | kQuiet | 5)}) {
      numbers.push_back(std::bit_cast<T>(bits));
    }
    const std::size_t positive = numbers.size();
    for (std::size_t i = 0; i < positive; ++i) {
      numbers.push_back(std::bit_cast<T>(static_cast<Bits>(std::bit_cast<Bits>(numbers[i]) | kSign)));
    }
    return numbers;
  }
}

}  // namespace

std::span<const RulePattern> rule_patterns() { return kPatterns; }

std::vector<std::byte> special_values(DType dtype, std::size_t count, std::size_t first) {
  std::vector<std::byte> bytes(count * size_of(dtype));
  dispatch(real_type(dtype), [&]<class T>() {
    if constexpr (!std::is_same_v<T, std::complex<float>> && !std::is_same_v<T, std::complex<double>>) {
      const std::vector<T> numbers = hard_numbers<T>();
      // The parts of complex numbers go through the list at different speeds, to meet in many pairs.
      const std::size_t parts = is_complex(dtype) ? 2 : 1;
      for (std::size_t i = 0; i < count * parts; ++i) {
        const std::size_t at = parts == 1 ? first + i : first + (i % 2 == 0 ? i / 2 : i * 5 / 2);
        const T number = numbers[at % numbers.size()];
        std::memcpy(bytes.data() + i * sizeof(T), &number, sizeof(T));
      }
    }
  });
  return bytes;
}

std::vector<std::vector<std::byte>> special_inputs(const Graph& graph) {
  std::vector<std::vector<std::byte>> inputs;
  for (const GraphInput& input : graph.inputs) {
    const auto count = static_cast<std::size_t>(element_count(shape_of(input.shape)));
    inputs.push_back(special_values(input.dtype, count, inputs.size() * 7));
  }
  return inputs;
}

}  // namespace lento::test
