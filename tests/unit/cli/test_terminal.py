"""On a terminal of 80 x 24 every -h is one screen, and every example of the help texts runs and prints no longer line. JSON says its question.

    test_terminal.py FABRICOST
"""
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests" / "unit" / "trace"))
from emit import Job  # noqa: E402

TOOL, LINES, COLUMNS = sys.argv[1], 24, 80
FILES = {"all_reduce.log": ROOT / "data/measurements/dgx-h100-all-reduce.txt", "topo.txt": ROOT / "tests/contract/files/nvidia-topo.txt"}
# commands of the Python package, of GPUs, of a shell; pictures and tables for programs
LEFT_OUT = ("report ", "export ", "exporter ", "measure ", "completion ", "| ", "--svg", "--csv")


def shown(*arguments, columns=COLUMNS, cwd=None):
    done = subprocess.run([TOOL, *arguments], capture_output=True, text=True, timeout=120, cwd=cwd, stdin=subprocess.DEVNULL,
                          env={**os.environ, "COLUMNS": str(columns)})
    assert done.returncode == 0, (arguments, done.returncode, done.stderr)
    return done.stdout


def check_width(text, *about):
    """An address in a list of sources stays whole, so that it can be opened."""
    wide = [line for line in text.splitlines() if len(re.sub(r"https?://\S+$", "", line) if "://" in line[:COLUMNS] else line) > COLUMNS]
    assert not wide, (*about, wide)


def commands():
    return re.findall(r"(?m)^  (\w+) {2,}\S", shown("--help").split("Commands:")[1].split("Options:")[0])


def examples(command):
    text = shown(command, "--help")
    check_width(text, command, "--help")
    lines = text.split("\nExample: ")[1].replace(" \\\n", " ").splitlines()
    return [" ".join(line.split()) for line in lines if line.strip().startswith("fabricost ")]


def test_help_is_one_screen():
    for command in (*commands(), "plan train", "plan serve", "plan rl", "compare train", "compare serve"):
        text = shown(*command.split(), "-h")
        check_width(text, command, "-h")
        assert len(text.splitlines()) <= LINES, (command, len(text.splitlines()))


def test_examples_are_within_the_terminal():
    tried = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, target in FILES.items():
            os.symlink(target, os.path.join(folder, name))
        job = Job(8, {"0": ("default_pg", list(range(8)))})
        for _ in range(4):
            job.compute(1000)
            job.collective("0", "allreduce", 32 << 20, 310.0)
        os.mkdir(os.path.join(folder, "traces"))
        job.write(os.path.join(folder, "traces"))
        for line in [line for command in commands() for line in examples(command)]:
            words = shlex.split(line.split(" > ")[0])[1:]
            if any(part in line for part in LEFT_OUT) or words[-1] == "-":
                continue
            check_width(shown(*words, cwd=folder), line)
            tried += 1
    assert tried > 25, tried


def test_blocks_below_repeat_what_is_varied():
    text = shown(*shlex.split('explore --train -s dgx-h100 -m llama3-8b -g 64 -b 128 --vary domain=8,16 "nic.bandwidth=25,50GB/s per direction"'))
    blocks = [line for line in text.splitlines() if line.lstrip().startswith("domain, GPUs")]
    assert len(blocks) > 1 and all("nic.bandwidth" in line for line in blocks), blocks
    assert blocks[-1].endswith("standing"), blocks


def test_counts_and_rates_have_no_exponent():
    for line in ("plan train -m llama3-8b -s dgx-h100 -g 8 -b 64 --top 1", "compare dgx-h100 dgx-b200 --train -m llama3-8b -g 8 -b 64",
                 "transfer incast -s dgx-h100 --senders 1000000 --size 1MB"):
        assert not re.search(r"\de\+\d", shown(*shlex.split(line))), line


def refused(*arguments):
    done = subprocess.run([TOOL, *arguments], capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL,
                          env={**os.environ, "COLUMNS": str(COLUMNS)})
    assert done.returncode == 2 and not done.stdout, (arguments, done.returncode, done.stdout[:200])
    return done.stderr


def test_refusals_are_within_the_terminal():
    lines = [line.split("\t")[0] for line in (ROOT / "tests/contract/refusals.tsv").read_text(encoding="utf-8").splitlines()]
    plain = [line for line in lines if not re.search(r"files/|corpus/|measurements/|data/|x{50}", line)]
    for line in plain[::6]:
        text = refused(*shlex.split(line))
        assert all(len(one) <= COLUMNS for one in text.splitlines()), (line, text)


