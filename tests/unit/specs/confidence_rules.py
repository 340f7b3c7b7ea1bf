"""Words that the source of a number must contain for its confidence (docs/spec-format.md, "Where a number comes from")."""
import re

# Documents of those who make a part, set a standard, or build or run a machine.
VENDOR_DOCUMENTS = re.compile(
    r"NVIDIA[^;]*?(data ?sheet|[Uu]ser guide|white ?paper|product page|product brief|reference architecture|platform page|NVLink page"
    r"|slides on|GPU documents|Fabric Manager)"
    r"|docs\.nvidia\.com|developer\.nvidia\.com|DGX B200 user guide"
    r"|ROCm documentation|ROCm/ROCm, docs|rocm\.docs\.amd\.com|AMD[^;]*(data ?sheet|white ?paper|product page)|AMD's launch table"
    r"|Intel at Hot Chips|Intel, Hot Chips|docs\.habana\.ai|docs\.cloud\.google\.com|cloud\.google\.com/compute"
    r"|aws-neuron/aws-neuron-sdk|AWS [\w-]+ instance page|Oracle Cloud documentation|Microsoft Azure, "
    r"|PCI-SIG|UALink [Cc]onsortium|olcf-user-docs|cscs-docs|argonne-lcf/user-guides"
    r"|The Llama 3 Herd|arXiv 2505\.09343|CoreWeave[, ]|Lambda, 1-Click|Nebius, ")

# Code of those who make the part, or run the machine. ai-dynamo/aiconfigurator is NVIDIA's, and applies to NVIDIA's parts alone.
VENDOR_CODE = re.compile(
    r"NVIDIA/nccl, |ROCm/rccl, |Azure/azhpc-images|oracle-quickstart/oci-hpc|aws/aws-ofi-nccl, |deepseek-ai/DeepEP"
    r"|vllm-project/vllm: |ROCm/aiter: |flashinfer-ai/flashinfer: |sgl-project/sglang: |NVIDIA/TensorRT-LLM: |ai-dynamo/aiconfigurator|amzn/amzn-drivers, ")

# Words of a number that was taken from something else than the part it stands for.
NOT_THIS_PART = re.compile(r"same die|same chip|taken here|taken as |no run over|fitted together|not measured|the constants of")

# The name of each GPU in documents, where its measurements could be mistaken for a relative's.
PART_NAMES = {
    "a100": r"A100", "a800": r"A800", "a10g": r"A10G", "a40": r"\bA40", "b200": r"\bB200", "b300": r"B300", "gb200": r"GB200",
    "gb300": r"GB300", "gh200": r"GH200", "h100-pcie": r"H100 PCIe|h100_pcie", "h100-nvl": r"H100 NVL", "h100-sxm": r"H100 SXM|H100's SXM",
    "h200": r"\bH200", "h20": r"\bH20\b", "h800": r"H800", "l40s": r"L40S", "l40": r"\bL40\b", "l4": r"\bL4\b", "mi210": r"MI210",
    "mi250x": r"MI250X", "mi300x": r"MI300X", "mi325x": r"MI325X", "mi350x": r"MI350X", "mi355x": r"MI355X",
    "v100-pcie": r"V100 PCIe", "v100-sxm": r"V100 SXM", "rtx-4090": r"RTX 4090",
}

# A calculation: two figures and what is done with them.
CALCULATION = re.compile(r"\d.*( x |/| over | at | less | half | in ports | in links | to an |accumulation)|^(half|twice|two|vector rate)")


def own_name(part):
    """The key of PART_NAMES that a GPU's file name begins with: the longest; None for a part without relatives."""
    fitting = [key for key in PART_NAMES if part == key or part.startswith(key + "-")]
    return max(fitting, key=len, default=None)


def named_parts(source):
    """The keys of PART_NAMES that a source names."""
    return {key for key, pattern in PART_NAMES.items() if re.search(pattern, source)}


def fault(kind, part, source, confidence):
    """Why a number of data/KIND/PART.yaml may not carry this confidence; None when it may.

    kind: folder below data/; part: file name without its suffix; source: the text beside the number."""
    if not source:
        return "no source"
    if kind in ("models", "workloads", "stacks", "prices"):  # papers, published weights and price lists: no vendor makes a part
        return None
    if confidence == "datasheet" and not VENDOR_DOCUMENTS.search(source):
        return "names no document of a vendor, a standard's body or an operator: secondary, or a better source"
    if confidence == "vendor-code" and not VENDOR_CODE.search(source):
        return "names no code of the vendor"
    if confidence == "measured":
        if NOT_THIS_PART.search(source) and not (kind == "gpus" and re.search(PART_NAMES.get(own_name(part), "^$"), source)):
            return "was not measured on this part: relative"
        others = named_parts(source) - {own_name(part)}
        if kind == "gpus" and others and own_name(part) not in named_parts(source) and "same as" not in source:
            return f"was measured on another part ({', '.join(sorted(others))}): relative"
    if confidence == "derived" and not CALCULATION.search(source):
        return "shows no calculation"
    if confidence in ("secondary", "relative") and source.startswith("general knowledge"):
        return "nobody was read: assumed"
    return None
