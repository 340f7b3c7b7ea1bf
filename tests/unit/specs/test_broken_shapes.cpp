// Machines that cannot be built: ports, peers, dims, edges and counts that do not agree.
#include "broken.hpp"

using namespace specs;

namespace {

Broken shape(std::string title, std::string_view keys, std::vector<std::string> says) {
  return {std::move(title), Document::system, shaped(keys), std::move(says)};
}
/// A mesh graph of four GPUs with `edges` and 2 links each.
Broken mesh(std::string title, const std::string& edges, std::vector<std::string> says) {
  const std::string keys = "    kind: mesh_graph\n    endpoints: 4\n    link: nvlink-4\n    links: 2\n" + edges;
  return {std::move(title), Document::system, replaced(shaped(keys), "gpus: 8", "gpus: 4"), std::move(says)};
}
/// A leaf of `keys` below a spine of four.
Broken leaf(std::string title, const std::string& keys, std::vector<std::string> says) {
  return {std::move(title), Document::system,
          good_system + "  - {name: leaf, role: network, kind: rails, " + keys + "}\n" +
              "  - {name: spine, role: network, kind: rails, endpoints: 4, link: infiniband-ndr}\n",
          std::move(says)};
}

}  // namespace

TEST_CASE("a switch offers no more links than it has ports", "[specs]") {
  check({
      sys("too few switches", "switches: 4", "switches: ^2",
          {"tiers[0].switches", "8 endpoints x 18 links need 144 ports, 2 x nvswitch-3 has 128", "more switches, or fewer links"}),
      sys("one switch when none is counted", "    switches: 4\n", "", {"need 144 ports, 1 x nvswitch-3 has 64"}),
      sys("64 ports where Blackwell needs 72",
          "    endpoints: 8\n    link: nvlink-4\n    links: 18\n    switch: nvswitch-3\n    switches: 4",
          "    endpoints: 72\n    link: nvlink-4\n    links: 18\n    switch: nvswitch-3\n    switches: ^18",
          {"72 endpoints x 18 links need 1296 ports, 18 x nvswitch-3 has 1152"}),
      leaf("uplinks of a leaf beside its nodes", "endpoints: 52, oversubscription: 4, link: infiniband-ndr, switch: ^quantum-2",
           {"tiers[2].switch", "52 ports down and 13 up, and 1 x quantum-2 has 64"}),
  });
  const Folder folder;
  const auto loads = [&](const std::string& nodes) {
    const std::string text =
        good_system + "  - {name: leaf, role: network, kind: rails, " + nodes + ", link: infiniband-ndr, switch: quantum-2}\n";
    return !outcome_of([&] { load(Document::system, folder.write("box.yaml", text)); }).refused();
  };
  CHECK(loads("endpoints: 64"));  // the uppermost has no uplinks
  CHECK_FALSE(loads("endpoints: 65"));
}

TEST_CASE("a network that is too small is refused at its uppermost tier", "[specs]") {
  check({{"its own",
          Document::system,
          replaced(replaced(leaf("", "endpoints: 2, link: infiniband-ndr", {}).text, "gpus: 8\n", "gpus: 8\nnodes: 1000\n"),
                   "endpoints: 4, ", "endpoints: ^4, "),
          {"tiers[3].endpoints: the network joins 8 nodes (2 of leaf x 4 of spine), and the machine has 1000"}}});
}

TEST_CASE("shapes that do not close are refused", "[specs]") {
  check({
      shape("a full mesh of 12 links over 7 peers", "    kind: full_mesh\n    endpoints: 8\n    link: nvlink-3\n    links: ^12\n",
            {"tiers[0].links", "12 links do not spread over 7 peers", "per endpoint in total"}),
      shape("a full mesh of one", "    kind: full_mesh\n    endpoints: 1\n    link: nvlink-3\n    links: ^12\n",
            {"do not spread over 0 peers"}),
      shape("a torus without dims", "    kind: torus\n    endpoints: 8\n    link: nvlink-4\n    links: 4\n",
            {"tiers[0].dims", "a torus needs one to three dims", "write for example [4, 4, 4]"}),
      shape("dims that make something else", "    kind: torus\n    endpoints: 8\n    dims: ^[4, 4]\n    link: nvlink-4\n    links: 4\n",
            {"tiers[0].dims", "make 16 endpoints, not 8"}),
      shape("dims that are text", "    kind: torus\n    endpoints: 8\n    dims: ^4x2\n    link: nvlink-4\n    links: 4\n",
            {"tiers[0].dims", "is not a list of whole numbers"}),
      shape("dims with half a number", "    kind: torus\n    endpoints: 8\n    dims: [4, ^2.5]\n    link: nvlink-4\n    links: 4\n",
            {"\"2.5\" is not a whole number"}),
      shape("four dims", "    kind: torus\n    endpoints: 8\n    dims: ^[2, 2, 2, 1]\n    link: nvlink-4\n    links: 8\n",
            {"one to three dims"}),
      shape("a torus with too few links", "    kind: torus\n    endpoints: 8\n    dims: [4, 2]\n    link: nvlink-4\n    links: ^3\n",
            {"tiers[0].links", "3 links do not spread over the 4 ways of 2 dims"}),
      shape("dims of a ring", "    kind: ring\n    endpoints: 8\n    dims: ^[8]\n    link: nvlink-4\n    links: 2\n",
            {"tiers[0].dims: belong to a torus, and this is a ring"}),
      shape("edges of a full mesh", "    kind: full_mesh\n    endpoints: 8\n    edges: ^[[0, 1, 1]]\n    link: nvlink-4\n    links: 7\n",
            {"tiers[0].edges: belong to a mesh_graph"}),
      shape("wrap as a number", "    kind: torus\n    endpoints: 8\n    dims: [4, 2]\n    link: nvlink-4\n    links: 4\n    wrap: ^1\n",
            {"\"1\" is neither true nor false"}),
  });
}

