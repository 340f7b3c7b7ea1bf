"""The pictures of the pages, drawn by the functions of tests/python/pictures.py."""
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
DPI = 200


def draw(folder, names=None):
    """Writes NAME.png of these pictures, or of all, into the folder. Raises ImportError without matplotlib or pytest."""
    sys.path.insert(0, str(ROOT / "tests/python"))
    import pictures  # the tests' (needs pytest)

    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with pictures.matplotlib.rc_context():
        pictures.matplotlib.rcdefaults()
        pictures.matplotlib.use("Agg")
        for name in pictures.PICTURES if names is None else names:
            figure = pictures.PICTURES[name]().figure
            figure.savefig(folder / f"{name}.png", dpi=DPI)
            pictures.plt.close(figure)
