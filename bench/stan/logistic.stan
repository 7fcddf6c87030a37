data { int N; int K; matrix[N, K] x; int<lower=0, upper=1> y[N]; }
parameters { vector[K] beta; }
model { beta ~ normal(0, 1); y ~ bernoulli_logit(x * beta); }
