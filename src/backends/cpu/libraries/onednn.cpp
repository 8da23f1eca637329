#include "backends/cpu/libraries/onednn.h"

#include "backends/cpu/arena.h"
#include "backends/cpu/libraries/library_calls.h"
#include "backends/cpu/libraries/transpose.h"
#include "backends/cpu/processors.h"
#include "base/address_space.h"
#include "base/counters.h"
#include "base/fail.h"
#include "base/fork.h"

#include <oneapi/dnnl/dnnl.hpp>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <list>
#include <map>
#include <mutex>
#include <new>
#include <optional>
#include <string_view>
#include <vector>

namespace lento::cpu {

namespace {

using Key = std::vector<std::int64_t>;

/// The least recently used primitive goes when there are more than this.
constexpr std::size_t kMostPrimitives = 1024;

class PrimitiveCache {
 public:
  /// What is kept under `key`, or else what `make` returns, which is kept unless null. Two threads may make the same
  /// one; the first is kept.
  template <class T, class Make>
  std::shared_ptr<const T> get(const Key& key, Make make) {
    if (std::shared_ptr<const void> found = find(key)) return std::static_pointer_cast<const T>(found);
    std::shared_ptr<const T> made = make();
    if (made == nullptr) return nullptr;
    count(made_);
    return std::static_pointer_cast<const T>(keep(key, made));
  }

  std::size_t size() {
    const std::lock_guard lock(mutex_);
    return entries_.size();
  }

  static PrimitiveCache& instance() { return ProcessLifetime<PrimitiveCache>::get(); }

 private:
  struct Entry {
    std::shared_ptr<const void> primitive;
    std::list<const Key*>::iterator age;
  };

  std::shared_ptr<const void> find(const Key& key) {
    const std::lock_guard lock(mutex_);
    const auto it = entries_.find(key);
    if (it == entries_.end()) return nullptr;
    ages_.splice(ages_.end(), ages_, it->second.age);
    return it->second.primitive;
  }

  std::shared_ptr<const void> keep(const Key& key, std::shared_ptr<const void> primitive) {
    std::shared_ptr<const void> dropped;  // destroyed without the lock
    const std::lock_guard lock(mutex_);
    const auto [it, is_new] = entries_.try_emplace(key, Entry{std::move(primitive), {}});
    if (is_new) {
      it->second.age = ages_.insert(ages_.end(), &it->first);
      if (entries_.size() > kMostPrimitives) {
        const auto oldest = entries_.find(*ages_.front());
        ages_.pop_front();
        dropped = std::move(oldest->second.primitive);
        entries_.erase(oldest);
      }
    }
    return it->second.primitive;
  }

  const CounterId made_ = counter_id("kernel.primitive");
  ForkMutex mutex_{ForkOrder::memory};
  std::map<Key, Entry> entries_;
  std::list<const Key*> ages_;  // the one used longest ago first
};

struct Library {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};  // on the CPU it has no state: all threads share it

  Library() {
    dnnl::set_primitive_cache_capacity(0);  // ours keeps them
    // A first primitive, by one thread, makes what oneDNN keeps in static variables.
    const dnnl::memory::desc matrix({1, 1}, dnnl::memory::data_type::f32, dnnl::memory::dims{1, 1});
    const dnnl::matmul::primitive_desc desc({matrix, matrix, matrix}, engine);
    const dnnl::matmul first(desc);
    wait_for_calls_at_exit();
  }
};

Library& library() {
  static auto* one = new Library;  // lives as long as the process
  return *one;
}

dnnl::engine& engine() { return library().engine; }
dnnl::stream& stream() { return library().stream; }

dnnl::memory::dims dims_of(const Ints& list) { return {list.begin(), list.end()}; }

dnnl::memory::data_type type_of(DType dtype) {
  return dtype == DType::bfloat16 ? dnnl::memory::data_type::bf16 : dnnl::memory::data_type::f32;
}

dnnl::memory::desc describe(const OperandLayout& operand) {
  return {dims_of(operand.dims), type_of(operand.dtype), dims_of(operand.strides)};
}

/// The same operand, in the order oneDNN likes best.
dnnl::memory::desc any_order(const OperandLayout& operand) {
  return {dims_of(operand.dims), type_of(operand.dtype), dnnl::memory::format_tag::any};
}

void append(Key& key, const Ints& list) {
  key.push_back(static_cast<std::int64_t>(list.size()));
  key.insert(key.end(), list.begin(), list.end());
}
void append(Key& key, const OperandLayout& operand) {
  key.push_back(static_cast<std::int64_t>(operand.dtype));
  append(key, operand.dims);
  append(key, operand.strides);
}

/// The attributes of all primitives: their scratch memory is ours, since the library's belongs to one thread.
dnnl::primitive_attr attributes() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

/// oneDNN's own plain loops are no faster than the reference backend's, and less exact.
bool is_plain_loop(const char* implementation) { return std::string_view(implementation).starts_with("ref"); }

dnnl::memory memory_at(const dnnl::memory::desc& desc, const void* data) {
  return {desc, engine(), const_cast<void*>(data)};
}

struct Argument {
  int number;
  dnnl::memory memory;
};

/// By the C interface: the other one takes a map, which costs as much as a small reorder.
void execute(const dnnl::primitive& primitive, std::initializer_list<Argument> arguments,
             const dnnl::memory::desc& scratch_desc) {
  const Scratch scratch(scratch_desc.get_size());
  const dnnl::memory at_scratch = memory_at(scratch_desc, scratch.data());
  std::array<dnnl_exec_arg_t, 4> list{};
  std::size_t count = 0;
  for (const Argument& argument : arguments) list.at(count++) = {argument.number, argument.memory.get()};
  list.at(count++) = {DNNL_ARG_SCRATCHPAD, at_scratch.get()};
  const dnnl_status_t status =
      dnnl_primitive_execute(primitive.get(), stream().get(), static_cast<int>(count), list.data());
  if (status == dnnl_out_of_memory) throw std::bad_alloc();
  dnnl::error::wrap_c_api(status, "oneDNN could not run a primitive");
}

class Matmul final : public MatmulPrimitive {
 public:
  Matmul(const OperandLayout& a, const OperandLayout& b, const OperandLayout& c)
      : desc_({describe(a), describe(b), describe(c)}, attributes(), engine()), primitive_(desc_) {}

