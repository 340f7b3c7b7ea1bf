"""The reference of the Python package by subject. GROUPS is the one list to extend; a name it lacks goes to "Other".

A name may end in `*`: every name with that beginning which no group names in full.
"""
import importlib
import inspect
import pkgutil

# title, file name, what the page is about, names
GROUPS = [
    ("Machines", "machines", "Load a machine, look at it, change a value.",
     ["load_system", "system_names", "System", "Tiers", "Tier", "show", "Shown", "ShownTier", "systems", "ListedSystem", "Provenance"]),
    ("Questions", "questions", "One class for each operation, in the conventions of nccl-tests.",
     ["Operation", "AllReduce", "AllGather", "ReduceScatter", "Broadcast", "Reduce", "AllToAll", "SendRecv", "MoeDispatch", "MoeCombine",
      "Collective", "DataType", "Algorithm", "Protocol", "Choice", "Path", "operations", "algorithms", "protocols", "dtypes"]),
    ("Predictions", "predictions", "How long, what runs, why, and how sure.",
     ["predict", "explain", "Prediction", "Predictions", "Term", "Terms", "predict_moe", "FusedNorm",
      "Upgrade", "MoePrediction", "crossovers", "Crossover*", "Curve", "compile", "Moe*", "Inference*", "predict_*"]),
    ("Measurements", "measurements", "Read logs, compare, fit, diagnose, tune.",
     ["read_log", "read_*", "merge_repeats", "validate", "Validation", "Validat*", "validate_workloads", "WorkloadValidation",
      "calibrate", "calibrate_machine", "calibrate_stack", "KernelStack", "KernelRoofline", "constants", "Constants", "ListedConstant", "ListedSet", "Fit",
      "FittedSet", "Constant", "Residual", "Calibrat*", "ThisMachine",
      "CollectivesFit", "FitMean", "measure", "measure_plan", "Measurement", "MeasurePlan", "MeasuredPoint", "NotMeasured",
      "PlannedStep", "KernelFit",
      "diagnose", "Diagnos*", "Errors", "Finding", "NextQuestion", "RuleSeen", "tune", "Tun*", "SlowRange", "UnmeasuredChoice", "topo",
      "Topo*", "Machine", "Difference", "Trace*"]),
    ("Models and stacks", "models", "Shapes of models, software stacks.",
     ["load_model", "model_names", "models", "ListedModel", "Model", "ModelFigures", "Mixer",
      "ParameterCount", "load_stack", "stack_names", "Stack", "Model*", "Stack*"]),
    ("Training", "training", "Layouts, steps, memory, pipeline schedules.",
     ["plan", "plan_train", "TrainingPlan", "Plans", "TrainingPlans", "sensitivity", "Sensitivity", "pareto", "pipeline", "Pipeline",
      "PipelineBar", "Memory", "MemoryItem", "MemoryPart", "Layout", "Plan*", "Pipeline*", "Training*", "Step*", "ExplainedTerm",
      "plan_rl", "RlPlan*"]),
    ("Serving", "serving", "Engines, latency and throughput of inference.", ["plan_serve", "ServePlan", "ServePlans", "Serv*", "RequestTimes", "TokenPrice"]),
    ("Machines compared, money, failures", "decisions", "What a machine costs, loses and gains.",
     ["compare", "Comparison", "Compar*", "need", "need_serve", "need_machine", "Need*", "project", "Project*", "goodput",
      "Goodput*", "explore", "explore_serve", "Exploration", "Explore*", "FailureCause", "stragglers", "Straggler*", "SlowRank", "cost",
      "Cost*", "Money", "load_prices", "Prices", "Fleet", "failure_*"]),
    ("At once, and outside of collectives", "sharing", "Collectives that share links; storage, loads and stores, incast.",
     ["share", "Grouped", "Shar*", "transfer", "Transfer", "Transfer*", "storage", "access", "incast", "Storage*", "Access*", "Incast*",
      "transfer_*"]),
    ("Pictures, reports, sweeps", "pictures", "Plots, one file to mail, many configurations.",
     ["plot", "report", "sweep", "Sweep", "Report*", "Sweep*"]),
    ("Other tools", "exports", "Files for other programs.", ["export", "read_placement", "Placement"]),
    ("Errors", "errors", "What is raised, and what it knows.", ["Error", "RequestError", "SpecError", "Issue", "FabricostWarning"]),
    ("Units and version", "units", "Numbers of bytes by name; k M G are powers of ten, Ki Mi Gi of two.",
     ["B", "kB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "TiB", "us", "ms", "__version__"]),
]

# Submodules with names of their own that users import; others only serve __init__.py.
MODULES = ["plot", "report", "sweep", "notebook", "torch"]


def public_names(package):
    """The public names of the package: __all__, and the submodules of MODULES that exist outside of it."""
    names = list(package.__all__)
    there = {module.name for module in pkgutil.iter_modules(package.__path__)}
    return names, [name for name in MODULES if name in there and name not in names]


def grouped(names):
    """[(title, file, about, names in order)], each name once; "Other" last, only when something is left."""
    left, out = dict.fromkeys(names), []
    exact = {name for *_, wanted in GROUPS for name in wanted if not name.endswith("*")}
    for title, file, about, wanted in GROUPS:
        mine = []
        for pattern in wanted:
            if pattern.endswith("*"):
                found = [name for name in left if name.startswith(pattern[:-1]) and name not in exact]
            else:
                found = [pattern] if pattern in left else []
            for name in found:
                del left[name]
            mine += found
        if mine:
            out.append((title, file, about, mine))
    if left:
        out.append(("Other", "other", "Not yet sorted by subject (GROUPS of docs/site/reference_python.py).", list(left)))
    return out


def _heading(text, rule):
    return f"{text}\n{rule * len(text)}\n"


def _directive(package, name):
    thing = getattr(package, name)
    full = f"{package.__name__}.{name}"
    if inspect.ismodule(thing):
        return f".. automodule:: {thing.__name__}\n   :members:\n"
    if inspect.isclass(thing):
        undocumented = "" if issubclass(thing, BaseException) else "   :members:\n"
        return f".. autoclass:: {full}\n{undocumented}"
    if callable(thing):
        return f".. autofunction:: {full}\n"
    return f".. py:data:: {name}\n   :value: {thing!r}\n"  # under the page's py:currentmodule


def pages(package):
    """{file name: reStructuredText}, one page a group, and the order of the files."""
    names, modules = public_names(package)
    out = {}
    for title, file, about, mine in grouped(names):
        out[file] = _heading(title, "=") + f"\n{about}\n\n.. py:currentmodule:: {package.__name__}\n\n" + "\n".join(
            _directive(package, name) for name in mine)
    for module in modules:
        full = f"{package.__name__}.{module}"
        try:
            importlib.import_module(full)
        except ImportError as missing:  # an extra that is not installed: say so, do not break
            body = f"Not shown: importing it here failed ({type(missing).__name__}: {missing}).\n"
        else:
            body = f".. automodule:: {full}\n   :members:\n"
        out[f"module-{module}"] = _heading(full, "=") + "\n" + body
    return out
