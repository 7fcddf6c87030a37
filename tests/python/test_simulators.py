"""Simulators outside this process: programs, as onward.model has them."""

import os
import unittest
import warnings

import numpy as np

import onward

EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "simulators")
DECAY = f"program:'{EXAMPLES}/decay.py'"


class Programs(unittest.TestCase):
    def sample(self, model):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return onward.sample(model, sampler="newton-line", draws=300, chains=2, seed=1)

    def test_the_example(self):
        run = self.sample(onward.model(DECAY, problem=f"{EXAMPLES}/decay.json"))
        self.assertEqual(list(run["amount"].shape), [2, 300])
        self.assertAlmostEqual(float(run["amount"].mean()), 2.016, delta=0.03)
        self.assertAlmostEqual(float(run["rate"].mean()), 0.514, delta=0.02)

    def test_data_may_be_an_array(self):
        y = np.array([2.05, 1.52, 1.18, 0.76, 0.42, 0.29, 0.08])
        model = onward.model(DECAY, data=y, noise="normal:0.05", prior="amount ~ normal(0, 5); rate ~ lognormal(-1, 1)")
        self.assertEqual(list(model.parameters), ["amount", "rate"])
        self.assertAlmostEqual(float(self.sample(model)["rate"].mean()), 0.513, delta=0.02)

    def test_what_does_not_fit_is_named(self):
        with self.assertRaisesRegex(onward.UsageError, "has 7 outputs: give `data`"):
            onward.model(DECAY)
        with self.assertRaisesRegex(onward.Error, "cannot be started"):
            onward.model("program:/no/such/program")
        with self.assertRaisesRegex(onward.Error, "there is no server at"):
            onward.model("umbridge:http://127.0.0.1:1")


if __name__ == "__main__":
    unittest.main()
