# Breaks of yarn by wool and tension, by R's glm, MASS and brms. Usage: Rscript docs/examples/warpbreaks.R SCRATCH
source(file.path(dirname(sub("^--file=", "", grep("^--file=", commandArgs(FALSE), value = TRUE))), "setup.R"))
print(summary(glm(breaks ~ wool * tension, warpbreaks, family = poisson)))
print(summary(MASS::glm.nb(breaks ~ wool * tension, warpbreaks)))
m1 <- fit_brms(breaks ~ wool * tension, warpbreaks, family = poisson())
figures(m1)
m2 <- fit_brms(breaks ~ wool * tension, warpbreaks, family = negbinomial())
figures(m2)
print(loo_compare(loo(m1), loo(m2)))
