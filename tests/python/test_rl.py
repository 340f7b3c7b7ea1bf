"""Plans of reinforcement learning: the command's divisions of GPUs."""
import math

import pytest

import fabricost as fc
from by_command import asked, same, same_terms

BASE = dict(system="dgx-h100", model="llama3-8b", gpus=16, prompts=32, osl=1024, max_osl=8192)
SETTINGS = [
    (dict(), []),
    (dict(overlap="one_step", train_gpus=8), ["--overlap", "one_step", "--train-gpus", 8]),
    (dict(overlap="continuous", length_spread=0.5, reference=True), ["--overlap", "continuous", "--length-spread", 0.5, "--reference"]),
    (dict(colocated=True, critic=True, log_probs=False, updates=4, scale=1.0),
     ["--colocated", "yes", "--critic", "--no-log-probs", "--updates", 4, "--rl-scale", 1]),
]


@pytest.mark.parametrize("more, options", SETTINGS)
def test_divisions_are_the_commands(more, options):
    wanted = asked("plan", "--rl", "--system", "dgx-h100", "--model", "llama3-8b", "--gpus", 16, "--prompts", 32, "--osl", 1024,
                   "--max-osl", 8192, *options)
    plans = fc.plan_rl(**BASE, **more)
    assert len(plans) == len(wanted["layouts"])
    for plan, theirs in zip(plans, wanted["layouts"]):
        for mine, key in dict(iteration_seconds="iteration_s", tokens_per_second="tokens_per_s", train_gpus="train_gpus",
                              rollout_gpus="rollout_gpus", train_idle="train_idle", rollout_idle="rollout_idle").items():
            same(getattr(plan, mine), theirs[key], mine)
        assert (plan.colocated, plan.tp, plan.rollout_tp) == (theirs["colocated"], theirs["training"]["tp"], theirs["rollout"]["tp"])
        same_terms(plan.terms, theirs["terms"])
        assert math.isclose(sum(t.seconds for t in plan.terms), plan.iteration_seconds, rel_tol=1e-9)
        assert plan.interval_seconds[0] <= plan.iteration_seconds <= plan.interval_seconds[1]


def test_what_does_not_fit_says_why():
    with pytest.raises(fc.RequestError) as error:
        fc.plan_rl("dgx-h100", "deepseek-v3", gpus=8, prompts=8, osl=64, max_osl=128)
    assert error.value.reason == "memory"