  bool is_fast() const { return !is_plain_loop(desc_.impl_info_str()); }

  void run(const void* a, const void* b, void* c) const override {
    const OneThread one;
    execute(primitive_,
            {{DNNL_ARG_SRC, memory_at(desc_.src_desc(), a)},
             {DNNL_ARG_WEIGHTS, memory_at(desc_.weights_desc(), b)},
             {DNNL_ARG_DST, memory_at(desc_.dst_desc(), c)}},
            desc_.scratchpad_desc());
  }

 private:
  dnnl::matmul::primitive_desc desc_;
  dnnl::matmul primitive_;
};

/// True when both we and oneDNN, which may be told otherwise, use AVX-512.
bool has_wide_kernels() {
  constexpr auto kWide = static_cast<unsigned>(dnnl::cpu_isa::avx512_core);
  return has_wide_vectors() && (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & kWide) == kWide;
}

/// (N, C, *S) with the channels last, where they are whole vectors; nothing elsewhere.
std::optional<dnnl::memory::desc> channels_last(const OperandLayout& operand) {
  using Tag = dnnl::memory::format_tag;
  constexpr Tag kTags[] = {Tag::acb, Tag::acdb, Tag::acdeb};
  const std::size_t axes = operand.dims.size() - 2;
  if (!has_wide_kernels() || operand.dims[1] % 16 != 0 || axes < 1 || axes > std::size(kTags)) return std::nullopt;
  return dnnl::memory::desc{dims_of(operand.dims), type_of(operand.dtype), kTags[axes - 1]};
}

/// Images (N, C, *S), each of them contiguous, between this order and channels last.
struct Images {
  std::int64_t count;
  std::int64_t channels;
  std::int64_t pixels;
  std::int64_t stride;  // from one to the next

  explicit Images(const OperandLayout& layout)
      : count(layout.dims[0]), channels(layout.dims[1]), pixels(layout.strides[1]), stride(layout.strides[0]) {}

  void to_channels_last(const float* from, float* to) const {
    for (std::int64_t i = 0; i < count; ++i)
      transpose_matrix(from + i * stride, to + i * channels * pixels, channels, pixels);
  }
  void from_channels_last(const float* from, float* to) const {
    for (std::int64_t i = 0; i < count; ++i)
      transpose_matrix(from + i * channels * pixels, to + i * stride, pixels, channels);
  }
};

/// An operand between the order it has in memory and the one it is computed in.
class Reordered {
 public:
  Reordered(const OperandLayout& layout, const dnnl::memory::desc& computed, bool is_result)
      : own_(describe(layout)), computed_(computed), is_result_(is_result) {
    if (own_ == computed_) return;
    // oneDNN takes four times as long for this one.
    if (channels_last(layout) == computed_) {
      images_.emplace(layout);
      return;
    }
    desc_.emplace(engine(), is_result ? computed_ : own_, engine(), is_result ? own_ : computed_, attributes());
    reorder_.emplace(*desc_);
  }

  bool needed() const { return reorder_.has_value() || images_.has_value(); }
  const dnnl::memory::desc& computed() const { return computed_; }
  std::size_t computed_bytes() const { return needed() ? computed_.get_size() : 0; }

