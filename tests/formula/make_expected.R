# Makes tests/formula/expected.json: what base R and lme4 say to a list of formulas on tests/formula/data.csv.
# Run by hand, from the root of the tree (Debian: r-base, r-cran-lme4):
#   Rscript tests/formula/make_expected.R
# `data.csv` is made too, if it is not there; its numbers have few digits, so that they are the same wherever read.
suppressMessages(library(lme4))
folder <- "tests/formula"
data_file <- file.path(folder, "data.csv")

if (!file.exists(data_file)) {
  RNGkind("Mersenne-Twister", "Inversion", "Rejection")
  set.seed(20)
  n <- 48
  data <- data.frame(
    y = round(rnorm(n, 5, 2), 2), s = rbinom(n, 10, 0.4), x = round(rnorm(n), 3), z = round(runif(n, 0.2, 9), 2),
    w = round(rgamma(n, 2), 3) + 0.001, k = sample(c(1, 2, 4, 10), n, TRUE), year = sample(1998:2007, n, TRUE),
    f = sample(c("a", "b", "c"), n, TRUE), h = sample(c("lo", "hi"), n, TRUE), b = sample(c(TRUE, FALSE), n, TRUE),
    g = sample(sprintf("g%d", 1:11), n, TRUE), m = sample(c("M1", "M2", "M3", "M4"), n, TRUE),
    c = sample(1:3, n, TRUE), m.v = round(rnorm(n, 100, 15), 1), check.names = FALSE)
  names(data)[names(data) == "m.v"] <- "my var"
  data$n <- data$s + sample(1:9, n, TRUE)
  data$q <- data$x
  data$q[c(3, 17)] <- NA
  data$fm <- data$f
  data$fm[c(5, 17, 30)] <- NA
  data$gm <- data$g
  data$gm[9] <- NA
  write.csv(data, data_file, row.names = FALSE, na = "NA")
}
data <- read.csv(data_file, check.names = FALSE)

# Treatment contrasts unless the line begins with "sum:".
fixed <- readLines(file.path(folder, "fixed.txt"))
grouped <- readLines(file.path(folder, "grouped.txt"))

json_string <- function(x) encodeString(x, quote = '"')
json_strings <- function(x) paste0("[", paste(vapply(x, json_string, ""), collapse = ","), "]")
json_numbers <- function(x) paste0("[", paste(sprintf("%.9g", x), collapse = ","), "]")
json_object <- function(...) {
  parts <- c(...)
  paste0("{", paste(sprintf('"%s":%s', names(parts), parts), collapse = ","), "}")
}

design <- function(line) {
  sums <- startsWith(line, "sum: ")
  text <- sub("^sum: ", "", line)
  options(contrasts = c(if (sums) "contr.sum" else "contr.treatment", "contr.poly"))
  frame <- model.frame(as.formula(text), data, drop.unused.levels = TRUE)
  x <- model.matrix(attr(frame, "terms"), frame)
  offset <- model.offset(frame)
  json_object(
    formula = json_string(text), contrasts = json_string(if (sums) "sum" else "treatment"), rows = nrow(x),
    names = json_strings(colnames(x)), terms = json_strings(attr(attr(frame, "terms"), "term.labels")),
    offset = if (is.null(offset)) "null" else json_numbers(offset),
    columns = paste0("[", paste(apply(x, 2, json_numbers), collapse = ","), "]"))
}

blocks <- function(text) {
  options(contrasts = c("contr.treatment", "contr.poly"))
  control <- lmerControl(check.nobs.vs.nlev = "ignore", check.nobs.vs.rankZ = "ignore", check.nobs.vs.nRE = "ignore",
                         check.rankX = "ignore", check.scaleX = "ignore")
  parsed <- lFormula(as.formula(text), data, control = control)
  terms <- parsed$reTrms
  assigned <- attr(terms$flist, "assign")
  groups <- vapply(seq_along(terms$cnms), function(i) {
    factor <- terms$flist[[assigned[i]]]
    # What the block adds to the predictor when the effect of column c in level l is (c + 1) * l.
    columns <- length(terms$cnms[[i]])
    effects <- as.vector(outer(seq_len(columns) + 1, seq_along(levels(factor))))
    part <- as.vector(Matrix::crossprod(terms$Ztlist[[i]], effects))
    json_object(factor = json_string(names(terms$flist)[assigned[i]]), levels = json_strings(levels(factor)),
                codes = json_numbers(as.integer(factor) - 1), columns = json_strings(terms$cnms[[i]]),
                predictor = json_numbers(part))
  }, "")
  json_object(formula = json_string(text), rows = nrow(parsed$X), names = json_strings(colnames(parsed$X)),
              groups = paste0("[", paste(groups, collapse = ","), "]"))
}

out <- c("{\"fixed\":[", paste(vapply(fixed, design, ""), collapse = ",\n"), "],\n\"grouped\":[",
         paste(vapply(grouped, blocks, ""), collapse = ",\n"), "]}")
writeLines(out, file.path(folder, "expected.json"))
cat(length(fixed), "formulas and", length(grouped), "with groups\n")
