"""examples/accuracy_page/from_sources.py on runs invented here: which copies count, what is refused, what the page says."""
import math

import numpy as np
import pytest

pytest.importorskip("yaml", reason="pip install pyyaml")
fc = pytest.importorskip("fabricost", reason="the package is not built here")
from published import ROOT, Made, from_sources, run, table, write_sources  # noqa: E402  finds the modules below
import published_figures  # noqa: E402
import published_formats  # noqa: E402
import published_sources  # noqa: E402


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "copies"
    made.mkdir()
    return made


# --- the file ---

def test_every_run_has_one_name_a_way_to_get_it_and_a_reason_where_it_is_in_no_figure():
    sources, runs = published_sources.load()
    names = [one["id"] for one in runs]
    assert len(set(names)) == len(names) > 300
    assert len({s["url"] for s in sources}) == len(sources)
    for one in runs:
        assert (one["health"] == "healthy") == ("why" not in one), one["id"]
        assert published_sources.address(one) or "by_hand" in one, f"{one['id']}: neither an address nor what to copy"
        assert "fitted" not in one or (ROOT / one["fitted"]).is_file(), one["id"]


def test_no_run_is_listed_twice_under_two_names():
    _, runs = published_sources.load()
    seen = {}
    for one in runs:
        twin = seen.setdefault(one["sha256"], one)
        assert twin is one, f"{one['id']} and {twin['id']} have the same points"


# --- which copies count ---

def test_prose_and_white_space_around_a_table_do_not_matter(folder, tmp_path, capsys):
    text = table()
    sources = write_sources(tmp_path / "s.yaml", run("a_run", text))
    lines = "\n".join(f"  {' '.join(line.split())}  " if line[:1] == " " else line for line in text.splitlines())
    (folder / "a_run.txt").write_text(f"We measured this on a Tuesday:\n\n{lines}\n\nIt is fine.\n", encoding="utf-8")
    made = Made(capsys, folder, sources)
    assert made.status == 0 and made.said == [] and "| dgx-h100 | 3 |" in made.text


def test_a_changed_number_is_noticed_and_named(folder, tmp_path, capsys):
    good, other = table(), table(2.0)
    sources = write_sources(tmp_path / "s.yaml", run("a_run", good), run("other", other))
    (folder / "a_run.txt").write_text(table(1.01), encoding="utf-8")
    (folder / "other.txt").write_text(other, encoding="utf-8")
    made = Made(capsys, folder, sources)
    assert made.status == 1 and len(made.said) == 1
    assert "a_run.txt: its points are not those of sources.yaml (6 rows read, 6 wanted, checksum differs)" in made.said[0]
    assert "| `a_run` | dgx-h100 |" in made.text and "checksum differs" in made.text


def test_of_a_page_with_several_tables_each_run_gets_its_own(folder, tmp_path, capsys):
    texts = {f"r{i}": table(1 + i / 10) for i in range(3)}
    runs = [run(name, text, path="README.md") for name, text in texts.items()]
    sources = write_sources(tmp_path / "s.yaml", *runs)
    place = folder / "fetched/github.com/someone/measured/README.md"
    place.parent.mkdir(parents=True)
    place.write_text("# All results\n\n" + "\n## Another\n\n```\n$ mpirun all_reduce_perf -b 1M\n".join(texts.values()) + "```\nThe end.\n",
                     encoding="utf-8")
    made = Made(capsys, folder, sources)
    assert made.status == 0, made.said
    copies = published_sources.Copies(folder)
    for one in published_sources.load(sources)[1]:
        points, _, wrong = copies.read(one)
        assert wrong is None and published_sources.checksum(published_sources.lines_of(points)) == one["sha256"]


def test_rows_of_a_point_csv_stand_for_a_table(folder, tmp_path, capsys):
    text = table()
    said = run("a_run", text)
    points, _ = published_sources.read_text(said, text)
    rows = ["source,system,nodes,gpus_per_node,operation,dtype,bytes,time_us,in_place,library"]
    rows += [f"a_run,dgx-h100,1,8,all_reduce,float,{p['bytes']:.0f},{p['seconds'] * 1e6:.6g},{p['in_place']},nccl" for p in points]
    (folder / "points.csv").write_text("\n".join(rows) + "\nsomething_else,dgx-h100,1,8,all_reduce,half,8,1,0,nccl\n", encoding="utf-8")
    made = Made(capsys, folder, write_sources(tmp_path / "s.yaml", said))
    assert made.status == 0 and "| **all** | 3 |" in made.text


