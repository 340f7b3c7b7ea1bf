"""from_sources.py --fetch against a server of this machine: whole files or none, one line for each that cannot be had."""
import contextlib
import http.server
import threading

import pytest

pytest.importorskip("yaml", reason="pip install pyyaml")
pytest.importorskip("fabricost", reason="the package is not built here")
from published import Made, run, table, write_sources
import published_fetch

TEXT = table()
PLACE = "fetched/github.com/someone/measured/logs/a_run.txt"


@contextlib.contextmanager
def serving(answers):
    """A server on a free port; `answers`: path -> a function of the handler, or the text. Yields (its address, the paths asked for)."""
    asked = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            answer = answers.get(self.path)
            if callable(answer):
                answer(self)
            elif answer is None:
                self.send_error(404)
            else:
                send(self, answer.encode())

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def send(handler, data, announced=None, status=200, **headers):
    handler.send_response(status)
    if announced is not False:
        handler.send_header("Content-Length", str(len(data) if announced is None else announced))
    for name, value in headers.items():
        handler.send_header(name, value)
    handler.end_headers()
    with contextlib.suppress(ConnectionError):  # who asked may have enough
        handler.wfile.write(data)


@pytest.fixture
def ask(tmp_path, capsys):
    """A call with --fetch for one run, of a server with these answers."""
    def call(answers, **more):
        folder = tmp_path / "copies"
        sources = write_sources(tmp_path / "s.yaml", run("a_run", TEXT, **more), commit="0123456789")
        with serving(answers) as (address, asked):
            made = Made(capsys, folder, sources, "--fetch", "--base", address)
        made.asked, made.file = asked, folder / PLACE
        return made
    return call


AT = "/someone/measured/raw/0123456789/logs/a_run.txt"
HEAD = "/someone/measured/raw/HEAD/logs/a_run.txt"


def test_what_the_network_gives_is_read_and_kept_as_it_lay(ask):
    made = ask({AT: f"prose\n{TEXT}"})
    assert made.status == 0 and made.said == [] and made.asked == [AT]
    assert made.file.read_text(encoding="utf-8") == f"prose\n{TEXT}" and "| dgx-h100 | 3 |" in made.text


def test_a_file_that_left_the_commit_is_taken_from_the_branch(ask):
    made = ask({HEAD: TEXT})
    assert made.status == 0 and made.asked == [AT, HEAD] and made.file.is_file()


def refused(made, said):
    """One line about the fetch and one about the run; no file, no page."""
    assert made.status == 2 and not made.file.exists() and not made.text
    assert len(made.said) == 3 and said in made.said[0], made.said
    assert made.said[0].startswith("from_sources: fetch: http://127.0.0.1:") and "no copy in" in made.said[1]
    assert all(line.isprintable() for line in made.said)


def test_a_file_that_is_nowhere_is_said_with_its_address(ask):
    refused(ask({}), f"{AT}: 404 Not Found")


def test_a_file_that_breaks_off_is_not_kept(ask):
    refused(ask({AT: lambda handler: send(handler, TEXT.encode()[:300], announced=len(TEXT))}), f"broke off after 300 of {len(TEXT)} bytes")


@pytest.mark.parametrize("announced, said", [(None, "5000 bytes, at most 2000 are fetched"), (False, "more than 2000 bytes")])
def test_a_huge_file_is_not_fetched(ask, monkeypatch, announced, said):
    monkeypatch.setattr("published_sources.LARGEST", 2000)
    refused(ask({AT: lambda handler: send(handler, b"x" * 5000, announced=announced)}), said)


def test_a_redirect_leads_nowhere_else(ask):
    refused(ask({AT: lambda handler: send(handler, b"", status=302, Location="http://example.org/a_run.txt")}), "only https from")


@pytest.mark.parametrize("url", ["http://github.com/x", "ftp://github.com/x", "https://example.org/x", "file:///etc/passwd",
                                 "https://github.com.example.org/"])
def test_only_known_hosts_are_asked_and_only_over_https(url, tmp_path):
    with pytest.raises(published_fetch.Fault, match="only https from"):
        published_fetch.fetch([url], tmp_path / "file")
    assert not list(tmp_path.iterdir())


def test_a_server_of_this_machine_needs_the_flag_for_tests(tmp_path):
    with serving({"/x": "text"}) as (address, asked):
        with pytest.raises(published_fetch.Fault):
            published_fetch.fetch([f"{address}/x"], tmp_path / "file")
        assert not asked
        published_fetch.fetch([f"{address}/x"], tmp_path / "file", local=True)
        with pytest.raises(published_fetch.Fault, match="is there already, and is not overwritten"):
            published_fetch.fetch([f"{address}/x"], tmp_path / "file", local=True)
    assert (tmp_path / "file").read_text(encoding="utf-8") == "text" and len(list(tmp_path.iterdir())) == 1
