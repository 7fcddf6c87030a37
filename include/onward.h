/* The C interface of Onward: everything that another language needs, and no C++ in it.
 *
 * It has two halves. The first is what a model from outside offers: a struct of functions, an onward_density. A
 * shared object that exports onward_plugin() is such a model for `onward sample plugin:FILE.so`. The second is what
 * the library offers: models built from a specification in JSON or from an onward_density, runs that go on in the
 * background, and their draws in the caller's own arrays.
 *
 * Text is UTF-8 and ends in a zero byte. Handles may be used from any thread, but each from one thread at a time;
 * onward_run_stop() and onward_run_progress() may be called from any thread at any time.
 */
#ifndef ONWARD_H
#define ONWARD_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define ONWARD_PUBLIC __attribute__((visibility("default")))
#else
#define ONWARD_PUBLIC
#endif

/* Grows when the structs below change. A density says which one it was compiled for. */
#define ONWARD_INTERFACE 1

/* What functions return. */
enum {
  ONWARD_OK = 0,
  ONWARD_NO_DENSITY = 1, /* of a model: there is no density here. The move is rejected and counted. */
  ONWARD_FAILED = 2,     /* it could not be done; of a model: a fault, which ends the run */
  ONWARD_USAGE = 3       /* what was asked for makes no sense */
};

/* ------------------------------------------------------------------------------------------------------------------
 * What a model from outside offers
 */

/* Room for what a model has to say when it returns something other than ONWARD_OK, the final zero included. */
#define ONWARD_MESSAGE_SIZE 1024

enum {
  /* The functions may be called for one `data` from several threads at once. Without this flag, and without copy(),
   * they are called from one thread at a time. */
  ONWARD_THREAD_SAFE = 1
};

/* Numbers that are reported under one name. A scalar has rank 0. The last index runs fastest. */
typedef struct onward_parameter {
  const char *name;
  size_t rank;
  const size_t *shape;
} onward_parameter;

typedef struct onward_density {
  uint32_t version; /* ONWARD_INTERFACE */
  uint32_t flags;
  size_t dimension; /* numbers that are sampled, each over the whole real line */
  void *data;       /* handed to every function */

  /* The log density at theta, and its slope and curvature along v: out[0], out[1] if order >= 1, out[2] if order is
   * 2. v is a null pointer for order 0, and need not have length 1. */
  int (*jet)(void *data, const double *theta, const double *v, int order, double *out, char *message);
  /* May be null: the log density, with all its first derivatives. Samplers such as mala need it. */
  int (*gradient)(void *data, const double *theta, double *value, double *out, char *message);
  /* May be null: what is reported of theta, parameter after parameter. Without it theta itself is. */
  int (*constrain)(void *data, const double *theta, double *out, char *message);

  /* What is reported. Without any it is called theta.1, theta.2, ... */
  size_t parameter_count;
  const onward_parameter *parameters;
  /* Sizes of successive groups of theta that belong together, such as layers; may be none. */
  size_t block_count;
  const size_t *blocks;

  /* May be null: a `data` of its own for each chain, such as one with scratch memory, or a null pointer on failure.
   * Then functions are called for one `data` from one thread at a time. */
  void *(*copy)(void *data);
  /* May be null: called once for `data` and once for each copy, when it is no longer needed. */
  void (*release)(void *data);

  /* May be null: called by each thread of the library before it first calls any of the functions above, and before
   * it ends, for languages whose interpreter must know of threads. */
  void (*thread_begins)(void);
  void (*thread_ends)(void);
} onward_density;

/* What a shared object exports to be a model for plugin:FILE.so. `argument` is the text that the user gave as `data`,
 * or an empty string; what it means is for the model to say. Fills in *out, whose strings and arrays must stay until
 * release() is called for its data. */
ONWARD_PUBLIC int onward_plugin(const char *argument, onward_density *out, char *message);

/* ------------------------------------------------------------------------------------------------------------------
 * What the library offers
 */

typedef struct onward_model onward_model;
typedef struct onward_run onward_run;

ONWARD_PUBLIC const char *onward_version(void);
/* What the last call from this thread that failed had to say. Stays until the next call from this thread. */
ONWARD_PUBLIC const char *onward_message(void);
/* ONWARD_FAILED, ONWARD_USAGE or ONWARD_NO_DENSITY: the kind of that failure, for functions that give a pointer. */
ONWARD_PUBLIC int onward_code(void);

