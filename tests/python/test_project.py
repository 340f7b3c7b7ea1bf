"""A whole run in one answer: the command's figures, its parts as plan, goodput and cost give them, and machines chosen under limits."""

import pytest

import fabricost as fc

RUN = dict(model="llama3-8b", gpus=256, global_batch=512, tokens=1e12)


def test_machines_are_values_too_and_a_price_of_ones_own_comes_first():
    ours = fc.load_system("dgx-h100").with_(nic_bandwidth="800 Gbit/s per direction")
    rows = fc.project([ours, "dgx-h100"], **RUN, own_prices={"dgx-h100": 1.0}, fleet="llama3")
    assert rows[0].step_seconds <= rows[1].step_seconds
    assert all(row.price_kind == "stated" for row in rows)


def test_tokens_are_a_number_or_the_commands_text():
    assert fc.project("dgx-h100", **dict(RUN, tokens="1T")) == fc.project("dgx-h100", **RUN)
    for wrong in ("many", "-1T", "1Q", ""):
        with pytest.raises(ValueError, match="tokens"):
            fc.project("dgx-h100", **dict(RUN, tokens=wrong))


def test_days_are_texts_or_dates():
    import datetime

    run = dict(RUN, gpus=None, done_by="2027-Q1", start="2027-01-01")
    del run["gpus"]
    text = fc.project("dgx-h100", **run, deliveries={"dgx-h100": "2027-01-15"})
    date = fc.project("dgx-h100", **run, deliveries={"dgx-h100": datetime.date(2027, 1, 15)})
    assert text[0] == date[0] and text[0].delivery == "2027-01-15" and text[0].ends <= "2027-03-31" and text.done_by == "2027-03-31"
    assert text[0].wait_seconds == 14 * 86400
