"""The sleep of processes that grow over memory.high."""

from __future__ import annotations

from fakecgroup.effects.high_delay import high_delay, overage, sleep

_HZ = 250
_HIGH = 60 * 256  # pages


def test_below_memory_high_nothing_is_over() -> None:
    assert overage(_HIGH, _HIGH) == 0


def test_the_overage_is_a_part_of_memory_high() -> None:
    assert overage(_HIGH + _HIGH // 4, _HIGH) == 1 << 18


def test_a_memory_high_of_zero_counts_as_one_page() -> None:
    assert overage(3, 0) == 3 << 20


def test_the_delay_grows_with_the_square_of_the_overage() -> None:
    delays = [high_delay(64, overage(_HIGH + batch * 64, _HIGH), _HZ) for batch in (1, 2, 3, 4, 8)]
    assert delays == [0, 1, 2, 4, 17]


def test_a_huge_page_is_delayed_for_eight_batches() -> None:
    over = overage(_HIGH + 512, _HIGH)
    assert high_delay(512, over, _HZ) == 8 * high_delay(64, over, _HZ)


def test_products_wrap_at_64_bits() -> None:
    over = overage(100 * 256, 0)
    assert over == 25_600 << 20
    assert high_delay(64, over, _HZ) == (((25_600 << 20) ** 2 % 2**64) * _HZ % 2**64) >> 34


def test_up_to_10_ms_there_is_no_sleep() -> None:
    assert sleep(64, overage(_HIGH + 3 * 64, _HIGH), 0, _HZ) == 0


def test_a_sleep_is_2_s_at_most() -> None:
    assert sleep(64, overage(2 * _HIGH, _HIGH), 0, _HZ) == 500


def test_the_delay_for_swap_is_added() -> None:
    over = overage(_HIGH + 4 * 64, _HIGH)
    assert sleep(64, over, over, _HZ) == 8
