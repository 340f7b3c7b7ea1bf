"""A network of several nodes on one machine, and Open MPI over it.

A node is a network namespace, a switch is a namespace with a bridge, a cable is a veth pair with a token bucket (tc tbf) at each end, so
that every direction of every port is held to a rate. A second, unshaped network carries what mpirun and its daemons say to each other.
Nothing is attached to the machine's own network. Everything carries the tag of this process and goes when the `with` block ends, also
after a failure; what a killed run left is removed by the next.

    with Box(flat(nodes=4, mbit=100)) as box:
        print(box.mpirun(["./collectives", "1", "all_reduce", "65536"], {"allreduce": "ring"}))
"""

import contextlib
import dataclasses
import glob
import os
import re
import shutil
import signal
import subprocess
import tempfile

DATA, CONTROL = "10.77.0", "10.78.0"
LAUNCHER = 254  # the launcher's place in the control network
# The size of a token bucket: a few whole packets. A deep bucket fills up while a port is idle and lets the next message through for
# free: 16 KiB are 1.3 ms at 100 Mbit/s, more than a step's latency.
BURST = 3200
QUEUE = 64 << 20  # nothing is ever dropped: a retransmission timeout would be what is measured


class Unavailable(Exception):
    """This machine cannot hold a box; the text says what is missing and how to get it."""


class Failed(Exception):
    """A command failed."""


@dataclasses.dataclass
class Cable:
    """Two ends `(place, interface)`, each with the rate at which it sends, in Mbit/s; 0: not held."""

    a: tuple
    b: tuple
    mbit_a: float
    mbit_b: float


@dataclasses.dataclass
class Plan:
    """The network to build: nodes `n0`.. with addresses on `eth0`, switches `s0`.., cables, routes of nodes that forward."""

    name: str
    nodes: int
    switches: int
    cables: list
    routes: dict = dataclasses.field(default_factory=dict)  # (from, to) -> interface; empty: one subnet


def port(node, switch, mbit):
    return Cable((f"n{node}", "eth0"), (f"s{switch}", f"p{node}"), mbit, mbit)


def flat(nodes=4, mbit=100):
    """Every node on one switch."""
    return Plan("flat", nodes, 1, [port(i, 0, mbit) for i in range(nodes)])


def slow_port(nodes=4, mbit=100, slow=50):
    """The network of `flat`, with the last node's port slower in both directions."""
    return Plan("slow-port", nodes, 1, [port(i, 0, slow if i + 1 == nodes else mbit) for i in range(nodes)])


def two_level(leaves=2, per_leaf=2, mbit=100, uplink=100):
    """Leaf switches with `per_leaf` nodes each, joined by a core; `uplink` in Mbit/s: oversubscribed when below per_leaf x mbit."""
    cables = [port(i, i // per_leaf, mbit) for i in range(leaves * per_leaf)]
    if leaves == 2:
        cables.append(Cable(("s0", "trunk"), ("s1", "trunk"), uplink, uplink))
        return Plan("two-level", leaves * per_leaf, 2, cables)
    cables += [Cable((f"s{i}", "trunk"), (f"s{leaves}", f"down{i}"), uplink, uplink) for i in range(leaves)]
    return Plan("two-level", leaves * per_leaf, leaves + 1, cables)


def torus(nodes=4, mbit=100):
    """A closed ring of nodes, each with a cable to either neighbour and no switch; what goes further is passed on, the shorter way."""
    cables = [Cable((f"n{i}", "right"), (f"n{(i + 1) % nodes}", "left"), mbit, mbit) for i in range(nodes)]
    routes = {}
    for i in range(nodes):
        for j in range(nodes):
            if i != j:
                routes[i, j] = "right" if (j - i) % nodes <= nodes // 2 else "left"
    return Plan("torus", nodes, 0, cables, routes)


def run(*words, **more):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, check=False, **more)
    if done.returncode != 0:
        raise Failed(f"{' '.join(str(w) for w in words)}: exit {done.returncode}: {(done.stderr or done.stdout).strip()[-2000:]}")
    return done.stdout


def why_not():
    """None where a box can be built, otherwise why it cannot, with the remedy. Tries it with one cable."""
    if os.name != "posix" or not os.path.exists("/proc/self/ns/net"):
        return "this is no Linux with network namespaces"
    needed = {"ip": "iproute2", "tc": "iproute2", "unshare": "util-linux", "mpirun": "openmpi-bin",
              "mpicxx": "libopenmpi-dev"}
    for tool, package in needed.items():
        if shutil.which(tool) is None:
            return f"{tool} is not installed; as root: apt-get install {package}"
    if "Open MPI" not in subprocess.run(["mpirun", "--version"], capture_output=True, text=True, check=False).stdout:
        return "mpirun is not Open MPI's; as root: apt-get install openmpi-bin"
    if os.geteuid() != 0:
        return "network namespaces need root; run the tests as root"
    try:
        with Box(Plan("trial", 2, 0, [Cable(("n0", "eth0"), ("n1", "eth0"), 100, 100)])):
            return None
    except Failed as fault:
        return f"this machine does not let namespaces, veth pairs or tbf be made: {fault}"


def remove_stale():
    """Boxes whose process is gone (it was killed): their namespaces, with those all that was in them, and their folders."""
    for line in subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=False).stdout.splitlines():
        name = line.split()[0] if line.split() else ""
        match = re.fullmatch(r"fbx(\d+)-\w+", name)
        if match and not os.path.exists(f"/proc/{match[1]}"):
            remove_namespace(name)
    for folder in glob.glob("/tmp/fbx*-*"):
        match = re.match(r"/tmp/fbx(\d+)-", folder)
        if match and not os.path.exists(f"/proc/{match[1]}"):
            shutil.rmtree(folder, ignore_errors=True)


