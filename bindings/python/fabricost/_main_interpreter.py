"""Imported first: refuses sub-interpreters, where the compiled part, which has one set of classes, would wait for itself."""
import importlib

for _name in ("_interpreters", "_xxsubinterpreters"):  # from Python 3.13 on, before
    try:
        _interpreters = importlib.import_module(_name)
    except ImportError:
        continue
    if _interpreters.get_current() != _interpreters.get_main():
        raise ImportError("fabricost can be imported in the main interpreter only, not in a sub-interpreter "
                          "(mod_wsgi: WSGIApplicationGroup %{GLOBAL})")
    break
