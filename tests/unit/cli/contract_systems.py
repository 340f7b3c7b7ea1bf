"""systems and show: the fields of every machine and tier, rates one way, unknown values as a question mark or null."""
import re

from contract import Contract


class Systems(Contract):
    def test_systems_json(self):
        systems = self.loaded("systems", "--json")
        names = [s["name"] for s in systems]
        self.assertEqual(len(names), len(set(names)))
        for s in systems:
            self.assertEqual({k: type(v) for k, v in s.items()}, {"name": str, "gpus": int, "domain": int, "kind": str, "vendor": str})
            self.assertTrue(s["gpus"] >= 1 and s["domain"] >= 1, s)
        by_name = {s["name"]: s for s in systems}
        self.assertEqual(by_name["gb200-nvl72"], {"name": "gb200-nvl72", "gpus": 72, "domain": 72, "kind": "switch", "vendor": "nvidia"})
        self.assertEqual(by_name["tpu-v5p-cube"]["kind"], "torus")
        self.assertIn("aws-p5", names)

    def test_the_text_groups_machines_and_clusters_by_the_maker_of_their_gpus(self):
        groups, heading = {}, None
        for line in self.fine("systems").splitlines():
            if line and not line.startswith(" "):
                heading = line
                self.assertNotIn(heading, groups)
                groups[heading] = []
            elif line.strip() and not line.startswith("  name "):
                groups[heading].append(line.split()[0])
        self.assertIn("gb200-nvl72", groups["Machines with GPUs of NVIDIA"])
        self.assertIn("helios-mi455x", groups["Machines with GPUs of AMD"])
        self.assertIn("frontier", groups["Clusters with GPUs of AMD"])
        self.assertTrue(all(names == sorted(names) for names in groups.values()), groups)
        listed = [s["name"] for s in self.loaded("systems", "--json")]
        self.assertEqual(sorted(name for names in groups.values() for name in names), sorted(listed))

    def test_rates_of_one_gpu_add_up_to_what_the_makers_say_of_the_rack(self):
        # TB/s over both directions, as in press releases and slides: an account beside the numbers of the files
        for name, published in {"vera-rubin-nvl72": 260, "hgx-rubin-nvl8": 28.8, "helios-mi455x": 260, "groq-lpx": 640,
                                "atlas-950": 16300, "atlas-960": 34000, "kyber-nvl576": 1500, "gb300-nvl72": 130, "tpu-8t-cube": 64 * 2.4,
                                "trn3-ultraserver": 144 * 2.56, "maia-200-cluster": 6144 * 2.8}.items():
            tiers = self.loaded("show", name, "--json")["tiers"]
            scale_up = next(t for t in tiers if t["name"] not in ("l2", "hbm"))
            self.assertAlmostEqual(2e-3 * scale_up["aggregate_GBps"] / published, 1, delta=0.006, msg=name)

    def test_names_that_people_type_find_their_machine(self):
        for typed, name in {"vr200": "vera-rubin-nvl72", "VR200_NVL72": "vera-rubin-nvl72", "rubin-ultra": "kyber-nvl576",
                            "nvl144": "kyber-nvl576", "rubin-nvl8": "hgx-rubin-nvl8", "gb200": "gb200-nvl72", "gb300": "gb300-nvl72",
                            "nvl4": "gb200-nvl4", "h200-nvl": "h200-nvl-4", "rtx-6000d": "rtx-pro-6000d-pcie", "cpx": "vr-cpx-tray",
                            "p6e": "aws-p6e-gb200", "p6e-gb200": "aws-p6e-gb200", "p6e-gb300": "aws-p6e-gb300", "a4x": "gcp-a4x",
                            "a4x-max": "gcp-a4x-max", "trn3": "trn3-ultraserver", "trn3-gen1": "trn3-ultraserver-64",
                            "mi455x": "helios-mi455x", "helios": "helios-mi455x", "mi430x": "mi430x-4", "tpu-8t": "tpu-8t-cube",
                            "tpu-8i": "tpu-8i-pod", "maia-200": "maia-200-cluster", "mtia-400": "mtia-400-rack",
                            "atlas-900": "cloudmatrix384", "ascend-950": "atlas-950", "atlas-960-superpod": "atlas-960",
                            "lpx": "groq-lpx", "cs-3": "cerebras-cs3",
                            "cs-4": "cerebras-cs4"}.items():
            self.assertEqual(self.loaded("show", typed, "--json")["name"], name, typed)

    def test_show_json_has_the_fields_of_the_contract(self):
        for name in ("dgx-h100", "gb200-nvl72", "meta-24k-roce", "tpu-v5p-cube"):
            shown = self.loaded("show", name, "--json")
            self.assertEqual(shown["name"], name)
            self.assertIsInstance(shown["gpu"], str)
            for i, tier in enumerate(shown["tiers"]):
                last = i + 1 == len(shown["tiers"])
                for field, kinds in {"name": str, "kind": str, "endpoints": int, "bandwidth_GBps": float, "latency_us": (float, type(None)),
                                     "aggregate_GBps": float, "bisection_GBps": float, "ratio_to_next": type(None) if last else float,
                                     "source": str, "confidence": str}.items():
                    self.assertIsInstance(tier[field], kinds, f"{name}.{tier['name']}.{field}")
                if not last:
                    self.assertAlmostEqual(tier["ratio_to_next"], tier["bandwidth_GBps"] / shown["tiers"][i + 1]["bandwidth_GBps"],
                                           delta=1e-9)

    def test_show_says_what_memory_the_driver_shows_and_who_says_so(self):
        shown = self.loaded("show", "dgx-h100", "--json")
        self.assertEqual(shown["memory_GiB"] * 1024, 81559)
        self.assertIn("nvidia-smi memory.total", shown["memory_source"])
        self.assertEqual(shown["memory_confidence"], "measured")
        text = re.sub(r"\s+", " ", self.fine("show", "dgx-h100"))
        self.assertIn("8 GPUs (h100-sxm, 79.6 GiB each)", text)
        self.assertIn("memory 81559 MiB, as the driver shows it: nvidia-smi memory.total", text)

    def test_rates_are_one_way(self):
        tiers = {t["name"]: t for t in self.loaded("show", "dgx-h100", "--json")["tiers"]}
        self.assertAlmostEqual(tiers["nvlink"]["bandwidth_GBps"], 450, delta=1e-6)
        self.assertAlmostEqual(tiers["nvlink"]["aggregate_GBps"], 3600, delta=1e-6)
        self.assertAlmostEqual(tiers["nvlink"]["bisection_GBps"], 1800, delta=1e-6)
        self.assertIn("both directions", self.fine("show", "dgx-h100"))

    def test_the_headline_is_named_as_one(self):
        text = re.sub(r"\s+", " ", self.fine("show", "gb200-nvl72"))
        self.assertIn("129.6 TB/s counts all 72 GPUs and both directions", text)

    def test_unknown_latency_is_a_question_mark_and_null(self):
        hbm = next(t for t in self.loaded("show", "tpu-v5p-cube", "--json")["tiers"] if t["name"] == "hbm")
        self.assertIsNone(hbm["latency_us"])
        line = next(x for x in self.fine("show", "tpu-v5p-cube").splitlines() if x.startswith("  hbm"))
        self.assertIn("?", line.split())

    def test_set_shows_in_show(self):
        shown = self.loaded("show", "dgx-h100", "--set", "tiers.nvlink.bandwidth=900 GB/s both directions", "--json")
        self.assertAlmostEqual(next(t for t in shown["tiers"] if t["name"] == "nvlink")["bandwidth_GBps"], 450, delta=1e-6)

    def test_tables_fit_100_columns(self):
        for text in [self.fine("show", name) for name in ("dgx-h100", "gb200-nvl72", "meta-24k-roce", "frontier")] + [self.fine("systems")]:
            for line in text.splitlines():
                if "://" not in line:  # an address is not broken
                    self.assertLessEqual(len(line), 100, line)
