#include "ops/basic_index.h"

#include "ir/attrs_creation.gen.h"
#include "ir/attrs_index_map.gen.h"
#include "ir/op_creation.gen.h"
#include "ir/op_index_map.gen.h"
#include "ops/slice_range.h"
#include "tensor/promotion.h"
#include "tensor/record_known.h"
#include "tensor/state.h"

#include <algorithm>
#include <array>
#include <memory>

namespace lento {

namespace {

constexpr std::size_t kMostParts = 8;

/// What the index says about one axis of x, or that there is a new one.
struct Part {
  enum class Kind : std::uint8_t { range, position, new_axis } kind;
  std::int64_t start;
  std::int64_t size;
  std::int64_t step;
};

struct Parts {
  std::array<Part, kMostParts> parts;
  std::size_t count = 0;

  bool add(const Part& part) {
    if (count == kMostParts) return false;
    parts[count++] = part;
    return true;
  }
};

/// False for an index that is an error or too long for here.
bool resolve(const Shape& shape, std::span<const BasicItem> items, Parts& parts) {
  std::size_t used = 0;
  std::size_t ellipses = 0;
  for (const BasicItem& item : items) {
    used += item.kind == BasicItem::Kind::position || item.kind == BasicItem::Kind::slice ? 1 : 0;
    ellipses += item.kind == BasicItem::Kind::ellipsis ? 1 : 0;
  }
  if (ellipses > 1 || used > shape.size()) return false;
  std::size_t axis = 0;
  const auto add_whole = [&](std::size_t count) {
    for (; count > 0; --count) {
      if (!parts.add({Part::Kind::range, 0, shape[axis++], 1})) return false;
    }
    return true;
  };
  for (const BasicItem& item : items) {
    bool good = true;
    switch (item.kind) {
      case BasicItem::Kind::ellipsis:
        good = add_whole(shape.size() - used);
        break;
      case BasicItem::Kind::new_axis:
        good = parts.add({Part::Kind::new_axis, 0, 1, 1});
        break;
      case BasicItem::Kind::position: {
        const std::int64_t extent = shape[axis++];
        const std::int64_t position = item.start;
        if (position < -extent || position >= extent) return false;
        good = parts.add({Part::Kind::position, position < 0 ? position + extent : position, 1, 1});
        break;
      }
      case BasicItem::Kind::slice: {
        if (item.step == 0) return false;
        const SliceRange range = slice_range(item.has_start ? &item.start : nullptr,
                                             item.has_stop ? &item.stop : nullptr, item.step, shape[axis++]);
        good = parts.add({Part::Kind::range, range.start, range.size, range.step});
        break;
      }
    }
    if (!good) return false;
  }
  return add_whole(shape.size() - axis);
}

/// All that records need beside the starts, for one shape of x and one form of the index.
struct Form {
  static constexpr std::size_t kMostWords = 1 + 2 * kMostParts;

  std::array<std::int64_t, kMostWords> key{};  // the shape of x, then two words for each part
  std::size_t words = 0;                       // 0: nothing is known yet
  ShapeId region{};                            // as x, with length 1 where there is an integer
  ShapeId base{};                              // of the result: without those axes, and with new ones
  AttrsId slice{};
  AttrsId update{};
  AttrsId to_base{};
  AttrsId to_region{};
  std::array<std::uint8_t, kMostParts> sliced{};  // the parts that are not whole axes
  std::size_t sliced_count = 0;                   // 0: the region is x

