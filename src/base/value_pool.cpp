// Where values come from: slabs that live as long as the process, and a few free ones kept by each thread.
#include "base/fork.h"
#include "base/value.h"

#include <algorithm>

namespace lento {

namespace {

struct ValueStore {
  static constexpr std::size_t kSlab = 256;

  ForkMutex mutex{ForkOrder::values};
  std::vector<std::unique_ptr<Value[]>> slabs;
  std::vector<Value*> free;

  /// Needs the lock.
  Value* take() {
    if (free.empty()) {
      free.reserve(kSlab);
      slabs.push_back(std::make_unique<Value[]>(kSlab));
      for (std::size_t i = kSlab; i-- > 0;) free.push_back(&slabs.back()[i]);
    }
    Value* value = free.back();
    free.pop_back();
    return value;
  }
};

ValueStore& store() { return ProcessLifetime<ValueStore>::get(); }

/// Free values of one thread.
struct ValuePool {
  static constexpr std::size_t kBatch = 64;
  static constexpr std::size_t kMost = 1024;
  std::vector<Value*> free;

  ValuePool() { free.reserve(kMost); }
  ~ValuePool();
  void give_back(std::size_t keep) {
    ValueStore& all = store();
    const std::lock_guard lock(all.mutex);
    all.free.insert(all.free.end(), free.begin() + static_cast<std::ptrdiff_t>(keep), free.end());
    free.resize(keep);
  }
};

constinit thread_local ValuePool* current = nullptr;
constinit thread_local bool ended = false;

ValuePool::~ValuePool() {
  give_back(0);
  current = nullptr;
  ended = true;
}

/// The calling thread's pool; null once the thread is ending.
ValuePool* pool() {
  if (current != nullptr || ended) return current;
  static thread_local std::unique_ptr<ValuePool> owner;
  owner = std::make_unique<ValuePool>();
  return current = owner.get();
}

Value* take() {
  ValuePool* mine = pool();
  if (mine == nullptr || mine->free.empty()) {
    ValueStore& all = store();
    const std::lock_guard lock(all.mutex);
    if (mine == nullptr) return all.take();
    for (std::size_t i = 0; i < ValuePool::kBatch; ++i) mine->free.push_back(all.take());
  }
  Value* value = mine->free.back();
  mine->free.pop_back();
  return value;
}

/// From here on every_value() may find it.
ValueRef publish(Value* value, const ValueInfo& info) {
  value->info = info;
  value->refs.store(1, std::memory_order_release);
  return ValueRef::adopt(value);
}

}  // namespace

ValueRef Value::ready(BufferRef buffer, const ValueInfo& info) {
  Value* value = take();
  value->buffer = std::move(buffer);
  return publish(value, info);
}

ValueRef Value::failed(FailureRef failure, const ValueInfo& info) {
  Value* value = take();
  value->failure = std::move(failure);
  return publish(value, info);
}

ValueRef Value::future(CompletionRef producer, const ValueInfo& info) {
  Value* value = take();
  value->producer = std::move(producer);
  return publish(value, info);
}

void Value::destroy(Value* value) {
  value->producer.reset();
  value->buffer.reset();
  value->failure.reset();
  value->on_host.reset();
  ValuePool* mine = pool();
  if (mine == nullptr) {
    ValueStore& all = store();
    const std::lock_guard lock(all.mutex);
    all.free.push_back(value);
    return;
  }
  if (mine->free.size() == ValuePool::kMost) mine->give_back(ValuePool::kMost / 2);
  mine->free.push_back(value);
}

std::vector<ValueRef> every_value() {
  ValueStore& all = store();
  std::vector<ValueRef> values;
  const std::lock_guard lock(all.mutex);
  for (const auto& slab : all.slabs) {
    for (std::size_t i = 0; i < ValueStore::kSlab; ++i) {
      std::atomic<std::uint32_t>& refs = slab[i].refs;
      std::uint32_t held = refs.load(std::memory_order_relaxed);
      while (held != 0 && !refs.compare_exchange_weak(held, held + 1, std::memory_order_acquire)) {
      }
      if (held != 0) values.push_back(ValueRef::adopt(&slab[i]));
    }
  }
  return values;
}

}  // namespace lento
