"""fabricost pipeline as people and scripts see it: exit status, streams, the JSON's fields, the picture.

    test_pipeline_cli.py FABRICOST
"""
import json
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
from command import Command

COMMAND = Command(os.path.abspath(sys.argv[1]), "pipeline")
works, refused = COMMAND.works, COMMAND.refused
ZB_H1 = ["--schedule", "zb-h1", "--stages", 8, "--microbatches", 24, "--forward", "18.522ms", "--backward", "18.086 ms",
         "--weight", "9.337ms", "--exchange", "601us"]

# what a published row says (Qi 2023, arXiv 2401.10241: 1.5B, 24 microbatches, ZB-H1)
answer = json.loads(works(*ZB_H1, "--json"))
assert abs(answer["bubble_over_total"] - 0.1585) < 1e-4, answer["bubble_over_total"]
assert answer["closed_form_exact"] and abs(answer["closed_form_bubble_s"] - answer["bubble_s"]) < 1e-9
assert len(answer["by_stage"]) == 8 and all(len(stage["work"]) == 72 for stage in answer["by_stage"])
assert abs(answer["step_s"] - answer["work_s"] - answer["bubble_s"]) < 1e-12
assert max(stage["peak_activations"] for stage in answer["by_stage"]) <= 8 + 1e-9

text = works(*ZB_H1)
for piece in ["15.85 % of the step", "bubble", "stage", "FFFF", "one character is"]:
    assert piece in text, (piece, text)
assert all(len(line) <= 120 for line in text.splitlines()), text

with tempfile.TemporaryDirectory() as folder:
    picture = os.path.join(folder, "chart.svg")
    works(*ZB_H1, "--svg", picture)
    with open(picture, encoding="utf-8") as file:
        assert file.read().startswith("<?xml")

for schedule in ["gpipe", "1F1B", "interleaved", "zb_h2", "ZB-1p", "zb_2p", "zb-v", "v_half", "V-Min", "dualpipe", "DualPipeV"]:
    step = json.loads(works("--schedule", schedule, "-p", 4, "-m", 12, "--forward", "1ms", "--json"))
    assert step["work_s"] <= step["step_s"] * (1 + 1e-12) <= 2 * step["work_s"], (schedule, step["step_s"])

refused(saying=["which schedule?", "zb_h1"])
refused("--schedule", "zb_h3", "--stages", 4, "--microbatches", 8, "--forward", "1ms", saying=['"zb_h3" is not a schedule', "zb_h1"])
refused("--schedule", "1f1b", "--microbatches", 8, "--forward", "1ms", saying=["how many stages?"])
refused("--schedule", "1f1b", "--stages", 4, "--microbatches", 8, saying=["how long is a forward?"])
refused("--schedule", "1f1b", "--stages", 4, "--microbatches", 8, "--forward", "5", saying=['--forward: "5" has no unit', "5 ms"])
refused("--schedule", "1f1b", "--stages", 4, "--microbatches", 8, "--forward", "-5ms", saying=["0 or more"])
refused("--schedule", "1f1b", "--stages", 4, "--microbatches", 8, "--forward", "nan ms", saying=["is not a time"])
refused("--schedule", "1f1b", "--stages", 0, "--microbatches", 8, "--forward", "1ms", saying=["--stages"])
refused("--schedule", "dualpipe", "--stages", 4, "--microbatches", 6, "--forward", "1ms", saying=["at least twice the stages: 8"])
refused("--schedule", "1f1b", "--stages", 1000, "--microbatches", 100000, "--forward", "1ms", saying=["ask for fewer"])
refused("--schedule", "1f1b", "--stages", 4, "--microbatches", 8, "--forward", "1ms", "--overlapped", "2ms", saying=["dualpipe"])
refused("--schedule", "zb_2p", "--stages", 4, "--microbatches", 8, "--forward", "1ms", "--held", "1.5", saying=["from 0 to 1"])
refused("--schedule", "1f1b", "--stages", 4, "--microbatches", 8, "--forward", "1ms", "--width", "3", saying=["write 10 to 1000"])
print("fabricost pipeline: as promised")
