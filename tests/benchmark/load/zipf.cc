#include "tests/benchmark/load/zipf.h"

#include <algorithm>
#include <cmath>

namespace podcache::bench {

namespace {
// (e^x − 1) / x and ln(1 + x) / x, right also around 0.
double ExpRatio(double x) noexcept { return std::abs(x) > 1e-8 ? std::expm1(x) / x : 1 + x / 2; }
double LogRatio(double x) noexcept { return std::abs(x) > 1e-8 ? std::log1p(x) / x : 1 - x / 2; }
}  // namespace

Zipf::Zipf(std::uint64_t n, double s)
    : n_(static_cast<double>(n)),
      s_(s),
      area_begin_(Integral(1.5) - 1),
      area_end_(Integral(n_ + 0.5)),
      always_(2 - InverseIntegral(Integral(2.5) - Height(2))) {}

double Zipf::Height(double x) const noexcept { return std::exp(-s_ * std::log(x)); }

// (x^(1−s) − 1) / (1 − s), which is ln x for s = 1.
double Zipf::Integral(double x) const noexcept {
  const double log_x = std::log(x);
  return ExpRatio((1 - s_) * log_x) * log_x;
}

double Zipf::InverseIntegral(double area) const noexcept {
  // Rounding may bring it below the least that a power can be.
  const double t = std::max(area * (1 - s_), -1.0);
  return std::exp(LogRatio(t) * area);
}

std::uint64_t Zipf::Next(Random& random) const noexcept {
  while (true) {
    const double area = area_end_ + random.Unit() * (area_begin_ - area_end_);
    const double x = InverseIntegral(area);
    const double rank = std::clamp(std::floor(x + 0.5), 1.0, n_);
    if (rank - x <= always_ || area >= Integral(rank + 0.5) - Height(rank))
      return static_cast<std::uint64_t>(rank);
  }
}

}  // namespace podcache::bench
