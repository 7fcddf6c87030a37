"""Pages of `onward report` in a headless Chromium: they render without a complaint, sort, filter, change their colours,
are driven by keys, fit a phone, print, and open quickly however many draws there are.

usage: browser_test.py PROGRAM page|large
Exit code 77: skipped, because Chromium is not installed."""

import os
import pathlib
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from browser import Browser, find_chromium  # noqa: E402

PROGRAM = os.path.abspath(sys.argv[1])


def onward(*words):
    done = subprocess.run([PROGRAM, *words], capture_output=True, text=True)
    assert done.returncode == 0, f"{words}: {done.stderr}"
    return done.stdout


def make_runs():
    sampling = ["--seed", "1", "--quiet"]
    onward("sample", "eight-schools", "--sampler", "newton-line", "--draws", "500", "--out", "schools", *sampling)
    onward("sample", "eight-schools", "--sampler", "newton-line", "--draws", "500", "--out", "again", "--seed", "2", "--quiet")
    onward("sample", "funnel", "--dim", "4", "--sampler", "nuts", "--max-halvings", "0", "--draws", "500", "--out", "funnel", *sampling)
    noise = random.Random(1)
    with open("visits.csv", "w") as file:
        file.write("visits,age,arm,clinic\n")
        for i in range(120):
            file.write(f"{noise.randrange(8)},{20 + i % 50},{'abc'[i % 3]},c{i % 7}\n")
    onward("glm", "--data", "visits.csv", "--formula", "visits ~ age * arm + (1 | clinic)", "--family", "poisson",
           "--draws", "300", "--out", "visits", *sampling)


def check(true, words):
    assert true, words


def names(browser):
    return browser.run("[...document.querySelectorAll('#summary tbody tr')].map(row => row.cells[0].textContent)")


def column(browser, key):
    head = browser.run(f"""[...document.querySelectorAll('#summary thead th')]
      .findIndex(cell => cell.querySelector('[data-key="{key}"]'))""")
    return browser.run(f"""[...document.querySelectorAll('#summary tbody tr')]
      .map(row => Number(row.cells[{head}].textContent.replace('\\u2212', '-').replace(/[^0-9.-]/g, '')))""")


def check_charts(browser, least):
    browser.scroll_through()
    empty = browser.run("[...document.querySelectorAll('.plot')].filter(host => !host.querySelector('canvas')).length")
    drawn = browser.run("document.querySelectorAll('.plot canvas').length")
    check(drawn >= least and empty == 0, f"{drawn} charts are drawn and {empty} are not")
    unsaid = browser.run("[...document.querySelectorAll('.plot')].filter(host => !host.getAttribute('aria-label')).length")
    check(unsaid == 0, f"{unsaid} pictures have no words for those who cannot see them")


def check_table(browser):
    check(len(names(browser)) == 10, names(browser))
    for key in ("mean", "ess_bulk", "rhat"):
        for _ in range(2):
            browser.run(f"""document.querySelector('#summary [data-key="{key}"]').click()""")
            way = browser.run("document.querySelector('#summary [aria-sort]').getAttribute('aria-sort')")
            values = column(browser, key)
            check(values == sorted(values, reverse=way == "descending"), f"{key} is not sorted: {values}")
    browser.run("""(() => { const search = document.getElementById('search'); search.value = 'THETA 3';
      search.dispatchEvent(new Event('input')); })()""")
    check(names(browser) == ["theta.3"], names(browser))
    check("1 parameter" in browser.run("document.getElementById('shown').textContent"), "the count is not told")
    browser.run("""(() => { const search = document.getElementById('search'); search.value = '';
      search.dispatchEvent(new Event('input')); })()""")
    browser.run("[...document.querySelectorAll('#summary button.name')].find(name => name.textContent === 'tau').click()")
    check(browser.run("document.getElementById('parameter-name').selectedOptions[0].textContent") == "tau", "tau is not chosen")


def check_colours(browser):
    back = "getComputedStyle(document.body).backgroundColor"
    browser.prefer(dark=False)
    light = browser.run(back)
    browser.prefer(dark=True)
    dark = browser.run(back)
    check(light != dark, "the system's dark colours are not followed")
    browser.run("document.getElementById('theme').click()")
    check(browser.run(back) == light, "the switch does not change the colours")
    browser.prefer(dark=False)


