/* Temperature of a column of soil under a day that comes and goes. This is code as it may lie about for years: plain
 * C, of its own, and with a tangent-linear twin that somebody wrote for an assimilation. soil_plugin.cpp makes a model
 * of it without touching it.
 */
#ifndef SOIL_H
#define SOIL_H

#ifdef __cplusplus
extern "C" {
#endif

enum { SOIL_PARAMETERS = 4, SOIL_HOURS = 48, SOIL_DEPTHS = 3 };

/* p: diffusivity of the upper 20 cm and of what is below in mm^2/s, mean of the surface and its swing in degrees;
 * SOIL_PARAMETERS numbers.
 * seen: temperatures at 2.5, 12.5 and 27.5 cm, hour after hour, after a day in which the start is forgotten;
 * SOIL_HOURS * SOIL_DEPTHS numbers.
 * Returns 0, or 1 where a diffusivity is too large for the step.
 */
int soil_run(const double *p, double *seen);

/* The same, and beside it what `seen` changes by along dp. */
int soil_run_tl(const double *p, const double *dp, double *seen, double *dseen);

#ifdef __cplusplus
}
#endif
#endif
