#!/usr/bin/env python3
"""The page in Firefox (by WebDriver BiDi) and in WebKitGTK (by its WebDriver, under Xvfb): load, ask, refuse, paste, back; the one file
too.

    other_browsers.py OUT    OUT: what bindings/web/build.sh wrote

A browser that is not here is said and left out; status 77: none is here."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

from pages import LOG, serve

# Runs in the page; gives back what does not hold.
SMOKE = """
async (log) => {
  const faults = [];
  const until = async (what, holds) => {
    for (let i = 0; i < 1600; i += 1) {  // 40 s: a busy machine starts a browser slowly
      try { if (holds()) return; } catch { /* not yet */ }
      await new Promise((r) => setTimeout(r, 25));
    }
    faults.push(what);
  };
  const $ = (s) => document.querySelector(s);
  const set = (s, value) => { $(s).value = value; $(s).dispatchEvent(new Event('input')); $(s).dispatchEvent(new Event('change')); };
  await until('it does not start', () => $('html').dataset.ready && $('.result h2').textContent.includes('dgx-h100'));
  if (faults.length > 0) return { faults, page: document.body.innerText.slice(0, 300) };
  set('[name=system]', 'gb200-nvl72');
  const shows = (name) => $('.result h2').textContent.includes(name);
  await until('another machine is not shown', () => shows('gb200-nvl72') && location.hash.includes('gb200-nvl72'));
  set('[name=nodes]', 'many');
  const refused = () => !$('#field-nodes-error').hidden && $('#field-nodes-error').textContent.includes('many');
  await until('a bad value is not refused at its field', refused);
  history.back();
  await until('back does not go back', () => shows('gb200-nvl72') && $('[name=nodes]').value === '2');
  $('nav a[data-view=log]').click();
  await until('the log view is not shown', () => $('#log-text'));
  $('#log-text').value = log;
  $('#log-text').dispatchEvent(new Event('input'));
  await until('a pasted log is not drawn', () => $('.measured'));
  return { faults, ready: $('html').dataset.ready, where: $('html').dataset.where };
}
"""


class Firefox:
    """The part of WebDriver BiDi that is needed here."""

    def __init__(self):
        import websocket
        self.profile = tempfile.mkdtemp()
        self.process = subprocess.Popen([shutil.which("firefox-esr") or shutil.which("firefox"), "--headless", "--profile", self.profile,
                                         "--remote-debugging-port", "0"], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
                                        env={**os.environ, "HOME": self.profile})
        for line in self.process.stderr:
            if "WebDriver BiDi listening on " in line:
                address = line.split("listening on ")[1].strip()
                break
        else:
            raise RuntimeError("Firefox does not start")
        self.socket = websocket.create_connection(address + "/session", suppress_origin=True, timeout=200)
        self.number = 0
        self.send("session.new", {"capabilities": {}})
        self.context = self.send("browsingContext.getTree", {})["contexts"][0]["context"]

    def send(self, method, params):
        self.number += 1
        self.socket.send(json.dumps({"id": self.number, "method": method, "params": params}))
        while True:
            got = json.loads(self.socket.recv())
            if got.get("id") == self.number:
                if got["type"] == "error":
                    raise RuntimeError(f"{method}: {got['message']}")
                return got["result"]

    def smoke(self, address):
        self.send("browsingContext.navigate", {"context": self.context, "url": address, "wait": "complete"})
        got = self.send("script.evaluate", {"expression": f"({SMOKE})({json.dumps(LOG.read_text())}).then((r) => JSON.stringify(r))",
                                            "target": {"context": self.context}, "awaitPromise": True})
        if got["type"] != "success":
            raise RuntimeError(json.dumps(got["exceptionDetails"])[:500])
        return json.loads(got["result"]["value"])

    def close(self):
        self.socket.close()
        self.process.terminate()
        self.process.wait(20)
        shutil.rmtree(self.profile, ignore_errors=True)


class WebKit:
    def __init__(self):
        from selenium import webdriver
        self.screen = subprocess.Popen(["Xvfb", ":97", "-screen", "0", "1280x900x24"], stderr=subprocess.DEVNULL)
        os.environ["DISPLAY"] = ":97"
        os.environ.setdefault("WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS", "1")  # containers have no user namespaces
        time.sleep(1)
        options = webdriver.WebKitGTKOptions()
        found = sorted(pathlib.Path("/usr/lib").glob("*/webkit2gtk-*/MiniBrowser"))
        options.binary_location = str(found[-1])
        options.add_argument("--automation")
        self.driver = webdriver.WebKitGTK(options=options, service=webdriver.WebKitGTKService(shutil.which("WebKitWebDriver")))
        self.driver.set_script_timeout(200)

    def smoke(self, address):
        self.driver.get(address)
        script = f"const done = arguments[1]; ({SMOKE})(arguments[0]).then(done, (e) => done({{faults: [String(e)]}}))"
        return self.driver.execute_async_script(script, LOG.read_text())

    def close(self):
        self.driver.quit()
        self.screen.terminate()


def main():
    out = pathlib.Path(sys.argv[1])
    if not (out / "fabricost.html").exists():
        print(f"skipped: {out} holds no page: bindings/web/build.sh makes one, which needs emscripten")
        sys.exit(77)
    server = serve(out / "page")
    faults, ran = 0, 0
    here = {Firefox: shutil.which("firefox-esr") or shutil.which("firefox"),
            WebKit: shutil.which("WebKitWebDriver") and shutil.which("Xvfb")}
    for browser, program in here.items():
        try:
            if not program:
                raise ImportError("the browser or its driver")
            one = browser()
        except ImportError as missing:
            print(f"{browser.__name__}: left out, {missing} is not here")
            continue
        for address in (f"http://127.0.0.1:{server.server_port}/index.html", (out / "fabricost.html").resolve().as_uri()):
            began = time.monotonic()
            found = one.smoke(address)
            print(f"{browser.__name__} {address[:5]}: ready after {found.get('ready')} ms in the {found.get('where')}, "
                  f"{time.monotonic() - began:.1f} s, {found['faults'] or 'all holds'} {found.get('page', '')}")
            faults += len(found["faults"])
            ran += 1
        one.close()
    if ran == 0:
        print("skipped: neither Firefox nor WebKitGTK with their drivers is here")
    sys.exit(77 if ran == 0 else faults > 0)


if __name__ == "__main__":
    main()
