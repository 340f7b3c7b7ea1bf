"""predict: fields and types, terms that sum to the time, effects of a forced choice or a set value, stated assumptions."""
import pathlib
import subprocess
import tempfile

import contract
from contract import H100, Contract


class Predict(Contract):
    def test_a_part_beside_its_system_is_named_as_it_lies(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "link.yaml").write_text("name: broken\nnonsense: 1\n")
            (pathlib.Path(folder) / "mine.yaml").write_text("name: mine\nextends: dgx-h100\nsource: test\n"
                                                            "tiers: [{name: nvlink, link: ./link.yaml}]\n")
            out = subprocess.run([contract.COMMAND, "show", "./mine.yaml"], cwd=folder, capture_output=True, text=True)
            self.assertEqual((out.returncode, out.stdout), (2, ""))
            self.assertIn("link.yaml:", out.stderr)
            self.assertNotIn("./link.yaml", out.stderr)

    def test_a_file_will_do_where_a_system_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "mine.yaml"
            path.write_text("name: mine\ntitle: Mine\nextends: dgx-h100\nsource: test\nconfidence: assumed\n")
            p = self.predict("all_reduce", "--system", path, "--size", "1MiB")
            self.assertEqual(p["time_us"], self.predict("all_reduce", *H100, "--size", "1MiB")["time_us"])

    def test_a_length_is_written_as_contexts_are_named(self):
        job = "plan train -m llama3-8b -s dgx-h100 -g 8 -b 8 --sequence".split()
        self.assertEqual([self.loaded(*job, text, "--json")["sequence"] for text in ("8192", "8k", "32K", "0.5k")], [8192, 8192, 32768, 512])
        for text, says in (("8q", "128k"), ("many", "128k"), ("0.3k", "whole"), ("100M", "10000000")):
            self.refused(*job, text, says=["--sequence", says])
