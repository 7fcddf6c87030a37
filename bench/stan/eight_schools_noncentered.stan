data { int J; real y[J]; real sigma[J]; }
parameters { vector[J] z; real mu; real<lower=0> tau; }
transformed parameters { vector[J] theta = mu + tau * z; }
model {
  mu ~ normal(0, 5); tau ~ cauchy(0, 5); z ~ normal(0, 1);
  y ~ normal(theta, sigma);
}
