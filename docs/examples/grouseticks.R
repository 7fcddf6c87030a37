# Ticks on grouse chicks, by lme4 and by brms. Usage: Rscript docs/examples/grouseticks.R SCRATCH
source(file.path(dirname(sub("^--file=", "", grep("^--file=", commandArgs(FALSE), value = TRUE))), "setup.R"))
f <- TICKS ~ YEAR + scale(HEIGHT) + (1 | LOCATION / BROOD / INDEX)
print(summary(glmer(f, grouseticks, family = poisson)), correlation = FALSE)
m <- fit_brms(f, grouseticks, family = poisson())
figures(m)