def test_the_remedy_below_a_late_column_of_a_table_has_room():
    with tempfile.TemporaryDirectory() as folder:
        table = pathlib.Path(folder) / "kernels.csv"
        table.write_text("id,group,source,interconnect,gpu,op,tokens,hidden,ffn,time_us\n"
                         f"1,mine,{'a long description ' * 3},,H100,gemm_bf16,16,8192,10240,abc\n", encoding="utf-8")
        lines = refused("calibrate", "--from", str(table)).splitlines()
    mark = next(at for at, line in enumerate(lines) if line.strip().startswith("^"))
    assert lines[mark].strip() == "^" and lines[mark + 1].startswith("    write a number"), lines


def test_a_guess_from_another_tool_is_answered_with_the_option():
    train, serve = "plan train -m llama3-8b -s dgx-h100 -g 8", "plan serve -m llama3-8b -s dgx-h100 -g 8"
    for line, named in ((f"{train} --batch-size 8", "--global-batch"), (f"{train} --num_gpus 8", "--gpus"), (f"{train} --fsdp", "--zero 3"), (f"{train} --dpo", "--frozen-model"), (f"{train} --qlora", "--load-in-4bit"), (f"{train} --cp-comm-type ring", "p2p"), (f"{train} --precision mxfp8", "--fp8-recipe mxfp8"), (f"{train} -b 64 --microbatch 3", "does not divide --global-batch 64; take 4"),
                        (f"{train} --dtype fp8", "--precision"), (f"{train} --seqlen 8192", "--sequence"), (f"{train} --output json", "--json"),
                        (f"{train} --GLOBAL_BATCH 8", "--global-batch"), (f"{serve} --max-num-seqs 256", "--batch"), (f"{serve} --backend vllm", "--stack"),
                        (f"{serve} --kv-cache-dtype fp8", "--kv-precision"), (f"{serve} --rps 5", "--request-rate"), (f"{serve} --p99", "--percentile"),
                        ("compare dgx-h100 dgx-b200 --train --batch-size 8", "--global-batch"), ("compare dgx-h100 --budget 10M", "it is one of fabricost measure and need"),
                        ("predict all_reduce -s dgx-h100 --world-size 8", "--gpus"), ("predict all_reduce -s dgx-h100 -b 8 -e 8G", "--size 8:8GiB:x2"),
                        ("predict all_reduce -s dgx-h100 --nccl-version 2.27", "--library nccl-2.27"), ("predict --op all_reduce", "predict all_reduce"),
                        ("diagnose --log my.log", "diagnose LOG"), ("allreduce --size 1GiB", "predict allreduce"), ("search -h", "plan"), ("search", "plan"),
                        (str(FILES["all_reduce.log"]), "fabricost diagnose"), ("help price", "fabricost cost"), ("help nothing-like-it", "fabricost help"),
                        ("share 'all_reduce 1GiB' -s dgx-h100", 'write --of "all_reduce 1GiB"'), ("share --gpus 16 -s dgx-h100", "write --nodes"),
                        ("predict all_reduce -s dgx-h100 --size 1MiB --set hbm.size=80GB", "gpu.memory"),
                        ("plan train", "Also needed: --system, --gpus, --global-batch"), (f"{train} --launch-flags", "vllm, sglang")):
        text = " ".join(refused(*shlex.split(line)).split())
        assert named in text, (line, text)
    for modules in ("q_proj", "q_proj,v_proj", "linear_proj,q_proj"):
        assert "q_proj is in linear_qkv" in " ".join(refused(*shlex.split(f"{train} -b 8 --lora-rank 8 --lora-modules {modules}")).split())
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "few.csv").write_text("op,gpu,time_us\ngemm,H100,10\n", encoding="utf-8")
        assert "columns id and group" in " ".join(refused("calibrate", "--from", f"{folder}/few.csv", "--stack", "nemo", "-o", f"{folder}/few.yaml").split())
    for asked in ("diagnose", "trace", "validate"):  # the file that the question asks for is not needed beside it
        assert "Also needed" not in refused(asked)
    assert "--size" not in refused("predict", "moe_dispatch", "-s", "dgx-h100")  # an exchange of experts has none


def test_engines_are_started_with_the_checkpoint_of_the_model():
    for model, checkpoint in (("deepseek-v3", "deepseek-ai/DeepSeek-V3"), ("gemma-4-31b", "google/gemma-4-31B"), ("qwen3-32b", "Qwen/Qwen3-32B")):
        done = subprocess.run([TOOL, "plan", "serve", "-m", model, "-s", "dgx-h200", "-g", "16", "--top", "1", "--launch-flags", "vllm", "--json"], capture_output=True,
                              text=True, timeout=120, check=True)
        assert json.loads(done.stdout)["launch"].startswith(f"vllm serve {checkpoint} "), done.stdout[-600:]


