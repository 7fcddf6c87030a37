# Makes data/chains.csv and data/posterior.csv: chains of many kinds, and what R's posterior package says of them.
# Run by hand in this folder, when a case is added:  Rscript make_reference.R   (Debian: r-cran-posterior)
suppressMessages(library(posterior))
set.seed(20240607)

ar1 <- function(n, rho, sd = 1) {
  x <- numeric(n)
  x[1] <- rnorm(1)
  for (t in 2:n) x[t] <- rho * x[t - 1] + sqrt(1 - rho^2) * rnorm(1)
  sd * x
}
chains <- function(count, f) sapply(seq_len(count), f) # one column a chain

cases <- list(
  iid = chains(4, function(c) rnorm(250)),
  ar_0.9 = chains(4, function(c) ar1(400, 0.9)),
  ar_0.99 = chains(3, function(c) ar1(500, 0.99)),
  antithetic = chains(4, function(c) ar1(250, -0.5)),
  stuck = chains(4, function(c) if (c == 3) rep(0.25, 200) else rnorm(200)),
  shifted = chains(4, function(c) rnorm(200) + 0.5 * c),
  scaled = chains(4, function(c) rnorm(200) * c), # equal means: only the folded R-hat sees it
  cauchy_odd = chains(4, function(c) rcauchy(301)),
  ties = chains(4, function(c) round(ar1(250, 0.6, 2))),
  offset = chains(2, function(c) 1e6 + ar1(300, 0.5)),
  one_chain = chains(1, function(c) ar1(401, 0.3))
)

lines <- unlist(lapply(names(cases), function(name)
  apply(cases[[name]], 2, function(x) paste(c(name, sprintf("%.9g", x)), collapse = ","))))
writeLines(lines, "data/chains.csv")

reference <- do.call(rbind, lapply(names(cases), function(name) {
  # What is stored is what is judged.
  x <- do.call(cbind, lapply(strsplit(lines[startsWith(lines, paste0(name, ","))], ","),
                             function(fields) as.numeric(fields[-1])))
  q <- quantile2(x, c(0.05, 0.5, 0.95))
  data.frame(case = name, mean = mean(x), sd = sd(x), q5 = q[[1]], q50 = q[[2]], q95 = q[[3]],
             mcse_mean = mcse_mean(x), ess_mean = ess_mean(x), ess_bulk = ess_bulk(x), ess_tail = ess_tail(x),
             rhat = rhat(x))
}))
reference[-1] <- lapply(reference[-1], function(x) sprintf("%.12g", x))
write.csv(reference, "data/posterior.csv", row.names = FALSE, quote = FALSE)
