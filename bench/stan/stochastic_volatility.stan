data { int T; vector[T] y; }
parameters { real mu; real<lower=-1, upper=1> phi; real<lower=0> sigma; vector[T] z; }
transformed parameters {
  vector[T] h = sigma * z;
  h[1] /= sqrt(1 - phi * phi);
  for (t in 2:T) h[t] += phi * h[t - 1];
  h += mu;
}
model {
  mu ~ normal(0, 5); (phi + 1) / 2 ~ beta(20, 1.5); sigma ~ normal(0, 1); z ~ normal(0, 1);
  y ~ normal(0, exp(h / 2));
}
