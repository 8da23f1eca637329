// The loop of the tests that try random graphs on a device.
//
// LENTO_FUZZ_FIRST: the first seed. LENTO_FUZZ_SECONDS: for how long, with progress; 0 means until stopped.
// LENTO_FUZZ_GRAPH: a file with the text of a case, to be run instead.
#pragma once

#include "fuzz/watch.h"
#include "ir/graph_case.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>
#include <limits>
#include <sstream>
#include <string>

namespace lento::fuzz {

/// Says where and how the first two results of a case differ; "" when none do.
using Difference = std::function<std::string(const test::GraphCase&)>;

/// A test fails with the smallest case that still shows a difference.
inline void expect_none(const test::GraphCase& graph, const std::string& name, const Difference& difference) {
  const std::string found = difference(graph);
  if (found.empty()) return;
  LastWords::forget();
  const test::GraphCase least = reduce(graph, [&](const test::GraphCase& c) { return !difference(c).empty(); });
  FAIL() << name << ": " << found << "reduced (LENTO_FUZZ_GRAPH=file runs it again): " << difference(least)
         << to_text(least);
}

/// Tries as many cases as this from a first seed on, or what the environment says.
inline void try_random_graphs(std::uint64_t first, std::uint64_t count,
                              const std::function<test::GraphCase(std::uint64_t seed)>& make,
                              const Difference& difference) {
  if (const char* file = std::getenv("LENTO_FUZZ_GRAPH"); file != nullptr) {
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    expect_none(test::parse_case(text.str()), file, difference);
    return;
  }
  const bool looks_further = std::getenv("LENTO_FUZZ_SECONDS") != nullptr;
  if (looks_further) count = std::numeric_limits<std::uint64_t>::max();
  const auto seconds = static_cast<double>(from_environment("LENTO_FUZZ_SECONDS", 0));
  first += from_environment("LENTO_FUZZ_FIRST", 0);
  LastWords last_words;
  Progress progress("graphs");
  for (std::uint64_t done = 0; done < count; ++done) {
    const std::uint64_t seed = first + done;
    last_words.set(seed);
    expect_none(make(seed), "seed " + std::to_string(seed), difference);
    if (::testing::Test::HasFatalFailure()) return;
    if (!looks_further) continue;
    progress.show(seed, done + 1);
    if (seconds > 0 && progress.seconds() > seconds) break;
  }
  if (looks_further) std::cerr << "\nno difference\n";
}

}  // namespace lento::fuzz