def remove_namespace(name):
    pids = subprocess.run(["ip", "netns", "pids", name], capture_output=True, text=True, check=False).stdout.split()
    for pid in pids:  # only what was started inside
        with contextlib.suppress(ProcessLookupError, ValueError):
            os.kill(int(pid), signal.SIGKILL)
    subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)


class Box:
    """The network of a Plan, for the time of a `with` block."""

    def __init__(self, plan):
        self.plan = plan
        self.tag = f"fbx{os.getpid()}"
        self.folder = None
        self.made = []
        self.handlers = {}

    def __enter__(self):
        remove_stale()

        def stop(number, _frame):
            raise SystemExit(128 + number)

        for number in (signal.SIGTERM, signal.SIGHUP):
            self.handlers[number] = signal.signal(number, stop)
        try:
            self.build()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        while self.made:
            remove_namespace(self.made.pop())
        if self.folder:
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder = None
        while self.handlers:
            number, handler = self.handlers.popitem()
            signal.signal(number, handler)

    def space(self, place):
        return f"{self.tag}-{place}"

    def add_space(self, place):
        name = self.space(place)
        self.made.append(name)  # before it is there: half made is removed, too
        run("ip", "netns", "add", name)
        self.within(place, "ip", "link", "set", "lo", "up")

    def within(self, place, *words):
        return run("ip", "netns", "exec", self.space(place), *words)

    def add_bridge(self, place, name):
        self.within(place, "ip", "link", "add", name, "type", "bridge", "forward_delay", "0", "stp_state", "0")
        self.within(place, "ip", "link", "set", name, "up")

    def lay(self, a, b, mbit_a=0.0, mbit_b=0.0):
        ends = (a, b)
        run("ip", "link", "add", a[1], "netns", self.space(a[0]), "type", "veth", "peer", "name", b[1], "netns", self.space(b[0]))
        for (place, interface), mbit in zip(ends, (mbit_a, mbit_b)):
            if mbit:
                bucket = ("tbf", "rate", f"{mbit:g}mbit", "burst", BURST, "limit", QUEUE)
                self.within(place, "tc", "qdisc", "add", "dev", interface, "root", *bucket)
            if place.startswith("s") or place == "control":
                self.within(place, "ip", "link", "set", interface, "master", "br0")
            self.within(place, "ip", "link", "set", interface, "up")

    def settle(self, node):
        """Plain TCP: the machine's own choice of congestion control may pace by itself."""
        script = "\n".join((
            "sysctl -qw net.ipv4.tcp_congestion_control=reno net.ipv4.tcp_slow_start_after_idle=0 net.ipv4.tcp_no_metrics_save=1 || true",
            "sysctl -qw net.ipv4.ip_forward=1 net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0 || true",
            "sysctl -qw net.ipv6.conf.all.disable_ipv6=1 2>/dev/null || true",
        ))
        self.within(f"n{node}", "sh", "-c", script)

    def build(self):
        plan = self.plan
        self.folder = tempfile.mkdtemp(prefix=f"{self.tag}-", dir="/tmp")  # short: sockets of Open MPI lie below it
        for switch in range(plan.switches):
            self.add_space(f"s{switch}")
            self.add_bridge(f"s{switch}", "br0")
        self.add_space("control")
        self.add_bridge("control", "br0")
        self.within("control", "ip", "addr", "add", f"{CONTROL}.{LAUNCHER}/24", "dev", "br0")
        for node in range(plan.nodes):
            self.add_space(f"n{node}")
            self.settle(node)
            self.lay((f"n{node}", "control"), ("control", f"c{node}"))
            self.within(f"n{node}", "ip", "addr", "add", f"{CONTROL}.{node + 1}/24", "dev", "control")
        for cable in plan.cables:
            self.lay(cable.a, cable.b, cable.mbit_a, cable.mbit_b)
        for node in range(plan.nodes):
            place = f"n{node}"
            if plan.routes:  # the node's address belongs to none of its cables
                self.add_bridge(place, "eth0")
                self.within(place, "ip", "addr", "add", f"{DATA}.{node + 1}/24", "dev", "eth0")
                for (start, to), interface in plan.routes.items():
                    if start == node:
                        way = (f"{DATA}.{to + 1}/32", "dev", interface, "scope", "link", "src", f"{DATA}.{node + 1}")
                        self.within(place, "ip", "route", "add", *way)
                # a neighbour answers for every address it passes traffic on to
                for interface in ("left", "right"):
                    self.within(place, "sysctl", "-qw", f"net.ipv4.conf.{interface}.proxy_arp=1")
            else:
                self.within(place, "ip", "addr", "add", f"{DATA}.{node + 1}/24", "dev", "eth0")
        self.write_agent()

    def write_agent(self):
        """Writes what Open MPI calls instead of ssh: `agent ADDRESS COMMAND...` runs the command inside the address's namespace."""
        self.agent = os.path.join(self.folder, "agent")
        with open(self.agent, "w", encoding="utf-8") as out:
            out.write(f"""#!/bin/sh
host=$1
shift
node=$((${{host##*.}} - 1))
TMPDIR={self.folder}/n$node
export TMPDIR
mkdir -p "$TMPDIR"
exec ip netns exec {self.tag}-n$node unshare --uts sh -c "hostname n$node; $*"
""")
        os.chmod(self.agent, 0o755)

    def mpirun(self, command, algorithms=None, settings=None, ranks=0, timeout=120, exported=None):
        """The output of `command` on one rank per node, or on the first `ranks` of them only.

        `algorithms` as Open MPI calls them: {"allreduce": "ring", ...}; `settings`: further MCA parameters; `exported`: variables of the
        ranks' environment.
        """
        options = {
            "plm": "rsh", "plm_rsh_agent": self.agent, "plm_rsh_no_tree_spawn": 1, "oob_tcp_if_include": f"{CONTROL}.0/24",
            "pml": "ob1", "btl": "tcp,self", "btl_tcp_if_include": f"{DATA}.0/24", "mpi_yield_when_idle": 1,
            "coll": "self,basic,libnbc,tuned", "coll_tuned_use_dynamic_rules": 1,
        }
        for operation, algorithm in (algorithms or {}).items():
            options[f"coll_tuned_{operation}_algorithm"] = algorithm
        options.update(settings or {})
        hosts = ",".join(f"{CONTROL}.{i + 1}:1" for i in range(ranks or self.plan.nodes))
        words = ["ip", "netns", "exec", self.space("control"), "mpirun", "--allow-run-as-root", "--bind-to", "none", "--map-by", "node",
                 "-np", str(ranks or self.plan.nodes), "-H", hosts]
        for key, value in options.items():
            words += ["--mca", key, str(value)]
        for key, value in (exported or {}).items():
            words += ["-x", f"{key}={value}"]
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("OMPI_", "PMIX_", "PRTE_"))}
        os.makedirs(os.path.join(self.folder, "launcher"), exist_ok=True)
        environment["TMPDIR"] = os.path.join(self.folder, "launcher")
        try:
            return run(*words, *command, env=environment, timeout=timeout, stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired as late:
            raise Failed(f"{' '.join(command)}: not done after {timeout} s") from late
