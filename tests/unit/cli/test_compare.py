"""fabricost compare draws its answer where asked."""
import os
import pathlib
import sys
import tempfile
import unittest
import xml.etree.ElementTree

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
from support.command import Command

TOOL = sys.argv.pop(1)
compare = Command(TOOL, "compare")


class Compare(unittest.TestCase):
    def test_a_picture_is_written_where_asked(self):
        with tempfile.TemporaryDirectory() as folder:
            target = pathlib.Path(folder) / "out.svg"
            compare.works("dgx-h100", "dgx-b200", "--serve", "--model", "llama3-8b", "--gpus", "1", "--plot", str(target))
            root = xml.etree.ElementTree.parse(target).getroot()
            words = " ".join(t.text for t in root.iter("{http://www.w3.org/2000/svg}text"))
            for word in ("dgx-h100", "dgx-b200", "milliseconds a token", "USD per million tokens"):
                self.assertIn(word, words)
            compare.refused("dgx-h100", "--serve", "--model", "llama3-8b", "--gpus", "1", "--plot", folder, saying=["--plot"])

if __name__ == "__main__":
    unittest.main()
