// prefetch: the next batches are loaded by a thread while the steps before them run.
//
//     for (auto& [x, y] : prefetch(batches)) step(model, x, y);
#pragma once

#include <lento/eval.h>
#include <lento/export.h>
#include <lento/located.h>
#include <lento/tree.h>

#include <unistd.h>

#include <concepts>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <ranges>
#include <source_location>
#include <stop_token>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace lento {

namespace detail {

/// Throws ValueError unless this is a number of items that prefetch can keep.
LENTO_API void check_prefetch_size(std::size_t size, const std::source_location& site);
/// Throws BackendError: the thread that loads is in the process that this one was forked from.
[[noreturn]] LENTO_API void refuse_prefetch_of_parent(const std::source_location& site);

/// What a tree in an item only recorded belongs to the thread that recorded it, and starts there.
template <class Item>
void start_tensors(const Item& item) {
  if constexpr (tree::Tree<Item>) {
    std::vector<Tensor> pending = tree::leaves(item);
    std::erase_if(pending, [](const Tensor& x) { return !x.defined() || !x.is_pending(); });
    if (!pending.empty()) eval(pending);
  }
}

/// A range as a function that gives its items one by one. The range is first touched by whoever calls.
template <std::ranges::view View>
class Items {
 public:
  explicit Items(View view) : view_(std::move(view)) {}
  std::optional<std::ranges::range_value_t<View>> operator()() {
    if (at_) {
      ++*at_;
    } else {
      at_ = std::ranges::begin(view_);
    }
    if (*at_ == std::ranges::end(view_)) return std::nullopt;
    return std::optional<std::ranges::range_value_t<View>>(std::in_place, **at_);
  }

 private:
  View view_;
  std::optional<std::ranges::iterator_t<View>> at_;
};

/// Whether a part of a tensor is in it as such, as in std::pair{x[0], y[0]}: it could not be assigned.
template <class T>
inline constexpr bool kHoldsParts = std::same_as<T, Subscript>;
template <template <class...> class Group, class... T>
inline constexpr bool kHoldsParts<Group<T...>> = (kHoldsParts<T> || ...);

}  // namespace detail

/// Items that a thread prepares: what prefetch() gives. An input range: each item is seen once, by a loop or by next().
template <class Item>
class Prefetch {
  static_assert(!detail::kHoldsParts<Item>,
                "prefetch: an item has parts of tensors, which x[0] is, in place of tensors; name the type: "
                "std::pair<Tensor, Tensor>{x[0], y[0]}");
  struct Feed;

 public:
  /// What prefetch() calls.
  template <class Source>
  Prefetch(Source source, std::size_t size, const std::source_location& site) : feed_(std::make_unique<Feed>()) {
    feed_->size = size;
    feed_->site = site;
    // The source lives in the thread's function: it ends with the thread, also when nobody asks for its last item.
    feed_->thread = std::jthread([feed = feed_.get(), source = std::move(source)](const std::stop_token& stop) mutable {
      feed->load(stop, source);
    });
  }
  Prefetch(Prefetch&&) noexcept = default;
  Prefetch& operator=(Prefetch&& other) noexcept {
    if (this != &other) close();
    feed_ = std::move(other.feed_);
    return *this;
  }
  /// Ends the thread as close() does.
  ~Prefetch() { close(); }

  /// The next item; nothing after the last one, and after close(). Throws what the source threw, once, where the item
  /// would have been; nothing comes after it.
  std::optional<Item> next() { return feed_ == nullptr ? std::nullopt : feed_->next(); }

  /// Ends the thread, after the item it is at, and waits for that; later there are no items. In a process that was
  /// forked there is no thread to wait for.
  void close() noexcept {
    if (feed_ == nullptr) return;
    if (feed_->process != ::getpid()) {  // after a fork: the thread is the parent's, and may have held the lock
      feed_->thread.detach();
      [[maybe_unused]] const Feed* left = feed_.release();
      return;
    }
    feed_->drop();
    if (feed_->thread.joinable() && feed_->thread.get_id() != std::this_thread::get_id()) feed_->thread.join();
  }

  class Iterator {
   public:
    using iterator_concept = std::input_iterator_tag;
    using value_type = Item;
    using difference_type = std::ptrdiff_t;

