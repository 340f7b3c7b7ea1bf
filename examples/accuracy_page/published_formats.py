"""Tables that are not the output of a benchmark, as point CSVs that our reader takes.

Each is a function from the text of the original file to rows of the project's columns. None computes more than its line says.
"""
import csv
import io

COLUMNS = ("source,system,nodes,gpus_per_node,operation,dtype,bytes,time_us,in_place,library,library_version,algorithm,protocol,notes")
BYTES_OF = {"half": 2, "bfloat16": 2, "int8": 1, "float": 4}
MIB = 2**20


def aiconfigurator(text, run):
    """nccl_perf.txt of ai-dynamo/aiconfigurator: message_size counts elements, latency is in milliseconds, out of place."""
    for row in csv.DictReader(io.StringIO(text)):
        dtype = row["nccl_dtype"]
        yield {"system": run["system"], "nodes": 1, "gpus_per_node": row["num_gpus"], "operation": row["op_name"], "dtype": dtype,
               "bytes": int(row["message_size"]) * BYTES_OF[dtype], "time_us": f"{float(row['latency']) * 1e3:.6g}", "in_place": 0,
               "library": run.get("library", "nccl"), "library_version": run.get("library_version", "")}


def size_and_rates(text, run):
    """Nodes,GPUs,size(MB),...: MB counts MiB, time = size / algbw, out of place and in place."""
    for row in csv.DictReader(io.StringIO(text)):
        for in_place, name in enumerate(("out algbw(GB/s)", "in algbw(GB/s)")):
            size, nodes = int(row["size(MB)"]) * MIB, int(row["Nodes"])
            yield {"system": run["system"], "nodes": nodes, "gpus_per_node": int(row["GPUs"]) // nodes, "operation": run["operation"],
                   "dtype": "float", "bytes": size, "time_us": f"{size / float(row[name]) * 1e-3:.6g}", "in_place": in_place,
                   "library": "nccl"}


FORMATS = {"aiconfigurator": aiconfigurator, "size_and_rates": size_and_rates}


def per_node(row):
    """GPUs per node of a row that counts ranks alone: 4 of a tray, or the largest part of it that divides the ranks."""
    ranks = int(row["ranks"])
    return next(g for g in (4, 3, 2, 1) if ranks % g == 0) if "nvl72" in row["system"] else ranks


def completed(row):
    """A row of a table of copies; one that counts ranks alone gets nodes and GPUs per node."""
    if row.get("ranks") and not row.get("gpus_per_node"):
        gpus = per_node(row)
        return {**row, "nodes": int(row["ranks"]) // gpus, "gpus_per_node": gpus}
    return row


def point_csv(rows, name):
    """The text of a point CSV whose source is `name`."""
    out = io.StringIO()
    table = csv.DictWriter(out, COLUMNS.split(","), extrasaction="ignore", lineterminator="\n")
    table.writeheader()
    for row in rows:
        table.writerow({**completed(row), "source": name})
    return out.getvalue()
