// Interpreting kernels: each value at each point, one call of a reference loop at a time.
#include "backends/reference/interpret_kernel.h"

#include "backends/reference/arithmetic.h"
#include "backends/reference/array.h"
#include "backends/reference/bad_values.h"
#include "backends/reference/created.h"
#include "backends/reference/dispatch.h"
#include "base/dispatch.h"
#include "ir/op_creation.gen.h"
#include "ir/op_reduction.gen.h"
#include "ir/reduction_order.h"
#include "reference/kernels_cast.gen.h"

#include <array>
#include <bit>
#include <cstring>
#include <vector>

namespace lento::reference {

namespace {

using Kind = Instruction::Kind;

/// One element of any dtype.
struct Element {
  alignas(16) std::byte bytes[16] = {};
};

class KernelInterpreter {
 public:
  KernelInterpreter(const Kernel& kernel, const KernelArguments& arguments, StatusWord* words)
      : kernel_(kernel), arguments_(arguments), words_(words), position_(kernel.dims, 0) {
    if (kernel.form == LoopForm::row) reduced_ = kernel.dims - 1U;
    if (kernel.form == LoopForm::column) reduced_ = kernel.dims - 2U;
  }

  void run() {
    const std::span<const std::int64_t> sizes(arguments_.sizes, kernel_.dims);
    std::vector<std::int64_t> outer(sizes.begin(), sizes.end());
    if (kernel_.form != LoopForm::map) outer[reduced_] = 1;
    for_each_position(outer, [&](std::int64_t, const auto& position) {
      for (std::size_t d = 0; d < position_.size(); ++d) position_[d] = position[d];
      known_.assign(kernel_.body.size(), 0);
      reductions_.assign(kernel_.body.size(), {});
      for (std::size_t at = 0; at < kernel_.body.size(); ++at) {
        if (kernel_.body[at].kind == Kind::reduce) reductions_[at] = reduce(kernel_.body[at]);
      }
      store_all();
    });
  }

 private:
  /// A result may lie where an operand lies. What is stored for the whole row is therefore known before anything is
  /// stored, and written last; and all that is stored at one point is known before it is written.
  void store_all() {
    const std::vector<Element> of_row = values_to_store(false);
    const std::int64_t count = kernel_.form == LoopForm::map ? 1 : arguments_.sizes[reduced_];
    for (std::int64_t k = 0; k < count; ++k) {
      if (k != 0) move_to(k);
      write(true, values_to_store(true));
    }
    if (count > 1) move_to(0);
    write(false, of_row);
  }

  bool is_stored(const Instruction& i, bool everywhere) const {
    return i.kind == Kind::store && everywhere == (kernel_.form == LoopForm::map || kernel_.operands[i.index].moves);
  }

  std::vector<Element> values_to_store(bool everywhere) {
    std::vector<Element> values;
    for (const Instruction& i : kernel_.body) {
      if (is_stored(i, everywhere)) values.push_back(evaluate(i.inputs[0]));
    }
    return values;
  }

  void write(bool everywhere, const std::vector<Element>& values) {
    auto value = values.begin();
    for (const Instruction& i : kernel_.body) {
      if (is_stored(i, everywhere)) std::memcpy(address(i.index), (value++)->bytes, size_of(i.dtype));
    }
  }

  void move_to(std::int64_t k) {
    position_[reduced_] = k;
    known_.assign(kernel_.body.size(), 0);
  }

  Element reduce(const Instruction& i) {
    const std::int64_t count = arguments_.sizes[reduced_];
    const auto at = [&](std::int64_t k) {
      move_to(k);
      const Element value = evaluate(i.inputs[0]);
      move_to(0);
      return value;
    };
    Element result;
    dispatch(kernel_.body[i.inputs[0]].dtype, [&]<class T>() {
      const auto load = [&](std::int64_t k) {
        T value;
        std::memcpy(static_cast<void*>(&value), at(k).bytes, sizeof(T));
        return widen(value);
      };
      const auto give = [&](auto value) { std::memcpy(result.bytes, &value, sizeof(value)); };
      if (i.op == op::reduce_any || i.op == op::reduce_all) {
        const bool wanted = i.op == op::reduce_any;
        bool found = false;
        for (std::int64_t k = 0; k < count; ++k) found |= is_nonzero(load(k)) == wanted;
        return give(found == wanted);
      }
      if (i.op == op::arg_max || i.op == op::arg_min) {
        if constexpr (!Complex<T>) {
          std::int64_t best = 0;
          for (std::int64_t k = 1; k < count; ++k) {
            const auto current = load(best);
            const auto candidate = load(k);
            const bool better = i.op == op::arg_max ? candidate > current : candidate < current;
            if (!is_nan(current) && (is_nan(candidate) || better)) best = k;
          }
          give(best);
        }
        return;
      }
      const auto with = [&](auto combine, int empty) {
        give(count == 0 ? static_cast<T>(empty) : static_cast<T>(reduce_in_order(count, load, combine)));
      };
      if (i.op == op::reduce_sum) with(Add{}, 0);
      if (i.op == op::reduce_prod) with(Multiply{}, 1);
      if (i.op == op::reduce_max) with(Maximum{}, 0);
      if (i.op == op::reduce_min) with(Minimum{}, 0);
    });
    return result;
  }