    Item& operator*() const { return *feed_->current; }
    Iterator& operator++() {
      if (feed_ != nullptr) feed_->current = feed_->next();
      return *this;
    }
    void operator++(int) { ++*this; }
    bool operator==(std::default_sentinel_t /*end*/) const { return feed_ == nullptr || !feed_->current; }

   private:
    friend class Prefetch;
    explicit Iterator(Feed* feed) : feed_(feed) {}
    Feed* feed_;
  };
  /// Goes on with the next item.
  Iterator begin() { return ++Iterator(feed_.get()); }
  std::default_sentinel_t end() const { return {}; }

 private:
  // What the two sides share.
  struct Feed {
    std::mutex mutex;
    std::condition_variable_any room;   // an item was taken
    std::condition_variable_any ready;  // an item arrived, or no more will
    std::deque<Item> items;
    std::exception_ptr failure;
    bool ended = false;  // no more items come
    std::size_t size = 0;
    std::source_location site;    // of the call of prefetch()
    std::optional<Item> current;  // where a loop is
    pid_t process = ::getpid();   // whose thread it is
    std::jthread thread;          // last: it uses the others

    template <class Source>
    void load(const std::stop_token& stop, Source& source) {
      try {
        while (wait_for_room(stop)) {
          std::optional<Item> item = std::invoke(source);
          if (!item) break;
          detail::start_tensors(*item);
          const std::scoped_lock lock(mutex);
          if (ended) return;
          items.push_back(std::move(*item));
          ready.notify_one();
        }
      } catch (...) {
        const std::scoped_lock lock(mutex);
        if (!ended) failure = std::current_exception();
      }
      const std::scoped_lock lock(mutex);
      ended = true;
      ready.notify_all();
    }

    bool wait_for_room(const std::stop_token& stop) {
      std::unique_lock lock(mutex);
      return room.wait(lock, stop, [this] { return items.size() < size; }) && !stop.stop_requested();
    }

    std::optional<Item> next() {
      if (process != ::getpid()) detail::refuse_prefetch_of_parent(site);
      std::unique_lock lock(mutex);
      ready.wait(lock, [this] { return !items.empty() || ended; });
      if (items.empty()) {
        if (failure) std::rethrow_exception(std::exchange(failure, nullptr));
        return std::nullopt;
      }
      std::optional<Item> item(std::move(items.front()));
      items.pop_front();
      room.notify_one();
      return item;
    }

    void drop() noexcept {
      thread.request_stop();
      std::deque<Item> dropped;  // destroyed without the lock: an item may be anything
      {
        const std::scoped_lock lock(mutex);
        dropped.swap(items);
        failure = nullptr;
        ended = true;
      }
      ready.notify_all();
    }
  };

  std::unique_ptr<Feed> feed_;
};

/// Calls `source`, which gives an optional item, until it gives nothing: in a thread of its own, which keeps up to
/// `size` items ready. Items may be anything; tensors in them (in whatever is a tree) are started by that thread. They
/// come in their order. What the source throws is thrown where the item was asked for. Throws ValueError for a size
/// that is not from 1 to 2^20.
template <class Source>
  requires tree::detail::IsOptional<std::invoke_result_t<std::decay_t<Source>&>>::value
auto prefetch(Source&& source, std::size_t size = 2, std::source_location site = std::source_location::current()) {
  detail::check_function("prefetch", source, site);
  detail::check_prefetch_size(size, site);
  using Item = typename std::invoke_result_t<std::decay_t<Source>&>::value_type;
  return Prefetch<Item>(std::forward<Source>(source), size, site);
}

/// The same for the items of a range, views included. A range that has a name is not copied: it must outlive this.
template <std::ranges::viewable_range Range>
  requires(!std::invocable<std::decay_t<Range>&>) && std::ranges::input_range<Range>
auto prefetch(Range&& range, std::size_t size = 2, std::source_location site = std::source_location::current()) {
  detail::check_prefetch_size(size, site);
  using View = std::views::all_t<Range>;
  return Prefetch<std::ranges::range_value_t<View>>(detail::Items<View>(std::views::all(std::forward<Range>(range))),
                                                    size, site);
}

}  // namespace lento
