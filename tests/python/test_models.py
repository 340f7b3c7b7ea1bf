"""Models and stacks: the command's numbers, records that copy and compare, faults named."""

import pytest

import fabricost as fc
from by_command import asked, same

SHAPE = {"vocab": "vocab", "ffn": "ffn", "layers": "layers", "hidden": "hidden", "heads": "heads", "gated": "gated", "tied": "tied",
         "positions": "positions", "attention_layers": "attention_layers", "dense_layers": "dense_layers", "expert_layers": "expert_layers",
         "predict_layers": "predict_layers"}


@pytest.mark.parametrize("name, sequence", [("llama3-405b", 4096), ("deepseek-v3", 8192), ("gpt3-175b", 2048), ("moe-1.8t", 4096)])
def test_a_model_is_what_the_command_prints(name, sequence):
    model, wanted = fc.load_model(name), asked("models", name, "--sequence", sequence)
    for mine, theirs in SHAPE.items():
        same(getattr(model, mine), wanted["shape"][theirs], mine)
    for part in ("total", "active", "multiplied", "attention", "mixer", "dense_ffn", "expert", "shared", "router", "norms", "embedding",
                 "head"):
        same(getattr(model.parameters, part), wanted["parameters"][part], part)
    flops = wanted["flops_per_token"]
    same(model.forward_flops(sequence) / sequence, flops["forward"], "forward")
    same(model.decode_flops(sequence), flops["decode"], "decode")
    for convention, of_scores in flops["training"].items():
        for scores, value in of_scores.items():
            if value is None:
                with pytest.raises(fc.RequestError, match="no term"):
                    model.training_flops_per_token(sequence, convention=convention, scores=scores)
            else:
                same(model.training_flops_per_token(sequence, convention=convention, scores=scores), value, convention)
    same(model.kv_bytes_per_token(), wanted["kv_bytes_per_token"], "kv")
    same(model.kv_bytes(sequence), wanted["kv_bytes_per_sequence"], "kv of a sequence")
    assert (model.title, model.aliases, model.source) == (wanted["title"], wanted["aliases"], wanted["source"])


def test_names_are_the_commands_and_each_loads():
    names = fc.model_names()
    assert names == [one["name"] for one in asked("models")]
    assert fc.load_model("LLAMA3.1-405B") == fc.load_model("llama3-405b")
    assert "megatron-core" in fc.stack_names()
    for stack in fc.stack_names():
        assert fc.load_stack(stack).name == stack