/* An array in the caller's memory, in NumPy's words. */
typedef struct onward_array {
  const char *name;
  const char *type; /* "<f4", "<f8", "<i4", "<i8", "|u1", "|b1", ... */
  size_t rank;
  const size_t *shape;
  int fortran_order; /* the first index runs fastest */
  const void *values;
} onward_array;

/* A column of a table: numbers, or a factor by its codes. Columns of one table have one length. */
typedef struct onward_column {
  const char *name;
  const char *type; /* of numbers as in an array; "|b1": true and false; of codes a signed one, below 0: missing */
  size_t rows;
  ptrdiff_t stride; /* bytes from one entry to the next */
  const void *values;
  size_t level_count; /* 0 for numbers */
  const char *const *levels;
} onward_column;

/* A model by its specification, {"name": "funnel", "dim": 10}, as run.json has it under `model`. Arrays may be in
 * memory: what a specification calls "memory:NAME" must then be among the arrays. For a regression from a table in
 * memory give its columns, and "memory:table" as `data`. Arrays and columns are used where they are: they must stay
 * and not change until the model and all its runs are freed. Null if it cannot be built. */
ONWARD_PUBLIC onward_model *onward_model_build(const char *specification, const onward_array *arrays,
                                               size_t array_count, const onward_column *columns,
                                               size_t column_count);
/* A model from outside, by the name that files are to call it. The density is copied, and what it points to must stay
 * until release() is called for its data: when the model and all its runs are freed, or, if this function fails,
 * before it returns. */
ONWARD_PUBLIC onward_model *onward_model_from(const char *name, const onward_density *density);
ONWARD_PUBLIC void onward_model_free(onward_model *model);

ONWARD_PUBLIC size_t onward_model_dimension(const onward_model *model);
/* {"specification", "dimension", "names", "parameters": [{"name", "shape", "dims", "coordinates"}], "order", "notes",
 * "words", "has_gradient"}; `order` says which of the names each entry of the parameters is, one after the other.
 * Stays until the model is freed. */
ONWARD_PUBLIC const char *onward_model_describe(onward_model *model);
/* What the samplers see: value, slope, curvature to out[0..2], as in onward_density. */
ONWARD_PUBLIC int onward_model_jet(onward_model *model, const double *theta, const double *v, int order,
                                   double *out);
ONWARD_PUBLIC int onward_model_gradient(onward_model *model, const double *theta, double *value, double *out);
ONWARD_PUBLIC int onward_model_constrain(onward_model *model, const double *theta, double *out);

/* Starts a run in the background. `settings` has the fields of run.json's `settings`, {"draws": 1000, "seed": 1}; what
 * is left out has its default. `recording` says what is written, {"folder": "out", "into": "fresh", "format":
 * "netcdf"}; null or without a folder: nothing. A model may be sampled any number of times, and may be freed before
 * its runs. Null if the run makes no sense; what is wrong with it only later is told by onward_run_wait(). */
ONWARD_PUBLIC onward_run *onward_run_start(onward_model *model, const char *settings, const char *recording);
/* Waits until the run has ended, but no more than so many seconds (below 0: for as long as it takes). Returns 1 if it
 * goes on, 0 if it has ended with or without all its draws, and -ONWARD_FAILED or -ONWARD_USAGE if it failed:
 * onward_message() then says why. */
ONWARD_PUBLIC int onward_run_wait(onward_run *run, double seconds);
/* Asks the run to end after the steps that are under way. Draws up to there are kept. */
ONWARD_PUBLIC void onward_run_stop(onward_run *run);
/* Stops the run, waits for it and forgets it. */
ONWARD_PUBLIC void onward_run_free(onward_run *run);

typedef struct onward_progress {
  uint64_t steps_done, steps_total;
  uint64_t chains_warming, chains_sampling, chains_done;
  double acceptance, seconds, seconds_left, steps_per_second;
  int choosing; /* pilots choose a sampler */
} onward_progress;
ONWARD_PUBLIC void onward_run_progress(onward_run *run, onward_progress *out);
/* What the run wants the user to know so far, a line each; stays until the next such call or until it is freed. */
ONWARD_PUBLIC const char *onward_run_notes(onward_run *run);

