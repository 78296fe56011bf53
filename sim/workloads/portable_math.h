#pragma once

// Transcendental functions that give the same bits on every machine. A libm does not guarantee
// this: exp and log differ in the last place between versions and processors, and one differing bit
// changes every later draw. These functions use only +, -, *, / of IEEE doubles, which are exactly
// specified if the compiler does not contract them (-ffp-contract=off); so are std::sqrt,
// std::floor, std::frexp and std::ldexp, which need no substitute.
//
// Special values follow C's annex F. All are O(1).

namespace recto::sim {

// Natural logarithm; within 1 ulp.
double portable_log(double x);

// log(1 + x), accurate even where 1 + x would round x away; within 3 ulp.
double portable_log1p(double x);

// e^x; within 1 ulp. 0 below about -745, infinity above about 709.
double portable_exp(double x);

// e^x - 1, accurate even where e^x would round x away; within 5 ulp.
double portable_expm1(double x);

// base^exponent = exp(exponent * log(base)) for base >= 0. The error of the product is amplified:
// within 2 + 3 |exponent * log(base)| ulp, which is plenty for drawing random numbers.
double portable_pow(double base, double exponent);

}  // namespace recto::sim
