"""A rule is a row: files of rules beside the shipped ones, sound and broken, as the command takes them.

    test_rule_files.py FABRICOST DATA
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

TOOL, DATA = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
HEAD = "name: mine\ntitle: Mine\nsource: a test\nconfidence: assumed\norder: 9\n"
LOG = "x:1:2 [0] NCCL INFO cudaDriverVersion 12020\nx:1:2 [0] init.cc:9 NCCL INFO Double GPU seen : rank 1 and rank 0 both on 5000\n"


def diagnosed(rules, log=LOG, *words):
    """(exit status, stdout, stderr) with one more file of rules."""
    with tempfile.TemporaryDirectory() as folder:
        data = pathlib.Path(folder) / "data"
        (data / "diagnosis").mkdir(parents=True)
        for file in [*DATA.iterdir(), *(DATA / "diagnosis").iterdir()]:
            place = data / file.relative_to(DATA)
            if not place.exists():
                place.symlink_to(file)
        (data / "diagnosis" / "mine.yaml").write_text(HEAD + rules)
        (pathlib.Path(folder) / "run.log").write_text(log)
        done = subprocess.run([TOOL, "diagnose", os.path.join(folder, "run.log"), "--json", *words], capture_output=True, text=True, timeout=60,
                              check=False, env=os.environ | {"FABRICOST_DATA": str(data)})
        return done.returncode, done.stdout, done.stderr


def causes(rules, log=LOG):
    status, out, err = diagnosed(rules, log)
    assert status == 0 and err == "", (status, err)
    return json.loads(out)["causes"]


ROW = """rules:
- cause: other
  words: [Double GPU seen]
  weight: 0.9
  as: proof
  evidence: "{line}: two ranks on one GPU"
  remedy: give each rank a GPU of its own
"""


def one_row():
    assert causes("") == []
    found = causes(ROW)
    assert len(found) == 1 and found[0]["confidence"] == 0.9 and found[0]["remedy"] == "give each rank a GPU of its own", found
    assert found[0]["evidence"] == "line 2: x:1:2 [0] init.cc:9 NCCL INFO Double GPU seen : rank 1 and rank 0 both on 5000: " \
                                   "two ranks on one GPU", found
    assert causes(ROW.replace("[Double GPU seen]", "[{all: [double gpu], any_case: true}]")) == found
    assert causes(ROW.replace("[Double GPU seen]", "[{all: [Double GPU], none: [both on 5000]}]")) == []
    assert causes(ROW.replace("  weight", "  when: one_node\n  weight")) == [], "every condition has to hold"
    assert causes(ROW.replace("  weight", "  when: not one_node\n  weight")) == found
    assert causes(ROW.replace("  weight", "  when: one_node or not several_nodes\n  weight")) == found


def facts():
    """A fact counts in whatever line, a sign needs an event."""
    log = LOG + "INFO 07-27 06:50:12 server_args=ServerArgs(gpu_name='Frobnik 9', tp_size=8)\n"
    told = ROW.replace("  weight", "  when: frobnik\n  weight")
    assert causes(told + "facts: {frobnik: [Frobnik 9]}\n", log) == causes(ROW, log) != []
    assert causes(told + "signs: {frobnik: [Frobnik 9]}\n", log) == []


def first_of():
    rows = """rules:
- as: proof
  remedy: look
  evidence: "{line}"
  when: here
  first_of:
  - {when: one_node, cause: iommu, weight: 0.5}
  - {cause: other, weight: 0.4, evidence: "{here}!"}
  - {cause: stragglers, weight: 0.3}
signs: {here: [Double GPU]}
"""
    found = causes(rows)
    assert [(f["cause"], f["confidence"]) for f in found] == [("other", 0.4)] and found[0]["evidence"].endswith("5000!"), found


def settings():
    rows = """settings:
  evidence: "{line}: {what}"
  remedy: unset {variable}
  variables:
  - {variable: NCCL_TEST, value: "7", cause: other, weight: 0.4, as: proof, what: odd}
  - {variable: NCCL_TEST, most: 8, cause: other, weight: 0.6, as: proof, what: few}
