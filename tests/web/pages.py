#!/usr/bin/env python3
"""The page in browsers: load, ask, drag, paste, share, offline, bad addresses, bad input, back and forth; accessibility; screenshots.

    pages.py OUT [--tool TOOL] [--shots FOLDER]    OUT: what bindings/web/build.sh wrote; TOOL: the command, whose answers are compared

Chromium of this machine by Playwright (from PyPI, which downloads no browser here). Status 77: neither is there."""

import argparse
import functools
import http.server
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time

from questions import differences

LOG = (pathlib.Path(__file__).resolve().parents[2] / "data" / "measurements" / "dgx-h100-all-reduce.txt")
SKIP = 77


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIP)


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def serve(folder):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def chromium_path():
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def ready(page):
    page.wait_for_selector("html[data-ready]", timeout=20_000)
    page.wait_for_selector(".result h2", timeout=20_000)


class Pages:
    def __init__(self, browser, out, tool, shots):
        self.browser, self.out, self.tool, self.shots = browser, out, tool, shots
        self.server = serve(out / "page")
        self.base = f"http://127.0.0.1:{self.server.server_port}/index.html"
        self.faults = []

    def check(self, holds, what):
        if not holds:
            self.faults.append(what)
            print(f"  FAULT {what}")

    def opened(self, address=None, **how):
        context = self.browser.new_context(**{"viewport": {"width": 1280, "height": 900}, "accept_downloads": True, **how})
        page = context.new_page()
        page.set_default_timeout(10_000)
        page.on("pageerror", lambda error: self.check(False, f"error in the page: {error}"))
        page.on("console", lambda said: self.check("Content Security Policy" not in said.text, f"against the policy: {said.text}"))
        page.goto(address or self.base)
        ready(page)
        return page

    def test_loads_and_asks_the_same_as_the_command(self):
        page = self.opened(self.base + "#v=1&view=curve&system=dgx-a100&operation=all_gather&nodes=4&at=1048576")
        milliseconds = int(page.get_attribute("html", "data-ready"))
        print(f"  ready after {milliseconds} ms, {page.get_attribute('html', 'data-where')}")
        self.check(milliseconds < 5000, f"ready only after {milliseconds} ms")
        self.check("dgx-a100" in page.inner_text(".result h2"), "the address names the machine")
        page.click("text=The same in the command")
        command = page.inner_text("pre.command")
        if self.tool:
            rows = json.loads(subprocess.run([self.tool, *command.split()[1:], "--json"], capture_output=True, check=True).stdout)
            with page.expect_download() as got:
                page.click("button:text-is('JSON')")
            ours = json.loads(pathlib.Path(got.value.path()).read_text())
            same = len(rows) == len(ours) and all(abs(a["time_us"] - b["time_us"]) <= 1e-12 * a["time_us"] for a, b in zip(rows, ours))
            self.check(same, "the page's JSON is the command's")
        for name, begin in (("CSV", "size,time"), ("SVG", "<svg")):
            with page.expect_download() as got:
                page.click(f"button:text-is('{name}')")
            self.check(pathlib.Path(got.value.path()).read_text().startswith(begin), f"{name} is one")
        with page.expect_download() as got:
            page.click("button:text-is('PNG')")
        self.check(pathlib.Path(got.value.path()).read_bytes()[1:4] == b"PNG", "PNG is one")

    def test_controls_change_the_answer_and_the_address(self):
        page = self.opened()
        page.select_option("[name=system]", "gb200-nvl72")
        page.wait_for_function("document.querySelector('.result h2').textContent.includes('gb200-nvl72')")
        self.check("system=gb200-nvl72" in page.url, "the address follows")
        page.fill("[name=nodes]", "4")
        page.press("[name=nodes]", "Enter")
        page.wait_for_function("document.querySelector('.result h2').textContent.includes('4 nodes')")
        page.go_back()
        page.wait_for_function("!document.querySelector('.result h2').textContent.includes('4 nodes')")
        page.go_back()
        page.wait_for_function("document.querySelector('.result h2').textContent.includes('dgx-h100')")
        page.go_forward()
        page.wait_for_function("document.querySelector('.result h2').textContent.includes('gb200-nvl72')")

    def test_bad_input_is_refused_at_its_field(self):
        page = self.opened()
        page.fill("[name=nodes]", "many")
        page.press("[name=nodes]", "Enter")
        page.wait_for_selector("#field-nodes-error:not([hidden])")
        words = page.inner_text("#field-nodes-error")
        self.check("many" in words and page.get_attribute("[name=nodes]", "aria-invalid") is not None, f"refused at the field: {words}")
        page.fill("[name=nodes]", "2")
        page.press("[name=nodes]", "Enter")
        page.wait_for_selector(".chart")
        self.check(page.get_attribute("[name=nodes]", "aria-invalid") is None, "the mark goes with the fault")

    def test_bad_addresses_are_survived(self):
        context = self.browser.new_context()
        for hash_ in ("#v=9&view=curve", "#v=1&view=nowhere", "#v=1&view=curve&colour=red", "#%%%",
                      "#v=1&view=curve&system=no-such-machine"):
            page = context.new_page()
            page.goto(self.base + hash_)
            page.wait_for_function("document.querySelector('html').dataset.ready && (document.querySelector('#note').textContent || "
                                   "document.querySelector('.result .waiting, .result .error, .result h2'))")
            said = page.inner_text("#note") + page.inner_text(".side, main")
            self.check(said.strip(), f"{hash_} says nothing")
            page.close()
        page = self.opened(self.base + "#v=1&view=curve&colour=red")
        self.check("colour" in page.inner_text("#note"), "an unknown field is named")

    def test_sliders_answer_in_time(self):
        page = self.opened()
        page.wait_for_selector("input[name='dial.nic.bandwidth']")
        steps = page.evaluate("""async () => {
          const slider = document.querySelector("input[name='dial.nic.bandwidth']");
          const out = [];
          for (let round = 0; round < 3; round += 1) for (let i = Number(slider.min); i <= Number(slider.max); i += 1) {
            const before = document.querySelector('.chart');
            const began = performance.now();
            slider.value = i;
            slider.dispatchEvent(new Event('input'));
            while (document.querySelector('.chart') === before) {
              const channel = new MessageChannel();
              await new Promise((r) => { channel.port1.onmessage = r; channel.port2.postMessage(0); });
            }
            out.push(performance.now() - began);
            await new Promise((r) => setTimeout(r, 20));
          }
          slider.dispatchEvent(new Event('change'));
          return out.sort((a, b) => a - b);
        }""")
        median, worst = steps[len(steps) // 2], steps[-1]
        print(f"  a slider's step: {median:.1f} ms median, {worst:.1f} ms worst of {len(steps)}")
        self.check(median < 100, f"a slider's step takes {median:.0f} ms")
        self.check("overrides=dial.nic.bandwidth" in page.url, "the address has the dial")
        page.wait_for_function("document.querySelector('.changed')?.textContent.includes('As the machine is')")
        page.reload()
        ready(page)
        page.wait_for_selector("input[name='dial.nic.bandwidth']")
        self.check(page.eval_on_selector("input[name='dial.nic.bandwidth']", "e => e.value === e.max"), "a link keeps the dial")

    def test_two_machines_on_one_chart(self):
        page = self.opened()
        page.check("[name='b.on']")
        page.select_option("[name='b.system']", "dgx-b200")
        page.wait_for_selector(".curve.b")
        page.wait_for_function("document.querySelector('figcaption').textContent.includes('dgx-b200')")
        self.check("b.system=dgx-b200" in page.url, "the address has the second")

    def test_a_log_is_judged_and_never_in_the_address(self):
        page = self.opened(self.base + "#v=1&view=log")
        text = LOG.read_text()
        page.fill("#log-text", text)
        page.wait_for_selector(".measured")
        self.check("thread" not in page.url.lower() and len(page.url) < 300, "the log stays out of the address")
        if self.tool:
            with tempfile.TemporaryDirectory() as folder:
                place = pathlib.Path(folder) / "pasted.log"
                place.write_text(text)
                ask = ["pasted.log", "--system", "dgx-h100", "--json"]
                tool = str(pathlib.Path(self.tool).resolve())
                found, errors = (json.loads(subprocess.run([tool, command, *ask], capture_output=True, check=False, cwd=folder).stdout)
                                 for command in ("diagnose", "validate"))
            self.check(page.inner_text(".verdict") == found["verdict"], f"{page.inner_text('.verdict')} / {found['verdict']}")
            self.check(f"Of {errors['points']} points" in page.inner_text(".result"), "errors are those of validate")
            for question, theirs, files in (("diagnose", found, {"log": "pasted.log"}), ("validate", errors, {"samples": ["pasted.log"]})):
                ours = page.evaluate("([q, f, text]) => window.fabricostAsk(q, f, {'pasted.log': text})",
                                     [question, {"system": "dgx-h100", **files}, text])["answer"]
                differ, _ = differences(ours, theirs)
                self.check(not differ, f"{question} of the page and of the command: {differ[:3]}")
        page.fill("#log-text", "nothing that is a log")
        page.wait_for_selector(".result .error, .result .hint")
        with tempfile.TemporaryDirectory() as folder:
            packed = pathlib.Path(folder) / "run.log.gz"
            import gzip
            packed.write_bytes(gzip.compress(text.encode()))
            page.set_input_files("[name='log-file']", str(packed))
            page.wait_for_selector(".measured")

    def test_layouts_have_a_table_terms_and_a_map(self):
        page = self.opened(self.base + "#v=1&view=layouts")
        page.wait_for_selector(".heat .cell")
        self.check(page.locator("input[name=layout]").count() >= 5, "several layouts")
        page.check("input[name=layout] >> nth=2")
        page.wait_for_function("document.querySelector('.result h3').textContent.includes('row 3')")
        page.select_option("[name=job]", "serve")
        page.wait_for_function("document.querySelector('.result').textContent.includes('First token')")

    def test_every_question_starts_with_an_answer(self):
        page = self.opened(self.base + "#v=1&view=ask")
        names = page.eval_on_selector_all("#question option", "all => all.map((one) => one.value)")
        self.check(len(names) > 20, f"only {names}")
        for name in names:
            page.select_option("#question", name)
            title = name.replace("_", " ")
            page.wait_for_function("([title]) => { const h = document.querySelector('.result h2'), e = document.querySelector('.result "
                                   ".error, .result .waiting'); return e || h?.textContent === title; }", arg=[title])
            self.check(page.locator(".result .error, .result .waiting").count() == 0, f"{name}: {page.inner_text('.result')[:200]}")

    def test_a_point_is_drawn_on_the_curve_of_its_own_setup(self):
        page = self.opened(self.base + "#v=1&view=log")
        head = "system,operation,nodes,ranks,bytes,time_us\n"
        page.fill("#log-text", head + "".join(f"dgx-h100,{operation},{nodes},{8 * nodes},{2 ** power},{100 * nodes}\n" for operation in
                                              ("all_reduce", "all_gather") for nodes in (1, 2) for power in (20, 24, 28)))
        page.wait_for_selector(".measured")
        drawn = page.eval_on_selector_all(".result figure", "all => all.map((one) => [one.querySelectorAll('.measured').length, "
                                          "one.querySelectorAll('.curve').length])")
        self.check(drawn == [[3, 1]] * 4, f"four setups of three points, each on its own curve: {drawn}")

    def test_machine_and_questions(self):
        page = self.opened(self.base + "#v=1&view=machine&system=gb200-nvl72")
        page.wait_for_selector("svg.tiers")
        page = self.opened(self.base + "#v=1&view=ask")
        page.wait_for_selector("dl")
        self.check("nic.bandwidth" in page.inner_text(".result"), "what is needed is answered")
        page.select_option("[name=question]", "compare")
        page.wait_for_function("document.querySelector('.result').textContent.includes('dgx-b200')")

    def test_offline_after_one_visit_and_no_request_after_load(self):
        page = self.opened()
        page.wait_for_function("navigator.serviceWorker.ready.then(() => true)")
        page.wait_for_timeout(500)
        requests = []
        page.on("request", lambda r: requests.append(r.url) if r.url.startswith("http") else None)
        page.select_option("[name=system]", "dgx-a100")
        page.wait_for_function("document.querySelector('.result h2').textContent.includes('dgx-a100')")
        self.check(not requests, f"requests after load: {requests}")
        page.context.set_offline(True)
        page.reload()
        ready(page)
        self.check("dgx-a100" in page.inner_text(".result h2"), "it works offline")
        page.click("nav a[data-view=layouts]")
        page.wait_for_selector("main .error")
        self.check("network" in page.inner_text("main .error"), "a view that was never loaded says that it needs the network once")
        page.context.set_offline(False)
        requests.clear()
        page.click("text=Try again")
        page.wait_for_selector("input[name=layout]")
        self.check(len(requests) == 1 and requests[0].endswith("fabricost-all.wasm.gz"), f"a further view loads one file: {requests}")
        page.context.set_offline(True)
        page.reload()
        page.wait_for_selector("input[name=layout]")
        page.click("nav a[data-view=log]")
        page.wait_for_selector("#log-text")

    def test_one_file_runs_from_disk(self):
        page = self.opened((self.out / "fabricost.html").resolve().as_uri())
        self.check(page.get_attribute("html", "data-where") == "worker", "the one file has a worker")
        page.select_option("[name=system]", "dgx-a100")
        page.wait_for_function("document.querySelector('.result h2').textContent.includes('dgx-a100')")

    def test_the_small_file_says_what_it_does_not_hold(self):
        page = self.opened((self.out / "fabricost-first.html").resolve().as_uri())
        page.click("nav a[data-view=machine]")
        page.wait_for_selector("svg.tiers")
        page.click("nav a[data-view=layouts]")
        page.wait_for_selector("main .error")
        self.check("fabricost.html has all" in page.inner_text("main .error"), "another view names the file that has it")

    def test_without_workers_the_page_answers_itself(self):
        for address in (self.base, (self.out / "fabricost.html").resolve().as_uri()):
            context = self.browser.new_context()
            page = context.new_page()
            page.add_init_script("delete window.Worker")
            page.goto(address)
            ready(page)
            self.check(page.get_attribute("html", "data-where") == "page", f"without workers the page's thread answers: {address}")

    def test_keyboard_alone(self):
        page = self.opened()
        page.focus("input.sizes")
        before = page.inner_text("figcaption")
        page.keyboard.press("ArrowLeft")
        page.wait_for_function("b => document.querySelector('figcaption').innerText !== b", arg=before)
        self.check(page.evaluate("document.activeElement.name") == "at", "the focus stays on the slider")

    def test_axe_finds_nothing(self):
        try:
            import axe_playwright_python
        except ImportError:
            print("  skipped: axe-playwright-python is not here")
            return
        source = (pathlib.Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text()
        page = self.opened()
        page.evaluate(source)
        for view in ("curve&b.on=1&b.system=dgx-b200", "log", "layouts", "machine", "ask"):
            page.evaluate("view => { document.querySelector('main').replaceChildren(); location.hash = `#v=1&view=${view}`; }", view)
            if view == "log":
                page.click("text=Try it with an example")
                page.wait_for_selector(".measured")
            page.wait_for_selector(".result h2")
            for scheme in ("light", "dark"):
                page.emulate_media(color_scheme=scheme)
                page.wait_for_timeout(300)
                found = page.evaluate("axe.run().then((r) => r.violations.map((v) => v.id + ': ' + "
                                      "v.nodes.slice(0, 3).map((n) => n.target + ' ' + n.failureSummary).join(' | ')))")
                self.check(not found, f"axe, {view}, {scheme}: {found}")

    def shoot(self):
        """Screenshots of each view, wide, narrow and dark."""
        self.shots.mkdir(parents=True, exist_ok=True)
        for name, how in (("wide", {}), ("narrow", {"viewport": {"width": 390, "height": 844}}), ("dark", {"color_scheme": "dark"})):
            for view in ("curve&b.on=1&b.system=dgx-b200", "log", "layouts", "machine&system=gb200-nvl72", "ask"):
                page = self.opened(f"{self.base}#v=1&view={view}", **how)
                if view == "log":
                    page.click("text=Try it with an example")
                    page.wait_for_selector(".measured")
                page.wait_for_timeout(900)
                page.screenshot(path=str(self.shots / f"{view.split('&')[0]}-{name}.png"), full_page=True)
                page.context.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--tool")
    parser.add_argument("--shots", type=pathlib.Path)
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        skip("playwright is not here: pip install playwright")
    if not chromium_path():
        skip("no chromium is here: apt-get install chromium")
    if not (given.out / "fabricost.html").exists():
        skip(f"{given.out} holds no page: bindings/web/build.sh makes one, which needs emscripten")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=["--no-sandbox"])
        pages = Pages(browser, given.out, given.tool, given.shots)
        for name in [n for n in dir(pages) if n.startswith("test_") and given.only in n]:
            began = time.monotonic()
            print(name.replace("_", " "))
            try:
                getattr(pages, name)()
            except Exception as error:  # the others still run
                pages.check(False, f"{name}: {error}")
            for context in browser.contexts:
                context.close()
            print(f"  {time.monotonic() - began:.1f} s")
        if given.shots:
            pages.shoot()
        browser.close()
    print(f"{len(pages.faults)} faults")
    sys.exit(1 if pages.faults else 0)


if __name__ == "__main__":
    main()