def test_launch_flags_start_the_checkpoint_asked_for_with_as_many_experts_as_ranks_divide():
    job = ("plan", "serve", "-s", "dgx-h100", "-g", "96", "--stack", "large-ep", "--top", "1", "--tp", "1", "--ep", "24", "--dp", "24", "--launch-flags", "sglang", "--json")
    for model in ("deepseek-ai/DeepSeek-R1", "deepseek-ai/DeepSeek-V3"):
        command = json.loads(subprocess.run([TOOL, *job, "-m", model], capture_output=True, text=True, check=True).stdout)["launch"]
        for flag in (f"--model-path {model}", "--ep-num-redundant-experts 8", "--moe-a2a-backend deepep", "--enable-two-batch-overlap"):
            assert flag in command, command


def test_launch_flags_say_what_the_stack_and_the_request_change():
    def launch(*arguments):
        done = subprocess.run([TOOL, "plan", "train", "--top", "1", "--json", *arguments], capture_output=True, text=True, timeout=120, check=True)
        answer = json.loads(done.stdout)
        return answer["launch"] + " ", answer
    dense = ("-m", "llama3-70b", "-s", "dgx-h100", "-g", "512", "-b", "1024", "-l", "8192", "--precision", "fp8", "--tp", "4", "--pp", "4", "--launch-flags")
    named, _ = launch(*dense, "megatron")
    plain, answer = launch(*dense, "megatron", "--stack", "megatron-core")
    for flag in ("--tp-comm-overlap", "--grad-reduce-in-bf16", "--fp8-param-gather", "--use-precision-aware-optimizer", "--main-grads-dtype bf16"):
        assert flag + " " in named and flag + " " not in plain, (flag, named, plain)
    assert "--fp8-recipe tensorwise " in named and "--fp8-recipe delayed " in launch(*dense, "megatron", "--fp8-recipe", "delayed")[0]
    assert "--tp-comm-overlap " in launch(*dense, "megatron", "--stack", "megatron-core", "--tp-comm-overlap", "yes")[0]
    assert "--num-layers" in answer["launch_notes"][0]
    experts = ("-m", "deepseek-v3", "-s", "dgx-h100", "-g", "512", "-b", "2048", "--launch-flags", "megatron")
    moe = launch(*experts)[0]
    assert "--mtp-num-layers 1 " in moe and "--moe-flex-dispatcher-backend deepep " in moe, moe
    assert "--moe-token-dispatcher-type alltoall " in launch(*experts, "--moe-dispatcher", "alltoall")[0]
    assert "--recompute-modules mla_up_proj " in launch(*experts, "--recompute", "selective")[0]  # core_attn, the default, keeps what latents unfold to
    # Megatron-LM, arguments.py: offload needs a precision-aware optimizer, this and fp8 parameters a distributed one, both together delayed scales
    for batch, more in (("-g 8 -b 16", ""), ("-g 16 -b 16", "--precision fp8"), ("-g 16 -b 16", "--precision fp8 --tp 4 --pp 4 --dp 1 --zero 0 --optimizer-offload-fraction 0.5")):
        one = launch("-m", "llama3-70b", "-s", "dgx-h100", *batch.split(), *more.split(), "--launch-flags", "megatron")[0]
        assert "--use-precision-aware-optimizer " in one and "--use-distributed-optimizer " in one, one
        assert ("--fp8-param-gather " in one) == ("fp8" in more), one
        assert "--optimizer-cpu-offload" not in one or "fp8" not in more or "--fp8-recipe delayed " in one, one
    sharded = launch(*dense[:-5], "--tp", "1", "--pp", "1", "--zero", "3", "--launch-flags", "megatron")[0]
    assert "--use-megatron-fsdp " in sharded and "--use-distributed-optimizer --no-gradient-accumulation-fusion " in sharded, sharded
    # what a search proposes for a program, the program has flags for: layers of Megatron-Core's chunks, TorchTitan's sharding
    for batch in ("64", "1024"):
        job = ("-m", "llama3-70b", "-s", "dgx-h100", "-g", "64", "-b", batch, "-l", "8192", "--launch-flags")
        launch(*job, "megatron")
        flags, answer = launch(*job, "torchtitan")
        assert "--compile.enable --compile.components model " in flags and answer["layouts"][0]["step_s"] > 0