"""
    log = LOG + "x:1:2 [0] NCCL INFO NCCL_TEST set by environment to 7\n"
    found = causes(rows, log)
    assert len(found) == 1 and found[0]["evidence"].endswith(": few") and found[0]["remedy"] == "unset NCCL_TEST", found
    assert causes(rows, log.replace("to 7", "to 9")) == []


def counted():
    """Counted cases correct a weight: (right + n weight) / (right + wrong + n)."""
    plain = causes(ROW)[0]
    assert plain["rule"] == "mine.other.1", plain
    weight = plain["confidence"]
    for right, wrong in ((0, 0), (12, 0), (0, 12), (3, 9)):
        found = causes(ROW + f"counted:\n- {{rule: mine.other.1, right: {right}, wrong: {wrong}}}\n")[0]["confidence"]
        share = right / (right + wrong) if right + wrong else weight
        assert min(share, weight) - 1e-3 <= found <= max(share, weight) + 1e-3, (right, wrong, found)
        assert (found > weight) == (right > 0 and wrong == 0) and (found < weight) == (wrong > 0), (right, wrong, found)


def two_lines():
    """A second line for the same cause makes it likelier, the same line said twice does not."""
    row = ROW.split("rules:\n")[1].replace("weight: 0.9", "weight: 0.6")
    once = causes("rules:\n" + row)[0]["confidence"]
    assert causes("rules:\n" + row + row)[0]["confidence"] == once == 0.6
    second = row.replace("[Double GPU seen]", "[Third GPU seen]")
    log = LOG + "x:1:2 [0] init.cc:9 NCCL INFO Third GPU seen\n"
    more = causes("rules:\n" + row + second, log)[0]["confidence"]
    assert once < more < 1, more


def questions():
    ask = "questions:\n- {ask: look here, tells: much, groups: [other], when: WHEN}\n"
    row = ROW.replace("weight: 0.9", "weight: 0.6")
    def asked(when):
        with_question = diagnosed(row + ask.replace("WHEN", when))
        assert with_question[0] == 0, with_question
        return [q["ask"] for q in json.loads(with_question[1])["next"]]
    assert "look here" in asked("nccl_messages") and "look here" not in asked("not nccl_messages")
    for broken, said in ((ask.replace("[other]", "[gremlins]"), "gremlins"), (ask.replace("WHEN", "oone_node"), "neither a sign")):
        status, _, err = diagnosed(row + broken.replace("WHEN", "one_node"))
        assert status == 2 and said in err, err


def faults():
    for change, said in [
            (("words: [Double GPU seen]", "when: acs_onn"),
             ["rules[0].when", "neither a sign nor a signal", 'did you mean "acs_on"?']),
            (("words: [Double GPU seen]", "when: judgement"), ["rules[0].when", "neither a sign nor a signal"]),
            (('"{line}: two', '"{lime}: two'), ["rules[0].evidence", 'nothing gives "{lime}"', "line"]),
            (("  weight: 0.9\n", ""), ["rules[0].weight", "is missing"]),
            (("  as: proof\n", ""), ["rules[0].as", "is missing"]),
            (("- cause: other\n  words", "- words"), ["rules[0].cause", "is missing"]),
            (("  words: [Double GPU seen]\n", ""), ["rules[0].when", "is missing"]),
            (("[Double GPU seen]", "['']"), ["rules[0].words", "empty text"]),
            (("  weight: 0.9", "  at: {leest: 1}\n  when: slower_between_nodes\n  weight: 0.9"), ["rules[0].at.leest", "unknown key"]),
            (("rules:", "signs: {bond: [x]}\nrules:"), ["is named twice"]),
            (("rules:", "signs: {one_node: [x]}\nrules:"), ["signs.one_node", "is the name of a signal"]),
            (("rules:", "signals: {colapse: {times: 3}}\nrules:"), ["signals.colapse", "unknown key", "collapse"]),
            (("rules:", "signals: {collapse: {times: three}}\nrules:"), ["signals.collapse.times", "three"]),
            (("rules:", "counted:\n- {rule: mine.other.2, right: 1, wrong: 0}\nrules:"),
             ["counted[0].rule", '"mine.other.2" is no rule', 'did you mean "mine.other.1"?']),
            (("cause: other", "cause: gremlins"), ["rules[0].cause", '"gremlins" is not known'])]:
        assert change[0] in ROW, change
        status, out, err = diagnosed(ROW.replace(*change))
        assert status == 2 and out == "" and all(word in err for word in said), (change, status, err)
        assert ".yaml:" in err, "a fault says its file and line: " + err
    status, _, err = diagnosed(ROW.replace("cause: other", "cause: gremlins"), LOG, "--follow")
    assert status == 2 and "gremlins" in err, "a fault is no reason to wait for ever: " + err


def missing_threshold():
    """A signal whose threshold stands nowhere is a fault of the rule that asks for it."""
    status, _, err = diagnosed("rules:\n- {cause: other, when: wordless, weight: 1, as: proof, evidence: x, remedy: y}\n")
    assert status == 2 and "wordless" in err, err


if __name__ == "__main__":
    for test in (one_row, facts, first_of, settings, counted, two_lines, questions, faults, missing_threshold):
        test()
    print("rules are rows")