  /// The value of an instruction at the current position.
  Element evaluate(std::size_t at) {
    if (known_[at] == 0) {
      const Element value = evaluate_anew(at);
      if (values_.size() < known_.size()) values_.resize(known_.size());
      values_[at] = value;
      known_[at] = 1;
    }
    return values_[at];
  }

  Element evaluate_anew(std::size_t at) {
    const Instruction& i = kernel_.body[at];
    Element result;
    switch (i.kind) {
      case Kind::load:
        std::memcpy(result.bytes, address(i.index), size_of(i.dtype));
        break;
      case Kind::number:
        std::memcpy(result.bytes, static_cast<const std::byte*>(arguments_.numbers) + 16 * i.index, size_of(i.dtype));
        break;
      case Kind::compute: {
        Element inputs[3];
        const void* pointers[3] = {};
        const std::int64_t strides[3] = {};
        for (unsigned j = 0; j < i.input_count; ++j) {
          inputs[j] = evaluate(i.inputs[j]);
          pointers[j] = inputs[j].bytes;
        }
        const DType dtype = kernel_.body[i.inputs[i.input_count - 1]].dtype;
        find_elementwise(i.op, dtype)(1, result.bytes, pointers, strides);
        break;
      }
      case Kind::cast: {
        Element input = evaluate(i.inputs[0]);
        const Shape one{1};
        astype(Array(result.bytes, i.dtype, one), Array(input.bytes, kernel_.body[i.inputs[0]].dtype, one), {});
        break;
      }
      case Kind::create:
        return create(i);
      case Kind::reduce:
        return reductions_[at];
      case Kind::store:
        break;
    }
    return result;
  }

  Element create(const Instruction& i) {
    const std::int64_t position = std::bit_cast<std::int64_t>(arguments_.addresses[i.index]) + offset(i.index);
    const Element inputs[] = {evaluate(i.inputs[0]), evaluate(i.inputs[1])};
    const DType dtype = kernel_.body[i.inputs[0]].dtype;
    const Scalar numbers[] = {Scalar::read(dtype, inputs[0].bytes), Scalar::read(dtype, inputs[1].bytes)};
    Element result;
    const auto give = [&](auto value) { std::memcpy(result.bytes, &value, sizeof(value)); };
    if (i.op == op::iota) {
      dispatch(i.dtype, [&]<class T>() { give(iota_element<T>(position, numbers[0], numbers[1])); });
      return result;
    }
    const auto at = static_cast<std::uint64_t>(position);
    const auto key = numbers[0].to<std::uint64_t>();
    const auto counter = numbers[1].to<std::uint64_t>();
    if (i.dtype == DType::uint32) {
      give(random_element<std::uint32_t>(at, key, counter));
    } else {
      give(random_element<std::uint64_t>(at, key, counter));
    }
    return result;
  }

  /// Of an operand's element at the current position, in elements.
  std::int64_t offset(std::size_t operand) const {
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < position_.size(); ++d) {
      offset += position_[d] * arguments_.strides[operand * kernel_.dims + d];
    }
    return offset;
  }

  std::byte* address(std::size_t operand) const {
    std::int64_t offset = this->offset(operand);
    if (const std::uint16_t by = kernel_.operands[operand].picked_by; by != kNotPicked) {
      const PickedRows& rows = arguments_.picked[operand];
      std::int64_t position = Scalar::read(kernel_.operands[by].dtype, address(by)).to<std::int64_t>();
      if (words_ != nullptr && (position < -rows.extent || position >= rows.extent)) {
        raise_to(words_[operand], static_cast<StatusWord>(position));
        position = 0;
      }
      offset += (position < 0 ? position + rows.extent : position) * rows.stride;
    }
    const auto bytes = static_cast<std::int64_t>(size_of(kernel_.operands[operand].dtype));
    return static_cast<std::byte*>(arguments_.addresses[operand]) + offset * bytes;
  }

  const Kernel& kernel_;
  const KernelArguments& arguments_;
  StatusWord* const words_;
  std::vector<std::int64_t> position_;
  std::size_t reduced_ = 0;
  std::vector<Element> reductions_;
  std::vector<Element> values_;      // at the current position,
  std::vector<std::uint8_t> known_;  // where they have been computed
};

}  // namespace

void interpret(const Kernel& kernel, const KernelArguments& arguments, StatusWord* words) {
  KernelInterpreter(kernel, arguments, words).run();
}

}  // namespace lento::reference