  bool is(std::span<const std::int64_t> other) const {
    return words == other.size() && std::equal(other.begin(), other.end(), key.begin());
  }
};

Form make_form(std::span<const std::int64_t> key, const Shape& shape, const Parts& parts) {
  Form form;
  form.words = key.size();
  std::copy(key.begin(), key.end(), form.key.begin());
  Shape region;
  Shape base;
  StridedSliceAttrs slice{};
  std::size_t axis = 0;
  for (std::size_t i = 0; i < parts.count; ++i) {
    const Part& part = parts.parts[i];
    if (part.kind != Part::Kind::position) base.push_back(part.size);
    if (part.kind == Part::Kind::new_axis) continue;
    // Whether an axis is taken whole must not depend on where a slice of this size starts.
    if (part.size != shape[axis] || part.step != 1) {
      form.sliced[form.sliced_count++] = static_cast<std::uint8_t>(i);
      slice.axes.push_back(static_cast<std::int64_t>(axis));
      slice.sizes.push_back(part.size);
      slice.steps.push_back(part.step);
    }
    region.push_back(part.size);
    ++axis;
  }
  form.region = intern_shape(region);
  form.base = intern_shape(base);
  form.slice = intern(slice);
  form.update = intern(StridedUpdateAttrs{slice.axes, slice.steps});
  form.to_base = intern(ReshapeAttrs{base});
  form.to_region = intern(ReshapeAttrs{region});
  return form;
}

/// The forms that a thread met lately: direct-mapped, so that they never grow.
struct RecentForms {
  static constexpr std::size_t kForms = 64;
  std::array<Form, kForms> forms;
};
// Reached through a pointer: the static TLS that a library loaded at run time may use is too small for the array.
[[gnu::tls_model("initial-exec")]] constinit thread_local RecentForms* recent = nullptr;

RecentForms& make_recent() {
  static thread_local std::unique_ptr<RecentForms> owner;
  owner = std::make_unique<RecentForms>();
  return *(recent = owner.get());
}

const Form& form_of(ShapeId x, const Shape& shape, const Parts& parts) {
  std::array<std::int64_t, Form::kMostWords> words;
  std::size_t count = 0;
  words[count++] = static_cast<std::int64_t>(x);
  std::uint64_t hash = static_cast<std::uint64_t>(x);
  for (std::size_t i = 0; i < parts.count; ++i) {
    const Part& part = parts.parts[i];
    words[count] = part.size * 4 + static_cast<std::int64_t>(part.kind);
    words[count + 1] = part.step;
    hash = (hash + static_cast<std::uint64_t>(words[count]) * 3 + static_cast<std::uint64_t>(part.step)) *
           0x9e3779b97f4a7c15ULL;
    count += 2;
  }
  RecentForms& all = recent == nullptr ? make_recent() : *recent;
  Form& form = all.forms[hash >> 58];
  const std::span<const std::int64_t> key(words.data(), count);
  if (!form.is(key)) form = make_form(key, shape, parts);
  return form;
}

/// The starts of the parts that are sliced.
struct Starts {
  Starts(const Form& form, const Parts& parts) : count(form.sliced_count) {
    for (std::size_t i = 0; i < count; ++i) {
      const Part& part = parts.parts[form.sliced[i]];
      numbers[i] = part.size == 0 ? 0 : part.start;
    }
  }
  std::span<const std::int64_t> all() const { return {numbers.data(), count}; }

  std::array<std::int64_t, kMostParts> numbers;
  std::size_t count;
};

Tensor reshape_known(const Tensor& x, ShapeId shape, AttrsId attrs) {
  TensorState& state = state_of(x);
  if (state.shape == shape) return x;
  TensorState* const operands[] = {&state};
  return record_known({op::reshape, state.dtype, state.device, shape, attrs}, operands, {});
}

/// A number as a tensor of this shape that can be stored in x; undefined when that may be an error.
Tensor filled(const Scalar& number, const TensorState& x, ShapeId shape) {
  const auto kind_rank = [](DType dtype) { return is_complex(dtype) ? 3 : is_floating(dtype) ? 2 : 1; };
  if (is_bool(x.dtype) || number.is_bool() || kind_rank(default_dtype(number)) > kind_rank(x.dtype) ||
      !fits(number, x.dtype)) {
    return {};
  }
  return record_known({op::full, x.dtype, x.device, shape, intern(FullAttrs{shape_of(shape), x.dtype})},
                      {number, x.dtype});
}

}  // namespace

Tensor get_basic(const Tensor& x, std::span<const BasicItem> items) {
  TensorState* state = x.state();
  if (state == nullptr) return {};
  const Shape& shape = shape_of(state->shape);
  Parts parts;
  if (!resolve(shape, items, parts)) return {};
  const Form& form = form_of(state->shape, shape, parts);
  if (form.sliced_count == 0) return reshape_known(x, form.base, form.to_base);
  const Starts starts(form, parts);
  TensorState* const operands[] = {state};
  Tensor region =
      record_known({op::strided_slice, state->dtype, state->device, form.region, form.slice}, operands, starts.all());
  if (!region.defined() || form.base == form.region) return region;
  return reshape_known(region, form.base, form.to_base);
}

Tensor set_basic(const Tensor& x, std::span<const BasicItem> items, const Operand& value) {
  TensorState* state = x.state();
  if (state == nullptr) return {};
  const Shape& shape = shape_of(state->shape);
  Parts parts;
  if (!resolve(shape, items, parts)) return {};
  const Form& form = form_of(state->shape, shape, parts);
  Tensor part;
  if (value.is_tensor()) {
    const TensorState* given = value.tensor().state();
    if (given == nullptr || given->dtype != state->dtype || given->shape != form.base) return {};
    part = reshape_known(value.tensor(), form.region, form.to_region);
  } else {
    part = filled(value.scalar(), *state, form.region);
  }
  if (!part.defined() || form.sliced_count == 0) return part;
  const Starts starts(form, parts);
  TensorState* const operands[] = {state, &state_of(part)};
  return record_known({op::strided_update, state->dtype, state->device, state->shape, form.update}, operands,
                      starts.all());
}

}  // namespace lento