  /// From memory into the order computed in, or back for a result.
  void run(const void* from, void* to) const {
    if (images_) {
      const auto move = is_result_ ? &Images::from_channels_last : &Images::to_channels_last;
      return ((*images_).*move)(static_cast<const float*>(from), static_cast<float*>(to));
    }
    execute(*reorder_,
            {{DNNL_ARG_FROM, memory_at(is_result_ ? computed_ : own_, from)},
             {DNNL_ARG_TO, memory_at(is_result_ ? own_ : computed_, to)}},
            desc_->scratchpad_desc());
  }

 private:
  dnnl::memory::desc own_;
  dnnl::memory::desc computed_;
  bool is_result_;
  std::optional<Images> images_;
  std::optional<dnnl::reorder::primitive_desc> desc_;
  std::optional<dnnl::reorder> reorder_;
};

/// Gradients of weights one pixel wide take a third longer channels last, and so do those of windows with gaps and a
/// stride.
bool channels_last_pays(const ConvolutionLayout& layout) {
  const bool in_groups = layout.weight.dims.size() > layout.x.dims.size();
  if (layout.in_place || in_groups) return false;
  const bool has_gaps = std::ranges::any_of(layout.dilation, [](std::int64_t apart) { return apart > 1; });
  return layout.kind != ConvolutionKind::weight_grad || (!has_gaps && layout.weight.dims.span().back() > 1);
}

/// What differs between the three directions.
struct Direction {
  dnnl::primitive primitive;
  dnnl::memory::desc x, weight, y, scratch;
  bool is_fast;
};

Direction make_direction(const ConvolutionLayout& layout) {
  const auto desc = [&](const OperandLayout& operand) {
    return layout.in_place ? describe(operand) : any_order(operand);
  };
  dnnl::memory::desc x = desc(layout.x), y = desc(layout.y);
  const dnnl::memory::desc weight = desc(layout.weight);
  // Left to itself oneDNN computes in blocks of channels, in which gradients of weights take up to a fifth longer.
  if (channels_last_pays(layout)) {
    const std::optional<dnnl::memory::desc> last_x = channels_last(layout.x), last_y = channels_last(layout.y);
    if (last_x && last_y) {
      x = *last_x;
      y = *last_y;
    }
  }
  const dnnl::memory::dims stride = dims_of(layout.stride);
  const dnnl::memory::dims low = dims_of(layout.padding_low), high = dims_of(layout.padding_high);
  dnnl::memory::dims gaps = dims_of(layout.dilation);
  for (dnnl::memory::dim& gap : gaps) gap -= 1;  // oneDNN counts the elements left out
  const auto direct = dnnl::algorithm::convolution_direct;
  // The backward directions want to see the forward one they belong to.
  const auto forward_kind =
      layout.kind == ConvolutionKind::forward ? dnnl::prop_kind::forward_inference : dnnl::prop_kind::forward_training;
  const dnnl::convolution_forward::primitive_desc forward({forward_kind, direct, x, weight, y, stride, gaps, low, high},
                                                          attributes(), engine());
  if (layout.kind == ConvolutionKind::forward) {
    return {dnnl::convolution_forward(forward),
            forward.src_desc(),
            forward.weights_desc(),
            forward.dst_desc(),
            forward.scratchpad_desc(),
            !is_plain_loop(forward.impl_info_str())};
  }
  if (layout.kind == ConvolutionKind::input_grad) {
    const dnnl::convolution_backward_data::primitive_desc pd({direct, x, weight, y, stride, gaps, low, high},
                                                             attributes(), engine(), forward);
    return {dnnl::convolution_backward_data(pd),
            pd.diff_src_desc(),
            pd.weights_desc(),
            pd.diff_dst_desc(),
            pd.scratchpad_desc(),
            !is_plain_loop(pd.impl_info_str())};
  }
  const dnnl::convolution_backward_weights::primitive_desc pd({direct, x, weight, y, stride, gaps, low, high},
                                                              attributes(), engine(), forward);
  return {dnnl::convolution_backward_weights(pd),
          pd.src_desc(),
          pd.diff_weights_desc(),
          pd.diff_dst_desc(),
          pd.scratchpad_desc(),
          !is_plain_loop(pd.impl_info_str())};
}

class Convolution final : public ConvolutionPrimitive {
 public:
  explicit Convolution(const ConvolutionLayout& layout)
      : kind_(layout.kind),
        direction_(make_direction(layout)),
        x_(layout.x, direction_.x, kind_ == ConvolutionKind::input_grad),
        weight_(layout.weight, direction_.weight, kind_ == ConvolutionKind::weight_grad),
        y_(layout.y, direction_.y, kind_ == ConvolutionKind::forward) {}

