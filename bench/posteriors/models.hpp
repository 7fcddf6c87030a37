#pragma once
// Posteriors that models of others have, each a log density over `auto` in a file of its own, with nothing
// tuned for it. The first twelve are of Stan's posteriordb, under the names they have there; they take their
// data as that collection stores them. The others make data of their own (data.hpp).

#include <nlohmann/json.hpp>

#include "onward/target/target.hpp"

namespace onward::posteriors {

using Data = nlohmann::json;

AnyTarget autoregression(const Data& data);             ///< arK: an autoregression of order 5, 200 values
AnyTarget log_earnings(const Data& data);               ///< logearn_height: one predictor of size 60 to 80
AnyTarget eight_schools_noncentered(const Data& data);  ///< effects partly pooled
AnyTarget garch11(const Data& data);                    ///< a variance that follows the series
AnyTarget gp_regression(const Data& data);              ///< gp_regr: a Gaussian process, marginalised
AnyTarget hmm_example(const Data& data);                ///< two hidden states, known noise
AnyTarget lotka_volterra(const Data& data);             ///< predator and prey by a differential equation
AnyTarget kidscore_momhsiq(const Data& data);           ///< a regression on two predictors
AnyTarget low_dim_gauss_mix(const Data& data);          ///< two normals, five parameters
AnyTarget logmesquite(const Data& data);                ///< a regression of logarithms, 46 rows
AnyTarget nes(const Data& data);                        ///< a regression on nine columns, 701 rows
AnyTarget blr(const Data& data);  ///< a regression with a scale of 0.001 beside one of 1

AnyTarget item_response(const Data& data);            ///< answers of 100 people to 20 questions, D = 143
AnyTarget hierarchical_regression(const Data& data);  ///< 50 groups with intercepts and slopes, D = 105
AnyTarget arma(const Data& data);                     ///< errors that remember: unbounded where |theta| > 1
AnyTarget earnings(const Data& data);                 ///< dollars on inches: sigma is 19,000 and starts at 1
AnyTarget hmm_drives(const Data& data);               ///< two hidden states, narrow noise in two series
AnyTarget motorcycle(const Data& data);               ///< a mean and a scale by Gaussian processes, D = 66
AnyTarget negative_binomial(const Data& data);        ///< five rows

AnyTarget smooth_box();      ///< flat from -1 to 1, with steep smooth walls
AnyTarget mixture_widths();  ///< normals of width 1 and 0.01 about one place, half of the mass each

}  // namespace onward::posteriors
