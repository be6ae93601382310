"""Kill -9 at any moment: no acknowledged report is lost, none counts twice.

A hundred kills: ``python -m pytest tests/local/test_collector_kill.py -m slow -s``.
"""

import pytest
from tests.local import collector_kills as kills

pytestmark = pytest.mark.integration

pytest.importorskip("uvicorn", reason="needs the extra collector")
pytest.importorskip("starlette", reason="needs the extra collector")


#: Few reports are written together, and the thread keeps house often, so that kills fall between all steps.
OFTEN = """
from discreet.local.collector import store

store.TOGETHER = 100
store._ROUND = 0.02
"""
EARLY = """
import time
from discreet.local.collector import store

class Early(store.ReportStore):
    def _commit(self, batches):
        for batch in [batch for batch in batches if not batch.leaves]:
            batch.answer.set_result(store.Receipt(len(batch.rows), 0))
            batch.answer = store.Future()
        time.sleep(0.3)
        super()._commit(batches)

store.ReportStore = Early
"""


def check(outcome):
    assert kills.faults(outcome) == []
    assert len(outcome.acknowledged) > 20 * outcome.kills
    assert outcome.acknowledged == outcome.sent.keys()  # every sender got through in the end
    assert "Traceback" not in outcome.logs


def test_five_kills_lose_nothing_and_count_nothing_twice(tmp_path):
    outcome = kills.kill_again_and_again(tmp_path, 5, first=OFTEN)
    check(outcome)
    # The same checks see each of the mistakes that a store may make.
    number, bits = outcome.kept[0]
    assert outcome.withdrawn
    assert len(outcome.kept) == len(outcome.acknowledged) - len(outcome.withdrawn)
    for planted, told in (
        ({"kept": outcome.kept[1:]}, "lost"),
        ({"kept": [*outcome.kept, (number, bits)]}, "twice"),
        ({"kept": [(number, bytes(len(bits))), *outcome.kept[1:]]}, "nobody sent"),
        ({"kept": [(next(iter(outcome.withdrawn)), bits), *outcome.kept]}, "still there"),
        ({"moments": outcome.moments.copy().merge(outcome.moments)}, "moments"),
    ):
        assert any(told in fault for fault in kills.faults(outcome._replace(**planted)))


def test_a_store_that_answers_before_it_commits_is_caught(tmp_path):
    with pytest.raises(AssertionError, match="acknowledged reports are lost"):
        kills.kill_again_and_again(tmp_path, 3, first=EARLY)


@pytest.mark.slow
@pytest.mark.timeout(1500)  # each start is 1.8 s of a core
def test_a_hundred_kills_lose_nothing_and_count_nothing_twice(tmp_path, capsys):
    outcome = kills.kill_again_and_again(tmp_path, 100, seed=7, first=OFTEN)
    check(outcome)
    assert outcome.answers_lost > 0  # some kills did fall between commit and answer
    with capsys.disabled():
        print(
            f"\n{outcome.kills} kills, {len(outcome.acknowledged):,} reports acknowledged, none lost, none twice, "
            f"{len(outcome.withdrawn):,} withdrawn; {outcome.answers_lost:,} had been kept when their answer was lost"
        )
