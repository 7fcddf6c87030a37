#pragma once
// Made-up data for the posteriors that are ours, from fixed seeds: the same on every machine.

#include "bench/posteriors/models.hpp"

namespace onward::posteriors {

Data item_response_data();
Data hierarchical_regression_data();
Data gp_regression_data();
Data arma_data();
Data earnings_data();
Data hmm_drives_data();
Data motorcycle_data();
Data negative_binomial_data();

}  // namespace onward::posteriors