def test_flags_of_torchtitan_give_the_stages_that_were_priced():
    def divided(flags, layers, pp, single):
        """As torchtitan/distributed/pipeline_parallel.py divides them."""
        given = dict(re.findall(r"--parallelism.pipeline_parallel_(\w+) (\d+)", flags))
        first, last = int(given["first_stage_less_layers"]), int(given["last_stage_less_layers"])
        each = int(given.get("layers_per_stage", 0))
        stages = -(-(layers + first + last) // each) if each else pp * (1 if single else 2)
        assert stages % pp == 0 and (stages // pp == 1) == single
        least, more = divmod(layers + first + last, stages)
        assert max(first, last) <= least
        out = [least + (stage < more) for stage in range(stages)]
        out[0], out[-1] = out[0] - first, out[-1] - last
        return out
    by_hand = 0
    for model, layers, gpus, more in (("llama3.1-405b", 126, 512, ""), ("llama3.1-405b", 126, 256, ""), ("llama3.1-405b", 126, 1024, ""), ("llama3-70b", 80, 64, "--tp 4 --pp 4 --vp 15"),
                                      ("llama3-70b", 80, 64, "--tp 4 --pp 4 --vp 5"), ("llama3-70b", 80, 64, "--tp 8 --pp 4 --schedule 1f1b"), ("llama3-8b", 32, 64, "--tp 1 --pp 4 --vp 2"),
                                      ("llama3-70b", 80, 96, "--tp 2 --pp 6 --vp 1")):
        asked = ("plan", "train", "-m", model, "-s", "dgx-h100", "-g", str(gpus), "-b", str(gpus), "-l", "8192", "--cp", "1", *more.split(), "--top", "1", "--launch-flags", "torchtitan", "--json")
        done = subprocess.run([TOOL, *asked], capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, (asked, done.stderr)
        answer = json.loads(done.stdout)
        layout, chunks = answer["layouts"][0], answer["layouts"][0]["pp"] * answer["layouts"][0]["vp"]
        if layout["pp"] == 1:
            continue
        if "launch_by_hand" in answer:
            text, = answer["launch_by_hand"]
            runs = [tuple(map(int, run)) for run in re.findall(r"(\d+) of (\d+) layer", text)]
            got = [layers for count, layers in runs for _ in range(count)]
            assert f"{chunks} stages" in text and "layers_per_stage" not in answer["launch"], text
            by_hand += 1
        else:
            got = divided(answer["launch"], layers, layout["pp"], "1F1B " in answer["launch"] and "Interleaved" not in answer["launch"])
        assert len(got) == chunks and sum(got) == layers, (asked, got)
    assert by_hand > 0


def test_a_step_is_said_in_what_the_model_reads_and_beside_the_scores_that_count():
    def plan(line):
        return shown("plan", "train", "--top", "1", *line.split())
    assert "samples/s/GPU" in plan("-m dlrm-dcnv2 -s dgx-h100 -g 8 -b 65536") and "patches/s/GPU" in plan("-m dit-xl-2 -s dgx-h100 -g 8 -b 64 --image 256x256")
    for length, beside in (("8192", False), ("128k", True)):  # where all scores mislead, those of a causal mask stand beside MFU
        heading = next(line for line in plan(f"-m llama3-8b -s dgx-h100 -g 8 -b 8 -l {length}").splitlines() if "MFU %" in line)
        assert ("MFU %  causal %" in heading) == beside, heading
    sites = plan("-m llama3-8b -s dgx-h100 -g 64 -b 64 --sites 2 --site-rate 100Gbit/s")
    rows = dict(re.findall(r"^  (\S.*?) +([\d.]+) GiB", sites.split("Memory of a GPU")[1], re.M))
    assert float(rows["outer optimizer"]) > 0
    assert abs(sum(float(size) for name, size in rows.items() if name not in ("total", "in host memory")) - float(rows["total"])) < 0.05


def floats_of_bytes(value, key=""):
    """Counts of bytes that JSON has as floats."""
    if isinstance(value, dict):
        return [found for name, one in value.items() for found in floats_of_bytes(one, name)]
    if isinstance(value, list):
        return [found for one in value for found in floats_of_bytes(one, key)]
    return [key] if key.endswith("bytes") and isinstance(value, float) and value.is_integer() else []


def test_json_says_its_schema_and_its_question():
    for words in (("predict", "all_reduce", "--system", "dgx-h100", "--size", "1 MiB"), ("machine", "dgx-h100"), ("model", "llama3-8b"),
                  ("machine",), ("model",), ("predict", "all_reduce", "--system", "dgx-h100", "--size", "1MiB:4MiB:x2"),
                  ("sweep", "all_reduce", "--system", "dgx-h100", "--crossovers"),
                  ("plan", "train", "--model", "llama3-8b", "--system", "dgx-h100", "--gpus", "8", "--global-batch", "8"),
                  ("plan", "serve", "--model", "llama3-8b", "--system", "dgx-h100", "--gpus", "4", "--disaggregated"),
                  ("cost", "failures", "--system", "dgx-h100", "--gpus", "1024", "--model", "llama3-8b"), ("diagnose", str(FILES["all_reduce.log"]))):
        answer = json.loads(shown(*words, "--json"))
        assert answer["schema"] == 1 and shlex.split(answer["question"]) == ["fabricost", *words, "--json"], words
        assert not floats_of_bytes(answer), (words, floats_of_bytes(answer)[:5])


if __name__ == "__main__":
    for test in [value for name, value in sorted(globals().items()) if name.startswith("test_")]:
        test()
    print("ok")
