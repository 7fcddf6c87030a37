"""Regressions from tables in memory."""

import csv
import os
import tempfile
import unittest
import warnings

import numpy as np
import pandas

import onward


def quiet(model, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return onward.sample(model, **{"progress": False, "seed": 1, "draws": 200, **settings})


def rats(rows=60):
    rng = np.random.default_rng(5)
    frame = pandas.DataFrame({
        "dose": rng.normal(size=rows),
        "sex": rng.choice(["male", "female"], rows),
        "litter": rng.choice([f"l{i}" for i in range(6)], rows),
        "weight": rng.integers(200, 400, rows),
    })
    frame["y"] = 1 + frame["dose"] + (frame["sex"] == "male") + rng.normal(size=rows)
    return frame


class Tables(unittest.TestCase):
    def test_a_frame_gives_the_same_draws_as_its_csv_file(self):
        frame = rats()
        formula = "y ~ dose * sex + weight + (1 | litter)"
        run = quiet(onward.glm(formula, frame))
        with tempfile.TemporaryDirectory() as folder:
            frame.to_csv(f"{folder}/rats.csv", index=False, quoting=csv.QUOTE_NONNUMERIC)
            same = quiet(onward.glm(formula, f"{folder}/rats.csv"))
        self.assertEqual(list(run), list(same))
        for name in run:
            self.assertTrue((run[name] == same[name]).all(), name)

    def test_data_that_change_are_noticed(self):
        frame = {"x": np.arange(20.0), "y": np.arange(20.0) % 3}
        model = onward.glm("y ~ x", frame)
        first = quiet(model)
        self.assertTrue((quiet(model)["x"] == first["x"]).all())
        frame["x"][3] = 99
        with self.assertRaisesRegex(onward.Error, "not the one"):
            quiet(model)

    def test_types_of_columns(self):
        rows = 30
        x = np.linspace(-1, 1, rows)
        y = 1 + 2 * x + 0.1 * np.sin(np.arange(rows) ** 2)
        reference = quiet(onward.glm("y ~ x", {"x": x, "y": y}))["x"].mean()
        whole = np.round(10 * x)
        for values in (x.astype("f4"), np.repeat(x, 2)[::2], x[::-1].copy()[::-1], pandas.Series(x, index=range(5, 35)),
                       list(x), x.astype(">f8"), pandas.array(x, dtype="Float64")):
            self.assertAlmostEqual(quiet(onward.glm("y ~ x", {"x": values, "y": y}))["x"].mean(), reference, places=3)
        slope = quiet(onward.glm("y ~ x", {"x": whole, "y": y}))["x"].mean()
        for kind in ("i1", "i2", "i4", "i8", "Int64"):
            frame = pandas.DataFrame({"x": pandas.array(whole.astype(int), dtype=kind if kind == "Int64" else np.dtype(kind)), "y": y})
            self.assertEqual(quiet(onward.glm("y ~ x", frame))["x"].mean(), slope)

    def test_factors(self):
        frame = rats()
        names = onward.glm("y ~ sex", frame).names
        self.assertEqual(names, ["(Intercept)", "sexmale", "sigma"])
        frame["sex"] = pandas.Categorical(frame["sex"], categories=["male", "female"])
        self.assertEqual(onward.glm("y ~ sex", frame).names[1], "sexfemale")
        frame["old"] = frame["weight"] > 300
        self.assertEqual(onward.glm("y ~ old", frame).names[1], "oldTRUE")

    def test_missing_entries_are_dropped_and_told(self):
        frame = rats()
        frame.loc[3, "dose"] = np.nan
        frame.loc[4, "sex"] = None
        model = onward.glm("y ~ dose + sex", frame)
        self.assertTrue(any("2" in note for note in model.notes), model.notes)

    def test_data_are_not_copied_to_doubles(self):
        rows, columns = 200_000, 20
        x = np.random.default_rng(1).normal(size=(rows, columns)).astype("f4")
        frame = pandas.DataFrame(x, columns=[f"x{i}" for i in range(columns)])
        frame["y"] = (x[:, 0] > 0).astype("f4")

        def peak():
            with open("/proc/self/status") as file:
                return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM"))

        def clear():
            with open("/proc/self/clear_refs", "w") as file:
                file.write("5")

        clear()
        before = peak()
        model = onward.glm("y ~ . ", frame, family="bernoulli")
        self.assertEqual(model.dimension, columns + 1)
        # The design has the numbers once, as floats; a copy of the frame as doubles would add twice as much.
        self.assertLess(peak() - before, 2 * x.nbytes)


    def test_missing_entries_of_all_kinds(self):
        rows = 30
        x, y = np.linspace(-1, 1, rows), np.sin(np.arange(rows))
        holes = np.arange(rows) % 7 == 3
        expected = quiet(onward.glm("y ~ x", {"x": np.where(holes, np.nan, x), "y": y}))["x"]
        for values in (np.ma.array(x, mask=holes), [None if h else v for v, h in zip(x, holes)],
                       pandas.array(np.where(holes, np.nan, x), dtype="Float64")):
            self.assertTrue((quiet(onward.glm("y ~ x", {"x": values, "y": y}))["x"] == expected).all())
        flags = pandas.array([None if h else bool(v > 0) for v, h in zip(x, holes)], dtype="boolean")
        self.assertEqual(onward.glm("y ~ x", {"x": flags, "y": y}).names[1], "xTRUE")
        with self.assertRaises(onward.Error):
            onward.glm("y ~ x", {"x": [None] * rows, "y": y})

    def test_columns_that_cannot_be(self):
        frame = pandas.DataFrame([[1.0, 2.0, 3.0]] * 3, columns=["x", "x", "y"])
        with self.assertRaisesRegex(onward.UsageError, "two columns of the name x"):
            onward.glm("y ~ x", frame)
        with self.assertRaisesRegex(onward.UsageError, "Timestamp|datetime"):
            onward.glm("y ~ x", {"x": pandas.date_range("2020-01-01", periods=3), "y": np.arange(3.0)})
        self.assertEqual(onward.glm("y ~ x", {"x": pandas.Categorical(list("baab")), "y": np.arange(4.0)}).names[1], "xb")


class Uses(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.frame = rats()
        cls.run_ = quiet(onward.glm("y ~ dose + sex + (1 | litter)", cls.frame), draws=500)

    def test_predict(self):
        fitted = self.run_.predict()
        self.assertEqual(fitted.mean.shape, (60,))
        new = pandas.DataFrame({"dose": [0.0, 1.0, np.nan], "sex": ["male"] * 3, "litter": ["l1"] * 3})
        prediction = self.run_.predict(new, draws=True)
        self.assertEqual(prediction.draws.shape, (3, 2000))
        self.assertAlmostEqual(prediction.mean[1] - prediction.mean[0], self.run_["dose"].mean(), places=6)
        self.assertTrue(np.isnan(prediction.mean[2]))
        new["litter"] = "l9"
        with self.assertRaisesRegex(onward.Error, "l9"):
            self.run_.predict(new)
        wide = self.run_.predict(new, new_levels="draw", what="predictive")
        self.assertGreater(wide.sd[0], 0.5)
        with self.assertRaisesRegex(onward.UsageError, "dose"):
            self.run_.predict({"sex": ["male"], "litter": ["l1"]})

    def test_report(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertIn("dose", open(self.run_.report(f"{folder}/a.html")).read())

    def test_save(self):
        with tempfile.TemporaryDirectory() as folder:
            self.run_.save(f"{folder}/run")
            with open(f"{folder}/run/run.json") as file:
                self.assertIn("y ~ dose", file.read())

    def test_loo(self):
        result = self.run_.loo()
        self.assertEqual(result["pointwise"]["elpd"].shape, (60,))
        self.assertAlmostEqual(result["pointwise"]["elpd"].sum(), result["elpd_loo"], places=6)
        self.assertIn("elpd_waic", self.run_.loo(waic=True))
        with self.assertRaisesRegex(onward.Error, "log likelihood"):
            quiet("eight-schools").loo()

    def test_loo_tells_the_rows_of_the_table(self):
        self.assertNotIn("rows", self.run_.loo())
        frame = self.frame.copy()
        frame["w"] = 1.0
        frame.loc[[0, 7], "dose"] = np.nan
        left = [i for i in range(60) if i not in (0, 7)]
        self.assertEqual(quiet(onward.glm("y ~ dose + sex", frame), draws=200).loo()["rows"], left)
        frame.loc[[5, 7], "w"] = 0
        result = quiet(onward.glm("y | weights(w) ~ dose + sex", frame), draws=200).loo()
        self.assertEqual(result["rows"], [i for i in left if i != 5])
        self.assertEqual(result["pointwise"]["elpd"].shape, (57,))

    def test_refusals(self):
        frame = self.frame
        for formula, words in (("y ~ doze", "dose"), ("y ~ dose +", r"\^"), ("z ~ dose", "z")):
            with self.subTest(formula=formula), self.assertRaisesRegex(onward.UsageError, words):
                onward.glm(formula, frame)
        with self.assertRaisesRegex(onward.UsageError, "DataFrame"):
            onward.glm("y ~ x", 17)
        with self.assertRaisesRegex(onward.UsageError, "shape|dimension"):
            onward.glm("y ~ x", {"x": np.zeros((3, 2)), "y": np.zeros(3)})
        with self.assertRaisesRegex(onward.UsageError, "rows"):
            onward.glm("y ~ x", {"x": np.zeros(4), "y": np.zeros(3)})
        with self.assertRaisesRegex(onward.UsageError, "type"):
            onward.glm("y ~ x", {"x": np.zeros(3, dtype=complex), "y": np.zeros(3)})

    def test_networks(self):
        layers = {"input": [1], "layers": [{"kind": "linear", "outputs": 4}, "tanh", {"kind": "linear", "outputs": 1}]}
        x = np.linspace(-1, 1, 20, dtype=np.float32).reshape(-1, 1)
        run = quiet(onward.net(layers, x, x**2), draws=20, sampler="line-fmala")
        self.assertGreater(len(run), 0)


if __name__ == "__main__":
    unittest.main()
