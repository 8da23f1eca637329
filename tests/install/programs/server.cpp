// A server: threads take requests from a queue and answer with one constant model. Requests that are wrong get an error
// as their answer, all others what they would get alone, bit for bit.
#include "check.h"

#include <lento/lento.h>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <future>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using lento::Tensor;
namespace nn = lento::nn;

constexpr int kClients = 4;
constexpr int kWorkers = 3;
constexpr int kRequests = 50;  // of each client

struct Model : nn::Module {
  nn::Linear hidden{4, 16};
  nn::BatchNorm norm{16};
  nn::Dropout dropout;
  nn::Linear out{16, 3};
  Tensor operator()(const Tensor& x) const { return nn::softmax(out(dropout(nn::relu(norm(hidden(x)))))); }
  LENTO_FIELDS(hidden, norm, dropout, out)
};

struct Request {
  Tensor x;       // (rows, 4)
  Tensor metric;  // (4, 4): what is solved for x before the model gets it
};

struct Reply {
  std::vector<float> scores;
  std::optional<lento::ErrorKind> failure;
  std::string message;

  friend bool operator==(const Reply&, const Reply&) = default;
};

Reply answer(const Model& model, const Request& request) {
  try {
    const Tensor x = lento::linalg::solve(request.metric, request.x.T()).T();
    return {model(x).to_vector<float>(), std::nullopt, ""};
  } catch (const lento::Error& error) {
    return {{}, error.kind(), error.what()};
  }
}

bool has_wrong_shape(int i) { return i % 5 == 3; }
bool is_singular(int i) { return i % 5 == 4; }  // found only while it is computed

Request make_request(int client, int i) {
  lento::Generator generator(static_cast<std::uint64_t>(client * kRequests + i));
  const std::int64_t rows = 1 + i % 3;
  const std::int64_t columns = has_wrong_shape(i) ? 5 : 4;
  return {lento::random::normal({rows, columns}, 0.0, 1.0, {}, {}, &generator),
          is_singular(i) ? lento::ones({4, 4}) : lento::eye(4) * (client + 1) + 0.5};
}

class Queue {
 public:
  struct Job {
    Request request;
    std::promise<Reply> reply;
  };

  std::future<Reply> put(Request request) {
    Job job{std::move(request), {}};
    std::future<Reply> reply = job.reply.get_future();
    {
      const std::scoped_lock lock(mutex_);
      jobs_.push_back(std::move(job));
    }
    changed_.notify_one();
    return reply;
  }
  // The next job; nothing when the queue is closed and empty.
  std::optional<Job> take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !jobs_.empty() || closed_; });
    if (jobs_.empty()) return std::nullopt;
    std::optional<Job> job(std::move(jobs_.front()));
    jobs_.pop_front();
    return job;
  }
  void close() {
    {
      const std::scoped_lock lock(mutex_);
      closed_ = true;
    }
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  bool closed_ = false;
};

std::vector<std::vector<Reply>> serve(const Model& model) {
  std::vector<std::vector<Reply>> replies(kClients);
  Queue queue;
  std::vector<std::jthread> workers;
  for (int w = 0; w < kWorkers; ++w) {
    workers.emplace_back([&] {
      while (std::optional<Queue::Job> job = queue.take()) job->reply.set_value(answer(model, job->request));
    });
  }
  {
    std::vector<std::jthread> clients;
    for (int c = 0; c < kClients; ++c) {
      clients.emplace_back([&queue, &mine = replies[static_cast<std::size_t>(c)], c] {
        std::vector<std::future<Reply>> open;
        for (int i = 0; i < kRequests; ++i) open.push_back(queue.put(make_request(c, i)));
        for (std::future<Reply>& reply : open) mine.push_back(reply.get());
      });
    }
  }
  queue.close();
  return replies;
}

int main() {
  lento::random::seed(1);
  Model made;
  made.norm.running_mean = lento::random::normal({16});
  made.norm.running_var = lento::random::uniform({16}, 0.5, 2.0);
  made.eval();
  const Model& model = made;
  const std::vector<std::vector<Reply>> replies = serve(model);
  for (int c = 0; c < kClients; ++c) {
    for (int i = 0; i < kRequests; ++i) {
      const Reply& reply = replies[static_cast<std::size_t>(c)].at(static_cast<std::size_t>(i));
      CHECK(reply == answer(model, make_request(c, i)));
      if (has_wrong_shape(i)) {
        CHECK(reply.failure == lento::ErrorKind::shape);
      } else if (is_singular(i)) {
        CHECK(reply.failure == lento::ErrorKind::linalg);
      } else {
        CHECK(!reply.failure && reply.scores.size() == 3 * static_cast<std::size_t>(1 + i % 3));
      }
    }
  }
}
