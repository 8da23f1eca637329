// The small GPT of char_gpt.py in C++: the same text, the same network, the same losses to the bit.
//
//     build/release/examples/char_gpt [STEPS [LENGTH [WRITE [SEED [LOSSES.npy [PAGES]]]]]]
#include "progress.h"

#include <lento/lento.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace nn = lento::nn;
namespace optim = lento::optim;
using lento::ellipsis;
using lento::newaxis;
using lento::Slice;
using lento::Tensor;

#ifndef LENTO_EXAMPLES_DOCS  // compiled by hand: to be run in examples/, or with the path of a folder of .md files
#define LENTO_EXAMPLES_DOCS "../docs"
#endif

namespace {

/// The sentences of all pages, in ASCII: no code, no headings, no tables.
std::string prose(const std::filesystem::path& folder) {
  std::set<std::filesystem::path> pages;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".md") pages.insert(entry.path());
  }
  std::string text;
  for (const std::filesystem::path& page : pages) {
    std::ifstream file(page);
    bool in_code = false;
    for (std::string line; std::getline(file, line);) {
      const bool fence = line.starts_with("```");
      in_code ^= fence;
      if (in_code || fence || line.starts_with('|') || line.starts_with('#') || line.starts_with('<')) continue;
      std::ranges::copy_if(line + "\n", std::back_inserter(text),
                           [](char c) { return static_cast<signed char>(c) >= 0; });
    }
  }
  return text;
}

/// A text as tokens, and back.
struct Text {
  std::string characters;
  Tensor tokens;

  explicit Text(const std::string& text) {
    const std::set<char> all(text.begin(), text.end());
    characters.assign(all.begin(), all.end());
    std::vector<std::int64_t> numbers;
    for (const char c : text) numbers.push_back(static_cast<std::int64_t>(characters.find(c)));
    tokens = lento::tensor(numbers);
  }
};

struct GPT : nn::Module {
  std::int64_t length;
  nn::Embedding token, position;
  std::vector<nn::TransformerEncoderLayer> blocks;
  nn::LayerNorm norm;
  nn::Linear head;

  GPT(std::int64_t characters, std::int64_t seen, std::int64_t size, std::int64_t heads, int layers)
      : length(seen),
        token(characters, size),
        position(seen, size),
        blocks(make_blocks(size, heads, layers)),
        norm(size),
        head(size, characters, {.bias = false}) {
    // Small first guesses, so that the loss begins at log(characters).
    token.weight *= 0.1;
    position.weight *= 0.1;
  }

  Tensor operator()(const Tensor& tokens) const {
    Tensor x = token(tokens) + position.weight;
    for (const auto& block : blocks) x = block(x, {.is_causal = true});
    return head(norm(x));
  }
  LENTO_FIELDS(token, position, blocks, norm, head)

 private:
  static std::vector<nn::TransformerEncoderLayer> make_blocks(std::int64_t size, std::int64_t heads, int layers) {
    std::vector<nn::TransformerEncoderLayer> made;
    for (int i = 0; i < layers; ++i) {
      made.emplace_back(size, heads,
                        nn::TransformerEncoderLayer::Options{
                            .dim_feedforward = 4 * size, .dropout = 0.0, .activation = "gelu", .norm_first = true});
    }
    return made;
  }
};

/// Of guessing each character from those before it; tokens are (batch, length + 1).
Tensor loss_of(const GPT& model, const Tensor& tokens) {
  const Tensor guesses = model(tokens[{Slice{}, Slice{{}, -1}}]);
  return nn::cross_entropy(guesses.reshape({-1, guesses.shape().back()}), tokens[{Slice{}, Slice{1}}].flatten());
}

/// So many new characters after the beginning of the text, shown as they come.
void write(const GPT& model, const Text& text, int count, double temperature = 0.7) {
  Tensor tokens = text.tokens[Slice{0, model.length}].reshape({1, -1});
  for (int i = 0; i < count; ++i) {
    const Tensor token = lento::random::categorical(model(tokens)[{Slice{}, -1}] / temperature);
    tokens = lento::concat({tokens[{Slice{}, Slice{1}}], token[{Slice{}, newaxis}]}, 1);
    const auto print = [&](const Tensor& written) {
      std::putchar(text.characters[written.item<std::size_t>()]);
      std::fflush(stdout);
    };
    lento::add_step_closure(print, {token}, true);
    lento::step();
  }
  lento::wait_closures();
  std::printf("\n");
}

void run(int steps, std::int64_t length, int count, std::uint64_t seed, const std::string& losses,
         const std::filesystem::path& pages) {
  constexpr std::int64_t kBatch = 16, kSize = 96, kHeads = 4;
  constexpr int kLayers = 2;
  lento::random::seed(seed);
  const Text text(prose(pages));
  GPT model(static_cast<std::int64_t>(text.characters.size()), length, kSize, kHeads, kLayers);
  const optim::Schedule rate = optim::warmup(optim::cosine(3e-3, steps, 1e-4), std::min(20, steps));
  optim::AdamW optimizer(model, {.lr = rate, .betas = {0.9, 0.99}, .weight_decay = 0.1});
  const Tensor window = lento::arange(length + 1);

  const auto train_step = [&] {
    const Tensor starts = lento::random::randint({kBatch, 1}, 0, text.tokens.size() - length);
    const auto [loss, gradients] = lento::value_and_grad(loss_of)(model, text.tokens[starts + window]);
    const auto [clipped, norm] = optim::clip_grad_norm(gradients, 1.0);
    optimizer.step(model, clipped);
    return loss;
  };

  Progress progress("gpt", steps);
  for (int step = 0; step < steps; ++step) {
    progress.after_step(train_step());
    lento::step();
  }
  progress.finish();
  if (!losses.empty()) lento::save(losses, lento::tensor(progress.losses()));
  write(model, text, count);
}

}  // namespace

int main(int argc, char** argv) {
  const auto number = [&](int i, int otherwise) { return argc > i ? std::atoi(argv[i]) : otherwise; };
  try {
    run(number(1, 1500), number(2, 64), number(3, 400), static_cast<std::uint64_t>(number(4, 0)),
        argc > 5 ? argv[5] : "", argc > 6 ? argv[6] : LENTO_EXAMPLES_DOCS);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "char_gpt: %s\n", error.what());
    return 1;
  }
}
