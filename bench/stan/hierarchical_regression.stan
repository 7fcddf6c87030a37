data { int G; int N; int<lower=1, upper=G> g[N]; vector[N] x; vector[N] y; }
parameters {
  vector[G] z; vector[G] w; real mu_a; real mu_b;
  real<lower=0> tau_a; real<lower=0> tau_b; real<lower=0> sigma;
}
transformed parameters { vector[G] alpha = mu_a + tau_a * z; vector[G] beta = mu_b + tau_b * w; }
model {
  mu_a ~ normal(0, 5); mu_b ~ normal(0, 5);
  tau_a ~ normal(0, 2.5); tau_b ~ normal(0, 2.5); sigma ~ normal(0, 2.5);
  z ~ normal(0, 1); w ~ normal(0, 1);
  y ~ normal(alpha[g] + beta[g] .* x, sigma);
}