def test_a_run_without_a_copy_is_named_with_where_to_get_it(folder, tmp_path, capsys):
    here, gone = table(), table(2.0)
    sources = write_sources(tmp_path / "s.yaml", run("here", here), run("gone", gone), run("typed", table(3.0), by_hand="the second table"))
    (folder / "here.txt").write_text(here, encoding="utf-8")
    made = Made(capsys, folder, sources)
    assert made.status == 1
    assert made.said == [f"from_sources: gone: no copy in {folder}; fetch https://github.com/someone/measured/raw/0123456789/logs/gone.txt",
                         f"from_sources: typed: no copy in {folder}; copy the second table from https://github.com/someone/measured "
                         "to typed.txt there"]
    assert "| `gone` |" in made.text and "| `typed` |" in made.text


@pytest.mark.parametrize("broken, said", [
    ("sources: [", "while parsing"), ("", "does not list sources"), ("sources:\n- url: x\n", "does not list sources"),
    ("sources:\n- url: x\n  licence: none\n  runs:\n  - id: y\n", "does not list sources"),
    *((f"sources:\n- {{url: x, licence: y, runs: [{{id: {name}, path: {path}, system: s, health: unclear, rows: 1, sha256: x}}]}}",
       "are names inside a folder") for name, path in (("../up", "a"), ("a", "b/../../c")))])
def test_a_broken_sources_file_is_one_line(folder, tmp_path, capsys, broken, said):
    (tmp_path / "s.yaml").write_text(broken, encoding="utf-8")
    made = Made(capsys, folder, str(tmp_path / "s.yaml"))
    assert made.status == 2 and len(made.said) == 1 and said in made.said[0] and not made.text


