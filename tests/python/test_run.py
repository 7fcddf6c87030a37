"""Runs: what they give, how they are stopped and gone on with, and what is refused."""

import gc
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import warnings

import numpy as np

import onward


def quiet(model="eight-schools", **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return onward.sample(model, **{"progress": False, "seed": 1, **settings})


class WithinTheModel(unittest.TestCase):
    """What a model's own function does with the run that calls it."""

    def run_with(self, act):
        told, here = [], {}

        def jet(theta, v, order):
            if here and not told:
                try:
                    told.append(act(here["run"]))
                except Exception as problem:  # noqa: BLE001
                    told.append(problem)
            return (-0.5 * theta @ theta, 0 if v is None else -theta @ v, 0 if v is None else -v @ v)[: order + 1]

        handle = here["run"] = onward.sample(onward.target(2, jet), draws=10**6, seed=1, sampler="newton-line",
                                             progress=False, blocking=False)
        end = time.monotonic() + 60
        while not told and time.monotonic() < end:
            time.sleep(0.01)
        return handle, told

    def test_it_can_stop_it(self):
        handle, told = self.run_with(lambda run: run.stop())
        run = handle.wait(60)
        self.assertEqual(told, [None])
        self.assertEqual(run.ending, "interrupted")

    def test_it_cannot_wait_for_it(self):
        handle, told = self.run_with(lambda run: run.wait())
        self.assertIsInstance(told[0], onward.UsageError)
        self.assertIn("cannot wait", str(told[0]))
        self.assertTrue(handle.running)
        self.assertEqual(handle.stop().ending, "interrupted")

    def test_another_function_does_not_go_on_with_it(self):
        def normal(scale):
            return lambda theta, v, order: (
                -0.5 * theta @ theta / scale, 0 if v is None else -theta @ v / scale, 0 if v is None else -v @ v / scale
            )[: order + 1]

        with tempfile.TemporaryDirectory() as folder:
            out = f"{folder}/run"
            settings = {"draws": 50, "sampler": "newton-line", "out": out}
            quiet(onward.target(2, normal(1)), **settings)
            with self.assertRaisesRegex(onward.Error, "another model"):
                quiet(onward.target(2, normal(2)), **{**settings, "draws": 100, "resume": True})
            longer = quiet(onward.target(2, normal(1)), **{**settings, "draws": 100, "resume": True})
            self.assertEqual(longer["theta"].shape, (4, 100, 2))


class Results(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.run_ = quiet(draws=200)

    def test_arrays_have_names_and_shapes(self):
        self.assertEqual({k: v.shape for k, v in self.run_.items()},
                         {"mu": (4, 200), "tau": (4, 200), "theta": (4, 200, 8)})
        self.assertEqual(self.run_.log_density.shape, (4, 200))
        with self.assertRaisesRegex(KeyError, "they are"):
            self.run_["nu"]

    def test_the_same_seed_gives_the_same_bits(self):
        again = quiet(draws=200, threads=1)
        for name in again:
            self.assertTrue((again[name] == self.run_[name]).all())
        self.assertFalse((quiet(draws=200, seed=2)["mu"] == self.run_["mu"]).all())

    def test_statistics_of_trajectories(self):
        self.assertEqual(set(quiet(sampler="rwm", draws=100).statistics), {"lp"})
        run = quiet(onward.model("funnel", dim=4), sampler="nuts", max_halvings=0, draws=100)
        self.assertEqual({k: v.dtype.kind for k, v in run.statistics.items()},
                         {"lp": "f", "tree_depth": "i", "n_steps": "i", "diverging": "b", "energy": "f"})
        told = run.info["trajectories"]
        self.assertEqual(run.statistics["diverging"].sum(axis=1).tolist(), told["divergent"])
        self.assertEqual(run.statistics["n_steps"].sum(axis=1).tolist(), told["leapfrogs"])
        self.assertGreater(sum(told["divergent"]), 0)
        self.assertTrue(any("diverged" in warning for warning in run.warnings))
        self.assertIn("diverged", run.table)
        energy = run.statistics["energy"][0]
        self.assertAlmostEqual((np.diff(energy) ** 2).sum() / ((energy - energy.mean()) ** 2).sum(), told["e_bfmi"][0])
        self.assertEqual(run._statistics()["diverging"].dims, ("chain", "draw"))

    def test_summary(self):
        summary = self.run_.summary()
        row = summary.loc["mu"]
        self.assertAlmostEqual(row["mean"], self.run_["mu"].mean(), places=10)
        self.assertIn("mu", repr(self.run_))
        self.assertIn("<table", self.run_._repr_html_())

    def test_xarray_and_netcdf(self):
        data = self.run_.to_xarray()
        self.assertEqual(data["theta"].dims[:2], ("chain", "draw"))
        self.assertTrue((data["theta"].values == self.run_["theta"]).all())
        import xarray

        with tempfile.TemporaryDirectory() as folder:
            self.run_.to_netcdf(f"{folder}/draws.nc")
            with xarray.open_dataset(f"{folder}/draws.nc", group="posterior") as back:
                self.assertTrue((back["mu"].values == self.run_["mu"]).all())
            with xarray.open_dataset(f"{folder}/draws.nc", group="sample_stats") as back:
                self.assertTrue((back["lp"].values == self.run_.log_density).all())

    def test_report(self):
        with tempfile.TemporaryDirectory() as folder:
            page = open(self.run_.report(f"{folder}/a.html")).read()
            self.assertIn("eight-schools", page)
            with self.assertRaises(onward.Error):
                self.run_.report(f"{folder}/not/there.html")

    def test_save(self):
        with tempfile.TemporaryDirectory() as folder:
            self.run_.save(f"{folder}/run")
            self.assertIn("run.json", os.listdir(f"{folder}/run"))
            with self.assertRaises(onward.Error):
                self.run_.save(f"{folder}/run")
            self.run_.save(f"{folder}/run", force=True)


class Background(unittest.TestCase):
    def test_a_handle_tells_and_stops(self):
        handle = onward.sample("funnel", draws=10_000_000, sampler="rwm", blocking=False, progress=False, seed=1)
        self.assertTrue(handle.running)
        while handle.progress["steps_done"] == 0:
            time.sleep(0.01)
        with self.assertRaises(TimeoutError):
            handle.wait(0.05)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            run = handle.stop()
        self.assertEqual(run.ending, "interrupted")
        self.assertFalse(handle.running)

    def test_a_stopped_run_goes_on_to_the_same_bits(self):
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            whole = quiet("funnel", draws=20000, sampler="line-fmala", out=f"{folder}/whole")
            handle = onward.sample("funnel", draws=20000, sampler="line-fmala", seed=1, out=f"{folder}/cut",
                                   blocking=False, progress=False)
            time.sleep(0.1)
            handle.stop()
            run = handle.resume().wait()
            self.assertTrue((run["w"] == whole["w"]).all())
            longer = handle.resume(draws=21000).wait()
            self.assertEqual(longer["w"].shape, (4, 21000))

    def test_a_handle_that_is_dropped_ends_its_run(self):
        handle = onward.sample("funnel", draws=10_000_000, sampler="rwm", blocking=False, progress=False)
        del handle
        gc.collect()

    def test_results_outlive_models(self):
        run = quiet(onward.model("gaussian", dim=3), draws=100)
        gc.collect()
        self.assertIn("mean", run.summary())
        self.assertIn("x", repr(run))

    def test_two_threads_sample_at_once(self):
        results = [None, None]

        def work(i):
            results[i] = quiet("eight-schools", draws=300)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(2)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        self.assertTrue((results[0]["mu"] == results[1]["mu"]).all())

    def test_a_child_process_samples_too(self):
        model = onward.glm("y ~ x", {"x": np.arange(20.0), "y": np.arange(20.0) % 3})
        before = quiet(model, draws=100)["x"].sum()
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.write(write, repr(quiet(model, draws=100)["x"].sum()).encode())
            finally:
                os._exit(0)
        os.close(write)
        with os.fdopen(read) as answer:
            self.assertEqual(answer.read(), repr(before))
        os.waitpid(child, 0)

    def test_control_c_gives_what_there_is(self):
        script = (
            "import onward, warnings; warnings.simplefilter('ignore')\n"
            "print('ready', flush=True)\n"
            "run = onward.sample('funnel', draws=100_000_000, sampler='rwm', seed=1)\n"
            "print(run.ending, run['w'].shape[1] > 0)\n"
        )
        process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertEqual(process.stdout.readline(), "ready\n")
        time.sleep(0.7)
        started = time.monotonic()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        self.assertEqual(out, "interrupted True\n", err)
        self.assertLess(time.monotonic() - started, 20)  # the summary of a million draws included


    def script(self, text):
        return subprocess.run([sys.executable, "-W", "ignore", "-c", text], capture_output=True, text=True, timeout=120)

    def test_the_interpreter_may_end_while_daemon_threads_sample(self):
        for model in ("onward.model('gaussian', dim=10)", "onward.target(1, lambda t, v, o: (-t[0]**2, -2*t[0]*v[0], -2*v[0]**2))"):
            result = self.script(
                "import onward, threading, time\n"
                f"m = {model}\n"
                "def work():\n"
                "    while True: onward.sample(m, draws=10**7, progress=False, sampler='line-fmala')\n"
                "for _ in range(3): threading.Thread(target=work, daemon=True).start()\n"
                "time.sleep(0.4)\n")
            self.assertEqual(result.returncode, 0, result.stderr[-500:])

    def test_a_handle_dropped_in_its_own_function_ends(self):
        result = self.script(
            "import gc, onward\n"
            "box = []\n"
            "def jet(t, v, o):\n"
            "    if box: box.clear(); gc.collect()\n"
            "    return (-t[0]**2, -2*t[0]*v[0], -2*v[0]**2)\n"
            "box.append(onward.sample(onward.target(1, jet), draws=10**8, sampler='newton-line', progress=False, blocking=False))\n"
            "import time\n"
            "while box: time.sleep(0.01)\n"
            "print('dropped')\n")
        self.assertEqual((result.returncode, result.stdout), (0, "dropped\n"), result.stderr[-500:])

    def test_a_resume_that_is_refused_changes_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            handle = onward.sample("gaussian", draws=100, seed=1, progress=False, blocking=False, out=f"{folder}/a",
                                   sampler="newton-line")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                run = handle.wait()
                with self.assertRaises(onward.UsageError):
                    handle.resume(draws="x")
                self.assertIs(handle.wait(), run)
                self.assertEqual(handle.resume(draws=150).wait()["x"].shape[1], 150)
                with self.assertRaisesRegex(onward.UsageError, "seed 1, not 99"):
                    quiet("gaussian", out=f"{folder}/a", resume=True, seed=99)

    def test_troubles_belong_to_their_runs(self):
        def jet(t, v, order):
            if order:
                raise RuntimeError("broken")
            return -0.5 * t[0] ** 2

        model = onward.target(1, jet)
        handle = onward.sample(model, draws=10, sampler="newton-line", blocking=False, progress=False)
        while handle.running:
            time.sleep(0.01)
        self.assertEqual(model.jet([1.0], order=0), (-0.5,))
        with self.assertRaisesRegex(RuntimeError, "broken"):
            handle.wait()


class Refusals(unittest.TestCase):
    def test_settings(self):
        for settings, words in (
            ({"draws": 0}, "draws"),
            ({"drawz": 3}, "draws"),
            ({"sampler": "nut"}, "Samplers|samplers"),
            ({"seed": -1}, "seed"),
            ({"init": [1.0]}, "shape"),
            ({"resume": True}, "out"),
            ({"max_seconds": float("nan")}, "max_seconds"),
        ):
            with self.subTest(settings=settings), self.assertRaisesRegex(onward.UsageError, words):
                quiet("eight-schools", **settings)
        with self.assertRaisesRegex(onward.UsageError, "funnel"):
            quiet("funel")
        with self.assertRaisesRegex(onward.UsageError, "model"):
            quiet(17)

    def test_a_folder_that_is_there(self):
        with tempfile.TemporaryDirectory() as folder:
            quiet(draws=50, out=f"{folder}/a")
            with self.assertRaises(onward.Error):
                quiet(draws=50, out=f"{folder}/a")
            quiet(draws=50, out=f"{folder}/a", force=True)

    def test_plugin(self):
        model = onward.plugin(os.environ["ONWARD_PLUGIN"], data="3")
        self.assertEqual(model.parameters, {"w": (), "x": (3,)})
        self.assertEqual(quiet(model, draws=50)["x"].shape, (4, 50, 3))
        with self.assertRaisesRegex(onward.Error, "no number of x"):
            onward.plugin(os.environ["ONWARD_PLUGIN"], data="many")
        with self.assertRaisesRegex(onward.Error, "gone.so"):
            onward.plugin("gone.so")


class Memory(unittest.TestCase):
    def test_many_runs_leave_nothing_behind(self):
        def resident():
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

        model = onward.target(1, lambda t, v, order: -0.5 * t[0] ** 2 if order == 0 else
                              (-0.5 * t[0] ** 2, -t[0] * v[0], -v[0] * v[0])[: order + 1])
        settings = dict(draws=4, warmup=0, chains=1, step_size=1.0, sampler="line-fmala", thin=1)
        for _ in range(100):
            quiet(model, **settings)
        gc.collect()
        before = resident()
        for _ in range(400):
            quiet(model, **settings)
            quiet("gaussian", **settings)
        gc.collect()
        self.assertLess(resident() - before, 2e6)


if __name__ == "__main__":
    unittest.main()
