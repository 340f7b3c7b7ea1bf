"""Fetches one published file: over https, from hosts that are known, no larger than a limit, whole or not at all."""
import contextlib
import http.client
import os
import pathlib
import tempfile
import urllib.error
import urllib.parse
import urllib.request

HOSTS = {"github.com", "raw.githubusercontent.com", "media.githubusercontent.com", "gist.githubusercontent.com", "pastebin.com"}
LARGEST = 20_000_000  # bytes; the largest source has a tenth of it
SECONDS = 30


class Fault(Exception):
    """One line that a person can act on, whatever a server put into it."""

    def __init__(self, text):
        super().__init__(" ".join("".join(c if c.isprintable() else " " for c in text).split()))


def allowed(url, local):
    """Refuses anything but https from a known host; `local` also allows http from this machine, for tests."""
    at = urllib.parse.urlsplit(url)
    if local and at.scheme == "http" and at.hostname in ("localhost", "127.0.0.1"):
        return
    if at.scheme != "https" or at.hostname not in HOSTS:
        raise Fault(f"{url}: only https from {', '.join(sorted(HOSTS))} is fetched")


class Redirects(urllib.request.HTTPRedirectHandler):
    """Follows no redirect to where `allowed` would not go."""

    def __init__(self, local):
        self.local = local

    def redirect_request(self, request, answer, code, message, headers, url):
        try:
            allowed(url, self.local)
        except Fault as fault:
            answer.close()
            raise Fault(f"{request.full_url}: leads to {fault}") from None
        return super().redirect_request(request, answer, code, message, headers, url)


def body(url, local, largest):
    """The bytes of a file. \\throws Fault"""
    allowed(url, local)
    opener = urllib.request.build_opener(Redirects(local))
    try:
        with opener.open(urllib.request.Request(url, headers={"User-Agent": "fabricost"}), timeout=SECONDS) as answer:
            announced = answer.headers.get("Content-Length")
            if announced and int(announced) > largest:
                raise Fault(f"{url}: {announced} bytes, at most {largest} are fetched")
            data = answer.read(largest + 1)
    except urllib.error.HTTPError as error:
        error.close()
        raise Fault(f"{url}: {error.code} {error.reason}") from None
    except urllib.error.URLError as error:
        raise Fault(f"{url}: cannot be reached ({error.reason})") from None
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise Fault(f"{url}: is no answer of a web server ({error or type(error).__name__})") from None
    if len(data) > largest:
        raise Fault(f"{url}: more than {largest} bytes, which is more than is fetched")
    if announced and len(data) != int(announced):
        raise Fault(f"{url}: broke off after {len(data)} of {announced} bytes")
    return data


def write_whole(path, data):
    """A new file with all of the data, or none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".fetching-")
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(data)
        os.link(name, path)  # fails where there is a file
    except FileExistsError:
        raise Fault(f"{path}: is there already, and is not overwritten") from None
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)


def fetch(urls, path, local=False, largest=LARGEST):
    """Writes what the first of the URLs that answers gives. \\throws Fault with what the first one said"""
    first = None
    for url in urls:
        try:
            write_whole(pathlib.Path(path), body(url, local, largest))
            return url
        except Fault as fault:
            first = first or fault
            if " 404 " not in f"{fault} ":
                break
    raise first
