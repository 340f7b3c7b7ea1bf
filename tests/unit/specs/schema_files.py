"""Files that must be valid in their schema: those shipped in data/, and calibrations that the command writes."""
import pathlib
import subprocess

from schema_documents import COMPILED, KINDS, plain


def shipped_files(checker):
    for kind, folders in (KINDS | COMPILED).items():
        for folder in folders:
            for file in sorted((checker.data / folder).glob("*.yaml")):
                document = plain(file.read_text())
                problems = [f"{list(e.absolute_path)}: {e.message[:200]}" for e in checker.validators[kind].iter_errors(document)]
                checker.expect(not problems, f"{folder}/{file.name}: {problems[:2]}")


def written_files(checker):
    """A file that `fabricost calibrate -o` writes, for one machine or for several together, is valid too."""
    folder = pathlib.Path(checker.folder.name) / "written"
    folder.mkdir()
    log = str(checker.data / "measurements" / "dgx-h100-all-reduce.txt")
    table = folder / "points.csv"
    head = "source,system,nodes,gpus_per_node,operation,dtype,bytes,time_us,in_place,library,library_version,algorithm,protocol,notes\n"
    rows = [
        ("dgx-a100", 1, 8, "all_gather", 2048, 16),
        ("l40s-pcie", 1, 2, "all_reduce", 4096, 8),
        ("aws-p5", 2, 8, "all_reduce", 1 << 28, 2300),
    ]
    lines = [f"x,{system},{nodes},{gpus},{op},half,{size},{time},,nccl,,,,\n" for system, nodes, gpus, op, size, time in rows]
    table.write_text(head + "".join(lines))
    alone = ["--system", "dgx-h100", "--from", log, "-o", str(folder / "mine.yaml")]
    for arguments in (alone, ["--from", str(table), "-o", str(folder)]):
        run = subprocess.run([checker.command, "calibrate", *arguments], capture_output=True, text=True, timeout=60)
        checker.expect(run.returncode == 0, f"calibrate {arguments} ends with {run.returncode}: {run.stderr}")
    files = sorted(folder.glob("*.yaml"))
    checker.expect(len(files) == 4, f"calibrate wrote {[file.name for file in files]}")
    for file in files:
        found = checker.validators["calibration"].iter_errors(plain(file.read_text()))
        problems = [f"{list(e.absolute_path)}: {e.message[:200]}" for e in found]
        checker.expect(not problems, f"calibrate -o {file.name}: {problems[:2]}")
