// Ranks 1 … n with probabilities proportional to rank^−s, in constant time and memory for any n.
//
// The histogram of rank^−s is covered by the integral of x^−s from half a rank before to half a
// rank behind; a point of that area is drawn by inverting the integral, and drawn again when it
// lies above the histogram (W. Hörmann, G. Derflinger: Rejection-inversion to generate variates
// from monotone discrete distributions, 1996). Fewer than one in four draws is repeated.
#pragma once

#include <cstdint>

#include "tests/benchmark/load/random.h"

namespace podcache::bench {

class Zipf {
 public:
  // n at least 1, s above 0.
  Zipf(std::uint64_t n, double s);

  std::uint64_t Next(Random& random) const noexcept;

 private:
  // The integral of x^−s, and its inverse.
  double Integral(double x) const noexcept;
  double InverseIntegral(double area) const noexcept;
  double Height(double x) const noexcept;

  double n_;
  double s_;
  double area_begin_;  // Of the first rank, which is taken without rejecting.
  double area_end_;
  double always_;  // A point this close before its rank is below the histogram without computing.
};

}  // namespace podcache::bench
