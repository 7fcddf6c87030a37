"""Models by a function of one's own."""

import ctypes
import math
import unittest
import warnings

import numpy as np

import onward

D = 10


def funnel_jet(t, v, order):
    """Neal's funnel, operation by operation as the built-in one has it."""
    w = float(t[0])
    e = math.exp(w)
    f, slope, curvature = -w * w / 18.0, 0.0, 0.0
    if order:
        dw = float(v[0])
        slope, curvature = -2 * w * dw / 18.0, -2 * dw * dw / 18.0
    for i in range(1, D + 1):
        x = float(t[i])
        f += 0.5 * w - 0.5 * e * x * x
        if order:
            dx = float(v[i])
            slope += 0.5 * dw - 0.5 * e * (dw * x * x + 2 * x * dx)
            curvature += -0.5 * e * (dw * dw * x * x + 4 * dw * x * dx + 2 * dx * dx)
    return f if order == 0 else (f, slope) if order == 1 else (f, slope, curvature)


def normal(t, v, order):
    value = -0.5 * t @ t
    return value if order == 0 else (value, -t @ v, -v @ v)[: order + 1]


def quiet(model, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return onward.sample(model, **{"progress": False, "seed": 1, "draws": 50, "sampler": "newton-line", **settings})


class Jets(unittest.TestCase):
    def test_agrees_with_the_built_in_funnel(self):
        own = onward.target(D + 1, funnel_jet, parameters={"w": (), "x": D})
        built_in = onward.model("funnel", dim=D)
        theta, v = np.linspace(-1, 1, D + 1), np.linspace(0.5, 2, D + 1)
        for order in (0, 1, 2):
            np.testing.assert_allclose(own.jet(theta, v, order), built_in.jet(theta, v, order), rtol=1e-12)
        self.assertEqual(own.parameters, built_in.parameters)

    def test_samples_what_it_is_given(self):
        run = quiet(onward.target(2, normal), draws=4000)
        np.testing.assert_allclose(run["theta"].var(axis=(0, 1)), 1, atol=0.15)

    def test_a_function_cannot_change_the_chain(self):
        def changes(t, v, order):
            t[0] = 7

        with self.assertRaisesRegex(ValueError, "read-only"):
            quiet(onward.target(2, changes))

    def test_a_function_may_keep_its_arguments(self):
        kept = []

        def keeps(t, v, order):
            kept.append((t, v))
            return normal(t, v, order)

        quiet(onward.target(2, keeps))
        self.assertGreater(len({t.tobytes() for t, _ in kept}), 10)

    def test_callables_and_function_pointers_give_the_built_in_model_s_bits(self):
        built_in = onward.model("funnel", dim=D)
        lib, handle = onward._library.lib, built_in._handle
        called = onward.target(
            D + 1, lambda t, v, order: built_in.jet(t, v, order) if order else built_in.jet(t, order=0)[0],
            gradient=built_in.gradient, parameters={"w": (), "x": D})
        jet = onward._library.JET(lambda _, theta, v, order, out, message: lib.onward_model_jet(handle, theta, v, order, out))
        gradient = onward._library.GRADIENT(
            lambda _, theta, value, out, message: lib.onward_model_gradient(
                handle, theta, ctypes.cast(value, ctypes.POINTER(ctypes.c_double)), out))
        pointed_to = onward.target(D + 1, jet, gradient=gradient, parameters={"w": (), "x": D})
        for sampler in ("rwm", "mala", "fmala", "line-fmala", "pc-line-fmala", "newton-line"):
            settings = dict(sampler=sampler, draws=60, warmup=200, thin=2, chains=2)
            expected = quiet(built_in, **settings)
            for model in (called, pointed_to):
                run = quiet(model, **settings)
                with self.subTest(sampler=sampler, model=model):
                    self.assertTrue((run["w"] == expected["w"]).all() and (run["x"] == expected["x"]).all())


class WhatGoesWrong(unittest.TestCase):
    def test_other_exceptions_end_the_run(self):
        def raises(t, v, order):
            raise KeyError("oops")

        with self.assertRaisesRegex(KeyError, "oops"):
            quiet(onward.target(2, raises))

    def test_rejections_are_counted(self):
        def half(t, v, order):
            if t[0] < 0:
                raise onward.Reject("below 0")
            return normal(t, v, order)

        run = quiet(onward.target(1, half), init=[1.0], draws=500)
        self.assertGreaterEqual(run["theta"].min(), 0)

    def test_math_domain_errors_are_rejections(self):
        def logarithm(t, v, order):
            x = float(t[0])
            value = math.log(x) - x
            return value if order == 0 else (value, v[0] * (1 / x - 1), -((v[0] / x) ** 2))[: order + 1]

        run = quiet(onward.target(1, logarithm), init=[1.0], draws=500)
        self.assertGreater(run["theta"].min(), 0)

    def test_answers_of_another_form_are_named(self):
        for answer in (1.0, (1.0, 2.0), (1.0, 2.0, 3.0, 4.0), (1j, 0.0, 0.0), ("a", 0, 0), None, (np.complex128(1j), 0.0, 0.0)):
            with self.subTest(answer=answer), self.assertRaisesRegex(onward.UsageError, "order 2 `jet` must give"):
                quiet(onward.target(1, lambda t, v, order: 0.0 if order == 0 else answer))

    def test_more_than_asked_for_is_taken(self):
        def all_three(t, v, order):
            v = np.zeros_like(t) if v is None else v
            return -0.5 * t @ t, -t @ v, -v @ v

        asked = onward.target(2, normal)
        given = onward.target(2, all_three)
        for sampler in ("rwm", "line-fmala", "newton-line"):
            with self.subTest(sampler=sampler):
                first, second = (quiet(model, sampler=sampler, draws=50) for model in (asked, given))
                np.testing.assert_array_equal(first["theta"], second["theta"])

    def test_functions_of_other_arguments_are_refused_at_once(self):
        for function in (lambda t: 0.0, lambda t, v: 0.0, lambda t, v, order, more: 0.0):
            with self.assertRaisesRegex(onward.UsageError, r"called as jet\(theta, v, order\)"):
                onward.target(2, function)
        with self.assertRaisesRegex(onward.UsageError, "onward.target"):
            onward.sample(lambda t: 0.0)

    def test_bad_arguments(self):
        with self.assertRaisesRegex(onward.UsageError, "sizes"):
            onward.target(2, normal, parameters={"a": -2})
        for dim in (0, -1, 1.5, True, 10**30):
            with self.subTest(dim=dim), self.assertRaisesRegex(onward.UsageError, "`dim`"):
                onward.target(dim, normal)
        with self.assertRaisesRegex(onward.UsageError, "function"):
            onward.target(2, "jet")
        model = onward.target(2, normal)
        with self.assertRaisesRegex(onward.UsageError, r"shape \(3,\)"):
            model.jet(np.zeros(3), np.zeros(3))
        with self.assertRaisesRegex(onward.UsageError, "real numbers"):
            model.jet(np.zeros(2, dtype=complex), np.zeros(2))
        with self.assertRaisesRegex(onward.UsageError, "direction"):
            model.jet(np.zeros(2))
        with self.assertRaisesRegex(onward.UsageError, "constrain"):
            onward.target(2, normal, parameters={"a": 3})

    def test_nan_is_a_rejection_and_at_the_start_an_error(self):
        with self.assertRaisesRegex(onward.Error, "start|finite"):
            quiet(onward.target(1, lambda t, v, order: (math.nan, 0.0, 0.0)[: order + 1] if order else math.nan))

    def test_constrain(self):
        def constrain(t):
            return {"sigma": np.exp(t[1]), "mu": t[0]}

        run = quiet(onward.target(2, normal, constrain=constrain, parameters={"mu": (), "sigma": ()}))
        self.assertEqual(list(run), ["mu", "sigma"])
        self.assertGreater(run["sigma"].min(), 0)
        with self.assertRaisesRegex(onward.UsageError, "gave mu"):
            quiet(onward.target(2, normal, constrain=lambda t: {"mu": 1.0}, parameters={"mu": (), "sigma": ()}))
        with self.assertRaisesRegex(onward.UsageError, "2 numbers for a"):
            quiet(onward.target(2, normal, constrain=lambda t: {"a": [1, 2], "b": 1}, parameters={"a": (), "b": 2}))

    def test_gradient(self):
        model = onward.target(2, normal, gradient=lambda t: (-0.5 * t @ t, -t))
        self.assertEqual(model.gradient([1.0, 2.0])[1].tolist(), [-1.0, -2.0])
        self.assertGreater(quiet(model, sampler="mala", draws=2000)["theta"].var(), 0.5)
        with self.assertRaisesRegex(onward.UsageError, "gradient"):
            quiet(onward.target(2, normal, gradient=lambda t: (-0.5 * t @ t, [0.0])), sampler="mala")


if __name__ == "__main__":
    unittest.main()