/* The following are for runs that have ended well. */
ONWARD_PUBLIC size_t onward_run_chains(const onward_run *run);
ONWARD_PUBLIC size_t onward_run_draws(const onward_run *run, size_t chain);
/* Numbers in a draw: as many as the model has names. */
ONWARD_PUBLIC size_t onward_run_width(const onward_run *run);
/* The draws of a chain, one after the other, as the model's names have them; `out` has draws x width. */
ONWARD_PUBLIC int onward_run_values(const onward_run *run, size_t chain, double *out);
/* The log density of each draw. */
ONWARD_PUBLIC int onward_run_log_density(const onward_run *run, size_t chain, double *out);
/* What the trajectories of a chain did, a number for each draw: "tree_depth", "n_steps" (leapfrogs), "diverging" (0 or
 * 1) or "energy". Fails for a run of a sampler that follows no trajectories, which onward_run_follows() tells. */
ONWARD_PUBLIC int onward_run_statistic(const onward_run *run, size_t chain, const char *name, double *out);
ONWARD_PUBLIC int onward_run_follows(const onward_run *run);
/* What summary.json has of it: settings, times, "ending" and "folder"; and unless `most_parameters` is 0, diagnostics,
 * "warnings", "notes", and for each parameter mean, sd, quantiles, ESS and R-hat, left out if there are more of them.
 * Stays until the next such call or until the run is freed. */
ONWARD_PUBLIC const char *onward_run_summary(onward_run *run, size_t most_parameters);
/* The table that the program prints, with notes and warnings. Stays until the run is freed. */
ONWARD_PUBLIC const char *onward_run_table(onward_run *run);
/* Writes a run that has no folder to one: draws as CSV, run.json and summary.json. */
ONWARD_PUBLIC int onward_run_save(onward_run *run, const char *folder, int replace);

/* Writes the run as one HTML page that needs no network: whether to trust it, tables and pictures. What there is of
 * regressions and networks is in it for runs with a folder, and for regressions in memory. */
ONWARD_PUBLIC int onward_run_report(onward_run *run, const char *file);

/* How well the model of a run predicts what it has not seen: leave-one-out cross-validation by Pareto-smoothed
 * importance sampling, {"elpd_loo", "se_elpd_loo", "p_loo", "looic", "pareto_k", ..., "pointwise": {"elpd", "k", ...}},
 * or, if `waic`, that criterion. "rows" has the rows of the table, from 0, that the observations are, if some
 * rows are none. For regressions. Stays until the next such call or until the run is freed. */
ONWARD_PUBLIC const char *onward_run_loo(onward_run *run, int waic);

/* What the draws of a regression from a formula say of the rows of a table. `options`: {"what": "fitted", "predictive"
 * or "linear", "new_levels": "refuse" or "draw", "groups": true, "seed": 1, "probabilities": [0.05, 0.5, 0.95]}. Without
 * columns the rows are those that it was fitted to. */
typedef struct onward_predictions onward_predictions;
ONWARD_PUBLIC onward_predictions *onward_run_predict(onward_run *run, const char *options,
                                                     const onward_column *columns, size_t column_count);
/* {"rows", "draws", "classes", "table_rows", "table_length", "notes"}: `table_rows` has, from 0, the rows of the table
 * that were not left out for missing values; it is empty if none was. Stays until the predictions are freed. */
ONWARD_PUBLIC const char *onward_predictions_describe(const onward_predictions *predictions);
/* Row after row, and class after class where there are several: mean, sd, and the quantiles, to `summaries`; and
 * each draw, to `draws`. Either may be null. */
ONWARD_PUBLIC int onward_predictions_values(const onward_predictions *predictions, double *summaries, double *draws);
ONWARD_PUBLIC void onward_predictions_free(onward_predictions *predictions);

/* The columns that a formula names, as a list in JSON; with "." last if it stands for all others. Null if it is
 * malformed. Stays until the next call from this thread. */
ONWARD_PUBLIC const char *onward_formula_variables(const char *formula);

#ifdef __cplusplus
}
#endif

#endif