TEST_CASE("edges of a mesh graph join two different endpoints that exist", "[specs]") {
  check({
      mesh("no edges", "", {"tiers[0].edges", "a mesh_graph needs its edges", "write [[0, 1, 1], ...]"}),
      mesh("an empty list", "    edges: ^[]\n", {"tiers[0].edges", "leave endpoint 0 without a link"}),
      mesh("text", "    edges: ^all\n", {"tiers[0].edges: is not a list"}),
      mesh("an endpoint too far", "    edges: [[0, 1, 1], ^[2, 4, 1]]\n", {"\"[2, 4, 1]\" is no edge", "0 to 3"}),
      mesh("a negative endpoint", "    edges: [^[-1, 2, 1]]\n", {"\"[-1, 2, 1]\" is no edge"}),
      mesh("an endpoint with itself", "    edges: [^[1, 1, 1]]\n", {"\"[1, 1, 1]\" is no edge", "two different endpoints"}),
      mesh("no links", "    edges: [^[0, 1, 0]]\n", {"\"[0, 1, 0]\" is no edge"}),
      mesh("a billion links", "    edges: [^[0, 1, 1000000000]]\n", {"is no edge"}),
      mesh("two numbers", "    edges: [^[0, 1]]\n", {"\"[0, 1]\" is no edge"}),
      mesh("a second edge between two", "    edges: [[0, 1, 1], [1, 2, 1], [2, 3, 1], [3, 0, 1], ^[1, 0, 2]]\n",
           {"a second edge between 0 and 1", "[0, 1, 3] if they add up"}),
      mesh("a word among them", "    edges: [^[0, 1, 1, x]]\n", {"is no edge"}),
      mesh("an endpoint that is left alone", "    edges: ^[[0, 1, 2]]\n", {"leave endpoint 2 without a link", "at least one edge"}),
      mesh("more links than an endpoint says it has", "    edges: ^[[0, 1, 3], [2, 3, 3]]\n",
           {"give every endpoint 3 to 3 links, but `links` says 2"}),
      mesh("fewer links than an endpoint says it has", "    edges: ^[[0, 1, 1], [2, 3, 1]]\n",
           {"give every endpoint 1 to 1 links, but `links` says 2"}),
  });
}

TEST_CASE("tiers must fit the machine they are in", "[specs]") {
  check({
      {"a dragonfly above NICs on rails",
       Document::system,
       good_system + "  - {name: leaf, role: network, kind: ^dragonfly, endpoints: 4, link: infiniband-ndr}\n",
       {"tiers[2].kind: a dragonfly, and nic is of kind rails", "write `kind: dragonfly` at nic, too"}},
      sys("a NIC on an NVSwitch", "    path: pxb\n", "    path: pxb\n    switch: ^nvswitch-3\n",
          {"tiers[1].switch", "a NIC never hangs on an NVSwitch (nvswitch-3)"}),
      sys("a NIC on an NVSwitch that cannot multicast", "    path: pxb\n", "    path: pxb\n    switch: ^nvswitch-2\n",
          {"a NIC never hangs on an NVSwitch (nvswitch-2)"}),
      sys("a NIC of NVLink", "infiniband-ndr", "^nvlink-4", {"tiers[1].link", "a NIC has no NVLink"}),
      sys("a domain that is no multiple of a node", "gpus: 8\n", "gpus: 8\ndomain: ^12\n",
          {"domain", "12 is no multiple of 8 GPUs per node"}),
      sys("more GPUs than the tier joins", "endpoints: 8", "endpoints: ^7",
          {"tiers[0].endpoints", "joins 7 GPUs, but the domain has 8", "make `domain:`"}),
      sys("fewer nodes than a domain has", "gpus: 8\n", "gpus: 8\ndomain: 72\nnodes: ^8\n",
          {"8 nodes of 8 GPUs do not fill the domain of 72", "at least 9"}),
      sys("a trillion GPUs", "gpus: 8\n", "gpus: 8\nnodes: 1000000000\n", {"nodes", "\"1000000000\" is outside"}),
      sys("twelve billion GPUs", "gpus: 8\n", "gpus: 1200\nnodes: 10000000\n", {"nodes", "more than a billion GPUs"}),
      sys("two tiers of one name", "name: nic", "name: ^nvlink", {"tiers[1].name", "a second tier \"nvlink\"", "names are unique"}),
      sys("a tier called hbm", "name: nic", "name: ^hbm", {"a second tier \"hbm\"", "l2 and hbm come from the GPU"}),
      sys("a tier whose name is too long", "name: nic", "name: ^a-name-of-17-char",
          {"tiers[1].name", "is longer than 15 characters", "shorten it"}),
      sys("an ndr NIC of 100 GB/s", "    path: pxb\n", "    path: pxb\n    bandwidth: ^100 GB/s per direction\n",
          {"100 GB/s per direction, but 1 x infiniband-ndr is 50"}),
  });
}

TEST_CASE("65 tiers are too many", "[specs]") {
  std::string text = "name: tower\ngpu: h100-sxm\ngpus: 1\ntiers:\n";
  for (int i = 0; i < 65; ++i)
    text += "  - {name: t" + std::to_string(i) + ", role: network, kind: fat_tree, endpoints: 2, link: infiniband-ndr}\n";
  check({{"65 tiers", Document::system, text, {"tiers: has 65 tiers", "write 1 to 64"}}});
}
