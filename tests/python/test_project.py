"""A whole run in one answer: the command's figures, its parts as plan, goodput and cost give them, and machines chosen under limits."""


import fabricost as fc
from by_command import asked, same

RUN = dict(model="llama3-8b", gpus=256, global_batch=512, tokens=1e12)


def test_the_parts_are_the_answers_of_their_questions():
    run = fc.project("dgx-h100", **RUN)[0]
    plan = fc.plan("dgx-h100", "llama3-8b", gpus=256, global_batch=512)[0]
    assert run.layout == plan
    failing = fc.goodput(gpus=256, system="dgx-h100", model="llama3-8b", spares=run.spares)
    same(run.goodput, failing.goodput)
    same(run.failures.mttf_seconds, failing.mttf_seconds)
    bill = fc.cost("dgx-h100", gpus=run.paid_gpus, hours=run.seconds / 3600)
    same(run.dollars, bill.run.rented_dollars, tolerance=1e-9)
    same(run.cost.site_watts, bill.site_watts)


def test_machines_are_values_too_and_a_price_of_ones_own_comes_first():
    ours = fc.load_system("dgx-h100").with_(nic_bandwidth="800 Gbit/s per direction")
    rows = fc.project([ours, "dgx-h100"], **RUN, own_prices={"dgx-h100": 1.0}, fleet="llama3")
    assert rows[0].step_seconds <= rows[1].step_seconds
    assert all(row.price_kind == "stated" for row in rows)


def test_need_machine_is_the_best_of_the_runs_that_keep_the_limits():
    rows = fc.project(["dgx-h100", "dgx-b200"], **RUN)
    for by, measure in [("cheapest", lambda r: r.dollars), ("lowest_power", lambda r: r.site_watts), ("soonest", lambda r: r.seconds)]:
        best = min(rows, key=measure)
        assert fc.need_machine(["dgx-h100", "dgx-b200"], **RUN, by=by).value == best.system
    none = fc.need_machine(["dgx-h100", "dgx-b200"], **RUN, budget_dollars=1)
    assert none.value is None and not none.satisfied and "money" in none.reason
    wanted = asked("need", "machine", "--train", "-s", "dgx-h100,dgx-b200", "-m", "llama3-8b", "-g", 256, "-b", 512, "--tokens", "1T", "--megawatts", 0.4)
    mine = fc.need_machine(["dgx-h100", "dgx-b200"], **RUN, megawatts=0.4)
    assert mine.value == wanted["answer"]["value"] and mine.next_smaller == wanted["next_smaller"]
    assert [fc.need_machine(["dgx-h100"], **RUN).run.system, mine.binding] == ["dgx-h100", wanted["binding"]]


def test_days_are_texts_or_dates():
    import datetime

    run = dict(RUN, gpus=None, done_by="2027-Q1", start="2027-01-01")
    del run["gpus"]
    text = fc.project("dgx-h100", **run, deliveries={"dgx-h100": "2027-01-15"})
    date = fc.project("dgx-h100", **run, deliveries={"dgx-h100": datetime.date(2027, 1, 15)})
    assert text[0] == date[0] and text[0].delivery == "2027-01-15" and text[0].ends <= "2027-03-31" and text.done_by == "2027-03-31"
    assert text[0].wait_seconds == 14 * 86400
