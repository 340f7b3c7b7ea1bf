"""systems and show: the fields of every machine and tier, rates one way, unknown values as a question mark or null."""
from contract import Contract


class Systems(Contract):
    def test_rates_of_one_gpu_add_up_to_what_the_makers_say_of_the_rack(self):
        # TB/s over both directions, as in press releases and slides: an account beside the numbers of the files
        for name, published in {"vera-rubin-nvl72": 260, "hgx-rubin-nvl8": 28.8, "helios-mi455x": 260, "groq-lpx": 640,
                                "atlas-950": 16300, "atlas-960": 34000, "kyber-nvl576": 1500, "gb300-nvl72": 130, "tpu-8t-cube": 64 * 2.4,
                                "trn3-ultraserver": 144 * 2.56, "maia-200-cluster": 6144 * 2.8}.items():
            tiers = self.loaded("show", name, "--json")["tiers"]
            scale_up = next(t for t in tiers if t["name"] not in ("l2", "hbm"))
            self.assertAlmostEqual(2e-3 * scale_up["aggregate_GBps"] / published, 1, delta=0.006, msg=name)

    def test_a_slot_that_is_narrower_than_its_nic_is_said(self):
        text = self.fine("show", "mi300x", "--set", "nic.slot=pcie-4")
        self.assertIn("nic: its slot, pcie-4, carries 28.81 GB/s of payload.", text)
        self.assertNotIn("its slot", self.fine("show", "mi300x"))

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
