"""The surroundings of the answers: help and version, locales, colour in a terminal only, completion in three shells."""
import os
import pathlib
import pty
import re
import shutil
import subprocess
import tempfile

import contract
from contract import Contract


def joined(text):
    """With the lines that a backslash continues in one."""
    return re.sub(r" \\\n +", " ", text)


class Surroundings(Contract):
    def test_help_and_version(self):
        self.assertRegex(self.fine("--version"), r"^fabricost \d+\.\d+\.\d+\n$")
        overview = self.fine("--help")
        commands = re.findall(r"(?m)^  (\w+)  ", overview.split("Commands:")[1])
        self.assertGreaterEqual(set(commands), {"machine", "predict", "explain", "sweep", "completion"})
        self.assertIn("Example: ", overview)

    def test_an_example_may_be_copied_and_help_is_of_the_question_asked(self):
        for command in (["predict"], ["diagnose"], ["share"], ["plan", "train"], ["plan", "serve"]):
            with self.subTest(command=command):
                example = self.fine(*command, "-h").split("Example: ")[1].split("\nAll ")[0]
                lines = example.splitlines()
                self.assertTrue(all(line.endswith(" \\") for line in lines[:-1]), example)
                self.assertFalse([line for line in lines if line.removesuffix(" \\").split()[-1].startswith("--")], example)
                self.assertFalse([line for line in lines if line.count('"') % 2], example)
        self.assertNotIn("Training software", self.fine("plan", "serve", "--help"))
        self.assertNotIn("Serving framework", self.fine("plan", "train", "--help"))

    def test_a_layout_is_not_broken_over_two_lines(self):
        for more in ([], ["--disaggregated"], ["--request-rate", "2/s"]):
            text = self.fine("plan", "serve", "-m", "deepseek-v3", "-s", "dgx-h200", "-g", "32", "--top", "4", *more, env={"COLUMNS": "80"})
            self.assertFalse([line for line in text.splitlines() if len(line) > 80 or re.match(r" {20,}(\d+ )?(tp|pp|ep|dp) \d", line)], text)

    def test_every_group_of_options_has_a_name(self):
        for command in re.findall(r"(?m)^  (\w+) {2,}\S", self.fine("--help").split("Commands:")[1].split("Options:")[0]):
            self.assertNotRegex(self.fine(command, "--help"), r"(?m)^\s*:", command)

    def test_help_explains_commands_topics_and_causes(self):
        self.assertEqual(self.fine("help", "predict"), self.fine("predict", "--help"))
        for topic in ("units", "layout", "gdr_off"):
            self.assertIn(topic, self.fine("help"))
            self.assertTrue(self.fine("help", topic).startswith(f"{topic}\n\n"))

    def test_colour_in_a_terminal_unless_refused(self):
        shown = lambda **env: self.in_terminal("show", "dgx-h100", env=env)
        self.assertIn(b"\033[1m", shown(TERM="xterm"))
        self.assertNotIn(b"\033", shown(TERM="xterm", NO_COLOR="1"))
        self.assertNotIn(b"\033", shown(TERM="dumb"))

    def in_terminal(self, *arguments, env):
        try:
            leader, follower = pty.openpty()
        except OSError as error:
            self.skipTest(f"no terminal to be had here: {error}")
        process = subprocess.Popen([contract.COMMAND, *arguments], stdout=follower, stderr=subprocess.DEVNULL,
                                   env={"PATH": os.environ.get("PATH", ""), **env})
        os.close(follower)
        out = b""
        while True:
            try:
                piece = os.read(leader, 65536)
            except OSError:  # how Linux says that nobody writes any more
                break
            if not piece:
                break
            out += piece
        os.close(leader)
        self.assertEqual(process.wait(timeout=60), 0)
        return out

    def test_completion_knows_commands_options_systems_and_operations(self):
        for shell in ("bash", "zsh", "fish"):
            script = self.fine("completion", shell)
            for word in ("predict", "sizes", "dgx-h100", "aws-p5", "all_reduce", "nvls_tree"):
                self.assertIn(word, script, shell)

    def test_what_a_file_is_called_does_not_run_in_a_shell(self):
        with tempfile.TemporaryDirectory() as folder:
            data = pathlib.Path(folder) / "data"
            shutil.copytree(contract.DATA, data)
            (data / "systems" / "$(touch ran).yaml").write_text("name: ran\nextends: dgx-h100\n", encoding="utf-8")
            for shell in ("bash", "zsh", "fish"):
                self.assertNotIn("touch", self.fine("completion", shell, env={"FABRICOST_DATA": str(data)}), shell)

    def test_bash_completes(self):
        script = self.fine("completion", "bash")
        asked = ('ask() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _fabricost; echo "${COMPREPLY[@]}"; }\n'
                 "ask fabricost pre\nask fabricost predict --syst\n"
                 "ask fabricost predict --system dgx-h1\nask fabricost predict --system = dgx-h1\n"
                 "ask fabricost predict all_r\nask fabricost machine gb200-nvl7\nask fabricost completion z\n")
        try:
            done = subprocess.run(["bash", "--norc", "-c", script + asked], capture_output=True, text=True, timeout=60)
        except FileNotFoundError:
            self.skipTest("there is no bash here")
        want = ["predict", "--system", "dgx-h100", "dgx-h100", "all_reduce", "gb200-nvl72", "zsh"]
        self.assertEqual(done.stdout.splitlines(), want, done.stderr)