def check_keys(browser):
    browser.run("document.activeElement.blur()")
    reached = []
    for _ in range(40):
        browser.press("Tab")
        reached.append(browser.run("document.activeElement.id || document.activeElement.dataset.key || document.activeElement.tagName"))
    for wanted in ("theme", "search", "doubtful", "rhat"):
        check(wanted in reached, f"the key Tab does not lead to {wanted}: {reached}")
    browser.run("""document.querySelector('#summary [data-key="sd"]').focus()""")
    browser.press("Enter")
    check(browser.run("""document.querySelector('#summary [data-key="sd"]').closest('th').hasAttribute('aria-sort')"""),
          "the key Enter does not sort")


def check_phone(browser):
    browser.resize(1000, 900)
    check(browser.run("(box => box.scrollWidth <= box.clientWidth)(document.querySelector('#table .wide'))"),
          "the table does not fit a window of 1000 points")
    browser.resize(400, 800, phone=True)
    browser.scroll_through()
    check(browser.run("document.documentElement.scrollWidth") <= 400, "the page is wider than a phone")
    widest = browser.run("Math.max(...[...document.querySelectorAll('.plot canvas')].map(c => c.getBoundingClientRect().right))")
    check(widest <= 400, f"a chart reaches to {widest} of 400 points")
    browser.resize(1200, 900)


def test_page():
    make_runs()
    pages = {"schools": 8, "visits": 20, "funnel": 9}
    for folder in pages:
        onward("report", folder)
    onward("report", "schools", "again")
    with Browser() as browser:
        for folder, least in pages.items():
            browser.open(f"{folder}/report.html")
            check(browser.run("document.documentElement.dataset.ready") == "true", f"{folder}: the script did not end")
            check(browser.run("document.querySelector('#verdict h2').textContent.length") > 10, "there is no verdict")
            check_charts(browser, least)
            check_colours(browser)
            check_phone(browser)
            browser.print_to("page.pdf")
            check(os.path.getsize("page.pdf") > 50_000, "the printed page is empty")
            check(not browser.complaints, browser.complaints)
        browser.open("funnel/report.html")
        said = browser.run("document.querySelector('#sampler').textContent")
        check("trajectories that diverged" in said and "E-BFMI" in said, said)
        check("diverged" in browser.run("document.querySelector('#verdict').textContent"), "the verdict passes over divergences")
        browser.scroll_through()
        pairs = browser.run("document.querySelector('#pairs').textContent")
        check("Triangles are divergent draws" in pairs, pairs)
        browser.open("schools/report.html")
        check_table(browser)
        check_keys(browser)
        browser.open("schools/comparison.html")
        check(browser.run("document.querySelector('#comparison').textContent").find("The two runs agree") >= 0, "no comparison")
        browser.run("(() => { const run = document.getElementById('run'); run.value = '1'; run.dispatchEvent(new Event('change')); })()")
        check_charts(browser, 8)
        check(not browser.complaints, browser.complaints)


def test_large():
    """200 parameters and 100,000 draws of them."""
    onward("sample", "gaussian", "--dim", "200", "--sampler", "rwm", "--thin", "20", "--warmup", "5000", "--draws", "25000",
           "--chains", "4", "--seed", "1", "--quiet", "--out", "large")
    onward("report", "large")
    size = os.path.getsize("large/report.html")
    check(size <= 20_000_000, f"the page has {size} bytes")
    with Browser() as browser:
        seconds = browser.open("large/report.html")
        check(not browser.complaints, browser.complaints)
        print(f"{size / 1e6:.1f} MB, opened in {seconds:.2f} s")
        # Three seconds on a quiet machine; tests run beside each other on all its cores.
        check(seconds < 9, f"the page takes {seconds:.1f} s to open")
        browser.run("document.querySelector('.more').click()")
        check(len(names(browser)) == 200, "not all rows are shown")


if not find_chromium():
    print("skipped: Chromium is not installed; apt-get install chromium")
    sys.exit(77)
with tempfile.TemporaryDirectory(prefix="onward-report-") as folder:
    os.chdir(folder)
    {"page": test_page, "large": test_large}[sys.argv[2]]()
