# The peer of bench/insteval.cpp: writes lme4's InstEval as CSV to the file that is its argument, fits the same model
# and prints estimates (REML) by the names that onward gives, and the seconds that the fit took.
file <- commandArgs(trailingOnly = TRUE)[1]
answer <- function(text) { cat(text, "\n", sep = ""); quit(save = "no") }
if (!suppressWarnings(suppressPackageStartupMessages(require(lme4, quietly = TRUE))))
  answer('{"missing": "r-cran-lme4 is not installed"}')
data(InstEval, package = "lme4")
write.csv(InstEval[, c("y", "s", "d", "service", "dept")], file, row.names = FALSE, quote = FALSE)
seconds <- system.time(fit <- lmer(y ~ service + (1 | s) + (1 | d) + (1 | dept:service), InstEval))[["elapsed"]]
sds <- as.data.frame(VarCorr(fit))
names <- ifelse(sds$grp == "Residual", "sigma", paste0("sd(", sds$grp, ")Intercept"))
estimates <- c(setNames(fixef(fit), c("(Intercept)", "service")), setNames(sds$sdcor, names))
fields <- paste0('"', names(estimates), '": ', format(estimates, digits = 10, trim = TRUE), collapse = ", ")
answer(paste0('{"seconds": ', seconds, ', "estimates": {', fields, "}}"))
