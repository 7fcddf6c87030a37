data { int I; int J; int<lower=0, upper=1> y[J, I]; }
parameters {
  vector[J] theta; vector<lower=0>[I] a; vector[I] b;
  real<lower=0> sigma_a; real mu_b; real<lower=0> sigma_b;
}
model {
  theta ~ normal(0, 1); a ~ lognormal(0, sigma_a); b ~ normal(mu_b, sigma_b);
  mu_b ~ normal(0, 5); sigma_a ~ cauchy(0, 2); sigma_b ~ cauchy(0, 2);
  for (j in 1:J) y[j] ~ bernoulli_logit(a .* (theta[j] - b));
}