def test_a_new_run_is_recorded_with_what_the_command_prints(folder, tmp_path, capsys):
    said = run("a_run", table())
    sources = write_sources(tmp_path / "s.yaml", {**said, "rows": 1, "sha256": "0" * 64})
    (folder / "a_run.txt").write_text("prose\n" + table() + table(2.0), encoding="utf-8")
    given = ["--folder", str(folder), "--sources", sources, "--record"]
    assert from_sources.main([*given, "a_run"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert f"rows: {said['rows']}, sha256: {said['sha256']}" in printed and len(printed) == 3  # the file, and each table
    assert from_sources.main([*given, "b_run"]) == 2
    assert capsys.readouterr().err == "from_sources: b_run: is not in sources.yaml\n"


# --- what the page says ---

def test_what_is_not_healthy_or_not_shipped_is_left_out_with_its_reason_and_error(folder, tmp_path, capsys):
    runs = {"fine": {}, "doubtful": {"health": "unclear", "why": "nobody knows"}, "nowhere": {"system": "no-such-machine"}}
    texts = {name: table(1 + i / 10) for i, name in enumerate(runs)}
    sources = write_sources(tmp_path / "s.yaml", *(run(name, texts[name], **more) for name, more in runs.items()))
    for name, text in texts.items():
        (folder / f"{name}.txt").write_text(text, encoding="utf-8")
    made = Made(capsys, folder, sources)
    assert made.status == 0, made.said
    doubtful = next(line for line in made.text.splitlines() if line.startswith("| `doubtful`")).split(" | ")
    assert doubtful[2:4] == ["unclear: nobody knows", "6"] and float(doubtful[4].split(" / ")[0]) > 0
    nowhere = next(line for line in made.text.splitlines() if line.startswith("| `nowhere`")).split(" | ")
    assert nowhere[2:5] == ['no system named "no-such-machine"', "6", ""]
    assert "| **all** | 3 |" in made.text  # the fine one alone


def test_a_machine_that_a_calibration_names_is_fitted_whoever_measured_it(folder, tmp_path, capsys):
    runs = {"seen": {}, "unseen": {"system": "dgx-1-v100"}}
    texts = {"seen": table(), "unseen": table(2.0)}
    for name, text in texts.items():
        (folder / f"{name}.txt").write_text(text, encoding="utf-8")
    made = Made(capsys, folder, write_sources(tmp_path / "s.yaml", *(run(n, texts[n], **more) for n, more in runs.items())))
    held, rest = made.text.split("## Machines that were fitted")
    assert "| dgx-1-v100 | 3 |" in held and "| dgx-h100 |" not in held and "| dgx-h100 | 3 |" in rest.split("## Left out")[0]


def test_errors_are_what_their_definitions_say():
    t, predicted, low, high = (np.array(v, float) for v in ([10, 10, 10, 10], [10.5, 8, 13, 10], [9, 7, 11, 9.5], [12, 9, 15, 10.5]))
    samples = np.rec.fromarrays([predicted / t - 1, t, low, high], names="error,measured_seconds,low_seconds,high_seconds")
    errors = published_figures.Errors([samples])
    assert (errors.points, errors.within, errors.inside) == (4, 0.5, 0.5)
    assert errors.median == pytest.approx((5 + 20) / 2) and errors.mean == pytest.approx((5 + 20 + 30 + 0) / 4)
    widths = math.log(12 / 9) + math.log(9 / 7) + math.log(15 / 11) + math.log(10.5 / 9.5)
    assert errors.score == pytest.approx((widths + 20 * (math.log(10 / 9) + math.log(11 / 10))) / 4)


@pytest.mark.parametrize("term, source, size, nodes, held", [
    ("016_alps:128KiB:1GiB", "016_alps_ar", 2**20, 32, True), ("016_alps:128KiB:1GiB", "016_alps_ar", 2**16, 32, False),
    ("016_alps:128KiB:1GiB", "016_alps_ar", 2**31, 32, False), ("007_alps:512KiB", "007_alps", 2**40, 64, True),
    ("*off_big:6GiB", "a_gdroff_big_x", 7 * 2**30, 2, True), ("*off_big:6GiB", "a_gdron_big_x", 7 * 2**30, 2, False),
    ("160", "160_dgx1", 8, 2, True), ("160", "160_dgx1", 8, 1, False)])
def test_terms_of_left_out_csv_mean_what_calibrate_takes_them_for(term, source, size, nodes, held):
    points = np.rec.fromarrays([[source], [float(size)], [nodes]], names="source,bytes,nodes")
    assert bool(published_figures.LeftOut(term, "").holds(points)[0]) == held


# --- tables that are not a benchmark's output ---

def test_elements_and_milliseconds_of_aiconfigurator_become_bytes_and_microseconds():
    text = ("framework,version,device,op_name,kernel_source,nccl_dtype,num_gpus,message_size,latency\n"
            "NCCL,2.27,X,all_gather,NCCL,half,2,256,0.015538\nNCCL,2.27,X,all_reduce,NCCL,int8,8,512,0.02\n")
    said = {"id": "x", "system": "dgx-h100", "library_version": "2.27"}
    points, _ = published_sources.read_text(said, published_formats.point_csv(published_formats.aiconfigurator(text, said), "x"), True)
    assert published_sources.lines_of(points) == ["all_gather half 512 15.538 0 2", "all_reduce int8 512 20 0 8"]


def test_sizes_and_rates_become_times_of_both_places():
    text = ("Nodes,GPUs,size(MB),iterations,blocking,out algbw(GB/s),out busbw(GB/s),in algbw(GB/s),in busbw(GB/s)\n"
            "2,16,32,1000,false,100.0,187.5, 50.0,93.75\n")
    said = {"id": "x", "system": "aws-p5", "operation": "all_reduce"}
    points, _ = published_sources.read_text(said, published_formats.point_csv(published_formats.size_and_rates(text, said), "x"), True)
    assert published_sources.lines_of(points) == ["all_reduce float 33554432 335.544 0 16", "all_reduce float 33554432 671.089 1 16"]


@pytest.mark.parametrize("ranks, gpus", [(72, 4), (18, 3), (36, 4), (2, 2), (8, 4)])
def test_rows_that_count_ranks_alone_fill_whole_trays_of_a_rack(ranks, gpus):
    row = published_formats.completed({"system": "gb200-nvl72", "ranks": str(ranks)})
    assert (row["nodes"] * row["gpus_per_node"], row["gpus_per_node"]) == (ranks, gpus)
    assert row["gpus_per_node"] <= fc.load_system("gb200-nvl72").gpus_per_node
