// Bodies that attract each other, moved by leapfrog steps: energy and momentum change no more than the method says, and
// a plain loop of C++ comes to the same places.
#include "check.h"

#include <lento/lento.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

using lento::Tensor;
using Numbers = std::vector<double>;

constexpr std::size_t kBodies = 8;
constexpr double kSoftening = 0.1;  // the square of a length, which keeps forces finite
constexpr double kTime = 1.5;
constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

struct Bodies {
  Tensor position, velocity;  // (bodies, 3)
};

struct System {
  Tensor mass;   // (bodies,)
  Tensor pairs;  // (bodies, bodies): the product of two masses, 0 for a body and itself

  Tensor potential(const Tensor& position) const {
    const Tensor apart = lento::expand_dims(position, 1) - position;
    return -0.5 * lento::sum(pairs / lento::sqrt(lento::square(apart).sum(2) + kSoftening));
  }
  Tensor force(const Tensor& position) const {
    return -lento::grad([this](const Tensor& x) { return potential(x); })(position);
  }
  Tensor energy(const Bodies& b) const {
    return 0.5 * lento::sum(mass * lento::square(b.velocity).sum(1)) + potential(b.position);
  }
  // Leapfrog with step h conserves energy + h * h * correction up to the fourth power of h (Hairer, Lubich, Wanner:
  // Geometric Numerical Integration, chapter IX).
  Tensor correction(const Bodies& b) const {
    const auto [now, change] = lento::jvp([this](const Tensor& x) { return force(x); }, b.position, b.velocity);
    return -lento::sum(b.velocity * change) / 12 - lento::sum(lento::square(now).sum(1) / mass) / 24;
  }
  void step(Bodies& b, double h) const {
    const Tensor weight = lento::expand_dims(mass, 1);
    b.velocity += h / 2 * force(b.position) / weight;
    b.position += h * b.velocity;
    b.velocity += h / 2 * force(b.position) / weight;
  }
};

double furthest(const Numbers& a, const Numbers& b) {
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(a[i] - b[i]));
  return most;
}

// What is seen before each step, and at the end.
struct Path {
  Bodies end;
  Numbers energy, correction, corrected, momentum, speed;

  static double change(const Numbers& seen) { return furthest(seen, Numbers(seen.size(), seen[0])); }
};

Path travel(const System& system, Bodies bodies, int steps) {
  const double h = kTime / steps;
  Path path;
  const Tensor momentum = lento::matmul(system.mass, bodies.velocity);
  const auto see = [&](const Tensor& energy, const Tensor& correction, const Tensor& drift, const Tensor& speed) {
    path.energy.push_back(energy.item<double>());
    path.correction.push_back(correction.item<double>());
    path.corrected.push_back(path.energy.back() + h * h * path.correction.back());
    path.momentum.push_back(drift.item<double>());
    path.speed.push_back(speed.item<double>());
  };
  for (int i = 0; i <= steps; ++i) {
    const Tensor drift = lento::abs(lento::matmul(system.mass, bodies.velocity) - momentum).max();
    const Tensor speed = lento::abs(bodies.velocity).max();
    lento::add_step_closure(see, {system.energy(bodies), system.correction(bodies), drift, speed}, true);
    if (i < steps) system.step(bodies, h);
    lento::step();
  }
  lento::wait_closures();
  CHECK(path.energy.size() == static_cast<std::size_t>(steps) + 1);
  path.end = bodies;
  return path;
}

// The positions at the end, by plain C++ with the force written out.
Numbers plain(const Numbers& mass, Numbers at, Numbers v, int steps) {
  const double h = kTime / steps;
  const auto push = [&] {
    for (std::size_t i = 0; i < kBodies; ++i) {
      for (std::size_t j = 0; j < kBodies; ++j) {
        std::array<double, 3> d{};
        for (std::size_t k = 0; k < 3; ++k) d[k] = at[3 * j + k] - at[3 * i + k];
        const double square = d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + kSoftening;
        for (std::size_t k = 0; k < 3; ++k) v[3 * i + k] += h / 2 * mass[j] * d[k] / (square * std::sqrt(square));
      }
    }
  };
  for (int s = 0; s < steps; ++s) {
    push();
    for (std::size_t i = 0; i < at.size(); ++i) at[i] += h * v[i];
    push();
  }
  return at;
}

// How far the end moves at most when each number of the start changes a little, as a multiple of that change.
double growth(const Numbers& mass, Numbers at, Numbers v, int steps) {
  constexpr double kChange = 1e-7;
  const Numbers end = plain(mass, at, v, steps);
  double sum = 0;
  for (Numbers* numbers : {&at, &v}) {
    for (double& number : *numbers) {
      const double before = number;
      number += kChange;
      sum += furthest(plain(mass, at, v, steps), end) / kChange;
      number = before;
    }
  }
  return sum;
}

int main() {
  constexpr int kSteps = 150;
  constexpr auto kDouble = lento::DType::float64;
  lento::random::seed(3);
  const Tensor mass = lento::random::uniform({kBodies}, 0.5, 1.5, kDouble);
  const System system{mass, lento::outer(mass, mass) * (1 - lento::eye(kBodies))};
  const Bodies start{lento::random::uniform({kBodies, 3}, -1.0, 1.0, kDouble),
                     lento::random::normal({kBodies, 3}, 0.0, 0.5, kDouble)};
  const Path path = travel(system, start, kSteps);
  const Path fine = travel(system, start, 2 * kSteps);
  CHECK(lento::metrics::counter("plan.miss") <= 4);  // the first step, the last and those between, of any length

  // With half the step a quarter of the energy's change is left, and a sixteenth of that of the corrected energy.
  const double h = kTime / kSteps;
  CHECK(Path::change(path.energy) < 1.02 * h * h * Path::change(path.correction));
  CHECK(std::abs(Path::change(path.energy) / Path::change(fine.energy) - 4) < 0.2);
  CHECK(std::abs(Path::change(path.corrected) / Path::change(fine.corrected) - 16) < 2);

  // Forces cancel in pairs, so the momentum changes by rounding alone: two pushes a step round the momentum of each
  // body, whose mass is less than 1.5.
  const double speed = *std::max_element(path.speed.begin(), path.speed.end());
  CHECK(Path::change(path.momentum) < 2 * kSteps * kBodies * 1.5 * speed * kEpsilon);

  // The loops add in different orders. Two pushes of eight terms each round a number less than 32 times in a step, and
  // from there on a difference grows as one of the start does. No position is larger than the largest speed.
  const Numbers masses = mass.to_vector<double>();
  const Numbers at = start.position.to_vector<double>();
  const Numbers v = start.velocity.to_vector<double>();
  const Numbers expected = plain(masses, at, v, kSteps);
  CHECK(furthest(expected, Numbers(expected.size())) < speed);
  const double error = furthest(path.end.position.to_vector<double>(), expected);
  CHECK(error < kSteps * 32 * speed * kEpsilon * growth(masses, at, v, kSteps));
}
