// The N-body simulation of nbody.py in C++: every pair attracts, and the energy stays what it was.
//
//     build/release/examples/nbody [BODIES [STEPS [SEED]]]
#include <lento/lento.h>

#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iomanip>
#include <iostream>
#include <vector>

namespace {

using namespace lento;  // as users of small programs write it

constexpr double kSoftening = 0.05;  // keeps close encounters finite
constexpr DType kDouble = DType::float64;

struct Bodies {
  Tensor position, velocity, mass;
};

/// A ball of bodies that is at rest as a whole and turns slowly.
Bodies cluster(std::int64_t bodies) {
  Tensor direction = random::normal({bodies, 3}, 0.0, 1.0, kDouble);
  direction /= linalg::vector_norm(direction, 1, true);
  const Tensor position = direction * pow(random::uniform({bodies, 1}, 0.0, 1.0, kDouble), 1.0 / 3);
  Tensor velocity = 0.3 * random::normal({bodies, 3}, 0.0, 1.0, kDouble);
  const auto along = [&](int axis) { return position[{Slice{}, axis}]; };
  velocity += 0.5 * stack({-along(1), along(0), 0 * along(2)}, 1);
  return {position, velocity - velocity.mean(0), full({bodies}, 1.0 / static_cast<double>(bodies), kDouble)};
}

struct Pairs {
  Tensor between;  // from each body to each other
  Tensor inverse;  // one over the softened distance
};
Pairs pairs(const Tensor& position) {
  const Tensor between = position[newaxis] - position[{Slice{}, newaxis}];
  return {between, 1 / sqrt((between * between).sum(-1) + kSoftening * kSoftening)};
}

Tensor acceleration(const Tensor& position, const Tensor& mass) {
  const auto [between, inverse] = pairs(position);
  return (between * (pow(inverse, 3) * mass)[{ellipsis, newaxis}]).sum(1);
}

Tensor energy(const Bodies& b) {
  const Tensor inverse = pairs(b.position).inverse;
  // The diagonal, each body with itself, does not count; each pair is there twice.
  const Tensor itself = (b.mass * b.mass).sum() / kSoftening;
  const Tensor attraction = ((b.mass[{Slice{}, newaxis}] * b.mass * inverse).sum() - itself) / 2;
  return 0.5 * (b.mass * (b.velocity * b.velocity).sum(1)).sum() - attraction;
}

void simulate(std::int64_t bodies, int steps, std::uint64_t seed) {
  constexpr double kStep = 2e-3;
  constexpr int kEvery = 50;
  random::seed(seed);
  Bodies b = cluster(bodies);
  Tensor force = acceleration(b.position, b.mass);
  std::vector<double> energies;
  for (int step = 0; step <= steps; ++step) {
    if (step % kEvery == 0) {
      add_step_closure([&](const Tensor& now) { energies.push_back(now.item<double>()); }, {energy(b)}, true);
    }
    // Half a kick, a drift, half a kick.
    b.velocity += kStep / 2 * force;
    b.position += kStep * b.velocity;
    force = acceleration(b.position, b.mass);
    b.velocity += kStep / 2 * force;
    lento::step();
  }
  wait_closures();
  for (std::size_t i = 0; i < energies.size(); ++i) {
    std::cout << "step " << std::setw(4) << kEvery * i << ": energy " << std::fixed << std::setprecision(8)
              << energies[i] << " (" << std::scientific << std::setprecision(1) << std::showpos
              << energies[i] / energies[0] - 1 << ")\n"
              << std::noshowpos;
  }
  std::cout << "momentum " << (b.mass[{Slice{}, newaxis}] * b.velocity).sum(0) << "\n"
            << metrics::counter("plan.miss") << " plans compiled, " << metrics::counter("plan.hit") << " found again\n";
}

}  // namespace

int main(int argc, char** argv) {
  try {
    simulate(argc > 1 ? std::atoi(argv[1]) : 200, argc > 2 ? std::atoi(argv[2]) : 500,
             argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 0);
  } catch (const std::exception& error) {
    std::cerr << "nbody: " << error.what() << "\n";
    return 1;
  }
}
