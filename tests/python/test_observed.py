"""Simulators with noisy data and priors."""

import math
import unittest
import warnings

import numpy as np

import onward
from onward import prior

try:
    import torch
except ImportError:
    torch = None

T = np.array([0.0, 0.7, 1.5, 2.5, 4.0])
Y = np.array([2.1, 1.3, 0.9, 0.35, 0.6])
PRIORS = {"a": prior.lognormal(0, 1), "k": prior.uniform(0, 3), "sigma": prior.exponential(2)}


def decay(x):
    return x[0] * np.exp(-x[1] * T)


def tangent(x, v):
    return np.exp(-x[1] * T) * (v[0] - x[0] * T * v[1])


def quiet(model, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return onward.sample(model, **{"progress": False, "seed": 1, "draws": 500, "sampler": "newton-line", **settings})


class Priors(unittest.TestCase):
    def test_derivatives_and_values(self):
        for one in (prior.normal(1, 2), prior.student_t(3, 0.5, 2), prior.lognormal(0.3, 0.7), prior.half_normal(2),
                    prior.exponential(0.5), prior.gamma(2, 3), prior.beta(2, 3), prior.uniform(-1, 4),
                    prior.normal(0, 1, shape=3), prior.uniform(1, 2, shape=(2, 2))):
            with self.subTest(prior=one):
                u, v, e = np.linspace(-1, 1.3, one.size), np.linspace(0.5, -2, one.size), 1e-4
                x, dx, f, slope, curvature = one.jet(u, v)
                (ahead, _, f1, s1, _), (behind, _, f2, s2, _) = one.jet(u + e * v, v), one.jet(u - e * v, v)
                np.testing.assert_allclose(dx, (ahead - behind) / (2 * e), rtol=1e-6, atol=1e-9)
                self.assertAlmostEqual(slope, (f1 - f2) / (2 * e), places=6)
                self.assertAlmostEqual(curvature, (s1 - s2) / (2 * e), places=6)
                self.assertEqual(one.jet(u, 0.0)[2], f)

    def test_are_distributions(self):
        """E[x] over the density of u, by quadrature."""
        u = np.linspace(-40, 40, 200_001)
        for one, mean in ((prior.normal(1, 2), 1), (prior.student_t(5, 0.5, 2), 0.5), (prior.half_normal(2), 2 * math.sqrt(2 / math.pi)),
                          (prior.lognormal(0.3, 0.7), math.exp(0.3 + 0.245)), (prior.exponential(0.5), 2), (prior.gamma(2, 3), 2 / 3),
                          (prior.beta(2, 3), 0.4), (prior.uniform(-1, 4), 1.5)):
            with self.subTest(prior=one):
                x = np.minimum(one.value(u), 1e100)
                density = np.exp(one.density(u, x)[0])
                self.assertAlmostEqual((density * x).sum() / density.sum(), mean, places=3)

    def test_words_and_refusals(self):
        self.assertEqual(repr(prior.normal(0, 2, shape=3)), "normal(0, 2, shape=(3,))")
        for bad in (lambda: prior.normal(0, -1), lambda: prior.uniform(2, 1), lambda: prior.gamma(0, 1), lambda: prior.beta(1, 0),
                    lambda: prior.normal(0, 1, shape=0)):
            with self.assertRaises(onward.UsageError):
                bad()


class Jets(unittest.TestCase):
    u, v = np.array([0.6, -0.4, -1.0]), np.array([0.5, 0.7, -0.2])

    def density(self, degrees=math.inf):
        """The log density over u, written out."""

        def f(u):
            s = 1 / (1 + math.exp(-u[1]))
            a, k, sigma = math.exp(u[0]), 3 * s, math.exp(u[2])
            z = (Y - decay([a, k])) / sigma
            if math.isinf(degrees):
                likelihood = (-0.5 * z**2 - math.log(sigma) - 0.5 * math.log(2 * math.pi)).sum()
            else:
                c = math.lgamma(0.5 * (degrees + 1)) - math.lgamma(0.5 * degrees) - 0.5 * math.log(degrees * math.pi)
                likelihood = (c - math.log(sigma) - 0.5 * (degrees + 1) * np.log1p(z**2 / degrees)).sum()
            return likelihood - 0.5 * u[0] ** 2 + math.log(s) + math.log(1 - s) - 2 * sigma + u[2]

        return f

    def test_agree_with_the_density_written_out(self):
        for degrees in (math.inf, 4.0):
            with self.subTest(degrees=degrees):
                model, f = onward.observed(decay, Y, "sigma", PRIORS, jvp=tangent, degrees=degrees), self.density(degrees)
                value, slope, curvature = model.jet(self.u, self.v)
                self.assertAlmostEqual(value, f(self.u), places=10)
                e = 1e-5
                self.assertAlmostEqual(slope, (f(self.u + e * self.v) - f(self.u - e * self.v)) / (2 * e), places=5)
                self.assertLess(curvature, 0)

    def test_have_the_curvature_of_gauss_and_newton(self):
        model = onward.observed(lambda x: np.array([2 * x[0] - x[1], x[1]]), [1, 2], [0.5, 2], {"x": prior.normal(0, 1, shape=2)},
                                jvp=lambda x, v: np.array([2 * v[0] - v[1], v[1]]))
        v = np.array([0.3, -0.8])
        exact = -((2 * v[0] - v[1]) / 0.5) ** 2 - (v[1] / 2) ** 2 - v @ v
        self.assertAlmostEqual(model.jet([0.1, 0.2], v)[2], exact, places=10)

    def test_differences_and_both_forms_of_jvp_agree(self):
        exact = onward.observed(decay, Y, "sigma", PRIORS, jvp=tangent).jet(self.u, self.v)
        both = onward.observed(decay, Y, "sigma", PRIORS, jvp=lambda x, v: (decay(x), tangent(x, v)))
        np.testing.assert_array_equal(both.jet(self.u, self.v), exact)
        model = onward.observed(decay, Y, "sigma", PRIORS)
        np.testing.assert_allclose(model.jet(self.u, self.v), exact, rtol=1e-5)
        ahead, behind = model.jet(self.u, self.v), model.jet(self.u, -self.v)
        self.assertEqual((ahead[0], ahead[1], ahead[2]), (behind[0], -behind[1], behind[2]))

    def test_differences_at_the_edge_are_one_sided(self):
        def edge(x):
            if x[0] < math.exp(0.6) - 1e-9:
                raise onward.Reject("too small")
            return decay(x)

        exact = onward.observed(decay, Y, "sigma", PRIORS, jvp=tangent).jet(self.u, self.v)
        model = onward.observed(edge, Y, "sigma", PRIORS)
        np.testing.assert_allclose(model.jet(self.u, self.v), exact, rtol=1e-3)
        self.assertEqual(model.jet(self.u, -self.v)[1], -model.jet(self.u, self.v)[1])

    def test_the_simulator_runs_no_more_than_it_must(self):
        runs = []
        model = onward.observed(lambda x: runs.append(1) or decay(x), Y, "sigma", PRIORS)
        model.jet(self.u, self.v)
        self.assertEqual(len(runs), 3)
        model.jet(self.u, [0.1, 0.2, 0.3])
        self.assertEqual(len(runs), 5)
        model.jet(self.u, [0, 0, 1.0])
        self.assertEqual(len(runs), 5)

    @unittest.skipIf(torch is None, "PyTorch is not installed (python3-torch)")
    def test_torch(self):
        times = torch.tensor(T)
        model = onward.observed(lambda x: x[0] * torch.exp(-x[1] * times), Y, "sigma", PRIORS, jvp="torch")
        exact = onward.observed(decay, Y, "sigma", PRIORS, jvp=tangent)
        np.testing.assert_allclose(model.jet(self.u, self.v), exact.jet(self.u, self.v), rtol=1e-12)


class Runs(unittest.TestCase):
    def test_finds_the_posterior_of_a_linear_model(self):
        design = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0], [1.0, 3.0]])
        y = np.array([0.2, 1.1, 1.7, 3.2])
        precision = design.T @ design / 0.25 + np.eye(2) / 4
        mean, cov = np.linalg.solve(precision, design.T @ y / 0.25), np.linalg.inv(precision)
        for jvp in (lambda x, v: design @ v, None):
            run = quiet(onward.observed(lambda x: design @ x, y, 0.5, {"b": prior.normal(0, 2, shape=2)}, jvp=jvp), draws=2000)
            draws = run["b"].reshape(-1, 2)
            # 8,000 draws, nearly independent: a tenth of an sd is several standard errors.
            np.testing.assert_allclose(draws.mean(axis=0), mean, atol=0.1 * math.sqrt(cov.diagonal().min()))
            np.testing.assert_allclose(np.cov(draws.T), cov, rtol=0.2)

    def test_parameters_have_names_and_shapes(self):
        model = onward.observed(lambda x: x[:2] + x[2], [1, 2], "s", {"s": prior.exponential(1), "x": prior.normal(shape=2), "k": prior.normal()})
        self.assertEqual(model.parameters, {"x": (2,), "k": (), "s": ()})
        run = quiet(model, draws=50)
        self.assertGreater(run["s"].min(), 0)

    def test_problems_of_the_simulator_come_out(self):
        def fails(x):
            raise KeyError("oops")

        with self.assertRaisesRegex(KeyError, "oops"):
            quiet(onward.observed(fails, Y, 1.0, {"a": prior.normal()}))
        with self.assertRaisesRegex(onward.UsageError, "`forward` gave 2 numbers: there are 5"):
            quiet(onward.observed(lambda x: [1, 2], Y, 1.0, {"a": prior.normal()}))
        with self.assertRaisesRegex(onward.UsageError, "`jvp` gave 1 numbers"):
            quiet(onward.observed(decay, Y, "sigma", PRIORS, jvp=lambda x, v: [0.0]))
        with self.assertRaisesRegex(ValueError, "read-only"):
            quiet(onward.observed(lambda x: x.__setitem__(0, 1), Y, "sigma", PRIORS))

    def test_bad_arguments(self):
        good = {"forward": decay, "data": Y, "noise": "sigma", "prior": PRIORS}
        for change, words in (({"forward": 3}, "`forward`"), ({"data": [1, math.nan]}, "`data`"), ({"noise": -1.0}, "`noise`"),
                              ({"noise": [1.0, 2.0]}, "2 numbers"), ({"noise": "s"}, "no prior"), ({"prior": {}}, "`prior`"),
                              ({"prior": {"a": 1}}, "prior of a"), ({"jvp": 2}, "`jvp`"), ({"jvp": "numba"}, "torch, jax"),
                              ({"degrees": 0}, "`degrees`"), ({"difference_step": 2}, "`difference_step`"),
                              ({"prior": {**PRIORS, "sigma": prior.exponential(1, shape=2)}}, "2 numbers")):
            with self.subTest(change=change), self.assertRaisesRegex(onward.UsageError, words):
                onward.observed(**{**good, **change})


if __name__ == "__main__":
    unittest.main()
