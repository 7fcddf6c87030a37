"""Models from PyTorch, and from JAX by a stand-in that has its jvp, vmap and jit."""

import types
import unittest
import warnings

import numpy as np

import onward

try:
    import torch
except ImportError:
    torch = None


def quiet(model, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return onward.sample(model, **{"progress": False, "seed": 1, "draws": 60, "warmup": 150, "thin": 1, "chains": 2, **settings})


@unittest.skipIf(torch is None, "PyTorch is not installed (python3-torch)")
class FromTorch(unittest.TestCase):
    def density(self, p):
        return -0.5 * p["mu"] ** 2 - torch.exp(p["z"]).sum() + (p["z"] * torch.tensor([1.0, 2.0, 3.0])).sum()

    def test_jets_agree_with_calculus(self):
        model = onward.from_torch(self.density, {"mu": (), "z": 3})
        theta, v = np.array([0.3, -1.0, 0.5, 1.0]), np.array([1.0, 0.2, -0.4, 0.7])
        value, slope, curvature = model.jet(theta, v)
        e = np.exp(theta[1:])
        self.assertAlmostEqual(value, -0.045 - e.sum() + theta[1:] @ [1, 2, 3], places=12)
        gradient = np.concatenate([[-0.3], np.array([1, 2, 3]) - e])
        self.assertAlmostEqual(slope, gradient @ v, places=12)
        self.assertAlmostEqual(curvature, -v[0] ** 2 - e @ v[1:] ** 2, places=12)
        np.testing.assert_allclose(model.gradient(theta)[1], gradient, rtol=1e-12)
        self.assertEqual(model.parameters, {"mu": (), "z": (3,)})

    def test_samples(self):
        run = quiet(onward.from_torch(lambda t: -0.5 * (t * t).sum(), 3), sampler="newton-line", draws=600)
        self.assertLess(abs(run["theta"].var() - 1), 0.5)
        self.assertLess(abs(quiet(onward.from_torch(lambda t: -0.5 * (t * t).sum(), 3), sampler="mala", draws=300)["theta"].var() - 1), 0.5)

    def test_no_backward_pass(self):
        self.assertFalse(onward.from_torch(self.density, {"mu": (), "z": 3}, gradient=False).has_gradient)

    def test_constrain(self):
        model = onward.from_torch(self.density, {"mu": (), "z": 3}, constrain=lambda p: {"mu": p["mu"], "s": np.exp(p["z"])},
                                  reports={"mu": (), "s": 3})
        self.assertGreater(quiet(model, sampler="newton-line")["s"].min(), 0)

    def test_refusals(self):
        with self.assertRaisesRegex(onward.UsageError, "one number"):
            quiet(onward.from_torch(lambda t: t, 3), sampler="newton-line")
        with self.assertRaisesRegex(onward.UsageError, "dict of shapes"):
            onward.from_torch(self.density, "mu")
        with self.assertRaisesRegex(onward.UsageError, r"x\.double\(\).*`dtype`"):
            quiet(onward.from_torch(lambda t: (torch.zeros(2, 3) @ t).sum(), 3), sampler="newton-line")
        with self.assertRaisesRegex(RuntimeError, "mat1|shape|size"):
            quiet(onward.from_torch(lambda t: (torch.zeros(2, 5, dtype=t.dtype) @ t).sum(), 3), sampler="newton-line")


@unittest.skipIf(torch is None, "PyTorch is not installed (python3-torch)")
class FromJax(unittest.TestCase):
    def test_jets_by_the_signatures_of_jax(self):
        try:
            from functorch import jvp, vmap
        except ImportError:
            from torch.func import jvp, vmap
        as_tensor = lambda x: torch.as_tensor(np.array(x)) if isinstance(x, np.ndarray) else x
        stand_in = types.SimpleNamespace(
            jvp=lambda f, primals, tangents: jvp(f, tuple(map(as_tensor, primals)), tuple(map(as_tensor, tangents))),
            vmap=lambda f: lambda xs: vmap(f)(as_tensor(xs)),
            jit=lambda f: f,
        )
        model = onward.from_jax(lambda p: -0.5 * (p["x"] ** 2).sum() - p["y"] ** 4, {"x": (2, 2), "y": ()}, jax=stand_in)
        theta, v = np.array([1.0, 2.0, 3.0, 4.0, 0.5]), np.ones(5)
        np.testing.assert_allclose(model.jet(theta, v), (-15.0625, -10.5, -4 - 12 * 0.25), rtol=1e-12)
        np.testing.assert_allclose(model.gradient(theta)[1], [-1, -2, -3, -4, -0.5], rtol=1e-12)
        self.assertEqual(quiet(model, sampler="newton-line")["x"].shape, (2, 60, 2, 2))


if __name__ == "__main__":
    unittest.main()