  bool is_fast() const { return direction_.is_fast; }

  std::size_t prepared_weight_bytes() const override {
    return kind_ == ConvolutionKind::weight_grad ? 0 : weight_.computed_bytes();
  }
  void prepare_weight(const void* weight, void* prepared) const override {
    const OneThread one;
    weight_.run(weight, prepared);
  }

  void run(void* x, void* weight, void* y) const override {
    const OneThread one;
    const Scratch own_x(x_.computed_bytes());
    const Scratch own_y(y_.computed_bytes());
    const Scratch own_weight(kind_ == ConvolutionKind::weight_grad ? weight_.computed_bytes() : 0);
    if (x_.needed() && kind_ != ConvolutionKind::input_grad) x_.run(x, own_x.data());
    if (y_.needed() && kind_ != ConvolutionKind::forward) y_.run(y, own_y.data());
    const dnnl::memory at_x = memory_at(x_.computed(), x_.needed() ? own_x.data() : x);
    const dnnl::memory at_y = memory_at(y_.computed(), y_.needed() ? own_y.data() : y);
    const bool weight_moves = weight_.needed() && kind_ == ConvolutionKind::weight_grad;
    const dnnl::memory at_weight = memory_at(weight_.computed(), weight_moves ? own_weight.data() : weight);
    switch (kind_) {
      case ConvolutionKind::forward:
        execute(direction_.primitive, {{DNNL_ARG_SRC, at_x}, {DNNL_ARG_WEIGHTS, at_weight}, {DNNL_ARG_DST, at_y}},
                direction_.scratch);
        if (y_.needed()) y_.run(own_y.data(), y);
        return;
      case ConvolutionKind::input_grad:
        execute(direction_.primitive,
                {{DNNL_ARG_DIFF_DST, at_y}, {DNNL_ARG_WEIGHTS, at_weight}, {DNNL_ARG_DIFF_SRC, at_x}},
                direction_.scratch);
        if (x_.needed()) x_.run(own_x.data(), x);
        return;
      case ConvolutionKind::weight_grad:
        execute(direction_.primitive,
                {{DNNL_ARG_DIFF_DST, at_y}, {DNNL_ARG_SRC, at_x}, {DNNL_ARG_DIFF_WEIGHTS, at_weight}},
                direction_.scratch);
        if (weight_moves) weight_.run(own_weight.data(), weight);
        return;
    }
  }

 private:
  ConvolutionKind kind_;
  Direction direction_;
  Reordered x_;
  Reordered weight_;
  Reordered y_;
};

constexpr std::size_t kRoomForCode = std::size_t{32} << 20;

/// Null when oneDNN refuses, or has only plain loops.
template <class T, class... Args>
std::shared_ptr<const T> make_fast(const Args&... args) {
  // oneDNN does not look whether there was memory for the code it generates.
  require_address_space(kRoomForCode);
  try {
    const OneThread one;
    auto made = std::make_shared<const T>(args...);
    return made->is_fast() ? made : nullptr;
  } catch (const dnnl::error& error) {
    if (error.status == dnnl_out_of_memory) fail<MemoryError>("oneDNN has no memory for a primitive");
    return nullptr;
  }
}

}  // namespace

bool has_bfloat16_products() {
  static const bool has = [] {
    const dnnl::cpu_isa isa = dnnl::get_effective_cpu_isa();
    return isa == dnnl::cpu_isa::avx512_core_bf16 || isa == dnnl::cpu_isa::avx512_core_amx;
  }();
  return has;
}

std::shared_ptr<const MatmulPrimitive> MatmulPrimitive::get(const OperandLayout& a, const OperandLayout& b,
                                                            const OperandLayout& c) {
  Key key{-1};
  for (const OperandLayout* operand : {&a, &b, &c}) append(key, *operand);
  return PrimitiveCache::instance().get<MatmulPrimitive>(key, [&] { return make_fast<Matmul>(a, b, c); });
}

std::shared_ptr<const ConvolutionPrimitive> ConvolutionPrimitive::get(const ConvolutionLayout& layout) {
  Key key{static_cast<std::int64_t>(layout.kind), layout.in_place ? 1 : 0};
  for (const OperandLayout* operand : {&layout.x, &layout.weight, &layout.y}) append(key, *operand);
  for (const Ints* list : {&layout.stride, &layout.padding_low, &layout.padding_high, &layout.dilation})
    append(key, *list);
  return PrimitiveCache::instance().get<ConvolutionPrimitive>(key, [&] { return make_fast<Convolution>(layout); });
}

std::size_t cached_primitives() { return PrimitiveCache::instance().size(); }

}  // namespace lento::cpu
