#pragma once
// Comparing two sets of results that are known by their mean and standard deviation.

namespace onward {

/// Welch's test that two means are equal, variances unknown and unequal.
struct WelchTest {
  double t;   ///< the statistic; its sign is that of mean1 - mean2
  double df;  ///< degrees of freedom by Welch and Satterthwaite
  double p;   ///< two-sided
};

/// `sd` are sample standard deviations (divisor n - 1); both n must be at least 2.
/// Both sd 0: t is 0 or infinite, df is NaN and p is 1 or 0.
WelchTest welch_t_test(double mean1, double sd1, double n1, double mean2, double sd2, double n2);

/// Kullback-Leibler divergence KL(p || q), in nats, of two normal distributions.
double kl_normal(double mean_p, double sd_p, double mean_q, double sd_q);

}  // namespace onward
